"""Where commands come from that are not Signoff's own: plugins and tool servers, as people are shown them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSource:
    """A plugin or a tool server.

    `version`: as the decision log names it beside the name; may be "".
    `kind`, `place`: what it is and from where it was loaded, for people: `plugin`, `file word_counter.py`.
    `fault`: why none of it can be used now, or "".
    `commands`: the names of its commands, in the order of the prompt.
    `remarks`: what of it is left out and why, a line each.
    """

    name: str
    version: str = ""
    kind: str
    place: str
    fault: str = ""
    commands: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()


ListSources: TypeAlias = Callable[[], tuple[ToolSource, ...]]


def no_sources() -> tuple[ToolSource, ...]:
    """Return none: this host has Signoff's own commands only."""
    return ()
