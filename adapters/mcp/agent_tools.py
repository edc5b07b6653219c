"""The tools of MCP clients: list, create, read, wait, write notes, read files. None decides or changes a policy.

Each is one read or one call of the service, for one person in one channel. The person is a guest, so that the service
would refuse decisions too.
"""

import asyncio
import base64
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from adapters.mcp import arguments as given
from adapters.mcp.results import (
    AgentList,
    AgentState,
    FileContent,
    FileList,
    MessageText,
    NoteSaved,
    ResultTexts,
    ThreadText,
    TurnText,
    WaitEnd,
    WholeTurn,
)
from adapters.mcp.waiting import AgentWaits
from adapters.screens.text_fit import cut
from adapters.screens.visible_text import one_line
from agent_core.errors import InvalidInput, NotFound, NotPossible
from agent_core.model.agent import Agent
from agent_core.model.draft import AgentDraft
from agent_core.model.files import FileEntry
from agent_core.model.ids import AgentId
from agent_core.model.origin import Actor, ChannelScope, Origin
from agent_core.model.turn import Turn
from agent_core.service.agents import AgentService
from agent_core.service.reading.thread_turns import ThreadTurns
from agent_core.service.reading.views import AgentViews, Entry

T = TypeVar("T")
CLIENT = Actor(id="mcp", display="MCP", kind="guest", workspace="local")
AGENTS_PER_PAGE, FILES_PER_PAGE, MAX_ENTRIES = 50, 200, 60
END = "~"  # follows every id of an entry
MAX_UNREAD_NOTES = 20  # a program writes faster than a model reads
MAX_THREAD_CHARACTERS, MAX_PART_CHARACTERS = 60_000, 50_000
MAX_FILE_BYTES, MAX_BASE64_BYTES = 10 * 2**20, 2**20
SECRET_INSIDE = "This file holds a secret of the operator, so its exact bytes are not given."  # noqa: S105 (a sentence)


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentTools:
    """The tools for the agents of one channel. A record of another channel raises NotFound.

    `service`: its limits let a guest create agents, whatever they are for others. The docstring of each tool is what
    clients read of it.
    """

    service: AgentService
    views: AgentViews
    waits: AgentWaits
    texts: ResultTexts
    channel: ChannelScope

    @property
    def origin(self) -> Origin:
        return Origin(by=CLIENT, channel=self.channel)

    async def list_agents(self, call: given.ListAgents) -> AgentList:
        """The agents of this channel, with what each is doing."""
        views = self.views
        listed = await (views.list_archived(self.channel) if call.archived else views.agents(self.channel))
        page, following = _page_after([agent.id for agent in listed], call.after, listed, AGENTS_PER_PAGE)
        return AgentList(agents=tuple(map(self.texts.agent, page)), next=following)

    async def create_agent(self, call: given.CreateAgent) -> AgentState:
        """Make an agent, which begins to work on its goals. It asks people before each command."""
        draft = AgentDraft(name=call.name, role=call.role, goals=tuple(call.goals))
        return self.texts.agent(await self.service.lifecycle.create(draft, self.origin, sets_defaults=False))

    async def read_thread(self, call: given.ReadThread) -> ThreadText:
        """The newest turns, notes and notices of an agent, or those before a turn."""
        agent = await self._find(call.agent)
        number, _, last = call.before.partition(".")
        page = await self.views.thread(self.channel, agent.id, before=int(number) if number else None)
        entries = [entry for entry in page.entries if entry.id < (last or END)]
        shown, room = list[TurnText | MessageText](), MAX_THREAD_CHARACTERS
        for entry in reversed(entries):
            text = self._entry(page.whose(entry), entry)
            room -= _length(text)
            if shown and (room < 0 or len(shown) == MAX_ENTRIES):
                break
            shown.append(text)
        following = f"{page.earlier}.{END}" if page.earlier else None
        return ThreadText(
            agent=self.texts.agent(page.agent),
            goals=tuple(map(self.texts.shown, page.agent.goals)),
            entries=tuple(reversed(shown)),
            earlier=f"{number}.{entries[-len(shown)].id}" if len(shown) < len(entries) else following,
        )

    async def read_turn(self, call: given.ReadTurn) -> WholeTurn:
        """One turn with its whole result, preview and thoughts."""
        agent = await self._find(call.agent)
        found = await ThreadTurns(self.views.database).newest(agent, last=1, before=call.turn + 1)
        if not found or found[0].number != call.turn:
            raise InvalidInput({"turn": f"{self.texts.agent(agent).name} has no turn {call.turn}."})
        return self.texts.whole_turn(agent, found[0])

    async def wait(self, call: given.Wait) -> WaitEnd:
        """Wait until an agent needs people or is at rest, or until the time is over."""
        found = await self._find(call.agent)
        is_over = _is_at_rest if call.until == "end" else _is_at_rest_or_asks
        agent = await self.waits.wait(self.channel, found.id, is_over, call.seconds)
        turn = await self.views.newest_turn(self.channel, agent.id)
        asks = self.texts.turn(agent, turn) if turn and turn.is_open else None
        return WaitEnd(agent=self.texts.agent(agent), is_over=is_over(agent), asks=asks)

    async def add_note(self, call: given.AddNote) -> NoteSaved:
        """Write to an agent, which reads it in its next turn.

        A note decides nothing. It ends an approval for more commands and is untrusted content, as each message of
        a guest.
        """
        agent = await self._find(call.agent)
        if await self.views.count_unread_notes(self.channel, agent.id) >= MAX_UNREAD_NOTES:
            name = self.texts.agent(agent).name
            raise NotPossible(f"{name} has {MAX_UNREAD_NOTES} notes that it has not read yet. Wait until it has.")
        outcome = await self.service.decisions.reply(agent.id, call.text, self.origin)
        return NoteSaved(agent=self.texts.agent(outcome.agent), text=self.texts.shown(call.text.strip()))

    async def list_files(self, call: given.ListFiles) -> FileList:
        """The files of an agent."""
        files = await self._files(call.agent)
        page, following = _page_after(list(files), call.after, list(files.values()), FILES_PER_PAGE)
        return FileList(files=tuple(self.texts.file(each) for each in page), next=following)

    async def read_file(self, call: given.ReadFile) -> FileContent:
        """A part of a text file, or the exact bytes of a small file in base64."""
        agent = await self._find(call.agent)
        path = (await self._files(agent.id)).get(call.path)
        if path is None:
            shown = cut(one_line(call.path), given.MAX_NAME_CHARACTERS)
            raise InvalidInput({"path": f"{self.texts.agent(agent).name} has no file {shown}."})
        _require_size(path.size, MAX_BASE64_BYTES if call.base64 else MAX_FILE_BYTES, self.texts.page_of(agent))
        data = await self.views.file(self.channel, agent.id, path.path)
        if call.base64:
            return await asyncio.to_thread(self._bytes, call.path, data)
        return await asyncio.to_thread(self._part, call, data)

    def _bytes(self, path: str, data: bytes) -> FileContent:
        text = data.decode("utf-8", "replace")
        if self.texts.redact(text) != text:
            raise InvalidInput({"base64": SECRET_INSIDE})
        return FileContent(path=path, size=len(data), base64=base64.b64encode(data).decode())

    def _part(self, call: given.ReadFile, data: bytes) -> FileContent:
        try:
            text = self.texts.redact(data.decode("utf-8-sig"))
        except UnicodeDecodeError:
            raise InvalidInput({"path": f"{call.path} is not UTF-8 text: read it with base64 set to true."}) from None
        end = call.offset + MAX_PART_CHARACTERS
        part = self.texts.shown(text[call.offset : end], MAX_PART_CHARACTERS)
        return FileContent(path=call.path, size=len(data), text=part, next=end if end < len(text) else None)

    async def _files(self, agent: str) -> dict[str, FileEntry]:
        """The agent's files, by their paths as clients see them."""
        found = await self.views.files(self.channel, (await self._find(agent)).id)
        return {self.texts.file(each).path: each for each in sorted(found, key=lambda each: each.path)}

    async def _find(self, agent: str) -> Agent:
        """The agent with this id or name; raise NotFound."""
        try:
            return await self.views.agent(self.channel, AgentId(agent))
        except NotFound:
            named = await self.views.find_by_name(self.channel, " ".join(agent.split()))
            if named is None:
                raise NotFound("agent", one_line(agent)) from None
            return named

    def _entry(self, agent: Agent, entry: Entry) -> TurnText | MessageText:
        return self.texts.turn(agent, entry) if isinstance(entry, Turn) else self.texts.message(agent, entry)


def _is_at_rest(agent: Agent) -> bool:
    return agent.is_at_rest


def _is_at_rest_or_asks(agent: Agent) -> bool:
    return agent.is_at_rest or agent.needs_people


def _page_after(keys: Sequence[str], after: str, listed: Sequence[T], most: int) -> tuple[Sequence[T], str | None]:
    """At most `most` of what is listed after the entry with the key `after`, and the key for the next page, or None.

    Raise InvalidInput if no entry has that key.
    """
    if after and after not in keys:
        raise InvalidInput({"after": "after: nothing in the list has this value now. Begin with the first page."})
    begin = keys.index(after) + 1 if after else 0
    page = listed[begin : begin + most]
    return page, keys[begin + most - 1] if begin + most < len(listed) else None


def _length(entry: TurnText | MessageText) -> int:
    if isinstance(entry, MessageText):
        return len(entry.text)
    return len(entry.thoughts) + len(entry.arguments) + len(entry.result or "")


def _require_size(size: int, most: int, page: str) -> None:
    """Raise InvalidInput if the file is larger."""
    if size > most:
        raise InvalidInput({"path": f"The file has {size:,} bytes; at most {most:,} are given here. Its page: {page}"})
