"""Checks the commands that plugins declare (names, texts, schema), and says of each that is left out why."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sized
from dataclasses import replace
from itertools import islice
from typing import Any

from agent_core.model.command import RISK_CLASSES, CommandSpec
from agent_core.plugins.guarding import guard
from agent_core.plugins.loaded import NOT_OF_PLUGINS, LoadedPlugin, one_line, reason_of
from agent_core.plugins.schemas import own_schema
from agent_core.toolset.arguments import normalise_name
from agent_core.toolset.registry import Command

COMMAND_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,63}", re.ASCII)
MAX_COMMANDS = 100
MAX_DESCRIPTION_CHARACTERS, MAX_LABEL_CHARACTERS = 300, 60
TEXTS = ("label", "description", "category")
SWITCHES = ("finishes", "asks_models", "waits", "outside", "always_asks")


def listed(loaded: LoadedPlugin, what: str, ask: Callable[[], object], most: int) -> list[object]:
    """The first `most` of what the plugin answers, in whatever container, and a remark on others; none if it raises."""
    try:
        offered = ask()
        if isinstance(offered, str | bytes | Mapping) or not isinstance(offered, Iterable):
            loaded.remarks.append(f"its {what} are left out: they are {type(offered).__name__}, and no list")
            return []
        first = [*islice(offered, most + 1)]
        if len(first) > most:
            lost = f"{len(offered) - most:,} {what}" if isinstance(offered, Sized) else f"the {what}"
            loaded.remarks.append(f"{lost} beyond the first {most} are left out")
        return first[:most]
    except NOT_OF_PLUGINS:
        raise
    except BaseException as failure:
        loaded.put_aside(f"naming its {what}", failure)
        return []


def taken_commands(loaded: LoadedPlugin, offered: Iterable[object], taken: dict[str, str]) -> Iterator[Command]:
    """The usable commands of those that a plugin offers; `taken`: the owners of names that are not free any more."""
    for each in offered:
        try:
            command = guard(_without_taken(_declared(each, loaded.title), taken), loaded)
        except NOT_OF_PLUGINS:
            raise
        except BaseException as failure:
            loaded.remarks.append(f"{_name_of(each)!a} is left out: {reason_of(failure)}")
            continue
        if claim_names(loaded, command.spec, taken):
            yield command


def claim_names(loaded: LoadedPlugin, spec: CommandSpec, taken: dict[str, str]) -> bool:
    """Take the command's names, as the registry compares them; a remark and False if one is taken."""
    names = [*map(normalise_name, (spec.name, *spec.synonyms))]
    if owner := next((taken[name] for name in names if name in taken), ""):
        loaded.remarks.append(f"{spec.name} is left out: {owner} has a command of that name")
        return False
    taken |= dict.fromkeys(names, loaded.name)
    return True


def _without_taken(command: Command, taken: Mapping[str, str]) -> Command:
    """The command without those of its other names that are taken: it is still called by its own."""
    free = tuple(each for each in command.spec.synonyms if normalise_name(each) not in taken)
    return command if free == command.spec.synonyms else replace(command, spec=replace(command.spec, synonyms=free))


def _declared(offered: object, source: str) -> Command:
    """The command with texts that cannot pass for other parts of a prompt, and with a schema of its own.

    Raise TypeError or ValueError, which say what is wrong with it.
    """
    if not isinstance(offered, Command):
        raise TypeError("it is no Command (declare makes one)")
    spec = offered.spec
    _require_facts(spec)
    own = replace(
        spec,
        label=one_line(spec.label, MAX_LABEL_CHARACTERS) or spec.name,
        description=one_line(spec.description, MAX_DESCRIPTION_CHARACTERS),
        category=one_line(spec.category, MAX_LABEL_CHARACTERS),
        parameters=own_schema(spec.parameters),
        risks=tuple(spec.risks),
        synonyms=tuple(spec.synonyms),
        aliases=dict(spec.aliases),
        source=source,
    )
    return replace(offered, spec=own)


def _name_of(offered: object) -> str:
    """The name in a remark, also of what is no command."""
    match offered:
        case Command(spec=CommandSpec(name=str(name))):
            return one_line(name, 40)
        case _:
            return type(offered).__name__


def _require_facts(spec: Any) -> None:
    if not isinstance(spec.name, str) or not COMMAND_NAME.fullmatch(spec.name):
        raise ValueError("a command's name has letters, digits, _ . - and at most 64")
    if not _are_texts(spec.risks) or not spec.risks or not {*spec.risks} <= {*RISK_CLASSES}:
        raise ValueError(f"its classes must be some of {', '.join(RISK_CLASSES)}")
    if not _are_texts(spec.synonyms):
        raise TypeError("its synonyms must be a tuple of texts")
    if not isinstance(spec.aliases, Mapping) or not _are_texts([*spec.aliases, *spec.aliases.values()]):
        raise TypeError("its aliases must map texts to texts")
    for fact in (*TEXTS, *SWITCHES):
        kind = str if fact in TEXTS else bool
        if not isinstance(getattr(spec, fact), kind):
            raise TypeError(f"its {fact} must be {kind.__name__}")


def _are_texts(given: object) -> bool:
    return isinstance(given, list | tuple) and all(isinstance(each, str) for each in given)
