"""Whatever a model, a person or a command writes: Slack takes the message, nothing is forged, and nothing is lost."""

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from adapters.screens.buttons import Button, ViewButton
from adapters.screens.cards import as_text, turn_card
from adapters.screens.question_form import question_form
from adapters.screens.text_fit import cut, pieces, units
from adapters.screens.turn_lines import line_of
from adapters.screens.visible_text import one_line, readable, visible
from adapters.slack.inbound.submitted_forms import FormContext, changed_arguments
from adapters.slack.outbound.blocks import weight
from adapters.slack.outbound.controls import parse_action
from adapters.slack.outbound.draw import LIMITS
from adapters.slack.outbound.extra_buttons import SlackDraftButton
from adapters.slack.outbound.forms import agent_view, draw_form
from adapters.slack.outbound.inputs import entries, written
from adapters.slack.outbound.message import SlackMessage
from adapters.slack.outbound.views import home, show_all, thoughts_view
from agent_core.errors import NotPossible
from agent_core.model.agent import Agent, Paused
from agent_core.model.command import Arguments, CommandCall, Proposal, Thoughts
from agent_core.model.draft import AgentDraft
from agent_core.model.ids import AgentId
from agent_core.model.turn import Turn
from agent_core.service.reading.approval_queue import WaitingAgent
from agent_core.testing.examples import BEN, a_notice, a_turn, an_agent
from tests.drawn_forms import edit_view
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
from tests.slack_messages import (
    agents_message,
    folded_message,
    note_message,
    notice_message,
    offer_message,
    root_message,
    turn_message,
)

PLACE = FormContext("slack/T1/C1", "edit:turn:1", "12.3")


DATE = re.compile(r"<!date\^\d+\^\{date_short_pretty\} \{time\}\|\d{1,2} [A-Z][a-z]{2} \d{4}, \d\d:\d\d UTC>")


