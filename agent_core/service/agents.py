"""What people do about an agent's commands: decide, reply, ask, undo, settle, grant and revoke leases.

Each call is one short transaction followed by a wake. It checks the person's rights, whatever the card offered, and
calls no model, and a chat platform only to learn whether an owner has left.
"""

import logging
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from typing import TypeAlias

from agent_core.errors import InvalidInput, NotPossible
from agent_core.model.agent import Acting, Agent, Awaiting, Thinking
from agent_core.model.decision import Decision, Reject, Settlement
from agent_core.model.ids import AgentId, TurnId
from agent_core.model.note import MAX_NOTE_CHARACTERS, Note, Notice
from agent_core.model.origin import Actor, Origin
from agent_core.model.records.audit import AuditEntry
from agent_core.model.turn import UNKNOWN_PROPOSAL, SeenProposal, Turn, Undo
from agent_core.oversight.lease import grant_unattended, require_within_limit
from agent_core.oversight.policy import may_decide, require_may_decide, require_may_speak
from agent_core.ports.database import UnitOfWork
from agent_core.ports.telemetry import TurnRef, record_end
from agent_core.service.creating.forking import AgentForks
from agent_core.service.decisions import (
    record_decision,
    require_as_shown,
    require_may_settle,
    require_one_person,
    settle_turn,
    validate_decision,
)
from agent_core.service.housekeeping.archiving import AgentArchive
from agent_core.service.housekeeping.deleting import newest_turn
from agent_core.service.lifecycle import AgentLifecycle
from agent_core.service.schedules import AgentSchedules
from agent_core.service.server_questions import ServerQuestions
from agent_core.service.transactional import Attempt, TransactionalService
from agent_core.spending.helper_tree import deliver_note, pause_leases
from agent_core.text.reply_meaning import ReplyMeaning, meaning_of
from agent_core.toolset.registry import Commands

logger = logging.getLogger(__name__)

UNDO_WINDOW = timedelta(seconds=10)


@dataclass(frozen=True, slots=True)
class StepRejected:
    """The reply rejected an open proposal. `can_undo`: the agent waits a moment before it thinks."""

    agent: Agent
    turn: Turn
    can_undo: bool = False


@dataclass(frozen=True, slots=True)
class NoteKept:
    """The reply was saved as a note for the agent's next turn.

    `undecided`: the open proposal on which the writer may decide, who was shown it as it is, if the reply may have been
    meant as a decision.
    """

    agent: Agent
    note: Note
    undecided: Turn | None = None


@dataclass(frozen=True, slots=True)
class QuestionAsked:
    """The reply was a question: the model answers it in the thread, and nothing is decided."""

    agent: Agent
    question: Notice


