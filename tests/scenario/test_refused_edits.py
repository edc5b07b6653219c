"""Cards that Slack or Discord refuses to edit: the command runs, its result is posted, and the thread is told once."""

from pathlib import Path

import pytest

from agent_core.testing.language_model import ScriptedModel, reply_text
from tests.scenario.chat import adding, writing
from tests.scenario.discord_app import text_of as text_of_guild
from tests.scenario.slack_app import Office, at_work, text_of
from tests.scenario.team import SlackChat
from tests.scenario.test_discord import scene

WRITE, MORE = writing("a.md", "a\n"), adding("a.md", "b\n")
DONE = reply_text("task_complete", {"reason": "All is written."})


@pytest.mark.slow
@pytest.mark.proves("card:refused")
@pytest.mark.parametrize("error", ["cant_update_message", "an_error_that_slack_adds"])
async def test_a_card_that_slack_refuses_to_edit_is_left_and_its_result_is_posted(tmp_path: Path, error: str) -> None:
    async with Office.opened() as office, at_work(office, ScriptedModel(WRITE, MORE, DONE), tmp_path) as running:
        chat = SlackChat(office, running, office.ana)
        await chat.new_agent("Clerk", "keeps notes", "Write notes")
        card = await chat.asks("write_to_file")
        before = len(office.slack.calls_of("chat.update"))
        office.slack.fails("chat.update", error=error, times=1_000)
        await card.press("Approve")
        await (await chat.asks("append_to_file")).press("Approve")
        await chat.asks("task_complete")
        assert await chat.file("a.md") == "a\nb\n"
        assert ["turn 1" in text_of(each) for each in office.cards()] == [True, True, False, False, False]
        assert len([each for each in office.general.messages if error in text_of(each)]) == 1
        tried = [call.arguments["ts"] for call in office.slack.calls_of("chat.update")[before:]]
        assert len(tried) == len(set(tried))


@pytest.mark.slow
@pytest.mark.parametrize("code", [50005, 30046])
async def test_a_card_that_discord_refuses_to_edit_is_left_and_its_result_is_posted(tmp_path: Path, code: int) -> None:
    async with scene(tmp_path, WRITE, MORE, DONE) as play:
        await play.made()
        card = await play.ana.asks("write_to_file")
        play.guild.env.inject_error("PATCH", "/channels/*/messages/*", status=400, code=code, times=None)
        await card.press("Approve")
        await (await play.ana.asks("append_to_file")).press("Approve")
        await play.ana.asks("task_complete")
        assert await play.ana.file("a.md") == "a\nb\n"
        await play.guild.message("turn 2", "done")
        assert len([each for each in play.guild.said() if f"Discord refused ({code})" in text_of_guild(each)]) == 1
