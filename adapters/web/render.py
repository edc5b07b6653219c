"""Renders pages with Jinja templates that escape all values, and has the functions for templates, such as paths."""

from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from adapters.screens import cards, decision_log
from adapters.screens.buttons import Button
from adapters.screens.durations import span_text
from adapters.screens.message.card_titles import title_of_command
from adapters.screens.question_form import question_form
from adapters.screens.risk_labels import MEANINGS, consequence_of, labels_of
from adapters.screens.text_fit import cut
from adapters.screens.turn_state import StateParts, cut_parts, decided_parts, state_text, untimed_text
from adapters.screens.ui_text import (
    SAY_LABELS,
    ago,
    approvers_text,
    covered_text,
    deciders_text,
    deletion_note,
    effort_text,
    free_text,
    head_and_tail,
    model_text,
    most_times,
    size_text,
    two_text,
    when_read,
)
from adapters.screens.visible_text import finalized, visible
from adapters.typed.schedule_commands import runs_text
from adapters.typed.standing_rules import suggests_rules
from adapters.web.diff_lines import draw_diff
from adapters.web.faces import face_of
from adapters.web.pages import amounts
from adapters.web.pages.file_preview import has_source, markdown_with_table, medium_of
from adapters.web.thread_entries import group_entries, last_decided
from agent_core.model.agent import Agent
from agent_core.model.files import TRASH_DAYS
from agent_core.model.note import Note, Notice
from agent_core.model.origin import Actor, ChannelScope
from agent_core.model.records.reservation import reached_budget
from agent_core.model.turn import Turn
from agent_core.service.housekeeping.archiving import find_archive_hindrance
from agent_core.service.reading.views import AgentViews, Entry
from agent_core.service.uploads import MAX_UPLOAD_BYTES
from agent_core.text.lines import counted, in_quotation_marks, one_line
from agent_core.text.own_commands import command_text

HERE = Path(__file__).parent
MAX_LINE_CHARACTERS = 140
MAX_STATE = 300


def page(template: str, **values: Any) -> str:
    return _environment().get_template(template).render(**values)


def first_line(text: str) -> tuple[str, bool]:
    """A text on one line, cut to MAX_LINE_CHARACTERS, and whether this changed the text."""
    short = one_line(text, MAX_LINE_CHARACTERS)
    return short, short != text


def channel_path(channel: ChannelScope) -> str:
    return f"/c/{channel.key}"


def agent_path(agent: Agent) -> str:
    return f"{channel_path(agent.channel)}/a/{agent.id}"


def kind_of(entry: Entry) -> str:
    """The kind of a thread's entry, by which the template chooses its markup."""
    match entry:
        case Turn():
            return "turn"
        case Note():
            return "note"
        case Notice():
            return "notice"


def file_path(agent: Agent, path: str) -> str:
    """The address from which a file is downloaded."""
    return f"{agent_path(agent)}/files/{quote(path)}"


def view_path(agent: Agent, path: str) -> str:
    """The address of the page that shows a file."""
    return f"{agent_path(agent)}/view/{quote(path)}"


def usable_buttons(buttons: Sequence[Button], agent: Agent, turn: Turn, person: Actor) -> tuple[Button, ...]:
    """The buttons that the service accepts from this person, as things are now. Everybody may stop an agent."""
    if AgentViews.may_approve(agent, turn, person):
        return tuple(buttons)
    verbs = ("stop", "reject", "skip", "undo", "revoke") if AgentViews.may_decide(agent, person) else ("stop",)
    return tuple(each for each in buttons if each.verb in verbs)


def shortened(parts: StateParts) -> StateParts:
    """A turn's state as it stands on a card: of what a person wrote no more than a few lines."""
    return parts if len(state_text(parts)) <= MAX_STATE else cut_parts(parts, MAX_STATE, cut)


def row_parts(card: cards.Card) -> StateParts:
    """What stands at the end of a finished turn's row: of one that people simply approved, who did and when."""
    parts = shortened(card.state_parts)
    if card.tone != "good":
        return parts
    who, *rest = decided_parts(parts)
    return (str(who).removeprefix("approved by "), *rest)


TEMPLATE_FUNCTIONS: Iterable[Any] = (
    row_parts,
    cards.uncounted,
    untimed_text,
    shortened,
    command_text,
    cards.turn_card,
    title_of_command,
    face_of,
    question_form,
    AgentViews.may_decide,
    AgentViews.may_approve,
    usable_buttons,
    suggests_rules,
    cards.status_text,
    cards.status_parts,
    cards.status_word,
    cards.spend_text,
    cards.estimate_text,
    cards.lease_text,
    cards.money,
    cards.as_text,
    visible,
    decision_log.act_text,
    decision_log.who_text,
    decision_log.right_text,
    decision_log.detail_text,
    decision_log.whole_detail,
    decision_log.time_text,
    amounts.measure_of,
    amounts.usage_by_kind,
    amounts.amounts_of,
    amounts.added_texts,
    amounts.percent_text,
    span_text,
    runs_text,
    draw_diff,
    markdown_with_table,
    head_and_tail,
    first_line,
    in_quotation_marks,
    consequence_of,
    labels_of,
    group_entries,
    last_decided,
    channel_path,
    agent_path,
    file_path,
    find_archive_hindrance,
    reached_budget,
    view_path,
    has_source,
    medium_of,
    ago,
    counted,
    covered_text,
    approvers_text,
    deciders_text,
    deletion_note,
    effort_text,
    free_text,
    two_text,
    when_read,
    model_text,
    kind_of,
    most_times,
    size_text,
    Button,
)

MAX_FILES_AT_ONCE, NEWEST_FILES = 6, 5  # of an agent, in its panel; the others are behind a line


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
    environment.globals.update(SAY_LABELS=SAY_LABELS, MEANINGS=MEANINGS, TRASH_DAYS=TRASH_DAYS)
    environment.globals.update(MAX_UPLOAD_BYTES=MAX_UPLOAD_BYTES, MAX_FILES_AT_ONCE=MAX_FILES_AT_ONCE)
    environment.globals.update(NEWEST_FILES=NEWEST_FILES, html_of=lambda *_: "")
    environment.globals.update({function.__name__: function for function in TEMPLATE_FUNCTIONS})
    return environment