ReplyOutcome: TypeAlias = StepRejected | NoteKept | QuestionAsked


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentDecisions(TransactionalService):
    """What people decide about an agent's commands, and what they tell it.

    `continuous_limit`: the most commands that one approval may cover; None is no limit.
    `undo_window`: how long an agent waits after a reply that rejected, before it thinks.
    """

    commands: Commands
    continuous_limit: int | None = None
    undo_window: timedelta = UNDO_WINDOW

    async def decide(
        self, turn_id: TurnId, decision: Decision, origin: Origin, *, shown: str, can_undo: bool = False
    ) -> tuple[Agent, Turn]:
        """Approve, edit or reject an open proposal. `shown` is the hash that the pressed control carried.

        `can_undo`: after a rejection the agent waits for the `undo_window` before it thinks.
        Raise NotAllowed, AlreadyDecided, ChangedSinceShown, or InvalidInput for edited arguments or a number that is
        out of range.
        """

        async def act(work: UnitOfWork) -> tuple[Agent, Turn]:
            turn = await work.turns.get(origin.channel, turn_id)
            agent = await work.agents.get(origin.channel, turn.agent_id)
            if await self.is_repeated(work, origin):
                return agent, turn
            if turn.state == "proposed":
                require_may_decide(agent, origin.by)
                require_as_shown(turn, shown)
            turn = turn.marked_for_two(agent.policy_in_force, by_operator=self.commands.needs_two(turn.call.name))
            usable = validate_decision(decision, turn, self.commands, self.continuous_limit)
            self.waker.wake(work, agent.id)
            return await self._record(work, agent, turn, usable, by=origin.by, can_undo=can_undo)

        return await self.save(act, Attempt(origin=origin, what=decision.kind, turn_id=turn_id))

    async def _record(
        self, work: UnitOfWork, agent: Agent, turn: Turn, decision: Decision, *, by: Actor, can_undo: bool
    ) -> tuple[Agent, Turn]:
        at = self.clock.now()
        decided = await record_decision(work, agent, turn, decision, by=by, at=at)
        if can_undo and isinstance(decision, Reject):
            decided = self._hold(work, *decided, turn.remark)
        work.after_commit(partial(self._tell, turn.asked_at or turn.proposed_at, decided[1], decision.kind, by, at))
        return decided

    def _tell(self, since: datetime, answered: Turn, decision: str, by: Actor, at: datetime) -> None:
        """Log a decision that was saved, and record how long the agent waited for it."""
        facts = {"decision": decision, "surface": answered.channel.surface}
        logger.info("decided", extra={"agent": answered.agent_id, "turn": answered.number, "by": by.id, **facts})
        self.telemetry.record("decision", TurnRef.of(answered), since, at, **facts)
        record_end(self.telemetry, answered)

    async def record_showing(self, turn: Turn, origin: Origin) -> None:
        """Append to the decision log that a page served this person an open proposal, once for each content of it."""
        served = replace(origin, delivery=f"shown {turn.id} {turn.control_hash} {origin.by.id}")

        async def act(work: UnitOfWork) -> None:
            agent = await work.agents.get(origin.channel, turn.agent_id)
            if not await self.is_repeated(work, served):
                work.audit.append(AuditEntry.of_showing(agent, turn, self.clock.now(), origin.by))

        await self.save(act)

    async def reply(
        self,
        agent_id: AgentId,
        text: str,
        origin: Origin,
        seen: SeenProposal = UNKNOWN_PROPOSAL,
        meaning: ReplyMeaning | None = None,
        own_words: str | None = None,
    ) -> ReplyOutcome:
        """Reply to the agent: feedback from an approver rejects an open proposal; all else is saved as a note.

        `meaning`: what the writer chose; None reads it from `own_words`, the text without the names that it mentions.
        A question of somebody who may decide is answered while a proposal is open or the agent is at rest. What is in
        doubt or was written before the writer had `seen` the proposal as it is now decides nothing. A note pauses the
        leases in the thread, or ends those on which the writer may not decide.
        """
        message = _usable_text(text)
        require_may_speak(origin.by, "reply here")
        meant = meaning or meaning_of(message if own_words is None else own_words)

        async def act(work: UnitOfWork) -> ReplyOutcome:
            agent = await work.agents.get(origin.channel, agent_id)
            note = Note.to(agent, message, by=origin.by, at=self.clock.now())
            if await self.is_repeated(work, origin):
                return NoteKept(agent, note)
            self.waker.wake(work, agent_id)
            outcome = await self._take(work, agent, note, seen, meant, can_undo=meaning is None)
            if isinstance(outcome, QuestionAsked):
                return outcome
            for each in await pause_leases(work, agent, origin.by, note.at):
                self.waker.wake(work, each.id)
            return replace(outcome, agent=await work.agents.get(origin.channel, agent_id))

        return await self.save(act)

    async def _take(
        self, work: UnitOfWork, agent: Agent, note: Note, seen: SeenProposal, meant: ReplyMeaning, *, can_undo: bool
    ) -> ReplyOutcome:
        turn = await newest_turn(work, agent)
        is_open = turn is not None and turn.state == "proposed" and may_decide(agent, note.by)
        rests = agent.is_at_rest and not agent.is_archived and may_decide(agent, note.by)
        decides = turn is not None and is_open and seen.follows(turn)
        if meant == "question" and (decides or rests):
            return self._save_question(work, agent, note)
        if turn and decides and meant == "feedback":
            return await self._reject(work, agent, turn, note, can_undo=can_undo)
        note = replace(note, is_forwarded=meant == "forwarded")
        undecided = turn if turn and is_open and seen.covers(turn) and meant == "unclear" else None
        return NoteKept(deliver_note(work, agent, note), note, undecided)

    async def _reject(self, work: UnitOfWork, agent: Agent, turn: Turn, note: Note, *, can_undo: bool) -> StepRejected:
        changed, rejected = await self._record(work, agent, turn, Reject(note.text), by=note.by, can_undo=can_undo)
        return StepRejected(changed, rejected, rejected.undo is not None)

    def _hold(self, work: UnitOfWork, agent: Agent, turn: Turn, remark: str) -> tuple[Agent, Turn]:
        """Let the agent wait before it thinks, so that people can undo. `remark`: what the proposal said."""
        if not self.undo_window or turn.ended_at is None:
            return agent, turn
        until = turn.ended_at + self.undo_window
        agent, turn = replace(agent, wake_at=until), replace(turn, undo=Undo(until, remark))
        work.agents.save(agent)
        work.turns.save(turn)
        return agent, turn

    async def undo(self, turn_id: TurnId, origin: Origin) -> Turn:
        """Take back a rejection before the agent thinks: the proposal is open again, and the reason a note.

        Raise NotAllowed, or NotPossible if the agent has begun to think.
        """

        async def act(work: UnitOfWork) -> Turn:
            turn, now = await work.turns.get(origin.channel, turn_id), self.clock.now()
            agent = await work.agents.get(origin.channel, turn.agent_id)
            if await self.is_repeated(work, origin):
                return turn
            require_may_decide(agent, origin.by)
            opened = turn.reopen(now)
            if turn.number != agent.turns or not isinstance(agent.status, Thinking):
                raise NotPossible(f"It is too late to undo: {agent.name} goes on.")
            rejection = turn.approvals[-1]
            if isinstance(rejection.decision, Reject) and rejection.decision.reason:
                work.notes.add(Note.to(agent, rejection.decision.reason, by=rejection.by, at=now))
            self.audit(work, agent, origin, "undone", f"turn {turn.number}")
            told = f"{origin.by} undid the rejection of turn {turn.number}: it needs approval again."
            self.announce(work, agent, "changed", told)
            work.turns.save(opened)
            work.agents.save(agent.become(Awaiting(), now))
            self.waker.wake(work, agent.id)
            return opened

        return await self.save(act, Attempt(origin=origin, what="undone", turn_id=turn_id))

    async def ask(self, agent_id: AgentId, text: str, origin: Origin) -> QuestionAsked:
        """Save a question about the agent, which the model answers in the thread; raise NotAllowed, InvalidInput."""
        message = _usable_text(text)

        async def act(work: UnitOfWork) -> QuestionAsked:
            agent = await work.agents.get(origin.channel, agent_id)
            require_may_decide(agent, origin.by, "ask the model here")
            if await self.is_repeated(work, origin):
                return QuestionAsked(agent, Notice.question(agent, message, by=origin.by, at=self.clock.now()))
            self.waker.wake(work, agent_id)
            return self._save_question(work, agent, Note.to(agent, message, by=origin.by, at=self.clock.now()))

        return await self.save(act)

    async def settle(
        self, turn_id: TurnId, settlement: Settlement, origin: Origin, *, shown: str
    ) -> tuple[Agent, Turn]:
        """Record what became of a command that was running when the process died; `shown` as in `decide`."""

        async def act(work: UnitOfWork) -> tuple[Agent, Turn]:
            turn = await work.turns.get(origin.channel, turn_id)
            agent = await work.agents.get(origin.channel, turn.agent_id)
            if await self.is_repeated(work, origin):
                return agent, turn
            require_may_decide(agent, origin.by)
            if turn.state == "interrupted":
                require_as_shown(turn, shown)
                require_may_settle(agent, turn, settlement, origin.by, self.clock.now())
                turn = turn.marked_for_two(agent.policy_in_force, by_operator=self.commands.needs_two(turn.call.name))
                require_one_person(turn, settlement)
            answered = settle_turn(turn, settlement, by=origin.by, at=self.clock.now())
            changed = agent.become(Acting() if answered.state == "approved" else Thinking(), self.clock.now())
            if agent.lease and answered.state in ("done", "approved") and agent.lease.counts(turn):  # it may have run
                changed = replace(changed, lease=agent.lease.spend())
            now = self.clock.now()
            work.audit.append(AuditEntry.on(agent, settlement, by=origin.by, at=now, turn=turn))
            work.after_commit(partial(self._tell, agent.since, answered, settlement, origin.by, now))
            work.turns.save(answered)
            work.agents.save(changed)
            self.waker.wake(work, agent.id)
            return changed, answered

        return await self.save(act, Attempt(origin=origin, what=settlement, turn_id=turn_id))

    async def grant_lease(self, agent_id: AgentId, times: int, origin: Origin) -> Agent:
        """Grant a lease for the next `times` commands of every class.

        The lease of an exposed agent excludes execute and publish. Raise NotAllowed, or InvalidInput for a number below
        1 or above the operator's limit.
        """

        async def change(work: UnitOfWork, agent: Agent) -> Agent:
            require_may_decide(agent, origin.by)
            self.require_may_grant(times)
            lease = grant_unattended(times, by=origin.by, at=self.clock.now())
            lease = lease.without_guarded() if agent.exposed else lease
            commands = "command" if times == 1 else f"{times} commands"
            self.announce(work, agent, "changed", f"{origin.by} approved its next {commands}, of every class.")
            return replace(agent, lease=lease)

        return await self.change(agent_id, origin, f"lent ×{times}", change)

    def require_may_grant(self, times: int) -> None:
        """Raise InvalidInput if the number of commands exceeds the operator's limit."""
        require_within_limit(times, self.continuous_limit)

    async def revoke(self, agent_id: AgentId, origin: Origin) -> Agent:
        """End the agent's lease; raise NotPossible if it has none."""

        async def change(work: UnitOfWork, agent: Agent) -> Agent:
            if agent.lease is None:
                raise NotPossible(f"{agent.name} has no approval for more commands.")
            if agent.lease.granted_by.id != origin.by.id:
                require_may_decide(agent, origin.by, "revoke approvals here")
            self.announce(work, agent, "lease ended", f"{origin.by} revoked {agent.lease}.")
            return replace(agent, lease=None)

        return await self.change(agent_id, origin, "revoked", change)

    def _save_question(self, work: UnitOfWork, agent: Agent, note: Note) -> QuestionAsked:
        question = Notice.question(agent, note.text, by=note.by, at=note.at)
        work.notes.announce(question)
        return QuestionAsked(agent, question)


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentService:
    """Everything people can do to agents. An event that the platform delivers twice takes effect once."""

    lifecycle: AgentLifecycle
    archive: AgentArchive
    decisions: AgentDecisions
    server_questions: ServerQuestions
    forks: AgentForks
    schedules: AgentSchedules


def _usable_text(text: str) -> str:
    message = text.strip()
    if not message or len(message) > MAX_NOTE_CHARACTERS:
        raise InvalidInput(
            {"text": f"Reply: between 1 and {MAX_NOTE_CHARACTERS:,} characters, this one has {len(message):,}."}
        )
    return message
