"""Sends and takes back Slack reminders in threads and direct messages, and makes both with their metadata.

A reminder is the one message besides the root message that mentions people, by ids that come from Slack and from the
channel's settings alone.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from adapters.chat.agent_messages import direct_screen, ended_screen, reminder_screen
from adapters.slack.api.client import SlackApi
from adapters.slack.api.directory import SlackDirectory
from adapters.slack.api.web_api import SlackRefused
from adapters.slack.outbound.blocks import MAX_ID, mention_text
from adapters.slack.outbound.draw import draw
from adapters.slack.outbound.message import SlackMessage, card_link, link_to, metadata
from adapters.slack.outbound.posted import find_posted
from agent_core.errors import NotAllowed, ThreadGone
from agent_core.model.agent import Agent
from agent_core.model.origin import ChannelScope, ThreadRef
from agent_core.model.records.notification import Notification
from agent_core.model.turn import Turn

END = re.compile(r"signoff-direct (\S+) \d+")


def reminder_message(agent: Agent, turn: Turn | None, mentions: Sequence[str]) -> SlackMessage:
    """One short message for the thread: who is called, what waits, and a link to the card."""
    url = card_link(agent.channel, turn.shown_as) if turn else ""
    mentions = [each for each in mentions if mention_text(each)]
    return draw(reminder_screen(agent, turn, mentions, url), reminder_metadata(agent))


def reminder_metadata(agent: Agent) -> dict[str, object]:
    """Identifies one reminder of one wait."""
    return dict(metadata("signoff_reminder", agent=agent.id, wait=f"{agent.since:%Y%m%d%H%M%S} {agent.reminded}"))


def direct_metadata(agent: Agent) -> dict[str, object]:
    """Identifies the direct message of one wait, among those to one person."""
    return dict(metadata("signoff_direct", agent=agent.id, wait=f"{agent.since:%Y%m%d%H%M%S}"))


def direct_message(agent: Agent, turn: Turn | None, *, continuous_limit: int | None = None) -> SlackMessage:
    """What a person decides on without opening the thread."""
    screen = direct_screen(agent, turn, _link(agent, turn), continuous_limit=continuous_limit, shows_all=True)
    return _addressed(agent, draw(screen, direct_metadata(agent)))


def ended_message(agent: Agent, turn: Turn | None) -> SlackMessage:
    """What stands in place of a direct message when its wait is over."""
    return _addressed(agent, draw(ended_screen(agent, turn, _link(agent, turn))))


def channel_of_block(block_id: str) -> ChannelScope | None:
    """The agent's channel, if the block is one of a direct message that this module built."""
    found = END.fullmatch(block_id)
    try:
        return ChannelScope.parse(found[1]) if found else None
    except ValueError:
        return None


def _link(agent: Agent, turn: Turn | None) -> str:
    return (card_link(agent.channel, turn.shown_as) if turn else "") or link_to(agent)


def _addressed(agent: Agent, message: SlackMessage) -> SlackMessage:
    """The message with block ids that name the agent's channel, by which a click in it finds the channel."""
    ids = [f"signoff-direct {agent.channel.key} {number}" for number in range(len(message.blocks))]
    blocks = [
        block | {"block_id": name} if len(name) <= MAX_ID else block
        for block, name in zip(message.blocks, ids, strict=True)
    ]
    return replace(message, blocks=blocks)


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

    async def find_approver(self, channel: ChannelScope, found: str) -> str:
        if found.startswith("S"):
            return await self.directory.group_name(channel.workspace, found)
        person = await self.directory.actor(channel, found)
        if person.kind != "member":
            raise NotAllowed(f"let {person} approve: only full members of the workspace may.")
        return str(person)

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
