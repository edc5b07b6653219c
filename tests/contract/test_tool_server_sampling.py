"""Tool servers that ask the agent's model, in both protocols: within the budget, bounded, shown, and only in a call."""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from adapters.visible_text import visible
from agent_core.commands.finish import FINISH_COMMANDS
from agent_core.commands.registry import Commands
from agent_core.errors import CommandError
from agent_core.model.decision import Approve
from agent_core.model.result import Result, Succeeded
from agent_core.plugins.tool_servers import ServerCommands
from agent_core.ports.tool_servers import LocalProgram, ServerEntry
from agent_core.providers.clock import SystemClock
from agent_core.providers.mcp.mcp_server import McpServer
from agent_core.testing.language_model import ScriptedModel, reply_text
from agent_core.testing.stage import Stage
from tests.patience import PATIENCE_SECONDS

pytestmark = pytest.mark.proves("tool-server:sampling")
SERVERS = Path(__file__).parent / "servers"
CLOCK = SystemClock()
BEFORE = "asking_before"


@asynccontextmanager
async def connected(
    script: str, seconds: float = PATIENCE_SECONDS, *, samples: bool = True
) -> AsyncIterator[McpServer]:
    program = LocalProgram(command=sys.executable, args=(str(SERVERS / f"{script}.py"),))
    entry = ServerEntry(name="asking", reached=program, place="here", samples=samples)
    server = McpServer(entry=entry, clock=CLOCK, seconds=seconds)
    running = asyncio.create_task(server.run())
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            while server.state.condition != "connected":
                await CLOCK.sleep(0.01)
        yield server
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


async def called(
    server: McpServer, arguments: dict[str, Any], *answers: str, cost: str = "0", budget: str = ""
) -> tuple[Stage, Result | None]:
    """What becomes of one approved call, whose model gives these answers."""
    done = reply_text("task_complete", {"reason": "Well."})
    stage = Stage(
        model=ScriptedModel(reply_text("asking.ask", arguments), *answers, done, cost=Decimal(cost)),
        commands=Commands.of(*FINISH_COMMANDS),
    )
    commands = ServerCommands(server, visible, stage.metered_model).loaded({}).commands
    stage.commands.replace_from("asking", commands)
    agent = await stage.create(**({"budget": Decimal(budget)} if budget else {}))
    turn = await stage.decide(agent, Approve())
    await stage.wait_until_settled(agent)
    async with stage.database.begin() as work:
        return stage, (await work.turns.get(agent.channel, turn.id)).result


@pytest.mark.slow
async def test_a_server_of_the_newest_protocol_is_answered_by_the_agents_model() -> None:
    async with connected("asking") as server:
        stage, result = await called(server, {"question": "Which tea?"}, "Oolong.", cost="0.01")
    assert isinstance(result, Succeeded)
    assert "Oolong. (by 2026-07-28)" in result.output
    assert "asked the model 1 time:" in result.output
    assert "$0.0100. It began: Which tea?" in result.output
    asked = stage.script.prompts[1]
    assert [each.content for each in asked] == ["Which tea?"]
    assert stage.script.options[1].max_tokens == 4_000
    assert stage.script.options[1].schema is None


async def test_a_server_with_handshake_is_answered_and_its_hidden_letters_are_spelled_out() -> None:
    async with connected(BEFORE) as server:
        stage, result = await called(server, {}, "Oolong.")
    assert isinstance(result, Succeeded)
    assert result.output.startswith("Oolong.\n(The server asked the model 1 time:")
    assert result.outside
    assert "\u202e" not in f"{stage.script.prompts[1]}{result.output}"


async def test_a_call_asks_five_times_and_no_more() -> None:
    async with connected(BEFORE) as server:
        stage, result = await called(server, {"times": 8}, *"abcde")
    assert isinstance(result, Succeeded)
    assert result.output.startswith("a | b | c | d | e | A call may ask the model 5 times, and no more. | ")
    assert "asked the model 5 times:" in result.output
    assert len(stage.script.prompts) == 7


async def test_a_budget_that_has_ended_refuses_in_a_clear_line() -> None:
    async with connected(BEFORE) as server:
        stage, result = await called(server, {}, cost="0.5", budget="0.6")
    assert isinstance(result, Succeeded)
    assert result.output.startswith("The model was not asked, or did not answer: ")
    assert "budget" in result.output
    assert len(stage.script.prompts) < 3


@pytest.mark.parametrize(
    ("kind", "refusal"),
    [
        ("picture", "The model is given texts only."),
        ("long", "Send at most 40,000 characters."),
        ("many", "Send 1 to 20 messages."),
    ],
)
async def test_what_is_no_short_text_is_refused(kind: str, refusal: str) -> None:
    async with connected(BEFORE) as server:
        stage, result = await called(server, {"kind": kind})
    assert result == Succeeded(refusal, outside=True)
    assert len(stage.script.prompts) == 2


async def test_a_server_whose_entry_does_not_say_so_is_not_answered() -> None:
    async with connected(BEFORE, samples=False) as server:
        stage, result = await called(server, {})
    assert isinstance(result, Succeeded)
    assert "not supported" in result.output.lower()
    assert len(stage.script.prompts) == 2


@pytest.mark.slow
async def test_the_time_limit_of_a_call_stands_still_while_a_model_answers() -> None:
    async def slow(_messages: object, _tokens: int) -> str:
        await CLOCK.sleep(1.5)
        return "late"

    async with connected(BEFORE, seconds=1) as server:
        assert (await server.call("ask", {}, print, sample=slow)).text == "late"
        with pytest.raises(CommandError, match="did not answer within 1 seconds"):
            await server.call("ask", {"times": -1}, print, sample=refuse)


async def refuse(_messages: object, _tokens: int) -> str:
    raise CommandError("no")


async def test_the_card_says_that_a_tool_may_ask_and_its_classes_have_spend() -> None:
    async with connected(BEFORE) as server:
        stage, _ = await called(server, {}, "Oolong.")
        spec = stage.commands.by_name["asking.ask"].spec
        plain = ServerCommands(server, visible).loaded({}).commands[0].spec
    assert (spec.asks_models, spec.risks) == (True, ("publish", "spend"))
    assert (plain.asks_models, plain.risks) == (False, ("publish",))
