"""The slash command `/agent` of Slack: answers as the acknowledgement, or opens forms and runs the rest after it."""

from dataclasses import dataclass

from adapters.chat.refusals import RefusedAction, attempt
from adapters.chat.subcommand_answers import run_subcommand
from adapters.screens.forms import policy_form
from adapters.screens.message.pieces import Screen
from adapters.slack.inbound.context import Ack, SlackContext
from adapters.slack.inbound.inbound_event import Body, SlackEvent, of_command
from adapters.slack.inbound.prompts import SlackPrompts
from adapters.slack.outbound import views
from adapters.slack.outbound.blocks import Block
from adapters.slack.outbound.controls import upload_button
from adapters.slack.outbound.draw import draw
from adapters.slack.outbound.forms import agent_view, draw_form
from adapters.slack.outbound.message import SlackMessage, link_to
from adapters.typed.command_lines import is_channel_policy
from adapters.typed.policies import packed_fields
from adapters.typed.prompt_drafts import NO_PROMPTS, list_choices
from adapters.typed.subcommands import (
    NewCopy,
    NewForm,
    NewPrompt,
    NewSentence,
    NewTemplate,
    ThreadSubcommand,
    agent_called,
    copied_text,
    grant_to_agent,
    subcommand_of,
)
from agent_core.errors import InvalidInput
from agent_core.model.draft import AgentDraft
from agent_core.model.origin import Origin


@dataclass(frozen=True, slots=True)
class SlackSlashListener:
    """Handles the slash command `/agent`. Forms, drafts and thread commands run after the acknowledgement."""

    context: SlackContext

    async def run(self, ack: Ack, body: Body, workspace: str) -> None:
        answer = await attempt(self._answer(body.get("text") or "", of_command(body, workspace)))
        if not answer:
            await ack()
            return
        said = answer.text if isinstance(answer, RefusedAction) else answer
        message = SlackMessage.plain(said) if isinstance(said, str) else draw(said)
        await ack(text=message.text, blocks=message.blocks)

    async def _answer(self, text: str, event: SlackEvent) -> str | Screen:
        origin = await self.context.origin(event)
        match subcommand_of(text):
            case NewForm(draft):
                return await self._open_form(draft, event, origin)
            case NewPrompt(key):
                self.context.soon(self.context.open(event, await self._prompt_form(key, origin)))
                return ""
            case NewTemplate(key):
                return await self._open_form(self.context.templates.get(key).draft, event, origin, key)
            case NewCopy(name):
                agent = await agent_called(self.context.views, origin.channel, name)
                draft = await self.context.service.lifecycle.draft_copy(agent.id, origin)
                form = agent_view(draft, None, origin.channel.key, said=copied_text(agent, draft))
                self.context.soon(self.context.tell_refusal(event, self.context.open(event, form)))
                return ""
            case NewSentence(sentence):
                await self.context.service.lifecycle.load_agent_defaults(origin)
                self.context.soon(self._draft(sentence, event, origin))
                return ""
            case ThreadSubcommand("policy", text) if is_channel_policy(text):
                self.context.soon(self.context.tell_refusal(event, self._open_policy(event, origin)))
                return ""
            case ThreadSubcommand() as wish:
                self.context.soon(self.context.tell_refusal(event, self._grant(wish, event, origin)))
                return ""
            case at_once:
                return await run_subcommand(at_once, origin, self.context, link_to, upload_button)

    async def _open_form(self, draft: AgentDraft, event: SlackEvent, origin: Origin, chosen: str = "") -> str:
        """Open the form for a new agent; `chosen`: the key of the template that fills it in."""
        form = agent_view(draft, await self.context.service.lifecycle.load_agent_defaults(origin), origin.channel.key)
        self.context.soon(self.context.open(event, await self.context.with_starters(form, origin.channel, chosen)))
        return ""

    async def _open_policy(self, event: SlackEvent, origin: Origin) -> None:
        """Open the form of the channel's policy; tell the policy to who may not change it."""
        policies = self.context.actions.management_commands.channel_policy
        if carried := await policies.form_fields(origin):
            form = draw_form(policy_form(carried, packed_fields(carried)), origin.channel.key)
            await self.context.open(event, form)
        else:
            await self.context.tell(event, await policies.run("", origin))

    async def _prompt_form(self, key: str, origin: Origin) -> Block:
        """The form of a prompt; without a key the form for a new agent, which offers all prompts."""
        if key:
            return await SlackPrompts(self.context).form(key, origin)
        last = await self.context.service.lifecycle.load_agent_defaults(origin)
        if not await list_choices(self.context.views, origin.channel):
            raise InvalidInput({"prompt": NO_PROMPTS})
        return await self.context.with_starters(agent_view(None, last, origin.channel.key), origin.channel)

    async def _grant(self, wish: ThreadSubcommand, event: SlackEvent, origin: Origin) -> None:
        """Run a command that may take longer than Slack's three seconds; only the person sees the answer."""
        answer, agent = await grant_to_agent(self.context.actions.management_commands, wish, origin)
        await self.context.give(event, answer, agent.id if agent else None, origin)

    async def _draft(self, sentence: str, event: SlackEvent, origin: Origin) -> None:
        """Open a view with a placeholder at once; replace it with the form when the model has drafted the agent."""
        view_id = await self.context.open(event, views.drafting_view())
        drafted = await self.context.drafting.draft(sentence, origin)
        last = await self.context.service.lifecycle.load_agent_defaults(origin)
        form = agent_view(drafted.draft, last, origin.channel.key, said=drafted.said)
        await self.context.replace(event.workspace, view_id, form)
