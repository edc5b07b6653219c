"""Whatever a model, a person or a command writes: Discord takes the message, nothing is forged, and nothing is lost."""

import json
from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest
from discord.ui import Modal
from hypothesis import example, given, settings
from hypothesis import strategies as st
from simcord.components import validate_components, validate_modal, walk_components

from adapters.chat.extra_buttons import DeleteButton, UploadButton
from adapters.discord.inbound.submitted_forms import AgentForm, EditForm, Submitted, submitted
from adapters.discord.inbound.submitted_forms import read as read_form
from adapters.discord.outbound.controls import OUR_BUTTON, OUR_CHOICE, parse_custom_id
from adapters.discord.outbound.extra_buttons import DiscordDraftButton, file_of_button
from adapters.discord.outbound.forms import draw_form
from adapters.discord.outbound.message import DiscordMessage, boxed, can_be_boxed, clean, escaped, quoted, timestamp
from adapters.screens.buttons import Button, ViewButton
from adapters.screens.cards import as_text, turn_card
from adapters.screens.question_form import question_form
from adapters.screens.text_fit import beginning, cut, pieces, units
from adapters.screens.turn_lines import line_of
from adapters.screens.visible_text import one_line, readable, visible
from adapters.typed.answers import Answer
from agent_core.errors import NotPossible
from agent_core.model.agent import Agent, Paused
from agent_core.model.command import RISK_CLASSES, Arguments, CommandCall, Proposal, Thoughts
from agent_core.model.draft import AgentDraft
from agent_core.model.files import FileEntry
from agent_core.model.ids import AgentId, TurnId
from agent_core.model.turn import Turn
from agent_core.testing.examples import BEN, NOON, a_notice, a_turn, an_agent
from tests.discord_messages import (
    agent_message,
    agents_message,
    answer_message,
    delete_message,
    files_message,
    folded_message,
    note_message,
    notice_message,
    offer_message,
    root_message,
    text_message,
    thoughts_message,
    turn_message,
    whole_file,
)
from tests.drawn_forms import agent_modal, edit_modal
from tests.example_counts import tried
from tests.properties.cards import (
    agents,
    arguments,
    asking,
    drafts,
    pairs,
    proposed,
    short,
    spec_of,
    texts,
    without_halves,
)
from tests.properties.discord_markdown import Read, read

V2 = 1 << 15
OURS = {"subtext", "italic"}
URL = "https://discord.example/channels/1/2"


def components(message: DiscordMessage) -> list[dict[str, Any]]:
    """Every component as it goes over the wire."""
    sent = message.view.to_components()  # type: ignore[no-untyped-call]  # discord.py leaves it without types
    return list(walk_components(validate_components(sent, flags=V2)))


def contents(message: DiscordMessage) -> list[str]:
    return [each["content"] for each in components(message) if each["type"] == 10]


def check(message: DiscordMessage, *also: str) -> None:
    """What Discord would refuse, and what it would draw of somebody else's text."""
    found = components(message)
    said = contents(message)
    assert sum(map(units, said)) <= 4000
    assert all(content.strip() for content in said)
    for each in found:
        assert len(each.get("label") or "") <= 80
        assert len(each.get("components", ())) <= 5 or each["type"] != 1
        for option in each.get("options", ()):
            assert max(len(option["label"]), len(option["value"]), len(option.get("description") or "")) <= 100
    for content in said:
        content.encode()
        assert read(content).drawn <= OURS | {*also}
    names = [each["file"]["url"].removeprefix("attachment://") for each in found if each["type"] == 13]
    assert names == [file.name for file in message.files if f"attachment://{file.name}" not in str(said)]


def pressable(message: DiscordMessage) -> list[str]:
    """Every id that a press in this message could send."""
    found: list[str] = []
    for each in components(message):
        if "options" in each:
            assert OUR_CHOICE.fullmatch(each["custom_id"])
            found += [option["value"] for option in each["options"]]
        elif "custom_id" in each:
            assert OUR_BUTTON.fullmatch(each["custom_id"])
            found.append(each["custom_id"])
    assert all(len(custom_id) <= 100 for custom_id in found)
    return found


