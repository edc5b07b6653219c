"""What plugins cost a turn: a wrapper around its run, a look at it afterwards, and a hook of a plugin of AutoGPT."""

import asyncio
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from agent_core.capabilities.agents.finish import FINISH_COMMANDS
from agent_core.capabilities.files.commands import FILE_COMMANDS
from agent_core.loop.command_runner import Extensions
from agent_core.model.agent import Agent
from agent_core.model.command import RISK_CLASSES, CommandCall, Result
from agent_core.model.decision import Policy
from agent_core.model.turn import Turn
from agent_core.persistence.database import SqlDatabase
from agent_core.persistence.schema import upgrade
from agent_core.plugins import Plugin, RunOnce
from agent_core.plugins.loaded import LoadedPlugin
from agent_core.plugins.plugin_set import PluginSet
from agent_core.testing.language_model import ScriptedModel, reply_text
from agent_core.testing.stage import Stage
from agent_core.toolset.registry import CommandContext, Commands
from benchmarks.plugins_hooks import ask_hooks

RESULTS = Path(__file__).parent / "results"
NUMBERS, ROUNDS, TURNS = (0, 1, 5), 5, 200
MOST_RATIO = 1.1
MOST_OF_A_TURN, MOST_OF_WAKING = 0.25, 50.0


class Counting(Plugin):
    """Counts runs and turns."""

    def __init__(self) -> None:
        self.runs = self.turns = 0

    async def wrap_run(self, call: CommandCall, context: CommandContext, run: RunOnce) -> Result:
        """Count the run."""
        self.runs += 1
        return await run()

    async def observe_turn(self, agent: Agent, turn: Turn) -> None:
        """Count the turn."""
        self.turns += 1


def main() -> None:
    RESULTS.mkdir(exist_ok=True)
    found: dict[int, list[float]] = {number: [] for number in NUMBERS}
    for _ in range(ROUNDS):
        for number in NUMBERS:
            with tempfile.TemporaryDirectory(dir=RESULTS, prefix="plugins-") as folder:
                found[number].append(asyncio.run(play(Path(folder), number)))
    medians = {number: statistics.median(times) for number, times in found.items()}
    say(f"{'plugins':<10}{'ms a turn':>12}{'ratio':>8}")
    for number, each in medians.items():
        say(f"{number:<10}{each:>12.2f}{each / medians[0]:>8.2f}")
    ratio = medians[5] / medians[0]
    say(f"\nfive plugins at most {MOST_RATIO} ×: {ratio:.2f}, {'met' if ratio <= MOST_RATIO else 'not met'}")
    with tempfile.TemporaryDirectory(prefix="hooks-") as folder:
        awake, woken = asyncio.run(ask_hooks(Path(folder)))
    say(f"\nhook of AutoGPT's {awake:.2f} ms, of a stopped worker {woken:.2f} ms")
    hook, waking = awake / medians[0], woken / awake
    say(f"a hook at most {MOST_OF_A_TURN} of a turn: {hook:.2f}, {'met' if hook <= MOST_OF_A_TURN else 'not met'}")
    say(f"waking at most {MOST_OF_WAKING:g} hooks: {waking:.1f}, {'met' if waking <= MOST_OF_WAKING else 'not met'}")


async def play(folder: Path, number: int) -> float:
    """Let an agent that asks nobody write files; return the milliseconds that a turn took."""
    url = f"sqlite:///{folder}/signoff.db"
    await upgrade(url)
    database = SqlDatabase(url)
    plugins = PluginSet(loaded=[_loaded(each) for each in range(number)])
    extensions = Extensions(hooks=(plugins.wrap_run,), observers=(plugins.observe_turn,)) if number else Extensions()
    commands = Commands.of(*FILE_COMMANDS, *FINISH_COMMANDS)
    stage = Stage(model=ScriptedModel(*replies()), database=database, commands=commands, extensions=extensions)
    began = time.perf_counter()
    agent = await stage.create(policy=Policy(free=RISK_CLASSES))
    took = time.perf_counter() - began
    await database.close()
    if agent.status.kind != "finished" or any(each.fault for each in plugins.loaded):
        raise RuntimeError(f"the agent stopped at turn {agent.turns}: {agent.status}")
    return 1000 * took / agent.turns


def replies() -> Iterator[str]:
    """A file in each turn, in words that do not repeat. A summary takes one of the replies now and then."""
    for turn in range(TURNS):
        given = {"filename": f"{turn:x}.txt", "text": f"{turn * 7919:x} of {turn**3:x}\n"}
        yield reply_text("write_to_file", given, text=f"Next comes {turn * 104729:x}.")
    yield reply_text("task_complete", {"reason": "All is written."})


def _loaded(number: int) -> LoadedPlugin:
    return LoadedPlugin(name=f"counting-{number}", version="1", source="bench", plugin=Counting())


def say(text: str) -> None:
    sys.stdout.write(text + "\n")


if __name__ == "__main__":
    main()
