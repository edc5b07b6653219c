"""Attacks on schedules: a run that is doubled, that takes along a permission, or that somebody else sets."""

import asyncio
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, time
from pathlib import Path
from time import process_time

import pytest

from adapters.typed.standing_rules import parse_rule
from agent_core.model.agent import Agent
from agent_core.model.channel_settings import QuietHours
from agent_core.model.decision import Approve, Policy
from agent_core.model.ids import AgentId
from agent_core.model.origin import Actor, ChannelScope, account_id
from agent_core.model.schedule import Schedule, cron_of, next_times
from agent_core.persistence.database import SqlDatabase
from agent_core.ports.database import Database
from agent_core.service.schedules import WantedSchedule
from agent_core.testing.clock import FakeClock
from agent_core.testing.database import TemporaryDatabase
from agent_core.testing.examples import ANA, BEN, CHANNEL, an_agent, keep
from agent_core.testing.language_model import ScriptedModel
from agent_core.testing.stage import Stage
from agent_core.testing.surface import RecordingSurface
from tests.attacks.rows import attack
from tests.contract.conftest import database, sqlite_url, url  # noqa: F401
from tests.crash.dying import Died, DyingDatabase, Moment
from tests.scenario.page import PageChat
from tests.scenario.served import served
from tests.unit.agent_core.loop.test_scheduled_run import DONE, SATURDAY, WRITE, at, helped, scheduled

SUNDAY = datetime(2027, 3, 28, 9, tzinfo=UTC)
MOMENTS: tuple[Moment, ...] = ("before", "after")
EVERY_SAVE = [(save, moment) for save in range(1, 13) for moment in MOMENTS]
OTHER = {"Origin": "https://evil.example"}


def process(at: datetime, saved: Database, surface: RecordingSurface, *replies: str) -> Stage:
    """What a start of the program has: everything new but the database and the platform."""
    return Stage(model=ScriptedModel(*replies, waits=not replies), clock=FakeClock(at), database=saved, surface=surface)


async def finished(saved: Database, surface: RecordingSurface) -> Agent:
    """An agent that is done, asks for everything, and has a run at 9:00 on Sunday."""
    stage = process(SATURDAY, saved, surface, DONE)
    agent = await stage.create()
    await stage.decide(agent, Approve())
    agent = await stage.wait_until_settled(agent)
    daily = WantedSchedule(when="every day at 9:00", zone="UTC")
    agent = await stage.service.schedules.set(agent.id, daily, stage.origin())
    return await stage.wait_until_settled(agent)


async def require_one_run(stage: Stage, agent: Agent) -> None:
    agent = await stage.wait_until_settled(agent)
    assert isinstance(agent.schedule, Schedule)
    titles = {notice.id for notice in stage.shown.notices if notice.text.startswith("Run ")}
    assert (agent.schedule.runs, agent.turns, agent.status.kind, len(titles)) == (1, 2, "awaiting", 1)


@pytest.mark.slow
@attack("approval", "A process that dies before or after any save at the begin of a scheduled run", "one run")
async def test_a_death_at_the_begin_doubles_no_run(answer: str) -> None:
    lasted = False
    for save, moment in EVERY_SAVE:
        saved, surface = TemporaryDatabase(), RecordingSurface()
        agent = await finished(saved, surface)
        dying = DyingDatabase(saved, save, moment)
        with suppress(Died):
            await process(SUNDAY, dying, surface, WRITE).wait_until_settled(agent)
        await require_one_run(process(SUNDAY, saved, surface, WRITE), agent)
        lasted = not dying.is_dead
    assert (lasted, answer) == (True, "one run")  # the last cases die nowhere


ACCOUNT = Actor(id=account_id("https://id.example", "ben"), display="ben", workspace="local")


@attack("approval", "A schedule of somebody who has left, or lost the right since", "paused when it is due, and said")
@pytest.mark.proves("page:sign-in-groups")
@pytest.mark.parametrize(("person", "present"), [(ACCOUNT, None), (BEN, None), (BEN, replace(BEN, kind="external"))])
async def test_a_schedule_does_not_outlive_the_right_of_who_set_it(
    person: Actor, present: Actor | None, answer: str
) -> None:
    surface, saved = RecordingSurface(), TemporaryDatabase()
    agent, stage = await finished(saved, surface), process(SATURDAY, saved, surface, WRITE)
    daily = WantedSchedule(when="every day at 9:00", zone="UTC")
    await stage.service.schedules.set(agent.id, daily, stage.origin(person))
    surface.people[person.id] = present
    agent = await at(stage, agent, "2027-03-28 09:00")
    assert agent.schedule
    assert (agent.schedule.next_at, agent.schedule.runs, answer) == (None, 0, "paused when it is due, and said")
    assert "@ben, who set the schedule, may not decide here any more" in stage.shown.notices[-1].text
    await stage.service.schedules.act(agent.id, "resume", stage.origin())
    await at(stage, agent, "2027-03-29 09:00")
    assert stage.shown.notices[-1].text == "Run 1 · Monday 9:00 UTC"


