"""What people fill into Slack's forms, and where each fault stands."""

from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from adapters.slack.inbound.submitted_forms import (
    FormContext,
    changed_arguments,
    errors_of,
    fields_in,
    number_of,
    place_of,
    text_of,
)
from adapters.slack.outbound.forms import agent_view
from adapters.typed.form_values import draft_of
from agent_core.errors import ChangedSinceShown, InvalidInput
from agent_core.model.command import Arguments, CommandCall, CommandSpec, Proposal, Thoughts
from agent_core.model.decision import Policy
from agent_core.model.draft import AgentDraft
from agent_core.model.turn import Turn
from agent_core.testing.examples import a_turn, an_agent
from agent_core.testing.language_model import ScriptedModel
from tests.drawn_forms import edit_view, number_view, reason_view
from tests.scenario.chat import writing
from tests.scenario.slack_app import Office, at_work
from tests.scenario.slack_app import text_of as words_of

AGENT = an_agent()
PLACE = FormContext("slack/T1/C1", "edit:turn:1")
SPEC = CommandSpec(
    name="write",
    label="Write",
    description="",
    parameters={"properties": {"path": {"type": "string"}, "times": {"type": "integer"}, "mode": {"type": "string"}}},
    risks=("write",),
    category="files",
)
GIVEN: dict[str, object] = {"path": "a.txt", "times": 2, "tags": ["a", {"b": None}], "text": "one\r\ntwo\x00\r\n"}


def asking(arguments: Arguments) -> Turn:
    return a_turn(AGENT, proposal=Proposal(thoughts=Thoughts(), call=CommandCall("write", arguments)))


TURN = asking(GIVEN)


def form(turn: Turn = TURN) -> dict[str, Any]:
    return edit_view(turn, SPEC, PLACE)


def sent(view: dict[str, Any], **typed: str | None) -> dict[str, Any]:
    """The form as Slack sends it, with other texts in the fields of these labels."""
    values = {
        block["block_id"]: {"value": _state(block, typed)} for block in view["blocks"] if block["type"] == "input"
    }
    return view | {"state": {"values": values}}


def _state(block: dict[str, Any], typed: dict[str, str | None]) -> dict[str, Any]:
    element, label = block["element"], block["label"]["text"]
    match element["type"]:
        case "checkboxes":
            return {"selected_options": element.get("initial_options", [])}
        case "radio_buttons" | "static_select":
            return {"selected_option": element.get("initial_option")}
        case _:
            initial = element.get("initial_value")
            # Slack has its own line ends.
            return {"value": typed.get(label, initial.replace("\r\n", "\n") if initial else None)}


def changed(turn: Turn = TURN, **typed: str | None) -> Arguments:
    return changed_arguments(sent(form(turn), **typed), turn, SPEC)


def test_an_untouched_form_gives_the_very_same_values() -> None:
    unchanged = changed()
    assert [*unchanged] == [*GIVEN]
    assert all(unchanged[name] is value for name, value in GIVEN.items())


def test_a_changed_text_is_taken_as_it_stands() -> None:
    assert changed(path="b.txt") == {**GIVEN, "path": "b.txt"}


def test_a_form_shows_what_is_hidden_and_what_was_not_touched_of_it_stays() -> None:
    turn = asking({"path": "a\u00a0b\u200b.txt"})
    assert changed(turn)["path"] == "a\u00a0b\u200b.txt"
    shown = next(block["element"]["initial_value"] for block in form(turn)["blocks"] if block["type"] == "input")
    assert shown == "a⟨U+00A0⟩b⟨U+200B⟩.txt"
    assert changed(turn, path=shown.replace("⟨U+200B⟩", "!"))["path"] == "a\u00a0b!.txt"


def test_what_was_no_text_is_read_as_json() -> None:
    assert changed(times="3", tags="[1]") == {**GIVEN, "times": 3, "tags": [1]}


def test_half_a_character_that_json_can_spell_is_replaced_so_that_the_change_can_be_kept() -> None:
    call = CommandCall("write", changed(tags='["\\ud800", {"\\udc00": "a"}]'))
    assert call.arguments["tags"] == ["\ufffd", {"\ufffd": "a"}]
    assert Proposal(thoughts=Thoughts(), call=call).still_holds(call, None)


def test_half_a_character_in_an_argument_has_a_digest_too() -> None:
    broken = Proposal(thoughts=Thoughts(), call=CommandCall("write", {"path": "\ud800"}))
    assert broken.shown_hash != Proposal(thoughts=Thoughts(), call=CommandCall("write", {"path": "?"})).shown_hash


def test_an_argument_that_was_not_given_can_be_added() -> None:
    assert changed(mode="append") == {**GIVEN, "mode": "append"}


def test_an_emptied_text_is_empty() -> None:
    assert changed(path=None) == {**GIVEN, "path": ""}


def test_what_is_no_json_is_told_at_its_field() -> None:
    with pytest.raises(InvalidInput) as fault:
        changed(times="three")
    names = (*GIVEN, "mode")
    assert errors_of(form(), fault.value.problems, names) == {
        "argument.1": "times: this is not valid JSON. Examples: 7, true, [1, 2]."
    }


