"""An agent inside your own program: SQLite, the endpoint that OPENAI_BASE_URL names, and you decide in the terminal."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from agent_core.assembly import Core, CorePorts
from agent_core.capabilities.files.folder_workspace import FolderWorkspaces
from agent_core.capabilities.memory.database_vector_index import DatabaseVectorIndex
from agent_core.capabilities.models.openai_model import OpenAIModel
from agent_core.model.agent import Agent
from agent_core.model.decision import Approve, Decision, Reject
from agent_core.model.draft import AgentDraft
from agent_core.model.ids import AgentId
from agent_core.model.note import Notice
from agent_core.model.origin import Actor, ChannelScope, Origin, SurfaceName
from agent_core.model.turn import Turn
from agent_core.persistence.database import SqlDatabase
from agent_core.persistence.schema import upgrade
from agent_core.ports.surface import ChatSurface

DRAFT = AgentDraft(name="Clerk", goals=("Write 'Tea at four.' into tea.txt, then finish",))
YOU = Origin(by=Actor(id="you", display="you", workspace="local"), channel=ChannelScope("web", "local", "embedded"))


class QuietSurface(ChatSurface):
    """Shows nothing: `run` asks, and the database has the results."""

    name: SurfaceName = "web"
    shows_what_is_saved: bool = True

    async def show(self, agent: Agent, turn: Turn, *, may_exist: bool) -> str:
        return turn.id

    async def notice(self, agent: Agent, notice: Notice, *, may_exist: bool) -> None:
        print(notice.text)

    async def status(self, agent: Agent) -> None:
        """Show nothing."""

    def forget_shown(self, agent: Agent) -> None:
        """Nothing that was shown is remembered."""

    async def announce_lost_thread(self, agent: Agent, reason: str) -> None:
        """There are no threads that could be lost."""

    async def upload(self, agent: Agent, filename: str, data: bytes) -> None:
        """The file is in the agent's workspace."""


async def ask(agent: Agent, turn: Turn) -> Decision:
    print(f"{agent.name} asks for {turn.call.name} {dict(turn.call.arguments)}. Run it? [y, or why not]")
    answer = (await asyncio.to_thread(sys.stdin.readline)).strip()
    return Approve() if answer == "y" else Reject(answer)


async def run(core: Core, draft: AgentDraft, decide: Callable[[Agent, Turn], Awaitable[Decision]] = ask) -> Agent:
    """Create an agent, and decide on its proposals until it is at rest."""
    advanced = asyncio.Event()

    async def advance(agent_id: AgentId) -> None:
        await core.loop.advance(agent_id)
        advanced.set()

    agent = await core.service.lifecycle.create(draft, YOU)
    engine = asyncio.create_task(core.engine.run(advance))
    try:
        while not agent.is_at_rest:
            await advanced.wait()
            advanced.clear()
            turn = await core.views.newest_turn(YOU.channel, agent.id)
            if turn and turn.state == "proposed":
                await core.service.decisions.decide(turn.id, await decide(agent, turn), YOU, shown=turn.control_hash)
            agent = await core.views.agent(YOU.channel, agent.id)
    finally:
        engine.cancel()
        await asyncio.gather(engine, return_exceptions=True)
    return agent


@asynccontextmanager
async def open_core(folder: Path, base_url: str) -> AsyncIterator[Core]:
    """A core whose agents and files in the folder survive a restart."""
    await asyncio.to_thread(folder.mkdir, parents=True, exist_ok=True)
    url = f"sqlite:///{folder / 'agents.db'}"
    await upgrade(url)
    database = SqlDatabase(url)
    model = OpenAIModel(
        base_url=base_url, api_key=os.environ.get("OPENAI_API_KEY", ""), model=os.environ.get("SMART_MODEL", "")
    )
    ports = CorePorts(
        database=database,
        model=model,
        index=DatabaseVectorIndex(database),
        surfaces=(QuietSurface(),),
        workspaces=FolderWorkspaces(folder / "workspaces"),
    )
    try:
        yield Core.assemble(ports)
    finally:
        await model.close()
        await database.close()


async def main() -> None:
    async with open_core(Path("agents"), os.environ["OPENAI_BASE_URL"]) as core:
        agent = await run(core, DRAFT)
        print(f"{agent.status.kind} after {agent.turns} turns, for ${agent.usage.cost:.4f}")


if __name__ == "__main__":
    asyncio.run(main())
