"""Builds Signoff's buttons and menus as Discord components, and reads them back from the `custom_id`."""

import re
from collections.abc import Iterator, Sequence
from typing import TypeAlias, get_args

import discord
from discord import ui

from adapters.chat.extra_buttons import DeleteButton, ExtraVerb, UploadButton
from adapters.discord.outbound.extra_buttons import DiscordDraftButton
from adapters.screens.buttons import Button, Verb, ViewButton, ViewVerb
from adapters.screens.message.pieces import Controls, Opens, Pressable
from adapters.screens.text_fit import cut
from adapters.screens.turn_lines import TurnLine
from adapters.screens.ui_text import APPROVE_N, covered_parts
from agent_core.model.ids import TurnId

Pressed: TypeAlias = Button | ViewButton | UploadButton | DeleteButton | DiscordDraftButton
Item: TypeAlias = ui.Item[ui.LayoutView]
Row: TypeAlias = ui.ActionRow[ui.LayoutView]
SHOW_ALL_OF, MORE = "Show all of turn…", "More…"
MAX_ROW_BUTTONS, MAX_LABEL, MAX_DESCRIPTION, MAX_OPTIONS = 5, 80, 100, 25
STYLES: dict[str, discord.ButtonStyle] = {
    "approve": discord.ButtonStyle.success,
    "create": discord.ButtonStyle.success,
    "new agent": discord.ButtonStyle.primary,
    "stop": discord.ButtonStyle.danger,
    "delete": discord.ButtonStyle.danger,
}
VERBS = (*get_args(Verb), *get_args(ViewVerb), *get_args(ExtraVerb), "upload", "delete")
# The `custom_id` of every button of Signoff, and of its menus: how many to approve, more to do, turns to show.
OUR_BUTTON = re.compile(rf"(?P<verb>{'|'.join(map(re.escape, VERBS))}):(?P<rest>.+)")
OUR_CHOICE = re.compile(r"(times|more|show all of):(?P<turn>.+)")


def parse_custom_id(custom_id: str) -> Pressed:
    """The button of a `custom_id` or of a chosen option; raise InvalidInput if it is not Signoff's."""
    verb = custom_id.partition(":")[0]
    if verb == "upload":
        return UploadButton.parse(custom_id)
    if verb == "delete":
        return DeleteButton.parse(custom_id)
    if verb in get_args(ExtraVerb):
        return DiscordDraftButton.parse(custom_id)
    return ViewButton.parse(custom_id) if verb in get_args(ViewVerb) else Button.parse(custom_id)


def element(pressable: Pressable, *, label: str = "") -> ui.Button[ui.LayoutView]:
    custom_id = str(pressable)
    verb = getattr(pressable, "verb", "") or custom_id.partition(":")[0]
    style = STYLES.get(verb, discord.ButtonStyle.secondary)
    return ui.Button(label=cut(label or pressable.label, MAX_LABEL), custom_id=custom_id, style=style)


def link_button(opens: Opens) -> ui.Button[ui.LayoutView]:
    return ui.Button(label=cut(opens.label, MAX_LABEL), url=opens.url)


def rows(buttons: Sequence[Item]) -> Iterator[Row]:
    for start in range(0, len(buttons), MAX_ROW_BUTTONS):
        yield ui.ActionRow(*buttons[start : start + MAX_ROW_BUTTONS])


def card_controls(controls: Controls) -> list[Row]:
    """The rows of a card in its current state: decisions, Stop and Revoke; Approve ×N; what shows more.

    An open proposal has what shows more in a menu, since it has many buttons.
    """
    card = controls.card
    several = [each for each in card.buttons if each.verb == "approve" and each.times > 1]
    reviews = [each for each in card.buttons if each.verb in ("review", "fork")]
    stops = [each for each in card.buttons if each.verb in ("stop", "revoke")]
    first = [each for each in card.buttons if each not in (*several, *reviews, *stops)]
    if approve := next((each for each in first if each.verb == "approve"), None):
        first.append(Button("reply", controls.agent.id, shown=approve.shown))
    more: list[Pressable] = [*reviews, *controls.openings]
    buttons: list[Pressable] = [*first, *stops]
    menus: list[Row] = [ui.ActionRow(_times(several, covered_parts(controls.turn)))] if several else []
    if approve and more:
        options = [discord.SelectOption(label=each.label, value=str(each)) for each in more]
        menus.append(ui.ActionRow(ui.Select(custom_id=f"more:{card.turn}", placeholder=MORE, options=options)))
    else:
        buttons += more
    return [*rows([*map(element, buttons)]), *menus]


def turn_choosers(lines: Sequence[TurnLine]) -> Iterator[Row]:
    """Menus of turns, newest first, each with as many as Discord allows; choosing one shows all of it."""
    for end in range(len(lines), 0, -MAX_OPTIONS):
        part = lines[max(end - MAX_OPTIONS, 0) : end]
        options = [
            discord.SelectOption(label=cut(each.signed_text, MAX_DESCRIPTION), value=_show_all(each.turn))
            for each in reversed(part)
        ]
        yield ui.ActionRow(ui.Select(custom_id=f"show all of:{part[0].turn}", placeholder=SHOW_ALL_OF, options=options))


def _show_all(turn_id: TurnId) -> str:
    return str(ViewButton("show all", turn_id))


def _times(several: Sequence[Button], covered: tuple[str, str]) -> ui.Select[ui.LayoutView]:
    """The menu for the N of Approve ×N. Options say what they cover, because Discord has no confirmation dialog."""
    turn_id = TurnId(several[0].subject)
    runs, left_out = (cut(text, MAX_DESCRIPTION) for text in (f"Without asking: {covered[0]}", f"Not: {covered[1]}"))
    options = [discord.SelectOption(label=each.label, value=str(each), description=runs) for each in several]
    other = ViewButton("another number", turn_id, shown=several[0].shown)
    options.append(discord.SelectOption(label=other.label, value=str(other), description=left_out))
    return ui.Select(custom_id=f"times:{turn_id}", placeholder=APPROVE_N, options=options)
