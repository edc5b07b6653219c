"""Rows of the decision log in Slack, each with a link to its card."""

from collections.abc import Sequence

from adapters.screens.decision_log import row_text, time_text
from adapters.screens.text_fit import cut
from adapters.slack.outbound.blocks import date_run, line, link_run, notification, rich, run
from adapters.slack.outbound.message import SlackMessage, card_link
from agent_core.service.decision_log import LogRow

MAX_ROW_TEXT = 500


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