@pytest.mark.slow
@attack("approval", "Eight workers that begin the same scheduled run at the same moment", "one run")
async def test_workers_at_the_same_moment_begin_one_run(database: SqlDatabase, answer: str) -> None:  # noqa: F811
    surface = RecordingSurface()
    agent = await finished(database, surface)
    workers = [process(SUNDAY, database, surface, WRITE) for _ in range(8)]
    await asyncio.gather(*(each.loop.advance(agent.id) for each in workers))
    await require_one_run(process(SUNDAY, database, surface, WRITE), agent)
    assert answer == "one run"


@attack("approval", "An approval ×5 on the card that ends the agent's work, for the run that nobody watches", "it asks")
async def test_no_lease_and_no_trust_outlives_into_a_run(answer: str) -> None:
    stage, agent = await scheduled(DONE, WRITE, policy=Policy())
    await stage.service.lifecycle.resume(agent.id, stage.origin())
    agent = await stage.wait_until_settled(agent)
    await stage.decide(agent, Approve(5))
    assert (await stage.wait_until_settled(agent)).status.kind == "finished"
    async with stage.database.begin() as work:
        work.agents.save((await work.agents.get(CHANNEL, agent.id)).expose())
        await work.commit()
    agent = await at(stage, agent, "2027-03-28 07:00")
    asks = "it asks" if agent.status.kind == "awaiting" else agent.status.kind
    assert (asks, agent.lease, agent.exposed) == (answer, None, True)


NAMES = [*range(8), "sun", "MON", "l", "L"]
DAYS = [*NAMES, *(f"{one}-{two}" for one in NAMES for two in NAMES), *(f"{day}#1" for day in range(8))]


@attack("approval", "A cron line that reads as one that runs at other times", "refused, or said in other words")
@pytest.mark.proves("schedule:said-back")
def test_no_two_schedules_read_alike(answer: str) -> None:
    alike: dict[str, tuple[datetime, ...]] = {}
    for line in (line for day in DAYS for line in (f"0 9 * * {day}", f"0 9 {day} * *", f"{day} 9 * * *")):
        with suppress(ValueError):
            times = next_times(schedule := Schedule(cron=cron_of(line), by=ANA), SATURDAY, 20)
            # an l looks like a 1
            assert alike.setdefault(schedule.words.replace("day l", "day 1"), times) == times, answer


@attack("http", "Times in the quiet hours alone, which are looked for until the end of the calendar", "given up early")
def test_times_that_never_come_hold_nobody_up(answer: str) -> None:
    quiet, seconds = QuietHours(begins=time(2), ends=time(4)), list[float]()
    for hours in (None, quiet):
        began = process_time()
        next_times(Schedule(cron="0 3 * 2 1#5", by=ANA, quiet=hours), SATURDAY)  # on Mondays that are a leap day
        seconds.append(process_time() - began)
    assert (seconds[1] < 20 * seconds[0], answer) == (True, "given up early")


@pytest.mark.slow
@attack("approval", "A run of three turns whose helper goes on by a rule for all agents", "three turns of its own")
@pytest.mark.proves("schedule:limits")
async def test_a_helper_takes_no_more_turns_than_its_run(answer: str) -> None:
    stage, agent, helper = await helped(WantedSchedule(when="every day at 9:00", zone="UTC", turns=3))
    rule = replace(parse_rule("allow append_to_file filename is report.md"), is_for_all=True)
    await stage.rules.make(agent.id, rule, stage.origin())
    await stage.decide(helper, Approve())
    helper = await stage.wait_until_settled(helper)
    assert (helper.status.kind, helper.turns, answer) == ("finished", 3, "three turns of its own")


@pytest.mark.slow
@attack("http", "The form of a schedule from another origin, for another channel's agent, or for a helper", "refused")
async def test_the_form_is_for_who_may_decide_on_that_agent(tmp_path: Path, answer: str) -> None:
    stages: list[Stage] = []
    async with (
        served(ScriptedModel(waits=True), tmp_path, prepared=stages.append) as base,
        PageChat.opened(base, "ana") as ana,
    ):
        await ana.new_agent("Clerk", "writes", "Write a file")
        [stage] = stages
        [agent] = await stage.views.agents(CHANNEL)
        elsewhere = ChannelScope("slack", "T1", "C1")
        helper = replace(an_agent(id=AgentId("bee"), name="Bee"), parent=agent.id, head=agent.id)
        foreign = replace(an_agent(id=AgentId("far"), name="Far"), channel=elsewhere)
        await keep(stage.database, helper, foreign)
        form = {"when": "every minute", "turns": "5", "do": "set"}
        statuses = set()
        for path, headers in (
            (ana.path, OTHER),
            ("/c/web/local/general/a/bee", {}),
            ("/c/web/local/general/a/far", {}),
            ("/c/slack/T1/C1/a/far", {}),
        ):
            async with ana.session.post(f"{base}{path}/schedule", data=form, headers=headers) as told_back:
                statuses.add(told_back.status)
        async with stage.database.begin() as work:
            saved = [(await work.agents.locate(each)).schedule for each in (agent.id, helper.id, foreign.id)]
        assert (saved, statuses <= {403, 404, 409}, answer) == ([None] * 3, True, "refused")
