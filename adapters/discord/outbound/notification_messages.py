"""Builds Discord's reminders and direct messages. Pure functions.

The buttons of a direct message name the agent's channel: `dm:CHANNEL:BUTTON`, the channel's id in base 36.
"""

import re
from collections.abc import Sequence
from dataclasses import replace

import discord
from discord import ui

from adapters.chat.notification_texts import end_text, wait_text
from adapters.discord.outbound.card import card_items
from adapters.discord.outbound.controls import STYLES, Item, link_button, rows
from adapters.discord.outbound.message import DiscordMessage, card_link, compose, link_to
from adapters.discord.outbound.texts import cut_by_size, escaped
from adapters.screens.buttons import Button, foreign_button_error
from adapters.screens.cards import Card, turn_card
from adapters.screens.ui_text import OPEN_CARD
from agent_core.model.agent import Agent, Finished
from agent_core.model.turn import Turn

DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
OUR_DIRECT = re.compile(r"dm:(?P<channel>[0-9a-z]{1,13}):(?P<button>.+)")
DIRECT_VERBS = ("approve", "reject", "run again", "it ran", "skip", "resume")
MAX_SAID = 900


def reminder_message(agent: Agent, turn: Turn | None, mentions: Sequence[str]) -> DiscordMessage:
    """One short message for the thread: who is called, what waits, and a link to the card."""
    said = escaped(cut_by_size(wait_text(agent, turn), MAX_SAID))
    called = " ".join(map(mention_text, mentions))
    return compose(ui.TextDisplay(f"{called} {said}".strip()), *_links(agent, turn))


def mention_text(mentioned: str) -> str:
    """The mention of a person or, by an id that begins with &, of a role; "" for what is no id of Discord."""
    return f"<@{mentioned}>" if re.fullmatch(r"&?\d{1,20}", mentioned) else ""


def allowed_mentions(mentions: Sequence[str]) -> discord.AllowedMentions:
    """Let a message mention these people and roles and nobody else, whatever it says."""
    ids = [each for each in mentions if mention_text(each)]
    people = [discord.Object(int(each)) for each in ids if not each.startswith("&")]
    roles = [discord.Object(int(each[1:])) for each in ids if each.startswith("&")]
    return discord.AllowedMentions(everyone=False, users=people, roles=roles, replied_user=False)


def direct_message(agent: Agent, turn: Turn | None, *, continuous_limit: int | None = None) -> DiscordMessage:
    """What a person decides on without opening the thread: the command as on its card, and buttons."""
    if turn is None:
        resume = [] if isinstance(agent.status, Finished) else [_element(agent, Button("resume", agent.id))]
        said = ui.TextDisplay[ui.LayoutView](escaped(cut_by_size(wait_text(agent, turn), MAX_SAID)))
        return compose(said, *rows([*resume, *_link(agent, turn)]))
    card = _essentials(turn_card(agent, turn, continuous_limit))
    drawn = card_items(card, [part for part in (card.risk, *card.footer) if part])
    shown = [item for item in drawn.items if not isinstance(item, ui.Section)]
    buttons = [_element(agent, each) for each in card.buttons if each.verb in DIRECT_VERBS and each.times == 1]
    is_cut = len(shown) < len(drawn.items)
    more = [ui.TextDisplay[ui.LayoutView](f"-# … There is more: {OPEN_CARD} shows it.")] if is_cut else []
    return compose(*shown, *more, *rows([*buttons, *_link(agent, turn)]))


def ended_message(agent: Agent, turn: Turn | None) -> DiscordMessage:
    """What stands in place of a direct message when its wait is over."""
    return compose(ui.TextDisplay(escaped(cut_by_size(end_text(agent, turn), MAX_SAID))), *_links(agent, turn))


def parse_direct(custom_id: str) -> tuple[int, Button]:
    """The channel's id and the button of a `custom_id`; raise InvalidInput if Signoff did not make it."""
    found = OUR_DIRECT.fullmatch(custom_id)
    button = Button.parse(found["button"]) if found else None
    if found is None or button is None or button.verb not in DIRECT_VERBS:
        raise foreign_button_error()
    return int(found["channel"], 36), button


def direct_id(channel: str, button: Button) -> str:
    """The `custom_id` of a button in a direct message about an agent of this channel."""
    number, digits = int(channel), ""
    while number:
        number, digit = divmod(number, 36)
        digits = DIGITS[digit] + digits
    return f"dm:{digits or '0'}:{button}"


def _essentials(card: Card) -> Card:
    return replace(card, plan=(), details=(), model_reasoning="", review="", is_brief=False)


def _element(agent: Agent, button: Button) -> Item:
    style = STYLES.get(button.verb, discord.ButtonStyle.secondary)
    return ui.Button(label=button.label, custom_id=direct_id(agent.channel.channel, button), style=style)


def _link(agent: Agent, turn: Turn | None) -> list[Item]:
    url = (card_link(agent.channel, turn.shown_as) if turn else "") or link_to(agent)
    return [link_button(OPEN_CARD, url)] if url else []


def _links(agent: Agent, turn: Turn | None) -> list[Item]:
    return [*rows(_link(agent, turn))]
