"""Questions about a proposal and to agents at rest: how each surface takes them, and how it shows the answer."""

from pathlib import Path

import pytest

from adapters.discord.outbound.forms import draw_form
from adapters.screens.forms import reply_form
from adapters.screens.ui_text import REPLY_DOES
from adapters.typed.actions import ASKED
from agent_core.errors import ModelRefused
from agent_core.loop.answering import ANSWER_FOOTER, REST_FOOTER
from agent_core.model.draft import AgentDraft
from agent_core.testing.examples import a_notice, an_agent
from agent_core.testing.language_model import ScriptedModel, reply_text
from agent_core.testing.stage import Stage
from tests import discord_messages as discord_render
from tests import slack_messages as slack_render
from tests.scenario.chat import writing
from tests.scenario.discord_app import ESCAPED, Guild
from tests.scenario.discord_app import at_work as at_work_in
from tests.scenario.discord_app import text_of as text_in_discord
from tests.scenario.member import GuildChat, pressed, submitted
from tests.scenario.page import PageChat
from tests.scenario.served import served
from tests.scenario.slack_app import Office, at_work, text_of
from tests.scenario.surfaces import Name, opened
from tests.scenario.team import new_clerk
from tests.scenario.test_signed_off import approved, clerk, on_each_surface

WRITE, ANSWER = writing("notes.md", "one\n"), "Because the goal names it."
DONE = reply_text("task_complete", {"reason": "All is written."})
LONG = " ".join(f"*{number}* <@U1> `_long_`" for number in range(120))[:2_500]


@pytest.mark.proves("question:answered")
async def test_a_question_outlives_the_process_and_is_answered_once() -> None:
    before = Stage(model=ScriptedModel(WRITE))
    agent = await before.create()
    await before.service.decisions.reply(agent.id, "Why this file?", before.origin())
    model = ScriptedModel(ANSWER)
    after = Stage(model=model, database=before.database, surface=before.surface, workspaces=before.workspaces)
    for _ in range(2):
        await after.wait_until_settled(agent)
    answers = [notice.text for notice in before.shown.notices if notice.kind == "answer"]
    assert answers == [f"@ana asked: “Why this file?”\n> {ANSWER}\n{ANSWER_FOOTER}"]
    assert (await after.turn(agent)).state == "proposed"
    assert len(model.prompts) == 1


async def test_a_question_that_no_model_answers_says_so_and_leaves_the_proposal_open() -> None:
    stage = Stage(model=ScriptedModel(WRITE, ModelRefused("The key was refused.")))
    agent = await stage.create()
    await stage.service.decisions.reply(agent.id, "Why?", stage.origin())
    await stage.wait_until_settled(agent)
    assert stage.shown.notices[-1].text == "@ana asked: “Why?”\nThere is no answer: The key was refused."
    assert (await stage.turn(agent)).state == "proposed"


@pytest.mark.slow
async def test_slacks_reply_box_says_what_a_reply_does_and_acknowledges_a_question(tmp_path: Path) -> None:
    model = ScriptedModel(WRITE, ANSWER, ANSWER)
    async with Office.opened() as office, at_work(office, model, tmp_path) as running:
        chat = await new_clerk(office, running)
        card = await chat.asks("write_to_file")
        assert REPLY_DOES in card.text
        await office.ana.enters(card.message, "Why this file?", "Reply to Clerk")
        assert await chat.told(ASKED)
        assert await chat.sees("@ana asked: “Why this file?”")
        await chat.says("Why now?")
        assert await chat.sees("@ana asked: “Why now?”")
        await office.slack.until(lambda: bool(office.slack.calls_of("reactions.add")))
        assert office.slack.calls_of("reactions.add")[-1].arguments["name"] == "speech_balloon"


