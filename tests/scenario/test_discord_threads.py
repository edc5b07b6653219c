"""Threads that Discord lost: deleted, locked, or closed to Signoff. The owner reads why, and Resume makes another."""

from pathlib import Path

import pytest

from agent_core.testing.language_model import reply_text
from tests.scenario.chat import writing
from tests.scenario.discord_app import text_of
from tests.scenario.test_discord import Scene, scene

pytestmark = pytest.mark.slow

LIST = reply_text("list_files", {})


async def told_directly(play: Scene, text: str) -> None:
    """Wait until the owner's direct messages say this."""
    dm = play.ana.person.user.dm_channel
    await play.guild.until(lambda: any(text in text_of(each) for each in dm.history()))


async def typed(play: Scene, line: str) -> None:
    await play.ana.person.slash(play.guild.general, f"agent {line}", name="Clerk")


@pytest.mark.proves("thread:gone")
async def test_a_deleted_thread_is_told_of_and_resume_opens_another_under_a_new_root_message(tmp_path: Path) -> None:
    async with scene(tmp_path, writing("a.md", "a"), LIST) as play:
        await play.made()
        await play.ana.asks("write_to_file")
        lost = play.guild.thread()
        assert lost
        play.guild.env.backend.delete_channel(lost.id)
        await typed(play, "stop")
        await told_directly(play, "Discord cannot find this channel or thread: it was deleted.")
        play.guild.env.inject_error("POST", f"/channels/*/messages/{lost.id}/threads", status=400, code=160004)
        await typed(play, "resume")
        await play.ana.asks("list_files")
        thread = play.guild.thread()
        assert thread
        assert thread.id != lost.id


async def test_a_locked_thread_is_called_locked_and_resume_opens_another(tmp_path: Path) -> None:
    async with scene(tmp_path, writing("a.md", "a"), LIST) as play:
        await play.made()
        card = await play.ana.asks("write_to_file")
        locked, env = play.guild.thread(), play.guild.env
        assert locked
        env.backend.edit_channel(locked.id, {}, thread_metadata={"archived": True, "locked": True})
        env.inject_error("PATCH", f"/channels/{locked.id}", status=403, code=50013, times=None)
        await card.press("Approve")
        await told_directly(play, "Clerk is paused. The thread is locked. Resume makes a new thread.")
        env.inject_error("POST", f"/channels/*/messages/{locked.id}/threads", status=400, code=160004)
        await typed(play, "resume")
        await play.guild.until(lambda: len(play.guild.general.threads) == 2)
        await play.guild.message("list_files", place=play.guild.general.threads[-1])


async def test_a_permission_that_was_lost_is_named_and_resume_goes_on_in_the_same_thread(tmp_path: Path) -> None:
    async with scene(tmp_path, writing("a.md", "a"), LIST) as play:
        await play.made()
        card = await play.ana.asks("write_to_file")
        thread, env = play.guild.thread(), play.guild.env
        assert thread
        env.inject_error("PATCH", "/channels/*/messages/*", status=403, code=50001, times=1)
        await card.press("Approve")
        await told_directly(play, "Signoff cannot see this channel: grant it View Channel there.")
        env.inject_error("POST", f"/channels/*/messages/{thread.id}/threads", status=400, code=160004)
        await typed(play, "resume")
        await play.ana.asks("list_files")
        assert [each.id for each in play.guild.general.threads] == [thread.id]
