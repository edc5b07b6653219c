"""What the stand-in hands to tests, and how it reads what a message or a form shows."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from simcord.backend.models import Message
from simcord.enums import ComponentType

Json: TypeAlias = dict[str, Any]
SHOWN = ("content", "title", "name", "label", "placeholder", "value", "description")
ESCAPED = re.compile(r"\\([^\w\s])")
BUTTON = ComponentType.BUTTON
MENU = ComponentType.STRING_SELECT


@dataclass(frozen=True, slots=True)
class Call:
    """A call of the REST API as it arrived: `POST /channels/{id}/messages`; `at` is of the monotonic clock."""

    route: str
    path: str
    body: Any
    at: float


def route_of(method: str, path: str) -> str:
    """The name of a route: ids and tokens are left out of it."""
    named = re.sub(r"^/(webhooks|interactions)/\d+/[^/]+", r"/\1/{id}/{token}", path)
    named = re.sub(r"/reactions/[^/]+", "/reactions/{emoji}", named)
    return f"{method} {re.sub(r'/[0-9]{5,}', '/{id}', named)}"


def components(value: Any) -> Iterator[Json]:
    """Every component in a message, a form or a list of them, the outer before the inner."""
    if isinstance(value, Message):
        yield from components(value.components)
    elif isinstance(value, list):
        for each in value:
            yield from components(each)
    elif isinstance(value, Mapping):
        if "type" in value:
            yield dict(value)
        for inner in ("components", "component", "accessory"):
            yield from components(value.get(inner) or [])


def text_of(value: Any) -> str:
    """All words that are shown in a message or a form, as people see them, and the names of its files, a line each."""
    given = value.components if isinstance(value, Message) else value
    before = [value.content] if isinstance(value, Message) else []
    files = [file["filename"] for file in value.attachments] if isinstance(value, Message) else []
    return ESCAPED.sub(r"\1", "\n".join(word for word in (*before, *_words(given), *files) if word))


def labels(message: Message) -> list[str]:
    """The words on the buttons that can be pressed, in their order."""
    return [str(each.get("label")) for each in components(message) if _is_live(each) and each["type"] == BUTTON]


def button(message: Message, label: str) -> Json:
    """A button that can be pressed."""
    found = [each for each in components(message) if _is_live(each) and each.get("label") == label]
    assert len(found) == 1, f"{len(found)} buttons say {label!r}: {labels(message)}"
    return found[0]


def _is_live(component: Json) -> bool:
    return component["type"] in (BUTTON, MENU) and not component.get("disabled")


def _words(value: Any) -> Iterator[str]:
    if isinstance(value, list):
        for each in value:
            yield from _words(each)
    elif isinstance(value, Mapping):
        for name, inner in value.items():
            if name in SHOWN and isinstance(inner, str):
                yield inner
            else:
                yield from _words(inner)
