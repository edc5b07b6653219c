"""Prompts of tool servers in Discord: offers them, asks for their arguments, and fills in the form for an agent."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import discord
from discord import app_commands

from adapters.chat.agent_messages import offer_screen, refused_screen
from adapters.chat.refusals import RefusedAction, attempt
from adapters.discord.inbound.context import DiscordContext, open_form, show_thinking, tell
from adapters.discord.inbound.inbound_event import scope_of
from adapters.discord.inbound.submitted_forms import PromptForm
from adapters.discord.outbound.draw import draw
from adapters.discord.outbound.extra_buttons import DiscordDraftButton, OpensForm
from adapters.discord.outbound.forms import draw_form
from adapters.screens.buttons import ViewButton
from adapters.screens.forms import prompt_form
from adapters.screens.text_fit import cut
from adapters.screens.visible_text import one_line
from adapters.typed.prompt_drafts import (
    ARGUMENT,
    FilledPrompt,
    PromptChoice,
    arguments_typed,
    fill_in,
    find_choice,
    list_choices,
)
from agent_core.errors import InvalidInput
from agent_core.model.origin import Origin

KEY = "prompt"  # the field of a stored form that names the prompt
MAX_CHOICES, MAX_CHOICE = 25, 100


@dataclass(frozen=True, slots=True)
class DiscordPrompts:
    """Asks for a prompt's arguments and offers the form, filled in. Nothing is created here."""

    context: DiscordContext

    async def list_offered(self, interaction: discord.Interaction, typed: str) -> list[app_commands.Choice[str]]:
        """The prompts whose server, title or name contains the typed text."""
        channel = scope_of(interaction.guild_id, interaction.channel)
        every = await list_choices(self.context.views, channel)
        found = [each for each in every if typed.casefold() in f"{each.full_name} {each.title}".casefold()]
        return [app_commands.Choice(name=_choice_name(each), value=each.key) for each in found[:MAX_CHOICES]]

    async def open(self, interaction: discord.Interaction, key: str, origin: Origin) -> None:
        """Open the form of a prompt; raise PersonError if there is none, or if this person may not create agents."""
        await open_form(interaction, draw_form(prompt_form(await self._find(key, origin))))

    async def open_again(self, interaction: discord.Interaction, fields: Mapping[str, str], origin: Origin) -> None:
        """Open the form with what was typed before."""
        await open_form(interaction, draw_form(prompt_form(await self._find(fields[KEY], origin), fields)))

    async def fill_in(self, sent: PromptForm, interaction: discord.Interaction, origin: Origin) -> None:
        """Ask the server for the text, and offer the form for a new agent; else tell why not, and keep what was typed.

        Discord opens no form in answer to a form, so the answer is a message with a button.
        """
        choice = await self._find(sent.key, origin)
        await show_thinking(interaction)
        filled = await attempt(self._fill_in(choice, sent, origin))
        blank = self.context.forms.blank(origin)
        if isinstance(filled, RefusedAction):
            problems = filled.error.problems if isinstance(filled.error, InvalidInput) else {}
            await self.context.forms.save(replace(blank, fields={**sent.fields, KEY: sent.key}))
            told = {"": filled.text} if not problems else _named(problems, choice)
            await tell(interaction, draw(refused_screen(told, ViewButton("new agent", blank.key))))
            return
        draft = filled.draft.like(await self.context.service.lifecycle.load_agent_defaults(origin))
        await self.context.forms.save(replace(blank, agent_draft=draft))
        opens = OpensForm(DiscordDraftButton("change", blank.key))
        await tell(interaction, draw(offer_screen(draft, (opens,), said=filled.said)))

    async def _fill_in(self, choice: PromptChoice, sent: PromptForm, origin: Origin) -> FilledPrompt:
        arguments = arguments_typed(choice, sent.fields)
        return await fill_in(self.context.views, origin.channel, choice, arguments)

    async def _find(self, key: str, origin: Origin) -> PromptChoice:
        await self.context.service.lifecycle.load_agent_defaults(
            origin
        )  # raises NotAllowed for who may not create agents
        return find_choice(await list_choices(self.context.views, origin.channel), key)


def _named(problems: Mapping[str, str], choice: PromptChoice) -> dict[str, str]:
    """The problems with the names of the arguments, since a message has no fields."""
    fields = {f"{ARGUMENT}{number}": each.name for number, each in enumerate(choice.prompt.arguments)}
    return {field: f"{one_line(fields.get(field, field))}: {said}" for field, said in problems.items()}


def _choice_name(choice: PromptChoice) -> str:
    fault = " (cannot be used)" if choice.prompt.fault else ""
    return cut(f"{choice.source}: {choice.title}", MAX_CHOICE - len(fault)) + fault