def reading(message: DiscordMessage) -> list[Read]:
    return [read(content) for content in contents(message)]


def shown_in(message: DiscordMessage) -> set[str]:
    """What stands in boxes and quotations, each as a whole."""
    return {text for each in reading(message) for text in (*each.boxes, *each.quotes)}


@pytest.mark.slow
@settings(max_examples=tried(40), deadline=None)
@given(pairs)
def test_discord_takes_the_card_of_any_turn(pair: tuple[Agent, Turn]) -> None:
    message = turn_message(*pair, model="a model")
    times = [timestamp(part) for part in turn_card(*pair).state_parts if isinstance(part, datetime)]
    check(message, *(["timestamp"] if times else []))
    head, *others = contents(message)
    for each in times:
        head = head.replace(each, "")
    assert not any("timestamp" in read(content).drawn for content in (head, *others))
    headline = one_line(turn_card(*pair).action)
    first = reading(message)[0].text.splitlines()[0]
    assert first == headline or headline.startswith(first.removesuffix("…"))


@pytest.mark.slow
@settings(max_examples=tried(40), deadline=None)
@given(pairs, st.integers(1, 50))
def test_discord_takes_a_card_that_turns_share_and_a_folded_one(pair: tuple[Agent, Turn], count: int) -> None:
    agent, turn = pair
    lines = [replace(line_of(turn), turn=TurnId(f"{turn.id}-{each}")) for each in range(count)]
    for message in (turn_message(agent, turn, lines), folded_message(agent, lines), folded_message(agent, lines[:1])):
        check(message, "timestamp")


@pytest.mark.slow
@settings(max_examples=tried(40), deadline=None)
@given(pairs)
def test_every_button_of_a_card_is_read_back(pair: tuple[Agent, Turn]) -> None:
    agent, turn = pair
    ids = pressable(turn_message(agent, turn))
    found = [parse_custom_id(custom_id) for custom_id in ids]
    assert [str(each) for each in found] == ids
    expected = {*turn_card(agent, turn).buttons}
    if turn.state == "proposed":
        expected |= {Button("reply", agent.id, shown=turn.control_hash)}
        assert ViewButton("another number", turn.id, shown=turn.control_hash) in found
    assert {button for button in found if isinstance(button, Button)} == expected
    others = [each for each in found if not isinstance(each, Button)]
    assert all(isinstance(each, ViewButton) and each.subject == turn.id for each in others)


@settings(max_examples=tried(40), deadline=None)
@given(proposed)
@pytest.mark.slow
def test_an_argument_is_on_the_card_verbatim_or_the_card_offers_all_of_it(pair: tuple[Agent, Turn]) -> None:
    agent, turn = pair
    message = turn_message(agent, turn)
    given_arguments = {clean(visible(as_text(value))).strip("\n") for value in turn.call.arguments.values()} - {""}
    offers_all = str(ViewButton("show all", turn.id)) in pressable(message)
    assert given_arguments <= shown_in(message) or offers_all
    preview = turn.shown_preview
    asked = sum(2 * units(visible(as_text(value))) + 200 for value in turn.call.arguments.values())
    asked += 2 * units(visible(preview.title + preview.body)) + 200 if preview else 0
    if asked < 1800 and all(len(name) < 20 for name in turn.call.arguments) and not (preview and preview.title):
        assert given_arguments <= shown_in(message)


@pytest.mark.slow
@settings(max_examples=tried(40), deadline=None)
@given(proposed)
def test_only_names_and_the_headline_are_bold_on_a_card(pair: tuple[Agent, Turn]) -> None:
    agent, turn = pair
    card = turn_card(agent, turn)
    names = [card.action, *(argument.label for argument in card.arguments), "?", "Preview"]
    names += [card.preview.title] if card.preview else []
    bold = [text.removesuffix("…") for each in reading(turn_message(agent, turn)) for text in each.bold]
    assert [text for text in bold if not any(one_line(name).startswith(text) for name in names)] == []


