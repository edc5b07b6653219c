"""A backup that is taken while agents work can be restored, and the restored agents go on."""

import asyncio
from pathlib import Path

import pytest

from agent_core.capabilities.export.transfer import Transfer
from agent_core.capabilities.files.folder_workspace import FolderWorkspaces
from agent_core.capabilities.files.workspace_paths import folder_name
from agent_core.capabilities.files.workspace_transfer import WorkspaceTransfer
from agent_core.model.agent import Agent
from agent_core.model.command import RISK_CLASSES
from agent_core.model.decision import Policy
from agent_core.model.draft import AgentDraft
from agent_core.persistence.database import SqlDatabase
from agent_core.testing.examples import CHANNEL
from agent_core.testing.language_model import ScriptedModel, reply_text
from agent_core.testing.memory_index import InMemoryIndex
from agent_core.testing.stage import Stage

STEPS = 60
BACKUPS = 3
MADE_MEANWHILE = 15  # at most: a person may have 50 agents


def text_of(number: int) -> str:
    return f"{number} " * 500


def writing(number: int) -> str:
    arguments = {"filename": f"{number}.txt", "text": text_of(number)}
    return reply_text("write_to_file", arguments, text=f"Step {number}.")


def stage_of(url: str, home: Path, *replies: str) -> tuple[Stage, SqlDatabase]:
    database = SqlDatabase(url)
    workspaces = FolderWorkspaces(home / "workspaces")
    model = ScriptedModel(*replies)
    return Stage(database=database, model=model, workspaces=workspaces, index=InMemoryIndex()), database


@pytest.mark.slow
@pytest.mark.proves("transfer:at-work")
@pytest.mark.parametrize("url", ["sqlite", "postgres"], indirect=True)
@pytest.mark.usefixtures("database")  # it is empty
async def test_a_backup_of_agents_at_work_is_restored_and_goes_on(url: str, tmp_path: Path) -> None:
    stage, database = stage_of(url, tmp_path, *map(writing, range(STEPS)))
    transfer = Transfer(url=url, workspaces=WorkspaceTransfer(tmp_path / "workspaces"), tell=print)
    free = Policy(free=RISK_CLASSES)
    clerk = await stage.service.lifecycle.create(
        AgentDraft(name="Clerk", goals=("Write",), policy=free), stage.origin()
    )
    working = asyncio.create_task(stage.wait_until_settled(clerk))
    for number in range(BACKUPS):
        backup = asyncio.create_task(transfer.export_to(tmp_path / f"{number}.zip"))
        for name in range(MADE_MEANWHILE):
            if backup.done():
                break
            draft = AgentDraft(name=f"New {number}-{name}", goals=("Write",), policy=free)
            agent = await stage.service.lifecycle.create(draft, stage.origin())
            await stage.workspaces.of(agent).write("new.txt", b"new")
        await backup
    await working
    await database.close()
    turns = [await restore(tmp_path / f"{number}.zip", tmp_path / f"restored-{number}") for number in range(BACKUPS)]
    assert turns == sorted(turns)
    assert turns[-1] > 0


async def restore(file: Path, home: Path) -> int:
    """Restore a backup, check it, and let the agent go on; return how many turns it had."""
    url = f"sqlite:///{home}/signoff.db"
    await Transfer(url=url, workspaces=WorkspaceTransfer(home / "workspaces"), tell=print).import_from(file)
    stage, database = stage_of(url, home, writing(STEPS), reply_text("task_complete", {"reason": "Done."}))
    agents = await stage.views.agents(CHANNEL)
    assert {path.name for path in (home / "workspaces").glob("*")} <= {folder_name(agent.id) for agent in agents}
    (clerk,) = [agent for agent in agents if agent.name == "Clerk"]
    await require_whole(stage, clerk)
    after = await stage.wait_until_settled(clerk)
    assert after.status.kind in ("finished", "paused")  # not "awaiting": nobody is asked about what was running
    await require_whole(stage, after)
    await database.close()
    return clerk.turns


async def require_whole(stage: Stage, agent: Agent) -> None:
    """Check that no turn is missing, and no file that a turn wrote."""
    async with stage.database.begin() as work:
        turns = await work.turns.of(agent, last=STEPS + 9)
    assert [turn.number for turn in turns] == [*range(1, agent.turns + 1)]
    files = {entry.path: entry.size for entry in await stage.workspaces.of(agent).list_files()}
    wrote = [turn.call.arguments for turn in turns if turn.result and turn.call.name == "write_to_file"]
    assert [each["filename"] for each in wrote if files.get(str(each["filename"])) != len(str(each["text"]))] == []
