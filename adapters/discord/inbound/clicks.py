"""Buttons and choices in, service calls out: saved first, then acknowledged, then shown."""

import logging
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Self, TypeAlias

import discord
from discord import ui

from adapters.actions import Filled
from adapters.buttons import Button, Opening
from adapters.discord.inbound import forms
from adapters.discord.inbound.context import (
    WENT_WRONG,
    Desk,
    begun,
    edit_key,
    made_text,
    noted,
    open_form,
    tell,
    thinking,
)
from adapters.discord.inbound.expiring import Held
from adapters.discord.inbound.inbound_event import origin_of
from adapters.discord.outbound.controls import CHOICE, PRESSED, Pressable, pressed
from adapters.discord.outbound.extra_buttons import Deletion, Offer, Upload
from adapters.discord.outbound.render import reply_message, thoughts_message, whole_message
from agent_core.errors import (
    AlreadyDecided,
    ChangedSinceShown,
    CommandError,
    NotFound,
    NotPossible,
    PersonError,
    SurfaceError,
)
from agent_core.model.actors import Origin
from agent_core.model.draft import AgentDraft
from agent_core.model.ids import AgentId, NoticeId, TurnId
from agent_core.model.turn import Turn

logger = logging.getLogger(__name__)

GONE = "This belongs to an agent that was deleted, or to another channel."
FRESH = "here"
NO_FILE = "This file is not there any more: /agent files shows what is."
Parts: TypeAlias = tuple[type[ui.DynamicItem[Any]], ...]


@dataclass(frozen=True, slots=True)
class Clicks:
    """What is pressed. A form is opened first; anything else is saved before Discord hears that it arrived."""

    desk: Desk

    async def press(self, interaction: discord.Interaction, said: str) -> None:
        """Carry out one press; whoever pressed is told what came of it where the card does not show it."""
        origin = origin_of(interaction)
        try:
            await self._carry_out(pressed(said), interaction, origin)
        except (PersonError, CommandError, SurfaceError) as error:
            await tell(interaction, GONE if isinstance(error, NotFound) else str(error))
            await self._bring_up_to_date(error, said, origin)
        except Exception:
            logger.exception("click failed")
            await tell(interaction, WENT_WRONG)
        await noted(interaction)

    async def _carry_out(self, what: Pressable, interaction: discord.Interaction, origin: Origin) -> None:
        match what:
            case Opening():
                await self._open(what, interaction, origin)
            case Button("edit" | "reject" | "reply"):
                await self._ask(what, interaction, origin)
            case Button("review"):
                await self._review(what, interaction, origin)
            case Button():
                await self.desk.intents.press(what, Filled(), origin)
            case Upload():
                await self._upload(what, interaction, origin)
            case Deletion(agent_id):
                agent = await self.desk.intents.service.delete(agent_id, origin)
                await tell(interaction, f"{agent.name} was deleted by {origin.by}, with its history, memory and files.")
            case Offer():
                await self._offered(what, interaction, origin)

    async def _ask(self, button: Button, interaction: discord.Interaction, origin: Origin) -> None:
        """Open the form that comes before the decision."""
        seen = self.desk.intents.views
        if button.verb == "reply":
            form = forms.reply_form(await seen.agent(origin.channel, AgentId(button.subject)), button.shown)
        else:
            _, turn = await seen.open_to(origin.by, origin.channel, TurnId(button.subject), button.shown)
            form = self._edit_form(turn, origin) if button.verb == "edit" else forms.reject_form(turn)
        await open_form(interaction, form)

    def _edit_form(self, turn: Turn, origin: Origin) -> ui.Modal:
        """Every argument, as this person changed it last where that was refused."""
        spec, held = self.desk.intents.views.spec(turn.call.name), self.desk.edits.find(edit_key(turn.id, origin.by))
        typed = held.given if held and not isinstance(held.given, AgentDraft) else None
        return forms.edit_form(turn, spec, typed=typed, problems=held.problems if held else None)

    async def _review(self, button: Button, interaction: discord.Interaction, origin: Origin) -> None:
        """Have the model criticise its proposal; it is answered long after the click was."""
        await self.desk.intents.views.open_to(origin.by, origin.channel, TurnId(button.subject))
        await thinking(interaction)
        await tell(interaction, (await self.desk.intents.press(button, Filled(), origin)).text)

    async def _open(self, opening: Opening, interaction: discord.Interaction, origin: Origin) -> None:
        """Open what only shows something, or the form of something new."""
        seen = self.desk.intents.views
        match opening.verb:
            case "another number":
                _, turn = await seen.open_to(origin.by, origin.channel, TurnId(opening.subject), opening.shown)
                await open_form(interaction, forms.number_form(turn))
            case "show all":
                await tell(interaction, whole_message(*await seen.turn(origin.channel, TurnId(opening.subject))))
            case "show reply":
                _, notice = await seen.reply(origin.channel, NoticeId(opening.subject))
                await tell(interaction, reply_message(notice))
            case "thoughts":
                await tell(interaction, thoughts_message(*await seen.turn(origin.channel, TurnId(opening.subject))))
            case "new agent":
                fresh = Held(begun(AgentDraft(), await self.desk.intents.service.offered_draft(origin)))
                held = fresh if opening.subject == FRESH else self.desk.drafts.get(opening.subject)
                await open_form(interaction, _agent_form(held, origin))
            case "open":
                pass

    async def _upload(self, upload: Upload, interaction: discord.Interaction, origin: Origin) -> None:
        """Put a file of the agent into its thread, where everybody in the channel sees it."""
        seen = self.desk.intents.views
        entry = upload.among(await seen.files(origin.channel, upload.agent))
        if entry is None:
            raise NotPossible(NO_FILE)
        agent, data = await seen.file_to_share(origin.by, origin.channel, upload.agent, entry.path)
        await thinking(interaction)
        await self.desk.surface.upload(agent, entry.path.rpartition("/")[2], data)
        await tell(interaction, f"{entry.path} is in the thread of {agent.name}.")

    async def _offered(self, offer: Offer, interaction: discord.Interaction, origin: Origin) -> None:
        """Create what was drafted, or open the form again with it."""
        held = self.desk.drafts.get(offer.key)
        if offer.verb == "create" and isinstance(held.given, AgentDraft):
            agent = await self.desk.intents.service.create(held.given, origin)
            await tell(interaction, made_text(agent))
        else:
            await open_form(interaction, _agent_form(held, origin))

    async def _bring_up_to_date(self, error: Exception, said: str, origin: Origin) -> None:
        """Draw a card again that had moved on."""
        if not isinstance(error, AlreadyDecided | ChangedSinceShown | NotPossible):
            return
        try:
            what, seen = pressed(said), self.desk.intents.views
            if isinstance(what, Button) and what.verb in ("stop", "resume", "revoke", "reply"):
                turn = await seen.newest_turn(origin.channel, AgentId(what.subject))
                if turn:
                    await self.desk.surface.draw_again(*await seen.turn(origin.channel, turn.id))
            elif isinstance(what, Button):
                await self.desk.surface.draw_again(*await seen.turn(origin.channel, TurnId(what.subject)))
        except (PersonError, SurfaceError):
            logger.info("card not drawn again")


