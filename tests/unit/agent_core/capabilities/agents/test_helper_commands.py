"""Agents that help an agent: in its thread, with its files and its budget, and every step of theirs asked as well."""

from decimal import Decimal

import pytest

from adapters.screens.cards import status_text, turn_card
from adapters.typed.typed_text import typed
from agent_core.capabilities.agents.commands import AgentCommands
from agent_core.errors import CommandError, NotPossible
from agent_core.model.agent import Agent, Awaiting, Finished, Paused, Stopped, Thinking
from agent_core.model.decision import Approve, Policy
from agent_core.model.note import Note
from agent_core.model.turn import SeenProposal
from agent_core.testing.examples import CHANNEL
from agent_core.testing.files import InMemoryFiles
from agent_core.testing.language_model import ScriptedModel, reply_text
from agent_core.testing.stage import Stage
from agent_core.toolset.registry import CommandContext
from tests.wiring import actions_of

START = reply_text("start_agent", {"name": "Scout", "task": "Find strings", "prompt": "Only natural gut."})
WAIT = reply_text("do_nothing")
WRITE = reply_text("write_to_file", {"filename": "found.txt", "text": "gut"})
READ = reply_text("read_file", {"filename": "found.txt"})
DONE = reply_text("task_complete", {"reason": "It is in found.txt."})


def stage_of(*replies: str, cost: Decimal = Decimal(0)) -> Stage:
    stage = Stage(model=ScriptedModel(*replies, cost=cost))
    for command in AgentCommands(stage.helpers).commands:
        stage.commands.register(command)
    return stage


async def approve(stage: Stage, agent: Agent, *, times: int = 1) -> Agent:
    await stage.decide(agent, Approve(times))
    return await stage.wait_until_settled(agent)


async def with_helper(*replies: str, cost: Decimal = Decimal(0), **draft: object) -> tuple[Stage, Agent, Agent]:
    """An agent that asks its second question, and the helper it started, which asks its first."""
    stage = stage_of(START, *replies, cost=cost)
    head = await approve(stage, await stage.create(**draft))
    (helper,) = await stage.helpers.of(head)
    return stage, head, await stage.wait_until_settled(helper)


@pytest.mark.proves("helper:asks")
async def test_a_helper_works_in_the_same_thread_and_asks_for_every_step() -> None:
    stage, head, helper = await with_helper(WAIT, WRITE)
    assert (helper.thread, helper.policy, helper.owner) == (head.thread, head.policy, head.owner)
    assert isinstance(helper.status, Awaiting)
    assert turn_card(helper, await stage.turn(helper)).headline == "Clerk › Scout · turn 1 · write_to_file"
    assert "Only natural gut." in "\n".join(message.content for message in stage.script.prompts[-1])
    await stage.wait_until_settled(head)
    assert [notice.text for notice in stage.shown.notices] == ["Clerk started Scout: “Find strings”"]
    assert await stage.views.in_thread(stage.shown.threads[head.id]) == await stage.views.agent(CHANNEL, head.id)


def seen_now(stage: Stage) -> SeenProposal:
    """What somebody has seen who writes after all that was shown."""
    return SeenProposal(written_at=stage.clock.now())


@pytest.mark.slow
@pytest.mark.proves("helper:report")
async def test_an_agent_waits_for_its_helper_and_goes_on_with_its_report() -> None:
    stage, head, helper = await with_helper(WAIT, WRITE, DONE, READ)
    head = await approve(stage, head)
    assert head.status == Thinking(waits_for=("Scout",))
    assert status_text(head) == "waiting for Scout"
    helper = await approve(stage, await approve(stage, helper))
    assert helper.status == Finished("It is in found.txt.\nFiles: found.txt (3 bytes).")
    head = await stage.wait_until_settled(head)
    assert isinstance(head.status, Awaiting)
    said = stage.script.prompts[-1][-1].content
    report = "Helper “Scout”:\n> I am done. It is in found.txt.\n> Files: found.txt (3 bytes)."
    assert f"Agents that you work with wrote:\n{report}" in said
    await approve(stage, head)
    turns = (await stage.views.thread(CHANNEL, head.id)).turns.values()
    assert [turn.call.name for turn in turns] == [
        "start_agent",
        "do_nothing",
        "write_to_file",
        "task_complete",
        "read_file",
    ]


@pytest.mark.proves("helper:report")
async def test_an_agent_that_waits_for_a_helper_goes_on_when_a_person_deletes_it() -> None:
    stage, head, helper = await with_helper(WAIT, WRITE, DONE)
    head = await approve(stage, head)
    assert head.status == Thinking(waits_for=("Scout",))
    await stage.service.lifecycle.delete(helper.id, stage.origin())
    assert isinstance((await stage.wait_until_settled(head)).status, Awaiting)
    assert "Helper “Scout”:\n> @ana deleted me." in stage.script.prompts[-1][-1].content


