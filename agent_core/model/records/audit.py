"""Entries of the decision log (audit log): who decided what and when, what they were shown, and what ran.

The log is append-only.
"""

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal, Self, TypeAlias

from agent_core.model.agent import SIMULATED, Agent
from agent_core.model.command import Failed, Interrupted, RiskClass, Succeeded
from agent_core.model.decision import Approval, Approve, ApproveEdited, detail_of
from agent_core.model.ids import AgentId, TurnId, new_id
from agent_core.model.origin import SIGNOFF, Actor, ChannelScope
from agent_core.model.turn import Turn, named_target_of

NO_AGENT = AgentId("")
RAN, ENDED, DELETED = "ran", "ended", "deleted"
PROPOSED, SHOWN, REFUSED = "proposed", "shown", "refused"
UNLISTED = frozenset({PROPOSED, SHOWN, REFUSED})  # evidence only: people do not read it in the log
MAX_DETAIL_CHARACTERS = 200

Grant: TypeAlias = Literal["", "approve", "edit", "lease", "policy", "rule"]
RunOutcome: TypeAlias = Literal["", "running", "done", "failed", "stopped", "interrupted", "not run"]


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditEntry:
    """One act of a person, the start of a command (`ran`), or its end (`ended`).

    `shown_hash`, `run_hash`: what the card showed, and what ran.
    `grant`, `granted_at`, `by`: the permission under which a command ran, when it was given, and who gave it.
    `target`: the command line, address, file or search; "" without one, and in entries of older releases.
    `given`: in the entry `ran`, the detail of the decision under which the command ran (`×3`, or the edited
    arguments); "" under a lease or a policy.
    `outcome`: "running" in the entry `ran`, how the command ended in the entry `ended`, "" in all others.
    `agent_id`: empty in an entry about the channel.
    `is_blanked`: its detail, target and given were deleted with the agent.
    """

    id: str
    channel: ChannelScope
    by: Actor
    at: datetime
    act: str
    agent_id: AgentId = NO_AGENT
    agent_name: str = ""
    detail: str = ""
    turn_id: TurnId | None = None
    turn_number: int = 0
    command: str = ""
    target: str = ""
    given: str = ""
    risks: tuple[RiskClass, ...] = ()
    shown_hash: str = ""
    run_hash: str = ""
    grant: Grant = ""
    granted_at: datetime | None = None
    outcome: RunOutcome = ""
    is_blanked: bool = False

    @classmethod
    def on(cls, agent: Agent, act: str, *, by: Actor, at: datetime, detail: str = "", turn: Turn | None = None) -> Self:
        """A new entry about an agent, or about one of its turns."""
        entry = cls(
            id=new_id(at),
            agent_id=agent.id,
            agent_name=agent.name,
            channel=agent.channel,
            by=by,
            at=at,
            act=act,
            detail=detail,
        )
        if turn is None:
            return entry
        return replace(
            entry,
            turn_id=turn.id,
            turn_number=turn.number,
            command=turn.call.name,
            target=named_target_of(turn),
            risks=turn.risks,
            shown_hash=turn.shown_hash,
        )

    @classmethod
    def in_channel(cls, channel: ChannelScope, act: str, *, by: Actor, at: datetime, detail: str = "") -> Self:
        """A new entry about a setting of a channel."""
        return cls(id=new_id(at), channel=channel, by=by, at=at, act=act, detail=detail)

    @classmethod
    def of_showing(cls, agent: Agent, turn: Turn, at: datetime, by: Actor = SIGNOFF) -> Self:
        """The entry for the card of an open proposal that was posted, or that a page served to a person (`by`)."""
        return replace(cls.on(agent, SHOWN, by=by, at=at, turn=turn), target="", shown_hash=turn.run_hash)

    @classmethod
    def of_run(cls, agent: Agent, turn: Turn, at: datetime, source: str = "") -> Self:
        """The entry for the start of a command, to be saved in the same transaction as the started turn.

        `source`: name and version of the plugin or server that added the command, or "".
        """
        approval = turn.approvals[-1]
        is_simulated = agent.simulates(turn)
        told = SIMULATED if is_simulated else f"command of {source}" if source else ""
        entry = cls.on(agent, RAN, by=approval.by, at=at, turn=turn, detail=told)
        return replace(
            entry,
            run_hash=turn.run_hash,
            grant=_grant_of(approval),
            given=detail_of(approval.decision),
            granted_at=_granted_at(approval),
            outcome="running",
        )

    @classmethod
    def of_crash(cls, agent: Agent, turn: Turn, at: datetime) -> Self:
        """The entry for a read-only command that was cut off when the process died, and that will run again unasked."""
        return replace(cls.on(agent, ENDED, by=turn.approvals[-1].by, at=at, turn=turn), outcome="interrupted")

    @classmethod
    def of_end(cls, agent: Agent, turn: Turn, at: datetime) -> Self:
        """The entry for the end of a command, or for an approved command that did not run."""
        by = turn.ended_by or turn.approvals[-1].by
        entry = cls.on(agent, ENDED, by=by, at=at, turn=turn, detail=_detail_of(turn))
        return replace(entry, outcome=_outcome_of(turn))

    def without_texts(self) -> Self:
        """The entry as it stays in the log of a deleted agent."""
        return replace(self, detail="", target="", given="")


def _grant_of(approval: Approval) -> Grant:
    match approval.decision:
        case Approve(under=("lease" | "policy" | "rule") as under):
            return under
        case ApproveEdited():
            return "edit"
        case _:
            return "approve"


def _granted_at(approval: Approval) -> datetime:
    decision = approval.decision
    return (decision.granted_at if isinstance(decision, Approve) else None) or approval.at


def _outcome_of(turn: Turn) -> RunOutcome:
    match turn.result:
        case Succeeded():
            return "done"
        case Failed():
            return "failed" if turn.started_at else "not run"
        case Interrupted(by=None) | Interrupted(is_skipped=True):
            return "interrupted"
        case Interrupted():
            return "stopped"
        case None:
            return "not run"


def _detail_of(turn: Turn) -> str:
    if not isinstance(turn.result, Failed):
        return ""
    return next(iter(turn.result.error.strip().splitlines()), "")[:MAX_DETAIL_CHARACTERS]
