"""Answers to a person on Slack: a text or decision log rows as a message, a turn in full as the parts of a view."""

import json
from collections.abc import Iterator, Sequence

from adapters.chat.card_sections import command_sections, headline_sections
from adapters.screens.cards import Card, Labelled
from adapters.screens.decision_log import row_text, time_text
from adapters.screens.text_fit import beginning, cut, pieces, units
from adapters.screens.visible_text import one_line, readable
from adapters.slack.outbound.blocks import (
    MAX_MESSAGE_TEXT,
    MAX_TEXT,
    Block,
    date_run,
    line,
    link_run,
    notification,
    preformatted,
    rich,
    run,
)
from adapters.slack.outbound.message import SlackMessage, card_link
from adapters.typed.answers import Answer
from agent_core.service.reading.decision_log import LogRow

MAX_PART_BLOCKS, MAX_PART_TEXT = 90, 100_000
# Slack rejects views of more than 250,000 bytes; the SDK sends up to six bytes for a character.
MAX_PART_BYTES = 200_000
MAX_LABEL = 2000


def parts_of(card: Card) -> list[list[Block]]:
    """All sections of a turn, in parts that fit a view."""
    return split_into_parts([*drawn(headline_sections(card)), *drawn(command_sections(card), boxed=True)])


def drawn(texts: Sequence[Labelled], *, boxed: bool = False) -> Iterator[Block]:
    """Yield blocks with each text below its label. A text too long for one block continues in the next block."""
    for part in texts:
        label = one_line(part.label)[:MAX_LABEL]
        for piece in pieces(readable(part.text), MAX_TEXT):
            yield rich(*(_boxed(label, piece) if boxed else _said(label, piece)))
            label = ""


def split_into_parts(blocks: Sequence[Block]) -> list[list[Block]]:
    """The blocks in parts that each fit a view."""
    parts: list[list[Block]] = [[]]
    text, size = 0, 0
    for block in blocks:
        sent = json.dumps(block)
        words = sum(units(part["text"]) for element in block["elements"] for part in element["elements"])
        if parts[-1] and (
            len(parts[-1]) >= MAX_PART_BLOCKS or text + words > MAX_PART_TEXT or size + len(sent) > MAX_PART_BYTES
        ):
            parts.append([])
            text, size = 0, 0
        parts[-1].append(block)
        text, size = text + words, size + len(sent)
    return parts


def _boxed(label: str, piece: str) -> list[Block]:
    top = [line(run(label, "bold"))] if label else []
    return [*top, preformatted(piece) if piece else line(run("empty", "italic"))]


def _said(label: str, piece: str) -> list[Block]:
    top = [run(label, "bold"), run("\n")] if label else []
    return [line(*top, run(piece))]


MAX_ROW_TEXT, MAX_ANSWER = 500, MAX_MESSAGE_TEXT // 2 - 150


def log_message(rows: Sequence[LogRow], head: str) -> SlackMessage:
    """Rows of the decision log, one per line, each with a link to its card if the card still exists."""
    lines = [line(run(f"{head}\n", "bold"))]
    for row in rows:
        url = card_link(row.entry.channel, row.card)
        opens = [run(" · "), link_run(url, "card")] if url else []
        at = time_text(row.entry.at)
        said = row_text(row.entry).removeprefix(at)
        lines.append(line(date_run(row.entry.at), run(cut(said, MAX_ROW_TEXT)), *opens, run("\n")))
    return SlackMessage(notification(head), [rich(*lines)])


def answer_message(answer: Answer) -> SlackMessage:
    """The reply to a typed line: rows of the decision log, or a text with the content of its readable files.

    It is cut to fit one message.
    """
    if answer.log:
        return log_message(answer.log, answer.text.partition("\n")[0])
    whole = readable(answer.whole)
    part = beginning(whole, MAX_ANSWER)
    left = len(whole) - len(part)
    return SlackMessage.plain(f"{part}\n… {left:,} more characters." if left else part)
