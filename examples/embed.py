"""An agent inside your own program: on doubles, and on SQLite with the endpoint that OPENAI_BASE_URL names, if set."""

import asyncio
import os
import sys
from pathlib import Path

from agent_core.headless import HeadlessSurface, open_core, run_agent, summarise_run
from agent_core.model.agent import Agent
from agent_core.model.decision import Approve, Decision, Reject
from agent_core.model.draft import AgentDraft
from agent_core.model.turn import Turn
from agent_core.testing.language_model import ScriptedModel, reply_text
from agent_core.testing.stage import Stage

DRAFT = AgentDraft(name="Clerk", goals=("Write 'Tea at four.' into tea.txt, then finish",))
REPLIES = (
    reply_text("write_to_file", {"filename": "tea.txt", "text": "Tea at four."}),
    reply_text("task_complete", {"reason": "It is written."}),
)


async def decide(agent: Agent, turn: Turn) -> Decision:
    print(f"{agent.name} asks for {turn.call.name} {dict(turn.call.arguments)}. Run it? [y, or why not]")
    answer = (await asyncio.to_thread(sys.stdin.readline)).strip()
    return Approve() if answer == "y" else Reject(answer)


async def on_doubles() -> str:
    stage = Stage(model=ScriptedModel(*REPLIES), surface=HeadlessSurface())
    return summarise_run(await run_agent(stage.core, DRAFT, decide))


async def on_sqlite(folder: Path, base_url: str) -> str:
    key, model = os.environ.get("OPENAI_API_KEY", ""), os.environ.get("SMART_MODEL", "")
    async with open_core(folder, base_url=base_url, api_key=key, model=model) as core:
        return summarise_run(await run_agent(core, DRAFT, decide, notify=print))


if __name__ == "__main__":
    base_url = os.environ.get("OPENAI_BASE_URL")
    print(asyncio.run(on_sqlite(Path("agents"), base_url) if base_url else on_doubles()))
