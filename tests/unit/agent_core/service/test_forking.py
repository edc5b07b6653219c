"""A fork begins with history, memory and files as they were after a turn; a dry run only says what it would do."""

from dataclasses import replace
from decimal import Decimal

import pytest

from adapters.screens.cards import status_text
from agent_core.errors import InvalidInput, NotAllowed, NotFound, NotPossible
from agent_core.model.agent import Agent, Finished
from agent_core.model.command import RiskClass, Succeeded
from agent_core.model.decision import Approve, Policy, Reject
from agent_core.model.origin import ChannelScope
from agent_core.model.records.audit import RAN
from agent_core.service.creating.creation import CreationLimits
from agent_core.service.creating.forking import FOR_REAL
from agent_core.testing.examples import ANA, BEN, CHANNEL
from agent_core.testing.files import InMemoryWorkspaces
from agent_core.testing.language_model import ScriptedModel, reply_text
from agent_core.testing.stage import Stage


def writing(text: str, name: str = "a.txt") -> str:
    return reply_text("write_to_file", {"filename": name, "text": text})


WAIT = reply_text("do_nothing")


async def run(stage: Stage, agent: Agent) -> Agent:
    await stage.decide(agent, Approve())
    return await stage.wait_until_settled(agent)


async def agent_of_three_turns(stage: Stage) -> Agent:
    """An agent that wrote "one", "two" and "three" into a.txt and b.txt, and proposes the fourth turn."""
    agent = await stage.create()
    for _ in range(3):
        agent = await run(stage, agent)
    return agent


def stage_of(workspaces: InMemoryWorkspaces | None = None) -> Stage:
    return Stage(
        workspaces=workspaces,
        model=ScriptedModel(writing("one"), writing("two"), writing("three", "b.txt"), *[WAIT] * 9),
    )


async def told(stage: Stage, agent: Agent) -> str:
    async with stage.database.begin() as work:
        return "\n".join(each.text for each in await work.notes.notices(agent))


@pytest.mark.proves("fork:as-of-then")
async def test_a_fork_has_turns_memory_and_files_of_then_and_the_other_agent_keeps_its_own() -> None:
    stage = stage_of()
    agent = await agent_of_three_turns(stage)
    fork = await stage.service.forks.fork(agent.id, stage.origin(BEN), turn=1, text="Write it in French.")
    assert (fork.name, fork.owner, fork.turns, fork.budget.spent) == ("Clerk 2", BEN, 1, Decimal(0))
    assert await stage.workspaces.of(fork).read("a.txt") == b"one"
    assert [each.path for each in await stage.workspaces.of(fork).list_files()] == ["a.txt"]
    assert await stage.workspaces.of(agent).read("a.txt") == b"two"
    async with stage.database.begin() as work:
        (turn,) = await work.turns.of(fork, last=9)
        (note,) = await work.notes.list_waiting(fork)
        memories = await work.memories.of(fork, most=99)
        assert [each.turn for each in memories] == [
            each.turn for each in await work.memories.of(agent, most=99) if each.turn <= 1
        ]
    assert (turn.call.arguments["text"], str(turn.usage.cost), note.text) == ("one", "0", "Write it in French.")
    assert "@ben forked Clerk after turn 1: 1 turn, 1 memory and 1 file came along." in await told(stage, fork)
    settled = await stage.wait_until_settled(fork)
    assert (settled.turns, (await stage.turn(settled)).number) == (2, 2)
    assert "Write it in French." in str(stage.script.prompts[-1])


async def test_a_fork_of_the_last_turn_has_the_files_of_now_and_leaves_the_open_proposal_out() -> None:
    stage = stage_of()
    agent = await agent_of_three_turns(stage)
    await stage.workspaces.of(agent).write("later.txt", b"given")
    fork = await stage.service.forks.fork(agent.id, stage.origin())
    assert (fork.turns, agent.turns) == (3, 4)
    assert [each.path for each in await stage.workspaces.of(fork).list_files()] == ["a.txt", "b.txt", "later.txt"]
    assert (await stage.turn(agent)).state == "proposed"


async def test_a_deleted_file_is_there_again_and_a_large_one_is_named_as_missing() -> None:
    stage = Stage(
        model=ScriptedModel(WAIT, writing("one"), reply_text("delete_file", {"filename": "a.txt"}), *[WAIT] * 4)
    )
    agent = await stage.create()
    await stage.workspaces.of(agent).write("large.txt", b"x" * 5_000_001)
    for _ in range(3):
        agent = await run(stage, agent)
    kept = await stage.service.forks.fork(agent.id, stage.origin(), turn=2)
    assert [each.path for each in await stage.workspaces.of(kept).list_files()] == ["a.txt", "large.txt"]
    await stage.workspaces.of(agent).write("large.txt", b"changed")
    fork = await stage.service.forks.fork(agent.id, stage.origin(), turn=2)
    assert [each.path for each in await stage.workspaces.of(fork).list_files()] == ["a.txt"]
    assert "Not kept from then, so they are missing: large.txt." in await told(stage, fork)


@pytest.mark.proves("fork:rights")
async def test_who_may_create_no_agent_forks_none_and_no_other_channel_does() -> None:
    stage = stage_of(workspaces := InMemoryWorkspaces())
    agent = await agent_of_three_turns(stage)
    with pytest.raises(NotAllowed):
        await stage.service.forks.fork(agent.id, stage.origin(replace(BEN, kind="guest")))
    with pytest.raises(NotFound):
        await stage.service.forks.fork(agent.id, replace(stage.origin(), channel=ChannelScope("web", "local", "other")))
    full = replace(stage.service.forks, limits=CreationLimits(agents_per_channel=1))
    with pytest.raises(NotPossible, match="has 1 agents, which is the most"):
        await full.fork(agent.id, stage.origin())
    assert len(await stage.views.agents(CHANNEL)) == 1
    assert len(workspaces.by_agent) == 1


