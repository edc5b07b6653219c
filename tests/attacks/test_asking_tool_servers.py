"""Tool servers that would spend an agent's budget on questions of their own."""

import pytest

from agent_core.model.result import Failed
from tests.attacks.rows import attack
from tests.contract.test_tool_server_sampling import BEFORE, called, connected

pytestmark = pytest.mark.proves("tool-server:sampling")


@pytest.mark.slow
@attack("servers", "Asking the agent's model for ever in one call", "answered five times, then ended with its time")
async def test_a_server_that_asks_for_ever_ends_with_its_time() -> None:
    async with connected(BEFORE, seconds=2) as server:
        _, result = await called(server, {"times": -1}, *"abcde")
    assert isinstance(result, Failed)
    assert "asked the model 5 times" in result.error


@attack("servers", "Asking the agent's model outside a call of an agent", "refused; nobody pays")
async def test_outside_a_call_of_a_tool_nothing_is_asked() -> None:
    async with connected(BEFORE) as server:
        assert (await server.call("ask", {}, print)).text == "A model can be asked only during a call of a tool."
