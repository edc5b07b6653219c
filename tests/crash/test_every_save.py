"""The process dies at each save of a whole story, before or after it: nothing is lost and nothing happens twice."""

from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path

import pytest

from agent_core.capabilities.demo.rehearsal import RehearsalModel
from agent_core.capabilities.files.folder_workspace import FolderWorkspaces
from agent_core.errors import AlreadyDecided, InvalidInput
from agent_core.model.agent import Agent, Awaiting, Finished
from agent_core.model.decision import Approve
from agent_core.model.draft import AgentDraft
from agent_core.model.turn import Turn
from agent_core.persistence.database import SqlDatabase
from agent_core.ports.database import Database
from agent_core.testing.stage import Stage
from agent_core.testing.surface import RecordingSurface
from tests.crash.dying import Died, DyingDatabase, Moment
from tests.tables import make_tables

GOALS = ('Write "one" to a.txt', 'Append "two" to a.txt', "Read a.txt")
SAVES = 32  # more than a whole story takes: the last cases die nowhere and show that
EACH = [pytest.param(save, marks=pytest.mark.slow if save % 4 else ()) for save in range(1, SAVES + 1)]


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[SqlDatabase]:
    url = f"sqlite:///{tmp_path / 'signoff.db'}"
    await make_tables(url)
    database = SqlDatabase(url)
    yield database
    await database.close()


def process(database: Database, folder: Path, surface: RecordingSurface) -> Stage:
    """What a start of the program has: everything new but the database, the files and the platform."""
    return Stage(
        model=RehearsalModel(), database=database, workspaces=FolderWorkspaces(folder / "files"), surface=surface
    )


async def work(stage: Stage) -> Agent:
    """Ana makes the agent if it is not there, and answers whatever it asks, until it is done."""
    agent = await stage.views.find_by_name(stage.origin().channel, "Clerk")
    if agent is None:
        with suppress(InvalidInput):
            await stage.service.lifecycle.create(AgentDraft(name="Clerk", goals=GOALS), stage.origin(delivery="form"))
        agent = await stage.views.find_by_name(stage.origin().channel, "Clerk")
    assert agent is not None
    for _ in range(20):
        agent = await stage.wait_until_settled(agent)
        if isinstance(agent.status, Finished):
            return agent
        assert agent.status == Awaiting()
        await answer(stage, await stage.turn(agent))
    raise AssertionError("The agent never finished.")


async def answer(stage: Stage, turn: Turn) -> None:
    """Approve. Nobody is asked whether a command ran: the file tells."""
    assert turn.state == "proposed"
    with suppress(AlreadyDecided):
        await stage.service.decisions.decide(
            turn.id, Approve(), stage.origin(delivery=f"click {turn.id}"), shown=turn.control_hash
        )


@pytest.mark.slow
@pytest.mark.proves("crash:every-save")
@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize("save", EACH)
async def test_a_story_survives_a_death_at_any_save(
    database: SqlDatabase, tmp_path: Path, save: int, moment: Moment
) -> None:
    surface = RecordingSurface()
    with suppress(Died):
        await work(process(DyingDatabase(database, save, moment), tmp_path, surface))
    stage = process(database, tmp_path, surface)
    agent = await work(stage)
    thread = await stage.views.thread(agent.channel, agent.id)
    turns = list(thread.turns.values())
    assert await stage.views.file(agent.channel, agent.id, "a.txt") == b"onetwo"
    assert [(turn.number, turn.call.name) for turn in turns] == list(
        enumerate(("write_to_file", "append_to_file", "read_file", "task_complete"), 1)
    )
    assert {turn.state for turn in turns} == {"done"}
    assert all(surface.cards[turn.id].stage == turn.stage for turn in turns)
    assert len([notice for notice in surface.notices if notice.kind == "finished"]) <= 2


@pytest.mark.slow
async def test_the_story_takes_fewer_saves_than_are_tried(database: SqlDatabase, tmp_path: Path) -> None:
    counting = DyingDatabase(database)
    await work(process(counting, tmp_path, RecordingSurface()))
    assert 10 < counting.saves < SAVES