def _agent_form(held: Held, origin: Origin) -> ui.Modal:
    return forms.agent_form(held.given, place=origin.channel.key, problems=held.problems)


def said_by(interaction: discord.Interaction[Any]) -> str:
    """What a button carries, or the option that was chosen."""
    data: dict[str, Any] = dict(interaction.data or {})
    return str(data["values"][0] if data.get("values") else data.get("custom_id"))


def is_shown(interaction: discord.Interaction[Any]) -> bool:
    """Whether the message that was pressed holds that button, so that discord.py hands it on."""
    custom_id = str(dict(interaction.data or {}).get("custom_id"))
    is_ours = bool(PRESSED.fullmatch(custom_id) or CHOICE.fullmatch(custom_id))
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


def parts_of(clicks: Clicks) -> Parts:
    """The items by which discord.py knows our buttons and choices, whenever they were sent."""

    class Pressed(ui.DynamicItem[Any], template=PRESSED):
        @classmethod
        async def from_custom_id(
            cls, interaction: discord.Interaction[Any], item: ui.Item[Any], match: re.Match[str], /
        ) -> Self:
            return cls(item)

        async def callback(self, interaction: discord.Interaction[Any]) -> None:
            await clicks.press(interaction, said_by(interaction))

    class Chosen(ui.DynamicItem[Any], template=CHOICE):
        @classmethod
        async def from_custom_id(
            cls, interaction: discord.Interaction[Any], item: ui.Item[Any], match: re.Match[str], /
        ) -> Self:
            return cls(item)

        async def callback(self, interaction: discord.Interaction[Any]) -> None:
            await clicks.press(interaction, said_by(interaction))

    return (Pressed, Chosen)
