"""The form of a tool server's question, as each platform can carry it."""

from dataclasses import replace
from typing import Any

import pytest

from adapters.discord.outbound.forms import draw_form as draw_modal
from adapters.screens.question_form import option_value, question_form, sent_texts
from adapters.slack.outbound.forms import draw_form as draw_view
from agent_core.errors import NotPossible
from agent_core.model.decision import Approve
from agent_core.model.question import AskedQuestion, QuestionField, ServerQuestion
from agent_core.model.turn import Turn
from agent_core.testing.examples import ANA, NOON, a_turn, an_agent

TEA = QuestionField(name="tea", kind="choice", choices={"Green": "g", "Black": "b"}, default="Black")
ALSO = QuestionField(name="also", kind="choices", choices={"milk, warm": "m", "sugar": "s"}, is_required=True)
MANY = QuestionField(name="kind", kind="choice", choices={f"kind {each}": str(each) for each in range(40)})
FIELDS = (
    TEA,
    ALSO,
    QuestionField(name="cups", kind="whole number", default="2"),
    QuestionField(name="when", format="date", default="2026-12-24"),
    QuestionField(name="mail", format="email", title="<!channel> @everyone"),
)
PLACE = "slack/T1/C1"


def asking(*fields: QuestionField, message: str = "How?\u200b <!here> **now**") -> Turn:
    question = ServerQuestion(message=message, fields=fields)
    asked = AskedQuestion(id="0" * 32, server="tea", place="tea.example", question=question, at=NOON)
    return a_turn(an_agent()).decide(Approve(), by=ANA, at=NOON).start(NOON).ask(asked)


def form_of(turn: Turn) -> Any:
    return question_form(turn)


def test_nothing_is_offered_where_nothing_is_asked() -> None:
    assert question_form(a_turn(an_agent())) is None
    assert sent_texts(a_turn(an_agent()), {"answer.0": "x"}) == {}


def test_what_forms_send_becomes_the_texts_of_the_fields() -> None:
    turn = asking(*FIELDS)
    by_box = {f"answer.1.{option_value(0)}": "on", f"answer.1.{option_value(1)}": "on", "answer.0": option_value(1)}
    assert sent_texts(turn, by_box) == {
        "answer.0": "Black",
        "answer.1": '["milk, warm", "sugar"]',
        **{f"answer.{number}": "" for number in (2, 3, 4)},
    }
    by_menu = sent_texts(turn, {"answer.0": ("choice.0",), "answer.1": ("choice.1",), "answer.2": "3"})
    assert (by_menu["answer.0"], by_menu["answer.1"], by_menu["answer.2"]) == ("Green", "sugar", "3")
    assert sent_texts(turn, {"answer.0": "choice.9", "answer.1": "sugar"})["answer.0"] == ""


def test_what_was_typed_takes_the_place_of_what_the_server_suggests() -> None:
    turn = asking(*FIELDS)
    suggested, typed = form_of(turn), question_form(turn, {"answer.1": '["milk, warm"]', "answer.2": "many"})
    assert typed
    assert [each.text for each in suggested.fields] == ["Black", "", "2", "2026-12-24", ""]
    assert (suggested.fields[0].chosen, typed.fields[0].chosen) == ((option_value(1),), ())
    assert (typed.fields[1].chosen, typed.fields[2].text) == ((option_value(0),), "many")


def test_slack_has_an_input_for_each_kind_and_nothing_mentions() -> None:
    view = draw_view(form_of(asking(*FIELDS)), PLACE)
    inputs = [block for block in view["blocks"] if block["type"] == "input"]
    assert [each["element"]["type"] for each in inputs] == [
        "static_select",
        "multi_static_select",
        "number_input",
        "datepicker",
        "email_text_input",
    ]
    assert [each["optional"] for each in inputs] == [True, False, True, True, True]
    assert inputs[0]["element"]["initial_option"]["text"]["text"] == "Black"
    assert inputs[0]["element"]["options"][-1]["text"]["text"] == "Leave out"
    assert "mrkdwn" not in str(view)
    assert "How?⟨U+200B⟩ <!here> **now**" in str(view)
    assert "tea.example" in str(view["blocks"][-1])


