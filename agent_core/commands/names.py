"""The names of commands, as they are compared."""

from collections.abc import Iterable
from difflib import get_close_matches
from functools import cache

from agent_core.commands.arguments import normalise_name
from agent_core.model.command import CommandSpec

MAX_TYPED_CHARACTERS = 80


def names_of(spec: CommandSpec) -> tuple[str, ...]:
    """The command's name and synonyms, in the form in which they are compared."""
    return _normalise_names((spec.name, *spec.synonyms))


def find_near_name(specs: Iterable[CommandSpec], name: str) -> str:
    """The name of the command that is called most like this, or ""."""
    names = {other: spec.name for spec in specs for other in names_of(spec)}
    near = get_close_matches(normalise_name(name[:MAX_TYPED_CHARACTERS]), names, n=1)
    return names[near[0]] if near else ""


@cache
def _normalise_names(names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(map(normalise_name, names))
