"""The recipes of docs/how-to/policies.md, typed as they stand there, do what the page says."""

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from agent_core.capabilities.agents.finish import FINISH_COMMANDS
from agent_core.capabilities.files.commands import FILE_COMMANDS
from agent_core.errors import NotAllowed
from agent_core.model.decision import Approve
from agent_core.model.turn import Turn
from agent_core.testing.examples import ANA, BEN
from agent_core.testing.language_model import ScriptedModel, reply_text
from agent_core.testing.stage import Stage
from agent_core.toolset.registry import Command, Commands
from tests.scenario.chat import writing
from tests.scenario.core import CoreChat
from tests.scenario.surfaces import opened
from tests.scenario.team import SlackChat
from tests.scenario.test_signed_off import WAIT, clerk

PAGE = (Path(__file__).parents[2] / "docs" / "how-to" / "policies.md").read_text(encoding="utf-8")
LISTS = reply_text("list_files", {})
READS, WRITES = reply_text("read_file", {"filename": "report/1.md"}), writing("report/1.md", "one\n")


def recipe(title: str) -> list[str]:
    """The lines of the recipe under this heading."""
    found = re.search(rf"## {title}\n.*?```\n(.*?)```", PAGE, re.DOTALL)
    assert found, title
    return found[1].splitlines()


def posting(command: Command) -> Command:
    """A command as if it published what it writes."""
    is_write = command.spec.name == "write_to_file"
    return replace(command, spec=replace(command.spec, risks=("publish",))) if is_write else command


POSTS = Commands.of(*map(posting, FILE_COMMANDS), *FINISH_COMMANDS)


async def played(title: str, *replies: str, commands: Commands | None = None) -> tuple[Stage, Sequence[Turn]]:
    """The stage after the recipe was typed and the agent went as far as it may; its turns after the first."""
    stage = Stage(model=ScriptedModel(WAIT, *replies), commands=commands)
    chat = CoreChat(stage)
    async with stage.run():
        await chat.new_agent("Clerk", "writes", "Write a report")
        card = await chat.asks("do_nothing")
        for line in recipe(title):
            await chat.says(line)
        await card.press("Approve")
        agent = await stage.wait_until_settled(chat.agent)
        async with stage.database.begin() as work:
            return stage, (await work.turns.of(agent, last=40))[1:]


def unasked(turns: Sequence[Turn]) -> list[str]:
    """The commands that ran without asking, in order."""
    return [
        turn.call.name
        for turn in turns
        if turn.approvals and isinstance(turn.approvals[-1].decision, Approve) and turn.approvals[-1].decision.under
    ]


@pytest.mark.proves("recipes:policies")
async def test_a_team_of_three() -> None:
    _, turns = await played("A team of three", LISTS, WRITES)
    assert (unasked(turns), turns[-1].call.name, turns[-1].state) == (["list_files"], "write_to_file", "proposed")


@pytest.mark.proves("recipes:policies")
async def test_four_eyes_for_publish() -> None:
    stage, (turn,) = await played("Four eyes for publish", WRITES, commands=POSTS)
    assert turn.needs_two
    with pytest.raises(NotAllowed, match="you made Clerk"):
        await stage.service.decisions.decide(turn.id, Approve(), stage.origin(ANA), shown=turn.control_hash)
    _, first = await stage.service.decisions.decide(turn.id, Approve(), stage.origin(BEN), shown=turn.control_hash)
    assert (first.state, first.first_approval is not None) == ("proposed", True)


@pytest.mark.slow
@pytest.mark.proves("recipes:policies")
async def test_a_night_run() -> None:
    _, turns = await played("A night run", WRITES, READS, *(writing(f"report/{n}.md", "two\n") for n in range(2, 40)))
    names = unasked(turns)
    assert (names.count("write_to_file"), names.count("read_file")) == (30, 1)
    assert (len(turns), turns[-1].state) == (32, "proposed")


@pytest.mark.slow
@pytest.mark.proves("recipes:policies")
@pytest.mark.parametrize("title", ["Contractors", "A class room"])
async def test_leads_and_teachers(title: str, tmp_path: Path) -> None:
    async with opened("slack-http", ScriptedModel(WAIT, WRITES, WAIT), tmp_path) as scene:
        ana = await clerk(scene)
        assert isinstance(ana, SlackChat)
        ana.office.team.group("S1", "leads", [ana.office.ben])
        await (await ana.asks("do_nothing")).press("Approve")
        card = await ana.asks("write_to_file")
        for line in recipe(title):
            await ana.says(line.replace("@leads", "<!subteam^S1>").replace("@teacher", "<@U2>"))
        assert await ana.sees("@ana set the policy of this channel: who may change this: who may approve → ")
        ben, cam = await scene.join("ben", "member"), await scene.join("cam", "member")
        await (await cam.asks("write_to_file")).press("Approve")
        assert await cam.told("may not approve here")
        if title == "Contractors":
            await card.press("Approve")
            assert await ana.told("may not approve here: in this channel @leads may.")
        await cam.says("!policy channel reset")
        assert await cam.told("may not set the policy of this channel")
        await (await ben.asks("write_to_file")).press("Approve")
        await ben.asks("do_nothing")
        assert await ana.file("report/1.md") == "one\n"
