"""Tool servers of several agents that ask the person at the terminal at the same time."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from functools import partial

import pytest
from rich.text import Text

from adapters.terminal.line_reader import LineReader
from adapters.terminal.server_dialogue import ServerDialogue
from adapters.terminal.streams import Streams
from agent_core.model.agent import Acting, Agent
from agent_core.model.decision import Approve
from agent_core.model.ids import AgentId, TurnId
from agent_core.model.origin import Origin
from agent_core.model.question import AskedQuestion, QuestionField, ServerQuestion
from agent_core.model.turn import Turn
from agent_core.testing.clock import FakeClock
from agent_core.testing.examples import ANA, CHANNEL, NOON, a_turn, an_agent, keep
from agent_core.testing.stage import Stage
from tests.wiring import actions_of

pytestmark = pytest.mark.proves("mcp:form")

ADA = an_agent(status=Acting(asks=True), turns=1)
BEE = replace(ADA, id=AgentId("agent-bee"), name="Bee")


IT, CUPS = QuestionField(name="it"), QuestionField(name="cups", kind="whole number", is_required=True)


def asking(agent: Agent, server: str, *fields: QuestionField) -> Turn:
    question = ServerQuestion(message=f"Which {server}?", fields=fields)
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
    forgotten: list[bool] = field(default_factory=list)

    async def type(self, line: str) -> None:
        self.lines.put_nowait(line)
        async with asyncio.timeout(5):
            await self.announced.wait()
        self.announced.clear()
        await self.dialogue.take_line()

    async def answer_of(self, agent: Agent) -> tuple[str, ...] | None:
        """What was filled in; None if it was declined."""
        asked = (await self.stage.turn(agent)).asked
        assert asked is not None
        assert asked.answered_by == ANA
        return None if asked.is_declined else asked.written


@pytest.fixture
async def desk() -> AsyncIterator[Desk]:
    stage, lines, announced = Stage(clock=FakeClock(NOON)), asyncio.Queue[str | None](), asyncio.Event()
    written, stopped, forgotten = list[str](), list[bool](), list[bool]()

    def write(text: Text | str) -> None:
        written.append(str(text))

    async def stop() -> None:
        stopped.append(True)

    reader = LineReader(
        streams=Streams(read=lines.get, write=write, can_ask=True, forget=partial(forgotten.append, True)),
        announce=announced.set,
    )
    dialogue = ServerDialogue(
        actions=actions_of(stage),
        origin=Origin(by=ANA, channel=CHANNEL),
        reader=reader,
        stop=stop,
        is_unasked=False,
    )
    for agent, server, fields in ((ADA, "tea", (IT, CUPS)), (BEE, "cake", ())):
        turn = asking(agent, server, *fields)
        await keep(stage.database, agent, turn)
        await dialogue.follow(turn)
    desk = Desk(stage=stage, dialogue=dialogue, lines=lines, announced=announced, written=written, stopped=stopped)
    yield replace(desk, forgotten=forgotten)
    reader.halt()


async def test_the_prompt_says_which_of_two_servers_the_next_line_answers(desk: Desk) -> None:
    desk.dialogue.prompt()
    assert "The next line answers tea: Which tea?" in " ".join("".join(desk.written).split())


async def test_lines_that_are_older_than_the_first_question_are_dropped(desk: Desk) -> None:
    assert desk.forgotten == [True]


async def test_one_field_is_asked_after_the_other_and_a_wrong_one_again(desk: Desk) -> None:
    desk.dialogue.prompt()
    assert "Answer the server: it: a text, may be left out · decline · stop" in desk.written[-1]
    await desk.type("")
    assert "Answer the server: cups: a whole number" in desk.written[-1]
    for wrong in ("many", "", "n"):  # a key elsewhere, and no order here
        await desk.type(wrong)
    told = " ".join("".join(desk.written).split())
    assert "Nothing was sent: cups must be a whole number." in told
    assert "Nothing was sent: cups is missing." in told
    await desk.type("2")
    assert await desk.answer_of(ADA) == ("", "2")


async def test_after_one_server_is_answered_the_other_can_be(desk: Desk) -> None:
    await desk.type("green")
    await desk.type("2")
    assert "Answer the server: yes · decline · stop" in desk.written[-1]
    await desk.type("perhaps")
    assert "Answer the server: yes" in desk.written[-1]
    await desk.type("yes")
    assert (await desk.answer_of(ADA), await desk.answer_of(BEE)) == (("green", "2"), ())


async def test_an_answer_that_is_too_long_is_told_and_begins_again(desk: Desk) -> None:
    await desk.type("x" * 5_000)
    await desk.type("2")
    assert "5,001" in "".join(desk.written)
    assert "Answer the server: it" in desk.written[-1]
    await desk.type("green")
    await desk.type("2")
    assert await desk.answer_of(ADA) == ("green", "2")


async def test_a_line_does_not_answer_again_what_its_call_has_not_read_yet(desk: Desk) -> None:
    await desk.type("green")
    await desk.type("2")
    await desk.dialogue.follow(asking(ADA, "tea", IT, CUPS))  # the card is drawn again, with other output
    await desk.type("decline")
    assert (await desk.answer_of(ADA), await desk.answer_of(BEE)) == (("green", "2"), None)


async def test_who_stops_the_agent_is_asked_nothing_more(desk: Desk) -> None:
    await desk.type("stop")
    assert desk.stopped == [True]
    before = [*desk.written]
    desk.dialogue.prompt()
    assert desk.written == before