@pytest.mark.proves("helper:budget")
async def test_what_helpers_spend_is_paid_from_the_budget_of_the_agent_they_help() -> None:
    stage, head, helper = await with_helper(WAIT, WRITE, cost=Decimal("0.30"), budget=Decimal(1))
    head = await stage.views.agent(CHANNEL, head.id)
    assert (head.budget.spent, helper.budget.spent) == (Decimal("0.90"), Decimal("0.30"))
    helper = await approve(stage, helper)
    assert isinstance(helper.status, Paused)
    assert "budget is reached" in helper.status.reason
    with pytest.raises(NotPossible, match="set that one's"):
        await stage.agent_settings.set_budget(helper.id, Decimal(5), stage.origin())


@pytest.mark.slow
@pytest.mark.proves("helper:stop")
async def test_stop_and_delete_reach_the_helpers_and_a_helper_alone_is_reported() -> None:
    stage, head, helper = await with_helper(WAIT, WRITE, DONE)
    await stage.service.lifecycle.stop(head.id, stage.origin())
    assert isinstance((await stage.views.agent(CHANNEL, helper.id)).status, Stopped)
    await stage.service.lifecycle.resume(helper.id, stage.origin())
    helper = await stage.wait_until_settled(helper)
    await stage.service.lifecycle.stop(helper.id, stage.origin())
    entries = (await stage.views.thread(CHANNEL, head.id)).entries
    notes = [entry for entry in entries if isinstance(entry, Note)]
    assert [note.text for note in notes if note.by.display == "Scout"] == ["@ana stopped me."]
    await stage.service.lifecycle.delete(head.id, stage.origin())
    assert await stage.views.agents(CHANNEL) == ()


async def test_approve_in_the_thread_is_for_the_helper_where_only_that_one_asks() -> None:
    stage, head, helper = await with_helper(WAIT, WRITE, DONE)
    await approve(stage, head)
    await actions_of(stage).say(head.id, typed("!approve"), stage.origin(), seen_now(stage))
    assert (await stage.turn(helper)).state == "approved"


@pytest.mark.slow
async def test_names_that_are_taken_get_a_number_and_helpers_are_few() -> None:
    stage, head, _ = await with_helper(WAIT, WRITE)
    context = CommandContext(agent=head, files=InMemoryFiles())
    run = stage.commands.get("start_agent").run
    for number in range(2, 6):
        told = await run({"name": "scout", "task": "Find more"}, context)
        assert told.text.startswith(f"scout {number} is started")
    with pytest.raises(CommandError, match="There are 5 helpers already"):
        await run({"name": "Sixth", "task": "Find more"}, context)
    second = (await stage.helpers.of(head))[1]
    deep = await stage.helpers.of(second)
    assert deep == ()
    listed = await stage.commands.get("list_agents").run({}, context)
    assert listed.text.splitlines()[0] == "1. Scout: asks people to approve its next command. Find strings"
    assert (await stage.commands.get("delete_agent").run({"key": "2"}, context)).text == "scout 2 is removed."


async def test_a_helpers_helper_starts_nobody() -> None:
    stage, _, helper = await with_helper(WAIT, WRITE)
    inner = await stage.helpers.start(helper, "Inner", "Look closer", "")
    with pytest.raises(CommandError, match="helper's helper"):
        await stage.helpers.start(inner, "Innermost", "Look closer still", "")
    assert (inner.head, inner.parent) == (helper.head, helper.id)


async def test_a_message_lets_a_helper_that_is_done_go_on_and_names_those_that_are_not_there() -> None:
    stage, head, helper = await with_helper(WAIT, DONE, WRITE)
    helper = await approve(stage, helper)
    context = CommandContext(agent=head, files=InMemoryFiles())
    message = stage.commands.get("message_agent")
    assert "reads this at its next turn" in (await message.run({"key": "Scout", "message": "More."}, context)).text
    assert isinstance((await stage.wait_until_settled(helper)).status, Awaiting)
    with pytest.raises(CommandError, match="Your helpers are: Scout"):
        await message.preview({"key": "Spy", "message": "Hello"}, context)


async def test_no_class_is_free_for_a_helper() -> None:
    policy = Policy(free=("write", "spend", "read"))
    stage = stage_of(START, WAIT, WRITE, DONE)
    head = await stage.create(policy=policy)
    (helper,) = await stage.helpers.of(head)
    helper = await stage.wait_until_settled(helper)
    assert isinstance(helper.status, Awaiting)
    assert helper.policy == Policy()
