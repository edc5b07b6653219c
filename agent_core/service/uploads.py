"""Saves files that people upload or restore from the trash in an agent's workspace, under safe, free names."""

import asyncio
import re
import unicodedata
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import count
from pathlib import PurePosixPath
from typing import Literal, TypeAlias
from weakref import WeakValueDictionary

from agent_core.errors import CommandError, InvalidInput, NotFound
from agent_core.model.agent import Agent
from agent_core.model.ids import AgentId
from agent_core.model.note import Note
from agent_core.model.origin import Origin
from agent_core.oversight.policy import require_may_decide
from agent_core.oversight.untrusted_content import expose
from agent_core.ports.database import UnitOfWork
from agent_core.ports.files import Workspaces
from agent_core.service.transactional import TransactionalService
from agent_core.spending.helper_tree import deliver_note, pause_leases, taint_shared_folder
from agent_core.text.lines import counted, quoted
from agent_core.toolset.trash import list_trash

MAX_UPLOAD_BYTES = 20 * 2**20
Arrival: TypeAlias = Literal["given", "forwarded", "restored"]
MAX_QUOTED_NAME = 200
MAX_NAME_CHARACTERS, MAX_NAME_BYTES = 100, 240  # a number in brackets may follow; disks take 255 bytes
SPACES = re.compile(r"[^\S\n\r\t\f\v]|[\u2028\u2029\x85]")
APOSTROPHES = str.maketrans("\u2018\u2019\u02bc", "'''")
JOINERS = "\u200c\u200d"
NO_FILE_FINGERPRINT = ""
UNSAFE_CHARACTERS = re.compile(r'[\x00-\x1f\x7f-\x9f/\\:*?"<>|]+')


@dataclass(frozen=True, slots=True, kw_only=True)
class FileUploads(TransactionalService):
    """Saves uploaded and restored files under free names, never over existing files."""

    workspaces: Workspaces
    locks: WeakValueDictionary[AgentId, asyncio.Lock] = field(default_factory=WeakValueDictionary)

    async def receive(
        self, agent_id: AgentId, filename: str, data: bytes, origin: Origin, *, is_forwarded: bool = False
    ) -> str:
        """Save the file and tell the agent by a note; return its path, or "" for a repeated delivery.

        `is_forwarded`: somebody else made it, so the folder counts as untrusted from then on.

        Raise NotAllowed, InvalidInput for a file over 20 MB, CommandError if the workspace refuses it.
        """
        if len(data) > MAX_UPLOAD_BYTES:
            raise too_large(filename)
        async with self.database.begin() as work:
            agent = await work.agents.get(origin.channel, agent_id)
        require_may_decide(agent, origin.by, "add files here")
        async with self.locks.setdefault(agent_id, asyncio.Lock()):
            how: Arrival = "forwarded" if is_forwarded else "given"
            return await self._write_and_note(agent, safe_name(filename), data, origin, how)

    async def restore(self, agent_id: AgentId, name: str, origin: Origin) -> str:
        """Restore the newest deleted file of this path, or of this name in the trash, and tell the agent by a note.

        Return its path, or "" for a repeated delivery. Raise NotAllowed, InvalidInput for a name that is not in the
        trash, CommandError if the workspace refuses it.
        """
        async with self.database.begin() as work:
            agent = await work.agents.get(origin.channel, agent_id)
        require_may_decide(agent, origin.by, "restore files here")
        async with self.locks.setdefault(agent_id, asyncio.Lock()):
            files = self.workspaces.of(agent)
            deleted = next((each for each in await list_trash(files) if name in (each.key, each.path)), None)
            if deleted is None:
                raise InvalidInput({"file": f"The trash of {agent.name} has no file {name}."})
            data = await files.trash.read(deleted.key)
            path = await self._write_and_note(agent, deleted.path, data, origin, "restored")
            if path:
                await files.trash.delete(deleted.key)
            return path

    async def _write_and_note(self, agent: Agent, name: str, data: bytes, origin: Origin, how: Arrival) -> str:
        """Write the file outside the unit of work, because a unit of work may be repeated."""
        files = self.workspaces.of(agent)
        async with self.database.begin() as work:
            if await self.is_repeated(work, origin):
                return ""
        if how == "forwarded" or (how == "restored" and agent.folder_tainted):  # before a program of that name can run
            await self.save(partial(self._expose_family, agent, origin, how))
        path = free_name(name, (entry.path for entry in await files.list_files()))
        await files.write(path, data, expected=NO_FILE_FINGERPRINT)
        try:
            is_told = await self._add_note(agent, path, len(data), origin, how)
        except NotFound:  # the agent was deleted in the meantime
            with suppress(CommandError):
                await files.delete(path)
            raise
        if not is_told:
            await files.delete(path)
        return path if is_told else ""

    async def _expose_family(self, agent: Agent, origin: Origin, how: Arrival, work: UnitOfWork) -> Agent:
        present, now = await work.agents.get(origin.channel, agent.id), self.clock.now()
        exposed, notices = expose(present, f"a file that {origin.by} {how}", now)
        tainted = replace(exposed, folder_tainted=True)
        work.agents.save(tainted)
        for notice in notices:
            work.notes.announce(notice)
        await taint_shared_folder(work, tainted, now)
        return tainted

    async def _add_note(self, agent: Agent, path: str, size: int, origin: Origin, how: Arrival) -> bool:
        source = "from the trash into" if how == "restored" else "into"
        text = f"I put {quoted(path, MAX_QUOTED_NAME)} ({counted(size, 'byte')}) {source} your workspace."

        async def act(work: UnitOfWork) -> bool:
            present = await work.agents.get(origin.channel, agent.id)
            if await self.is_repeated(work, origin):
                return False
            note = Note.to(present, text, by=origin.by, at=self.clock.now(), file=path)
            if how == "forwarded":
                note = replace(note, is_forwarded=True)
                present = await self._expose_family(agent, origin, how, work)
            deliver_note(work, present, note)
            if how == "restored":
                self.audit(work, present, origin, "restored a file", path)
            for each in (present, *await pause_leases(work, present, origin.by, note.at)):
                self.waker.wake(work, each.id)
            return True

        return await self.save(act)


