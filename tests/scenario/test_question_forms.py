"""The form in which people answer a tool server in the middle of a call: on every surface, and who may not."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from agent_core.testing.language_model import ScriptedModel, reply_text
from tests.scenario.chat import ShownCard
from tests.scenario.member import GuildCard, pressed
from tests.scenario.slack_app import text_of
from tests.scenario.surfaces import Name, Scene, opened
from tests.scenario.team import SlackCard
from tests.scenario.test_signed_off import on_each_surface
from tests.scenario.test_tool_server_story import DONE, serving

pytestmark = pytest.mark.slow

WITH_GUESTS: tuple[Name, ...] = ("core", "slack-socket", "discord")


@asynccontextmanager
async def asked(
    surface: Name, folder: Path, question: str = "order"
) -> AsyncIterator[tuple[Scene, ShownCard, ScriptedModel]]:
    """A running command whose server asks."""
    model = ScriptedModel(reply_text("inquiring.order", {"question": question}), DONE)
    async with opened(surface, model, folder) as scene, serving(scene, "inquiring", folder):
        await scene.ana.new_agent("Clerk", "orders tea", "Order tea")
        await (await scene.ana.asks("inquiring.order")).press("Approve")
        yield scene, await scene.ana.is_asked(), model


def result_in(model: ScriptedModel) -> str:
    return str(model.prompts[-1]).replace("\\'", "'")


async def clicks_answer(card: ShownCard) -> None:
    """Press Answer where no form opens, or send an empty one where forms need no opening."""
    match card:
        case SlackCard(chat=chat, message=message):
            await chat.person.clicks(message, "Answer")
        case GuildCard(chat=chat, message=message):
            chat.keep(await pressed(chat.person, message, "Answer"))
        case _:
            await card.press("Answer")


def mail_on(surface: Name) -> str:
    """What the field is called: by its name where it is typed."""
    return {"terminal": "mail", "discord": "your address"}.get(surface, "Your address")


@pytest.mark.proves("mcp:form")
@on_each_surface()
async def test_a_form_answers_what_a_server_asks_and_a_refused_one_names_the_field(
    surface: Name, tmp_path: Path
) -> None:
    async with asked(surface, tmp_path) as (scene, card, model):
        mail = mail_on(surface)
        await card.press("Answer", **{"tea": "green", "cups": "2", mail: "ana"})
        assert await scene.ana.told("must be an email address")
        left_out = {"milk": ""} if surface == "terminal" else {}  # where one field is asked after the other
        filled = {"tea": "green", "cups": "2", mail: "ana@example.org", **left_out}
        await (await scene.ana.is_asked()).press("Answer", **filled)
        await scene.ana.asks("task_complete")
    assert "'tea': 'green', 'cups': 2, 'mail': 'ana@example.org'" in result_in(model)
    assert "answered: tea, cups, mail" in result_in(model)


@pytest.mark.proves("mcp:form")
@on_each_surface()
async def test_decline_is_a_button_on_the_card(surface: Name, tmp_path: Path) -> None:
    async with asked(surface, tmp_path) as (scene, card, model):
        await card.press("Decline")
        await scene.ana.asks("task_complete")
    assert "decline: None" in result_in(model)
    assert "declined.)" in result_in(model)


@pytest.mark.proves("mcp:form")
@pytest.mark.parametrize("surface", WITH_GUESTS)
async def test_who_may_not_approve_is_given_no_form(surface: Name, tmp_path: Path) -> None:
    async with asked(surface, tmp_path) as (scene, _, model):
        guest = await scene.join("gus", "guest")
        his = await guest.is_asked()
        await clicks_answer(his)
        await his.press("Decline")
        assert await guest.told("you may not answer servers here", times=2)
        await scene.ana.stops()
        assert await scene.ana.sees_status("stopped")
    assert len(model.prompts) == 1


@pytest.mark.proves("mcp:form")
async def test_slack_carries_every_kind_of_field_and_lists_the_question_on_the_home_tab(tmp_path: Path) -> None:
    async with asked("slack-socket", tmp_path, "large") as (scene, card, model):
        assert isinstance(card, SlackCard)
        person, office = card.chat.person, card.chat.office
        await person.opens_home()
        await office.slack.until(lambda: "needs an answer to a tool server" in text_of(person.home))
        await person.clicks_in(person.home or {}, "Answer")
        form = await office.form(person, "Answer")
        filled = {"tea": "Green, mild", "also": ["milk", "lemon; or lime"], "more": "thanks; a lot: yes"}
        sent = await person.submits(form, filled)
        assert not sent.body, sent
        await scene.ana.asks("task_complete")
    told = result_in(model)
    assert "'tea': 'g', 'also': ['milk', 'lemon; or lime'], 'when': '2026-12-24', 'grams': 2.5" in told
    assert "'more': 'thanks; a lot: yes'" in told
