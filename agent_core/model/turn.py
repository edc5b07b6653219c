"""The record of a turn: its states and changes (decide, start, finish, settle), its hashes, and its target in words.

proposed ──► approved ──► running ──► done
│  ▲          │           │
│  └ changed ─┘           └──► interrupted ──► approved (run again) · done (it ran, skip)
├──► rejected
└──► withdrawn
"""

import zlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from posixpath import normpath
from typing import Literal, Self, assert_never

from agent_core.errors import AlreadyDecided, NotPossible
from agent_core.model.command import (
    CommandCall,
    Failed,
    Interrupted,
    Preview,
    Proposal,
    Result,
    RiskClass,
    Succeeded,
    call_digest,
    text_digest,
)
from agent_core.model.decision import Approval, Approve, ApproveEdited, Decision, Policy, Reject
from agent_core.model.ids import AgentId, TurnId
from agent_core.model.model_calls import Usage
from agent_core.model.origin import Actor, ChannelScope
from agent_core.model.question import AskedQuestion
from agent_core.text.lines import one_line, quoted, unseparated

TurnState = Literal["proposed", "approved", "running", "interrupted", "done", "rejected", "withdrawn"]
PROCESS_DIED = Interrupted()


@dataclass(frozen=True, slots=True)
class Undo:
    """A rejection that can be undone `until` then; `remark` is what the proposal said about its last change."""

    until: datetime
    remark: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """A turn's state; every method returns the next state.

    `source`: name and version of the plugin or server that added the command; "" for Signoff's own.
    `always_asks`: no lease and no policy covers the command.
    `needs_two`: two people approve it. The first approval stands in `approvals` while the turn is proposed.
    `finishes`: its success ends the agent's work.
    `remark`: why the turn is shown again, for people.
    `review`: the model's criticism of its own proposal, if a person asked for it.
    `live`: the output so far of its running command.
    `asked`: what a tool server asked people last during the call.
    `run_preview`: the preview of an edited command, computed when it started.
    `is_copy`: it was another agent's, of which this one is a fork.
    `undo`: what a rejection can be undone with, and until when.
    `begun_at`: since when the agent thought about it; None in turns of older releases.
    `asked_at`: when people were asked again because the preview or the permission had changed.
    `exposed`, `exposures`: the agent's values when it proposed this, as the card shows them.

    `shown_as`: the surface's address of the card.
    `shown_at`: when the card was first sent.
    `shown_hash_on_card`: the `control_hash` of the state that the card shows.
    """

    id: TurnId
    agent_id: AgentId
    channel: ChannelScope
    number: int
    proposal: Proposal
    risks: tuple[RiskClass, ...]
    usage: Usage
    proposed_at: datetime
    state: TurnState = "proposed"
    approvals: tuple[Approval, ...] = ()
    started_at: datetime | None = None
    ended_at: datetime | None = None
    ended_by: Actor | None = None
    result: Result | None = None
    source: str = ""
    always_asks: bool = False
    needs_two: bool = False
    finishes: bool = False
    remark: str = ""
    review: str = ""
    live: str = ""
    asked: AskedQuestion | None = None
    exposed: bool = False
    exposures: int = 0
    undo: Undo | None = None
    is_copy: bool = False
    begun_at: datetime | None = None
    asked_at: datetime | None = None
    run_preview: Preview | None = None
    shown_as: str = ""
    shown_at: datetime | None = None
    shown_hash_on_card: str = ""

    def __hash__(self) -> int:
        return hash(self.id)

    @property
    def call(self) -> CommandCall:
        """The call that runs: as proposed, or as edited by a person."""
        for approval in reversed(self.approvals):
            if isinstance(approval.decision, ApproveEdited):
                return replace(self.proposal.call, arguments=approval.decision.arguments)
        return self.proposal.call

    @property
    def source_name(self) -> str:
        """The name of the plugin or server that added the command; "" for Signoff's own."""
        return self.source.partition(" ")[0]

    @property
    def shown_hash(self) -> str:
        """A digest of the proposal; equals `run_hash` unless a person edited the command."""
        return self.proposal.shown_hash

    @property
    def control_hash(self) -> str:
        """The hash that every button of the card carries. Each decision is checked against it.

        It covers the turn's id, the call, its preview's target and basis, and whether the card marks the agent exposed.
        The call is the one that an approval now would run: also the first of two people may have edited it.
        """
        is_edited = self.state == "interrupted" or (self.state == "proposed" and self.first_approval)
        runs = self.run_hash if is_edited else self.shown_hash
        return text_digest("\0".join((self.id, runs, "exposed" if self.exposed else "")))

    @property
    def is_edited(self) -> bool:
        """Whether a person changed the arguments."""
        return any(isinstance(approval.decision, ApproveEdited) for approval in self.approvals)

    @property
    def first_approval(self) -> Approval | None:
        """The approval of the first of two people, while the second one is waited for."""
        return self.approvals[0] if self.state == "proposed" and self.approvals else None

    @property
    def shown_preview(self) -> Preview | None:
        """The preview of the call that runs; an edited command has none before it starts."""
        return self.run_preview if self.is_edited else self.proposal.preview

    @property
    def run_hash(self) -> str:
        """A digest of the call that runs or ran; equals `shown_hash` unless a person edited it."""
        return call_digest(self.call, self.shown_preview)

    @property
    def is_simulated(self) -> bool:
        """Whether nothing ran, as it was a dry run."""
        return isinstance(self.result, Succeeded) and self.result.is_simulated

    @property
    def only_reads(self) -> bool:
        """Whether the command only reads, so that running it twice does no harm."""
        return set(self.risks) == {"read"}

    @property
    def changes_files(self) -> bool:
        return not {"write", "delete"}.isdisjoint(self.risks)

    @property
    def may_change_files(self) -> bool:
        """Whether the command, as it was approved, may change files in the workspace."""
        return bool(self.source) or not set(self.risks) <= {"read", "network"}

    @property
    def is_open(self) -> bool:
        """Whether people must decide on the proposal, or say whether an interrupted command ran."""
        return self.state in ("proposed", "interrupted")

    @property
    def open_question(self) -> AskedQuestion | None:
        """What a tool server asks people now. A release that knows no questions keeps one when it runs a turn again."""
        asked, began = self.asked, self.started_at
        is_open = self.state == "running" and asked and not asked.answered_by and began and asked.at >= began
        return asked if is_open else None

    @property
    def stage(self) -> str:
        """The values that determine how the card looks: a card shown at another stage is out of date.

        An approved command is shown as running already.
        """
        state = "running" if self.state == "approved" else self.state
        live = f"/live {zlib.crc32(self.live.encode(errors='replace')):x}" if self.live else ""
        asks = f"/asks {self.open_question.id}" if self.open_question else ""
        first = self.first_approval
        two = f"/two {f'{first.by.id} {first.at}' if first else ''}" if self.needs_two and self.is_open else ""
        marks = (
            f"/changed {self.control_hash}" if self.remark else "",
            "/reviewed" if self.review else "",
            live,
            asks,
            two,
        )
        return f"{state}/{len(self.approvals)}{''.join(marks)}"

    @property
    def decided_by(self) -> Actor | None:
        """Who decided last; None while a proposal waits, and for a turn that a Stop withdrew who stopped."""
        if self.state == "withdrawn":
            return self.ended_by
        return self.approvals[-1].by if self.approvals and not self.first_approval else None

    def requires_two(self, policy: Policy) -> bool:
        """Whether two people must approve it. What tightened the policy since counts, what loosened it does not."""
        return self.needs_two or not set(self.risks).isdisjoint(policy.two)

    def marked_for_two(self, policy: Policy, *, by_operator: bool = False) -> Self:
        """The turn, with `needs_two` if the policy or the operator wants it now."""
        return replace(self, needs_two=by_operator or self.requires_two(policy))

    def decide(self, decision: Decision, *, by: Actor, at: datetime) -> Self:
        """Add a decision; raise AlreadyDecided or NotPossible unless the turn is proposed.

        If two people must approve, the turn stays proposed after the first; an edit by the second is a first approval.
        """
        if self.state != "proposed":
            raise self._already()
        if self.needs_two and not isinstance(decision, Reject):
            if isinstance(decision, ApproveEdited) and not self._is_changed(decision):
                decision = Approve()
            if waiting := self._approve_first(decision, by, at):
                return waiting
        decided = replace(self, approvals=(*self.approvals, Approval(by, at, decision)), remark="")
        match decision:
            case Reject():
                return replace(decided, state="rejected", ended_at=at, ended_by=by)
            case Approve() | ApproveEdited():
                return replace(decided, state="approved")
        assert_never(decision)

    def _approve_first(self, decision: Approve | ApproveEdited, by: Actor, at: datetime) -> Self | None:
        """The turn that waits for the second of two people; None if this person is the second."""
        first = self.first_approval
        if first and first.by.id == by.id:
            raise NotPossible(f"You approved turn {self.number} already: another person must approve it too.")
        if isinstance(decision, ApproveEdited):
            return replace(self, approvals=(Approval(by, at, decision),), asked_at=at)
        return None if first else replace(self, approvals=(Approval(by, at, decision),))

    def _is_changed(self, edit: ApproveEdited) -> bool:
        """Whether an edit gives another command, as its hash tells: 1 and true differ."""
        return replace(self.call, arguments=edit.arguments).canonical != self.call.canonical

    def reopen(self, at: datetime) -> Self:
        """The proposal again; raise NotPossible unless its rejection can be undone and is a moment old."""
        if self.state != "rejected" or self.undo is None or at >= self.undo.until:
            raise NotPossible(f"It is too late to undo: turn {self.number} is {self.state}.")
        return replace(
            self,
            state="proposed",
            approvals=self.approvals[:-1],
            ended_at=None,
            ended_by=None,
            remark=self.undo.remark,
            undo=None,
            asked_at=at,
        )

    def start(self, at: datetime, preview: Preview | None = None) -> Self:
        """Start the approved command; raise NotPossible unless the turn is approved.

        `preview`: the preview computed now, which is kept for an edited command.
        """
        if self.state != "approved":
            raise NotPossible(f"Turn {self.number} is {self.state}, not approved.")
        return replace(self, state="running", started_at=at, run_preview=preview if self.is_edited else None)

    def finish(self, result: Result, at: datetime) -> Self:
        asked = self.asked.without_texts() if self.asked else None
        return replace(self, state="done", result=result, ended_at=at, remark="", live="", asked=asked)

    def stop(self, by: Actor, at: datetime, *, outside: bool = False) -> Self:
        """A person stopped the agent: withdraw an open proposal, end a running command with its output so far.

        `outside` says that the output may contain untrusted content.
        """
        if self.state in ("running", "interrupted"):
            return replace(self.finish(Interrupted(by, self.live, outside and bool(self.live)), at), ended_by=by)
        return replace(self, state="withdrawn", ended_at=at, ended_by=by)

    def restart(self) -> Self:
        """Approve again a read-only command that was running when the process died."""
        return replace(self, state="approved", started_at=None, run_preview=None, live="", asked=None)

    def interrupt(self, result: Interrupted = PROCESS_DIED) -> Self:
        """Mark the command as interrupted by the end of the process, so that people are asked whether it ran."""
        return replace(self, state="interrupted", result=result, live="", asked=None)

    def run_again(self, by: Actor, at: datetime) -> Self:
        """Approve the interrupted command once more, as the card shows it.

        An edited command becomes the proposal, with the preview that it started with, so that nothing else runs.
        `started_at` stays: its files are no longer those of before it.
        """
        self._require_interrupted()
        proposal = replace(self.proposal, call=self.call, preview=self.shown_preview)
        approvals = (Approval(by, at, Approve()),)
        return replace(self, state="approved", result=None, approvals=approvals, proposal=proposal)

    def settle(self, result: Result, by: Actor, at: datetime) -> Self:
        """End an interrupted command with the result that a person gave."""
        self._require_interrupted()
        return replace(self.finish(result, at), ended_by=by)

    def with_live_output(self, live: str) -> Self:
        return replace(self, live=live)

    def ask(self, question: AskedQuestion) -> Self:
        """The running turn, in whose call a server asks this, or was answered. The first answer stays."""
        known = self.asked
        is_over = known is not None and known.id == question.id and known.answered_by is not None
        return self if is_over else replace(self, asked=question)

    def reviewed(self, review: str) -> Self:
        """The turn with the model's criticism of its own proposal."""
        return replace(self, review=review)

    def show_again(self, preview: Preview | None, remark: str, at: datetime) -> Self:
        """Ask people again because preview or permission changed; an edited call becomes the proposed one."""
        proposal = replace(self.proposal, call=self.call, preview=preview)
        return replace(self, state="proposed", approvals=(), proposal=proposal, remark=remark, asked_at=at)

    def keep_output(self, output: str, *, outside: bool) -> Self:
        """The turn with its whole output if a person stopped the command; otherwise the turn unchanged."""
        if self.state != "done" or not isinstance(self.result, Interrupted) or self.result.by is None:
            return self
        return replace(self, result=replace(self.result, output=output, outside=outside))

    def _require_interrupted(self) -> None:
        if self.state != "interrupted":
            raise self._already()

    def _already(self) -> AlreadyDecided | NotPossible:
        if self.state == "withdrawn" and self.ended_by and self.ended_at:
            return AlreadyDecided("withdrawn", str(self.ended_by), self.ended_at)
        if not self.approvals:
            return NotPossible(f"Turn {self.number} is {self.state}.")
        last = self.approvals[-1]
        verb = "rejected" if isinstance(last.decision, Reject) else "approved"
        return AlreadyDecided(verb, str(last.by), last.at)


