"""What every Slack listener uses: the services, Slack's API, and methods that answer people."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeAlias

from slack_sdk.webhook.async_client import AsyncWebhookClient

from adapters.chat.refusals import RefusedAction, attempt
from adapters.chat.services import ChatServices
from adapters.slack.api.client import SlackApi
from adapters.slack.api.directory import SlackDirectory
from adapters.slack.api.web_api import SlackRefused
from adapters.slack.inbound.inbound_event import SlackEvent
from adapters.slack.inbound.message_markup import typed_text
from adapters.slack.outbound.answer_messages import answer_message
from adapters.slack.outbound.blocks import Block
from adapters.slack.outbound.menus import with_prompts, with_templates
from adapters.slack.outbound.message import SlackMessage
from adapters.slack.outbound.surface import SlackSurface
from adapters.typed.answers import Answer
from adapters.typed.prompt_drafts import list_choices
from adapters.typed.typed_text import TypedText
from agent_core.errors import CommandError, NotAllowed, NotFound, NotPossible, SurfaceError
from agent_core.model.agent import Agent
from agent_core.model.ids import AgentId
from agent_core.model.origin import ChannelScope, Origin, ThreadRef

Ack: TypeAlias = Callable[..., Awaitable[Any]]

FORM_TOO_LATE = "Slack allows three seconds to open a form, and this took longer. Press again."
LOG_FILES = "The full decision log you asked for, as JSON Lines and CSV:"
LOG_FILES_FAILED = "The files of the full log could not be sent to your direct messages:"


@dataclass(frozen=True, slots=True, kw_only=True)
class SlackContext(ChatServices):
    """The services, the surface, the user directory and Slack's API that all listeners share."""

    surface: SlackSurface
    directory: SlackDirectory
    calls: SlackApi

    async def origin(self, event: SlackEvent) -> Origin:
        """The person and channel of an event; the directory tells whether the person is a member, guest or external."""
        channel = channel_of(event)
        by = await self.directory.actor(channel, event.person)
        return Origin(by=by, channel=channel, delivery=event.delivery)

    async def origin_in(self, event: SlackEvent, channel: ChannelScope) -> Origin:
        """The person of an event as a member of the agent's channel, who may be looking at another place.

        Slack is asked each time; raise NotAllowed if they are no member now.
        """
        if channel.workspace != event.workspace:
            raise NotFound("channel", channel.channel)
        await self.directory.require_in_channel(channel, event.person)
        return await self.origin(replace(event, channel=channel.channel))

    async def read_text(self, text: str, workspace: str) -> TypedText:
        """A person's text without Slack's markup and without the bot's own mention."""
        install = await self.calls.tokens.source.install(workspace)
        names = partial(self.directory.name_of, workspace)
        return typed_text(text, names, bot=install.bot_user if install else "")

    async def tell(self, event: SlackEvent, said: str | SlackMessage) -> None:
        """Send an ephemeral message to one person."""
        message = SlackMessage.plain(said) if isinstance(said, str) else said
        try:
            await self.calls.ask(
                event.workspace,
                lambda client: client.chat_postEphemeral(
                    channel=event.channel,
                    user=event.person,
                    thread_ts=event.thread or None,
                    **message.arguments,
                ),
                place=f"{event.channel}/alone",
            )
        except SurfaceError:
            if not event.response_url:
                raise
            webhook = AsyncWebhookClient(event.response_url)
            await webhook.send_dict({**message.arguments, "response_type": "ephemeral", "replace_original": False})

    async def give(self, event: SlackEvent, answer: Answer, agent_id: AgentId | None, origin: Origin) -> None:
        """Answer with a text or a file. A person who may decide gets the file in the thread, others its text alone.

        The files of the decision log are sent as a direct message.
        """
        if answer.log:
            await self._give_log(event, answer)
            return
        file = answer.files[0] if answer.files else None
        agent = await self._may_upload(agent_id, file.name, origin) if file and agent_id else None
        if file and agent:
            await self.surface.upload(agent, file.name, file.data)
            await self.tell(event, f"{file.name} is in the thread of {agent.name}.")
        else:
            await self.tell(event, answer_message(answer))

    async def _give_log(self, event: SlackEvent, answer: Answer) -> None:
        await self.tell(event, answer_message(answer))
        files = [(file.name, file.data) for file in answer.files]
        try:
            await self.surface.send_files(event.workspace, event.person, LOG_FILES, files)
        except SurfaceError as fault:
            await self.tell(event, f"{LOG_FILES_FAILED} {fault}")

    async def _may_upload(self, agent_id: AgentId, name: str, origin: Origin) -> Agent | None:
        """The agent, or None if it has no thread or the person may not share the agent's files with the channel."""
        views = self.views
        try:
            await views.file_to_share(origin.by, origin.channel, agent_id, name)
        except NotAllowed:
            return None
        except CommandError:  # the name need not be that of a file in the workspace
            pass
        agent = await views.agent(origin.channel, agent_id)
        return agent if agent.thread else None

    async def tell_refusal(self, event: SlackEvent, work: Awaitable[object]) -> None:
        """Do the work; if it is refused, tell only the person."""
        if isinstance(refusal := await attempt(work), RefusedAction):
            await self.tell(event, refusal.text)

    async def post(self, event: SlackEvent, message: SlackMessage) -> None:
        """Post in the event's thread or channel."""
        await self.surface.post(channel_of(event), message, thread=event.thread or None)

    async def react(self, event: SlackEvent, ts: str, name: str) -> None:
        await self.calls.ask(
            event.workspace,
            lambda client: client.reactions_add(channel=event.channel, timestamp=ts, name=name),
            place=f"{event.channel}/reactions",
        )

    async def open(self, event: SlackEvent, view: Block) -> str:
        """Open a form and return its id; raise NotPossible if Slack's limit of three seconds has passed."""
        try:
            answer: Any = await self.calls.ask(
                event.workspace,
                lambda client: client.views_open(trigger_id=event.trigger, view=view),
                place="views.open",
            )
        except SlackRefused as refused:
            if "trigger" in refused.error:
                raise NotPossible(FORM_TOO_LATE) from refused
            raise
        return str(answer["view"]["id"])

    async def with_starters(self, form: Block, channel: ChannelScope | None, chosen: str = "") -> Block:
        """The form for a new agent with the menus of templates and, if the channel is known, of prompts."""
        choices = await list_choices(self.views, channel) if channel else ()
        return with_templates(with_prompts(form, choices), self.templates.every, chosen)

    async def replace(self, workspace: str, view_id: str, view: Block) -> None:
        await self.calls.ask(
            workspace, lambda client: client.views_update(view_id=view_id, view=view), place="views.update"
        )


def channel_of(event: SlackEvent) -> ChannelScope:
    return ChannelScope("slack", event.workspace, event.channel)


def thread_of(event: SlackEvent) -> ThreadRef:
    return ThreadRef(channel_of(event), event.thread)