def test_a_change_in_one_part_of_a_long_text_leaves_the_others_exact() -> None:
    lines = [f"{number:>5} {'x' * 90}" for number in range(100)]
    turn = asking({"text": "\n".join(lines)})
    view = form(turn)
    second = view["blocks"][1]["element"]["initial_value"]
    result = changed(turn, **{view["blocks"][1]["label"]["text"]: second.replace("x", "y")})
    text = str(result["text"])
    assert text.replace("y", "x") == "\n".join(lines)
    assert 0 < text.count("y") < text.count("x")


def test_a_form_about_something_that_changed_since_is_not_taken() -> None:
    view = sent(form())
    with pytest.raises(ChangedSinceShown):
        changed_arguments(view, asking({**GIVEN, "path": "c.txt"}), SPEC)


def test_a_new_agent_is_read_from_its_form() -> None:
    policy = Policy(approvers="owner", free=("read", "network"), verbosity="brief")
    draft = AgentDraft(
        name="Ada",
        role="a poet",
        goals=("One", "Two"),
        budget=Decimal("2.5"),
        model="m",
        effort="none",
        policy=policy,
    )
    assert draft_of(fields_in(sent(agent_view(draft, None, "slack/T1/C1")))) == draft


def test_an_empty_form_is_an_empty_draft() -> None:
    assert draft_of(fields_in(sent(agent_view(None, None, "slack/T1/C1")))) == AgentDraft()


def test_goals_too_long_for_one_field_come_back_whole() -> None:
    draft = AgentDraft(goals=tuple("g" * 1900 for _ in range(5)))
    assert draft_of(fields_in(sent(agent_view(draft, None, "slack/T1/C1")))) == draft


def test_each_problem_stands_at_its_field_and_any_other_at_the_first() -> None:
    view = agent_view(None, None, "slack/T1/C1")
    problems = {"goals": "Goals: write one.", "channel": "Not here.", "moon": "Nor there."}
    assert errors_of(view, problems) == {"goals": "Goals: write one.", "name": "Not here. Nor there."}


def test_a_problem_of_a_text_in_parts_stands_at_its_first_part() -> None:
    turn = asking({"path": "a", "text": "x" * 9000})
    assert errors_of(form(turn), {"text": "No."}, ("path", "text")) == {"argument.1/1/on": "No."}


def test_a_form_without_fields_has_no_place_for_a_problem() -> None:
    assert errors_of({"blocks": []}, {"a": "b"}) == {}


def test_a_reason_may_be_left_out() -> None:
    view = reason_view(TURN, PLACE)
    assert [text_of(sent(view)), text_of(sent(view, Reason="Use b.txt"))] == ["", "Use b.txt"]


def test_a_number_is_read_and_anything_else_refused() -> None:
    view = number_view(TURN, PLACE)
    assert number_of(sent(view, **{"How many commands": "7"})) == 7
    with pytest.raises(InvalidInput) as fault:
        number_of(sent(view, **{"How many commands": "7.5"}))
    assert [*fault.value.problems] == ["times"]


@pytest.mark.parametrize("text", ["", "{}", "[]", "null", '{"channel": 1}', '{"channel": "a", "other": "b"}'])
def test_a_form_of_somebody_else_has_no_place(text: str) -> None:
    with pytest.raises(InvalidInput):
        place_of({"private_metadata": text})


def test_a_place_is_read_back() -> None:
    place = replace(PLACE, thread="17.1")
    assert place_of({"private_metadata": str(place)}) == place
    assert place.scope.channel == "C1"


@pytest.mark.slow
@pytest.mark.parametrize("may_write", [True, False])
async def test_who_made_an_agent_is_told_where_they_are_or_directly_where_signoff_may_not_write(
    tmp_path: Path, *, may_write: bool
) -> None:
    async with Office.opened() as office, at_work(office, ScriptedModel(), tmp_path):
        if not may_write:
            office.slack.fails("chat.postEphemeral", error="not_in_channel")
        await office.ana.types("/agent", "new", office.general)
        await office.ana.submits(await office.form(office.ana, "New agent"), {"Name": "Clerk", "Goals": "Write"})
        told = office.ana.ephemerals if may_write else office.team.direct(office.ana).messages
        await office.slack.until(lambda: any("Clerk was created" in words_of(message) for message in told))


@pytest.mark.slow
@pytest.mark.parametrize("own", ["", "small"])
async def test_every_card_names_the_model_unless_the_form_gave_the_agent_its_own(tmp_path: Path, own: str) -> None:
    label = "Demo · scripted, no AI"
    model = ScriptedModel(writing("a.txt", "one"), label=label, waits=True)
    async with Office.opened() as office, at_work(office, model, tmp_path):
        await office.ana.types("/agent", "new", office.general)
        filled = {"Name": "Clerk", "Goals": "Write", "Model": own}
        await office.ana.submits(await office.form(office.ana, "New agent"), filled)
        assert (label in words_of(await office.card(1))) == (not own)
        await office.ana.clicks(await office.card(1), "Approve")
        assert (label in words_of(await office.card(1, "done · approved by @ana"))) == (not own)
