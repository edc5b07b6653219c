"""Counts a command against the standing rule that lets it run, in the unit of work that saves its turn."""

from datetime import datetime

from agent_core.errors import Conflict
from agent_core.model.agent import Agent
from agent_core.model.decision import Approve
from agent_core.model.note import Notice
from agent_core.model.standing_rule import RULES_KEY, parse_rules, serialise_rules
from agent_core.model.turn import Turn
from agent_core.ports.database import UnitOfWork


async def count_use(work: UnitOfWork, agent: Agent, made: Turn | None, now: datetime) -> None:
    """Count it, and say so if it was the last; raise Conflict if the rule ended since it was read."""
    decision = made.approvals[-1].decision if made and made.approvals else None
    if not isinstance(decision, Approve) or not decision.rule_id:
        return
    before = await work.preferences.get(agent.channel, RULES_KEY)
    rules = {rule.id: rule for rule in parse_rules(before)}
    rule = rules.get(decision.rule_id)
    if rule is None or rule.left == 0:
        raise Conflict("The rule ended since it was read.")
    rules[rule.id] = used = rule.use()
    work.preferences.exchange(agent.channel, RULES_KEY, before, serialise_rules([*rules.values()]))
    if used.left == 0:
        text = f"A rule of {rule.by} ended, after it let {used.uses} commands run: {used.words}."
        work.notes.announce(Notice.to(agent, "lease ended", text, now))
