"""Selects the commands that a small model is offered, refuses pointless calls, makes the JSON Schema of its reply.

Small models choose well among few commands and badly among many. A grammar made from a schema enforces the shape of a
reply but not its end, so every string and list in the schema gets a bound.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import cast

from agent_core.model.command import Arguments, CommandCall, CommandSpec, Succeeded
from agent_core.prompt.known_files import known_files, split_named_files
from agent_core.prompt.packing import Situation

MAX_OFFERED_COMMANDS = 8
RECENT_TURNS = 5
BASIC_COMMANDS = ("write_to_file", "append_to_file", "read_file", "list_files")
NO_CHANGE = "nothing would change"  # how a command refuses to write what is there already
NO_FILE = "There is no file "  # how a refused command says so
READING_COMMANDS = ("read_file", "list_files")
WAITING_COMMAND = "do_nothing"  # small models choose it when they do not know how to go on
URL = re.compile(r"https?://|\bwww\.|\b[a-z0-9-]+\.(?:com|org|net|io|dev|de|fr|uk|eu|ai)\b", re.IGNORECASE)
APPENDING_COMMAND = "append_to_file"
WRITING_COMMANDS = ("write_to_file", APPENDING_COMMAND)
NOTHING_DONE = "nothing has been done yet, so the goal cannot be reached. Begin with its first step."
REPEATED = "has just succeeded with these arguments. Take the next step, or finish."
MAX_SCANNED_CHARACTERS = 20_000  # of goals and notes
MAX_TEXT_CHARACTERS = 900  # llama.cpp (2025, 2026) accepts bounds up to 1000
MAX_LINE_CHARACTERS, MAX_LIST_ITEMS = 200, 8
MAX_THOUGHT_CHARACTERS = 300
LINE_BOUND_CHARACTERS = 500  # a string with a lower bound is a name, a path or a query
READING_WORDS = re.compile(
    r"\b(?:read|open|copy|copies|review|inspect|compare|check|existing|upload\w*|attach\w*|shared|folders?|director\w*|"
    r"list (?:the|all|my) files|which files|what files)\b",
    re.IGNORECASE,
)
FILE_NAME = re.compile(r"(?<![\w/.-])(?:[\w-]+/)*[\w-]+\.[A-Za-z][A-Za-z0-9]{0,4}(?![\w/])")
COMMON_WORDS = frozenset(
    re.findall(r"\w+", "file files list read write text turn past with from your this that what find make code")
)
TIME_WORDS = re.compile(
    r"\b(?:time|date|dated|today|tonight|now|clock|hours?|days?|tomorrow|yesterday|weeks?|weekdays?|months?|years?|when|"
    r"deadline|schedule|calendar|current|latest|recent|heute|jetzt|datum|uhr|hoy|fecha|hora|aujourd'hui|heure)\b",
    re.IGNORECASE,
)
CATEGORY_HINTS: Mapping[str, str] = {
    "files": "file folder write save read note text document list report append csv json",
    "web": "web internet online search google look news site page url http www research latest current price browse",
    "memory": "memory memories memor remember recall remind forget forgot earlier",
    "code": "code python script program execute calculate compute test debug",
    "shell": "shell bash terminal command install package run",
    "agents": "agent helper delegate assistant",
    "media": "image picture photo draw painting audio speech transcri tweet",
    "publish": "tweet twitter publish",
}
COMMAND_HINTS: Mapping[str, str] = {
    "delete_file": "delet remov clean erase",
    "read_turn": "turn",
    "search_files": "grep locate occur contain mention",
}


def select_commands(situation: Situation) -> tuple[CommandSpec, ...]:
    """About eight commands in registry order: the basic ones, and those that goals, notes or recent turns suggest.

    If no word matches, as in most languages other than English, one command of each category is offered.
    """
    able = _available(situation)
    basic = [spec for spec in able if spec.name in BASIC_COMMANDS or spec.finishes]
    others = _ranked(situation, [spec for spec in able if spec not in basic])
    chosen = {spec.name for spec in (*basic, *others[: max(MAX_OFFERED_COMMANDS - len(basic), 0)])}
    return tuple(spec for spec in able if spec.name in chosen) or tuple(able[:MAX_OFFERED_COMMANDS])


def may_finish(situation: Situation) -> bool:
    """Whether the agent may finish: a command succeeded, or other conditions leave no choice."""
    agent, turns = situation.agent, situation.turns
    has_older = agent.digest.upto > 0 or agent.turns > len(turns)
    is_all = all(spec.finishes for spec in situation.commands)
    has_begun = any(isinstance(turn.result, Succeeded) for turn in turns)
    return has_older or is_all or has_begun


def repeated_call(situation: Situation) -> CommandCall | None:
    """The newest call if repeating it is pointless: it succeeded and no note has arrived since. Otherwise None."""
    if not situation.turns or any(note.taken_into is None for note in situation.notes):
        return None
    newest = situation.turns[-1]
    is_new = situation.agent.is_in_run(newest.number)
    return newest.call if isinstance(newest.result, Succeeded) and is_new else None


def matches(hints: Iterable[str], situation: Situation) -> int:
    """How many words of goals and notes begin with one of the hints."""
    beginnings = tuple(hints)
    return sum(word.startswith(beginnings) for word in _words(situation))


def mentions_time(situation: Situation) -> bool:
    """Whether goals or notes speak of time."""
    return TIME_WORDS.search(_text(situation)) is not None


def objection(situation: Situation, call: CommandCall) -> str:
    """Why a valid call is refused before people see it, as a sentence for the model. Return "" if it is not refused."""
    spec = next((spec for spec in situation.commands if spec.name == call.name), None)
    if spec is None:
        return ""
    if spec.finishes and not may_finish(situation):
        return NOTHING_DONE
    done = repeated_call(situation)
    if done and done.name == call.name and _meaning(spec, done.arguments) == _meaning(spec, call.arguments):
        return f"{call.name} {REPEATED}"
    return ""


def is_repeating(situation: Situation) -> bool:
    """Whether the last reply was refused because it repeated a call that had succeeded or would change nothing."""
    complaint = situation.agent.complaint
    return complaint.endswith(REPEATED) or NO_CHANGE in complaint


def schema(situation: Situation) -> Mapping[str, object]:
    """The JSON Schema of a reply: one short thought, then one of the offered commands with its own arguments."""
    choices = [
        _object({"name": {"const": spec.name}, "args": add_bounds(spec.parameters)})
        for spec in select_commands(situation)
    ]
    thoughts = _object({"text": {"type": "string", "maxLength": MAX_THOUGHT_CHARACTERS}})
    return _object({"thoughts": thoughts, "command": {"anyOf": choices}})


def _meaning(spec: CommandSpec, arguments: Arguments) -> str:
    return CommandCall(spec.name, {**defaults_of(spec), **arguments}).canonical


def add_bounds(schema: object) -> object:
    """The schema with a bound on every string and list, and without patterns, which may be unbounded."""
    match schema:
        case dict():
            bounded = {name: _bound_keyword(name, value) for name, value in schema.items() if name != "pattern"}
            return bounded | _bounds(bounded)
        case list() | tuple():
            return [add_bounds(item) for item in schema]
        case _:
            return schema


def _bound_keyword(name: str, value: object) -> object:
    """The keyword's value with bounds added. The keys inside `properties` and `$defs` are names and not keywords."""
    if name in ("properties", "$defs") and isinstance(value, dict):
        return {own: add_bounds(part) for own, part in value.items()}
    return value if name in ("const", "default", "enum", "examples") else add_bounds(value)


