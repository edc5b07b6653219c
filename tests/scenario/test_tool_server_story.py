"""A tool of a server, a program of its own, from the prompt to its result: on every surface."""

import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Protocol

import pytest

from agent_core.providers.clock import SystemClock
from agent_core.testing.language_model import ScriptedModel, reply_text
from agent_core.testing.stage import Stage
from bot.settings import load
from bot.wiring.tool_servers import ToolServerSet, changed_tools, serve_tools
from tests.contract.test_tool_servers import until
from tests.scenario.surfaces import Name, opened
from tests.scenario.test_signed_off import on_each_surface

SERVERS = Path(__file__).parents[1] / "contract" / "servers"
DONE = reply_text("task_complete", {"reason": "Tea is served."})


class Staged(Protocol):
    """What has a stage, such as a scene or a process."""

    @property
    def stage(self) -> Stage:
        """The core."""
        ...


@asynccontextmanager
async def serving(scene: Staged, name: str, folder: Path, **env: str) -> AsyncIterator[ToolServerSet]:
    """Signoff with one tool server, whose tools are there."""
    file = folder / "mcp.json"
    entry = {"command": sys.executable, "args": [str(SERVERS / f"{name}.py")], "env": env}
    file.write_text(json.dumps({"mcpServers": {name: entry}}))
    commands, settings = scene.stage.commands, load({"MCP_SERVERS": str(file)}, None)
    core = changed_tools(scene.stage)
    async with serve_tools(settings, ToolServerSet(), commands, SystemClock(), core) as found:
        await until(lambda: any(each.startswith(f"{name}.") for each in commands.by_name))
        yield found


@pytest.mark.slow
@pytest.mark.proves("tool-server:approved")
@on_each_surface()
async def test_a_servers_tool_is_shown_edited_rejected_run_and_stopped(surface: Name, tmp_path: Path) -> None:
    begun, ended = tmp_path / "begun", tmp_path / "ended"
    model = ScriptedModel(
        reply_text("helpful.echo", {"text": "black"}),
        reply_text("helpful.echo", {"text": "red"}),
        reply_text("helpful.wait", {"begun": str(begun), "ended": str(ended)}),
    )
    async with opened(surface, model, tmp_path) as scene, serving(scene, "helpful", tmp_path):
        ana = scene.ana
        await ana.new_agent("Clerk", "pours tea", "Serve tea")
        card = await ana.asks("helpful.echo")
        assert "Say it again." in await card.whole()
        await card.press("Edit", text="green")
        await (await ana.asks("helpful.echo")).press("Reject", reason="No red tea.")
        await (await ana.asks("helpful.wait")).press("Approve")
        await until(begun.exists)
        await ana.stops()
        await until(ended.exists)
    assert "helpful.echo" in model.prompts[0][0].content
    assert "helpful says: Say it again." in model.prompts[0][0].content
    assert "green" in str(model.prompts[1])
    assert "No red tea." in str(model.prompts[2])
