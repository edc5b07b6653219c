"""Turns clicks on Discord's buttons and menus into calls of the services, and opens the forms that they ask for."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Self

import discord
from discord import ui

from adapters.chat.extra_buttons import DeleteButton, UploadButton
from adapters.chat.refusals import RefusedAction, attempt, redraw_if_outdated
from adapters.chat.texts import creation_text, deletion_text
from adapters.discord.inbound.answering import answer_modal
from adapters.discord.inbound.context import (
    DiscordContext,
    acknowledge,
    open_form,
    show_thinking,
    tell,
)
from adapters.discord.inbound.direct_messages import DiscordDirectListener
from adapters.discord.inbound.form_store import rule_key
from adapters.discord.inbound.inbound_event import origin_of
from adapters.discord.inbound.prompts import KEY, DiscordPrompts
from adapters.discord.outbound.answer_messages import reply_message, thoughts_message, whole_message
from adapters.discord.outbound.controls import OUR_BUTTON, OUR_CHOICE, parse_custom_id
from adapters.discord.outbound.extra_buttons import DiscordDraftButton, file_of_button
from adapters.discord.outbound.forms import draw_form
from adapters.discord.outbound.inputs import edit_fields
from adapters.discord.outbound.notifications import OUR_DIRECT
from adapters.screens.buttons import Button, ViewButton
from adapters.screens.form_parts import Form
from adapters.screens.forms import agent_form, edit_form, number_form, reason_form, reply_form, rule_form
from adapters.screens.ui_text import most_times
from adapters.typed.actions import FormInput, reviewed_text
from adapters.typed.form_values import fields_of
from agent_core.errors import NotPossible
from agent_core.model.draft import AgentDraft, FormDraft
from agent_core.model.ids import AgentId, NoticeId, TurnId
from agent_core.model.origin import Origin
from agent_core.model.turn import Turn

EMPTY_FORM = "here"
FILE_GONE = "This file no longer exists: /agent files lists the files."


@dataclass(frozen=True, slots=True)
class DiscordClickListener:
    """Handles component interactions. A decision is saved before it is acknowledged; a form opens immediately.

    Self-reviews and uploads are acknowledged first, because they may take more than three seconds.
    """

    context: DiscordContext

    async def press(self, interaction: discord.Interaction, said: str) -> None:
        """Carry out one click (`said`: its value); if it is refused, tell the person why in an ephemeral message."""
        origin = origin_of(interaction)
        if isinstance(refusal := await attempt(self._carry_out(said, interaction, origin)), RefusedAction):
            await tell(interaction, refusal.on_card)
        await acknowledge(interaction)

    async def _carry_out(self, said: str, interaction: discord.Interaction, origin: Origin) -> None:
        match parse_custom_id(said):
            case ViewButton() as opening:
                await self._open(opening, interaction, origin)
            case Button() as button:
                async with redraw_if_outdated(button, origin, self.context, self.context.surface.draw_again):
                    await self._press(button, interaction, origin)
            case UploadButton() as upload:
                await self._upload(upload, interaction, origin)
            case DeleteButton(agent_id):
                deleted = await self.context.service.lifecycle.delete(agent_id, origin)
                await tell(interaction, deletion_text(deleted, origin.by))
            case DiscordDraftButton() as offer:
                await self._create_offered(offer, interaction, origin)

    async def _press(self, button: Button, interaction: discord.Interaction, origin: Origin) -> None:
        if button.verb == "answer":
            await open_form(interaction, await answer_modal(self.context, button, origin))
        elif button.verb in ("edit", "reject", "reply"):
            await self._ask(button, interaction, origin)
        elif button.verb == "review":
            await self._review(button, interaction, origin)
        else:
            await self.context.actions.press(button, FormInput(), origin)

    async def _ask(self, button: Button, interaction: discord.Interaction, origin: Origin) -> None:
        """Open the form that precedes the decision."""
        seen = self.context.views
        if button.verb == "reply":
            form = reply_form(await seen.agent(origin.channel, AgentId(button.subject)), button.shown)
        else:
            agent, turn = await seen.open_to(origin.by, origin.channel, TurnId(button.subject), button.shown)
            if button.verb == "edit":
                form = await self._edit_form(turn, origin)
            else:
                form = reason_form(turn, str(button), await seen.words_about(agent, turn, origin.by))
        await open_form(interaction, draw_form(form))

    async def _edit_form(self, turn: Turn, origin: Origin) -> Form:
        """The form for the arguments; filled with this person's last invalid edit, if one is stored."""
        spec, edit = self.context.views.spec(turn.call.name), await self.context.forms.find(origin, turn.id)
        fields = edit_fields(turn, spec, edit.fields if edit else {}, edit.problems if edit else {})
        return edit_form(turn, spec, fields)

    async def _review(self, button: Button, interaction: discord.Interaction, origin: Origin) -> None:
        """Run a self-review; Discord is told first that the answer comes later."""
        _, turn = await self.context.views.open_to(origin.by, origin.channel, TurnId(button.subject))
        await show_thinking(interaction)
        await self.context.actions.press(button, FormInput(), origin)
        await tell(interaction, reviewed_text(turn.number))

    async def _open(self, opening: ViewButton, interaction: discord.Interaction, origin: Origin) -> None:
        """Open a read-only view or the form for a new agent."""
        seen = self.context.views
        match opening.verb:
            case "another number" | "always allow":
                await open_form(interaction, draw_form(await self._form_on_turn(opening, origin)))
            case "show all":
                await tell(interaction, whole_message(*await seen.turn(origin.channel, TurnId(opening.subject))))
            case "show reply":
                _, notice = await seen.reply(origin.channel, NoticeId(opening.subject))
                await tell(interaction, reply_message(notice))
            case "thoughts":
                await tell(interaction, thoughts_message(*await seen.turn(origin.channel, TurnId(opening.subject))))
            case "new agent":
                form = await self._new_agent(opening.subject, origin)
                if KEY in form.fields:
                    await DiscordPrompts(self.context).open_again(interaction, form.fields, origin)
                else:
                    await open_form(interaction, _agent_form(form))
            case "open":
                pass

    async def _form_on_turn(self, opening: ViewButton, origin: Origin) -> Form:
        """The form for a number, or for a rule that the card suggests: its part 2 is as this person filled it in."""
        if opening.verb == "another number":
            seen = self.context.views
            _, turn = await seen.open_to(origin.by, origin.channel, TurnId(opening.subject), opening.shown)
            return number_form(turn, most_times(self.context.service.decisions.continuous_limit))
        turn, offered = await self.context.actions.management_commands.rules.find_offers(opening, origin)
        kept = await self.context.forms.find(origin, rule_key(turn.id)) if opening.part > 1 else None
        return rule_form(turn, offered, kept.fields).refused(kept.problems) if kept else rule_form(turn, offered)

    async def _new_agent(self, key: str, origin: Origin) -> FormDraft:
        """The stored form with this key, or an empty one with the settings of the channel's last new agent."""
        if key != EMPTY_FORM:
            return await self.context.forms.get(origin, key)
        fresh = AgentDraft().like(await self.context.service.lifecycle.load_agent_defaults(origin))
        return replace(self.context.forms.blank(origin), agent_draft=fresh)

    async def _upload(self, upload: UploadButton, interaction: discord.Interaction, origin: Origin) -> None:
        """Upload a file of the agent to its thread, visible to the whole channel."""
        seen = self.context.views
        entry = file_of_button(upload, await seen.files(origin.channel, upload.agent))
        if entry is None:
            raise NotPossible(FILE_GONE)
        agent, data = await seen.file_to_share(origin.by, origin.channel, upload.agent, entry.path)
        await show_thinking(interaction)
        await self.context.surface.upload(agent, entry.path.rpartition("/")[2], data)
        await tell(interaction, f"{entry.path} is in the thread of {agent.name}.")

    async def _create_offered(
        self, offer: DiscordDraftButton, interaction: discord.Interaction, origin: Origin
    ) -> None:
        """Create the drafted agent, or open the form filled with the draft."""
        form = await self.context.forms.get(origin, offer.key)
        if offer.verb == "create" and form.agent_draft:
            agent = await self.context.service.lifecycle.create(form.agent_draft, origin)
            await tell(interaction, creation_text(agent))
        else:
            await open_form(interaction, _agent_form(form))


