"""A note that arrives while a step of the loop is being saved is read, whatever the step was about to do."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from agent_core.capabilities.agents.commands import AgentCommands
from agent_core.model.agent import Agent, Awaiting, Finished, Thinking
from agent_core.model.decision import Approve
from agent_core.persistence.database import SqlUnitOfWork
from agent_core.testing.database import TemporaryDatabase
from agent_core.testing.examples import BEN, CHANNEL
from agent_core.testing.language_model import ScriptedModel, reply_text
from agent_core.testing.stage import Stage

START = reply_text("start_agent", {"name": "Scout", "task": "Find strings", "prompt": "Only natural gut."})
WAIT = reply_text("do_nothing")
WRITE = reply_text("write_to_file", {"filename": "found.txt", "text": "gut"})
DONE = reply_text("task_complete", {"reason": "It is done."})

Event = Callable[[], Awaitable[object]]


class BusyDatabase(TemporaryDatabase):
    """A database in which `event` happens between the reads and the commit of each unit of work, once for each."""

    def __init__(self) -> None:
        super().__init__()
        self.event: Event | None = None

    @asynccontextmanager
    async def begin(self) -> AsyncIterator[SqlUnitOfWork]:
        async with super().begin() as work:
            commit = work.commit

            async def commit_after_event() -> None:
                event, self.event = self.event, None
                if event:
                    await event()
                    self.event = event
                await commit()

            work.commit = commit_after_event  # type: ignore[method-assign]
            yield work


def once_acting(stage: Stage, agent: Agent, happen: Event) -> Event:
    """The event, once, at the save that ends the agent's command, which only reads and so is not saved as running."""
    done: list[bool] = []

    async def event() -> None:
        turn = await stage.turn(agent)
        if turn.state == "approved" and not done:
            done.append(True)
            await happen()

    return event


async def stage_of(*replies: str) -> tuple[Stage, BusyDatabase]:
    database = BusyDatabase()
    stage = Stage(model=ScriptedModel(*replies), database=database)
    for command in AgentCommands(stage.helpers).commands:
        stage.commands.register(command)
    return stage, database


@pytest.mark.slow
@pytest.mark.proves("crash:notes")
async def test_a_note_that_arrives_as_a_long_wait_begins_is_read() -> None:
    stage, database = await stage_of(START, WAIT, WRITE, WRITE)
    head = await stage.create()
    await stage.decide(head, Approve())
    head = await stage.wait_until_settled(head)
    database.event = once_acting(
        stage, head, lambda: stage.service.decisions.reply(head.id, "Look yourself.", stage.origin())
    )
    await stage.decide(head, Approve())
    head = await stage.wait_until_settled(head)
    assert isinstance(head.status, Awaiting)
    assert "Look yourself." in stage.script.prompts[-1][-1].content


@pytest.mark.proves("crash:notes")
async def test_a_note_that_arrives_as_the_agent_finishes_is_read_first() -> None:
    stage, database = await stage_of(DONE, WRITE)
    agent = await stage.create()
    database.event = once_acting(
        stage, agent, lambda: stage.service.decisions.reply(agent.id, "And write found.txt.", stage.origin())
    )
    await stage.decide(agent, Approve())
    agent = await stage.wait_until_settled(agent)
    assert isinstance(agent.status, Awaiting)
    assert "And write found.txt." in stage.script.prompts[-1][-1].content
    assert stage.shown.notices[-1].text == "Clerk reads what @ana wrote before it finishes."


@pytest.mark.proves("crash:notes")
async def test_what_a_guest_writes_does_not_keep_an_agent_from_finishing() -> None:
    stage, _ = await stage_of(DONE)
    agent = await stage.create()
    await stage.service.decisions.reply(agent.id, "One more thing.", stage.origin(replace(BEN, kind="guest")))
    await stage.decide(agent, Approve())
    assert isinstance((await stage.wait_until_settled(agent)).status, Finished)


@pytest.mark.proves("crash:notes")
async def test_an_uploaded_file_ends_the_wait_for_helpers() -> None:
    stage, _ = await stage_of(START, WAIT, WRITE, WRITE)
    head = await stage.create()
    await stage.decide(head, Approve())
    head = await stage.wait_until_settled(head)
    await stage.decide(head, Approve())
    head = await stage.wait_until_settled(head)
    assert head.status == Thinking(waits_for=("Scout",))
    await stage.uploads.receive(head.id, "notes.txt", b"natural gut", stage.origin())
    assert (await stage.views.agent(CHANNEL, head.id)).status == Thinking()
