"""No path to memory or history crosses agents, channels, workspaces or surfaces, by commands or by services."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from agent_core.capabilities.agents.history import HistoryCommands
from agent_core.capabilities.memory.commands import MemoryCommands
from agent_core.engines.local import LocalEngine
from agent_core.errors import CommandError, NotFound
from agent_core.loop.recall import recall_memories
from agent_core.memory.long_term import LongTermMemory
from agent_core.memory.reindexing import Reindexer
from agent_core.model.agent import Agent, Digest
from agent_core.model.command import Succeeded
from agent_core.model.decision import Approve
from agent_core.model.ids import AgentId
from agent_core.model.origin import Actor, ChannelScope, Origin
from agent_core.model.records.memory import Memory
from agent_core.ports.database import Database
from agent_core.ports.engine import EngineParts
from agent_core.service.memories import AgentMemories
from agent_core.spending.budget_ledger import BudgetLedger
from agent_core.spending.spending_tracker import SpendingTracker
from agent_core.testing.clock import FakeClock
from agent_core.testing.embedder import WordEmbedder
from agent_core.testing.examples import ANA, NOON, a_note, a_turn, an_agent, keep
from agent_core.testing.files import InMemoryFiles
from agent_core.toolset.registry import CommandContext, Commands
from tests.contract.index_makers import MAKERS

SECRET = "the vault code is 7719 swordfish"
ADA = an_agent(turns=1)
STRANGERS = (
    an_agent(id=AgentId("agent-bob"), name="Bob", turns=1),
    an_agent(id=AgentId("agent-eva"), channel=ChannelScope("web", "local", "random"), turns=1),
    an_agent(id=AgentId("agent-ida"), channel=ChannelScope("web", "other", "general"), turns=1),
    an_agent(id=AgentId("agent-leo"), channel=ChannelScope("slack", "local", "general"), turns=1),
)


class Office:
    """Ada and the strangers, each with a turn, a note and a memory; only the strangers' hold the secret."""

    def __init__(self, database: Database, memory: LongTermMemory) -> None:
        self.database, self.memory, self.clock = database, memory, FakeClock()
        self.ledger = BudgetLedger(database, self.clock)
        engine = LocalEngine(EngineParts(database=database, clock=self.clock, surfaces=()))
        self.memories = AgentMemories(
            database=database, waker=engine, memory=memory, ledger=self.ledger, clock=self.clock
        )
        recollecting = (*MemoryCommands(memory, self.clock).commands, *HistoryCommands(database).commands)
        self.commands = Commands.of(*recollecting)
        self.secrets: list[Memory] = []

    async def open(self) -> None:
        """Save everybody and what they remember."""
        for agent in (ADA, *STRANGERS):
            said = "harmless words" if agent is ADA else SECRET
            turn = a_turn(agent, number=1).decide(Approve(), by=ANA, at=NOON).start(NOON).finish(Succeeded(said), NOON)
            await keep(self.database, agent, turn, a_note(agent, id=f"note-{agent.id}", text=said, taken_into=turn.id))
            memory = Memory.of(said, source="turn 1", at=NOON, turn=1)
            await self.memory.add(agent, [memory], SpendingTracker())
            if agent is not ADA:
                self.secrets.append(memory)

    async def run(self, agent: Agent, name: str, **arguments: object) -> str:
        """A command of the agent's, as it would run."""
        context = CommandContext(agent=agent, files=InMemoryFiles())
        return (await self.commands.get(name).run(arguments, context)).text

    def origin(self, agent: Agent) -> Origin:
        """A person of the agent's channel."""
        return Origin(by=Actor(id="u-ana", display="ana", workspace=agent.channel.workspace), channel=agent.channel)


