"""A part of the bench on plugins: a hook of a plugin of AutoGPT, asked again and again, and after its worker rested."""

import statistics
import time
from pathlib import Path

from agent_core.providers.clock import SystemClock
from tests.autogpt_plugins import Plugins, plugin_source

HOOK = "def can_handle_on_planning(self): return True\ndef on_planning(self, prompt, messages): return 'tea'"
GIVEN = [[{"role": "system", "content": "x" * 4_000}]]
AWAKE, WOKEN, REST_SECONDS = 200, 10, 1.0


async def ask_hooks(folder: Path) -> tuple[float, float]:
    """The median milliseconds of a hook, asked one after another, and after its worker was stopped."""
    plugins, clock = Plugins(folder), SystemClock()
    try:
        plugin = (await plugins.one(plugin_source(rest=HOOK))).plugin
        context = plugins.context()

        async def ask() -> float:
            began = time.perf_counter()
            if await plugin.hook("on_planning", GIVEN, context) != "tea":  # type: ignore[attr-defined]
                raise RuntimeError("the hook did not answer")
            return 1000 * (time.perf_counter() - began)

        await ask()  # starts the worker
        awake = [await ask() for _ in range(AWAKE)]
        woken = []
        for _ in range(WOKEN):
            await clock.sleep(REST_SECONDS)
            woken.append(await ask())
    finally:
        await plugins.close()
    return statistics.median(awake), statistics.median(woken)
