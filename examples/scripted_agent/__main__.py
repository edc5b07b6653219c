"""Make an agent, approve what it asks, and read the file it wrote."""

# ruff: noqa: T201 - an example prints

import asyncio

from agent_core.model.agent import Awaiting
from agent_core.model.decision import Approve
from agent_core.testing.language_model import ScriptedModel, reply_text
from agent_core.testing.stage import Stage


async def main() -> None:
    """Play the story."""
    model = ScriptedModel(
        reply_text("write_to_file", {"filename": "haiku.txt", "text": "An old silent pond"}, "I begin the haiku."),
        reply_text("task_complete", {"reason": "The first line stands."}, "That will do."),
    )
    stage = Stage(model=model)
    agent = await stage.create("Write the first line of a haiku")
    while isinstance(agent.status, Awaiting):
        turn = await stage.turn(agent)
        print(f"{agent.name} asks for {turn.call.name}: {turn.proposal.thoughts.text}")
        await stage.service.decisions.decide(turn.id, Approve(), stage.origin(), shown=turn.control_hash)
        agent = await stage.wait_until_settled(agent)
    print(f"{agent.name} is {agent.status.kind}. haiku.txt holds:")
    print((await stage.views.file(agent.channel, agent.id, "haiku.txt")).decode())


if __name__ == "__main__":
    asyncio.run(main())
