"""Turns submitted Discord forms into calls of the services; as Discord shows no errors, a button reopens a form."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import discord

from adapters.chat.agent_messages import choice_screen, note_screen, refused_screen
from adapters.chat.refusals import RefusedAction, attempt
from adapters.chat.texts import HOW_AGAIN, creation_text
from adapters.discord.inbound import submitted_forms
from adapters.discord.inbound.answering import send_answer
from adapters.discord.inbound.context import (
    DiscordContext,
    acknowledge,
    show_thinking,
    tell,
)
from adapters.discord.inbound.direct_messages import DiscordDirectListener
from adapters.discord.inbound.form_store import rule_key
from adapters.discord.inbound.inbound_event import origin_of
from adapters.discord.inbound.prompts import DiscordPrompts
from adapters.discord.inbound.submitted_forms import (
    AgentForm,
    AnswerForm,
    DirectForm,
    EditForm,
    PolicyForm,
    PromptForm,
    RuleForm,
    TextForm,
)
from adapters.discord.outbound.answer_messages import answer_message, text_message
from adapters.discord.outbound.draw import draw
from adapters.discord.outbound.message import DiscordMessage
from adapters.screens.buttons import Button, ViewButton
from adapters.typed.actions import FormInput, takes_long
from adapters.typed.form_values import times_of
from adapters.typed.policies import change_of_form
from adapters.typed.typed_text import typed
from agent_core.errors import InvalidInput
from agent_core.model.ids import TurnId
from agent_core.model.origin import Origin


@dataclass(frozen=True, slots=True)
class DiscordModalListener:
    """Carries out submitted forms. Only `custom_id` and values are read, so forms work after a restart."""

    context: DiscordContext

    @property
    def direct(self) -> DiscordDirectListener:
        return DiscordDirectListener(self.context)

    async def submit(self, interaction: discord.Interaction) -> None:
        if isinstance(refusal := await attempt(self._carry_out(interaction, origin_of(interaction))), RefusedAction):
            await tell(interaction, refusal.text)
        await acknowledge(interaction)

    async def _carry_out(self, interaction: discord.Interaction, origin: Origin) -> None:
        data: Mapping[str, Any] = dict(interaction.data or {})
        press = self.context.actions.press
        match submitted_forms.read(str(data.get("custom_id")), submitted_forms.submitted(data.get("components"))):
            case AgentForm() | PromptForm() as sent:
                await self._new_agent(sent, interaction, origin)
            case EditForm() | AnswerForm() | PolicyForm() | RuleForm() as sent:
                if refused := await self._send(sent, origin):
                    await tell(interaction, refused)
            case DirectForm(about, reason):
                await self.direct.reject(interaction, about, reason)
            case TextForm(Button("reject") as button, reason):
                await press(button, FormInput(text=reason), origin)
            case TextForm(Button("approve") as button, number):
                await press(replace(button, times=times_of(number)), FormInput(), origin)
            case TextForm() as sent:
                await self._reply(sent, interaction, origin)

    async def _new_agent(self, sent: AgentForm | PromptForm, interaction: discord.Interaction, origin: Origin) -> None:
        if isinstance(sent, PromptForm):
            await DiscordPrompts(self.context).fill_in(sent, interaction, origin)
        else:
            await tell(interaction, await self._create(sent, origin))

    async def _create(self, sent: AgentForm, origin: Origin) -> DiscordMessage:
        try:
            agent = await self.context.service.lifecycle.create(sent.draft(), origin)
        except InvalidInput as error:
            form = replace(self.context.forms.blank(origin), fields=sent.fields, problems=error.problems)
            await self.context.forms.save(form)
            return draw(refused_screen(error.problems, ViewButton("new agent", form.key)))
        return text_message(f"{creation_text(agent)} {HOW_AGAIN}")

    async def _send(self, sent: EditForm | AnswerForm | PolicyForm | RuleForm, origin: Origin) -> DiscordMessage | None:
        """Carry out a form that is kept if a field is wrong; return what is then said, such as the policy."""
        if isinstance(sent, PolicyForm):
            policies = self.context.actions.management_commands.channel_policy
            return text_message(await policies.set(change_of_form(sent.packed, sent.fields), origin))
        if isinstance(sent, AnswerForm):
            return await send_answer(self.context, sent, origin)
        if isinstance(sent, RuleForm):
            return await self._make_rule(sent, origin)
        return await self._approve_edited(sent, origin)

    async def _approve_edited(self, sent: EditForm, origin: Origin) -> DiscordMessage | None:
        """Approve the command with its changed arguments; if they are invalid, return a message with the problems."""
        button = sent.button
        _, turn = await self.context.views.turn(origin.channel, TurnId(button.subject))
        spec = self.context.views.spec(turn.proposal.call.name)
        try:
            await self.context.actions.press(button, FormInput(arguments=sent.arguments(turn, spec)), origin)
        except InvalidInput as error:
            return await self._keep(sent, turn.id, error, origin)
        return None

    async def _make_rule(self, sent: RuleForm, origin: Origin) -> DiscordMessage:
        try:
            rules = self.context.actions.management_commands.rules
            return text_message(await rules.make_offered(sent.button, sent.fields, origin))
        except InvalidInput as error:
            return await self._keep(sent, rule_key(sent.button.subject), error, origin)

    async def _keep(self, sent: EditForm | RuleForm, key: str, error: InvalidInput, origin: Origin) -> DiscordMessage:
        """Keep a refused form with its problems; return a message with these and a button that opens it again."""
        _, turn = await self.context.views.turn(origin.channel, TurnId(sent.button.subject))
        form = replace(self.context.forms.blank(origin, key), agent_id=turn.agent_id)
        await self.context.forms.save(replace(form, fields=sent.fields, problems=error.problems))
        again = replace(sent.button, part=2) if isinstance(sent, RuleForm) else sent.button
        return draw(refused_screen(error.problems, again))

    async def _reply(self, sent: TextForm, interaction: discord.Interaction, origin: Origin) -> None:
        """Send the reply to the agent; if it becomes a note, post it in the thread for the others."""
        if takes_long(typed(sent.text)):
            await show_thinking(interaction)
        answer = await self.context.actions.reply(sent.button, sent.text, origin)
        if answer.buttons:
            await tell(interaction, draw(choice_screen(answer.text, answer.buttons)))
        elif answer.kept or answer.is_wanted or answer.is_asked or interaction.response.is_done():
            await tell(interaction, answer_message(answer))
        if answer.kept and (agent := answer.kept.agent).thread:
            thread = int(agent.thread.thread)
            await self.context.surface.sending.post(
                thread, draw(note_screen(agent, origin.by, sent.text)), str(interaction.id)
            )
