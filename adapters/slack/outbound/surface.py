"""Slack as a ChatSurface: root messages, cards that are posted and edited, notices, files, session status."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from types import MappingProxyType
from typing import Any, Literal
from zlib import crc32

from cachetools import LRUCache
from slack_sdk.web.async_slack_response import AsyncSlackResponse

from adapters.chat.agent_messages import notice_screen
from adapters.chat.status_updates import recorded, send_both
from adapters.chat.thread_surface import ThreadSurface, thread_of
from adapters.screens.message.pieces import Screen
from adapters.screens.text_fit import cut
from adapters.screens.turn_lines import TurnLine
from adapters.screens.visible_text import one_line, visible
from adapters.slack.api.client import GONE_REASONS, SlackApi
from adapters.slack.api.directory import SlackDirectory
from adapters.slack.api.web_api import SlackRefused
from adapters.slack.outbound.draw import draw
from adapters.slack.outbound.message import SlackMessage
from adapters.slack.outbound.notifications import SlackNotifications
from adapters.slack.outbound.posted import find_posted
from agent_core.errors import ThreadGone
from agent_core.model.agent import Agent, Thinking
from agent_core.model.ids import AgentId
from agent_core.model.note import Notice
from agent_core.model.origin import Actor, ChannelScope, SurfaceName, ThreadRef

MAX_REMEMBERED_AGENTS, MAX_REMEMBERED_MESSAGES = 1_000, 20
STATUS_DELAY_SECONDS = 0.2  # seconds; shorter states are not sent, to save calls of the API
SessionStatus = Literal["processing", "suspended", "active", "closed"]
SESSION_STATUSES: dict[str, SessionStatus] = {
    "thinking": "processing",
    "acting": "processing",
    "awaiting": "suspended",
    "paused": "active",
    "stopped": "active",
    "finished": "closed",
}
MAX_TITLE = 200
NOBODY: Mapping[str, str] = MappingProxyType({})
CUSTOMIZE = "chat:write.customize"
MAX_AUTHOR = 60  # characters, of the 80 that a name in Slack may have
# Faces of agents, as names of emoji; https://docs.slack.dev/reference/methods/chat.postMessage#authorship
FACES = [
    "owl",
    "fox_face",
    "otter",
    "badger",
    "hedgehog",
    "beaver",
    "penguin",
    "koala",
    "tiger",
    "frog",
    "octopus",
    "bee",
]


@dataclass(slots=True, kw_only=True)
class SlackSurface(ThreadSurface[SlackMessage]):
    """Shows agents in Slack.

    Caches; if they are lost, unchanged content is sent again:
    `drawn`: a hash of each message, by agent and `ts`.
    `sessions`: the last state sent to Slack's own indicator for each agent.
    """

    calls: SlackApi
    directory: SlackDirectory
    name: SurfaceName = "slack"
    drawn: LRUCache[AgentId, dict[str, bytes]] = field(default_factory=lambda: LRUCache(MAX_REMEMBERED_AGENTS))
    sessions: dict[AgentId, SessionStatus] = field(default_factory=dict)
    without_sessions: set[str] = field(default_factory=set)
    notifications: SlackNotifications = field(init=False)

    def __post_init__(self) -> None:
        self.watch_status(STATUS_DELAY_SECONDS)
        self.notifications = SlackNotifications(
            calls=self.calls, directory=self.directory, continuous_limit=self.continuous_limit
        )

    async def names_somebody(self, channel: ChannelScope, name: str) -> bool:
        return self.directory.names_somebody(channel.workspace, name)

    async def open_thread(self, agent: Agent) -> ThreadRef:
        """Post the root message, unless it exists."""
        message = self._root(agent)
        found = await find_posted(self.calls, ThreadRef(agent.channel, ""), message.written_by, agent.created_at)
        return ThreadRef(agent.channel, found or await self._post(agent, message, thread=None))

    async def notice(self, agent: Agent, notice: Notice, *, may_exist: bool) -> None:
        """Post a notice in the thread, unless it was already posted."""
        thread = thread_of(agent)
        message = draw(notice_screen(agent, notice))
        if may_exist and await find_posted(self.calls, thread, message.written_by, notice.at):
            return
        await self._post(agent, message, thread=thread.thread)

    async def status(self, agent: Agent) -> None:
        self.updates.update(agent)

    def forget_status(self, agent: Agent) -> None:
        """Make the next `status` send the status even if unchanged, because Slack changed its indicator by itself."""
        self.updates.forget(agent.id)
        self.sessions.pop(agent.id, None)

    def forget_shown(self, agent: Agent) -> None:
        """Forget the agent's messages and status."""
        self.drawn.pop(agent.home, None)
        self.edits.sent.clear()
        self.cards.forget(agent)
        self.standing.forget(agent)
        self.forget_status(agent)

    async def announce_lost_thread(self, agent: Agent, reason: str) -> None:
        """Send the owner a direct message that the agent's thread is gone."""
        text = f"{agent.name} is paused. {reason}"
        self.soon(self.say_to(agent.channel.workspace, agent.owner.id, text))

    async def say_to(self, workspace: str, person: str, text: str) -> AsyncSlackResponse:
        """Send a person a direct message."""
        return await self.calls.ask(
            workspace, lambda client: client.chat_postMessage(channel=person, **SlackMessage.plain(text).arguments)
        )

    async def _author(self, agent: Agent) -> dict[str, str]:
        """The name and face of the agent, if the workspace lets the app choose them. No name passes for a person's."""
        install = await self.calls.tokens.source.install(agent.channel.workspace)
        if install is None or CUSTOMIZE not in install.scopes:
            return {}
        face = FACES[crc32(agent.id.encode()) % len(FACES)]
        return {"username": f"{cut(one_line(agent.name), MAX_AUTHOR)} · Signoff", "icon_emoji": f":{face}:"}

    async def post(
        self, channel: ChannelScope, message: SlackMessage, *, thread: str | None, author: Mapping[str, str] = NOBODY
    ) -> str:
        """Post in the channel, or in its thread, and return the `ts` of the message."""
        answer = await self.calls.ask(
            channel.workspace,
            lambda client: client.chat_postMessage(
                channel=channel.channel,
                thread_ts=thread,
                unfurl_links=False,
                unfurl_media=False,
                **{**message.arguments, **author},
            ),
            place=channel.channel,
        )
        return str(answer["ts"])

    async def upload(self, agent: Agent, filename: str, data: bytes) -> None:
        thread, content = thread_of(agent), data or b"\n"  # Slack rejects empty files
        await self.calls.ask(
            agent.channel.workspace,
            lambda client: client.files_upload_v2(
                channel=agent.channel.channel, thread_ts=thread.thread, filename=visible(filename), content=content
            ),
            place=agent.channel.channel,
        )

    async def send_files(self, workspace: str, person: str, text: str, files: Sequence[tuple[str, bytes]]) -> None:
        """Send files to a person by direct message, in one message after the text."""
        sent = await self.say_to(workspace, person, text)
        uploads = [{"filename": name, "content": data or b"\n"} for name, data in files]
        await self.calls.ask(
            workspace, lambda client: client.files_upload_v2(channel=sent["channel"], file_uploads=uploads)
        )

    async def actor(self, channel: ChannelScope, person: Actor) -> Actor:
        return await self.directory.actor(channel, person.id)

    def draw(self, screen: Screen) -> SlackMessage:
        return draw(screen)

    async def _find(self, agent: Agent, message: SlackMessage, mark: TurnLine) -> str:
        return await find_posted(self.calls, thread_of(agent), message.written_by, mark.proposed_at)

    async def _post_card(self, agent: Agent, message: SlackMessage, _mark: TurnLine) -> str:
        return await self._post(agent, message, thread=thread_of(agent).thread)

    async def _edit_card(self, agent: Agent, stands: str, message: SlackMessage, _mark: TurnLine) -> bool:
        return await self._edit(agent, stands, message)

    def _forget_drawn(self, agent: Agent, stands: str) -> None:
        self._drawn_of(agent).pop(stands, None)

    async def _post(self, agent: Agent, message: SlackMessage, *, thread: str | None) -> str:
        ts = await self.post(agent.channel, message, thread=thread, author=await self._author(agent))
        self._drawn_of(agent)[ts] = message.digest
        return ts

    async def _edit(self, agent: Agent, ts: str, message: SlackMessage) -> bool:
        """Edit a message, unless it is unchanged; return whether the message exists."""
        drawn = self._drawn_of(agent)
        if drawn.pop(ts, None) == message.digest:
            drawn[ts] = message.digest
            return True
        try:
            with recorded(drawn, ts, message.digest):
                await self.calls.ask(
                    agent.channel.workspace,
                    lambda client: client.chat_update(channel=agent.channel.channel, ts=ts, **message.arguments),
                    place=agent.channel.channel,
                )
        except SlackRefused as refused:
            if refused.error == "message_not_found":
                return False
            raise
        return True

    def _drawn_of(self, agent: Agent) -> dict[str, bytes]:
        """What the messages of the agent and its helpers show that were sent or edited last."""
        drawn: dict[str, bytes] = self.drawn.setdefault(agent.home, {})
        while len(drawn) > MAX_REMEMBERED_MESSAGES:
            del drawn[next(iter(drawn))]
        return drawn

    async def _send_status(self, agent: Agent) -> None:
        """Set Slack's indicator and the line of the root message; raise SurfaceError only after both were tried."""
        await send_both(partial(self._set_session, agent), partial(self._edit_root, agent))

    async def _edit_root(self, agent: Agent) -> None:
        if not self.standing.is_shown(agent):
            files = await self.standing.files_text(agent)
            with self.standing.showing(agent):
                root = thread_of(agent).thread
                edit = partial(self._edit, agent, root, self._root(agent, files))
                await self.edits.attempt(agent, (agent.channel, root), edit)

    async def _set_session(self, agent: Agent) -> None:
        """Set Slack's indicator for agents to the agent's state, if the workspace has the indicator."""
        if agent.channel.workspace in self.without_sessions:
            return
        waits = isinstance(agent.status, Thinking) and agent.status.waits_for
        session = SESSION_STATUSES["awaiting" if waits else agent.status.kind]
        if self.sessions.get(agent.id) == session:
            return
        asked: dict[str, Any] = {
            "channel_id": agent.channel.channel,
            "thread_ts": thread_of(agent).thread,
            "status": session,
            "title": cut(one_line(agent.name), MAX_TITLE),
        }
        try:
            with recorded(self.sessions, agent.id, session):
                await self.calls.ask(
                    agent.channel.workspace,
                    lambda client: client.agents_sessions_setStatus(**asked),
                    place=f"{agent.channel.channel}/session",
                )
        except (SlackRefused, ThreadGone) as refused:
            # A missing thread says nothing about the workspace; a missing permission does.
            if isinstance(refused, ThreadGone) and str(refused) != GONE_REASONS["missing_scope"]:
                return
            self.without_sessions.add(agent.channel.workspace)
