"""Compares names of commands, and words the error for an unknown one, with what it may mean."""

from collections.abc import Iterable
from difflib import get_close_matches
from functools import cache

from agent_core.errors import UnusableReply
from agent_core.model.command import CommandSpec
from agent_core.toolset.arguments import normalise_name

MAX_TYPED_CHARACTERS = 80


def names_of(spec: CommandSpec) -> tuple[str, ...]:
    """The command's name and synonyms, in the form in which they are compared."""
    return _normalise_names((spec.name, *spec.synonyms))


def unknown_command(
    name: str, every: Iterable[CommandSpec], usable: Iterable[CommandSpec], owners: Iterable[str]
) -> UnusableReply:
    """The error for a name that no command has: what it may mean, and which commands there are.

    `every`: also those that are off. `owners`: who registers commands while the process runs, such as tool servers;
    their commands are called `OWNER.NAME`.
    """
    owner = name.partition(".")[0]
    if owner in owners:
        brief = (
            f"{name[:MAX_TYPED_CHARACTERS]} cannot be used: {owner} offers no such command, or is not connected now."
        )
    else:
        near = _find_near_name((spec for spec in every if not spec.source), name)
        brief = f"there is no command {name[:MAX_TYPED_CHARACTERS]!r}.{f' Did you mean {near}?' if near else ''}"
    own = ", ".join(spec.name for spec in usable if not spec.source)  # what a channel switched off is not named
    return UnusableReply(f"{brief} Commands are: {own}, and those of plugins and servers that are listed.", brief)


def _find_near_name(specs: Iterable[CommandSpec], name: str) -> str:
    """The name of the command that is called most like this, or ""."""
    names = {other: spec.name for spec in specs for other in names_of(spec)}
    near = get_close_matches(normalise_name(name[:MAX_TYPED_CHARACTERS]), names, n=1)
    return names[near[0]] if near else ""


@cache
def _normalise_names(names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(map(normalise_name, names))
