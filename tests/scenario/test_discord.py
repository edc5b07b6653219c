"""Signoff in a Discord server: what people press, fill in and write, and what they see of it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import discord
import pytest

from adapters.chat.texts import HOW_AGAIN
from adapters.screens.buttons import Button
from agent_core.model.note import Note
from agent_core.model.origin import Actor, Origin
from agent_core.testing.language_model import ScriptedModel, reply_text
from tests.scenario.chat import adding, writing
from tests.scenario.discord_app import Guild, Running, at_work, parts_of, text_of
from tests.scenario.member import GuildChat, begin_press, fields_of, pressed, submitted

PICTURE = b"\x89PNG\r\n\x1a\n" + bytes(64)


@dataclass(frozen=True, slots=True)
class Scene:
    """A server with Signoff at work in it, and Ana."""

    guild: Guild
    running: Running
    ana: GuildChat

    async def made(self) -> None:
        """Ana makes the Clerk."""
        await self.ana.new_agent("Clerk", "keeps notes", "Write notes")


@asynccontextmanager
async def scene(folder: Path, *replies: str, reads: bool = True, **stage: Any) -> AsyncIterator[Scene]:
    async with (
        Guild.opened() as guild,
        at_work(guild, ScriptedModel(*replies), folder, reads=reads, **stage) as running,
    ):
        yield Scene(guild, running, GuildChat(guild, running, guild.person("ana")))


@pytest.mark.slow
async def test_a_form_that_cannot_be_used_is_offered_again_with_what_was_typed(tmp_path: Path) -> None:
    async with scene(tmp_path, writing("a.md", "a")) as play:
        ana = play.ana.person
        shown = await ana.slash(play.guild.general, "agent new")
        goals = "\n".join(f"goal {number}" for number in range(7))
        refused = await submitted(ana, shown, {"name": "Clerk", "role": "keeps notes", "goals": goals})
        assert refused.ephemeral
        assert refused.response
        assert "at most 5" in text_of(refused.response.message)
        again = await pressed(ana, refused.response.message, "New agent")
        made = await submitted(ana, again, {"goals": "one goal"})
        assert made.response
        assert "Clerk was created" in text_of(made.response.message)
        assert HOW_AGAIN in text_of(made.response.message)  # its form has no field for a schedule
        agent = await play.running.agent()
        assert (agent.role, agent.goals) == ("keeps notes", ("one goal",))


@pytest.mark.slow
@pytest.mark.proves("discord:forms")
async def test_a_draft_is_created_after_a_restart_by_its_person_alone_and_within_an_hour(tmp_path: Path) -> None:
    draft = '{"name": "Scout", "role": "looks for strings", "goals": ["Find the best strings"]}'
    async with Guild.opened() as guild:
        async with at_work(guild, ScriptedModel(draft), tmp_path):
            ana, ben = guild.person("ana"), guild.person("ben")
            drafted = await ana.slash(guild.general, "agent new", text="research strings")
            assert drafted.response
            offer = drafted.response.message
        async with at_work(guild, ScriptedModel(writing("a.md", "a")), tmp_path) as running:
            store, key = running.connection.context.forms, parts_of(offer)[-1]["custom_id"].partition(":")[2]
            by = {each.name: Actor(id=str(each.id), display=each.name) for each in (ana, ben)}
            assert await store.find(Origin(by=by["ana"], channel=guild.scope), key)
            assert await store.find(Origin(by=by["ben"], channel=guild.scope), key) is None
            elsewhere = replace(guild.scope, channel="1")
            assert await store.find(Origin(by=by["ana"], channel=elsewhere), key) is None
            await pressed(ana, offer, "Create")
            await guild.until(lambda: guild.thread("Scout") is not None)
            guild.clock.leap(timedelta(hours=1))
            late = await ana.click(offer, label="Create")
            assert late.response
            assert "is gone" in text_of(late.response.message)


@pytest.mark.slow
@pytest.mark.proves("discord:forms")
async def test_a_refused_edit_opens_with_what_was_typed_after_a_restart(tmp_path: Path) -> None:
    replies = (writing("a.md", "a"), reply_text("read_file", {"filename": "a.md", "start": 0}))
    async with Guild.opened() as guild:
        async with at_work(guild, ScriptedModel(*replies), tmp_path) as running:
            ana = GuildChat(guild, running, guild.person("ana"))
            await ana.new_agent("Clerk", "keeps notes", "Write notes")
            await (await ana.asks("write_to_file")).press("Approve")
            card = await ana.asks("read_file")
            form = await pressed(ana.person, card.message, "Edit")
            refused = await submitted(ana.person, form, {"start": "two"})
        async with at_work(guild, ScriptedModel(), tmp_path):
            assert refused.response
            again = await pressed(ana.person, refused.response.message, "Edit")
            assert fields_of(again)["start"] == "two"


@pytest.mark.slow
async def test_a_thread_stands_under_the_root_message_and_lasts_a_week(tmp_path: Path) -> None:
    async with scene(tmp_path, writing("a.md", "a")) as play:
        await play.made()
        await play.ana.asks("write_to_file")
        root = await play.guild.message("keeps notes", place=play.guild.general)
        thread = play.guild.thread()
        assert thread
        assert thread.id == root.id
        assert thread._channel.thread_metadata
        assert thread._channel.thread_metadata.auto_archive_duration == 10080


@pytest.mark.slow
@pytest.mark.proves("attention:root")
async def test_the_root_message_says_what_the_agent_does(tmp_path: Path) -> None:
    async with scene(tmp_path, writing("a.md", "a"), writing("b.md", "b")) as play:
        await play.made()
        card = await play.ana.asks("write_to_file")
        root = await play.guild.message("● needs approval · turn 1: write_to_file a.md", place=play.guild.general)
        await card.press("Stop")
        stopped = await play.guild.message("● stopped by @ana", place=play.guild.general)
        assert stopped.id == root.id


@pytest.mark.proves("attention:root")
async def test_the_root_message_is_true_after_the_end_of_a_process_that_was_about_to_change_it(tmp_path: Path) -> None:
    async with Guild.opened() as guild:
        async with at_work(guild, ScriptedModel(writing("a.md", "a")), tmp_path) as running:
            ana = GuildChat(guild, running, guild.person("ana"))
            await ana.new_agent("Clerk", "keeps notes", "Write notes")
            await (await ana.asks("write_to_file")).press("Stop")
            await guild.message("turn 1", "stopped")
            assert running.side.surface.updates.to_send
        assert any("● stopped by @ana" in text_of(message) for message in guild.said(guild.general))


@pytest.mark.slow
async def test_the_reply_button_does_what_a_written_reply_does(tmp_path: Path) -> None:
    async with scene(tmp_path, writing("a.md", "a"), writing("b.md", "b"), reads=False) as play:
        await play.made()
        card = await play.ana.asks("write_to_file")
        form = await pressed(play.ana.person, card.message, "Reply")
        await submitted(play.ana.person, form, {"reply": "Call it b.md"})
        await play.guild.message("rejected by @ana", "Call it b.md")
        await play.ana.says("This is not read")
        await play.ana.asks("write_to_file")
        assert not any("This is not read" in text_of(each) for each in play.guild.said() if each.author.bot)


@pytest.mark.slow
async def test_a_written_reply_is_acknowledged_by_a_reaction(tmp_path: Path) -> None:
    async with scene(tmp_path, writing("a.md", "a"), writing("b.md", "b")) as play:
        await play.made()
        await play.ana.asks("write_to_file")
        await play.ana.says("Call it b.md")
        await play.ana.asks("write_to_file")
        said = next(each for each in play.guild.said() if each.content == "Call it b.md")
        assert [str(reaction.emoji) for reaction in said.reactions] == ["✅"]


@pytest.mark.proves("discord:clicks-at-once")
async def test_two_clicks_at_once_are_one_decision(tmp_path: Path) -> None:
    async with scene(tmp_path, writing("a.md", "a"), reply_text("list_files", {})) as play:
        ben = play.guild.person("ben")
        await play.made()
        card = await play.ana.asks("write_to_file")
        button = _approve(card.message)
        first = begin_press(play.guild, play.ana.person, card.message, button)
        second = begin_press(play.guild, ben, card.message, button)
        await play.guild.env.settle()
        await play.ana.asks("list_files")
        told = [each for each in (first, second) if each.message_id]
        assert len(told) == 1
        assert "already approved by @" in _told(play.guild, told[0])
        assert all(each.responded for each in (first, second))


@pytest.mark.proves("discord:once")
async def test_the_same_interaction_twice_counts_once(tmp_path: Path) -> None:
    async with scene(tmp_path, writing("a.md", "a"), adding("a.md", "b"), reply_text("list_files", {})) as play:
        await play.made()
        card = await play.ana.asks("write_to_file")
        stop = _press(str(Button("stop", (await play.running.agent()).id)))
        begin_press(play.guild, play.ana.person, card.message, stop, times=2)
        await play.guild.env.settle()
        await play.guild.message("Resume to continue")
        notices = [each for each in play.guild.said() if "Resume to continue" in text_of(each)]
        assert len(notices) == 1


@pytest.mark.proves("discord:rights")
async def test_a_guest_is_refused_for_themselves_alone(tmp_path: Path) -> None:
    async with scene(tmp_path, writing("a.md", "a")) as play:
        await play.made()
        card = await play.ana.asks("write_to_file")
        gus = play.guild.server.add_member(play.guild.env.create_user("gus"))
        play.guild.env.backend.set_overwrite(
            play.guild.general.id, _denied(gus.id, discord.Permissions(send_messages_in_threads=True))
        )
        refused = await gus.click(card.message, label="Approve")
        assert refused.ephemeral
        assert refused.response
        assert "you may not approve here" in text_of(refused.response.message)
        assert (await play.running.stage.turn(await play.running.agent())).is_open


@pytest.mark.slow
async def test_old_buttons_work_after_a_restart_and_commands_are_told_once(tmp_path: Path) -> None:
    async with Guild.opened() as guild:
        async with at_work(guild, ScriptedModel(writing("a.md", "a")), tmp_path) as running:
            ana = GuildChat(guild, running, guild.person("ana"))
            await ana.new_agent("Clerk", "keeps notes", "Write notes")
            card = await ana.asks("write_to_file")
        synced = [each for each in guild.env.http_requests if each.method == "PUT" and "commands" in each.path]
        guild.clock.leap(timedelta(days=20))
        async with at_work(guild, ScriptedModel(reply_text("list_files", {})), tmp_path) as running:
            ana = GuildChat(guild, running, ana.person, "Clerk")
            approve = _approve(card.message)
            await pressed(ana.person, card.message, "Approve")
            await ana.asks("list_files")
            assert await ana.file("a.md") == "a"
            late = begin_press(guild, ana.person, card.message, approve)
            await guild.env.settle()
            assert "already approved by @ana" in _told(guild, late)
        after = [each for each in guild.env.http_requests if each.method == "PUT" and "commands" in each.path]
        assert len(synced) == len(after) == 1


@pytest.mark.slow
async def test_replies_missed_while_nobody_listened_are_read_once(tmp_path: Path) -> None:
    async with Guild.opened() as guild:
        async with at_work(guild, ScriptedModel(writing("a.md", "a")), tmp_path) as running:
            ana = GuildChat(guild, running, guild.person("ana"))
            await ana.new_agent("Clerk", "keeps notes", "Write notes")
            await ana.asks("write_to_file")
            await running.connection.catch_up.keep_time(str(guild.server.id))
            running.connection.client.connection = None  # deaf
            await ana.says("Call it b.md")
        async with at_work(guild, ScriptedModel(writing("b.md", "b")), tmp_path) as running:
            await guild.message("rejected by @ana", "Call it b.md")
            await running.connection.catch_up.read(str(guild.server.id))
            thread = await running.stage.views.thread(guild.scope, (await running.agent()).id)
        said = next(each for each in guild.said() if each.content == "Call it b.md")
        assert "✅" in [str(reaction.emoji) for reaction in said.reactions]
        assert not [entry for entry in thread.entries if isinstance(entry, Note)]


@pytest.mark.slow
async def test_a_dropped_file_lands_in_the_workspace(tmp_path: Path) -> None:
    async with scene(tmp_path, writing("a.md", "a")) as play:
        await play.made()
        await play.ana.asks("write_to_file")
        thread = play.guild.thread()
        assert thread
        await play.ana.person.send(thread, attachments=[("data.csv", b"1,2\n")])
        dropped = play.guild.said()[-1]
        assert [str(reaction.emoji) for reaction in dropped.reactions] == ["👀"]
        assert await play.ana.file("data.csv") == "1,2\n"


@pytest.mark.slow
async def test_a_picture_of_the_workspace_is_put_into_the_thread(tmp_path: Path) -> None:
    async with scene(tmp_path, writing("a.md", "a")) as play:
        await play.made()
        await play.ana.asks("write_to_file")
        agent = await play.running.agent()
        by = Origin(by=Actor(id="1", display="ana"), channel=agent.channel)
        await play.running.connection.context.uploads.receive(agent.id, "owl.png", PICTURE, by)
        listed = await play.ana.person.slash(play.guild.general, "agent files", name="Clerk")
        assert listed.response
        assert "owl.png" in text_of(listed.response.message)
        await pressed(play.ana.person, listed.response.message, "Upload")
        shown = play.guild.said()[-1]
        assert [file.filename for file in shown.attachments] == ["owl.png"]
        assert await shown.attachments[0].read() == PICTURE


@pytest.mark.slow
async def test_names_complete_themselves_and_every_subcommand_is_answered_alone(tmp_path: Path) -> None:
    async with scene(tmp_path, writing("a.md", "a")) as play:
        await play.made()
        await play.ana.asks("write_to_file")
        ana, general = play.ana.person, play.guild.general
        offered = await ana.autocomplete(general, "agent show", "name", "cl")
        assert [each["value"] for each in offered] == ["Clerk"]
        for verb in (
            "list",
            "show",
            "goals",
            "budget",
            "policy",
            "memory",
            "sites",
            "export",
            "files",
            "help",
            "delete",
        ):
            answered = await ana.slash(general, f"agent {verb}")
            assert answered.ephemeral, verb
            assert answered.response or answered.followups, verb


@pytest.mark.slow
@pytest.mark.proves("archive:lists")
async def test_an_archived_agent_is_offered_where_it_is_brought_back(tmp_path: Path) -> None:
    async with scene(tmp_path, writing("a.md", "a")) as play:
        await play.made()
        await play.ana.asks("write_to_file")
        ana, general = play.ana.person, play.guild.general

        async def answer(verb: str, **given: str) -> str:
            answered = await ana.slash(general, f"agent {verb}", **given)
            assert answered.response
            return text_of(answered.response.message)

        assert await ana.autocomplete(general, "agent unarchive", "name", "cl") == []
        await answer("stop", name="Clerk")
        assert "Clerk is archived." in await answer("archive", name="Clerk")
        assert "1 archived agent is left out" in await answer("list")
        assert "stopped by @ana · archived" in await answer("list", text="archived")
        assert await ana.autocomplete(general, "agent show", "name", "cl") == []
        (offered,) = await ana.autocomplete(general, "agent unarchive", "name", "cl")
        assert "Clerk is in lists again." in await answer("unarchive", name=offered["value"])


@pytest.mark.slow
@pytest.mark.proves("templates:form")
async def test_a_template_is_offered_and_fills_in_the_form(tmp_path: Path) -> None:
    async with scene(tmp_path, writing("a.md", "a"), writing("a.md", "a")) as play:
        ana, general = play.ana.person, play.guild.general
        offered = await ana.autocomplete(general, "agent new", "template", "PRICE")
        assert offered == [{"name": "Price watch (name the pages)", "value": "2-price-watch"}]
        shown = await ana.slash(general, "agent new", template="2-price-watch")
        assert shown.modal
        await submitted(ana, shown, {})
        agent = await play.running.agent("Price watcher")
        assert agent.goals[0].startswith("Read watch.md")


@pytest.mark.slow
async def test_an_archived_thread_is_opened_again_before_its_card_changes(tmp_path: Path) -> None:
    async with scene(tmp_path, writing("a.md", "a"), reply_text("list_files", {})) as play:
        await play.made()
        card = await play.ana.asks("write_to_file")
        thread = play.guild.thread()
        assert thread
        play.guild.env.backend.edit_channel(thread.id, {}, thread_metadata={"archived": True})
        await card.press("Approve")
        await play.ana.asks("list_files")
        assert thread._channel.thread_metadata
        assert not thread._channel.thread_metadata.archived


@pytest.mark.slow
async def test_a_thread_that_only_discord_knows_to_be_archived_is_opened_again(tmp_path: Path) -> None:
    async with scene(tmp_path, writing("a.md", "a"), reply_text("list_files", {})) as play:
        await play.made()
        card = await play.ana.asks("write_to_file")
        play.guild.env.inject_error("PATCH", "/channels/*/messages/*", status=400, code=50083)
        await card.press("Approve")
        await play.guild.message("turn 1", "done")


@pytest.mark.slow
async def test_discord_that_is_busy_is_tried_again(tmp_path: Path) -> None:
    async with scene(tmp_path, writing("a.md", "a")) as play:
        play.guild.env.inject_error("POST", "/channels/*/messages/*/threads", status=503)
        await play.made()
        await play.ana.asks("write_to_file")
        roots = [each for each in play.guild.said(play.guild.general) if "keeps notes" in text_of(each)]
        assert len(roots) == 1


@pytest.mark.slow
async def test_the_gateway_is_known_to_be_alive_by_its_events(tmp_path: Path) -> None:
    async with scene(tmp_path, writing("a.md", "a")) as play:
        await play.made()
        await play.ana.asks("write_to_file")
        before = play.guild.clock.now()
        play.running.side.client.dispatch("socket_event_type", "MESSAGE_CREATE")
        await play.guild.env.settle()
        assert play.running.connection.heard_at
        assert play.running.connection.heard_at >= before


@pytest.mark.slow
async def test_a_card_that_was_sent_before_a_crash_is_found_and_not_sent_again(tmp_path: Path) -> None:
    async with scene(tmp_path, writing("a.md", "a")) as play:
        await play.made()
        card = await play.ana.asks("write_to_file")
        agent = await play.running.agent()
        turn = await play.running.stage.turn(agent)
        surface = play.running.side.surface
        surface.sending.drawn.clear()
        address = await surface.show(agent, replace(turn, shown_as=""), may_exist=True)
        assert address == f"{card.message.channel.id}/{card.message.id}"
        assert await surface.open_thread(agent) == agent.thread


@pytest.mark.slow
async def test_an_agent_of_a_forum_is_a_post(tmp_path: Path) -> None:
    async with scene(tmp_path, writing("a.md", "a")) as play:
        forum = play.guild.server.create_forum_channel("work")
        await play.ana.person.slash(forum, "agent new", text="Clerk | keeps notes | write a")
        await play.guild.until(lambda: bool(forum.threads))
        await play.guild.message("write_to_file", place=forum.threads[0])
        assert "keeps notes" in text_of(forum.threads[0].history()[0])


@pytest.mark.proves("discord:quiet")
async def test_nobody_is_mentioned_whatever_an_agent_writes(tmp_path: Path) -> None:
    async with scene(tmp_path, writing("@everyone.md", "@everyone <@1> @here")) as play:
        await play.made()
        await play.ana.asks("write_to_file")
        assert all(not each.mention_everyone and not each.mentions for each in play.guild.said())
        root = play.guild.general.history()[0]
        assert ([each.id for each in root.mentions], root.mention_everyone) == ([play.ana.person.id], False)


def _approve(message: discord.Message) -> dict[str, Any]:
    """A press of a card's Approve, which works as long as the card does."""
    return _press(next(str(part["custom_id"]) for part in parts_of(message) if part.get("label") == "Approve"))


