"""Builds the message of a turn's card: while it is the newest, together with turns that share the card, and folded."""

from collections.abc import Sequence

from discord import ui

from adapters.discord.outbound.card import card_items
from adapters.discord.outbound.controls import card_controls, element, turn_choosers
from adapters.discord.outbound.message import DiscordMessage, compose, cut_by_size, escaped, timestamp
from adapters.screens.buttons import ViewButton
from adapters.screens.cards import Card, turn_card
from adapters.screens.risk_labels import Level
from adapters.screens.text_fit import units
from adapters.screens.turn_lines import TurnLine
from adapters.screens.turn_state import Tone, cut_parts
from adapters.screens.ui_text import covered_parts, model_text
from agent_core.model.agent import Agent
from agent_core.model.turn import Turn
from agent_core.text.lines import counted

COLOURS: dict[Tone, int] = {
    "open": 0xE0A030,
    "busy": 0x3B7DD8,
    "good": 0x2F9E5F,
    "bad": 0xC9483F,
    "quiet": 0x8A8F98,
}
RISK_COLOURS: dict[Level, int] = {"execute": 0xD92D20, "publish": 0x2563EB, "spend": 0x8E3FBF}
# Limits of lines, in UTF-16 units, and how many lines a card shows above its newest turn, and folded.
MAX_FOLDED_LINE, MAX_LISTED_LINE = 300, 80
MAX_LINES_ABOVE, MAX_FOLDED_LINES = 5, 20


def turn_message(
    agent: Agent,
    turn: Turn,
    earlier: Sequence[TurnLine] = (),
    *,
    model: str = "",
    continuous_limit: int | None = None,
) -> DiscordMessage:
    """The card of a turn in its current state, below the lines of `earlier` turns that share the card.

    `model` is the label of the language model, if it is shown.
    """
    card = turn_card(agent, turn, continuous_limit)
    above = _list_of(earlier, MAX_LINES_ABOVE) if earlier else ""
    footer = [part for part in (card.risk, *card.footer, card.lease, model_text(agent, model)) if part]
    drawn = card_items(card, footer, units(above))
    controls = card_controls(agent, card, drawn.openings, covered_parts(turn))
    items = [
        *([ui.TextDisplay[ui.LayoutView](above)] if above else []),
        *drawn.items,
        *turn_choosers(earlier),
        *controls,
    ]
    return compose(ui.Container(*items, accent_colour=_accent(card)))


def folded_message(agent: Agent, lines: Sequence[TurnLine]) -> DiscordMessage:
    """A finished card in short: one line for each of its turns."""
    whose = f"{agent.title} · " if agent.parent else ""
    first, last = lines[0], lines[-1]
    if first is last:
        told = escaped(cut_by_size(f"{last.sign} {whose}{last.text}", MAX_FOLDED_LINE))
        parts, _ = cut_parts(last.state_parts, MAX_FOLDED_LINE, cut_by_size)
        state = "".join(escaped(part) if isinstance(part, str) else timestamp(part) for part in parts)
        show_all = element(ViewButton("show all", last.turn))
        return compose(ui.Section(f"-# {told} · {state}", accessory=show_all))
    title = f"{whose}{counted(len(lines), 'command')} · turns {first.number} to {last.number}"
    parts, _ = cut_parts(first.decided_parts, MAX_FOLDED_LINE, cut_by_size)
    said = "".join(escaped(part) if isinstance(part, str) else timestamp(part) for part in parts)
    told = f"**{escaped(cut_by_size(title, MAX_FOLDED_LINE))}** · {said}\n{_list_of(lines, MAX_FOLDED_LINES)}"
    return compose(ui.TextDisplay(told), *turn_choosers(lines))


def _list_of(lines: Sequence[TurnLine], most: int) -> str:
    """The newest lines in small print, at most `most`, and how many are left out."""
    left_out = len(lines) - most
    texts = [f"… {counted(left_out, 'earlier command')}"] if left_out > 0 else []
    texts += [escaped(cut_by_size(each.signed_text, MAX_LISTED_LINE)) for each in lines[-most:]]
    return "\n".join(f"-# {text}" for text in texts)


def _accent(card: Card) -> int:
    """The colour at the card's edge. While a decision is open: that of execute, publish or spend.

    Otherwise, or if the command has none of these classes: that of the turn's state.
    """
    colours = [RISK_COLOURS[label.level] for label in card.risks if label.level in RISK_COLOURS]
    return colours[0] if colours and card.tone == "open" else COLOURS[card.tone]
