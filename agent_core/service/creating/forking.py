"""Forks agents: makes a new one with another's history, memory and files as they were after one of its turns."""

import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial

from agent_core.errors import CommandError, InvalidInput, NotPossible
from agent_core.model.agent import Agent, Digest, Forked
from agent_core.model.command import NO_DRY_RUN, Succeeded
from agent_core.model.decision import Policy
from agent_core.model.draft import AgentDraft
from agent_core.model.ids import AgentId, MemoryId, NoteId, TurnId, new_id
from agent_core.model.model_calls import NO_USAGE
from agent_core.model.note import MAX_NOTE_CHARACTERS, Note
from agent_core.model.origin import Origin
from agent_core.model.records.memory import Memory
from agent_core.model.turn import Turn
from agent_core.oversight.policy import may_decide, require_may_create
from agent_core.ports.database import UnitOfWork
from agent_core.ports.files import Workspaces
from agent_core.service.creating.creation import DEFAULT_LIMITS, CreationLimits, find_free_name, require_below_limits
from agent_core.service.transactional import TransactionalService
from agent_core.text.lines import counted, quoted
from agent_core.toolset.versions import Restored, copy_files, restore_version

MAX_TURNS, MAX_MEMORIES, PAGE_ROWS = 500, 2_000, 200
MAX_NAMED_FILES = 5
ENDED = ("done", "rejected", "withdrawn")


