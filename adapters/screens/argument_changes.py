"""Lists the arguments that a person changed before a command ran, with their texts before and after."""

from collections.abc import Callable
from dataclasses import dataclass

from agent_core.model.decision import ApproveEdited
from agent_core.model.origin import Actor
from agent_core.model.turn import Turn
from agent_core.text.diffs import TextDiff, diff_of
from agent_core.text.lines import counted, in_quotation_marks

MAX_QUOTED_CHARACTERS = 60  # a longer value is counted in lines, not quoted
NOT_GIVEN = "not given"


@dataclass(frozen=True, slots=True)
class ArgumentChange:
    """A changed argument: its text before and after the edit (None: not given), and the line diff."""

    name: str
    before: str | None
    after: str | None
    change: TextDiff

    @property
    def brief(self) -> str:
        if _is_short(self.before) and _is_short(self.after):
            return f"{self.name} from {_quoted(self.before)} to {_quoted(self.after)}"
        return f"{self.name} ({counted(self.change.plus, 'line')} added, {self.change.minus:,} removed)"


def edited_by(turn: Turn) -> Actor | None:
    """The person who edited the command before approving it; None if nobody edited it."""
    return next((each.by for each in turn.approvals if isinstance(each.decision, ApproveEdited)), None)


def argument_changes(turn: Turn, as_text: Callable[[object], str]) -> tuple[ArgumentChange, ...]:
    """The arguments that a person changed before approving: in the proposal's order, then the added ones."""
    if edited_by(turn) is None:
        return ()
    before, after = turn.proposal.call.arguments, turn.call.arguments
    names = [*before, *(name for name in after if name not in before)]
    changed = [name for name in names if name not in before or name not in after or before[name] != after[name]]
    found = []
    for name in changed:
        old, new = (as_text(values[name]) if name in values else None for values in (before, after))
        found.append(ArgumentChange(name, old, new, diff_of(old or "", new or "")))
    return tuple(found)


def _is_short(text: str | None) -> bool:
    return text is None or (len(text) <= MAX_QUOTED_CHARACTERS and "\n" not in text)


def _quoted(text: str | None) -> str:
    return NOT_GIVEN if text is None else in_quotation_marks(text)
