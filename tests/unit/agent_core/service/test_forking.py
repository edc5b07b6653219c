"""A fork begins with history, memory and files as they were after a turn; a dry run only says what it would do."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import partial
from typing import Any, cast

import pytest

from adapters.screens.cards import status_text, turn_card
from adapters.screens.turn_lines import line_of
from adapters.typed.management_commands import FORK
from agent_core.capabilities.files.commands import FILE_COMMANDS
from agent_core.errors import InvalidInput, NotAllowed, NotFound, NotPossible
from agent_core.loop.command_runner import Extensions, NextHook
from agent_core.model.agent import Agent, Finished
from agent_core.model.command import NO_DRY_RUN, CommandCall, Result, RiskClass, Succeeded
from agent_core.model.decision import Approve, Policy, Reject
from agent_core.model.origin import ChannelScope
from agent_core.model.records.audit import RAN
from agent_core.model.turn import changes_file
from agent_core.service.creating.creation import CreationLimits
from agent_core.spending.spending_tracker import SpendingTracker
from agent_core.testing.examples import ANA, BEN, CHANNEL
from agent_core.testing.files import InMemoryFiles, InMemoryWorkspaces
from agent_core.testing.language_model import ScriptedModel, reply_text
from agent_core.testing.stage import Stage
from agent_core.toolset import versions
from agent_core.toolset.registry import CommandContext, Commands


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
    await stage.workspaces.of(agent).write("large.txt", b"x" * 20_000_001)
    for _ in range(3):
        agent = await run(stage, agent)
    kept = await stage.service.forks.fork(agent.id, stage.origin(), turn=2)
    assert [each.path for each in await stage.workspaces.of(kept).list_files()] == ["a.txt", "large.txt"]
    await stage.workspaces.of(agent).write("large.txt", b"changed")
    fork = await stage.service.forks.fork(agent.id, stage.origin(), turn=2)
    assert [each.path for each in await stage.workspaces.of(fork).list_files()] == ["a.txt"]
    assert "Not kept from then, so they are missing: “large.txt”." in await told(stage, fork)


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
    with pytest.raises(InvalidInput, match="a turn between 1 and 3, the last one of Clerk that ended"):
        await stage.service.forks.fork(agent.id, stage.origin(), turn=turn)


async def test_an_agent_without_an_ended_turn_is_duplicated_instead() -> None:
    stage = stage_of()
    agent = await stage.create()
    with pytest.raises(NotPossible, match="Duplicate makes another agent"):
        await stage.service.forks.fork(agent.id, stage.origin())


async def test_versions_of_a_month_ago_are_forgotten_but_for_the_newest() -> None:
    stage = stage_of()
    agent = await agent_of_three_turns(stage)
    stage.fake_clock.advance(31 * 24 * 3600)
    await stage.retention.empty_trashes()
    fork = await stage.service.forks.fork(agent.id, stage.origin(), turn=1)
    assert "no file, as those of then are not kept," in await told(stage, fork)
    newest = await stage.service.forks.fork(agent.id, stage.origin(), turn=3)
    assert len(await stage.workspaces.of(newest).list_files()) == 2


@pytest.mark.proves("dry-run:simulates")
async def test_a_dry_run_reads_and_only_simulates_what_changes_something() -> None:
    model = ScriptedModel(writing("one"), reply_text("list_files"), reply_text("task_complete", {"reason": "ok"}))
    stage = Stage(model=model)
    agent = await stage.create(dry_run=True)
    assert status_text(agent) == "needs approval · dry run"
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
        (turn,) = await work.turns.of(real, last=9)
    assert isinstance(turn.result, Succeeded)
    assert (turn.result.output.endswith(NO_DRY_RUN), turn.is_simulated) == (True, True)
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
    spec = replace(
        Commands.of(*FILE_COMMANDS).get("read_file").spec, risks=risks, source=source, always_asks=always_asks
    )
    assert agent.simulates(spec) is is_dry
    assert not replace(agent, dry_run=False).simulates(spec)


async def test_a_rejected_turn_comes_along_with_its_reason() -> None:
    stage = stage_of()
    agent = await stage.create()
    await stage.decide(agent, Reject("Not so."), ANA)
    agent = await stage.wait_until_settled(agent)
    fork = await stage.service.forks.fork(agent.id, stage.origin(), turn=1)
    async with stage.database.begin() as work:
        (turn,) = await work.turns.of(fork, last=2)
    assert turn.state == "rejected"


@dataclass(slots=True)
class Meddled(InMemoryWorkspaces):
    """Workspaces in which something happens as soon as a fork copies files."""

    meanwhile: Callable[[], Awaitable[object]] | None = None

    def of(self, agent: Agent) -> InMemoryFiles:
        files = super(Meddled, self).of(agent)
        return cast("InMemoryFiles", MeddledFiles(files, self)) if self.meanwhile else files


@dataclass(slots=True)
class MeddledFiles:
    files: InMemoryFiles
    workspaces: Meddled

    def __getattr__(self, name: str) -> Any:
        return getattr(self.files, name)

    async def read(self, path: str) -> bytes:
        act, self.workspaces.meanwhile = self.workspaces.meanwhile, None
        if act:
            await act()
        return await self.files.read(path)


@pytest.mark.proves("fork:rights")
async def test_what_the_other_agent_reads_while_its_files_are_copied_counts_for_the_fork() -> None:
    stage = stage_of(workspaces := Meddled())
    agent = await agent_of_three_turns(stage)

    async def download() -> None:
        async with stage.database.begin() as work:
            work.agents.save(replace((await work.agents.get(CHANNEL, agent.id)).expose(), folder_tainted=True))
            await work.commit()

    workspaces.meanwhile = download
    fork = await stage.service.forks.fork(agent.id, stage.origin())
    assert (fork.exposed, fork.folder_tainted) == (True, True)


async def test_an_agent_that_is_deleted_while_its_files_are_copied_is_not_forked() -> None:
    stage = stage_of(workspaces := Meddled())
    agent = await agent_of_three_turns(stage)
    workspaces.meanwhile = partial(stage.service.lifecycle.delete, agent.id, stage.origin())
    with pytest.raises(NotFound):
        await stage.service.forks.fork(agent.id, stage.origin())
    assert [each.contents for each in workspaces.by_agent.values() if each.contents] == []


@pytest.mark.proves("fork:as-of-then")
async def test_what_a_stopped_command_wrote_is_there_after_its_turn() -> None:
    began = asyncio.Event()

    async def wait(call: CommandCall, context: CommandContext, following: NextHook) -> Result:
        result = await following(call, context)
        if call.arguments.get("text") == "two":
            began.set()
            await asyncio.Event().wait()
        return result

    model = ScriptedModel(writing("one"), writing("two"), writing("three"), *[WAIT] * 3)
    stage = Stage(model=model, extensions=Extensions(hooks=(wait,)))
    agent = await run(stage, await stage.create())
    async with stage.run():
        await stage.decide(agent, Approve())
        await began.wait()
        await stage.service.lifecycle.stop(agent.id, stage.origin())
    await stage.service.lifecycle.resume(agent.id, stage.origin())
    agent = await run(stage, await stage.wait_until_settled(agent))
    fork = await stage.service.forks.fork(agent.id, stage.origin(), turn=2)
    assert await stage.workspaces.of(fork).read("a.txt") == b"two"


@pytest.mark.parametrize("archive", [b"", b"PK\x05\x06", b"x" * 100])
async def test_a_damaged_version_is_as_one_that_is_not_kept(archive: bytes) -> None:
    stage = stage_of()
    agent = await agent_of_three_turns(stage)
    store = stage.workspaces.of(agent).versions
    for each in await store.list_files():
        await store.write(each.path, archive)
    fork = await stage.service.forks.fork(agent.id, stage.origin(), turn=1)
    assert "no file, as those of then are not kept," in await told(stage, fork)


async def test_the_oldest_versions_make_room_and_their_contents_are_kept_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(versions, "MAX_STORE_BYTES", 900)
    files = InMemoryFiles()
    await files.write("steady.txt", b"steady")
    for turn in range(1, 9):
        await files.write("a.txt", b"%d" % turn)
        await versions.keep_version(files, turn, distrusts_times=True)
    kept = [int(each.path) for each in await files.versions.list_files()]
    assert kept[-1] == 8
    assert len(kept) < 4
    assert await versions.restore_version(files, 1, InMemoryFiles()) is None
    assert await versions.restore_version(files, 8, restored := InMemoryFiles()) == versions.Restored(2, ())
    assert await restored.read("steady.txt") == b"steady"


@pytest.mark.proves("dry-run:simulates")
async def test_no_hook_and_no_synonym_makes_a_dry_run_act() -> None:
    async def turn_into(_call: CommandCall, context: CommandContext, following: NextHook) -> Result:
        return await following(CommandCall("write_file", {"filename": "real.txt", "text": "written"}), context)

    stage = Stage(model=ScriptedModel(reply_text("list_files"), WAIT), extensions=Extensions(hooks=(turn_into,)))
    agent = await stage.create(dry_run=True)
    for name in ("write_file", "gone"):
        simulated = await stage.loop.runner.run(agent, CommandCall(name, {}), SpendingTracker())
        assert isinstance(simulated, Succeeded)
        assert simulated.is_simulated
    agent = await run(stage, agent)
    assert await stage.workspaces.of(agent).list_files() == ()


async def test_what_was_only_simulated_says_so_in_every_fork_and_changes_no_file() -> None:
    stage = stage_of()
    agent = await run(stage, await stage.create(dry_run=True))
    real = await stage.service.forks.fork(agent.id, stage.origin(), for_real=True)
    async with stage.database.begin() as work:
        (turn,) = await work.turns.of(real, last=1)
    assert "dry run: only simulated" in turn_card(real, turn).footer
    assert line_of(turn).text == "1 write_to_file a.txt · +1 −0 · dry run: only simulated"
    assert not changes_file(turn, "a.txt")


async def test_copied_turns_are_no_habits_no_findings_and_no_work() -> None:
    stage = Stage(model=ScriptedModel(*[writing(str(number)) for number in range(6)], *[WAIT] * 3))
    agent = await stage.create()
    for _ in range(5):
        agent = await run(stage, agent)
    fork = await stage.service.forks.fork(agent.id, stage.origin(BEN))
    assert len(await stage.rules.list_habits(CHANNEL, agent.id)) == 1
    assert await stage.rules.list_habits(CHANNEL, fork.id) == ()
    async with stage.database.begin() as work:
        assert await work.turns.list_timings(CHANNEL, last=99, agent_id=fork.id) == ()
        found = await work.text_search.turns([CHANNEL], ["write_to_file"], most=99)
    assert {each.agent_id for each in found} == {agent.id}


@pytest.mark.parametrize(("said", "wanted"), [
    ("", (None, None, None)), ("12", (None, "12", "")), ("real", ("real", None, None)),
    ("real 3 in French", ("real", "3", " in French")), ("12 in French", (None, "12", " in French")),
])  # fmt: skip
def test_a_fork_is_typed_with_a_turn(said: str, wanted: tuple[str | None, ...]) -> None:
    found = FORK.fullmatch(said)
    assert found
    assert (found["real"], found["turn"], found["text"]) == wanted


@pytest.mark.parametrize("said", ["abc", "-1", "1.5", "real estate", "in French", "12x"])
def test_what_names_no_turn_is_no_fork(said: str) -> None:
    assert FORK.fullmatch(said) is None
