"""A schedule on every surface: said back before it is saved, begun by itself, listed, paused, run now, deleted."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from agent_core.model.schedule import EXAMPLES, Schedule
from agent_core.ports.database import UnitOfWork, in_one_unit
from agent_core.testing.clock import FakeClock
from agent_core.testing.language_model import ScriptedModel, reply_text
from tests.scenario.chat import writing
from tests.scenario.slack_app import GENERAL, Office, at_work, text_of
from tests.scenario.surfaces import Name, Scene, opened
from tests.scenario.team import SlackChat
from tests.scenario.test_signed_off import clerk

SURFACES = (
    "core",
    *(pytest.param(name, marks=pytest.mark.slow) for name in ("web", "slack-http", "slack-socket", "discord")),
)
DONE, FIRST, SECOND = (
    reply_text("task_complete", {"reason": reason})
    for reason in ("All is written.", "One is written.", "Two is written.")
)
WHEN = "every weekday at 9:00, zone Europe/Vienna"
WORDS = "At 09:00, Monday through Friday (Europe/Vienna)"


async def make_due(scene: Scene) -> None:
    """Move the next run into the past, as if its time had come while nobody looked."""

    async def act(work: UnitOfWork) -> None:
        agent = await work.agents.get(scene.channel, (await scene.agent()).id)
        assert isinstance(agent.schedule, Schedule)
        past = scene.stage.clock.now() - timedelta(seconds=1)
        work.agents.save(replace(agent, schedule=replace(agent.schedule, next_at=past)))

    await in_one_unit(scene.stage.database, act)  # again, if the engine saved the agent meanwhile
    if isinstance(scene.stage.clock, FakeClock):
        scene.stage.clock.advance(2)  # to the engine's next look


async def says_and_is_told(scene: Scene, *lines: tuple[str, str]) -> None:
    for line, answer in lines:
        await scene.ana.says(line)
        assert await scene.ana.told(answer)


async def decide_on_a_run(scene: Scene, title: str, reason: str) -> None:
    """Approve what the agent asks for in a run, to its end."""
    card = await scene.ana.asks("write_to_file")
    assert await scene.ana.sees(title)
    await card.press("Approve")
    await (await scene.ana.asks("task_complete")).press("Approve")
    assert await scene.ana.sees(f"is done: “{reason}")


@pytest.mark.proves("schedule:said-back")
@pytest.mark.parametrize("surface", SURFACES)
async def test_an_agent_works_by_itself_and_people_decide_as_ever(surface: Name, tmp_path: Path) -> None:
    model = ScriptedModel(DONE, writing("a.md", "one\n"), FIRST, writing("a.md", "two\n"), SECOND)
    async with opened(surface, model, tmp_path) as scene:
        ana = await clerk(scene)
        await (await ana.asks("task_complete")).press("Approve")
        assert await ana.sees("done")
        await says_and_is_told(
            scene,
            (f"!schedule {WHEN}", WORDS),
            (f"!schedule {WHEN}", f"Nothing is saved yet. To save it, write: !schedule set {WHEN}"),
            ("!schedule every 7 minutes", "Every so many minutes: one of 1, 2, 3"),
            (f"!schedule set {WHEN}, turns 5, budget 2", "A run ends after 5 turns or $2.00 at the latest."),
        )
        await make_due(scene)
        await decide_on_a_run(scene, "Run 1 · ", "One")
        await says_and_is_told(
            scene, ("!schedule list", f"• Clerk: {WORDS}. Run 1 began"), ("!schedule pause", "paused")
        )
        await ana.says("!schedule now")
        await decide_on_a_run(scene, "begun by @", "Two")
        await says_and_is_told(scene, ("!schedule delete", "Clerk has no schedule any more. What its runs did stays."))
        assert (await scene.agent()).schedule is None


async def test_in_a_terminal_the_run_that_is_due_begins_when_the_agent_is_opened(tmp_path: Path) -> None:
    async with opened("terminal", ScriptedModel(DONE, writing("a.md", "one\n"), FIRST), tmp_path) as scene:
        ana = await clerk(scene)
        card = await ana.asks("task_complete")
        await says_and_is_told(
            scene,
            (f"!schedule {WHEN}", "In a terminal, the run that is due begins when the agent is next opened."),
            (f"!schedule set {WHEN}", WORDS),
            ("!schedule", "Next: "),
        )
        await card.press("Approve")
        assert await ana.sees("done")
        await make_due(scene)
        await scene.ana.new_agent("Clerk", "keeps notes")
        await decide_on_a_run(scene, "Run 1 · ", "One")


async def test_slacks_form_for_a_new_agent_has_a_schedule_and_says_what_is_wrong_with_it(
    office: Office, tmp_path: Path
) -> None:
    filled = {"Name": "Clerk", "Goals": "Write a report"}
    async with at_work(office, ScriptedModel(DONE), tmp_path) as running:
        await office.ana.types("/agent", "new", office.general)
        form = await office.form(office.ana, "New agent")
        refused = await office.ana.submits(form, {**filled, "Schedule": "now and then"})
        wrong = f"Schedule: “now and then” is no time that Signoff knows.\n{EXAMPLES}"
        assert refused.body["errors"] == {"schedule": wrong}
        assert not await running.stage.views.agents(GENERAL)
        await office.ana.submits(form, {**filled, "Schedule": WHEN})
        told = text_of(await office.said(f"@ana set the schedule: {WORDS}."))
        assert told.rpartition("Next: ")[2].count(" 09:00 ") == 3
        assert (await running.agent()).scheduled_at


@pytest.mark.slow
async def test_after_five_runs_the_thread_has_said_of_each_how_it_ended_and_offers_to_resume_none(
    tmp_path: Path,
) -> None:
    reports = [reply_text("task_complete", {"reason": f"Report {number} is written."}) for number in range(6)]
    async with opened("slack-http", ScriptedModel(*reports), tmp_path) as scene:
        ana = await clerk(scene)
        await (await ana.asks("task_complete")).press("Approve")
        assert await ana.sees("Clerk is done: “Report 0")
        await says_and_is_told(scene, (f"!schedule set {WHEN}", WORDS))
        for number in range(1, 6):
            await make_due(scene)
            await (await ana.asks("task_complete")).press("Approve")
            assert await ana.sees(f"Run {number} is done: “Report {number} is written.” Next run: ")
        assert isinstance(ana, SlackChat)
        ends = [text_of(message) for message in ana.office.general.messages if "is done: “" in text_of(message)]
        assert ["Resume" in each for each in ends] == [True, *[False] * 5]
