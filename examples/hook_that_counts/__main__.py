"""Count what an agent runs under one Approve ×3."""

# ruff: noqa: T201 - an example prints

import asyncio
from collections import Counter
from dataclasses import dataclass, field

from agent_core.loop.command_runner import Extensions, NextHook
from agent_core.model.command import CommandCall, Result
from agent_core.model.decision import Approve
from agent_core.testing.language_model import ScriptedModel, reply_text
from agent_core.testing.stage import Stage
from agent_core.toolset.registry import CommandContext


@dataclass(frozen=True, slots=True)
class Counting:
    """How often each command ran, by how it ended. To refuse a call, return a Failed without calling `following`."""

    runs: Counter[str] = field(default_factory=Counter)

    async def __call__(self, call: CommandCall, context: CommandContext, following: NextHook) -> Result:
        """Let the call go on to the next hook, and at last to the command."""
        result = await following(call, context)
        self.runs[f"{call.name} {result.kind}"] += 1
        return result


async def main() -> None:
    """Play the story."""
    adding = [reply_text("append_to_file", {"filename": "log.txt", "text": f"{number}\n"}) for number in (1, 2)]
    model = ScriptedModel(*adding, reply_text("list_files"), reply_text("do_nothing"))
    counting = Counting()
    stage = Stage(model=model, extensions=Extensions(hooks=(counting,)))
    agent = await stage.create("Keep a log")
    await stage.decide(agent, Approve(times=3))
    agent = await stage.wait_until_settled(agent)
    for ended, number in counting.runs.items():
        print(f"{number} × {ended}")
    print(f"then {agent.name} asks for {(await stage.turn(agent)).call.name}")


if __name__ == "__main__":
    asyncio.run(main())
