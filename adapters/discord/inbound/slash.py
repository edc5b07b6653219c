"""The slash command `/agent` of Discord: its subcommands, choices for what is typed, and ephemeral answers."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from inspect import Parameter, Signature
from typing import Any, get_args

import discord
from discord import app_commands

from adapters.chat.agent_messages import offer_screen
from adapters.chat.refusals import RefusedAction, attempt
from adapters.chat.subcommand_answers import run_subcommand
from adapters.discord.inbound.context import DiscordContext, open_form, show_thinking, tell
from adapters.discord.inbound.inbound_event import origin_of, scope_of
from adapters.discord.inbound.prompts import DiscordPrompts
from adapters.discord.outbound.answer_messages import answer_message
from adapters.discord.outbound.draw import draw
from adapters.discord.outbound.extra_buttons import draft_buttons, upload_button
from adapters.discord.outbound.forms import draw_form
from adapters.discord.outbound.message import DiscordMessage, link_to
from adapters.screens.forms import agent_form, policy_form
from adapters.screens.visible_text import one_line
from adapters.typed.command_lines import CHANNEL_VERBS, ThreadVerb, is_channel_policy
from adapters.typed.form_values import fields_of
from adapters.typed.policies import packed_fields
from adapters.typed.subcommands import (
    DUPLICATE,
    HELP,
    AgentVerb,
    NewCopy,
    NewForm,
    NewPrompt,
    NewSentence,
    NewTemplate,
    ThreadSubcommand,
    agent_called,
    grant_to_agent,
    subcommand_of,
)
from agent_core.model.origin import Origin

GROUP, UNARCHIVE = "agent", "unarchive"
MAX_CHOICES, MAX_CHOICE, MAX_DESCRIPTION = 25, 100, 100
NAME_HINT = "The agent's name; optional if the channel has only one agent."
LIST_HINT = "archived lists the archived agents."
NEW_HINT = "A sentence, or Name | role | goal; goal, or a pasted ai_settings.yaml. Leave empty to open the form."
TEMPLATE_HINT = "Fills the form in from a template."
QUOTE = '"'
PROMPT_HINT = "Asks what a tool server's prompt needs, and fills the form in from it."
TEXT_HINTS: dict[ThreadVerb, str] = {
    "goals": "set a; b replaces its goals. Leave empty to show them.",
    "model": "The name of another model, or default. Leave empty to show its model.",
    "budget": "US dollars, none, or channel 20 for all agents here. Leave empty to show what was spent.",
    "policy": "approvers owner, free, ask or two CLASSES; channel for all agents here. Leave empty to show it.",
    "rules": "allow COMMAND, never COMMAND or revoke ID. Leave empty to list what always or never runs.",
    "schedule": "every weekday at 9:00, a cron line, pause, resume, now, delete or list. Leave empty to show it.",
    "memory": "search WORDS, add TEXT, forget ID, forget all or export. Leave empty to list its memories.",
    "reminders": "call @PEOPLE, after 5m 4h, backup @PEOPLE after 8h, pause 24h, quiet 18:00-08:00, zone NAME.",
    "notify": "me, or off. Leave empty to see whether you get direct messages.",
    "fork": "A turn's number, and what the new agent should do differently; real ends a dry run.",
    "tools": "off NAME, on NAME, only NAME or all on. Leave empty to see what plugins and servers add.",
    "sites": "allow HOST, deny HOST or clear. Leave empty to show them.",
}
Run = Callable[[discord.Interaction, str], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class DiscordSlashListener:
    """Handles the slash command `/agent`."""

    context: DiscordContext

    async def run(self, interaction: discord.Interaction, text: str) -> None:
        """Run one command, given as one line of text, and answer it."""
        answer = await attempt(self._answer(text, interaction, origin_of(interaction)))
        if answer:
            await tell(interaction, answer.text if isinstance(answer, RefusedAction) else answer)

    async def names(self, interaction: discord.Interaction, typed: str) -> list[app_commands.Choice[str]]:
        """The channel's agents whose names contain the typed text; for `unarchive` the archived ones."""
        channel, views = scope_of(interaction.guild_id, interaction.channel), self.context.views
        is_archived = interaction.command is not None and interaction.command.name == UNARCHIVE
        agents = await (views.list_archived if is_archived else views.agents)(channel)
        found = [agent.name for agent in agents if typed.casefold() in agent.name.casefold()]
        return [app_commands.Choice(name=one_line(name)[:MAX_CHOICE], value=name) for name in found[:MAX_CHOICES]]

    async def list_templates(self, _: discord.Interaction, typed: str) -> list[app_commands.Choice[str]]:
        """The templates whose label or key contains the typed text."""
        every = self.context.templates.every
        found = [each for each in every if typed.casefold() in f"{each.label} {each.key}".casefold()]
        return [app_commands.Choice(name=one_line(each.label), value=each.key) for each in found[:MAX_CHOICES]]

    async def list_prompts(self, interaction: discord.Interaction, typed: str) -> list[app_commands.Choice[str]]:
        """The prompts of tool servers whose server, title or name contains the typed text."""
        return await DiscordPrompts(self.context).list_offered(interaction, typed)

    async def _answer(self, text: str, interaction: discord.Interaction, origin: Origin) -> str | DiscordMessage:
        match subcommand_of(text):
            case NewForm(draft):
                filled = draft.like(await self.context.service.lifecycle.load_agent_defaults(origin))
                await open_form(interaction, draw_form(agent_form(fields_of(filled), origin.channel.key)))
                return ""
            case NewTemplate(key):
                draft = self.context.templates.get(key).draft
                filled = draft.like(await self.context.service.lifecycle.load_agent_defaults(origin))
                await open_form(interaction, draw_form(agent_form(fields_of(filled), origin.channel.key)))
                return ""
            case NewPrompt(key):
                await DiscordPrompts(self.context).open(interaction, key, origin)
                return ""
            case NewCopy(name):
                agent = await agent_called(self.context.views, origin.channel, name)
                draft = await self.context.service.lifecycle.draft_copy(agent.id, origin)
                await open_form(interaction, draw_form(agent_form(fields_of(draft), origin.channel.key)))
                return ""
            case NewSentence(sentence):
                return await self._draft(sentence, interaction, origin)
            case ThreadSubcommand() as wish:
                return await self._grant(wish, interaction, origin)
            case at_once:
                answer = await run_subcommand(at_once, origin, self.context, link_to, upload_button)
                return answer if isinstance(answer, str) else draw(answer)

    async def _grant(
        self, wish: ThreadSubcommand, interaction: discord.Interaction, origin: Origin
    ) -> str | DiscordMessage:
        """Run a thread command, or open the form of the channel's policy.

        Defer the answer, as a command may take longer than Discord's limit of 3 seconds.
        """
        policies = self.context.actions.management_commands.channel_policy
        is_form = wish.verb == "policy" and is_channel_policy(wish.text)
        if is_form and (fields := await policies.form_fields(origin)):
            await open_form(interaction, draw_form(policy_form(fields, packed_fields(fields))))
            return ""
        await show_thinking(interaction)
        answer, _ = await grant_to_agent(self.context.actions.management_commands, wish, origin)
        return answer_message(answer)

    async def _draft(self, sentence: str, interaction: discord.Interaction, origin: Origin) -> DiscordMessage:
        """Draft an agent from a sentence.

        Drafting takes longer than the 3 seconds in which Discord accepts a form, so the answer is a message with
        buttons.
        """
        await show_thinking(interaction)
        drafted = await self.context.drafting.draft(sentence, origin)
        draft = drafted.draft.like(await self.context.service.lifecycle.load_agent_defaults(origin))
        form = replace(self.context.forms.blank(origin), agent_draft=draft)
        await self.context.forms.save(form)
        return draw(offer_screen(draft, draft_buttons(form.key), said=drafted.said))


