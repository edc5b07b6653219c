"""Ports of chat surfaces (Slack, Discord, web, terminal), and of the notifications that call people."""

from collections.abc import Sequence
from typing import Protocol

from agent_core.model.agent import Agent
from agent_core.model.note import Notice
from agent_core.model.origin import Actor, ChannelScope, SurfaceName, ThreadRef
from agent_core.model.records.notification import Notification
from agent_core.model.turn import Turn


class Notifications(Protocol):
    """Messages that call people who look elsewhere, of a surface that has them.

    Methods raise SurfaceBusy if a retry may help, and ThreadGone if the thread cannot be written to any more.
    """

    def find_mention(self, workspace: str, typed: str) -> str:
        """The id of the person or group that a person typed, as in `@ana`; "" for nobody known, or for several."""

    async def find_approver(self, channel: ChannelScope, found: str) -> str:
        """The name of a person, group or role that `find_mention` found, for people to read.

        Raise NotAllowed for who may never approve, such as a guest, and for a group that is gone or that the platform
        does not let Signoff see.
        """

    async def remind(self, agent: Agent, turn: Turn | None, mentions: Sequence[str], *, may_exist: bool) -> str:
        """Post a reminder in the agent's thread that mentions these people and groups; return its address.

        `turn`: the turn that waits, or None for a paused agent. `may_exist`: as for `ChatSurface`.
        """

    async def send_direct(self, agent: Agent, turn: Turn | None, person: str, *, may_exist: bool) -> str:
        """Send a person the turn's essentials by direct message, with buttons; return its address.

        Raise NotAllowed or NotFound if the person is no member of the channel.
        """

    async def take_back(self, agent: Agent, turn: Turn | None, notification: Notification) -> None:
        """Delete a reminder; a direct message tells from now on how the wait ended. Does nothing if it is gone.

        One without an address may have been sent by a process that died (`is_planned`): the surface looks for it.
        """


class ChatSurface(Protocol):
    """Shows an agent's cards and notices in its thread. Showing a turn again updates its card: it never has two.

    `may_exist`: a process that crashed may have sent the message already, so the surface looks for it before sending.
    Methods raise SurfaceBusy if a retry may help, ThreadGone if the thread cannot be written to any more, and
    SurfaceError if the platform refuses this one message. Replies and clicks do not come through this port but through
    the surface's own listeners.
    """

    @property
    def name(self) -> SurfaceName:
        """The surface's name."""

    @property
    def notifications(self) -> Notifications | None:
        """What calls people who look elsewhere, or None if the surface has nothing of this kind."""
        return None

    @property
    def shows_what_is_saved(self) -> bool:
        """Whether people see what the database holds: `show`, `notice` and `upload` then only tell open pages of it."""

    async def names_somebody(self, channel: ChannelScope, name: str) -> bool:
        """Whether a person that the surface can find has this name or first name, in any case. Never raises."""
        return False

    async def open_thread(self, agent: Agent) -> ThreadRef:
        """Post the agent's root message unless it exists, and return its thread.

        A surface without such messages names the thread by the agent's id.
        """
        return ThreadRef(agent.channel, agent.id)

    async def show(self, agent: Agent, turn: Turn, *, may_exist: bool) -> str:
        """Post the turn's card, or update the card at `turn.shown_as`; return its address."""

    async def notice(self, agent: Agent, notice: Notice, *, may_exist: bool) -> None:
        """Post a notice to the thread."""

    async def status(self, agent: Agent) -> None:
        """Show what the agent is doing, by the platform's typing or status indicator. Never raises."""

    def forget_shown(self, agent: Agent) -> None:
        """Forget what this process has shown of the agent: another process has shown something since."""

    async def announce_lost_thread(self, agent: Agent, reason: str) -> None:
        """Tell the owner, outside the thread, that the thread is gone and the agent paused. Never raises."""

    async def upload(self, agent: Agent, filename: str, data: bytes) -> None:
        """Post a file to the thread."""

    async def actor(self, channel: ChannelScope, person: Actor) -> Actor:
        """The person with the present name and kind of membership in the channel.

        The answer may be cached for minutes. Raise NotFound for a person who has left, NotAllowed or SurfaceError while
        the platform gives no answer. A surface without accounts returns `person`.
        """
        return person
