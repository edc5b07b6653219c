"""The form in which people answer a tool server in the middle of a call: on every surface, and who may not."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest

from agent_core.testing.language_model import ScriptedModel, reply_text
from tests.scenario.chat import ShownCard
from tests.scenario.member import GuildCard, pressed
from tests.scenario.slack_app import Office, at_work, text_of
from tests.scenario.surfaces import Name, Scene, opened
from tests.scenario.team import SlackCard, SlackChat
from tests.scenario.test_signed_off import on_each_surface
from tests.scenario.test_tool_server_story import DONE, serving

pytestmark = pytest.mark.slow

WITH_SEVERAL: tuple[Name, ...] = ("core", "web", "slack-socket", "discord")
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
@pytest.mark.parametrize("surface", WITH_SEVERAL)
async def test_the_status_of_the_agent_says_that_its_server_asks(surface: Name, tmp_path: Path) -> None:
    async with asked(surface, tmp_path) as (scene, _, _model):
        assert await scene.ana.sees_status("waiting for an answer to a tool server")
        await scene.ana.stops()


@pytest.mark.proves("mcp:form")
@pytest.mark.parametrize("surface", WITH_SEVERAL)
async def test_a_reply_is_a_reply_and_answers_no_server(surface: Name, tmp_path: Path) -> None:
    async with asked(surface, tmp_path, "sure") as (scene, card, model):
        await scene.ana.says("answer no")
        await scene.ana.says("decline")
        await card.press("Answer")
        await scene.ana.asks("task_complete")
    assert "accept: {}" in result_in(model)
    assert "answer no" in result_in(model)


@pytest.mark.proves("mcp:form")
@on_each_surface()
async def test_decline_is_a_button_on_the_card(surface: Name, tmp_path: Path) -> None:
    async with asked(surface, tmp_path) as (scene, card, model):
        await card.press("Decline")
        await scene.ana.asks("task_complete")
    assert "decline: None" in result_in(model)
    assert "declined.)" in result_in(model)


@pytest.mark.proves("mcp:form")
@pytest.mark.parametrize("surface", WITH_SEVERAL)
async def test_a_second_answer_is_told_who_answered(surface: Name, tmp_path: Path) -> None:
    async with asked(surface, tmp_path) as (scene, card, model):
        ben = await scene.join("ben", "member")
        his = await ben.is_asked()
        await card.press("Decline")
        await his.press("Decline")
        assert await ben.told("already declined by")
        await scene.ana.asks("task_complete")
    assert result_in(model).count("declined.)") == 1


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
@pytest.mark.parametrize("surface", WITH_SEVERAL)
async def test_a_form_that_was_open_when_somebody_answered_says_who(surface: Name, tmp_path: Path) -> None:
    async with asked(surface, tmp_path, "sure") as (scene, card, model):
        assert await scene.ana.sees("Press Answer on the card, which says yes, or Decline.")
        ben = await scene.join("ben", "member")
        form = await (await ben.is_asked()).opens("Answer")
        await card.press("Answer")
        await form.sends()
        assert await ben.told("already answered by")
        await scene.ana.asks("task_complete")
    assert "accept: {}" in result_in(model)


@pytest.mark.proves("mcp:form")
@pytest.mark.parametrize("surface", WITH_SEVERAL)
async def test_a_form_that_was_open_when_the_agent_was_stopped_is_refused_with_the_state(
    surface: Name, tmp_path: Path
) -> None:
    async with asked(surface, tmp_path, "sure") as (scene, card, model):
        form = await card.opens("Answer")
        await scene.ana.stops()
        assert await scene.ana.sees_status("stopped")
        await form.sends()
        assert await scene.ana.told("Turn 1 is done: its tool server asks nothing any more.")
        assert await scene.ana.sees("The call ended before anybody answered.")
    assert len(model.prompts) == 1


@pytest.mark.proves("mcp:form")
async def test_stop_at_a_terminal_ends_the_question(tmp_path: Path) -> None:
    async with asked("terminal", tmp_path) as (scene, _, model):
        await scene.ana.says("stop")
        assert await scene.ana.sees("stopped by")
    assert len(model.prompts) == 1


@pytest.mark.proves("mcp:form")
async def test_discord_offers_decline_for_what_its_form_cannot_carry(tmp_path: Path) -> None:
    async with asked("discord", tmp_path, "large") as (scene, card, model):
        await clicks_answer(card)
        said = "A form of Discord has at most 5 fields, and the server asks for more: press Decline."
        assert await scene.ana.told(said)
        await card.press("Decline")
        await scene.ana.asks("task_complete")
    assert "decline: None" in result_in(model)


@pytest.mark.proves("mcp:form")
async def test_slack_carries_every_kind_of_field_and_lists_the_question_on_the_home_tab(tmp_path: Path) -> None:
    async with asked("slack-socket", tmp_path, "large") as (scene, card, model):
        assert isinstance(card, SlackCard)
        person, office = card.chat.person, card.chat.office
        await person.opens_home()
        await office.slack.until(lambda: "waits for an answer to a tool server" in text_of(person.home))
        await person.clicks_in(person.home or {}, "Answer")
        form = await office.form(person, "Answer")
        filled = {"tea": "Green, mild", "also": ["milk", "lemon; or lime"], "more": "thanks; a lot: yes"}
        sent = await person.submits(form, filled)
        assert not sent.body, sent
        await scene.ana.asks("task_complete")
    told = result_in(model)
    assert "'tea': 'g', 'also': ['milk', 'lemon; or lime'], 'when': '2026-12-24', 'grams': 2.5" in told
    assert "'more': 'thanks; a lot: yes'" in told


@pytest.mark.proves("mcp:form")
async def test_after_a_restart_the_question_is_over_and_its_buttons_are_refused(tmp_path: Path) -> None:
    call = reply_text("inquiring.order", {"question": "sure"})
    async with Office.opened() as office:
        async with AsyncExitStack() as process:  # it dies while its tool server waits
            working = at_work(office, ScriptedModel(call), tmp_path, transport="socket")
            running = await process.enter_async_context(working)
            async with serving(running, "inquiring", tmp_path):
                ana = SlackChat(office, running, office.ana)
                await ana.new_agent("Clerk", "orders tea", "Order tea")
                await (await ana.asks("inquiring.order")).press("Approve")
                card = await ana.is_asked()
                await process.aclose()
        async with at_work(office, ScriptedModel(DONE), tmp_path, transport="socket") as again:
            ana = SlackChat(office, again, office.ana, "Clerk")
            assert await ana.sees("so it may have run")
            await office.ana.clicks(card.message, "Decline")
            assert await ana.told("Turn 1 is interrupted: its tool server asks nothing any more.")