def _agent_form(form: FormDraft) -> ui.Modal:
    values = fields_of(form.agent_draft) if form.agent_draft else form.fields
    return draw_form(agent_form(values, form.channel.key).refused(form.problems))


def clicked_value(interaction: discord.Interaction[Any]) -> str:
    """The value that a click carries: the button's `custom_id` or the chosen option."""
    data: dict[str, Any] = dict(interaction.data or {})
    return str(data["values"][0] if data.get("values") else data.get("custom_id"))


def message_has_button(interaction: discord.Interaction[Any]) -> bool:
    """Whether the message still has the clicked button. Only then discord.py calls its callback."""
    custom_id = str(dict(interaction.data or {}).get("custom_id"))
    is_ours = any(each.fullmatch(custom_id) for each in (OUR_BUTTON, OUR_CHOICE, OUR_DIRECT))
    return (
        is_ours
        and interaction.message is not None
        and any(getattr(part, "custom_id", None) == custom_id for part in _parts(interaction.message.components))
    )


def _parts(components: Iterable[Any]) -> Iterator[Any]:
    for component in components:
        yield component
        yield from _parts(getattr(component, "children", ()))
        if accessory := getattr(component, "accessory", None):
            yield accessory


def dynamic_items(clicks: DiscordClickListener, direct: DiscordDirectListener) -> tuple[type[ui.DynamicItem[Any]], ...]:
    """The classes by which discord.py recognizes Signoff's buttons and menus, also those of earlier processes."""

    class Pressed(ui.DynamicItem[Any], template=OUR_BUTTON):
        @classmethod
        async def from_custom_id(
            cls, interaction: discord.Interaction[Any], item: ui.Item[Any], match: re.Match[str], /
        ) -> Self:
            return cls(item)

        async def callback(self, interaction: discord.Interaction[Any]) -> None:
            await clicks.press(interaction, clicked_value(interaction))

    class Chosen(Pressed, template=OUR_CHOICE):
        pass

    class Direct(Pressed, template=OUR_DIRECT):
        async def callback(self, interaction: discord.Interaction[Any]) -> None:
            await direct.press(interaction, clicked_value(interaction))

    return (Pressed, Chosen, Direct)
