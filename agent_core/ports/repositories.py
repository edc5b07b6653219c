"""Where records are kept: one protocol for each kind, all reached through a unit of work."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Protocol

from agent_core.model.agent import Agent, Headcount
from agent_core.model.channels import ChannelScope, SurfaceName, ThreadRef
from agent_core.model.ids import AgentId, MemoryId, NoticeId, TurnId
from agent_core.model.installation import Installation
from agent_core.model.memory import Memory, MemoryChanges, Vector
from agent_core.model.note import Note, Notice
from agent_core.model.turn import Turn
from agent_core.model.usage import Budget


class Agents(Protocol):
    """The agents. `get`, `named`, `of` and `in_thread` stay within the channel they are given."""

    async def get(self, channel: ChannelScope, agent_id: AgentId) -> Agent:
        """The agent; raise NotFound when the channel has none by that id."""
        ...

    async def locate(self, agent_id: AgentId) -> Agent:
        """The agent wherever it is, for a worker that was only told its id; raise NotFound."""
        ...

    async def find_by_name(self, channel: ChannelScope, name: str) -> Agent | None:
        """The channel's agent of that name, whatever its case."""
        ...

    async def of(self, channel: ChannelScope) -> tuple[Agent, ...]:
        """The channel's agents, oldest first."""
        ...

    async def in_thread(self, thread: ThreadRef) -> Agent | None:
        """The channel's agent whose thread this is, the newest of several, and no helper.

        Every reply in every thread asks this.
        """
        ...

    async def list_by_owner(self, surface: SurfaceName, workspace: str, person: str) -> tuple[Agent, ...]:
        """What the person of this id made in any channel of the workspace, oldest first."""
        ...

    async def list_with_thread(self, surface: SurfaceName, since: datetime) -> tuple[Agent, ...]:
        """Agents with a thread of their own in which a reply matters, oldest first.

        They think, ask or act, or have come to rest at `since` or later: what such a thread said while nobody heard it
        is read up on.
        """
        ...

    async def census(self) -> tuple[Headcount, ...]:
        """How many agents of each status each channel has, by channel: for the page where a team watches them all."""
        ...

    async def list_awaiting_people(self, most: int) -> tuple[Agent, ...]:
        """Agents of all channels that ask people something, oldest first, no more than `most`."""
        ...

    async def due(self, surfaces: Sequence[SurfaceName], now: datetime) -> tuple[AgentId, ...]:
        """Agents of these surfaces with work to do at `now`.

        They think or act and wait for no later time, or a card or notice of theirs was not shown as it stands.
        """
        ...

    def add(self, agent: Agent) -> None:
        """Save a new agent. At commit a name already taken in the channel is a Conflict."""
        ...

    def save(self, agent: Agent) -> None:
        """Save an agent read in this unit of work."""
        ...

    def remove(self, agent: Agent) -> None:
        """Remove it with its turns, notes, notices and memories. Its entries in the decision log stay."""
        ...


class Turns(Protocol):
    """The turns of agents."""

    async def get(self, channel: ChannelScope, turn_id: TurnId) -> Turn:
        """The turn; raise NotFound when the channel has none by that id."""
        ...

    async def of(self, agent: Agent, *, last: int, before: int | None = None) -> tuple[Turn, ...]:
        """The newest `last` turns with a number below `before`, in the order of their numbers."""
        ...

    async def list_unshown(self, agent: Agent) -> tuple[Turn, ...]:
        """Turns whose card was last shown at another stage than they are in, oldest first."""
        ...

    def add(self, turn: Turn) -> None:
        """Save a new turn."""
        ...

    def save(self, turn: Turn) -> None:
        """Save a turn read in this unit of work. Where its card stands is not saved by this."""
        ...

    def mark_shown(self, turn: Turn, address: str, at: datetime) -> None:
        """Record that the card stands at `address` and shows the turn as it is, since `at`. Never conflicts."""
        ...


