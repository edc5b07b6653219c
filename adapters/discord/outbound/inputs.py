"""Converts a command's arguments to inputs of a form, and submitted values to arguments. Pure functions.

A form has five inputs of 4,000 characters. A long argument uses several inputs; if the arguments need more than five,
all become one JSON text. Invisible characters are written as JSON escapes, so that people can keep them.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from adapters.screens.form_parts import Field
from adapters.screens.text_fit import beginning, pieces, units
from adapters.screens.ui_text import TOO_LONG_TO_EDIT
from adapters.screens.visible_text import HIDDEN, one_line, visible
from adapters.typed.form_values import argument_names, edited_arguments
from agent_core.errors import InvalidInput, NotPossible
from agent_core.model.command import Arguments, CommandSpec, replace_lone_surrogates
from agent_core.model.turn import Turn

MAX_INPUTS = 5
MAX_INPUT_PIECE = 3400  # of the 4,000 characters of an input: people may add some
ALL_ARGUMENTS = "Arguments as JSON"
NOT_GIVEN, SPELLED, AS_JSON = "Not given.", "As JSON, because it holds invisible characters.", "As JSON."


@dataclass(frozen=True, slots=True)
class ArgumentInputs:
    """An argument in a form, or all arguments as JSON. `is_spelled`: a text shown as JSON, with escapes."""

    id: str
    label: str
    shown: str
    hint: str = ""
    is_spelled: bool = False

    @property
    def inputs(self) -> tuple[tuple[str, str, str], ...]:
        """The id, label and text of each input; all texts joined give `shown`."""
        parts = _parts(self.shown)
        if len(parts) == 1:
            return ((self.id, self.label, self.shown),)
        return tuple(
            (f"{self.id}/{number}", f"part {number} of {len(parts)} · {self.label}", part)
            for number, part in enumerate(parts, 1)
        )

    def sent(self, values: Mapping[str, str]) -> str:
        """The submitted value; a missing input counts as unchanged."""
        return "".join(values.get(each, text) for each, _, text in self.inputs)


def fields_of(turn: Turn, spec: CommandSpec) -> tuple[ArgumentInputs, ...]:
    """A field for each argument, else one field for all as JSON; raise NotPossible if that does not fit either."""
    every = tuple(_field(number, name, turn) for number, name in enumerate(argument_names(turn, spec)))
    if _fit(every):
        return every
    whole = ArgumentInputs("all", ALL_ARGUMENTS, _spelled(turn.call.arguments))
    if _fit((whole,)):
        return (whole,)
    raise NotPossible(TOO_LONG_TO_EDIT)


def edit_fields(
    turn: Turn, spec: CommandSpec, typed: Mapping[str, str], problems: Mapping[str, str]
) -> Iterator[Field]:
    """The fields of the form, with their values or what was `typed`; raise NotPossible if they are too long.

    `problems`: error messages by argument name.
    """
    wrong = {one_line(name): problem for name, problem in problems.items()}
    for each in fields_of(turn, spec):
        problem = wrong.get(each.label) or wrong.get("arguments", "")
        for id_, label, text in each.inputs:
            shown = visible(typed.get(id_, text))
            yield Field(id=id_, label=label, kind="long text", text=shown, hint=each.hint, problem=problem)


def arguments_of(values: Mapping[str, str], turn: Turn, spec: CommandSpec) -> Arguments:
    """The changed arguments; unchanged ones keep their exact value.

    Raise InvalidInput with the argument's name for an unreadable value.
    """
    fields = fields_of(turn, spec)
    if [field.id for field in fields] == ["all"]:
        return _all(fields[0], fields[0].sent(values), turn)
    names = dict(zip(argument_names(turn, spec), fields, strict=True))
    spelled = {name: field for name, field in names.items() if field.is_spelled}
    plain = {name: field for name, field in names.items() if not field.is_spelled}
    sent = {name: field.sent(values) for name, field in plain.items()}
    shown = {name: field.shown for name, field in plain.items()}
    found = {**edited_arguments(sent, shown, turn, spec)}
    found |= {name: _text(name, field, field.sent(values), turn) for name, field in spelled.items()}
    return {name: found[name] for name in names if name in found}


def _parts(text: str) -> list[str]:
    """Split the text into inputs, at line ends unless that makes too many inputs."""
    parts = pieces(text, MAX_INPUT_PIECE)
    if len(parts) <= MAX_INPUTS:
        return parts
    cut, start = [], 0
    while start < len(text):
        cut.append(beginning(text[start : start + MAX_INPUT_PIECE + 1], MAX_INPUT_PIECE) or text[start])
        start += len(cut[-1])
    return cut


def _fit(fields: Sequence[ArgumentInputs]) -> bool:
    total = sum(units(field.shown) for field in fields)
    return total <= MAX_INPUTS * MAX_INPUT_PIECE and sum(len(field.inputs) for field in fields) <= MAX_INPUTS


def _field(number: int, name: str, turn: Turn) -> ArgumentInputs:
    at, label = f"argument.{number}", one_line(name) or "?"
    if name not in turn.call.arguments:
        return ArgumentInputs(at, label, "", NOT_GIVEN)
    value = turn.call.arguments[name]
    if not isinstance(value, str):
        return ArgumentInputs(at, label, _spelled(value), AS_JSON)
    if HIDDEN.search(value):
        return ArgumentInputs(at, label, _spelled(value), SPELLED, is_spelled=True)
    return ArgumentInputs(at, label, value)


def _spelled(value: object) -> str:
    """A value as JSON, with invisible characters escaped."""
    text = json.dumps(value, ensure_ascii=False, indent=1)
    return str(HIDDEN.sub(lambda hidden: json.dumps(hidden[0])[1:-1], text))


def _all(field: ArgumentInputs, sent: str, turn: Turn) -> Arguments:
    given = turn.call.arguments
    if sent.replace("\r\n", "\n") == field.shown:
        return {**given}
    try:
        read = json.loads(sent)
    except (ValueError, RecursionError):
        read = None
    if not isinstance(read, dict):
        raise InvalidInput({"arguments": 'Arguments: this is not valid JSON, such as {"path": "notes.md"}.'})
    return {name: _kept(value, name, given) for name, value in read.items()}


def _kept(value: object, name: str, given: Arguments) -> object:
    is_same = name in given and json.dumps(given[name]) == json.dumps(value)
    return given[name] if is_same else replace_lone_surrogates(value)


def _text(name: str, field: ArgumentInputs, sent: str, turn: Turn) -> object:
    if sent == field.shown:
        return turn.call.arguments[name]
    try:
        read = json.loads(sent)
    except (ValueError, RecursionError):
        read = None
    if not isinstance(read, str):
        raise InvalidInput({name: f"{name}: write it as a JSON string, in quotation marks, as it was shown."})
    return replace_lone_surrogates(read)
