"""Reads what a server asks people (elicitation) from the SDK's types, strictly: message, fields, choices, defaults.

Only forms are offered, of the flat schemas of the protocol. No pattern of a server is ever run.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import mcp_types
from mcp.client.context import ClientRequestContext
from mcp.client.session import ElicitationFnT

from agent_core.capabilities.tool_servers.people_calls import PeopleCalls
from agent_core.model.question import (
    FORMATS,
    FieldKind,
    QuestionField,
    ServerQuestion,
    WrongAnswer,
    labels_text,
    read_value,
)

MAX_MESSAGE_CHARACTERS, MAX_TEXT_CHARACTERS, MAX_FIELDS, MAX_CHOICES = 2_000, 200, 20, 50
MAX_READ_CHARACTERS = 10_000  # of a text before it is cut
MAX_QUESTION_CHARACTERS, MAX_DEFAULT_CHARACTERS, MAX_LIMIT = 20_000, 1_000, 1e15
KINDS: Mapping[str, FieldKind] = {
    "string": "text", "number": "number", "integer": "whole number", "boolean": "yes or no",
}  # fmt: skip
LIMITS: Mapping[FieldKind, tuple[str, str]] = {
    "text": ("minLength", "maxLength"), "number": ("minimum", "maximum"), "whole number": ("minimum", "maximum"),
    "choices": ("minItems", "maxItems"), "choice": ("", ""), "yes or no": ("", ""),
}  # fmt: skip


def elicitation_callback(calls: PeopleCalls, redact: Callable[[str], str] = str) -> ElicitationFnT:
    """What the SDK calls when the server asks people. What cannot be asked is declined.

    `redact`: takes secrets out of its texts before they are cut, since half of one would not be known as one.
    """

    async def answer(
        context: ClientRequestContext, params: mcp_types.ElicitRequestParams
    ) -> mcp_types.ElicitResult | mcp_types.ErrorData:
        question = question_of(params, redact)
        given = await calls.ask(question) if question else None
        if given is None:
            return mcp_types.ElicitResult(action="decline")
        return mcp_types.ElicitResult(action="accept", content=dict(given))

    return answer


def question_of(params: mcp_types.ElicitRequestParams, redact: Callable[[str], str] = str) -> ServerQuestion | None:
    """The question; None for an address to open, and for a form that has too many fields or fields of other kinds."""
    if not isinstance(params, mcp_types.ElicitRequestFormParams):
        return None
    properties, required = params.requested_schema.get("properties", {}), params.requested_schema.get("required", [])
    if not isinstance(properties, dict) or not isinstance(required, list) or len(properties) > MAX_FIELDS:
        return None
    fields = [_field(name, about, redact, is_required=name in required) for name, about in properties.items()]
    if not all(fields):
        return None
    message = redact(params.message[:MAX_READ_CHARACTERS])[:MAX_MESSAGE_CHARACTERS]
    known = tuple(each for each in fields if each)
    texts = [message, *(text for each in known for text in _texts(each))]
    return ServerQuestion(message=message, fields=known) if sum(map(len, texts)) <= MAX_QUESTION_CHARACTERS else None


def _texts(each: QuestionField) -> list[str]:
    return [each.name, each.title, each.description, each.default, *each.choices, *each.choices.values()]


def _field(name: str, about: Any, redact: Callable[[str], str], *, is_required: bool) -> QuestionField | None:
    if not isinstance(about, dict) or not 0 < len(name) <= MAX_TEXT_CHARACTERS:
        return None
    kind = KINDS.get(_text(about, "type"))
    choices = _choices(about)
    if about.get("type") == "array":
        items = about.get("items")
        kind, choices = "choices", _choices(items) if isinstance(items, dict) else None
    elif choices:
        kind = "choice"
    if kind is None or choices is None or (kind == "choices" and not choices):
        return None
    least, most = LIMITS[kind]
    known = QuestionField(
        name=name,
        title=redact(_text(about, "title"))[:MAX_TEXT_CHARACTERS],
        description=redact(_text(about, "description"))[:MAX_TEXT_CHARACTERS],
        kind=kind,
        choices=choices,
        is_required=is_required,
        format=next((each for each in FORMATS if about.get("format") == each), ""),
        least=_limit(about.get(least)),
        most=_limit(about.get(most)),
    )
    return replace(known, default=_default(known, about.get("default")))


def _text(about: Mapping[str, Any], name: str) -> str:
    """What is said under this name, if it is a text: a number may be too long to be written."""
    said = about.get(name)
    return said[:MAX_READ_CHARACTERS] if isinstance(said, str) else ""


def _limit(said: Any) -> float | None:
    return float(said) if isinstance(said, int | float) and abs(said) < MAX_LIMIT else None


def _default(known: QuestionField, said: Any) -> str:
    """What the server suggests, as a person would write it; "" for what does not fit."""
    labels = {value: label for label, value in known.choices.items()}
    match said:
        case bool():
            written = "yes" if said else "no"
        case str():
            written = labels.get(said, said)
        case int() | float() if abs(said) < MAX_LIMIT:
            written = f"{said}"
        case list():
            texts = [value for value in said[:MAX_CHOICES] if isinstance(value, str)]
            written = labels_text([labels.get(value, value) for value in texts])
        case _:
            return ""
    try:
        read_value(known, written[:MAX_DEFAULT_CHARACTERS])
    except WrongAnswer:
        return ""
    return written[:MAX_DEFAULT_CHARACTERS].strip()


def _choices(about: Mapping[str, Any]) -> dict[str, str] | None:
    """What can be chosen, by what people see; none for a free text, None for what cannot be shown."""
    titled = about.get("oneOf") or about.get("anyOf")
    if isinstance(titled, list):
        pairs = [(each.get("title", each.get("const")), each.get("const")) for each in titled if isinstance(each, dict)]
    else:
        values = about.get("enum", [])
        names = about.get("enumNames") or values
        if not isinstance(values, list) or not isinstance(names, list) or len(names) != len(values):
            return None
        pairs = [*zip(names, values, strict=True)]
    whole = all(isinstance(part, str) and 0 < len(part) <= MAX_TEXT_CHARACTERS for pair in pairs for part in pair)
    if not whole or len(pairs) > MAX_CHOICES:
        return None
    choices = {str(name): str(value) for name, value in pairs}
    return choices if len(choices) == len(set(pairs)) else None  # else two look alike
