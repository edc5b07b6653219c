"""A turn on one line: its number, its command with its target, how it ended, and what let it run."""

from dataclasses import dataclass
from datetime import datetime

from adapters.screens.text_fit import cut
from adapters.screens.turn_state import STATE_SIGNS, StateParts, decided_parts, state_parts, tone_of
from adapters.screens.visible_text import one_line
from agent_core.model.agent import SIMULATED
from agent_core.model.command import Failed
from agent_core.model.decision import Approve
from agent_core.model.ids import TurnId
from agent_core.model.turn import Turn, target_of, text_of

MAX_TARGET, MAX_ERROR = 140, 80  # UTF-16 units


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnLine:
    """A turn on one line.

    `text`: number, command, target and, if it failed, the beginning of the error.
    `state_parts`: as in `Card`.
    `permission`: what let the command run without a question of its own (a lease or a policy), or "". Two turns with
    the same permission ran under the same decision of a person.
    `address`: the surface's address of the card that shows the turn, or "".
    """

    turn: TurnId
    number: int
    sign: str
    text: str
    state_parts: StateParts
    permission: str
    is_open: bool
    proposed_at: datetime
    address: str

    @property
    def decided_parts(self) -> StateParts:
        """Who decided on the turn and when, without how it ended."""
        return decided_parts(self.state_parts)

    @property
    def signed_text(self) -> str:
        """The text behind the sign of the turn's state."""
        return f"{self.sign} {self.text}"


def line_of(turn: Turn) -> TurnLine:
    """The line of a turn in its present state."""
    tone = tone_of(turn)
    told = (f"{turn.number} {command_text(turn)}", SIMULATED if turn.is_simulated else "", _error_text(turn))
    return TurnLine(
        turn=turn.id,
        number=turn.number,
        sign=STATE_SIGNS[tone],
        text=" · ".join(filter(None, told)),
        state_parts=tuple(one_line_part(part) for part in state_parts(turn)),
        permission=permission_of(turn),
        is_open=turn.is_open,
        proposed_at=turn.proposed_at,
        address=turn.shown_as,
    )


def command_text(turn: Turn, most: int = MAX_TARGET) -> str:
    """A turn's command and its target on one line: `write_to_file report.md · +4 −1`."""
    return " ".join(filter(None, (one_line(turn.call.name), target_text(turn, most))))


def target_text(turn: Turn, most: int = MAX_TARGET) -> str:
    """The target of a turn's command, cut to `most` units."""
    return cut(one_line(target_of(turn)), most)


def permission_of(turn: Turn) -> str:
    """What let the command of a turn, and of others, run without a question: see `TurnLine`."""
    last = turn.approvals[-1] if turn.approvals else None
    if last is None or not isinstance(last.decision, Approve):
        return ""
    if last.decision.times > 1:
        return f"lease {last.at.isoformat()}"
    granted_at = last.decision.granted_at
    return f"{last.decision.under} {granted_at.isoformat() if granted_at else ''}" if last.decision.under else ""


def timeless(parts: StateParts) -> tuple[str, datetime | None]:
    """A state's text without its times, and the last of these times."""
    times = [part for part in parts if isinstance(part, datetime)]
    text = "".join(part for part in parts if isinstance(part, str) and part != ", ")
    return text.removesuffix(", "), times[-1] if times else None


def one_line_part(part: str | datetime) -> str | datetime:
    """A part of a state on one line; the spaces at its ends, which join it to its neighbours, stay."""
    if isinstance(part, datetime):
        return part
    before, after = part[: len(part) - len(part.lstrip())], part[len(part.rstrip()) :]
    return f"{before[:1]}{one_line(part)}{after[:1]}"


def _error_text(turn: Turn) -> str:
    if turn.state != "done" or not isinstance(turn.result, Failed):
        return ""
    return cut(one_line(text_of(turn.result)), MAX_ERROR)
