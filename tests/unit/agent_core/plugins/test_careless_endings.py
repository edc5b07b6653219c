"""Careless plugins where a run is cut short, where a process ended during it, and where they know a secret."""

import asyncio
from pathlib import Path
from typing import cast

import pytest

from agent_core.loop.command_runner import Extensions
from agent_core.model.agent import Agent
from agent_core.model.command import CommandCall, Interrupted, Result, Succeeded
from agent_core.model.decision import Approve
from agent_core.model.turn import Turn
from agent_core.oversight.secrets import Secrets
from agent_core.plugins import Plugin, RunOnce
from agent_core.testing.language_model import ScriptedModel, reply_text
from agent_core.testing.stage import Stage
from agent_core.toolset.redaction import redact_output
from agent_core.toolset.registry import CommandContext, Commands, FoundOutcome, NoArguments, declare
from tests.command_line import said
from tests.patience import PATIENCE_SECONDS
from tests.unit.agent_core.plugins.test_careless_runs import Offering, Wrapping, advance, fate
from tests.unit.agent_core.plugins.test_loading import PLUGIN, written
from tests.unit.agent_core.plugins.test_plugins import (
    DONE,
    FAMILIES,
    TEA,
    TOOLS,
    approve_all,
    plugins_of,
    results,
    stage_of,
)

KEY = "sk-hunter22hunter22hunter22"


async def steep(_given: NoArguments, _context: CommandContext) -> str:
    """Steep for ever."""
    return await asyncio.Future()


STEEP = declare(NoArguments, steep, label="Steep", risks=("write",), category="files")


async def test_a_wrapper_that_limits_the_time_of_a_run_costs_no_agent() -> None:
    async def limit(run: RunOnce) -> Result:
        async with asyncio.timeout(0):
            return await run()

    stage = stage_of(plugins_of(Wrapping(limit), Offering(STEEP)), reply_text("steep"), DONE)
    agent = await stage.create()
    await stage.decide(agent, Approve())
    assert fate(await advance(stage, agent)) == ""


async def test_a_plugin_that_fails_to_tell_what_became_of_a_command_costs_no_agent() -> None:
    async def forget(_given: NoArguments, _context: CommandContext) -> FoundOutcome:
        raise ZeroDivisionError("division")

    forgetful = declare(NoArguments, steep, None, forget, label="Steep", risks=("write",), category="files")
    stage = stage_of(plugins_of(Offering(forgetful)), reply_text("steep"), DONE)
    agent = await stage.create()
    await stage.decide(agent, Approve())
    async with stage.database.begin() as work:  # the process ends while it runs
        (turn,) = await work.turns.of(agent, last=1)
        work.turns.save(turn.start(stage.clock.now(), None))
        await work.commit()
    assert fate(await advance(stage, agent)) == ""
    assert (await stage.turn(agent)).state == "interrupted"


async def test_a_turn_whose_result_stop_saved_is_not_observed() -> None:
    observed: list[Turn] = []
    begun = asyncio.Event()

    class Watching(Plugin):
        """Notes every turn that it is told of."""

        async def observe_turn(self, _agent: Agent, turn: Turn) -> None:
            observed.append(turn)

    async def begin(run: RunOnce) -> Result:
        begun.set()
        return await run()

    stage = stage_of(plugins_of(Wrapping(begin), Watching(), Offering(STEEP)), reply_text("steep"), DONE)
    agent = await stage.create()
    async with stage.run(), asyncio.timeout(PATIENCE_SECONDS):
        await stage.decide(agent, Approve())
        await begun.wait()
        await stage.service.stop(agent.id, stage.origin())
        await stage.engine.drain(PATIENCE_SECONDS)
    assert [type(result) for result in await results(stage, agent)] == [Interrupted]
    assert observed == []


async def test_a_secret_in_the_result_of_a_wrapper_is_hidden() -> None:
    async def remark(run: RunOnce) -> Result:
        await run()
        return Succeeded(f"ran with {KEY}")

    found = plugins_of(Wrapping(remark))
    secrets = Secrets.of([KEY])
    commands = Commands.of(*(redact_output(each, secrets.redact) for each in found.commands(TOOLS, FAMILIES)))
    hooks = Extensions(hooks=(found.wrap_run,))
    stage = Stage(model=ScriptedModel(TEA, DONE), commands=commands, extensions=hooks, secrets=secrets)
    agent = await approve_all(stage, 1)
    assert KEY not in str(await results(stage, agent))


@pytest.mark.slow
async def test_a_secret_in_what_a_plugin_raises_is_not_printed_by_the_doctor(tmp_path: Path) -> None:
    folder = written(tmp_path / "plugins", tea=PLUGIN.format(name="Tea") + f"\nraise ValueError('bad key {KEY}')\n")
    _, output = await said(tmp_path, "doctor", SIGNOFF_HOME="home", PLUGINS_DIR=str(folder), OPENAI_API_KEY=KEY)
    assert KEY not in next(line for line in output.splitlines() if line.startswith("plugins"))


@pytest.mark.parametrize("risks", [("read",), ("write",)])
async def test_a_command_that_ends_the_program_by_its_arguments_does_not_end_signoff(risks: tuple[str, ...]) -> None:
    """A program's main that is called in the process ends it by SystemExit, at every restart if it only reads."""

    async def parse(_given: NoArguments, _context: CommandContext) -> str:
        """Parse nothing."""
        import argparse

        argparse.ArgumentParser(exit_on_error=True).parse_args(["--cup"])
        return "Parsed."

    added = declare(NoArguments, parse, label="Parse", risks=risks, category="files")
    stage = stage_of(plugins_of(Offering(added)), reply_text("parse"), DONE)
    agent = await stage.create()
    await stage.decide(agent, Approve())
    try:
        await stage.wait_until_settled(agent)
    except SystemExit:
        ended = True
    else:
        ended = False
    assert not ended


async def test_what_one_plugin_makes_of_a_call_or_a_turn_another_does_not_see() -> None:
    seen: list[object] = []

    class Spoiling(Plugin):
        """Changes what it is given."""

        name = "spoiling"

        async def wrap_run(self, call: CommandCall, _context: CommandContext, run: RunOnce) -> Result:
            cast("dict[str, object]", call.arguments)["text"] = "spoilt"
            return await run()

        async def observe_turn(self, _agent: Agent, turn: Turn) -> None:
            cast("dict[str, object]", turn.call.arguments)["text"] = "spoilt"

    class Reading(Plugin):
        """Reads what it is given."""

        name = "reading"

        async def wrap_run(self, call: CommandCall, _context: CommandContext, run: RunOnce) -> Result:
            seen.append(call.arguments["text"])
            return await run()

        async def observe_turn(self, _agent: Agent, turn: Turn) -> None:
            seen.append(turn.call.arguments["text"])

    await approve_all(stage_of(plugins_of(Spoiling(), Reading()), TEA, DONE), 1)
    assert seen == ["black tea at four"] * 2
