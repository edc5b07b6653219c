"""Settings of a channel that two people change at once: each has their way."""

import asyncio
from functools import partial

from adapters.typed.tool_settings import set_sites
from agent_core.model.channel_settings import ToolSwitches
from agent_core.ports.database import Database
from agent_core.testing.stage import Stage


async def test_of_people_who_switch_tools_off_or_deny_sites_at_once_each_has_their_way(database: Database) -> None:
    stage, names = Stage(database=database), {"a.example", "b.example", "c.example"}
    changes = [partial(ToolSwitches.turn_off, names=[name]) for name in names]
    done = await asyncio.gather(*(stage.agent_settings.set_tools(each, stage.origin(), "off") for each in changes))
    await asyncio.gather(*(set_sites(stage.agent_settings, f"deny {each}", stage.origin()) for each in names))
    assert max(len(each.off) for each in done) == len(names)
    assert {*(await stage.agent_settings.sites(stage.origin().channel)).deny} == names
