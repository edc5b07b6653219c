"""Prompts of tool servers in Slack: asks for the arguments of a chosen one, and fills in the form for an agent."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass

from adapters.chat.refusals import RefusedAction, attempt
from adapters.screens.forms import prompt_form
from adapters.slack.inbound.context import SlackContext
from adapters.slack.inbound.inbound_event import Body, SlackEvent
from adapters.slack.inbound.submitted_forms import FormContext, fields_in, place_of
from adapters.slack.outbound.blocks import Block
from adapters.slack.outbound.forms import agent_view, draw_form
from adapters.slack.outbound.menus import asking_view, with_mark
from adapters.typed.prompt_drafts import PromptChoice, arguments_typed, fill_in, find_choice, list_choices
from agent_core.model.origin import Origin

QUICK_SECONDS = 1.5  # of the three in which Slack wants an answer


@dataclass(frozen=True, slots=True)
class SlackPrompts:
    """Asks for a prompt's arguments and fills the form in. Nothing is created here."""

    context: SlackContext

    async def form(self, key: str, origin: Origin, thread: str = "") -> Block:
        """The form of a prompt; raise NotAllowed for who may not create agents, InvalidInput for an unknown key."""
        await self.context.service.lifecycle.load_agent_defaults(origin)
        choice = find_choice(await list_choices(self.context.views, origin.channel), key)
        return draw_form(prompt_form(choice), origin.channel.key, thread)

    async def choose(self, key: str, view: Body, event: SlackEvent) -> None:
        """Show the form of the chosen prompt in place of the open form."""
        place = place_of(view)
        form = await self.form(key, await self.context.origin_in(event, place.scope), place.thread)
        self.context.soon(self.context.replace(event.workspace, view["id"], form))

    async def submit(self, view: Body, origin: Origin) -> Block:
        """The form for a new agent, filled in; if the server takes longer than Slack waits, a placeholder for it.

        Raise InvalidInput for each argument that is missing or too long, by its field.
        """
        place = place_of(view)
        await self.context.service.lifecycle.load_agent_defaults(origin)
        choice = find_choice(await list_choices(self.context.views, origin.channel), place.about)
        fields = fields_in(view)
        arguments = arguments_typed(choice, fields)
        asking = asyncio.ensure_future(self._ask(choice, place, fields, origin, arguments))
        await asyncio.wait((asking,), timeout=QUICK_SECONDS)
        if asking.done():
            return asking.result()
        self.context.soon(self._replace_when(asking, origin.channel.workspace, view["id"]))
        return asking_view(choice)

    async def _ask(
        self,
        choice: PromptChoice,
        place: FormContext,
        fields: Mapping[str, str],
        origin: Origin,
        arguments: Mapping[str, str],
    ) -> Block:
        filled = await attempt(fill_in(self.context.views, origin.channel, choice, arguments))
        if isinstance(filled, RefusedAction):
            return draw_form(prompt_form(choice, fields, said=filled.text), place.channel, place.thread)
        last = await self.context.service.lifecycle.load_agent_defaults(origin)
        form = agent_view(filled.draft, last, place.channel, said=filled.said, thread=place.thread)
        return with_mark(form, choice.key)

    async def _replace_when(self, asking: "asyncio.Future[Block]", workspace: str, view_id: str) -> None:
        await self.context.replace(workspace, view_id, await asking)
