"""The messages of a turn for chat platforms, in pieces: its card, and the card folded after its end."""

from collections.abc import Sequence

from adapters.screens.buttons import ViewButton
from adapters.screens.cards import Card, brief_arguments, summary_text, turn_card, uncounted
from adapters.screens.message.pieces import (
    Chooser,
    Controls,
    Fact,
    Facts,
    Heading,
    Output,
    Piece,
    Role,
    Screen,
    Strong,
    Text,
    TurnList,
)
from adapters.screens.turn_lines import TurnLine, timeless
from adapters.screens.turn_state import STATE_SIGNS, WAITS
from adapters.screens.ui_text import CUT_TO_FIT, OPEN_CARD, model_text
from adapters.screens.visible_text import one_line, readable
from adapters.typed.standing_rules import suggests_rules
from agent_core.model.agent import Agent
from agent_core.model.turn import Turn
from agent_core.text.lines import counted, quoted

MAX_PLAN, MAX_ENDED_SAYS = 2_000, 298  # within the limits of both platforms
MORE_IN_CARD = f"… There is more: {OPEN_CARD} shows it."


def card_screen(
    agent: Agent,
    turn: Turn,
    earlier: Sequence[TurnLine] = (),
    *,
    model: str = "",
    continuous_limit: int | None = None,
) -> Screen:
    """The card of a turn in its present state, below the lines of `earlier` turns that share the card.

    `model`: the label of the language model, if it is shown.
    """
    card = turn_card(agent, turn, continuous_limit)
    above = [TurnList(tuple(earlier))] if earlier else []
    footer = (_which(card), card.risk, *card.footer, card.lease, model_text(agent, model))
    rule = ViewButton("always allow", turn.id, shown=turn.control_hash)
    openings = (*((rule,) if suggests_rules(agent, turn) else ()), *_openings(card))
    controls = Controls(agent=agent, card=card, turn=turn, openings=openings, earlier=tuple(earlier))
    pieces = (*above, *_described(card, footer), controls)
    return Screen(pieces, summary_text(agent, turn), ("turn", earlier[0].turn if earlier else turn.id))


def folded_screen(agent: Agent, lines: Sequence[TurnLine]) -> Screen:
    """A finished card in short: one line for each of its turns."""
    whose = f"{agent.title} · " if agent.parent else ""
    first, last = lines[0], lines[-1]
    if first is last:
        told = f"{last.sign} {whose}{last.text}"
        row = Text(
            words=(told, " · ", *last.state_parts),
            role="row",
            style="small",
            button=ViewButton("show all", last.turn),
        )
        return Screen((row,), f"{told} · {timeless(last.state_parts)[0]}", ("turn", last.turn))
    title = f"{whose}{counted(len(lines), 'command')} · turns {first.number} to {last.number}"
    turns = TurnList(tuple(lines), (Strong(title), " · ", *first.decided_parts))
    summary = f"{title} · {timeless(first.decided_parts)[0]}"
    return Screen((turns, Chooser(tuple(lines))), summary, ("turn", first.turn))


def bare_card(card: Card, *, shows_all: bool) -> tuple[Piece, ...]:
    """The card without thoughts and buttons. `shows_all`: whether a button beside it can show the whole command."""
    return _described(card, (_which(card), card.risk, *card.footer), has_thoughts=False, shows_all=shows_all)


def facts_of(card: Card, more: Text | None = None, *, title: str = "") -> Facts:
    """The preview, with another `title` if one is given, and the arguments. `more`: what stands below a cut one."""
    preview, facts = card.preview, [_fact(each.label, each.text, each.instead) for each in card.arguments_shown]
    if preview:
        label, language = one_line(title or preview.title) or "Preview", "diff" if preview.kind == "diff" else ""
        facts.insert(0, Fact(label, preview.body, language=language, is_block=True))
    return Facts(tuple(facts), more or Text(words=(CUT_TO_FIT,), button=ViewButton("show all", card.turn)))