@pytest.mark.slow
@settings(max_examples=tried(40), deadline=None)
@given(pairs)
def test_all_of_a_turn_stands_in_the_file_of_show_all(pair: tuple[Agent, Turn]) -> None:
    agent, turn = pair
    card, thoughts = turn_card(agent, turn), turn.proposal.thoughts
    file = whole_file(agent, turn)
    said = file.data.decode()
    whole = [thoughts.text, thoughts.reasoning, thoughts.criticism, thoughts.speak, card.outcome, turn.remark]
    decided = [as_text(value) for value in turn.call.arguments.values()]
    decided += [turn.shown_preview.body] if turn.shown_preview else []
    said_of_it = [readable(text) for text in whole] + [visible(text) for text in decided]
    assert [text for text in said_of_it if text not in said] == []
    check(thoughts_message(agent, turn))


@pytest.mark.slow
@settings(max_examples=tried(40), deadline=None)
@given(proposed)
def test_what_is_cut_from_a_card_has_a_button_that_opens_it(pair: tuple[Agent, Turn]) -> None:
    agent, turn = pair
    message = turn_message(agent, turn)
    says = clean(turn.proposal.thoughts.text).strip()
    if says and says not in shown_in(message):
        assert str(ViewButton("thoughts", turn.id)) in pressable(message)


@pytest.mark.slow
@settings(max_examples=tried(150), deadline=None)
@example("1. one\n- two\n+ three\n# four\n-# five")
@example("\\*a\\* ```\n**b**")
@given(texts.map(lambda text: clean(text[:3000])))
def test_a_text_is_read_as_it_was_written(text: str) -> None:
    seen = read(escaped(text))
    assert (seen.text, seen.drawn, seen.boxes, seen.bold, seen.quotes) == (text, set(), [], [], [])
    quotation = read(quoted(text))
    assert (quotation.quotes, quotation.drawn) == ([text], set())
    assert read(f"**{escaped(one_line(text)) or 'x'}**").bold == [one_line(text) or "x"]
    if can_be_boxed(text):
        assert read(boxed(text, "diff")).boxes == [text]


@settings(max_examples=tried(40), deadline=None)
@given(short.map(visible), st.integers(1, 40))
def test_a_text_is_cut_between_characters(text: str, most: int) -> None:
    shown = cut(text, most)
    assert units(shown) <= most
    assert shown == text or text.startswith(shown.removesuffix("…"))
    assert "".join(pieces(text, 2 * most)) == text


@pytest.mark.slow
@settings(max_examples=tried(40), deadline=None)
@given(drafts, st.text(alphabet="abc-_", min_size=1, max_size=24))
def test_an_offered_draft_has_its_key_in_its_buttons(draft: AgentDraft, key: str) -> None:
    message = offer_message(draft, key, said=draft.role)
    check(message, "list")
    assert [parse_custom_id(each) for each in pressable(message)] == [
        DiscordDraftButton("create", key),
        DiscordDraftButton("change", key),
    ]


@pytest.mark.slow
@settings(max_examples=tried(40), deadline=None)
@given(agents, texts, st.integers(0, 60))
def test_discord_takes_any_list_notice_and_answer(agent: Agent, text: str, count: int) -> None:
    several = [replace(agent, id=AgentId(f"agent-{number}"), status=Paused(text)) for number in range(count)]
    described = replace(agent, role=text, goals=(text,) * 5)
    check(agents_message(several, lambda _: URL), "masked link", "timestamp")
    check(root_message(described, model=text[:100], standing=text, last=text), "list", "timestamp")
    check(agent_message(described, lambda _: URL), "list", "timestamp")
    for message in (
        notice_message(agent, a_notice(agent, kind="stopped", text=text)),
        notice_message(agent, a_notice(agent, kind="changed", text=text)),
        note_message(agent, BEN, text),
        answer_message(Answer(text)),
        text_message(text),
        delete_message(agent),
    ):
        check(message)


