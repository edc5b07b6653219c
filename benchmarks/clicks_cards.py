"""The cards that the clicks bench presses, as they are found after a restart, and what became of them."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path

from adapters.screens.buttons import Button
from agent_core.capabilities.files.commands import FILE_COMMANDS
from agent_core.capabilities.files.folder_workspace import FolderWorkspaces
from agent_core.model.agent import Agent, Awaiting
from agent_core.model.command import CommandCall, Preview, Proposal, Thoughts
from agent_core.model.draft import AgentDraft
from agent_core.model.ids import TurnId, new_id
from agent_core.model.model_calls import Usage
from agent_core.model.origin import Actor, ChannelScope, Origin, ThreadRef
from agent_core.model.turn import Turn
from agent_core.persistence.database import SqlDatabase
from agent_core.persistence.schema import upgrade
from agent_core.providers.clock import SystemClock
from agent_core.toolset.registry import CommandContext, Commands

CHANNELS = 60


@dataclass(slots=True, kw_only=True)
class Click:
    """One Approve: `ack` and `edit` are seconds after it was due, None while they did not come.

    `button`: what Slack sends back of the pressed button. `others`: as `ack`, of a second person's press of it, and of
    a repeated delivery.
    """

    card: str
    turn: str
    button: str
    due: float = 0.0
    ack: float | None = None
    edit: float | None = None
    statuses: list[int] = field(default_factory=list)
    others: list[float] = field(default_factory=list)


async def fill(home: Path, agents: int) -> list[Click]:
    """Save agents that ask in many channels, as they are found after a restart."""
    url = f"sqlite:///{home / 'signoff.db'}"
    await upgrade(url)
    database, now, clicks = SqlDatabase(url), SystemClock().now(), []
    preview = await compute_preview(home, now)
    for first in range(0, agents, 500):
        async with database.begin() as work:
            for number in range(first, min(first + 500, agents)):
                agent, turn = an_asking_agent(number, now, preview)
                card = f"1000.{number:06}"
                work.agents.add(agent)
                work.turns.add(turn)
                work.turns.mark_shown(turn, f"1.0/{card}", now)
                button = str(Button("approve", turn.id, shown=turn.control_hash))
                clicks.append(Click(card=f"{agent.channel.channel}/{card}", turn=turn.id, button=button))
            await work.commit()
    await database.close()
    return clicks


async def compute_preview(home: Path, now: datetime) -> Preview | None:
    """What the command is going to do, which is the same for every agent."""
    agent, turn = an_asking_agent(0, now, None)
    context = CommandContext(agent=agent, files=FolderWorkspaces(home / "workspaces").of(agent))
    return await Commands.of(*FILE_COMMANDS).get(turn.call.name).preview(turn.call.arguments, context)


def an_asking_agent(number: int, now: datetime, preview: Preview | None) -> tuple[Agent, Turn]:
    """An agent and its first proposal: a line added to a file."""
    channel = ChannelScope("slack", "T1", f"C{number % CHANNELS}")
    origin = Origin(by=Actor(id="U1", display="person-1", workspace="T1"), channel=channel)
    draft = AgentDraft(name=f"Clerk {number}", goals=("Keep notes",)).tidied()
    agent = replace(draft.made(origin, now).become(Awaiting(), now), thread=ThreadRef(channel, "1.0"), turns=1)
    call = CommandCall("append_to_file", {"filename": "notes.md", "text": "one line\n"})
    proposal = Proposal(thoughts=Thoughts(text="I add a line."), call=call, preview=preview)
    turn = Turn(
        id=TurnId(new_id(now)),
        agent_id=agent.id,
        channel=channel,
        number=1,
        proposal=proposal,
        risks=("write",),
        usage=Usage(prompt=1000, completion=300),
        proposed_at=now,
    )
    return agent, turn


async def count_lost_and_repeated(home: Path, clicks: Sequence[Click]) -> tuple[int, int]:
    """How many clicks were acknowledged but are not in the database or did not run, and how many ran twice."""
    database = SqlDatabase(f"sqlite:///{home / 'signoff.db'}")
    written = Counter[str]()  # lines, by the folders above each agent's file
    for path in (home / "workspaces").rglob("notes.md"):
        written.update(dict.fromkeys(path.parts, path.read_text().count("\n")))
    lost = twice = 0
    for click in clicks:
        channel = ChannelScope("slack", "T1", click.card.partition("/")[0])
        async with database.begin() as work:
            turn = await work.turns.get(channel, TurnId(click.turn))
        lost += click.ack is not None and (len(turn.approvals) != 1 or written[turn.agent_id] == 0)
        twice += written[turn.agent_id] > 1
    await database.close()
    return lost, twice