def text_of(result: Result) -> str:
    """A result as the model and people read it."""
    match result:
        case Succeeded(output):
            return output
        case Failed(error):
            return f"Error: {error}"
        case Interrupted(by=by, output=output, is_skipped=is_skipped) if by is None or is_skipped:
            said = f"Interrupted: it may have run in part.{f' {by} said to go on without it.' if by else ''}"
            return f"{said} Until then it printed:\n{output}" if output else said
        case Interrupted(by=by, output=output):
            said = f"stopped by {by} while it ran; it may have run in part."
            return f"{said} Until then it printed:\n{output}" if output else said
    assert_never(result)


def changed_text(before: Preview | None, now: Preview | None) -> str:
    """What changed since people were shown a proposal, in two sentences."""
    if before and now and before.model != now.model:
        return f"The model changed since this was shown: it is {now.model} now."
    named = (quoted(each.target, MAX_TARGET_CHARACTERS) for each in (before, now) if each and each.target)
    return f"{next(named, 'Something it depends on')} changed since this was shown. This is the present state."


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenProposal:
    """What is known of the proposals that the writer of a reply had seen.

    `hashes`: those of all proposals on the page or card of the reply; None if unknown, as in a chat thread.
    `written_at`: the time of the reply. If `hashes` is None, it is compared with the time of the proposal or card.
    """

    hashes: Collection[str] | None = None
    written_at: datetime | None = None

    def follows(self, turn: Turn) -> bool:
        """Whether the reply may refer to the turn as it is now: enough to reject the turn, not to approve it."""
        if self.hashes is not None or self.written_at is None:
            return self.hashes is None or turn.control_hash in self.hashes
        return self.written_at >= (turn.asked_at or turn.proposed_at)

    def covers(self, turn: Turn) -> bool:
        """Whether the writer surely saw the turn as it is now, on a card shown before the reply."""
        if self.hashes is not None:
            return turn.control_hash in self.hashes
        if self.written_at is None or turn.shown_at is None:
            return False
        return turn.shown_hash_on_card == turn.control_hash and turn.shown_at <= self.written_at


