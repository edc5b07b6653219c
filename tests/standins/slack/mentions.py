"""Who would be notified by a message: mentions as Slack reads them in mrkdwn and in rich text."""

import re
from collections.abc import Iterator
from typing import Any

from tests.standins.slack.values import Json

MENTION = re.compile(r"<(!channel|!here|!everyone|!subteam\^[A-Z0-9]+|@[UW][A-Z0-9]+)(?:\|[^<>]*)?>")
BARE = re.compile(r"(?<!\S)@(channel|here|everyone)\b")


def mentions(message: Json, *, linking: bool = False) -> list[str]:
    """Those of a message, each once, written as in mrkdwn; `linking` finds bare @here too, as `parse=full` does."""
    found = [*_in_text(message.get("text") or "", linking), *_in_blocks(message.get("blocks") or [])]
    return list(dict.fromkeys(found))


def _in_text(text: str, linking: bool = False) -> Iterator[str]:
    for match in MENTION.finditer(text):
        yield f"<{match[1]}>"
    if linking:
        for match in BARE.finditer(text):
            yield f"<!{match[1]}>"


def _in_blocks(value: Any) -> Iterator[str]:
    if isinstance(value, list):
        for item in value:
            yield from _in_blocks(item)
    elif isinstance(value, dict):
        yield from _in_object(value)


def _in_object(value: Json) -> Iterator[str]:
    match value:
        case {"type": "mrkdwn" | "markdown", "text": str(text)}:
            yield from _in_text(text)
        case {"type": "user", "user_id": user}:
            yield f"<@{user}>"
        case {"type": "usergroup", "usergroup_id": group}:
            yield f"<!subteam^{group}>"
        case {"type": "broadcast", "range": everybody}:
            yield f"<!{everybody}>"
        case _:
            for item in value.values():
                yield from _in_blocks(item)
