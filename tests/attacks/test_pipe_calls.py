"""A client on pipes that asks for more at a time than 64 calls, which is what one over HTTP may."""

import asyncio

import pytest

from adapters.mcp.server import MAX_CALLS
from agent_core.model.draft import AgentDraft
from agent_core.testing.language_model import ScriptedModel
from tests.patience import PATIENCE_SECONDS
from tests.unit.adapters.mcp.clients import over_pipes, serving


@pytest.mark.slow
async def test_a_client_on_pipes_is_answered_64_calls_at_a_time() -> None:
    async with serving(ScriptedModel(waits=True)) as served:
        await served.stage.service.lifecycle.create(AgentDraft(name="Clerk", goals=("Serve tea",)), served.origin())
        listeners = served.surface.hub.listeners
        async with over_pipes(served, "auto") as client:
            given = {"agent": "Clerk", "until": "end", "seconds": 600}
            waits = [asyncio.create_task(client.call_tool("wait", given)) for _ in range(2 * MAX_CALLS)]
            try:
                async with asyncio.timeout(PATIENCE_SECONDS):
                    while len(listeners) < MAX_CALLS:
                        await served.stage.clock.sleep(0.01)
                await client.list_tools()  # what was sent before it has been read by then
                assert len(listeners) == MAX_CALLS
            finally:
                for each in waits:
                    each.cancel()
                await asyncio.gather(*waits, return_exceptions=True)