def too_large(filename: str) -> InvalidInput:
    return InvalidInput({"file": f"{filename} is larger than {MAX_UPLOAD_BYTES // 2**20} MB, so it was not taken."})


def safe_name(filename: str) -> str:
    """The file name as people see and type it: without marks that are not seen and characters that disks refuse.

    It is in NFC, with plain spaces and straight apostrophes, and at most 100 characters and 240 bytes long.
    """
    seen = "".join(filter(_is_seen, seen_name(filename)))
    name = UNSAFE_CHARACTERS.sub("_", seen).strip(". ")
    stem, suffix = PurePosixPath(name or "file").stem, PurePosixPath(name or "file").suffix[:20]
    room = MAX_NAME_BYTES - len(suffix.encode())
    return f"{stem[: MAX_NAME_CHARACTERS - len(suffix)].encode()[:room].decode(errors='ignore')}{suffix}"


def seen_name(filename: str) -> str:
    """The name in NFC, with each kind of space as a plain one, and with straight apostrophes."""
    return SPACES.sub(" ", unicodedata.normalize("NFC", filename)).translate(APOSTROPHES)


def _is_seen(letter: str) -> bool:
    """Whether the character is no surrogate and no mark of direction or the like; joiners are parts of words."""
    return letter in JOINERS or unicodedata.category(letter) not in ("Cf", "Cs")


def free_name(name: str, taken: Iterable[str]) -> str:
    """The name; if one that looks the same is taken, with the first free number in brackets: "plan (2).txt"."""
    used = {seen_name(path).casefold() for path in taken}
    path = PurePosixPath(name)
    names = (name if number == 1 else str(path.with_stem(f"{path.stem} ({number})")) for number in count(1))
    return next(each for each in names if each.casefold() not in used)
