"""Words the state of a turn: what happened, who decided and when; its tone, and the outcome of its command."""

import re
from collections.abc import Callable
from datetime import datetime
from itertools import pairwise
from typing import Literal, TypeAlias

from agent_core.model.command import Failed, Interrupted, Succeeded
from agent_core.model.decision import Approval, Approve, ApproveEdited, Reject
from agent_core.model.turn import Turn, text_of
from agent_core.text.lines import unclosing

Tone: TypeAlias = Literal["open", "busy", "good", "bad", "quiet"]
LIVE_LINES = 12
RUNNING = " · running"
STATE_SIGNS: dict[Tone, str] = {"good": "✓", "bad": "✗", "busy": "●", "quiet": "–", "open": "○"}
# Text and points in time, in the order in which they are read: a surface can show each time in its reader's time zone.
StateParts: TypeAlias = tuple[str | datetime, ...]
WAITS: StateParts = ("needs approval",)
WAITS_FOR_TWO: StateParts = ("needs approval by two people",)


def state_text(parts: StateParts) -> str:
    """A state as text, with its times in UTC."""
    return "".join(f"{part:%H:%M} UTC" if isinstance(part, datetime) else part for part in parts)


def untimed_text(parts: StateParts) -> str:
    """A state as text without its times, for a name that is heard while the times stand beside it."""
    texts = [
        part.rstrip(" ,") if isinstance(after, datetime) else part
        for part, after in pairwise((*parts, ""))
        if isinstance(part, str)
    ]
    return "".join(texts)


def decided_parts(parts: StateParts) -> StateParts:
    """Who decided on a turn and when, without how it ended."""
    return parts[parts.index(" · ") + 1 :] if " · " in parts else parts


def cut_parts(parts: StateParts, most: int, cut: Callable[[str, int], str]) -> StateParts:
    """The parts on one line, their texts cut to `most` units in all."""
    shown: list[str | datetime] = []
    for part in parts:
        if isinstance(part, str):
            text = re.sub(r"\s+", " ", part)
            shown.append(cut(text, most))
            if shown[-1] != text:
                break
            most -= len(text)
        else:
            shown.append(part)
    return tuple(shown)


def state_parts(turn: Turn) -> StateParts:
    """The state of a turn, who decided and when."""
    match turn.state:
        case "proposed":
            return _asked(turn)
        case "approved" | "running":
            return (*_approved(turn), RUNNING)
        case "interrupted":
            if isinstance(turn.result, Interrupted) and turn.result.at_shutdown:
                return ("interrupted: Signoff stopped and ended this. It may have run in part",)
            return ("interrupted: Signoff restarted while this ran. It may have run",)
        case "rejected":
            return _rejected(turn.approvals[-1])
        case "withdrawn":
            return (f"withdrawn: stopped by {turn.ended_by and turn.ended_by.in_full}", *_at(turn.ended_at))
        case "done":
            return _done(turn)


def tone_of(turn: Turn) -> Tone:
    """The tone in which the state is shown: each surface has a colour or sign for it."""
    match turn.state:
        case "proposed" | "interrupted":
            return "open"
        case "approved" | "running":
            return "busy"
        case "rejected":
            return "bad"
        case "withdrawn":
            return "quiet"
        case "done":
            return "good" if isinstance(turn.result, Succeeded) else "quiet" if _was_stopped(turn) else "bad"


def outcome_text(turn: Turn) -> str:
    """The result of the command, or the newest lines of its output while it runs."""
    if turn.state == "running":
        return "\n".join(turn.live.splitlines()[-LIVE_LINES:])
    if turn.state == "interrupted" and isinstance(turn.result, Interrupted):
        return turn.result.output
    return text_of(turn.result) if turn.result and turn.state == "done" else ""


def _asked(turn: Turn) -> StateParts:
    if first := turn.first_approval:
        return (f"1 of 2 · {_verb(first)} by {first.by.in_full}", *_at(first.at), " · another person must approve too")
    return WAITS_FOR_TWO if turn.needs_two else WAITS


def _verb(approval: Approval) -> str:
    return "edited and approved" if isinstance(approval.decision, ApproveEdited) else "approved"


def _done(turn: Turn) -> StateParts:
    """How the command ended and who approved it, with the time of the approval.

    A command that ran without asking has the time of its end instead; an approved one that was stopped has both.
    """
    last = turn.approvals[-1]
    is_unasked = isinstance(last.decision, Approve) and bool(last.decision.under)
    at_end = _at(turn.ended_at) if is_unasked or _was_stopped(turn) else ()
    return (_ended(turn), *at_end, " · ", *_approved(turn), *(() if is_unasked else _at(last.at)))


def _ended(turn: Turn) -> str:
    if isinstance(turn.result, Interrupted):
        verb = "skipped" if turn.result.is_skipped else "stopped"
        return f"{verb} by {turn.ended_by.in_full}" if turn.ended_by else verb
    return "failed" if isinstance(turn.result, Failed) else "done"


def _was_stopped(turn: Turn) -> bool:
    return isinstance(turn.result, Interrupted) and turn.ended_by is not None


def _approved(turn: Turn) -> StateParts:
    last = turn.approvals[-1]
    match last.decision:
        case Approve(under="policy"):
            return (f"no approval needed (policy: {' and '.join(turn.risks)}, by {last.by.in_full})",)
        case Approve(under="rule", rule=words):
            return (f"no approval needed (rule by {last.by.in_full}: ", words, ")")
        case Approve(under="lease", granted_at=granted_at):
            return (f"auto-approved by {last.by.in_full}’s Approve ×N", *_at(granted_at))
        case Approve(times) if times > 1:
            return (f"approved ×{times} by {last.by.in_full}",)
        case _:
            first = turn.approvals[0]
            joint = ", approved by" if isinstance(first.decision, ApproveEdited) else " and"
            also = "" if first is last else f"{joint} {last.by.in_full}"
            return (f"{_verb(first)} by {first.by.in_full}{also}",)


def _rejected(last: Approval) -> StateParts:
    reason = last.decision.reason if isinstance(last.decision, Reject) else ""
    # The reason is a part of its own, as it may be written from right to left.
    given = (" · “", unclosing(reason), "”") if reason else ()
    return (f"rejected by {last.by.in_full}", *_at(last.at), *given)


def _at(time: datetime | None) -> StateParts:
    return (", ", time) if time else ()