@pytest.fixture(params=[pytest.param(name, id=name) for name in MAKERS])
async def office(request: pytest.FixtureRequest, database: Database, tmp_path: Path) -> AsyncIterator[Office]:
    async with AsyncExitStack() as stack:
        index = await stack.enter_async_context(MAKERS[request.param](database, tmp_path)())
        office = Office(database, LongTermMemory(database=database, embedder=WordEmbedder(), index=index))
        await office.open()
        yield office


async def by_recalling(office: Office, agent: Agent) -> str:
    return await office.run(agent, "memory_recall", query=SECRET)


async def by_listing(office: Office, agent: Agent) -> str:
    return await office.run(agent, "memory_list")


async def by_reading_turns(office: Office, agent: Agent) -> str:
    parts = ("result", "command", "notes")
    return " ".join([await office.run(agent, "read_turn", turn=1, part=part) for part in parts])


async def by_searching(office: Office, agent: Agent) -> str:
    found = await office.memories.search(agent.id, SECRET, office.origin(agent))
    return " ".join(one.memory.text for one in found.recalled)


async def by_paging(office: Office, agent: Agent) -> str:
    return " ".join(memory.text for memory in (await office.memories.page(agent.channel, agent.id)).memories)


async def by_exporting(office: Office, agent: Agent) -> str:
    return await office.memories.export(agent.channel, agent.id)


async def by_looking_back(office: Office, agent: Agent) -> str:
    later = an_agent(turns=4, remembered=1, digest=Digest(upto=1, summary="-"))
    turn = a_turn(later, number=4).decide(Approve(), by=ANA, at=NOON).start(NOON).finish(Succeeded(SECRET), NOON)
    seen = await recall_memories(office.memory, later, [turn], [], SpendingTracker())
    return " ".join(one.memory.text for one in seen.hidden)


WAYS = [by_recalling, by_listing, by_reading_turns, by_searching, by_paging, by_exporting, by_looking_back]


@pytest.mark.slow
@pytest.mark.proves("isolation:memory")
async def test_nothing_of_others_is_found_by_any_way(office: Office) -> None:
    found = {way.__name__: await way(office, ADA) for way in WAYS}
    assert [way for way, told in found.items() if "harmless words" not in told] == []
    assert [way for way, told in found.items() if "swordfish" in told] == []


@pytest.mark.slow
@pytest.mark.proves("isolation:memory")
async def test_ids_of_others_open_nothing(office: Office) -> None:
    for stranger, secret in zip(STRANGERS, office.secrets, strict=True):
        with pytest.raises(CommandError, match="Nothing is remembered under"):
            await office.run(ADA, "memory_forget", memory=secret.id)
        with pytest.raises(NotFound):
            await office.memories.forget(ADA.id, secret.id, office.origin(ADA))
        if stranger.channel != ADA.channel:
            with pytest.raises(NotFound):
                await office.memories.search(stranger.id, SECRET, office.origin(ADA))
            with pytest.raises(NotFound):
                await office.memories.export(ADA.channel, stranger.id)
        assert await by_paging(office, stranger) == SECRET


@pytest.mark.slow
@pytest.mark.proves("isolation:memory")
async def test_forgetting_everything_of_one_leaves_the_others_everything(office: Office) -> None:
    assert await office.memories.forget_all(ADA.id, office.origin(ADA)) == 1
    assert await by_searching(office, ADA) == ""
    for stranger in STRANGERS:
        assert await by_searching(office, stranger) == SECRET


@pytest.mark.slow
async def test_what_is_placed_anew_stays_where_it_was(office: Office) -> None:
    memory = LongTermMemory(database=office.database, embedder=WordEmbedder(name="other"), index=office.memory.index)
    clock = FakeClock()
    reindexer = Reindexer(database=office.database, memory=memory, ledger=office.ledger, clock=clock)
    assert await reindexer.index_all() == 1 + len(STRANGERS)
    assert await reindexer.index_all() == 0
    for agent in (ADA, *STRANGERS):
        (found,) = await memory.recall(agent, SECRET, 5, SpendingTracker())
        assert ("swordfish" in found.memory.text) is (agent is not ADA)
