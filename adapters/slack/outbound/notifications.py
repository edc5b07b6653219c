"""Reminders in an agent's thread, and direct messages to those who asked for them."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from adapters.slack.api.client import SlackApi
from adapters.slack.api.directory import SlackDirectory
from adapters.slack.api.web_api import SlackRefused
from adapters.slack.outbound.message import SlackMessage
from adapters.slack.outbound.notification_messages import (
    direct_message,
    direct_metadata,
    ended_message,
    reminder_message,
    reminder_metadata,
)
from adapters.slack.outbound.posted import find_posted
from agent_core.errors import ThreadGone
from agent_core.model.agent import Agent
from agent_core.model.channel_settings import Notification
from agent_core.model.origin import ChannelScope, ThreadRef
from agent_core.model.turn import Turn

MENTION = re.compile(r"<(?:@([UW][A-Z0-9]+)|!subteam\^(S[A-Z0-9]+))(?:\|[^<>]*)?>")
GONE = ("message_not_found", "channel_not_found")


@dataclass(frozen=True, slots=True, kw_only=True)
class SlackNotifications:
    """Implements `Notifications`. An address is `CHANNEL/TS`."""

    calls: SlackApi
    directory: SlackDirectory
    continuous_limit: int | None = None

    def find_mention(self, workspace: str, typed: str) -> str:
        """Understands a mention as Slack escapes it, of a person or group, and the `@name` or id of a known person."""
        if found := MENTION.fullmatch(typed):
            return found[1] or found[2]
        return self.directory.find_person(workspace, typed.removeprefix("@"))

    async def remind(self, agent: Agent, turn: Turn | None, mentions: Sequence[str], *, may_exist: bool) -> str:
        if agent.thread is None:
            raise ThreadGone("The agent has no thread.")
        message = reminder_message(agent, turn, mentions)
        return await self._post(agent.channel, agent.thread, message, agent, may_exist=may_exist)

    async def send_direct(self, agent: Agent, turn: Turn | None, person: str, *, may_exist: bool) -> str:
        await self.directory.require_in_channel(agent.channel, person)
        message = direct_message(agent, turn, continuous_limit=self.continuous_limit)
        there = await self._direct_channel(agent, person)
        return await self._post(there, ThreadRef(there, ""), message, agent, may_exist=may_exist)

    async def _find(self, agent: Agent, person: str) -> str:
        """The address of a notification about this wait, or "" if none was posted."""
        if person:
            thread: ThreadRef | None = ThreadRef(await self._direct_channel(agent, person), "")
            mark = direct_metadata(agent)
        else:
            thread, mark = agent.thread, reminder_metadata(agent)
        found = await find_posted(self.calls, thread, mark, agent.since) if thread else ""
        return f"{thread.channel.channel}/{found}" if thread and found else ""

    async def take_back(self, agent: Agent, turn: Turn | None, notification: Notification) -> None:
        address = notification.address or await self._find(agent.when_called(notification), notification.to)
        if not address:
            return
        channel, _, ts = address.partition("/")
        message = ended_message(agent, turn)
        try:
            await self.calls.ask(
                agent.channel.workspace,
                lambda client: (
                    client.chat_update(channel=channel, ts=ts, **message.arguments)
                    if notification.to
                    else client.chat_delete(channel=channel, ts=ts)
                ),
                place=channel,
            )
        except SlackRefused as refused:
            if refused.error not in GONE:
                raise

    async def _direct_channel(self, agent: Agent, person: str) -> ChannelScope:
        opened = await self.calls.ask(
            agent.channel.workspace, lambda client: client.conversations_open(users=person), place="conversations.open"
        )
        return ChannelScope("slack", agent.channel.workspace, str(opened["channel"]["id"]))

    async def _post(
        self, channel: ChannelScope, thread: ThreadRef, message: SlackMessage, agent: Agent, *, may_exist: bool
    ) -> str:
        """Post the message, unless it may have been posted before and was; return its address."""
        found = await find_posted(self.calls, thread, message.written_by, agent.since) if may_exist else ""
        if not found:
            answer = await self.calls.ask(
                channel.workspace,
                lambda client: client.chat_postMessage(
                    channel=channel.channel,
                    thread_ts=thread.thread or None,
                    unfurl_links=False,
                    unfurl_media=False,
                    **message.arguments,
                ),
                place=channel.channel,
            )
            found = str(answer["ts"])
        return f"{channel.channel}/{found}"
