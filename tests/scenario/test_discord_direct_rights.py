"""Who decides in a direct message of Discord: those who may write in the agent's thread at the time of the click."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import discord
import pytest
from simcord.backend.models import Overwrite
from simcord.enums import OverwriteType

from agent_core.model.origin import Actor
from tests.scenario.discord_app import text_of
from tests.scenario.member import pressed, submitted
from tests.scenario.test_discord_notifications import Scene, waiting

pytestmark = pytest.mark.slow

MEMORY = timedelta(minutes=2)  # no permission is remembered longer
IN_THREADS = discord.Permissions(send_messages_in_threads=True)
IN_CHANNEL = discord.Permissions(send_messages=True)


async def state_of(play: Scene) -> tuple[int, str]:
    """The number and state of the newest turn."""
    turn = await play.running.stage.turn(await play.running.agent())
    return turn.number, turn.state


async def message_for_ben(play: Scene) -> discord.Message:
    """The direct message that Ben asked for."""
    await play.ben.slash(play.guild.general, "agent notify", text="me")
    return await play.direct("turn 1")


async def deny(play: Scene, denied: discord.Permissions) -> None:
    """Take permissions in the channel from Ben."""
    rule: Any = Overwrite(target_id=play.ben.id, type=OverwriteType.MEMBER, allow=0, deny=denied.value)
    play.guild.env.backend.set_overwrite(play.guild.general.id, rule)
    await play.guild.env.settle()


async def test_who_was_removed_from_the_server_decides_nothing_in_a_direct_message(tmp_path: Path) -> None:
    async with waiting(tmp_path) as play:
        message = await message_for_ben(play)
        play.guild.server.remove_member(play.ben)
        await play.guild.env.settle()
        await pressed(play.ben.user, message, "Approve")
        await play.guild.env.settle()
        assert await state_of(play) == (1, "proposed")


async def test_a_form_from_a_direct_message_decides_nothing_for_who_was_removed_meanwhile(tmp_path: Path) -> None:
    async with waiting(tmp_path) as play:
        form = await pressed(play.ben.user, await message_for_ben(play), "Reject")
        play.guild.server.remove_member(play.ben)
        await play.guild.env.settle()
        await submitted(play.ben.user, form, {"reason": "From outside"})
        await play.guild.env.settle()
        assert await state_of(play) == (1, "proposed")


async def test_who_may_no_longer_see_the_channel_decides_nothing_in_a_direct_message(tmp_path: Path) -> None:
    async with waiting(tmp_path) as play:
        message = await message_for_ben(play)
        await deny(play, discord.Permissions(view_channel=True, send_messages=True))
        await pressed(play.ben.user, message, "Approve")
        await play.guild.env.settle()
        assert await state_of(play) == (1, "proposed")


async def test_who_may_not_decide_in_the_thread_may_not_in_a_direct_message_either(tmp_path: Path) -> None:
    async with waiting(tmp_path) as play:
        message = await message_for_ben(play)
        await deny(play, IN_THREADS)
        refused = await pressed(play.ben, play.card.message, "Approve")
        assert refused.response
        assert "you may not approve here" in text_of(refused.response.message)
        await pressed(play.ben.user, message, "Approve")
        await play.guild.env.settle()
        assert await state_of(play) == (1, "proposed")


async def test_who_may_write_in_threads_alone_decides_in_a_direct_message(tmp_path: Path) -> None:
    async with waiting(tmp_path) as play:
        message = await message_for_ben(play)
        await deny(play, IN_CHANNEL)
        await pressed(play.ben.user, message, "Approve")
        await play.direct("approved by @ben")


@pytest.mark.parametrize(("denied", "kind"), [(IN_THREADS, "guest"), (IN_CHANNEL, "member")])
async def test_the_grant_of_a_lease_is_judged_by_the_right_to_write_in_threads(
    denied: discord.Permissions, kind: str, tmp_path: Path
) -> None:
    async with waiting(tmp_path) as play:
        await deny(play, denied)
        play.guild.clock.leap(MEMORY)
        granter = Actor(id=str(play.ben.id), display="ben")
        assert (await play.running.stage.surface.actor(play.guild.scope, granter)).kind == kind
