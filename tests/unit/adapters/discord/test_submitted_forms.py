"""Forms of Discord: what stands in them, and what comes of what was submitted."""

from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
from discord.ui import Modal

from adapters.discord.inbound.submitted_forms import (
    AgentForm,
    EditForm,
    Submitted,
    TextForm,
    read,
    submitted,
)
from adapters.discord.outbound.forms import draw_form
from adapters.screens.buttons import Button
from adapters.screens.forms import number_form, reply_form
from adapters.screens.ui_text import TOO_LONG_TO_EDIT
from adapters.typed.form_values import times_of
from agent_core.errors import ChangedSinceShown, InvalidInput, NotPossible
from agent_core.model.command import Arguments, CommandCall, CommandSpec, Proposal, Thoughts
from agent_core.model.decision import Policy
from agent_core.model.draft import AgentDraft
from agent_core.model.turn import Turn
from agent_core.testing.examples import a_turn, an_agent
from tests.drawn_forms import agent_modal, edit_modal, reason_modal

AGENT = an_agent()
PLACE = "discord/1/2"
SPEC = CommandSpec(
    name="write_to_file",
    label="Write to file",
    description="",
    parameters={"properties": {"path": {"type": "string"}, "mode": {"type": "string"}, "lines": {}}},
    risks=("write",),
    category="files",
)


def asking(**arguments: object) -> Turn:
    return a_turn(AGENT, proposal=Proposal(thoughts=Thoughts(), call=CommandCall("write_to_file", arguments)))


def fields(form: Modal) -> dict[str, Any]:
    """Each field's component by its label, with what stands under it."""
    return {
        each["label"]: {**each["component"], "under": each.get("description")}
        for each in form.to_dict()["components"]
        if "component" in each
    }


def send(form: Modal, typed: Mapping[str, str | list[str]] | None = None) -> Submitted:
    """The form with what was typed into it, as Discord sends it."""
    sent = form.to_dict()
    for label in sent["components"]:
        each = label.get("component", {})
        if "options" in each:
            chosen = [option["value"] for option in each["options"] if option.get("default")]
            each["values"] = (typed or {}).get(each["custom_id"], chosen)
        elif each:
            each["value"] = (typed or {}).get(each["custom_id"], each.get("value") or "")
    return read(sent["custom_id"], submitted(sent["components"]))


def edited(turn: Turn, typed: Mapping[str, str | list[str]]) -> Arguments:
    sent = send(edit_modal(turn, SPEC), typed)
    assert isinstance(sent, EditForm)
    return sent.arguments(turn, SPEC)


def test_the_form_of_a_new_agent_shows_the_defaults_and_asks_for_goals_alone() -> None:
    form = fields(agent_modal(None, place=PLACE))
    assert [*form] == ["Name", "Role", "Goals", "Budget in US dollars", "More"]
    assert form["Name"]["placeholder"] == "Helper"
    assert [label for label, each in form.items() if each["required"]] == ["Goals"]
    assert form["Goals"]["under"] == "One per line, 1 to 5."


def test_what_was_typed_and_chosen_makes_a_draft() -> None:
    more = ["free.read", "free.network", "approvers.owner", "verbosity.brief", "model.a-model", "effort.high"]
    typed: dict[str, str | list[str]] = {
        "name": "Scout",
        "role": "looks",
        "goals": "look\ntell",
        "budget": "2.50",
        "more": more,
    }
    sent = send(agent_modal(None, place=PLACE), typed)
    assert isinstance(sent, AgentForm)
    assert sent.place == PLACE
    assert sent.draft() == AgentDraft(
        name="Scout",
        role="looks",
        goals=("look", "tell"),
        budget=Decimal("2.50"),
        model="a-model",
        effort="high",
        policy=Policy(approvers="owner", free=("read", "network"), verbosity="brief"),
    )


