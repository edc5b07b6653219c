"""A command of AutoGPT's plugin from the prompt to its result, edited, rejected and stopped: on every surface."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from agent_core.plugins import PluginTools
from agent_core.providers.clock import SystemClock
from agent_core.testing.language_model import ScriptedModel, reply_text
from tests.attacks.sandboxes import alive
from tests.autogpt_plugins import Plugins, plugin_source, zipped
from tests.patience import PATIENCE_SECONDS
from tests.scenario.surfaces import Name, opened
from tests.scenario.test_signed_off import on_each_surface

BODY = """
if named['kind'] != 'slow':
    return 'a cup of ' + named['kind']
import subprocess
subprocess.run(['/bin/sh', '-c', 'echo > begun; sleep 1000; true', 'TOKEN'])
"""


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not holds():
            await SystemClock().sleep(0.01)


@pytest.mark.slow
@pytest.mark.proves("autogpt:tree-ended")
@on_each_surface()
async def test_a_plugins_command_is_shown_edited_rejected_run_and_stopped(surface: Name, tmp_path: Path) -> None:
    plugins, token = Plugins(tmp_path, seconds=PATIENCE_SECONDS), f"slow-{tmp_path.name}-{surface}"
    source = plugin_source(command=BODY.replace("TOKEN", token))
    zipped(plugins.folder / "tea.zip", {"tea_plugin/__init__.py": source})
    found = await plugins.loaded("tea")
    assert plugins.pool.load_sites is not None
    commands = found.commands(PluginTools(load_sites=plugins.pool.load_sites))
    model = ScriptedModel(*(reply_text("tea", {"kind": kind}) for kind in ("black", "red", "slow")))
    async with opened(surface, model, tmp_path) as scene:
        for each in commands:
            scene.stage.commands.register(each)
        ana = scene.ana
        await ana.new_agent("Clerk", "makes tea", "Make tea")
        card = await ana.asks("tea")
        assert "black" in await card.whole()
        await card.press("Edit", kind="green")
        await (await ana.asks("tea")).press("Reject", reason="No red tea.")
        await (await ana.asks("tea")).press("Approve")
        await until(lambda: bool(alive(token)))
        await ana.stops()
        await until(lambda: not alive(token))
    await plugins.close()
    assert "a cup of green" in str(model.prompts[1])
    assert "No red tea." in str(model.prompts[2])
