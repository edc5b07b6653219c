"""What was changed between two saves of a claim, or by a save whose answer was lost."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from agent_core.capabilities.agents.commands import AgentCommands
from agent_core.errors import DatabaseAway, ModelUnavailable
from agent_core.loop import claim as claim_module
from agent_core.loop.outcome import Outcome
from agent_core.model.agent import Acting, Agent, Stopped, Thinking
from agent_core.model.decision import Approve
from agent_core.model.draft import AgentDraft
from agent_core.model.model_calls import Message, Reply
from agent_core.model.origin import ChannelScope, Origin
from agent_core.ports.database import Database, UnitOfWork
from agent_core.ports.models import CallOptions
from agent_core.testing.clock import FakeClock
from agent_core.testing.database import TemporaryDatabase
from agent_core.testing.examples import ANA, BEN, CHANNEL, an_agent, keep
from agent_core.testing.language_model import ScriptedModel, reply_text
from agent_core.testing.stage import Stage
from agent_core.testing.surface import RecordingNotifications, RecordingSurface
from tests.contract.test_newer_release import LEASE, add_fields, stored

ADA = an_agent()
SLACK = ChannelScope("slack", "T1", "C1")
AT_PROPOSAL = 4  # the number of its commit in the advance
WRITE = reply_text("write_to_file", {"filename": "a.txt", "text": "one"})
NOTHING = reply_text("do_nothing")
START = reply_text("start_agent", {"name": "One", "task": "Help"})


class InterruptedModel(ScriptedModel):
    """Before it answers call number `at`, `event` happens."""

    at = 0
    event: Callable[[], Awaitable[object]] | None = None

    async def complete(self, messages: Sequence[Message], options: CallOptions) -> Reply:
        if self.event and len(self.prompts) + 1 == self.at:
            event, self.event = self.event, None
            await event()
        return await super().complete(messages, options)


async def test_a_field_that_one_save_dropped_does_not_come_back_with_the_next(database: Database, url: str) -> None:
    await keep(database, ADA)
    await add_fields(url, "agents", ("status",))
    async with database.begin() as work:
        work.agents.save(replace(await work.agents.locate(ADA.id), status=Acting()))
        await work.commit()
    assert "mood" not in (await stored(url, "agents"))["status"]
    async with database.begin() as later:
        later.agents.save(replace(await later.agents.locate(ADA.id), status=Thinking()))
        await later.commit()
    assert "mood" not in (await stored(url, "agents"))["status"]


async def test_the_status_of_an_earlier_wait_gives_no_field_to_that_of_a_later_one(
    database: Database, url: str
) -> None:
    """A whole claim: thinking (with a newer release's field), acting under a lease, thinking again."""
    stage = Stage(database=database, model=ScriptedModel(WRITE, ModelUnavailable("away")))
    agent = an_agent(lease=replace(LEASE, granted_at=stage.clock.now()), since=stage.clock.now())
    await keep(database, agent)
    await add_fields(url, "agents", ("status",))
    agent = await stage.wait_until_settled(agent)
    assert (agent.turns, agent.status.kind) == (1, "thinking")
    assert "mood" not in (await stored(url, "agents"))["status"]


@pytest.mark.slow
async def test_an_agent_waits_for_a_helper_that_was_resumed_while_it_thought(database: Database) -> None:
    model = InterruptedModel(START, *[NOTHING] * 5)
    stage = Stage(database=database, model=model)
    for command in AgentCommands(stage.helpers).commands:
        stage.commands.register(command)
    head = await stage.create()
    await stage.decide(head, Approve())
    head = await stage.wait_until_settled(head)
    (one,) = await stage.helpers.of(head)
    async with database.begin() as work:  # as after its owner stopped it, and the head has read of that
        work.agents.save((await work.agents.get(CHANNEL, one.id)).become(Stopped(one.owner), stage.clock.now()))
        await work.commit()
    await stage.decide(head, Approve(4))
    model.at, model.event = 3, lambda: stage.service.lifecycle.resume(one.id, stage.origin())
    head = await stage.wait_until_settled(head)
    (one,) = await stage.helpers.of(head)
    assert isinstance(one.status, Thinking)
    assert head.status == Thinking(waits_for=("One",))
    assert head.turns == 3


class LateDatabase:
    """The commit number `at` takes effect only after the next unit of work has read: its answer was lost."""

    def __init__(self, database: Database) -> None:
        self.database, self.commits, self.at = database, 0, 0
        self.late: Callable[[], Awaitable[None]] | None = None
        self.on_loss: Callable[[], None] = lambda: None
        self.is_lost = False

    @asynccontextmanager
    async def begin(self) -> AsyncIterator[UnitOfWork]:
        context = self.database.begin()
        work = await context.__aenter__()
        commit, is_left = work.commit, True

        async def commit_late() -> None:
            nonlocal is_left
            late, self.late = self.late, None
            if late:
                await late()
            self.commits += 1
            if self.commits == self.at:
                is_left = False

                async def end() -> None:
                    await commit()
                    await context.__aexit__(None, None, None)

                self.late, self.is_lost = end, True
                self.on_loss()
                raise DatabaseAway
            await commit()

        work.commit = commit_late  # type: ignore[method-assign]
        try:
            yield work
        finally:
            if is_left:
                await context.__aexit__(None, None, None)


async def test_the_next_save_goes_on_from_the_try_that_took_effect(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Try 1 is lost but lands late, try 2 conflicts with it, try 3 finds try 1: the next save must build on try 1."""
    monkeypatch.setattr(claim_module, "RETRY_SECONDS", 0.0)
    late = LateDatabase(database)
    stage = Stage(database=late, model=ScriptedModel())
    await keep(database, ADA)
    claim = await stage.loop._claim(ADA.id)
    tries, met = [], []

    async def numbered(_work: UnitOfWork, agent: Agent) -> Outcome:
        tries.append(agent)
        return Outcome(agent=replace(agent, complaint=f"try {len(tries)}"))

    async def look(_work: UnitOfWork, agent: Agent) -> Outcome:
        met.append(agent.complaint)
        return Outcome(agent=agent)

    late.commits, late.at = 0, 1
    saved = await claim.save_and_present(numbered)
    assert (saved.agent.complaint, len(tries)) == ("try 1", 2)
    async with database.begin() as work:
        assert (await work.agents.locate(ADA.id)).complaint == "try 1"
    await claim.save_and_present(look)
    assert met == ["try 1"]
    async with database.begin() as work:
        assert (await work.agents.locate(ADA.id)).complaint == "try 1"


async def test_people_are_told_of_a_wait_whose_save_landed_late(monkeypatch: pytest.MonkeyPatch) -> None:
    """The save of a proposal lands late, and the try after it came a second later: Ben is told all the same."""
    late = LateDatabase(TemporaryDatabase())
    calls = RecordingNotifications()
    clock = FakeClock()
    stage = Stage(
        database=late,
        model=ScriptedModel(WRITE, WRITE),
        surface=RecordingSurface(name="slack", notifications=calls),
        clock=clock,
    )
    monkeypatch.setattr(claim_module, "RETRY_SECONDS", 0.0)
    origin = Origin(by=ANA, channel=SLACK)
    await stage.core.notifications.set_direct(replace(origin, by=BEN), is_wanted=True)
    agent = await stage.service.lifecycle.create(AgentDraft(name="Clerk", goals=("Write a file",)), origin)
    late.on_loss = lambda: clock.advance(1)
    late.commits, late.at = 0, AT_PROPOSAL
    await stage.loop.advance(agent.id)
    agent = await stage.views.agent(SLACK, agent.id)
    assert (agent.status.kind, agent.turns, late.is_lost) == ("awaiting", 1, True)
    assert calls.sent == [(f"to {BEN.id}",)]
