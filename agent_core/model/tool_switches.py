"""Which tools of plugins and servers the agents of a channel may use, and the JSON form of it."""

import json
from collections.abc import Iterable
from dataclasses import dataclass, replace

from agent_core.model.command import CommandSpec

NO_TOOLS_KEY = "no tools"  # a preference of a whole workspace; anything but "" keeps tools off
TOOLS_KEY = "tools"  # the channel's preference that holds the switches
HOW_TO_SWITCH = "/agent tools, or the page Tools and plugins, says what is on."


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSwitches:
    """Names of tool sources and of their commands.

    `only`: if it is not empty, everything that neither it nor its source is named here is off.
    `off`: what is off besides. Signoff's own commands are not touched by either.
    `are_denied`: the operator keeps all tools off in this workspace, whatever the channel chose.
    """

    only: tuple[str, ...] = ()
    off: tuple[str, ...] = ()
    are_denied: bool = False

    def is_source_on(self, name: str) -> bool:
        """Whether the source itself is on, with what it does besides its commands."""
        return not self.are_denied and name not in self.off and (not self.only or name in self.only)

    def allows(self, spec: CommandSpec) -> bool:
        """Whether agents of the channel may use the command; True for Signoff's own."""
        if not spec.source:
            return True
        names = {spec.name, spec.source_name}
        return not self.are_denied and names.isdisjoint(self.off) and (not self.only or not names.isdisjoint(self.only))

    def refusal(self, spec: CommandSpec) -> str:
        """Why the command is refused, as a sentence; "" if it is allowed."""
        if self.are_denied and spec.source:
            return (
                f"{spec.name} is off in this workspace: only the operator turns tools of plugins and servers on there."
            )
        return "" if self.allows(spec) else f"{spec.name} is switched off in this channel. {HOW_TO_SWITCH}"

    def turn_off(self, names: Iterable[str]) -> "ToolSwitches":
        """The switches with these sources and commands off."""
        return replace(self, off=_added(self.off, names))

    def turn_on(self, names: Iterable[str]) -> "ToolSwitches":
        """The switches with these sources and commands on, also if only others were."""
        wanted = set(names)
        off = tuple(name for name in self.off if name not in wanted)
        return replace(self, only=_added(self.only, names) if self.only else (), off=off)


ALL_ON = ToolSwitches()


def parse_tool_switches(text: str | None) -> ToolSwitches:
    """Parse the stored switches; None switches nothing off."""
    lists = json.loads(text) if text else {}
    return ToolSwitches(only=tuple(lists.get("only", ())), off=tuple(lists.get("off", ())))


def serialise_tool_switches(switches: ToolSwitches, before: str | None = None) -> str:
    """The switches to store. What a newer release keeps beside them in `before`, the text stored so far, stays."""
    return json.dumps({**(json.loads(before) if before else {}), "only": switches.only, "off": switches.off})


def _added(names: tuple[str, ...], more: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*names, *more)))
