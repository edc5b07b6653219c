"""Work that is not urgent goes on beside urgent work that never ends."""

import asyncio
from dataclasses import dataclass, field

import pytest

from agent_core.ports.loop_share import let_others_run
from agent_core.ports.priority import Priority

PASSES = 400


@dataclass(slots=True)
class Burst:
    """Clicks without end, and an agent that has nothing to do with them, for so many passes of the event loop."""

    priority: Priority = field(default_factory=Priority)
    passes: int = 0
    steps: int = 0

    async def click_after_click(self) -> None:
        while self.passes < PASSES:
            await self.priority.run_stepwise(self.show)

    async def show(self) -> None:
        for _ in range(4):
            await let_others_run()

    async def think(self) -> None:
        self.priority.end_urgency()
        while self.passes < PASSES:
            await let_others_run()
            self.steps += 1

    async def count(self) -> None:
        while self.passes < PASSES:
            await let_others_run()
            self.passes += 1


@pytest.mark.parametrize("urgent_works", [1, 2, 3])
async def test_an_agent_goes_on_while_others_always_show_decisions(urgent_works: int) -> None:
    """Before there was one step in a pass, the agent went on beside three urgent works at a time."""
    burst = Burst()
    clicks = [burst.click_after_click() for _ in range(urgent_works)]
    await asyncio.gather(*clicks, burst.priority.run_stepwise(burst.think), burst.count())
    assert burst.steps > PASSES // 50
