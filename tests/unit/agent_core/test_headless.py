"""Running an agent without a chat platform: decisions, an unreachable model, and what a run reports."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from agent_core.capabilities.agents.commands import AgentCommands
from agent_core.errors import ModelUnavailable
from agent_core.headless import HOST, HeadlessSurface, run_agent, summarise_run
from agent_core.model.agent import Agent, Paused
from agent_core.model.command import RISK_CLASSES
from agent_core.model.decision import Approve, Decision, Policy
from agent_core.model.draft import AgentDraft
from agent_core.model.turn import Turn
from agent_core.testing.language_model import ScriptedModel, reply_text
from agent_core.testing.stage import Stage

DRAFT = AgentDraft(name="Clerk", goals=("Finish",))
DONE = reply_text("task_complete", {"reason": "It is done."})
DEAD = ModelUnavailable("The endpoint does not answer.")


def stage_of(*replies: str | Exception) -> Stage:
    return Stage(model=ScriptedModel(*replies), surface=HeadlessSurface())


async def approve(_agent: Agent, _turn: Turn) -> Decision:
    return Approve()


@asynccontextmanager
async def passing_time(stage: Stage) -> AsyncIterator[None]:
    """Move the clock on whenever both the sweep of the engine and the run wait for it."""

    async def move() -> None:
        while True:
            await stage.fake_clock.until_sleeping(2)
            while steps := [task for task in asyncio.all_tasks() if task.get_name().startswith("agent ")]:
                await asyncio.wait(steps)
            stage.fake_clock.advance(10)

    task = asyncio.create_task(move())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_each_failed_try_is_announced_with_the_time_of_the_next() -> None:
    stage, notices = stage_of(DEAD, DEAD, DONE), list[str]()
    async with passing_time(stage):
        agent = await run_agent(stage.core, DRAFT, approve, notify=notices.append)
    assert agent.status.kind == "finished"
    expected = "Clerk cannot reach the model: The endpoint does not answer. Next try: 09:0"
    assert [notice.startswith(expected) for notice in notices] == [True, True]
    assert len(set(notices)) == 2


@pytest.mark.slow
async def test_an_answer_between_outages_begins_the_time_anew_where_nothing_is_asked() -> None:
    names = ["amber", "birch", "cedar", "dahlia", "elder", "fennel", "ginger", "hazel"]
    writes = [reply_text("write_to_file", {"filename": f"{name}.txt", "text": name}, text=name) for name in names]
    stage, notices = stage_of(*(step for write in writes for step in (DEAD, write)), DONE), list[str]()
    draft = replace(DRAFT, policy=Policy(free=RISK_CLASSES))
    async with passing_time(stage):
        agent = await run_agent(stage.core, draft, approve, notify=notices.append, max_outage_seconds=60)
    assert (agent.status.kind, agent.turns, len(set(notices))) == ("finished", 9, 8)


@pytest.mark.slow
async def test_helpers_rest_too_when_a_run_is_given_up() -> None:
    start = reply_text("start_agent", {"name": "Bee", "task": "Count to three."})
    stage = stage_of(start, *[DEAD] * 40)
    for command in AgentCommands(stage.helpers).commands:
        stage.commands.register(command)
    with pytest.raises(ModelUnavailable):
        async with passing_time(stage):
            await run_agent(stage.core, DRAFT, approve, max_outage_seconds=60)
    agents = await stage.views.agents(HOST.channel)
    assert [(each.name, each.is_at_rest) for each in agents] == [("Clerk", True), ("Bee", True)]


async def test_a_run_ends_when_the_model_is_unreachable_for_too_long() -> None:
    stage = stage_of(*[DEAD] * 20)
    with pytest.raises(ModelUnavailable, match=r"could not be reached for 60 seconds\. The endpoint does not answer\."):
        async with passing_time(stage):
            await run_agent(stage.core, DRAFT, approve, max_outage_seconds=60)
    (agent,) = await stage.views.agents(HOST.channel)
    assert isinstance(agent.status, Paused)
    assert stage.script.left > 0


async def test_a_late_retry_does_not_delay_the_end_of_a_run() -> None:
    stage = stage_of(ModelUnavailable("Come back tomorrow.", retry_after=86_400))
    with pytest.raises(ModelUnavailable, match="Come back tomorrow"):
        async with passing_time(stage):
            await run_agent(stage.core, DRAFT, approve)


async def test_an_error_of_the_deciding_function_ends_the_run() -> None:
    async def fail(_agent: Agent, _turn: Turn) -> Decision:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await run_agent(stage_of(DONE).core, DRAFT, fail)


async def test_a_run_is_summarised_with_its_result_and_what_was_spent() -> None:
    agent = await run_agent(stage_of(DONE).core, DRAFT, approve)
    tokens = agent.usage.prompt + agent.usage.completion
    assert tokens > 0
    assert summarise_run(agent) == f"finished: It is done.\n1 turn, {tokens:,} tokens, $0.0000"
