"""Makes, lists and revokes the standing rules of a channel, and finds past turns that a rule would have covered."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from agent_core.errors import InvalidInput, NotAllowed, NotFound, UnusableReply
from agent_core.model.agent import Agent
from agent_core.model.command import CommandSpec
from agent_core.model.decision import Approve
from agent_core.model.ids import AgentId, new_id
from agent_core.model.origin import ChannelScope, Origin
from agent_core.model.permissions import (
    MAX_RULES,
    RULES_KEY,
    Condition,
    Effect,
    StandingRule,
    is_open_to_rules,
    parse_rules,
    rule_problem,
    serialise_rules,
)
from agent_core.model.records.audit import AuditEntry
from agent_core.model.turn import Turn
from agent_core.oversight.policy import may_decide, require_may_change, require_may_decide
from agent_core.ports.database import UnitOfWork
from agent_core.service.transactional import Attempt, TransactionalService
from agent_core.toolset.registry import Commands

MAX_LOOKED_AT, MAX_EXAMPLES, MIN_HABIT = 40, 3, 5


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleDraft:
    """A rule that somebody wants. `is_for_all`: for all agents of the channel."""

    effect: Effect
    command: str
    conditions: tuple[Condition, ...] = ()
    is_for_all: bool = False
    until: datetime | None = None
    left: int | None = None


@dataclass(frozen=True, slots=True)
class MadeRule:
    """A rule with the newest past turns of the agent that it would have covered, at most three."""

    rule: StandingRule
    covered: tuple[Turn, ...]


@dataclass(frozen=True, slots=True)
class Habit:
    """A command that people approved each time: how often, and its newest turn, which suggests rules."""

    command: str
    times: int
    turn: Turn


@dataclass(frozen=True, slots=True, kw_only=True)
class StandingRules(TransactionalService):
    """The rules of channels. Who may decide for an agent makes rules in its thread, and revokes any of its channel."""

    commands: Commands

    async def list_rules(self, channel: ChannelScope) -> tuple[StandingRule, ...]:
        """The rules of a channel in the order in which they were made."""
        async with self.database.begin() as work:
            return _readable(await work.preferences.get(channel, RULES_KEY))

    async def list_habits(self, channel: ChannelScope, agent_id: AgentId) -> tuple[Habit, ...]:
        """What people approved each time, five times or more among the newest turns, and no rule covers.

        Never a program or a post, and nothing that was proposed after content from outside.
        """
        async with self.database.begin() as work:
            agent = await work.agents.get(channel, agent_id)
            turns = await work.turns.of(agent, last=MAX_LOOKED_AT)
        of_command: dict[str, list[Turn]] = {}
        for turn in (each for each in turns if each.ended_at and not each.is_copy):
            of_command.setdefault(turn.call.name, []).append(turn)
        return tuple(
            Habit(command, len(found), found[-1])
            for command, found in of_command.items()
            if len(found) >= MIN_HABIT and all(was_approved(turn) for turn in found)
            if not any(rule.applies(found[-1], self.clock.now(), agent.home) for rule in agent.read_rules)
        )

    async def try_out(self, agent_id: AgentId, draft: RuleDraft, origin: Origin) -> MadeRule:
        """The rule as `make` would make it; nothing is saved. Raise NotAllowed, InvalidInput."""
        async with self.database.begin() as work:
            return await self._try(work, await work.agents.get(origin.channel, agent_id), draft, origin)

    async def make(self, agent_id: AgentId, draft: RuleDraft, origin: Origin) -> MadeRule:
        """Save a rule; raise NotAllowed, or InvalidInput for one that covers nothing, everything or too much."""

        async def act(work: UnitOfWork) -> MadeRule:
            agent = await work.agents.get(origin.channel, agent_id)
            made = await self._try(work, agent, draft, origin)
            before = await work.preferences.get(origin.channel, RULES_KEY)
            rules = [rule for rule in _readable(before) if not (rule.until and made.rule.at >= rule.until)]
            if len(rules) >= MAX_RULES:
                rules = [rule for rule in rules if rule.left != 0]
            if await self.is_repeated(work, origin):
                return made
            if len(rules) >= MAX_RULES:
                raise InvalidInput({"rules": f"This channel has {MAX_RULES} rules, the most there can be: revoke one."})
            work.preferences.exchange(origin.channel, RULES_KEY, before, serialise_rules([*rules, made.rule]))
            await self._tell(work, agent, origin, "made a rule", made.rule)
            return made

        return await self.save(act, Attempt(origin=origin, what="made a rule", agent_id=agent_id))

    async def revoke(self, agent_id: AgentId, rule_id: str, origin: Origin) -> StandingRule:
        """End a rule of the channel; raise NotAllowed, NotFound."""

        async def act(work: UnitOfWork) -> StandingRule:
            agent = await work.agents.get(origin.channel, agent_id)
            before = await work.preferences.get(origin.channel, RULES_KEY)
            rules = _readable(before)
            found = [rule for rule in rules if rule.short_id == rule_id.strip().lower()]
            if not found:
                raise NotFound("rule", rule_id[:20])
            if found[0].effect == "never" or found[0].by.id != origin.by.id:
                require_may_decide(agent, origin.by, "revoke rules here")
                _require_for_all(agent, origin, is_for_all=found[0].agent_id != agent.id)
            if not await self.is_repeated(work, origin):
                left = [rule for rule in rules if rule not in found]
                work.preferences.exchange(origin.channel, RULES_KEY, before, serialise_rules(left))
                await self._tell(work, agent, origin, "revoked a rule", found[0])
            return found[0]

        return await self.save(act, Attempt(origin=origin, what="revoked a rule", agent_id=agent_id))

    async def _try(self, work: UnitOfWork, agent: Agent, draft: RuleDraft, origin: Origin) -> MadeRule:
        require_may_decide(agent, origin.by, "make rules here")
        _require_for_all(agent, origin, is_for_all=draft.is_for_all)
        known = self.commands.by_name.get(draft.command)
        try:
            spec = known.spec if known and draft.effect == "never" else self.commands.get(draft.command).spec
        except UnusableReply as unknown:
            raise InvalidInput({"rules": f"Rules: {unknown.brief or unknown}"}) from unknown
        if draft.effect == "allow":
            _require_allowable(agent, spec, origin)
        elif spec.finishes:
            raise InvalidInput({"rules": f"Nothing was changed. {spec.name} ends the work, which no rule denies."})
        now, properties = self.clock.now(), spec.parameters.get("properties")
        names = [*properties] if isinstance(properties, dict) else []
        named = {condition.argument for condition in draft.conditions}
        rule = StandingRule(
            id=new_id(now),
            effect=draft.effect,
            command=spec.name,
            by=origin.by,
            at=now,
            risks=spec.risks,
            source=spec.source,
            conditions=draft.conditions,
            others=tuple(name for name in names if name not in named),
            agent_id=None if draft.is_for_all else agent.id,
            agent_name="" if draft.is_for_all else agent.name,
            until=draft.until,
            left=draft.left,
        )
        if problem := rule_problem(rule, names):
            raise InvalidInput({"rules": f"Nothing was changed. {problem}"})
        past = await work.turns.of(agent, last=MAX_LOOKED_AT)
        covered = [turn for turn in reversed(past) if turn.state != "proposed" and rule.applies(turn, now)]
        return MadeRule(rule, tuple(covered[:MAX_EXAMPLES]))

    async def _tell(self, work: UnitOfWork, agent: Agent, origin: Origin, act: str, rule: StandingRule) -> None:
        """Say it in the log and in the thread, and have the open cards of the channel looked at."""
        now, words, is_for_all = self.clock.now(), rule.words, rule.agent_id is None
        if is_for_all:
            work.audit.append(AuditEntry.in_channel(origin.channel, act, by=origin.by, at=now, detail=words))
        else:
            self.audit(work, agent, origin, act, words)
        self.announce(work, agent, "changed", f"{origin.by} {act}: {words}.")
        for each in await work.agents.of(origin.channel):
            if each.status.kind == "awaiting":
                self.waker.wake(work, each.id)


def was_approved(turn: Turn) -> bool:
    """Whether a person approved it as it was proposed, and a rule could have allowed it."""
    is_open = is_open_to_rules(turn, is_exposed=True) and not (turn.exposed or turn.needs_two)
    people = [each for each in turn.approvals if isinstance(each.decision, Approve) and not each.decision.under]
    return is_open and turn.state == "done" and bool(people)


def _require_allowable(agent: Agent, spec: CommandSpec, origin: Origin) -> None:
    """Raise NotAllowed or InvalidInput for a command that no rule may allow here, or not this person's."""
    policy = agent.channel_policy
    if policy.bars_maker(origin.by, agent.owner, spec.risks):
        raise NotAllowed(f"allow this: you made {agent.name}, and another person approves its {spec.name} here.")
    two = spec.needs_two or not set(spec.risks).isdisjoint(agent.policy_in_force.two)
    why = (
        "ends the work, which no rule allows" if spec.finishes else "",
        "always asks" if spec.always_asks else "",
        "needs two people" if two else "",
        "never runs in this channel" if policy.denied(spec.risks) else "",
    )
    if any(why):
        raise InvalidInput({"rules": f"Nothing was changed. {spec.name} {next(filter(None, why))}."})


def _require_for_all(agent: Agent, origin: Origin, *, is_for_all: bool) -> None:
    """Raise NotAllowed for a rule about other agents, unless the person may change the channel's policy."""
    if is_for_all:
        require_may_change(agent.channel_policy, origin)


def _readable(text: str | None) -> tuple[StandingRule, ...]:
    """The stored rules; none if this release cannot read them, so that the next one that is made replaces them."""
    try:
        return parse_rules(text)
    except ValueError:
        return ()


def sleeping_text(rule: StandingRule, agents: Sequence[Agent]) -> str:
    """Why a rule covers nothing now, although it has not ended; "" if it does."""
    if rule.effect == "never":
        return ""
    own = [agent for agent in agents if rule.agent_id in (None, agent.id)]
    bars = [agent.channel_policy.bars_maker(rule.by, agent.owner, rule.risks) for agent in own]
    if own and not any(may_decide(each, rule.by) and not barred for each, barred in zip(own, bars, strict=True)):
        return f"sleeps: {rule.by} may not approve here any more"
    return "" if own else "sleeps: its agent is not here"
