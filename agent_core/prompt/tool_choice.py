"""Chooses by role and goals which tools of plugins and servers a prompt lists, where there are too many for it.

A server may have hundreds of tools, and each takes 50 to 200 tokens of every prompt. Those that fit the agent's goals
are listed, in the order of the registry, so that the standing prompt stays the same from turn to turn. The others can
be called by their names.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from agent_core.model.agent import Agent
from agent_core.model.command import CommandSpec
from agent_core.prompt.system import command_text

TOOL_SHARE = 8  # at most an eighth of the model's window
MAX_TOOL_TOKENS = 8_000
CHARACTERS_PER_TOKEN = 3  # fewer than English has, so that the tokens are never more than this says
MAX_LISTED_CHARACTERS = 1_200
WORD = re.compile(r"[^\W_]{3,}")
COMMON_WORDS = frozenset(re.findall(r"\w+", "and are for from get set that the this use with you your"))


@dataclass(frozen=True, slots=True)
class ToolChoice:
    """The commands that a prompt lists, and those that it leaves out; both in the order of the registry."""

    listed: tuple[CommandSpec, ...]
    left_out: tuple[CommandSpec, ...] = ()

    @property
    def guidance(self) -> tuple[str, ...]:
        """A line for the standing prompt that names what is left out; none if nothing is."""
        if not self.left_out:
            return ()
        names = ", ".join(spec.name for spec in self.left_out)
        cut = names if len(names) <= MAX_LISTED_CHARACTERS else f"{names[:MAX_LISTED_CHARACTERS].rpartition(',')[0]}, …"
        return (f"There are {len(self.left_out):,} more commands, which you can use by their names: {cut}.",)


def choose_tools(agent: Agent, specs: Sequence[CommandSpec], window: int) -> ToolChoice:
    """Signoff's own commands, and the tools that fit role and goals best within their share of the window (tokens)."""
    tools = [spec for spec in specs if spec.source]
    room = tool_room(window)
    if tool_tokens(tools) <= room:
        return ToolChoice(tuple(specs))
    wanted = _words((agent.role, *agent.goals))
    chosen: set[str] = set()
    for spec in sorted(tools, key=lambda each: -_fit(each, wanted)):  # a stable order: equal ones as registered
        taken = tool_tokens((spec,))
        if taken <= room:
            room -= taken
            chosen.add(spec.name)
    left_out = tuple(spec for spec in tools if spec.name not in chosen)
    return ToolChoice(tuple(spec for spec in specs if not spec.source or spec.name in chosen), left_out)


def tool_room(window: int) -> int:
    """How many tokens the listed tools may take in a window of this size."""
    return min(MAX_TOOL_TOKENS, window // TOOL_SHARE)


def tool_tokens(specs: Iterable[CommandSpec]) -> int:
    """About how many tokens the commands take in a prompt."""
    return sum(len(command_text(spec)) // CHARACTERS_PER_TOKEN for spec in specs)


def _fit(spec: CommandSpec, wanted: frozenset[str]) -> int:
    """How many words of the goals the tool's name and description have; one in the name counts three times."""
    return 3 * len(_words((spec.name.replace("_", " "),)) & wanted) + len(_words((spec.description,)) & wanted)


def _words(texts: Iterable[str]) -> frozenset[str]:
    found = (word.rstrip("s") for text in texts for word in WORD.findall(text.casefold()))
    return frozenset(found) - COMMON_WORDS