@dataclass(frozen=True, slots=True)
class Past:
    """What a fork takes from the database: turns that ended, notes that they took in, and memories."""

    turns: tuple[Turn, ...]
    notes: tuple[Note, ...]
    memories: tuple[Memory, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentForks(TransactionalService):
    """Forks agents. Who may create agents in a channel may fork those of the channel."""

    workspaces: Workspaces
    limits: CreationLimits = DEFAULT_LIMITS

    async def fork(
        self, agent_id: AgentId, origin: Origin, *, turn: int | None = None, text: str = "", for_real: bool = False
    ) -> Agent:
        """Make a new agent from the state after a turn, None for the last one, and let it think.

        `text`: what the person writes to the new agent. `for_real`: the fork of a dry run is none. Nothing that ran is
        undone, and the other agent goes on as before. Raise NotAllowed, NotPossible, or InvalidInput for another turn.
        """
        require_may_create(origin.by, guests_may=self.limits.guests_may_create)
        if len(text) > MAX_NOTE_CHARACTERS:
            raise InvalidInput({"fork": f"Fork: at most {MAX_NOTE_CHARACTERS:,} characters for the new agent."})
        async with self.database.begin() as work:
            source = await work.agents.get(origin.channel, agent_id)
            if await self.is_repeated(work, origin):
                return await _find_made(work, source, origin)
            last = await _require_turn(work, source, turn, for_real=for_real)
            await require_below_limits(work, origin, self.limits)
            following = await _next_change(work, source, last)
        stub = self._made(source, origin, last, for_real=for_real)
        files, into = self.workspaces.of(source), self.workspaces.of(stub)
        restored = await restore_version(files, following, into) if following else await copy_files(files, into)
        try:
            made = await self.save(partial(self._save_fork, stub, source.id, origin, restored, text))
        except BaseException:
            await self._remove_files(stub)
            raise
        if made.id != stub.id:
            await self._remove_files(stub)
        return made

    async def _save_fork(
        self, stub: Agent, source_id: AgentId, origin: Origin, restored: Restored | None, text: str, work: UnitOfWork
    ) -> Agent:
        """Save the fork, with what the other agent may have read since its files were copied."""
        source = await work.agents.get(origin.channel, source_id)
        if await self.is_repeated(work, origin):
            return await _find_made(work, source, origin)
        await require_below_limits(work, origin, self.limits)
        name = await find_free_name(work, origin.channel, _base_name(source))
        made = self._made(source, origin, stub.turns, for_real=source.dry_run and not stub.dry_run)
        return await self._add(work, source, replace(made, id=stub.id, name=name), origin, restored, text)

    def _made(self, source: Agent, origin: Origin, turn: int, *, for_real: bool) -> Agent:
        """The new agent. No class runs without asking, and what the other one had read counts as read."""
        now, is_member = self.clock.now(), origin.by.kind == "member"
        policy = replace(source.policy, free=()) if is_member else Policy(two=source.policy.two)
        draft = AgentDraft(
            name=source.name,
            role=source.role,
            goals=source.goals,
            budget=source.budget.limit,
            model=source.model,
            effort=source.effort,
            policy=policy,
            dry_run=source.dry_run and not for_real,
        )
        fork = replace(
            draft.made(origin, now),
            channel=source.channel,
            read_policy=source.read_policy,
            turns=turn,
            remembered=min(source.remembered, turn),
            digest=source.digest if source.digest.upto <= turn else Digest(),
            folder_tainted=source.folder_tainted,
            forked=Forked(source.id, source.name, turn),
        )
        return fork.expose() if source.is_tainted or not may_decide(fork, origin.by) else fork

    async def _remove_files(self, fork: Agent) -> None:
        with suppress(CommandError):
            await self.workspaces.remove(fork)

    async def _add(
        self, work: UnitOfWork, source: Agent, fork: Agent, origin: Origin, restored: Restored | None, text: str
    ) -> Agent:
        past, now = await _past_of(work, source, fork.turns), self.clock.now()
        work.agents.add(fork)
        ids = {turn.id: TurnId(new_id(now)) for turn in past.turns}
        for turn in past.turns:
            work.turns.add(own := _copied(turn, fork, ids[turn.id]))
            work.turns.mark_shown(own, "", None)
        for note in past.notes:
            taken = ids[note.taken_into] if note.taken_into else None
            work.notes.add(replace(note, id=NoteId(new_id(note.at)), agent_id=fork.id, taken_into=taken))
        work.memories.add(fork, [replace(each, id=MemoryId(new_id(each.at))) for each in past.memories])
        self.audit(work, fork, origin, "forked", f"from {source.name} after turn {fork.turns}")
        self.announce(work, fork, "changed", _told(source, fork, origin, past, restored))
        self.announce(work, source, "changed", f"{origin.by} forked it after turn {fork.turns}: {fork.name}.")
        if text.strip():
            work.notes.add(Note.to(fork, text.strip(), by=origin.by, at=self.clock.now()))
        self.waker.wake(work, fork.id)
        return fork


async def _find_made(work: UnitOfWork, source: Agent, origin: Origin) -> Agent:
    """The fork that this delivery made before; raise NotPossible if it is not there any more."""
    for each in reversed(await work.agents.of(origin.channel)):
        if each.forked and each.forked.agent_id == source.id and each.owner.id == origin.by.id:
            return each
    raise NotPossible("This fork was made before, and is not there any more.")


async def _require_turn(work: UnitOfWork, source: Agent, turn: int | None, *, for_real: bool) -> int:
    """The turn after which the fork begins, one that has ended; raise NotPossible or InvalidInput."""
    if source.parent:
        raise NotPossible(f"{source.name} is a helper. Fork the agent that started it: a helper uses its files.")
    if for_real and not source.dry_run:
        raise NotPossible(f"{source.name} is no dry run: what is approved runs.")
    newest = await work.turns.of(source, last=1)
    ended = source.turns if newest and newest[0].state in ENDED else source.turns - 1
    if ended < 1:
        raise NotPossible(f"No turn of {source.name} has ended. Duplicate makes another agent with its settings.")
    if turn is not None and not 1 <= turn <= source.turns:
        raise InvalidInput({"fork": f"Fork: a turn between 1 and {ended}, the last one of {source.name} that ended."})
    return min(turn or ended, ended)


async def _next_change(work: UnitOfWork, source: Agent, turn: int) -> int:
    """The first turn after this one whose command may have changed files; 0 if none began."""
    for each in await work.turns.of(source, last=source.turns - turn):
        if each.number > turn and each.started_at and each.may_change_files and not each.is_simulated:
            return each.number
    return 0


def _copied(turn: Turn, fork: Agent, turn_id: TurnId) -> Turn:
    """The turn as the fork has it, without its cost; what was only simulated is still to be done by one that acts."""
    copy = replace(turn, id=turn_id, agent_id=fork.id, usage=NO_USAGE, shown_as="", undo=None, is_copy=True)
    if not (isinstance(turn.result, Succeeded) and turn.is_simulated) or fork.dry_run:
        return copy
    told = f"Dry run: {turn.call.name} was only simulated: nothing was changed or sent. {NO_DRY_RUN}"
    return replace(copy, result=replace(turn.result, output=told))


def _base_name(source: Agent) -> str:
    """The name from which the fork's is made: without the number that a fork has already."""
    return re.sub(r" \d+$", "", source.name) if source.forked else source.name


async def _past_of(work: UnitOfWork, source: Agent, turn: int) -> Past:
    """The past up to this turn, as far back as a fork takes it."""
    turns = await work.turns.of(source, last=MAX_TURNS, before=turn + 1)
    ended = tuple(each for each in turns if each.state in ENDED)
    ids = {each.id for each in ended}
    notes = tuple(note for note in await work.notes.of(source) if note.taken_into in ids)
    memories: list[Memory] = []
    page: Sequence[Memory] = await work.memories.of(source, most=PAGE_ROWS)
    while page and len(memories) < MAX_MEMORIES:
        memories += (each for each in page if _is_older(each, turn, ended))
        page = await work.memories.of(source, most=PAGE_ROWS, before=page[-1].id)
    return Past(ended, notes, tuple(reversed(memories[:MAX_MEMORIES])))


def _is_older(memory: Memory, turn: int, ended: Sequence[Turn]) -> bool:
    """Whether the memory is of this turn or an earlier one, or was added by then."""
    if memory.turn:
        return memory.turn <= turn
    return bool(ended) and memory.at <= (ended[-1].ended_at or ended[-1].proposed_at)


def _told(source: Agent, fork: Agent, origin: Origin, past: Past, restored: Restored | None) -> str:
    """What came along, and what did not, for people."""
    memories = counted(len(past.memories), "memory")
    files = counted(restored.copied, "file") if restored else "no file, as those of then are not kept,"
    came = f"{counted(len(past.turns), 'turn')}, {memories} and {files}"
    told = f"{origin.by} forked {source.name} after turn {fork.turns}: {came} came along."
    if restored and restored.lost:
        named = ", ".join(quoted(path, 80) for path in restored.lost[:MAX_NAMED_FILES])
        more = f" and {len(restored.lost) - MAX_NAMED_FILES} more" if len(restored.lost) > MAX_NAMED_FILES else ""
        told += f" Not kept from then, so they are missing: {named}{more}."
    return f"{told} Nothing that {source.name} did is undone."