def commands_of(slash: DiscordSlashListener) -> app_commands.Group:
    """The group `/agent` with every subcommand."""
    group = app_commands.Group(name=GROUP, description="Agents that ask before they act", guild_only=True)
    group.add_command(_command("list", slash.run, text=LIST_HINT))
    group.add_command(_command("help", slash.run))
    new = _command("new", slash.run, text=NEW_HINT, template=TEMPLATE_HINT, prompt=PROMPT_HINT)
    new.autocomplete("template")(slash.list_templates)
    new.autocomplete("prompt")(slash.list_prompts)
    group.add_command(new)
    for verb in CHANNEL_VERBS:
        group.add_command(_command(verb, slash.run, text=TEXT_HINTS[verb]))
    for verb in (
        DUPLICATE,
        *get_args(AgentVerb),
        *(verb for verb in get_args(ThreadVerb) if verb not in CHANNEL_VERBS),
    ):
        text = {"text": TEXT_HINTS[verb]} if verb in TEXT_HINTS else {}
        command = _command(verb, slash.run, name=NAME_HINT, **text)
        command.autocomplete("name")(slash.names)
        group.add_command(command)
    return group


def meanings() -> dict[str, str]:
    """The description of each subcommand: its first line in the help."""
    meant = {"help": "what can be typed and pressed"}
    for line, meaning in HELP.commands:
        meant.setdefault(line.split()[1].strip(","), meaning[:MAX_DESCRIPTION])
    return meant


def _command(verb: str, run: Run, **hints: str) -> app_commands.Command[Any, Any, Any]:
    """The subcommand `verb` with an optional text parameter for each hint; `run` gets what was given as one line."""

    async def carry_out(interaction: discord.Interaction, /, **given: str) -> None:
        await run(interaction, _line(verb, given))

    # discord.py reads the parameters from the signature.
    texts = [Parameter(name, Parameter.POSITIONAL_OR_KEYWORD, default="", annotation=str) for name in hints]
    interaction = Parameter("interaction", Parameter.POSITIONAL_ONLY)
    carry_out.__signature__ = Signature([interaction, *texts])  # type: ignore[attr-defined]
    described = app_commands.describe(**hints)(carry_out)
    return app_commands.Command(name=verb, description=meanings()[verb], callback=described)


def _line(verb: str, given: Mapping[str, str]) -> str:
    """The line that means the same in Slack. A chosen template or prompt goes before a text."""
    if template := given.get("template"):
        return f"{verb} template {template}"
    if prompt := given.get("prompt"):
        return f'{verb} prompt "{prompt.replace(QUOTE, "")}"'
    return " ".join((verb, *(text for name, text in given.items() if name not in ("template", "prompt"))))
