"""Which few commands a small model is offered, and the JSON Schema of a reply that takes one of them.

A small model chooses well among few commands and badly among many. A grammar made of a schema forces a reply's shape
but not its end, so that every string and list in it has a bound.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import cast

from agent_core.model.command import CommandCall, CommandSpec
from agent_core.model.result import Succeeded
from agent_core.prompt.packing import Situation

MAX_OFFERED_COMMANDS = 8
RECENT_TURNS = 5
BASIC_COMMANDS = ("write_to_file", "append_to_file", "read_file", "list_files", "do_nothing")
MAX_SCANNED_CHARACTERS = 20_000  # characters of what goals and people say
MAX_TEXT_CHARACTERS, MAX_LINE_CHARACTERS, MAX_LIST_ITEMS = (
    900,
    200,
    8,
)  # llama.cpp of 2025 and 2026 takes bounds up to 1000
MAX_THOUGHT_CHARACTERS = 300
LINE_BOUND_CHARACTERS = 500  # a string that the command itself bounds so is a name, a path or a query
COMMON_WORDS = frozenset(
    re.findall(r"\w+", "file files list read write text turn past with from your this that what find make code")
)
CATEGORY_HINTS: Mapping[str, str] = {
    "files": "file folder write save read note text document list report append csv json",
    "web": "web internet online search google look news site page url http www research latest current price browse",
    "memory": "memory memories memor remember recall remind forget forgot earlier",
    "code": "code python script program execute calculate compute test debug",
    "shell": "shell bash terminal command install package run",
    "agents": "agent helper delegate assistant",
    "media": "image picture photo draw painting audio speech transcri tweet",
}
COMMAND_HINTS: Mapping[str, str] = {
    "delete_file": "delet remov clean erase",
    "read_turn": "turn",
    "search_files": "grep locate occur contain mention",
}


def select_commands(situation: Situation) -> tuple[CommandSpec, ...]:
    """About eight commands in the order of the registry: the basic ones, and those that goals, notes or turns name.

    Where no word of them is understood, as in most languages, one command of each kind is offered.
    """
    able = _available(situation)
    basic = [spec for spec in able if spec.name in BASIC_COMMANDS or spec.finishes]
    others = _ranked(situation, [spec for spec in able if spec not in basic])
    chosen = {spec.name for spec in (*basic, *others[: max(MAX_OFFERED_COMMANDS - len(basic), 0)])}
    return tuple(spec for spec in able if spec.name in chosen) or tuple(able[:MAX_OFFERED_COMMANDS])


def may_finish(situation: Situation) -> bool:
    """Whether anything has succeeded that the work could be finished with, or there is nothing else to do."""
    agent, turns = situation.agent, situation.turns
    has_older = agent.digest.upto > 0 or agent.turns > len(turns)
    is_all = all(spec.finishes for spec in situation.commands)
    return has_older or is_all or any(isinstance(turn.result, Succeeded) for turn in turns)


def repeated_call(situation: Situation) -> CommandCall | None:
    """The newest call if it succeeded and nobody wrote anything since: the same again brings the agent no further."""
    if not situation.turns or any(note.taken_into is None for note in situation.notes):
        return None
    newest = situation.turns[-1]
    return newest.call if isinstance(newest.result, Succeeded) else None


def schema(situation: Situation) -> Mapping[str, object]:
    """The JSON Schema of a reply: one short thought, then one of the offered commands with its own arguments."""
    choices = [
        _object({"name": {"const": spec.name}, "args": add_bounds(spec.parameters)})
        for spec in select_commands(situation)
    ]
    thoughts = _object({"text": {"type": "string", "maxLength": MAX_THOUGHT_CHARACTERS}})
    return _object({"thoughts": thoughts, "command": {"anyOf": choices}})


def add_bounds(schema: object) -> object:
    """The schema with a bound on every string and list, and without patterns, which may have no end."""
    match schema:
        case dict():
            kept = {name: _bound_keyword(name, value) for name, value in schema.items() if name != "pattern"}
            return kept | _bounds(kept)
        case list() | tuple():
            return [add_bounds(item) for item in schema]
        case _:
            return schema


def _bound_keyword(name: str, value: object) -> object:
    """What stands under a keyword; under `properties` and `$defs` the names are the command's own."""
    if name in ("properties", "$defs") and isinstance(value, dict):
        return {own: add_bounds(part) for own, part in value.items()}
    return value if name in ("const", "default", "enum", "examples") else add_bounds(value)