def _press(custom_id: str) -> dict[str, Any]:
    return {"custom_id": custom_id, "component_type": 2}


def _told(guild: Guild, record: Any) -> str:
    """What only the person sees that pressed."""
    message = guild.env.backend.get_message(record.channel_id, record.message_id)
    assert message.is_ephemeral
    return str(message.components)


def _denied(person: int, permissions: discord.Permissions) -> Any:
    from simcord.backend.models import Overwrite
    from simcord.enums import OverwriteType

    return Overwrite(target_id=person, type=OverwriteType.MEMBER, allow=0, deny=permissions.value)


@pytest.mark.slow
async def test_a_gateway_that_comes_back_silent_is_noticed_and_what_it_missed_is_read_once(tmp_path: Path) -> None:
    async with scene(tmp_path, writing("a.md", "a"), reply_text("list_files", {})) as play:
        await play.made()
        await play.ana.asks("write_to_file")
        connection, client = play.running.connection, play.running.side.client
        client.connection = None  # what comes now is not heard
        await play.ana.says("Take tea instead.")
        client.connection, connection.silence = connection, timedelta(0)
        await connection.record_read_time()
        assert await play.ana.sees("Take tea instead.")
        connection.silence = timedelta(hours=1)
        looked = connection.looked_at
        await connection.record_read_time()
        assert connection.looked_at in (looked, None)
