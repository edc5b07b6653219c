"""Builds the message of a turn's card: while it is the newest, together with turns that share the card, and folded."""

from collections.abc import Sequence

from adapters.screens.buttons import ViewButton
from adapters.screens.cards import summary_text, turn_card
from adapters.screens.text_fit import cut
from adapters.screens.turn_lines import TurnLine, timeless
from adapters.screens.ui_text import covered_text, model_text
from adapters.slack.outbound.blocks import Block, actions, date_field, line, notification, rich, run, section
from adapters.slack.outbound.card import card_blocks
from adapters.slack.outbound.controls import card_controls, element, reply_box, turn_chooser
from adapters.slack.outbound.message import Metadata, SlackMessage, metadata
from agent_core.model.agent import Agent
from agent_core.model.ids import TurnId
from agent_core.model.turn import Turn
from agent_core.text.lines import counted

# Limits of lines, in UTF-16 units, and how many lines a card shows above its newest turn, and folded.
MAX_FOLDED_LINE, MAX_LISTED_LINE = 400, 160
MAX_LINES_ABOVE, MAX_FOLDED_LINES = 6, 16


def turn_message(
    agent: Agent,
    turn: Turn,
    earlier: Sequence[TurnLine] = (),
    *,
    model: str = "",
    continuous_limit: int | None = None,
) -> SlackMessage:
    """The card of a turn in its current state, below the lines of `earlier` turns that share the card.

    `model` is the label of the language model, if it is shown.
    """
    card = turn_card(agent, turn, continuous_limit)
    controls = card_controls(agent, card, covered_text(turn))
    if earlier:
        *others, last = controls or [actions()]
        controls = [*others, actions(*last["elements"], turn_chooser(earlier))]
    controls += [reply_box(agent, turn.control_hash)] if turn.state == "proposed" else []
    footer = [part for part in (card.risk, *card.footer, card.lease, model_text(agent, model)) if part]
    mark = _turn_mark(earlier[0].turn if earlier else turn.id)
    above = [_list_of(earlier, MAX_LINES_ABOVE)] if earlier else []
    return SlackMessage(notification(summary_text(agent, turn)), card_blocks(card, controls, footer, above), mark)


def folded_message(agent: Agent, lines: Sequence[TurnLine]) -> SlackMessage:
    """A finished card in short: one line for each of its turns."""
    whose = f"{agent.title} · " if agent.parent else ""
    first, last = lines[0], lines[-1]
    mark = _turn_mark(first.turn)
    if first is last:
        said, at = timeless(last.state_parts)
        told = f"{last.sign} {whose}{last.text} · {said}"
        show_all = element(ViewButton("show all", last.turn))
        return SlackMessage(notification(told), [section(told, show_all, most=MAX_FOLDED_LINE, at=at)], mark)
    said, at = timeless(first.decided_parts)
    title = f"{whose}{counted(len(lines), 'command')} · turns {first.number} to {last.number} · {said}"
    times = [{"type": "context", "elements": [date_field(at)]}] if at else []
    blocks = [_list_of(lines, MAX_FOLDED_LINES, cut(title, MAX_FOLDED_LINE)), *times, actions(turn_chooser(lines))]
    return SlackMessage(notification(title), blocks, mark)


def _list_of(lines: Sequence[TurnLine], most: int, title: str = "") -> Block:
    """The newest lines, at most `most`, and how many are left out."""
    left_out = len(lines) - most
    texts = [f"… {counted(left_out, 'earlier command')}"] if left_out > 0 else []
    texts += [cut(each.signed_text, MAX_LISTED_LINE) for each in lines[-most:]]
    return rich(line(*([run(f"{title}\n", "bold")] if title else []), run("\n".join(texts))))


def _turn_mark(turn_id: TurnId) -> Metadata:
    return metadata("signoff_turn", turn=turn_id)