UNKNOWN_PROPOSAL = SeenProposal()
MAIN_ARGUMENTS = ("command_line", "url", "filename", "path", "query", "key", "turn")
FIRST_ARGUMENTS = (*MAIN_ARGUMENTS, "name", "prompt", "text", "code")  # whatever order the model chose
JOINED_ARGUMENTS: Mapping[str, str] = {"args": " ", "clone_path": " → "}  # shown behind the main one
MAX_TARGET_CHARACTERS = 500


def target_of(turn: Turn) -> str:
    """What the command of a turn works on, on one line; for a changed file with the number of lines.

    The text belongs to no time: it is true before the command runs and afterwards. It is "" without arguments.
    """
    lines = changed_lines(turn.shown_preview)
    return one_line(f"{object_of(turn)}{f' · {lines}' if lines else ''}", MAX_TARGET_CHARACTERS)


def object_of(turn: Turn) -> str:
    """The main argument of a turn's command, with those that belong to it; "" without arguments."""
    values = {name: str(value) for name, value in turn.call.arguments.items() if _can_be_told(value)}
    main = next((name for name in FIRST_ARGUMENTS if name in values), next(iter(values), ""))
    joined = {**JOINED_ARGUMENTS, "filename": " → "} if main == "url" else JOINED_ARGUMENTS
    more = "".join(f"{joint}{values[name]}" for name, joint in joined.items() if name in values and name != main)
    return unseparated(f"{values.get(main, '')}{more}")


def named_target_of(turn: Turn) -> str:
    """The target for the decision log, which outlives the agent: "" where it would be the model's own prose."""
    return target_of(turn) if any(name in turn.call.arguments for name in MAIN_ARGUMENTS) else ""


def _can_be_told(value: object) -> bool:
    return isinstance(value, str | int) and not isinstance(value, bool) and bool(str(value).strip())


def changed_lines(preview: Preview | None) -> str:
    """The end of a diff's title: `+4 −1`."""
    end = preview.title.rpartition(" · ")[2] if preview and preview.kind == "diff" else ""
    return end if end.startswith(("+", "−")) else ""


def changes_file(turn: Turn, path: str) -> bool:
    """Whether the turn changed the file of this normal path, as far as its preview or result names it or its folder."""
    if turn.state != "done" or isinstance(turn.result, Failed) or turn.is_simulated or not turn.changes_files:
        return False
    made = turn.result.files if isinstance(turn.result, Succeeded) else ()
    target = normpath(turn.shown_preview.target) if turn.shown_preview and turn.shown_preview.target else ""
    return path == target or path in made or (bool(target) and path.startswith(f"{target}/"))
