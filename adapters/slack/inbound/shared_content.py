"""What a Slack message carries beside its words: forwarded messages, tables, and the files of both."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from adapters.screens.visible_text import one_line
from adapters.slack.inbound.inbound_event import Body
from agent_core.text.lines import short_name

OF_A_TABLE = frozenset({"id", "blocks", "fallback", "color", "mrkdwn_in"})  # a preview of a link has more fields


@dataclass(frozen=True, slots=True)
class SharedPart:
    """A forwarded message of `author`, or with "" a table of the person's own; `text` is in Slack's markup."""

    author: str
    text: str
    tables: tuple[str, ...]


def shared_parts(payload: Body) -> Iterator[SharedPart]:
    """The forwarded messages and the tables of a message, in order; a table in the preview of a link is forwarded."""
    if tables := _tables(payload.get("blocks") or ()):
        yield SharedPart("", "", tables)
    for attachment in payload.get("attachments") or ():
        tables = _tables(_blocks_of(attachment))
        author = short_name(attachment.get("author_name") or "")
        if attachment.get("is_share"):
            text = attachment.get("text") or ("" if tables else attachment.get("fallback") or "")
            yield SharedPart(author, text, tables)
        elif tables:
            yield SharedPart("" if attachment.keys() <= OF_A_TABLE else author, "", tables)


def files_of(payload: Body) -> list[tuple[dict[str, Any], bool]]:
    """The files of a message and of what it forwards, each with whether somebody else made it."""
    forwarded = [each for each in payload.get("attachments") or () if each.get("is_share")]
    author = payload.get("user")
    own = [(file, file.get("user", author) != author) for file in payload.get("files") or ()]
    return own + [(file, True) for place in forwarded for file in place.get("files") or ()]


def _blocks_of(attachment: Body) -> Sequence[Body]:
    quoted = [each.get("message") or {} for each in attachment.get("message_blocks") or ()]
    return [block for place in (attachment, *quoted) for block in place.get("blocks") or ()]


def _tables(blocks: Sequence[Body]) -> tuple[str, ...]:
    return tuple(_table_text(block) for block in blocks if block.get("type") == "table")


def _table_text(table: Body) -> str:
    rows = [[one_line(_cell_text(cell)) for cell in row] for row in table.get("rows") or ()]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _cell_text(cell: Body) -> str:
    """The text of a cell: its own, or that of the rich text in it."""
    inner = " ".join(map(_cell_text, cell.get("elements") or ()))
    return str(cell.get("text") or cell.get("url") or inner)