@pytest.mark.proves("fork:rights")
async def test_a_fork_asks_for_what_ran_unasked_and_keeps_what_was_read_from_outside() -> None:
    stage = stage_of()
    agent = await stage.create(policy=Policy(free=("write",)))
    async with stage.database.begin() as work:
        work.agents.save((await work.agents.get(CHANNEL, agent.id)).expose())
        await work.commit()
    fork = await stage.service.forks.fork(agent.id, stage.origin(), turn=1)
    assert (fork.policy.free, fork.exposed, fork.lease) == ((), True, None)


async def test_the_same_delivery_forks_once() -> None:
    stage = stage_of(workspaces := InMemoryWorkspaces())
    agent = await agent_of_three_turns(stage)
    first = await stage.service.forks.fork(agent.id, stage.origin(delivery="one"))
    again = await stage.service.forks.fork(agent.id, stage.origin(delivery="one"))
    assert (first.id, len(await stage.views.agents(CHANNEL))) == (again.id, 2)
    assert len(workspaces.by_agent) == 2


@pytest.mark.parametrize("turn", [0, 5, -1])
async def test_a_turn_that_is_not_there_is_refused_with_those_that_are(turn: int) -> None:
    stage = stage_of()
    agent = await agent_of_three_turns(stage)
    with pytest.raises(InvalidInput, match="a turn between 1 and 4"):
        await stage.service.forks.fork(agent.id, stage.origin(), turn=turn)


async def test_an_agent_without_an_ended_turn_is_duplicated_instead() -> None:
    stage = stage_of()
    agent = await stage.create()
    with pytest.raises(NotPossible, match="/agent duplicate"):
        await stage.service.forks.fork(agent.id, stage.origin())


async def test_versions_of_a_month_ago_are_forgotten_but_for_the_newest() -> None:
    stage = stage_of()
    agent = await agent_of_three_turns(stage)
    stage.fake_clock.advance(31 * 24 * 3600)
    await stage.retention.empty_trashes()
    fork = await stage.service.forks.fork(agent.id, stage.origin(), turn=1)
    assert "no file, as none is known from then," in await told(stage, fork)
    newest = await stage.service.forks.fork(agent.id, stage.origin(), turn=3)
    assert len(await stage.workspaces.of(newest).list_files()) == 2


@pytest.mark.proves("dry-run:simulates")
async def test_a_dry_run_reads_and_only_simulates_what_changes_something() -> None:
    model = ScriptedModel(writing("one"), reply_text("list_files"), reply_text("task_complete", {"reason": "ok"}))
    stage = Stage(model=model)
    agent = await stage.create(dry_run=True)
    assert status_text(agent) == "waiting for a decision · dry run"
    await stage.workspaces.of(agent).write("there.txt", b"x")
    agent = await run(stage, agent)
    assert [each.path for each in await stage.workspaces.of(agent).list_files()] == ["there.txt"]
    async with stage.database.begin() as work:
        first, _ = await work.turns.of(agent, last=2)
        ran = [each for each in await work.audit.of(agent) if each.act == RAN]
    assert isinstance(first.result, Succeeded)
    assert first.result.output.startswith("Dry run: write_to_file was only simulated.")
    assert ran[0].detail == "dry run: only simulated"
    agent = await run(stage, agent)
    async with stage.database.begin() as work:
        _, second, _ = await work.turns.of(agent, last=3)
    assert isinstance(second.result, Succeeded)
    assert "there.txt" in second.result.output
    assert isinstance((await run(stage, agent)).status, Finished)


@pytest.mark.proves("dry-run:for-real")
async def test_a_dry_run_forks_one_that_acts_and_reads_that_nothing_was_done() -> None:
    stage = stage_of()
    agent = await run(stage, await stage.create(dry_run=True))
    assert (await stage.service.forks.fork(agent.id, stage.origin(), turn=1)).dry_run
    real = await stage.service.forks.fork(agent.id, stage.origin(), for_real=True)
    assert (real.dry_run, real.name) == (False, "Clerk 3")
    async with stage.database.begin() as work:
        assert [each.text for each in await work.notes.list_waiting(real)] == [FOR_REAL]
    with pytest.raises(NotPossible, match="is no dry run"):
        await stage.service.forks.fork(real.id, stage.origin(), for_real=True)


@pytest.mark.parametrize(
    ("risks", "source", "always_asks", "is_dry"),
    [
        (("read",), "", False, False),
        (("network",), "", False, False),
        (("network",), "mail 1.0", False, True),
        (("read", "network"), "mail 1.0", False, False),
        (("read", "network"), "mail 1.0", True, True),
        (("write",), "", False, True),
        (("spend",), "", False, True),
    ],
)
async def test_what_is_simulated(risks: tuple[RiskClass, ...], source: str, always_asks: bool, is_dry: bool) -> None:
    agent = await stage_of().create(dry_run=True)
    assert agent.simulates(risks, source, always_asks=always_asks) is is_dry
    assert not replace(agent, dry_run=False).simulates(risks, source, always_asks=always_asks)


async def test_a_rejected_turn_comes_along_with_its_reason() -> None:
    stage = stage_of()
    agent = await stage.create()
    await stage.decide(agent, Reject("Not so."), ANA)
    agent = await stage.wait_until_settled(agent)
    fork = await stage.service.forks.fork(agent.id, stage.origin(), turn=1)
    async with stage.database.begin() as work:
        (turn,) = await work.turns.of(fork, last=2)
    assert turn.state == "rejected"
