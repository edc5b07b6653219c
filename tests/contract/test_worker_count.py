"""How `doctor` counts the workers of a database: by their heartbeats, as the rows of dead ones may remain."""

from pathlib import Path

import pytest

from agent_core.model.ids import WorkerId
from agent_core.model.worker import Worker
from agent_core.persistence.database import SqlDatabase
from agent_core.persistence.schema import upgrade
from bot.bootstrap import probes
from bot.settings import load


@pytest.mark.slow
@pytest.mark.parametrize("url", ["postgres"], indirect=True)
async def test_a_dead_worker_is_not_counted(url: str, tmp_path: Path) -> None:
    await upgrade(url)
    database = SqlDatabase(url)
    async with database.begin() as work:
        work.workers.join(Worker(WorkerId("dead.1")))
        await work.commit()
    await database.close()
    settings = load({"SIGNOFF_HOME": str(tmp_path), "DATABASE_URL": url}, None)
    assert (await probes(settings).database()).workers == 0
