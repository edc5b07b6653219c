"""Settings of a channel that two people change at once: each has their way."""

import asyncio
from functools import partial

from agent_core.model.channel_settings import ToolSwitches
from agent_core.ports.database import Database
from agent_core.testing.stage import Stage


async def test_of_people_who_switch_tools_off_at_once_each_has_their_way(database: Database) -> None:
    stage = Stage(database=database)
    changes = [partial(ToolSwitches.turn_off, names=[name]) for name in "abcd"]
    done = await asyncio.gather(*(stage.agent_settings.set_tools(each, stage.origin(), "off") for each in changes))
    assert max(len(each.off) for each in done) == len(changes)