def _bounds(schema: Mapping[str, object]) -> dict[str, object]:
    kind = schema.get("type")
    kinds = kind if isinstance(kind, list) else [kind]
    bounds: dict[str, object] = {}
    if "string" in kinds and not schema.keys() & {"enum", "const"}:
        own = schema.get("maxLength")
        most = MAX_LINE_CHARACTERS if isinstance(own, int) and own <= LINE_BOUND_CHARACTERS else MAX_TEXT_CHARACTERS
        bounds |= _bound(schema, "Length", most)
    if "array" in kinds:
        bounds |= _bound(schema, "Items", MAX_LIST_ITEMS)
    return bounds


def _bound(schema: Mapping[str, object], part: str, most: int) -> dict[str, object]:
    """The bounds of a part's size, none above `most`."""
    bounds: dict[str, object] = {f"max{part}": most}
    for name in (f"min{part}", f"max{part}"):
        given = schema.get(name)
        if isinstance(given, int):
            bounds[name] = min(given, most)
    return bounds


def _object(properties: Mapping[str, object]) -> dict[str, object]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _available(situation: Situation) -> list[CommandSpec]:
    """The commands without what would finish too early or do again what was just done."""
    finishes, done = may_finish(situation), repeated_call(situation)
    again = {done.name} if done and not done.arguments else set()
    return [
        spec
        for spec in situation.commands
        if (finishes or not spec.finishes) and (spec.name not in again or spec.parameters.get("properties"))
    ]


def _ranked(situation: Situation, specs: Sequence[CommandSpec]) -> list[CommandSpec]:
    """Those for which something speaks: first the best of each kind, then the rest."""
    ranks = _scores(situation, specs)
    best = sorted((spec for spec in specs if ranks[spec.name]), key=lambda spec: -ranks[spec.name])
    firsts = list({spec.category: spec for spec in reversed(best)}.values())
    return sorted(best, key=lambda spec: spec not in firsts)


def _scores(situation: Situation, specs: Sequence[CommandSpec]) -> dict[str, int]:
    """How much speaks for each command, 0 for nothing."""
    words, used = _words(situation), {turn.call.name for turn in situation.turns[-RECENT_TURNS:]}
    ranks = {spec.name: 10 * (spec.name in used) + _score(spec, words) for spec in specs}
    if any(ranks.values()) or _matches(CATEGORY_HINTS["files"].split(), words):
        return ranks
    first = {spec.category: spec.name for spec in reversed(specs)}
    return {spec.name: int(first[spec.category] == spec.name) for spec in specs}


def _words(situation: Situation) -> frozenset[str]:
    said = (*situation.agent.goals, *(note.text for note in reversed(situation.notes)))
    return frozenset(re.findall(r"[a-z]{3,}", "\n".join(said)[:MAX_SCANNED_CHARACTERS].casefold()))


def _score(spec: CommandSpec, words: frozenset[str]) -> int:
    """Points for words of the command itself, and one for a word of its kind."""
    own = {
        word for word in re.findall(r"[a-z]{4,}", f"{spec.name} {spec.label}".casefold()) if word not in COMMON_WORDS
    }
    hints = COMMAND_HINTS.get(spec.name, "").split()
    kind = [] if hints else CATEGORY_HINTS.get(spec.category, "").split()
    return 2 * _matches([*own, *hints], words) + _matches(kind, words)


def _matches(hints: Iterable[str], words: frozenset[str]) -> bool:
    """Whether a word begins with one of the hints."""
    return any(word.startswith(tuple(hints)) for word in words)


def defaults_of(spec: CommandSpec) -> Mapping[str, object]:
    """What arguments are when they are left out."""
    properties = cast("Mapping[str, Mapping[str, object]]", spec.parameters.get("properties", {}))
    return {name: schema["default"] for name, schema in properties.items() if "default" in schema}
