"""An agent inside your own program, without `bot`: first on doubles, then on SQLite with a real endpoint.

`python -m examples.embed` runs the first; with OPENAI_BASE_URL (and OPENAI_API_KEY, where it wants one) the second too.
"""

import asyncio
import os
import tempfile
from pathlib import Path

from agent_core.assembly import Core, CorePorts
from agent_core.headless import HeadlessSurface, run_agent
from agent_core.model.agent import Agent
from agent_core.model.decision import Approve, Decision, Reject
from agent_core.model.draft import AgentDraft
from agent_core.model.turn import Turn
from agent_core.persistence.database import SqlDatabase
from agent_core.persistence.schema import upgrade
from agent_core.providers.llm.openai_model import OpenAIModel
from agent_core.providers.vector_index.embedded_index import EmbeddedIndex
from agent_core.providers.workspace.folder_workspace import FolderWorkspaces
from agent_core.testing.language_model import ScriptedModel, reply_text
from agent_core.testing.stage import Stage

DRAFT = AgentDraft(name="Clerk", goals=("Write 'Tea at four.' into tea.txt, then finish",))
REPLIES = (
    reply_text("write_to_file", {"filename": "tea.txt", "text": "Tea at four."}),
    reply_text("task_complete", {"reason": "It is written."}),
)


async def decide(agent: Agent, turn: Turn) -> Decision:
    """A person's decision. Here: anything that only touches the agent's files, or only ends, may run."""
    print(f"{agent.name} asks for {turn.call.name} {dict(turn.call.arguments)}")
    return Approve() if turn.call.name in ("write_to_file", "task_complete") else Reject("Only write the file.")


async def on_doubles() -> Agent:
    """Everything in memory, with a scripted model and a clock that a test moves."""
    stage = Stage(model=ScriptedModel(*REPLIES), surface=HeadlessSurface())
    return await run_agent(stage.core, DRAFT, decide)


async def on_sqlite(folder: Path, base_url: str, api_key: str) -> Agent:
    """A database that survives a restart, files on disk, and a model behind any OpenAI-compatible endpoint."""
    url = f"sqlite:///{folder / 'agents.db'}"
    await upgrade(url)
    database, model = SqlDatabase(url), OpenAIModel(base_url=base_url, api_key=api_key)
    ports = CorePorts(
        database=database,
        model=model,
        index=EmbeddedIndex(database, folder / "vectors"),
        surfaces=(HeadlessSurface(),),
        workspaces=FolderWorkspaces(folder / "workspaces"),
    )
    try:
        return await run_agent(Core.assemble(ports), DRAFT, decide)
    finally:
        await model.close()
        await database.close()


if __name__ == "__main__":
    print(f"On doubles: {asyncio.run(on_doubles()).status.kind}.")
    if base_url := os.environ.get("OPENAI_BASE_URL"):
        with tempfile.TemporaryDirectory() as name:
            agent = asyncio.run(on_sqlite(Path(name), base_url, os.environ.get("OPENAI_API_KEY", "")))
            print(f"On SQLite: {agent.status.kind}.")
