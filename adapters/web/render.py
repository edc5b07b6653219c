"""Cards and threads → HTML, by templates that escape everything. No decisions are taken here."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from adapters import cards, decision_log
from adapters.buttons import Button
from adapters.thread_commands import CALLS
from adapters.ui_text import REPLY_DOES, ago, counted, covered_text, first_lines, media_type, size_text
from adapters.visible_text import finalized, visible
from agent_core.model.agent import Agent
from agent_core.model.channels import ChannelScope
from agent_core.model.lines import one_line
from agent_core.model.note import Note, Notice
from agent_core.model.turn import Turn
from agent_core.model.usage import Usage
from agent_core.service.views import Entry

HERE = Path(__file__).parent
SHORT = 140


@dataclass(frozen=True, slots=True)
class DiffLine:
    """A line of a preview with what it does: add, cut, place or keep."""

    kind: str
    text: str


def page(template: str, **values: Any) -> str:
    """Render a template."""
    return _environment().get_template(template).render(**values)


def diff_lines(body: str) -> list[DiffLine]:
    """The lines of a unified diff, told apart."""
    kinds = {"+": "add", "-": "cut", "@": "place"}
    return [DiffLine(kinds.get(line[:1], "keep"), line) for line in body.splitlines()]


def first_line(text: str) -> tuple[str, bool]:
    """A text on one line, cut where it is long, and whether that is not how it was written."""
    short = one_line(text, SHORT)
    return short, short != text


def spent_by_kind(agent: Agent) -> list[tuple[str, Usage]]:
    """What each kind of call took, in people's words, dearest first."""
    dearest = sorted(agent.calls.items(), key=lambda call: (call[1].cost, call[1].prompt), reverse=True)
    return [(CALLS[kind], usage) for kind, usage in dearest]


def channel_path(channel: ChannelScope) -> str:
    """Where a channel's page is."""
    return f"/c/{channel.key}"


def agent_path(agent: Agent) -> str:
    """Where an agent's thread is."""
    return f"{channel_path(agent.channel)}/a/{agent.id}"


def kind_of(entry: Entry) -> str:
    """Which template draws an entry of a thread."""
    match entry:
        case Turn():
            return "turn"
        case Note():
            return "note"
        case Notice():
            return "notice"


def file_path(agent: Agent, path: str) -> str:
    """Where a file is downloaded."""
    return f"{agent_path(agent)}/files/{quote(path)}"


def medium_of(path: str) -> str:
    """How a page shows a file: as a picture, as sound, or not."""
    kind = media_type(path).partition("/")[0]
    return {"image": "picture", "audio": "sound"}.get(kind, "")


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(HERE / "templates"),
        autoescape=True,
        finalize=finalized,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    shown: Iterable[Any] = (
        cards.turn_card,
        cards.status_text,
        cards.status_word,
        cards.spend_text,
        cards.lease_text,
        cards.free_text,
        cards.money,
        cards.as_text,
        visible,
        decision_log.what_text,
        decision_log.who_text,
        decision_log.right_text,
        decision_log.detail_text,
        decision_log.time_text,
        diff_lines,
        first_lines,
        first_line,
        spent_by_kind,
        channel_path,
        agent_path,
        file_path,
        medium_of,
        ago,
        counted,
        covered_text,
        kind_of,
        size_text,
        Button,
    )
    environment.globals["REPLY_DOES"] = REPLY_DOES
    environment.globals.update({function.__name__: function for function in shown})
    return environment
