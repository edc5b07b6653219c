"""Example agents, turns, notes, notices and log entries for tests; keyword arguments replace fields."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from agent_core.model.agent import Agent
from agent_core.model.command import CommandCall, Proposal, Thoughts
from agent_core.model.ids import AgentId, NoteId, NoticeId, TurnId
from agent_core.model.model_calls import Usage
from agent_core.model.note import Note, Notice
from agent_core.model.origin import Actor, ChannelScope
from agent_core.model.records.audit import AuditEntry
from agent_core.model.turn import Turn
from agent_core.ports.database import Database

NOON = datetime(2026, 3, 14, 12, tzinfo=UTC)
CHANNEL = ChannelScope("web", "local", "general")
ANA = Actor(id="u-ana", display="ana", workspace="local")
BEN = Actor(id="u-ben", display="ben", workspace="local")


def an_agent(**changes: Any) -> Agent:
    """An agent named Ada in status Thinking, owned by Ana."""
    agent = Agent(
        id=AgentId("agent-ada"),
        channel=CHANNEL,
        name="Ada",
        role="a careful writer",
        goals=("Write a poem",),
        owner=ANA,
        created_at=NOON,
        since=NOON,
    )
    return replace(agent, **changes)


def a_turn(agent: Agent, **changes: Any) -> Turn:
    """The turn of a proposal to write a file. Its id contains `number`."""
    number = changes.get("number", 1)
    turn = Turn(
        id=TurnId(f"turn-{agent.id}-{number:04}"),
        agent_id=agent.id,
        channel=agent.channel,
        number=number,
        proposal=Proposal(
            thoughts=Thoughts(text="A poem needs a file."),
            call=CommandCall("write_file", {"path": "poem.txt", "text": "Roses are red"}),
        ),
        risks=("write",),
        usage=Usage(prompt=900, completion=60),
        proposed_at=NOON,
    )
    return replace(turn, **changes)


def a_note(agent: Agent, **changes: Any) -> Note:
    """A reply of Ana in the agent's thread."""
    note = Note(id=NoteId("note-1"), agent_id=agent.id, channel=agent.channel, by=ANA, at=NOON, text="Make it rhyme.")
    return replace(note, **changes)


def a_notice(agent: Agent, **changes: Any) -> Notice:
    notice = Notice(
        id=NoticeId("notice-1"), agent_id=agent.id, channel=agent.channel, at=NOON, kind="paused", text="Paused."
    )
    return replace(notice, **changes)


def an_entry(agent: Agent, **changes: Any) -> AuditEntry:
    entry = AuditEntry(id="entry-1", agent_id=agent.id, channel=agent.channel, by=ANA, at=NOON, act="approved")
    return replace(entry, **changes)


async def keep(database: Database, *values: Agent | Turn | Note | Notice | AuditEntry) -> None:
    """Save new values in one unit of work, in the given order: an agent before its turns and notes."""
    async with database.begin() as work:
        for value in values:
            match value:
                case Agent():
                    work.agents.add(value)
                case Turn():
                    work.turns.add(value)
                case Note():
                    work.notes.add(value)
                case Notice():
                    work.notes.announce(value)
                case AuditEntry():
                    work.audit.append(value)
        await work.commit()
