"""Groups the entries of a thread's page: which turns are one list, and which lists are collapsed to one line."""

from collections.abc import Sequence
from dataclasses import dataclass

from adapters.screens.turn_lines import line_of, permission_of
from adapters.screens.turn_state import StateParts, tone_of
from agent_core.model.turn import Turn
from agent_core.service.reading.views import Entry
from agent_core.text.lines import counted

MAX_LISTED_COMMANDS = 5  # a longer list is folded


@dataclass(frozen=True, slots=True)
class EntryGroup:
    """One entry, or turns whose commands ran under one decision and one after another. `permission`: see `TurnLine`."""

    entries: tuple[Entry, ...]
    permission: str = ""

    @property
    def turns(self) -> tuple[Turn, ...]:
        return tuple(entry for entry in self.entries if isinstance(entry, Turn))

    @property
    def is_run(self) -> bool:
        """Whether it is a list of commands that is so long that it is folded."""
        return len(self.turns) > MAX_LISTED_COMMANDS

    @property
    def has_failed(self) -> bool:
        return any(tone_of(turn) == "bad" for turn in self.turns)

    @property
    def summary_parts(self) -> StateParts:
        """How many commands ran, were simulated and failed, and who approved them; times are separate parts."""
        simulated = sum(turn.is_simulated for turn in self.turns)
        numbers = {"only simulated": simulated, "failed": sum(tone_of(turn) == "bad" for turn in self.turns)}
        more = "".join(f", {number} {what}" for what, number in numbers.items() if number)
        ran = f"{counted(len(self.turns) - simulated, 'command')} ran{more}"
        return (f"{ran} · ", *line_of(self.turns[0]).decided_parts)


def last_decided(entries: Sequence[Entry]) -> Turn | None:
    """The newest turn on which somebody decided. It is shown whole."""
    decided = (entry for entry in reversed(entries) if isinstance(entry, Turn) and not entry.is_open)
    return next(decided, None)


def group_entries(entries: Sequence[Entry]) -> tuple[EntryGroup, ...]:
    """The entries in their order; neighbouring turns that ran under one decision are one group."""
    whole, groups = last_decided(entries), list[EntryGroup]()
    for entry in entries:
        is_listed = isinstance(entry, Turn) and entry.state == "done" and entry != whole
        permission = permission_of(entry) if isinstance(entry, Turn) and is_listed else ""
        if permission and groups and groups[-1].permission == permission:
            groups[-1] = EntryGroup((*groups[-1].entries, entry), permission)
        else:
            groups.append(EntryGroup((entry,), permission))
    return tuple(groups)