@pytest.mark.slow
@settings(max_examples=tried(40), deadline=None)
@given(texts, st.integers(0, 60))
def test_every_file_of_the_first_has_a_button_that_finds_it(text: str, count: int) -> None:
    agent = an_agent()
    entries = [FileEntry(f"{text}/{number}", 10 * number, NOON) for number in range(count)]
    message = files_message(agent, entries)
    check(message, "timestamp")
    uploads = [parse_custom_id(custom_id) for custom_id in pressable(message)]
    found = [file_of_button(each, entries) for each in uploads if isinstance(each, UploadButton)]
    assert found == entries[: len(uploads)]


def check_form(form: Modal) -> dict[str, Any]:
    """What Discord would refuse of a form."""
    sent = validate_modal(form.to_dict())
    assert len(sent["title"]) <= 45
    assert 1 <= len(sent["components"]) <= 5
    for each in sent["components"]:
        assert len(each.get("label", "")) <= 45
        assert len(each.get("description") or "") <= 100
        assert units((each.get("component") or {}).get("value") or "") <= 4000
    assert len(sent["custom_id"]) <= 100
    json.dumps(sent, ensure_ascii=False).encode()
    return sent


def untouched(form: dict[str, Any]) -> Submitted:
    """The form as Discord sends it when nothing was touched."""
    for label in form["components"]:
        each = label.get("component", {})
        if "options" in each:
            each["values"] = [option["value"] for option in each["options"] if option.get("default")]
        elif each:
            each["value"] = each.get("value") or ""
    return read_form(form["custom_id"], submitted(form["components"]))


@pytest.mark.slow
@settings(max_examples=tried(60), deadline=None)
@given(arguments.map(without_halves))
def test_a_form_that_nobody_touched_gives_the_very_same_arguments(given_arguments: Arguments) -> None:
    turn = a_turn(an_agent(), proposal=Proposal(thoughts=Thoughts(), call=CommandCall("any", given_arguments)))
    spec = spec_of(turn, more={"type": "string"})
    try:
        form = check_form(edit_modal(turn, spec))
    except NotPossible:
        assert len(json.dumps(given_arguments)) > 5 * 3000
        return
    edited = untouched(form)
    assert isinstance(edited, EditForm)
    assert edited.button.subject == turn.id
    unchanged = edited.arguments(turn, spec)
    assert [*unchanged] == [*turn.call.arguments]
    assert all(unchanged[name] is value for name, value in turn.call.arguments.items())


@pytest.mark.slow
@settings(max_examples=tried(60), deadline=None)
@given(drafts)
def test_a_draft_comes_back_from_its_form(draft: AgentDraft) -> None:
    form = check_form(agent_modal(draft, place="discord/123456789012345678/123456789012345678"))
    new = untouched(form)
    assert isinstance(new, AgentForm)
    assert new.place == "discord/123456789012345678/123456789012345678"
    goals = "\n".join(draft.goals)
    assert new.fields["role"] == beginning(readable(draft.role), 4000)
    assert new.fields["goals"] == beginning(readable(goals), 4000)
    assert new.draft().budget == draft.budget
    assert new.draft().policy == replace(draft.policy, free=tuple(r for r in RISK_CLASSES if r in draft.policy.free))


@pytest.mark.parametrize("custom_id", ["", "approve", "approve::1", "upload:a", "delete:", "create:", "other:a:1"])
def test_a_button_that_is_not_ours_is_refused(custom_id: str) -> None:
    with pytest.raises(Exception, match="not one of Signoff's"):
        parse_custom_id(custom_id)
    assert parse_custom_id(str(DeleteButton(AgentId("a")))) == DeleteButton(AgentId("a"))


@pytest.mark.slow
@settings(max_examples=tried(60), deadline=None)
@given(asking())
def test_discord_takes_the_form_of_any_question_or_says_how_to_type(turn: Turn) -> None:
    form = question_form(turn)
    assert form
    try:
        sent = check_form(draw_form(form))
    except NotPossible:
        assert len(form.fields) > 5
        return
    for each in sent["components"]:
        assert units(each.get("content", "")) <= 4000
        for option in (each.get("component") or {}).get("options", ()):
            assert 0 < units(option["label"]) <= 100