def test_slack_takes_a_text_where_a_menu_would_cut_a_choice() -> None:
    long = replace(TEA, choices={"x" * 76: "x"}, default="")
    (typed,) = [block for block in draw_view(form_of(asking(long)), PLACE)["blocks"] if block["type"] == "input"]
    assert typed["element"]["type"] == "plain_text_input"
    assert sent_texts(asking(long), {"answer.0": "x" * 76}) == {"answer.0": "x" * 76}


def test_a_form_without_fields_says_what_answer_means() -> None:
    form = form_of(asking())
    warning = form.texts[-1].text
    assert warning.startswith("Nothing has to be filled in: Answer says yes. Your answer goes to ")
    assert "passwords" not in warning


def test_discord_has_menus_and_texts_and_says_which_server_asks() -> None:
    sent = draw_modal(
        form_of(asking(*FIELDS[:3], MANY)).refused({"answer.2": "cups must be a whole number."})
    ).to_dict()
    assert sent["title"] == "The tool server tea asks"
    text, *labels = sent["components"]
    assert "How?⟨U+200B⟩ \\<!here> \\*\\*now\\*\\*" in text["content"]
    assert "Write no passwords." in text["content"]
    assert [each["component"]["type"] for each in labels] == [3, 3, 4, 4]
    assert [each["component"]["custom_id"] for each in labels] == [f"answer.{number}" for number in range(4)]
    assert labels[1]["component"]["max_values"] == 2
    assert labels[2]["description"] == "cups must be a whole number."


def test_discord_carries_five_fields_and_for_more_offers_decline() -> None:
    five = draw_modal(form_of(asking(*FIELDS))).to_dict()
    assert len(five["components"]) == 5
    assert "no passwords" in five["components"][0]["description"]
    with pytest.raises(NotPossible, match="more fields than a form here has room for: press Decline"):
        draw_modal(form_of(asking(*FIELDS, MANY)))


def test_a_suggested_choice_that_discord_has_typed_is_sent_as_it_stands() -> None:
    label = "a\u00a0b  3"
    many = replace(MANY, choices={label: "3", **MANY.choices}, default=label)
    (typed,) = [each for each in draw_modal(form_of(asking(many))).to_dict()["components"] if "component" in each]
    assert sent_texts(asking(many), {"answer.0": typed["component"]["value"]}) == {"answer.0": label}


@pytest.mark.parametrize("message", ["*" * 2_000, "\n" * 2_000, "The tool server tea asks"])
def test_a_message_of_any_signs_fits_a_form_of_discord(message: str) -> None:
    text, *_ = draw_modal(form_of(asking(TEA, message=message))).to_dict()["components"]
    assert message[0] in text["content"]
    assert len(text["content"]) <= 4_000


def test_one_alone_of_two_choices_that_differ_in_capital_letters_is_suggested() -> None:
    unit = QuestionField(name="unit", kind="choice", choices={"M": "month", "m": "minute"}, default="m")
    assert form_of(asking(unit)).fields[0].chosen == (option_value(1),)
    assert sent_texts(asking(unit), {"answer.0": option_value(0)}) == {"answer.0": "M"}


def test_what_is_left_out_in_a_menu_of_slack_is_sent_as_nothing() -> None:
    turn = asking(TEA)
    (menu,) = [block for block in draw_view(form_of(turn), PLACE)["blocks"] if block["type"] == "input"]
    texts = sent_texts(turn, {"answer.0": menu["element"]["options"][-1]["value"]})
    assert texts == {"answer.0": ""}


def test_a_text_that_looks_like_the_value_of_a_menu_is_kept() -> None:
    sent = {"answer.0": "choice.1 is good"}
    assert sent_texts(asking(QuestionField(name="note")), sent) == sent
