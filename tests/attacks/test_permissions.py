"""What rules, leases, forks and dry runs let through that nobody granted."""

from datetime import UTC, datetime

import pytest

from adapters.typed.form_values import parse_limits
from adapters.typed.standing_rules import parse_rule
from agent_core.errors import InvalidInput
from agent_core.loop.command_runner import Extensions
from agent_core.model.agent import Agent
from agent_core.model.decision import Approve, PolicyChange
from agent_core.model.permissions import Condition
from agent_core.model.turn import Turn
from agent_core.testing.language_model import ScriptedModel, reply_text
from agent_core.testing.stage import Stage
from agent_core.toolset.versions import keep_version
from tests.unit.agent_core.loop.test_loop import start_newest

NOW = datetime(2026, 3, 14, 12, tzinfo=UTC)
WAIT = reply_text("do_nothing")


def writing(text: str, name: str = "a.txt") -> str:
    return reply_text("write_to_file", {"filename": name, "text": text})


def appending(text: str) -> str:
    return reply_text("append_to_file", {"filename": "a.txt", "text": text})


async def decided(stage: Stage, agent: Agent, approve: Approve | None = None) -> Agent:
    await stage.decide(agent, approve or Approve())
    return await stage.wait_until_settled(agent)


@pytest.mark.parametrize(("said", "only"), [("only Write", ("write",)), ("ONLY read Write", ("read", "write"))])
def test_classes_in_capitals_are_no_wider_approval(said: str, only: tuple[str, ...]) -> None:
    assert parse_limits(said, NOW).only == only


async def test_an_approval_for_reading_in_capitals_is_not_granted_on_a_write() -> None:
    stage = Stage(model=ScriptedModel(writing("1"), writing("2")))
    with pytest.raises(InvalidInput, match="name that too"):
        await stage.decide(await stage.create(), Approve(5, limits=parse_limits("only Read", NOW)))


@pytest.mark.parametrize(
    "arguments", [{"directory": "secret"}, {"directory": "./secret/"}, {"directory": "."}, {"directory": ""}, {}]
)
async def test_what_never_runs_in_a_folder_does_not_run_on_it_or_above_it(arguments: dict[str, object]) -> None:
    search = reply_text("search_files", {**arguments, "query": "token"})
    stage = Stage(model=ScriptedModel(writing("hi"), search, writing("hi")))
    agent = await stage.create()
    await stage.workspaces.of(agent).write("secret/keys.txt", b"token=abc123\n")
    await stage.agent_settings.set_policy(agent.id, PolicyChange(free=("read",)), stage.origin())
    await stage.rules.make(agent.id, parse_rule("never search_files directory in secret/**"), stage.origin())
    agent = await decided(stage, agent)
    async with stage.database.begin() as work:
        turns = await work.turns.of(agent, last=9)
    assert [each.call.name for each in turns if each.state == "done"] == ["write_to_file"]


@pytest.mark.parametrize("path", ["secrets", "other/secret", "a.txt", "secret.txt"])
def test_a_rule_about_a_folder_is_not_about_others(path: str) -> None:
    assert Condition("filename", "in", "secret/**").fits({"filename": path}) is False


@pytest.mark.parametrize("pattern", ["**", "**/*", "*/**", "**/**", "?*/**"])
async def test_a_rule_that_covers_every_file_is_refused(pattern: str) -> None:
    stage = Stage(model=ScriptedModel(writing("hi")))
    agent = await stage.create()
    with pytest.raises(InvalidInput, match="would cover nothing or everything"):
        await stage.rules.make(agent.id, parse_rule(f"allow write_to_file filename in {pattern}"), stage.origin())


@pytest.mark.parametrize("line", ["git push", "cd x; git push", "git  push", "git -C . push", "git --no-pager push"])
def test_never_git_push_holds_with_options_of_git(line: str) -> None:
    assert Condition("command_line", "runs", "git push").fits({"command_line": line}) is not False


async def test_three_commands_run_by_an_approval_of_three_of_which_one_was_cut_off() -> None:
    stage = Stage(model=ScriptedModel(*(writing("x", f"{number}.txt") for number in range(6))))
    agent = await stage.create()
    await start_newest(stage, agent, times=3)
    await stage.workspaces.of(agent).write("0.txt", b"half")  # and the process dies
    turn = await stage.turn(await stage.wait_until_settled(agent))
    await stage.workspaces.of(agent).delete("0.txt")
    await stage.service.decisions.settle(turn.id, "run again", stage.origin(), shown=turn.control_hash)
    agent = await stage.wait_until_settled(agent)
    async with stage.database.begin() as work:
        ran = [each.number for each in await work.turns.of(agent, last=9) if each.state == "done"]
    assert ran == [1, 2, 3]


async def test_a_fork_of_before_a_command_that_ran_again_has_the_files_of_before() -> None:
    stage = Stage(model=ScriptedModel(appending("one\n"), appending("two\n"), *[WAIT] * 5))
    agent = await decided(stage, await stage.create())
    turn, files = await stage.turn(agent), stage.workspaces.of(agent)
    await keep_version(files, turn.number, distrusts_times=False)
    await start_newest(stage, agent)
    await files.write("a.txt", b"one\ntw")  # and the process dies
    agent = await stage.wait_until_settled(agent)
    turn = await stage.turn(agent)
    await stage.service.decisions.settle(turn.id, "run again", stage.origin(), shown=turn.control_hash)
    agent = await stage.wait_until_settled(agent)
    fork = await stage.service.forks.fork(agent.id, stage.origin(), turn=1)
    assert await stage.workspaces.of(fork).read("a.txt") == b"one\n"


async def test_no_plugin_learns_of_a_turn_of_a_dry_run() -> None:
    sent: list[str] = []

    async def post(_agent: Agent, turn: Turn) -> None:
        sent.append(turn.call.name)

    stage = Stage(model=ScriptedModel(writing("one"), WAIT), extensions=Extensions(observers=(post,)))
    await decided(stage, await stage.create(dry_run=True))
    assert sent == []