def objects(value: object) -> Iterator[dict[str, Any]]:
    """Every object in the blocks."""
    if isinstance(value, dict):
        yield value
        for inner in value.values():
            yield from objects(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from objects(inner)


def length(text: str) -> int:
    return sum(2 if character > "\uffff" else 1 for character in text)


MOST = {"button": 75, "option": 75, "title": 100, "question": 300, "answer": 30, "label": 2000, "placeholder": 150}


def check_text(text: Any, most: int) -> None:
    assert text["type"] == "plain_text"
    assert text["emoji"] is False
    assert text["text"].strip()
    assert length(text["text"]) <= most


def check_element(element: dict[str, Any]) -> None:
    match element:
        case {"type": "button"}:
            check_text(element["text"], MOST["button"])
            assert 0 < length(element["value"]) <= 2000
        case {"type": "static_select" | "overflow" as kind}:
            if kind == "static_select":
                check_text(element["placeholder"], MOST["placeholder"])
            assert len(element["options"]) <= (100 if kind == "static_select" else 5)
            for option in element["options"]:
                check_text(option["text"], MOST["option"])
                assert 0 < length(option["value"]) <= 150
        case {"type": "plain_text_input"}:
            assert length(element.get("initial_value", "x")) <= 3000
        case _:
            assert element["type"] in ("checkboxes", "radio_buttons")
    assert 0 < length(element["action_id"]) <= 255
    if asked := element.get("confirm"):
        for name, kind in {"title": "title", "text": "question", "confirm": "answer", "deny": "answer"}.items():
            check_text(asked[name], MOST[kind])


def check_block(block: dict[str, Any]) -> None:
    elements = block.get("elements", [])
    match block["type"]:
        case "section":
            check_text(block["text"], 3000)
            assert all(DATE.fullmatch(field["text"]) for field in block.get("fields", ()))
        case "input":
            check_text(block["label"], MOST["label"])
        case "context":
            assert 0 < len(elements) <= 10
            for element in elements:
                if element["type"] == "mrkdwn":
                    assert DATE.fullmatch(element["text"])
                else:
                    check_text(element, 3000)
        case "actions":
            assert 0 < len(elements) <= 25
            assert len({element["action_id"] for element in elements}) == len(elements)
        case "rich_text":
            assert all(0 < length(text) <= 3000 for text in words(block))
            assert all(each["elements"] for each in objects(block) if "elements" in each)
        case _:
            assert {name: part for name, part in block.items() if name != "block_id"} == {"type": "divider"}


def check_blocks(blocks: list[dict[str, Any]], most: int) -> None:
    """What Slack would refuse, or what could notify: the only mrkdwn is a time that Signoff wrote."""
    assert 0 < len(blocks) <= most
    for block in blocks:
        check_block(block)
    for element in filter(lambda each: "action_id" in each, objects(blocks)):
        check_element(element)
    ids = [block["block_id"] for block in blocks if "block_id" in block]
    assert len(set(ids)) == len(ids)
    assert all(length(each) <= 255 for each in ids)
    assert all(DATE.fullmatch(each["text"]) for each in objects(blocks) if each.get("type") == "mrkdwn")
    sent = json.dumps(blocks, ensure_ascii=False).encode()
    assert b"\x00" not in sent


def check_message(message: SlackMessage) -> None:
    check_blocks(message.blocks, 50)
    assert sum(map(length, words(message.blocks))) <= 12_000
    assert message.text.strip()
    assert "<" not in message.text
    assert ">" not in message.text
    message.text.encode()


def check_view(view: dict[str, Any]) -> None:
    check_blocks(view["blocks"], 100)
    assert len(json.dumps(view)) <= 250_000
    if view["type"] == "modal":
        check_text(view["title"], 24)
        assert length(view.get("private_metadata", "")) <= 3000
        assert "submit" in view or not any(block["type"] == "input" for block in view["blocks"])


def words(blocks: object) -> list[str]:
    return [each["text"] for each in objects(blocks) if isinstance(each.get("text"), str)]


def boxes(blocks: list[dict[str, Any]]) -> set[str]:
    """What stands in boxes, each as a whole: preformatted, or a run of code."""
    found = {"".join(words(each)) for each in objects(blocks) if each.get("type") == "rich_text_preformatted"}
    return found | {each["text"] for each in objects(blocks) if each.get("style") == {"code": True}}


def drawn_buttons(blocks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Every action that a press in these blocks could send."""
    found: list[dict[str, Any]] = []
    for each in objects(blocks):
        if each.get("type") in ("static_select", "overflow"):
            kept = {"type": each["type"], "action_id": each["action_id"]}
            found += [kept | {"selected_option": option} for option in each["options"]]
        elif each.get("type") == "button":
            found.append(each)
        elif each.get("type") == "input":
            found.append({**each["element"], "block_id": each["block_id"], "value": "Hello"})
    return found


def sent(view: dict[str, Any]) -> dict[str, Any]:
    """The form as Slack sends it when nothing was touched."""
    values = {
        block["block_id"]: {"value": {"type": "plain_text_input", "value": block["element"].get("initial_value")}}
        for block in view["blocks"]
        if block["type"] == "input"
    }
    return view | {"state": {"values": values}}


@pytest.mark.slow
@settings(max_examples=tried(40), deadline=None)
@given(pairs)
def test_slack_takes_the_card_of_any_turn(pair: tuple[Agent, Turn]) -> None:
    check_message(turn_message(*pair))


@pytest.mark.slow
@settings(max_examples=tried(40), deadline=None)
@given(pairs, st.integers(1, 50))
def test_slack_takes_a_card_that_turns_share_and_a_folded_one(pair: tuple[Agent, Turn], count: int) -> None:
    agent, turn = pair
    lines = [line_of(turn)] * count
    check_message(turn_message(agent, turn, lines))
    check_message(folded_message(agent, lines))
    check_message(folded_message(agent, [replace(lines[0], number=each) for each in range(count)]))


@pytest.mark.slow
@settings(max_examples=tried(40), deadline=None)
@given(pairs)
def test_every_button_of_a_card_is_read_back(pair: tuple[Agent, Turn]) -> None:
    agent, turn = pair
    read = [parse_action(action) for action in drawn_buttons(turn_message(agent, turn).blocks)]
    expected = {*turn_card(agent, turn).buttons}
    if turn.state == "proposed":
        expected |= {Button("reply", agent.id, shown=turn.control_hash)}
        assert ViewButton("another number", turn.id, shown=turn.control_hash) in read
    assert {button for button in read if isinstance(button, Button)} == expected
    others = [each for each in read if not isinstance(each, Button)]
    assert all(isinstance(each, ViewButton) and each.subject == turn.id for each in others)


@settings(max_examples=tried(40), deadline=None)
@given(proposed)
@pytest.mark.slow
def test_an_argument_is_on_the_card_verbatim_or_the_card_offers_all_of_it(pair: tuple[Agent, Turn]) -> None:
    agent, turn = pair
    blocks = turn_message(agent, turn).blocks
    shown, given_arguments = boxes(blocks), {visible(as_text(value)) for value in turn.call.arguments.values()} - {""}
    offers_all = ViewButton("show all", turn.id) in [parse_action(action) for action in drawn_buttons(blocks)]
    assert given_arguments <= shown or offers_all
    preview = turn.shown_preview
    asked = sum(len(json.dumps(as_text(value))) + 300 for value in turn.call.arguments.values())
    asked += len(json.dumps([preview.title, preview.body])) + 300 if preview else 0
    if asked < 4000 and all(len(name) < 20 for name in turn.call.arguments) and not (preview and preview.title):
        assert given_arguments <= shown
        card = turn_card(agent, turn)
        is_headline_cut = weight(one_line(card.action)) > LIMITS.roomy["headline"]
        assert offers_all == (card.repeats_preview or is_headline_cut)


@pytest.mark.slow
@settings(max_examples=tried(40), deadline=None)
@given(pairs)
def test_all_of_a_turn_stands_in_the_parts_of_show_all(pair: tuple[Agent, Turn]) -> None:
    agent, turn = pair
    card = turn_card(agent, turn)
    views, number, is_last = [], 0, False
    while not is_last:
        number += 1
        view = show_all(card, PLACE, number)
        check_view(view)
        views.append(view)
        is_last = "Next part" not in words(view["blocks"])
    assert (f"Part 1 of {len(views):,}" in words(views[0]["blocks"])) == (len(views) > 1)
    rich = [block for view in views for block in view["blocks"] if block["type"] == "rich_text"]
    said = "".join(words(rich))
    thoughts = turn.proposal.thoughts
    whole = [thoughts.text, thoughts.reasoning, thoughts.criticism, thoughts.speak, card.outcome, turn.remark]
    decided = [as_text(value) for value in turn.call.arguments.values()]
    decided += [turn.shown_preview.body] if turn.shown_preview else []
    said_of_it = [readable(text) for text in whole] + [visible(text) for text in decided]
    assert [text for text in said_of_it if text not in said] == []
    check_view(thoughts_view(card, PLACE))


@pytest.mark.slow
@settings(max_examples=tried(40), deadline=None)
@given(arguments.map(without_halves))
def test_a_form_that_nobody_touched_gives_the_very_same_arguments(given_arguments: Arguments) -> None:
    turn = a_turn(an_agent(), proposal=Proposal(thoughts=Thoughts(), call=CommandCall("any", given_arguments)))
    spec = spec_of(turn, more={"type": "string"})
    try:
        view = edit_view(turn, spec, PLACE)
    except NotPossible:
        assert sum(len(json.dumps(visible(as_text(value)))) for value in given_arguments.values()) > 100_000
        return
    check_view(view)
    unchanged = changed_arguments(sent(view), turn, spec)
    assert [*unchanged] == [*turn.call.arguments]
    assert all(unchanged[name] is value for name, value in turn.call.arguments.items())


@pytest.mark.slow
@settings(max_examples=tried(40), deadline=None)
@given(texts.map(lambda text: visible(text).replace("\r", "")), st.integers(1, 50))
def test_a_text_in_pieces_is_the_same_text(text: str, most: int) -> None:
    found = pieces(text, 2 * most)
    assert "".join(found) == text
    assert max(map(units, found)) <= 2 * most
    blocks = entries("text", "Text", text)
    assert written(sent({"blocks": blocks})["state"]["values"]) == {"text": text}


@pytest.mark.slow
@given(short.map(visible), st.integers(1, 40))
def test_a_text_is_cut_between_characters(text: str, most: int) -> None:
    shown = cut(text, most)
    assert units(shown) == length(shown) <= most
    assert shown == text or text.startswith(shown.removesuffix("…"))


@pytest.mark.slow
@settings(max_examples=tried(40), deadline=None)
@given(drafts, texts)
def test_an_offered_draft_comes_back_with_its_buttons_or_its_sentence_does(draft: AgentDraft, sentence: str) -> None:
    message = offer_message(draft, sentence)
    check_message(message)
    for action in drawn_buttons(message.blocks):
        offer = parse_action(action)
        assert isinstance(offer, SlackDraftButton)
        assert str(offer) == action["value"]
        if offer.draft is None:
            assert readable(sentence).startswith(readable(offer.sentence)[:100])
        else:
            asked = replace(draft, policy=replace(draft.policy, free=()))
            assert replace(offer.draft, name="", role="", goals=()) == replace(asked, name="", role="", goals=())
            assert offer.draft.role == readable(draft.role)
    check_view(agent_view(draft, draft, "slack/T1/C1", said=sentence))


@pytest.mark.slow
@settings(max_examples=tried(40), deadline=None)
@example(an_agent(), "<!channel>\r\n" * 251, 1)
@example(an_agent(name="\U00100000" * 80), "\U00100000" * 300, 35)
@given(agents, texts, st.integers(0, 120))
def test_slack_takes_any_list_notice_and_home(agent: Agent, text: str, count: int) -> None:
    several = [replace(agent, id=AgentId(f"agent-{number}"), status=Paused(text)) for number in range(count)]
    asking = [(each, a_turn(each)) for each in several]
    described = replace(agent, role=text, goals=(text,) * 5)
    messages = [
        agents_message(several, lambda _: "https://slack.example/1"),
        notice_message(agent, a_notice(agent, kind="stopped", text=text)),
        notice_message(agent, a_notice(agent, kind="changed", text=text)),
        note_message(agent, BEN, text),
        root_message(described, model=text[:100], standing=text, last=text),
    ]
    for message in messages:
        check_message(message)
    view = home(several, [WaitingAgent(*each) for each in asking], lambda _: "https://slack.example/1")
    check_view(view)


@pytest.mark.slow
@settings(max_examples=tried(60), deadline=None)
@given(asking())
def test_slack_takes_the_form_of_any_question(turn: Turn) -> None:
    form = question_form(turn)
    assert form
    view = draw_form(form, "slack/T1/C1")
    assert len(json.dumps(view)) <= 250_000
    assert len(view["blocks"]) <= 100
    for block in view["blocks"]:
        if block["type"] == "input":
            check_text(block["label"], 2000)
            check_text(block.get("hint") or block["label"], 2000)
            options = block["element"].get("options", ())
            assert len(options) <= 100
            for each in options:
                check_text(each["text"], 75)
    assert "mrkdwn" not in json.dumps(view)