def test_two_efforts_are_one_problem() -> None:
    sent = send(agent_modal(None, place=PLACE), {"goals": "look", "more": ["effort.low", "effort.high"]})
    assert isinstance(sent, AgentForm)
    with pytest.raises(InvalidInput) as problem:
        sent.draft().tidied()
    assert list(problem.value.problems) == ["effort"]


def test_a_draft_fills_the_form_in_with_its_model_as_a_choice() -> None:
    draft = AgentDraft(name="Scout", goals=("look",), model="a-model", policy=Policy(free=("read",)))
    form = fields(agent_modal(draft, place=PLACE))
    assert form["Name"]["value"] == "Scout"
    chosen = [option["label"] for option in form["More"]["options"] if option["default"]]
    assert chosen == ["Run without asking: read", "Model: a-model"]


def test_a_refused_form_comes_back_with_what_was_typed_and_what_is_wrong() -> None:
    sent = send(agent_modal(None, place=PLACE), {"name": "Scout", "goals": "look", "budget": "much"})
    assert isinstance(sent, AgentForm)
    with pytest.raises(InvalidInput) as refused:
        sent.draft()
    form = fields(agent_modal(sent.fields, place=PLACE, problems=refused.value.problems))
    assert form["Name"]["value"] == "Scout"
    assert form["Budget in US dollars"]["value"] == "much"
    assert "is not an amount" in form["Budget in US dollars"]["under"]


def test_goals_that_are_too_long_for_the_field_are_cut_and_that_is_said() -> None:
    form = fields(agent_modal(AgentDraft(goals=("x" * 1900,) * 5), place=PLACE))
    assert len(form["Goals"]["value"]) == 4000
    assert form["Goals"]["under"] == "Not all of it fits here."


def test_edit_has_a_field_for_each_argument_given_or_not() -> None:
    form = edit_modal(asking(path="a.txt", lines=[1, 2]), SPEC)
    assert form.title == "Run edited: Write to file"
    shown = {label: (each.get("value"), each["under"]) for label, each in fields(form).items()}
    assert shown == {
        "path": ("a.txt", None),
        "lines": ("[\n 1,\n 2\n]", "As JSON."),
        "mode": (None, "Not given."),
    }


def test_changed_arguments_are_read_by_what_they_were() -> None:
    turn = asking(path=" a.txt\n", lines=[1, 2])
    assert edited(turn, {"argument.1": "7"}) == {"path": " a.txt\n", "lines": 7}
    assert edited(turn, {"argument.0": "b", "argument.2": "x"}) == {"path": "b", "lines": [1, 2], "mode": "x"}
    with pytest.raises(InvalidInput, match="lines: this is not valid JSON"):
        edited(turn, {"argument.1": "seven"})


def test_a_character_that_is_not_seen_stands_in_the_form_and_survives() -> None:
    turn = asking(path="a\u202eb\x00", mode="👍 مرحبا")
    form = fields(edit_modal(turn, SPEC))
    assert form["path"]["value"] == '"a\\u202eb\\u0000"'
    assert form["mode"]["value"] == "👍 مرحبا"
    assert edited(turn, {"argument.1": "w"}) == {"path": "a\u202eb\x00", "mode": "w"}
    assert edited(turn, {"argument.0": '"a\\u202ec"'})["path"] == "a\u202ec"
    with pytest.raises(InvalidInput, match="in quotation marks"):
        edited(turn, {"argument.0": "plain"})


def test_a_long_argument_is_spread_over_several_fields() -> None:
    text = "".join(f"{number} line\n" for number in range(800))
    turn = asking(path=text)
    form = fields(edit_modal(turn, replace(SPEC, parameters={})))
    assert [*form] == [f"part {number} of 3 · path" for number in (1, 2, 3)]
    sent = send(edit_modal(turn, SPEC), {"argument.0/3": "end"})
    assert isinstance(sent, EditForm)
    assert str(sent.arguments(turn, SPEC)["path"]).startswith("0 line\n1 line\n")
    assert str(sent.arguments(turn, SPEC)["path"]).endswith("line\nend")


