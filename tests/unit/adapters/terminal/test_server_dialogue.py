"""Tool servers of several agents that ask the person at the terminal at the same time."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace

import pytest

from adapters.terminal.line_reader import LineReader
from adapters.terminal.server_dialogue import ServerDialogue
from adapters.terminal.streams import Streams
from agent_core.model.actors import Origin
from agent_core.model.agent import Acting, Agent
from agent_core.model.decision import Approve
from agent_core.model.ids import AgentId, TurnId
from agent_core.model.server_question import AskedQuestion, QuestionField, ServerQuestion
from agent_core.model.turn import Turn
from agent_core.testing.clock import FakeClock
from agent_core.testing.examples import ANA, CHANNEL, NOON, a_turn, an_agent, keep
from agent_core.testing.stage import Stage
from tests.wiring import actions_of

pytestmark = pytest.mark.proves("mcp:form")

ADA = an_agent(status=Acting(asks=True), turns=1)
BEE = replace(ADA, id=AgentId("agent-bee"), name="Bee")


def asking(agent: Agent, server: str) -> Turn:
    question = ServerQuestion(message=f"Which {server}?", fields=(QuestionField(name="it"),))
    asked = AskedQuestion(id=f"{agent.id} asks", server=server, place=server, question=question, at=NOON)
    turn = replace(a_turn(agent), id=TurnId(f"turn of {agent.id}"))
    return turn.decide(Approve(), by=ANA, at=NOON).start(NOON).ask(asked)


@dataclass(slots=True, kw_only=True)
class Desk:
    """A dialogue with a keyboard, whose turns ask."""

    stage: Stage
    dialogue: ServerDialogue
    lines: asyncio.Queue[str | None]
    announced: asyncio.Event
    written: list[str]
    stopped: list[bool] = field(default_factory=list)

    async def type(self, line: str) -> None:
        self.lines.put_nowait(line)
        async with asyncio.timeout(5):
            await self.announced.wait()
        self.announced.clear()
        await self.dialogue.take_line()

    async def notes_of(self, agent: Agent) -> list[str]:
        async with self.stage.database.begin() as work:
            return [note.text for note in await work.notes.list_waiting(agent)]


@pytest.fixture
async def desk() -> AsyncIterator[Desk]:
    stage, lines, announced = Stage(clock=FakeClock(NOON)), asyncio.Queue[str | None](), asyncio.Event()
    written, stopped = list[str](), list[bool]()

    async def stop() -> None:
        stopped.append(True)

    reader = LineReader(
        streams=Streams(read=lines.get, write=written.append, can_ask=True),
        write=written.append,
        announce=announced.set,
    )
    dialogue = ServerDialogue(
        actions=actions_of(stage),
        origin=Origin(by=ANA, channel=CHANNEL),
        reader=reader,
        write=written.append,
        stop=stop,
        is_unasked=False,
    )
    for agent, server in ((ADA, "tea"), (BEE, "cake")):
        turn = asking(agent, server)
        await keep(stage.database, agent, turn)
        await dialogue.follow(turn)
    yield Desk(stage=stage, dialogue=dialogue, lines=lines, announced=announced, written=written, stopped=stopped)
    reader.halt()


async def test_the_prompt_says_which_of_two_servers_the_next_line_answers(desk: Desk) -> None:
    desk.dialogue.prompt()
    assert "The next line answers tea: Which tea?" in " ".join("".join(desk.written).split())


async def test_after_one_server_is_answered_the_other_can_be(desk: Desk) -> None:
    await desk.type("answer green")
    assert "Answer the server" in desk.written[-1]
    await desk.type("answer carrot")
    assert (await desk.notes_of(ADA), await desk.notes_of(BEE)) == (["answer green"], ["answer carrot"])


async def test_a_line_does_not_answer_again_what_its_call_has_not_read_yet(desk: Desk) -> None:
    await desk.type("answer green")
    await desk.dialogue.follow(asking(ADA, "tea"))  # the card is drawn again, with other output
    await desk.type("decline")
    assert (await desk.notes_of(ADA), await desk.notes_of(BEE)) == (["answer green"], ["decline"])


async def test_who_stops_the_agent_is_asked_nothing_more(desk: Desk) -> None:
    await desk.type("n")
    assert desk.stopped == [True]
    before = [*desk.written]
    desk.dialogue.prompt()
    assert desk.written == before
