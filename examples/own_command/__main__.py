"""Give an agent the command, and approve what it does with it."""

# ruff: noqa: T201 - an example prints

import asyncio

from agent_core.capabilities.agents.finish import FINISH_COMMANDS
from agent_core.capabilities.files.commands import FILE_COMMANDS
from agent_core.model.agent import Awaiting
from agent_core.model.decision import Approve
from agent_core.testing.language_model import ScriptedModel, reply_text
from agent_core.testing.stage import Stage
from agent_core.toolset.registry import Commands
from examples.own_command.replace_text import REPLACE_TEXT

REPLIES = (
    reply_text("write_to_file", {"filename": "menu.txt", "text": "Black tea at 4, green tea at 5."}),
    reply_text("replace_text", {"filename": "menu.txt", "old": "tea", "new": "cake"}),
    reply_text("replace_text", {"filename": "menu.txt", "old": "soup", "new": "cake"}),
    reply_text("task_complete", {"reason": "The menu is better."}),
)


async def main() -> None:
    """Play the story."""
    commands = Commands.of(*FILE_COMMANDS, *FINISH_COMMANDS, REPLACE_TEXT)
    stage = Stage(model=ScriptedModel(*REPLIES), commands=commands)
    agent = await stage.create("Better the menu")
    while isinstance(agent.status, Awaiting):
        turn = await stage.turn(agent)
        if preview := turn.proposal.preview:
            print(f"{turn.call.name} · {preview.title}\n{preview.body}")
        await stage.service.decisions.decide(turn.id, Approve(), stage.origin(), shown=turn.control_hash)
        agent = await stage.wait_until_settled(agent)
    print((await stage.views.file(agent.channel, agent.id, "menu.txt")).decode())
    # There is no soup in the file: nobody was asked, and this is what the model was told instead.
    told = stage.script.prompts[-1][-1].content
    print(next(line for line in told.splitlines() if "could not be used" in line))


if __name__ == "__main__":
    asyncio.run(main())