def _which(card: Card) -> str:
    return f"turn {card.number} · {one_line(card.command)}"


def footer_text(card: Card) -> str:
    """The risk classes, the cost, and whether the agent has read untrusted content."""
    return " · ".join(filter(None, (card.risk, *card.footer)))


def _described(
    card: Card, footer: Sequence[str], *, has_thoughts: bool = True, shows_all: bool = True
) -> tuple[Piece, ...]:
    """The card without its buttons: in full while it is open or running, afterwards in short."""
    show_all = ViewButton("show all", card.turn)
    is_asked = card.state_parts == WAITS
    sign = STATE_SIGNS[card.tone]
    head = Heading(text=card.action, sign=sign, state=card.state_parts, opens=show_all, is_asked=is_asked)
    notes = [Text(words=(one_line(text),), role="remark", opens=show_all) for text in (card.remark, card.edits) if text]
    ends = Text(words=(" · ".join(filter(None, footer)),), role="footer", style="small", opens=show_all)
    if card.tone in ("open", "busy"):
        more = None if shows_all else Text(words=(MORE_IN_CARD,), style="small")
        outcome = _output(card, is_ended=False)
        thoughts = _thoughts(card, is_short=not has_thoughts)
        facts = [facts_of(card, more, title=uncounted(card))] if card.arguments_shown or card.preview else []
        return (head, *thoughts, *facts, *notes, *outcome, ends)
    brief: tuple[tuple[str, Role], ...] = (
        (quoted(card.says, MAX_ENDED_SAYS) if card.says.strip() else "", "ended says"),
        (brief_arguments(card), "arguments"),
        (card.edits, "remark"),
    )
    lines = [Text(words=(text,), role=role, style="small", opens=show_all) for text, role in brief if text.strip()]
    return (head, *lines, *_output(card, is_ended=True), ends)


def _openings(card: Card) -> tuple[ViewButton, ...]:
    """The buttons that a card has although nothing on it is cut."""
    show_all, thoughts = ViewButton("show all", card.turn), ViewButton("thoughts", card.turn)
    if card.tone in ("open", "busy"):
        has_more = card.model_reasoning or (card.is_brief and (card.plan or card.details))
        return (*((thoughts,) if has_more else ()), *((show_all,) if card.repeats_preview else ()))
    left_out = card.preview or card.plan or card.details or card.review or card.remark or card.changes
    is_same = all(one_line(text) == text for text in (card.says, *(part.text for part in card.arguments)))
    return (show_all,) if left_out or card.model_reasoning or not is_same else ()


def _thoughts(card: Card, *, is_short: bool = False) -> list[Text]:
    opens = ViewButton("thoughts", card.turn)
    says = [Text(words=(card.says,), role="says", style="said", opens=opens)] if card.says.strip() else []
    if is_short:
        return says
    plan = (
        [Text(words=(f"Plan: {quoted(' → '.join(card.plan), MAX_PLAN)}",), role="plan", style="small", opens=opens)]
        if card.plan
        else []
    )
    details = [
        Text(words=(f"{part.label}: {quoted(part.text, MAX_PLAN)}",), role="detail", style="small", opens=opens)
        for part in card.details
    ]
    review = Text(words=(f"Self-review: {card.review}",), role="review", style="said", opens=opens)
    return [*says, *([] if card.is_brief else [*plan, *details]), *([review] if card.review.strip() else [])]


def _output(card: Card, *, is_ended: bool) -> list[Output]:
    if not card.outcome.strip():
        return []
    show_all = ViewButton("show all", card.turn)
    return [Output(text=card.outcome, role="ended outcome" if is_ended else "outcome", opens=show_all)]


def _fact(label: str, text: str, instead: str) -> Fact:
    return Fact(one_line(label) or "?", "" if instead else readable(text), instead=instead)
