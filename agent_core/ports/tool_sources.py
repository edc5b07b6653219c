"""Where commands come from that are not Signoff's own: plugins and tool servers, as people are shown them."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptArgument:
    """What a prompt has to be told. All texts are its server's."""

    name: str
    description: str = ""
    is_required: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SourcePrompt:
    """A text that a source offers, from which an agent can be drafted. All texts are its server's.

    `fault`: why no agent can be drafted from it, to complete "The prompt …", or "". One with a fault has no arguments.
    """

    name: str
    title: str = ""
    description: str = ""
    arguments: tuple[PromptArgument, ...] = ()
    fault: str = ""


ReadPrompt: TypeAlias = Callable[[str, Mapping[str, str]], Awaitable[str]]


async def read_no_prompt(_name: str, _arguments: Mapping[str, str]) -> str:
    """Return nothing: this source has no prompts."""
    return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSource:
    """A plugin or a tool server.

    `version`: as the decision log names it beside the name; may be "".
    `kind`, `place`: what it is and from where it was loaded, for people: `plugin`, `file word_counter.py`.
    `fault`: why none of it can be used now, or "".
    `commands`: the names of its commands, in the order of the prompt.
    `remarks`: what of it is left out and why, a line each.
    `prompts`: what it offers now to draft agents from. `read_prompt`: asks it for one by name, with its arguments;
    raises CommandError with a sentence if it does not give it.
    """

    name: str
    version: str = ""
    kind: str
    place: str
    fault: str = ""
    commands: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    prompts: tuple[SourcePrompt, ...] = ()
    read_prompt: ReadPrompt = field(default=read_no_prompt, repr=False, compare=False)


ListSources: TypeAlias = Callable[[], tuple[ToolSource, ...]]


def no_sources() -> tuple[ToolSource, ...]:
    """Return none: this host has Signoff's own commands only."""
    return ()