def test_more_arguments_than_a_form_has_fields_are_one_json_text() -> None:
    turn = asking(**{f"a{number}": "x\ud800" for number in range(6)})
    form = fields(edit_modal(turn, SPEC))
    assert [*form] == ["Arguments as JSON"]
    changed = form["Arguments as JSON"]["value"].replace('"a1": "x', '"a1": "y')
    found = edited(turn, {"all": changed})
    assert found["a0"] is turn.call.arguments["a0"]
    assert found["a1"] == "y\ufffd"
    with pytest.raises(InvalidInput, match="Arguments: this is not valid JSON"):
        edited(turn, {"all": "[1]"})


def test_arguments_that_no_form_holds_are_told_to_be_too_long() -> None:
    with pytest.raises(NotPossible) as refused:
        edit_modal(asking(path="x" * 20_000), SPEC)
    assert str(refused.value) == TOO_LONG_TO_EDIT


def test_what_changed_since_the_form_was_opened_is_not_run() -> None:
    sent = send(edit_modal(asking(path="a"), SPEC))
    assert isinstance(sent, EditForm)
    with pytest.raises(ChangedSinceShown, match="changed after this was shown to you"):
        sent.arguments(asking(path="b"), SPEC)


def test_a_refused_edit_comes_back_with_what_was_typed_and_what_is_wrong() -> None:
    turn = asking(lines=[1])
    typed = {"argument.0": "seven"}
    form = fields(edit_modal(turn, SPEC, typed=typed, problems={"lines": "lines: this is not valid JSON."}))
    assert (form["lines"]["value"], form["lines"]["under"]) == ("seven", "lines: this is not valid JSON.")


def test_a_command_without_arguments_says_so() -> None:
    turn, spec = asking(), replace(SPEC, parameters={})
    form = edit_modal(turn, spec)
    assert form.to_dict()["components"][0]["content"] == "This command takes no arguments."
    sent = send(form)
    assert isinstance(sent, EditForm)
    assert sent.arguments(turn, spec) == {}


def test_reasons_replies_and_numbers_come_back_with_what_they_are_about() -> None:
    turn = asking(path="a")
    reject, approve = (Button(verb, turn.id, shown=turn.control_hash) for verb in ("reject", "approve"))
    assert send(reason_modal(turn), {"text": "too long"}) == TextForm(reject, "too long")
    reply = Button("reply", AGENT.id, shown=turn.control_hash)
    assert send(draw_form(reply_form(AGENT, turn.control_hash)), {"text": "shorter"}) == TextForm(reply, "shorter")
    assert send(draw_form(number_form(turn)), {"times": "7"}) == TextForm(approve, "7")
    assert times_of(" 7 ") == 7
    with pytest.raises(InvalidInput, match="write a number from 2 to 50"):
        times_of("many")


def test_labels_and_titles_are_cut_to_what_discord_takes() -> None:
    name = "argument " * 20
    form = edit_modal(asking(**{name: 1}), replace(SPEC, label="Long " * 20))
    assert len(form.title) == 45
    assert max(map(len, fields(form))) == 45


@pytest.mark.parametrize("custom_id", ["", "form:new:", "form:other:1", "approve:1:1", "new:1"])
def test_a_form_that_is_not_ours_is_refused(custom_id: str) -> None:
    with pytest.raises(InvalidInput, match="not one of Signoff's"):
        read(custom_id, {})


def test_inputs_are_found_in_rows_and_in_labels() -> None:
    row = {"type": 1, "components": [{"type": 4, "custom_id": "a", "value": "x"}]}
    label = {"type": 18, "component": {"type": 3, "custom_id": "b", "values": ["y"]}}
    assert submitted([row, label, "odd", {"type": 10}]) == {"a": "x", "b": ("y",)}