def _bounds(schema: Mapping[str, object]) -> dict[str, object]:
    kind = schema.get("type")
    kinds = kind if isinstance(kind, list) else [kind]
    bounds: dict[str, object] = {}
    if "string" in kinds and not schema.keys() & {"enum", "const"}:
        own = schema.get("maxLength")
        limit = MAX_LINE_CHARACTERS if isinstance(own, int) and own <= LINE_BOUND_CHARACTERS else MAX_TEXT_CHARACTERS
        bounds |= _bound(schema, "Length", limit)
    if "array" in kinds:
        bounds |= _bound(schema, "Items", MAX_LIST_ITEMS)
    return bounds


def _bound(schema: Mapping[str, object], part: str, limit: int) -> dict[str, object]:
    """The keywords min and max of `part` ("Length" or "Items"), such as maxLength, with no value above `limit`."""
    bounds: dict[str, object] = {f"max{part}": limit}
    for name in (f"min{part}", f"max{part}"):
        given = schema.get(name)
        if isinstance(given, int):
            bounds[name] = min(given, limit)
    return bounds


def _object(properties: Mapping[str, object]) -> dict[str, object]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _available(situation: Situation) -> list[CommandSpec]:
    """The commands that make sense now: no finish too early, no repetition, no reading after "no such file"."""
    finishes, done = may_finish(situation), repeated_call(situation)
    is_over = is_repeating(situation) and not split_named_files(situation)[0] and finishes
    if is_over:
        return [spec for spec in situation.commands if spec.finishes] or list(situation.commands)
    left_out = {WAITING_COMMAND} if len(situation.commands) > 1 else set()
    left_out |= {done.name} if done and not done.arguments else set()
    if situation.agent.complaint.startswith(NO_FILE) or not _may_read(situation):
        left_out |= set(READING_COMMANDS)
    return [spec for spec in situation.commands if (finishes or not spec.finishes) and spec.name not in left_out]


