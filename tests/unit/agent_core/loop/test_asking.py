"""A running command whose tool server asks: the card and the agent say so, until it is answered, stopped or dead."""

import asyncio
from dataclasses import dataclass, field

import pytest
from pydantic import BaseModel

from adapters.screens.cards import status_text, status_word, turn_card
from agent_core.capabilities.agents.finish import FINISH_COMMANDS
from agent_core.errors import NotPossible
from agent_core.loop.live_progress import OUTPUT_SECONDS
from agent_core.model.agent import Agent, Awaiting
from agent_core.model.decision import Approve
from agent_core.model.question import AskedQuestion, ServerQuestion
from agent_core.testing.clock import START
from agent_core.testing.database import TemporaryDatabase
from agent_core.testing.examples import ANA
from agent_core.testing.language_model import ScriptedModel, reply_text
from agent_core.testing.stage import Stage
from agent_core.toolset.registry import CommandContext, Commands, declare

ASKED = AskedQuestion(id="0" * 32, server="tea", place="tea", question=ServerQuestion(message="Sure?"), at=START)


class Nothing(BaseModel):
    """No arguments."""


@dataclass(slots=True)
class Asking:
    """A command that asks, and waits until a test lets it go on."""

    answered: asyncio.Event = field(default_factory=asyncio.Event)
    said: asyncio.Event = field(default_factory=asyncio.Event)
    ended: asyncio.Event = field(default_factory=asyncio.Event)

    async def pour(self, _given: Nothing, context: CommandContext) -> str:
        """Pour it."""
        context.ask(ASKED)
        await self.answered.wait()
        context.ask(ASKED.answer(ANA, START))
        self.said.set()
        await self.ended.wait()
        return "poured"


def stage_with(asking: Asking, database: TemporaryDatabase | None = None) -> Stage:
    pour = declare(Nothing, asking.pour, label="Pour", risks=("network",), category="code", outside=True)
    model = ScriptedModel(reply_text("pour"), reply_text("do_nothing"))
    return Stage(model=model, database=database, commands=Commands.of(pour, *FINISH_COMMANDS))


async def asked(stage: Stage) -> Agent:
    """The agent while its command waits; the stage is running."""
    agent = await stage.create()
    await stage.decide(agent, Approve())
    return agent


async def test_the_card_has_the_buttons_and_the_agent_waits_until_it_is_answered() -> None:
    asking = Asking()
    stage = stage_with(asking)
    agent = await asked(stage)
    async with stage.run():
        await stage.shown.until(lambda shown: any(turn.open_question for turn in shown.cards.values()))
        turn, waiting = await stage.turn(agent), await stage.views.agent(agent.channel, agent.id)
        assert [each.label for each in turn_card(waiting, turn).buttons] == ["Answer", "Decline", "Stop"]
        assert status_text(waiting) == "waiting for an answer to a tool server"
        assert status_word(waiting.status) == "needs approval"
        assert waiting.needs_people
        asking.answered.set()
        await asking.said.wait()
        await stage.fake_clock.until_sleeping()
        stage.fake_clock.advance(OUTPUT_SECONDS)
        await stage.shown.until(lambda shown: not any(turn.open_question for turn in shown.cards.values()))
        assert not (await stage.views.agent(agent.channel, agent.id)).needs_people
        asking.ended.set()
        await stage.shown.until(lambda shown: len(shown.cards) == 2)
    ended = stage.shown.cards[turn.id]
    assert ended.asked == ASKED.answer(ANA, START).without_texts()
    assert turn_card(waiting, ended).buttons == ()


@pytest.mark.proves("mcp:form")
async def test_a_restart_ends_the_question_and_puts_the_command_to_people() -> None:
    database = TemporaryDatabase()
    before = stage_with(Asking(), database)
    agent = await asked(before)
    async with before.run():
        await before.shown.until(lambda shown: any(turn.open_question for turn in shown.cards.values()))
    left = await before.views.agent(agent.channel, agent.id)
    assert left.asks
    after = stage_with(Asking(), database)
    settled = await after.wait_until_settled(agent)
    turn = await after.turn(agent)
    assert settled.status == Awaiting()
    assert (turn.state, turn.asked) == ("interrupted", None)
    with pytest.raises(NotPossible, match=r"Turn 1 is interrupted: its tool server asks nothing any more\."):
        await after.service.server_questions.decline(turn.id, after.origin(), shown=ASKED.id)
