"""A fork goes on from an earlier turn in a thread of its own, on every surface; a dry run becomes one that acts."""

from pathlib import Path

import pytest

from agent_core.model.agent import Agent
from agent_core.testing.language_model import ScriptedModel, reply_text
from tests.scenario.chat import writing
from tests.scenario.member import GuildChat
from tests.scenario.page import PageChat
from tests.scenario.surfaces import Name, Scene, opened
from tests.scenario.test_signed_off import WAIT, clerk, on_each_surface

DONE = reply_text("task_complete", {"reason": "All is written."})


async def asks_in_its_thread(scene: Scene, name: str) -> Agent:
    """Wait until this agent asks in a thread that no other agent has."""
    chat, first, agent = scene.ana, await scene.agent(), await scene.agent(name)
    if isinstance(chat, PageChat):  # this and Discord's chat look at one thread
        chat.path = chat.path.replace(first.id, agent.id)
    if isinstance(chat, GuildChat):
        chat.name = agent.name
    await chat.asks("do_nothing")
    if isinstance(chat, PageChat):
        chat.path = chat.path.replace(agent.id, first.id)
    if isinstance(chat, GuildChat):
        chat.name = first.name
    agents = await scene.stage.views.agents(scene.channel)
    assert len({each.thread for each in agents}) == len(agents)
    return await scene.agent(name)


@pytest.mark.proves("fork:as-of-then")
@on_each_surface("forks", slow=("web",))
async def test_a_fork_goes_on_from_an_earlier_turn_in_a_thread_of_its_own(surface: Name, tmp_path: Path) -> None:
    model = ScriptedModel(WAIT, writing("notes.md", "one\n"), writing("notes.md", "two\n"), *[WAIT] * 4)
    async with opened(surface, model, tmp_path) as scene:
        ana = await clerk(scene)
        for command in ("do_nothing", "write_to_file", "write_to_file"):
            await (await ana.asks(command)).press("Approve")
        card = await ana.asks("do_nothing")
        await ana.says("!fork 9")
        assert await ana.told("Fork: a turn between 1 and 3, the last one of Clerk that ended.")
        await ana.says("!fork 2 Write it in French.")
        assert await ana.told("Clerk 2 goes on from turn 2 of Clerk, in a thread of its own.")
        fork = await asks_in_its_thread(scene, "Clerk 2")
        assert await scene.stage.workspaces.of(fork).read("notes.md") == b"one\n"
        assert await scene.stage.workspaces.of(await scene.agent()).read("notes.md") == b"two\n"
        await card.press("Fork")
        third = await asks_in_its_thread(scene, "Clerk 3")
        assert third.forked
        assert third.forked.turn == 3
        assert await scene.stage.workspaces.of(third).read("notes.md") == b"two\n"


@pytest.mark.proves("dry-run:simulates")
@on_each_surface("dry runs", slow=("web",))
async def test_a_dry_run_proposes_on_every_surface_and_changes_nothing(surface: Name, tmp_path: Path) -> None:
    async with opened(surface, ScriptedModel(writing("notes.md", "one\n"), DONE), tmp_path) as scene:
        await scene.ana.new_agent("Clerk", "keeps notes", "Write a report", dry=True)
        card = await scene.ana.asks("write_to_file")
        assert "dry run: only simulated" in card.text
        await card.press("Approve")
        await (await scene.ana.asks("task_complete")).press("Approve")
        assert await scene.ana.sees("done")
        assert await scene.stage.workspaces.of(await scene.agent()).list_files() == ()


@pytest.mark.proves("dry-run:for-real")
async def test_a_dry_run_of_the_page_becomes_one_that_acts(tmp_path: Path) -> None:
    model = ScriptedModel(writing("notes.md", "one\n"), DONE, writing("notes.md", "one\n"), WAIT)
    async with opened("web", model, tmp_path) as scene:
        ana = scene.ana
        assert isinstance(ana, PageChat)
        fields = {"name": "Clerk", "role": "keeps notes", "goals": "Write a report", "dry.run": "on"}
        async with ana.session.post(f"{ana.base}/c/web/local/general/new", data=fields) as answer:
            ana.path = answer.url.path
        card = await ana.asks("write_to_file")
        assert "Clerk · dry run" in await ana.page()
        assert "dry run: only simulated" in card.text
        await card.press("Approve")
        await (await ana.asks("task_complete")).press("Approve")
        assert await ana.sees("Run for real")
        assert await scene.stage.workspaces.of(await scene.agent()).list_files() == ()
        agent = await scene.agent()
        await ana.send("press", {"button": f"for real:{agent.id}:1"})
        real = await scene.agent("Clerk 2")
        assert ana.answered.count("Clerk 2")
        ana.path = ana.path.replace(agent.id, real.id)
        card = await ana.asks("write_to_file")
        assert "dry run" not in card.text.split("turn 3")[0]
        await card.press("Approve")
        await ana.asks("do_nothing")
        assert await ana.file("notes.md") == "one\n"
