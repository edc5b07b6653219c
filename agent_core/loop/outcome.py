"""The outcome of one step of the loop, as a value: saved in one unit of work, then shown."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Self

from agent_core.errors import Conflict
from agent_core.loop.recall import Recall
from agent_core.model.agent import Agent
from agent_core.model.decision import Approve
from agent_core.model.model_calls import CallKind, Usage
from agent_core.model.note import Note, Notice
from agent_core.model.permissions import RULES_KEY, parse_rules, serialise_rules
from agent_core.model.records.audit import PROPOSED, AuditEntry
from agent_core.model.turn import Turn
from agent_core.ports.database import UnitOfWork
from agent_core.spending.budget_ledger import charge
from agent_core.spending.helper_tree import as_actor
from agent_core.text.lines import counted


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """One step's changes: the agent, a new (`made`) or changed turn, notices to post, and the notes that were read.

    `audit`: entries for the decision log.
    `seen`: memories to save, with their vectors.
    `spent`: usage of model calls, already charged to the agent.
    `taints_folder`: untrusted content may come into the folder now, so all agents that share it are exposed.
    """

    agent: Agent
    made: Turn | None = None
    changed: Turn | None = None
    notices: tuple[Notice, ...] = ()
    read: tuple[Note, ...] = ()
    seen: Recall = Recall()
    spent: Mapping[CallKind, Usage] = field(default_factory=dict)
    audit: tuple[AuditEntry, ...] = ()
    taints_folder: bool = False

    @property
    def turns(self) -> tuple[Turn, ...]:
        return tuple(turn for turn in (self.made, self.changed) if turn)

    def taint_folder(self) -> Self:
        """The outcome of a step that may bring untrusted content into the agent's folder."""
        return replace(self, agent=replace(self.agent, folder_tainted=True), taints_folder=True)

    def save(self, work: UnitOfWork) -> None:
        """Queue all changes in the unit of work in which the agent and the changed turn were read."""
        work.agents.save(self.agent)
        if self.made:
            work.turns.add(self.made)
            work.notes.take(self.read, self.made.id)
        if self.changed:
            work.turns.save(self.changed)
        for notice in self.notices:
            work.notes.announce(notice)
        if self.seen.fresh:
            work.memories.add(self.agent, self.seen.fresh)
        if self.seen.placed:
            work.memories.put(
                self.agent, self.seen.index_key, {each.id: vector for each, vector in self.seen.placed.items()}
            )
        for entry in (*self._proposals(), *self.audit):
            work.audit.append(entry)
        charge(work, self.agent.channel, self.spent)

    def _proposals(self) -> Iterator[AuditEntry]:
        """Entries about what the agent proposes now, also for a further time."""
        for turn in self.turns:
            if turn is self.made or turn.state == "proposed":
                at = turn.asked_at or turn.proposed_at
                yield AuditEntry.on(self.agent, PROPOSED, by=as_actor(self.agent), at=at, turn=turn)


async def count_use(work: UnitOfWork, agent: Agent, made: Turn | None, now: datetime) -> None:
    """Count it, and say so if it was the last; raise Conflict if the rule ended since it was read."""
    decision = made.approvals[-1].decision if made and made.approvals else None
    if made is None or not isinstance(decision, Approve) or not decision.rule_id or agent.simulates(made):
        return
    before = await work.preferences.get(agent.channel, RULES_KEY)
    rules = {rule.id: rule for rule in parse_rules(before)}
    rule = rules.get(decision.rule_id)
    if rule is None or rule.left == 0:
        raise Conflict("The rule ended since it was read.")
    rules[rule.id] = used = rule.use()
    work.preferences.exchange(agent.channel, RULES_KEY, before, serialise_rules([*rules.values()]))
    if used.left == 0:
        words = replace(used, left=None).words
        text = f"A rule of {rule.by} ended, after it let {counted(used.uses, 'command')} run: {words}."
        work.notes.announce(Notice.to(agent, "lease ended", text, now))