@pytest.mark.slow
async def test_discords_reply_form_says_what_a_reply_does_and_acknowledges_a_question(tmp_path: Path) -> None:
    async with Guild.opened() as guild, at_work_in(guild, ScriptedModel(WRITE, ANSWER, ANSWER), tmp_path) as there:
        chat = GuildChat(guild, there, guild.person("ana"))
        await chat.new_agent("Clerk", "keeps notes", "Write a report")
        card = await chat.asks("write_to_file")
        form = await pressed(chat.person, card.message, "Reply")
        assert REPLY_DOES in str(form.modal)
        sent = await submitted(chat.person, form, {"reply": "Why this file?"})
        assert sent.ephemeral
        assert sent.response
        assert text_in_discord(sent.response.message) == ASKED
        await chat.says("Why now?")
        assert await chat.sees("@ana asked: “Why now?”")
        said = next(each for each in guild.said() if each.content == "Why now?")
        assert [str(reaction.emoji) for reaction in said.reactions] == ["💬"]


@pytest.mark.slow
async def test_the_page_has_a_switch_for_what_a_reply_does_and_shows_question_and_answer(tmp_path: Path) -> None:
    model = ScriptedModel(WRITE, ANSWER, waits=True)
    async with served(model, tmp_path) as address, PageChat.opened(address, "ana") as chat:
        await chat.new_agent("Clerk", "keeps notes", "Write a report")
        card = await chat.asks("write_to_file")
        assert [label in await chat.page() for label in ("Note", "Ask", "Reject with reason")] == [True] * 3
        await chat.says("Why this file?")
        assert await chat.sees("@ana asks · ")
        assert await chat.sees("Why this file?")
        assert await chat.sees(ANSWER)
        await card.press("Reject", reason="No")
        assert await chat.sees("rejected by @ana")
        assert "disabled> Reject with reason" in await chat.page()


def test_a_long_answer_is_whole_in_slack_and_discord() -> None:
    agent = an_agent()
    notice = a_notice(agent, kind="answer", text=f"@ana asked: “Why?”\n{LONG}\n{ANSWER_FOOTER}")
    in_slack = slack_render.notice_message(agent, notice)
    assert LONG in text_of(in_slack.blocks)
    in_discord = discord_render.notice_message(agent, notice)
    components = in_discord.view.to_components()  # type: ignore[no-untyped-call]  # discord.py has no types for it
    assert ESCAPED.sub(r"\1", components[0]["content"]).count("_long_") == LONG.count("_long_")


def test_discords_reply_form_says_nothing_of_rejecting_where_nothing_is_proposed() -> None:
    assert REPLY_DOES not in str(draw_form(reply_form(an_agent(), "")).to_dict())


@pytest.mark.proves("question:at-rest")
async def test_an_agent_without_a_thread_that_rests_is_asked_before_it_began() -> None:
    stage = Stage(model=ScriptedModel(ANSWER))
    agent = await stage.service.lifecycle.create(AgentDraft(name="Clerk", goals=("Write",)), stage.origin())
    await stage.service.lifecycle.stop(agent.id, stage.origin())
    await stage.service.decisions.reply(agent.id, "What now?", stage.origin())
    assert (await stage.wait_until_settled(agent)).status.kind == "stopped"


@pytest.mark.proves("question:at-rest")
@on_each_surface("questions at rest")
async def test_an_agent_that_is_done_is_asked_and_told_and_reads_only_the_note(surface: Name, tmp_path: Path) -> None:
    model = ScriptedModel(WRITE, DONE, ANSWER, DONE)
    async with opened(surface, model, tmp_path) as scene:
        ana = await clerk(scene)
        await approved(ana, "write_to_file", "task_complete")
        assert await ana.sees("Clerk is done")
        await ana.says("What is in notes.md?")
        question = "What is in notes.md?"
        assert await ana.sees(question if surface == "web" else f"{scene.by} asked: “{question}”")
        assert await ana.sees(ANSWER)
        assert await ana.sees(REST_FOOTER)
        rested = await scene.agent()
        assert (rested.status.kind, rested.turns) == ("finished", 2)
        await ana.says("Mention the weather.")
        if surface != "web":  # the page says so where the note stands
            assert await ana.told("reads it when you resume")
        else:
            assert await ana.sees("It reads this when you resume.")
        await ana.says("!resume")
        await ana.asks("task_complete")
        told = "\n".join(message.content for message in model.prompts[-1])
        assert "Mention the weather." in told
        assert "What is in notes.md?" not in told
