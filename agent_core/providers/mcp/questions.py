"""Questions of a server to people (elicitation): what it asks, read strictly, and the call to which a question belongs.

Only forms are offered, of the flat schemas of the protocol. No pattern of a server is ever run.
"""

from collections.abc import Callable, Mapping
from typing import Any

import mcp_types
from mcp.client.context import ClientRequestContext
from mcp.client.session import ElicitationFnT

from agent_core.ports.tool_servers import FieldKind, QuestionField, ServerQuestion
from agent_core.providers.mcp.people_calls import PeopleCalls

MAX_MESSAGE_CHARACTERS, MAX_TEXT_CHARACTERS, MAX_FIELDS, MAX_CHOICES = 2_000, 200, 20, 50
MAX_READ_CHARACTERS = 10_000  # of a text before it is cut
KINDS: Mapping[str, FieldKind] = {
    "string": "text", "number": "number", "integer": "whole number", "boolean": "yes or no",
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
    return ServerQuestion(
        message=redact(params.message[:MAX_READ_CHARACTERS])[:MAX_MESSAGE_CHARACTERS],
        fields=tuple(each for each in fields if each),
    )


def _field(name: str, about: Any, redact: Callable[[str], str], *, is_required: bool) -> QuestionField | None:
    if not isinstance(about, dict) or not 0 < len(name) <= MAX_TEXT_CHARACTERS:
        return None
    kind = KINDS.get(str(about.get("type")))
    choices = _choices(about)
    if about.get("type") == "array":
        items = about.get("items")
        kind, choices = "choices", _choices(items) if isinstance(items, dict) else None
    elif choices:
        kind = "choice"
    if kind is None or choices is None or (kind == "choices" and not choices):
        return None
    return QuestionField(
        name=name,
        title=redact(str(about.get("title") or "")[:MAX_READ_CHARACTERS])[:MAX_TEXT_CHARACTERS],
        description=redact(str(about.get("description") or "")[:MAX_READ_CHARACTERS])[:MAX_TEXT_CHARACTERS],
        kind=kind,
        choices=choices,
        is_required=is_required,
    )


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
    return {str(name): str(value) for name, value in pairs} if whole and len(pairs) <= MAX_CHOICES else None