def _may_read(situation: Situation) -> bool:
    """Whether there may be a file to read besides those that are still to be written or that the prompt shows."""
    text = "\n".join((_text(situation), *_listings(situation)))[:MAX_SCANNED_CHARACTERS]
    if READING_WORDS.search(text):
        return True
    missing, present = split_named_files(situation)
    known = {*missing, *present, *known_files(situation.turns)}
    return not set(FILE_NAME.findall(text)) <= known


def _listings(situation: Situation) -> Iterable[str]:
    """What commands other than writing ones told of the workspace."""
    return (
        turn.result.output
        for turn in situation.turns
        if isinstance(turn.result, Succeeded) and turn.call.name not in WRITING_COMMANDS
    )


def _ranked(situation: Situation, specs: Sequence[CommandSpec]) -> list[CommandSpec]:
    """The commands with a score above 0: first the best of each category, then the rest."""
    ranks = _scores(situation, specs)
    best = sorted((spec for spec in specs if ranks[spec.name]), key=lambda spec: -ranks[spec.name])
    firsts = list({spec.category: spec for spec in reversed(best)}.values())
    return sorted(best, key=lambda spec: spec not in firsts)


def _scores(situation: Situation, specs: Sequence[CommandSpec]) -> dict[str, int]:
    """A relevance score for each command, 0 for none."""
    words, used = _words(situation), {turn.call.name for turn in situation.turns[-RECENT_TURNS:]}
    has_page = URL.search(_text(situation)) is not None or _matches(CATEGORY_HINTS["web"].split(), words)
    able = [
        spec for spec in specs if has_page or "url" not in cast("Sequence[str]", spec.parameters.get("required", ()))
    ]
    ranks = dict.fromkeys((spec.name for spec in specs), 0)
    ranks |= {spec.name: 10 * (spec.name in used) + _score(spec, words) for spec in able}
    if any(ranks.values()) or _matches(CATEGORY_HINTS["files"].split(), words):
        return ranks
    first = {spec.category: spec.name for spec in reversed(specs)}
    return {spec.name: int(first[spec.category] == spec.name) for spec in specs}


def _words(situation: Situation) -> frozenset[str]:
    return frozenset(re.findall(r"[a-z]{3,}", _text(situation).casefold()))


def _text(situation: Situation) -> str:
    """The goals, and what people and helpers wrote."""
    texts = (*situation.agent.goals, *(note.text for note in reversed(situation.notes)))
    return "\n".join(texts)[:MAX_SCANNED_CHARACTERS]


def _score(spec: CommandSpec, words: frozenset[str]) -> int:
    """The score of a command: 2 if one of its own words is in `words`; plus 1 if a word of its category is."""
    own = {
        word for word in re.findall(r"[a-z]{4,}", f"{spec.name} {spec.label}".casefold()) if word not in COMMON_WORDS
    }
    hints = COMMAND_HINTS.get(spec.name, "").split()
    kind = [] if hints else CATEGORY_HINTS.get(spec.category, "").split()
    return 2 * _matches([*own, *hints], words) + _matches(kind, words)


def _matches(hints: Iterable[str], words: frozenset[str]) -> bool:
    """Whether any word begins with one of the hints."""
    return any(word.startswith(tuple(hints)) for word in words)


def defaults_of(spec: CommandSpec) -> Mapping[str, object]:
    properties = cast("Mapping[str, Mapping[str, object]]", spec.parameters.get("properties", {}))
    return {name: schema["default"] for name, schema in properties.items() if "default" in schema}