class Notes(Protocol):
    """What people wrote and what Signoff told them, besides turns."""

    async def of(self, agent: Agent, *, since: datetime | None = None) -> tuple[Note, ...]:
        """The agent's notes, oldest first."""
        ...

    async def list_waiting(self, agent: Agent) -> tuple[Note, ...]:
        """Notes that no turn's thinking has read, oldest first."""
        ...

    async def notices(self, agent: Agent, *, since: datetime | None = None) -> tuple[Notice, ...]:
        """The agent's notices, oldest first."""
        ...

    async def notice(self, channel: ChannelScope, notice_id: NoticeId) -> Notice:
        """The notice; raise NotFound when the channel has none by that id."""
        ...

    async def list_untold(self, agent: Agent) -> tuple[Notice, ...]:
        """Notices that the thread was not told yet, oldest first."""
        ...

    def add(self, note: Note) -> None:
        """Save a new note."""
        ...

    def take(self, notes: Sequence[Note], turn_id: TurnId) -> None:
        """Record that this turn's thinking read them."""
        ...

    def announce(self, notice: Notice) -> None:
        """Save a notice that the thread will be told."""
        ...

    def mark_told(self, notice: Notice) -> None:
        """Record that the thread was told."""
        ...


class Installations(Protocol):
    """The workspaces that let Signoff in. Reads see what is committed, also before a `put` of the same unit."""

    async def get(self, surface: SurfaceName, workspace: str) -> Installation | None:
        """The workspace's installation, or None."""
        ...

    async def of(self, surface: SurfaceName) -> tuple[Installation, ...]:
        """All of a surface, by workspace."""
        ...

    def put(self, installation: Installation, *, replacing: str | None = None) -> None:
        """Keep it in place of the one before.

        With `replacing`, only while what is kept is `sealed` so; at commit anything else, or nothing, is a Conflict.
        """
        ...

    def remove(self, surface: SurfaceName, workspace: str) -> None:
        """Remove it, if it is there. The workspace's agents stay."""
        ...


class Memories(Protocol):
    """What agents can recall later: the truth of it, whatever an index holds. Reads stay within agent and channel.

    `place` names an embedder and an index together: in it, a memory has a vector and can be found by nearness.
    """

    async def of(self, agent: Agent, *, most: int, before: MemoryId | None = None) -> tuple[Memory, ...]:
        """The newest `most` made before that one, newest first."""
        ...

    async def some(self, agent: Agent, ids: Sequence[MemoryId]) -> tuple[Memory, ...]:
        """Those of these ids that there are, in the order given."""
        ...

    async def count(self, agent: Agent) -> int:
        """How many there are."""
        ...

    async def list_unindexed(self, agent: Agent, place: str, *, most: int) -> tuple[Memory, ...]:
        """Those that are not in `place` yet, oldest first."""
        ...

    async def vectors(
        self, agent: Agent, place: str, *, after: MemoryId | None = None, most: int
    ) -> tuple[tuple[MemoryId, Vector], ...]:
        """Ids and vectors of those in `place`, by id, from the first one after `after`."""
        ...

    async def changes(self, agent: Agent) -> MemoryChanges:
        """How often vectors came and went, in any process: the same as before means that none did since."""
        ...

    async def behind(self, place: str, *, most: int) -> tuple[AgentId, ...]:
        """Agents of any channel with memories that are not in `place`, in the order of their ids."""
        ...

    def add(self, agent: Agent, memories: Sequence[Memory]) -> None:
        """Save new ones, in no place."""
        ...

    def put(self, agent: Agent, place: str, vectors: Mapping[MemoryId, Vector]) -> None:
        """Record that these are in `place` with these vectors, instead of where they were. Never conflicts.

        May follow an `add` of the same unit of work.
        """
        ...

    def remove(self, agent: Agent, ids: Sequence[MemoryId]) -> None:
        """Remove them; one that is not there is left out. Never conflicts."""
        ...

    def clear(self, agent: Agent) -> None:
        """Remove all of the agent's. Never conflicts."""
        ...


class Budgets(Protocol):
    """What all agents of a channel together may spend, and have spent."""

    async def of(self, channel: ChannelScope) -> Budget:
        """The channel's; without a limit and with nothing spent at first."""
        ...

    def limit(self, channel: ChannelScope, limit: Decimal | None) -> None:
        """Set what may be spent in US dollars; None is no limit. Never conflicts."""
        ...

    def spend(self, channel: ChannelScope, cost: Decimal) -> None:
        """Add to what was spent. Never conflicts, and loses nothing that others add at the same time."""
        ...
