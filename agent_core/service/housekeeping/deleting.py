"""Deletes an agent with its helpers in one unit of work, logs it, and counts what that removes."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from agent_core.errors import CommandError
from agent_core.model.agent import Agent
from agent_core.model.origin import Actor
from agent_core.model.records.audit import DELETED, AuditEntry
from agent_core.model.records.deletion import Deletion
from agent_core.model.turn import Turn
from agent_core.ports.database import UnitOfWork
from agent_core.ports.files import Workspaces
from agent_core.service.creating.creation import forget_agent_defaults
from agent_core.service.housekeeping.calling_off import StandingCall, list_calls
from agent_core.service.housekeeping.erasing import Eraser, Place
from agent_core.spending.helper_tree import list_helpers_below, save_root
from agent_core.text.lines import counted


@dataclass(frozen=True, slots=True, kw_only=True)
class Deleted:
    """A deleted agent, with how much of it and its helpers was deleted.

    `log_entries`: entries of the decision log, which stay without their texts.
    `calls`: the notifications that stand, which are then taken back.
    `left`: where something is left, which is removed later.
    """

    agent: Agent
    family: tuple[Deletion, ...] = ()
    turns: int = 0
    notes: int = 0
    memories: int = 0
    files: int = 0
    file_bytes: int = 0
    log_entries: int = 0
    calls: tuple[StandingCall, ...] = ()
    left: tuple[Place, ...] = ()

    def with_files(self, sizes: Sequence[int]) -> "Deleted":
        return replace(self, files=len(sizes), file_bytes=sum(sizes))


async def remove_family(work: UnitOfWork, eraser: Eraser, agent: Agent, by: Actor, what: str) -> Deleted:
    """Delete the agent and all helpers below it. `what` completes the entries in the decision log.

    The commit raises Conflict if one of them has started another helper meanwhile.
    """
    at, family = eraser.clock.now(), (agent, *await list_helpers_below(work, agent))
    await save_root(work, agent)
    deleted = Deleted(agent=agent)
    for each in family:
        deleted = await _with_counts_of(work, deleted, each)
        await work.audit.blank(each)
        logged = 1 + await _record_end_of_deleted(work, each, by, at)
        calls = await list_calls(work, each, by, at)
        work.audit.append(AuditEntry.on(each, DELETED, by=by, at=at, detail=f"{counted(each.turns, 'turn')}, {what}"))
        await forget_agent_defaults(work, each)
        work.agents.remove(each)
        deleted = replace(
            deleted,
            family=(*deleted.family, eraser.add(work, each)),
            calls=(*deleted.calls, *calls),
            log_entries=deleted.log_entries + logged,
        )
    return deleted


async def sizes_of_files(workspaces: Workspaces, agent: Agent) -> tuple[int, ...]:
    """The sizes in bytes of the files that are deleted with the agent: none for a helper."""
    if agent.head:
        return ()
    try:
        return tuple(entry.size for entry in await workspaces.of(agent).list_files())
    except (CommandError, OSError):
        return ()


async def newest_turn(work: UnitOfWork, agent: Agent) -> Turn | None:
    """The agent's last turn, or None before its first."""
    turns = await work.turns.of(agent, last=1)
    return turns[-1] if turns else None


async def _with_counts_of(work: UnitOfWork, deleted: Deleted, agent: Agent) -> Deleted:
    return replace(
        deleted,
        turns=deleted.turns + agent.turns,
        notes=deleted.notes + len(await work.notes.of(agent)),
        memories=deleted.memories + await work.memories.count(agent),
        log_entries=deleted.log_entries + len(await work.audit.of(agent)),
    )


async def _record_end_of_deleted(work: UnitOfWork, agent: Agent, by: Actor, at: datetime) -> int:
    """If a command is running, append to the decision log that deleting the agent ends it; return the added entries."""
    turn = await newest_turn(work, agent)
    if not turn or turn.state not in ("running", "interrupted"):
        return 0
    work.audit.append(AuditEntry.of_end(agent, turn.stop(by, at), at).without_texts())
    return 1
