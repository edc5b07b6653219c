"""Work that nobody waits for runs behind urgent work of agents, but its requests are not held up."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass, field
from functools import partial
from typing import Any, cast

import discord
import pytest
from slack_sdk.web.async_slack_response import AsyncSlackResponse

from adapters.chat.background import BackgroundTasks
from adapters.discord.api.client import DiscordApi
from adapters.slack.api.client import SlackApi
from adapters.slack.api.tokens import SlackTokens
from agent_core.ports.loop_share import let_others_run
from agent_core.ports.priority import IS_AWAITED, Priority
from agent_core.testing.clock import FakeClock

CLICKS = 40


@dataclass(slots=True)
class Busy:
    """Agents that show what people decided, and what ended in which order."""

    priority: Priority = field(default_factory=Priority)
    ended: list[str] = field(default_factory=list)

    async def pass_steps(self, name: str, steps: int) -> None:
        for _ in range(steps):
            await let_others_run()
        self.ended.append(name)

    async def run_beside(self, begin: Callable[[], Coroutine[Any, Any, object]]) -> None:
        """Run this in the background, and then urgent work of twenty agents."""
        soon = BackgroundTasks(self.priority)
        soon.when_free(begin)
        async with asyncio.TaskGroup() as group:
            for _ in range(CLICKS):
                group.create_task(self.priority.run_stepwise(partial(self.pass_steps, "click", 1)))
        await asyncio.gather(*soon.tasks)


async def test_what_nobody_waits_for_ends_after_the_urgent_work_that_began_later() -> None:
    busy = Busy()
    await busy.run_beside(partial(busy.pass_steps, "status", 6))
    assert busy.ended.index("status") >= CLICKS // 4


async def test_what_a_click_began_in_the_background_is_no_longer_awaited() -> None:
    busy, seen = Busy(), []

    async def note() -> None:
        seen.append(IS_AWAITED.get())

    with busy.priority.foreground():
        soon = BackgroundTasks(busy.priority)
        soon.when_free(note)
    await asyncio.gather(*soon.tasks)
    assert seen == [False]


@dataclass(frozen=True, slots=True)
class Tokens:
    """No client is needed, because nothing is sent."""

    async def client(self, _workspace: str) -> None:
        return None


@dataclass(frozen=True, slots=True)
class LoggedIn:
    application: object = "one"


def slack_call(answer: Callable[[], Awaitable[object]]) -> Awaitable[object]:
    api = SlackApi(tokens=cast("SlackTokens", Tokens()), clock=FakeClock())
    return api.ask("T1", lambda _: cast("Awaitable[AsyncSlackResponse]", answer()))


def discord_call(answer: Callable[[], Awaitable[object]]) -> Awaitable[object]:
    return DiscordApi(client=cast("discord.Client", LoggedIn()), token="x").ask(answer)


@pytest.mark.parametrize("call", [slack_call, discord_call])
async def test_a_request_goes_on_while_its_caller_waits_for_a_step(
    call: Callable[[Callable[[], Awaitable[object]]], Awaitable[object]],
) -> None:
    """Else it ends by its time limit during a long burst, although its response has come."""
    busy = Busy()

    async def send() -> None:
        for _ in range(4):
            await let_others_run()
        await call(partial(busy.pass_steps, "request", 6))
        busy.ended.append("status")

    await busy.run_beside(send)
    assert busy.ended.index("request") < CLICKS // 2
