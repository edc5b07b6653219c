"""What deleting an agent leaves of its messages on Discord."""

import asyncio
from pathlib import Path

import pytest

from agent_core.model.origin import Actor, Origin
from tests.patience import PATIENCE_SECONDS
from tests.scenario.member import labels_of
from tests.scenario.test_discord_notifications import waiting


@pytest.mark.slow
async def test_deleting_an_agent_takes_its_direct_messages_away(tmp_path: Path) -> None:
    async with waiting(tmp_path) as play:
        await play.ben.slash(play.guild.general, "agent notify", text="me")
        await play.direct("turn 1")
        async with asyncio.timeout(PATIENCE_SECONDS):
            while not (await play.running.agent()).notifications:  # posted, and not saved yet
                await play.running.stage.clock.sleep(0.02)
        ana = Origin(by=Actor(id=str(play.ana.person.id), display="ana"), channel=play.guild.scope)
        await play.running.stage.service.lifecycle.delete((await play.running.agent()).id, ana)
        await play.guild.env.settle()
        [message] = play.ben.user.dm_channel.history()
        assert "Approve" not in labels_of(message)
