"""A wait misses no change of the agent that comes while it begins."""

import asyncio

from adapters.mcp.waiting import AgentWaits
from adapters.web.surface import HEARTBEAT_SECONDS, Hub
from agent_core.testing.examples import CHANNEL
from agent_core.testing.language_model import ScriptedModel
from agent_core.testing.stage import Stage


async def test_a_change_in_the_pass_in_which_a_wait_begins_ends_it() -> None:
    stage, hub, is_changed = Stage(model=ScriptedModel()), Hub(), asyncio.Event()
    agent = await stage.create()

    def change() -> None:
        is_changed.set()
        hub.publish(agent)

    asyncio.get_running_loop().call_soon(change)
    waits = AgentWaits(views=stage.views, changes=hub.changes)
    async with asyncio.timeout(HEARTBEAT_SECONDS / 2):
        await waits.wait(CHANNEL, agent.id, lambda _: is_changed.is_set(), 600)
    assert not hub.listeners
