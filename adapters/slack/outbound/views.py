"""Builds Slack's views (a turn in full, a reply, thoughts, the frame of forms) and the Home tab."""

from collections.abc import Sequence
from decimal import Decimal

from adapters.chat.agent_messages import DIRECT_VERBS, EXAMPLE, EXPLANATION, standing_words
from adapters.chat.card_sections import thoughts_sections
from adapters.chat.texts import wait_text
from adapters.screens.buttons import Button, ViewButton, ViewVerb
from adapters.screens.cards import Card, Labelled, lease_text, money, turn_card
from adapters.screens.forms import NEW_AGENT_TITLE
from adapters.screens.message.card import facts_of, footer_text
from adapters.screens.message.pieces import Link, Opens, Text
from adapters.screens.text_fit import cut
from adapters.screens.visible_text import one_line
from adapters.slack.inbound.submitted_forms import FormContext
from adapters.slack.outbound.answer_messages import drawn, parts_of, split_into_parts
from adapters.slack.outbound.blocks import (
    MAX_ID,
    MAX_VIEW_BUTTON,
    MAX_VIEW_TITLE,
    Block,
    actions,
    context,
    divider,
    heading,
    plain,
    section,
)
from adapters.slack.outbound.controls import PREFIX, element, link_button, main_element
from adapters.slack.outbound.draw import blocks_of, facts_in, rest_line
from agent_core.model.agent import Agent
from agent_core.model.note import Notice
from agent_core.model.turn import Turn
from agent_core.service.reading.approval_queue import WaitingAgent

HOME_VERBS = (*DIRECT_VERBS, "answer", "decline")
MAX_OWN_AGENTS, MAX_WAITING, MAX_WAITING_TEXT, MAX_REMARK, MAX_FOOTER = 15, 12, 600, 500, 300
REPLY = "The model's reply"
EMPTY_HOME = "You have no agents yet. Press New agent, or mention Signoff in a channel and say what you want done:"


def drafting_view() -> Block:
    """The placeholder while an agent is drafted from a sentence."""
    return sentence_view(NEW_AGENT_TITLE, "Drafting name, role and goals from your sentence…")


def show_all(card: Card, place: FormContext, part: int = 1) -> Block:
    """A view of the full content of a turn; if it is too long for one view, of its part number `part`."""
    parts = parts_of(card)
    which, around = _part(parts, "show all", card.turn, part)
    return _view(f"Turn {card.number}", [*around[0], *parts[which - 1], *around[1]], place)


def reply_view(notice: Notice, place: FormContext, part: int = 1) -> Block:
    """A view of an unusable reply of the model; if it is too long for one view, of its part number `part`."""
    parts = split_into_parts(list(drawn([Labelled(REPLY, notice.reply)], boxed=True)))
    which, around = _part(parts, "show reply", notice.id, part)
    return _view(REPLY, [*around[0], *parts[which - 1], *around[1]], place)


def thoughts_view(card: Card, place: FormContext | None = None) -> Block:
    """A view of all thoughts of a turn; if they are too long for one view, of their beginning and Show all."""
    first, *more = split_into_parts(list(drawn(thoughts_sections(card))))
    rest = "This is only the beginning: Show all has everything."
    button = element(ViewButton("show all", card.turn)) if place else None
    blocks = [*first, *([section(rest, button)] if more else [])]
    return _view("Thoughts", blocks or [section("The model gave no thoughts for this command.")], place)


def form_view(title: str, kind: str, blocks: Sequence[Block], place: FormContext, submit: str) -> Block:
    """A view with a button that submits it as the callback `kind`."""
    return _view(title, blocks, place, kind) | {"submit": plain(submit, MAX_VIEW_BUTTON)}


def sentence_view(title: str, text: str) -> Block:
    return _view(title, [section(text)])


def home(mine: Sequence[Agent], waiting: Sequence[WaitingAgent], link: Link, *, fault: str = "") -> Block:
    """The Home tab: what a person may decide in all channels, their agents and the spend.

    `fault`: why channels are missing, or "".
    """
    blocks = [section(fault)] if fault else []
    if waiting:
        blocks += [
            heading("Needs approval"),
            *(block for each in waiting[:MAX_WAITING] for block in _waiting(each.agent, each.turn, link)),
        ]
        blocks += rest_line(len(waiting) - MAX_WAITING)
    if not (mine or waiting or fault):
        blocks += [section(EXPLANATION[0]), section(f"{EMPTY_HOME}\n@Signoff {EXAMPLE}")]
    blocks.append(actions(element(ViewButton("new agent", "home"), style="primary")))
    if mine:
        spent = sum((agent.budget.spent for agent in mine), Decimal(0))
        blocks += [heading("Your agents"), context(f"{len(mine):,} in all · {money(spent)} spent")]
        blocks += [block for agent in mine[:MAX_OWN_AGENTS] for block in _mine(agent, link)]
        blocks += rest_line(len(mine) - MAX_OWN_AGENTS)
    return {"type": "home", "blocks": blocks}


def _part(
    parts: Sequence[object], verb: ViewVerb, subject: str, part: int
) -> tuple[int, tuple[list[Block], list[Block]]]:
    """The number of the part to show, kept in range, and the blocks above it (heading) and below it (buttons)."""
    which = min(max(part, 1), len(parts))
    steps = [("Previous part", which - 1), ("Next part", which + 1)]
    buttons = [
        element(ViewButton(verb, subject, number), label=label) for label, number in steps if 1 <= number <= len(parts)
    ]
    top = [context(f"Part {which:,} of {len(parts):,}")] if len(parts) > 1 else []
    return which, (top, [actions(*buttons)] if buttons else [])


def _view(title: str, blocks: Sequence[Block], place: FormContext | None = None, kind: str = "show") -> Block:
    view = {
        "type": "modal",
        "callback_id": PREFIX + kind,
        "title": plain(one_line(title), MAX_VIEW_TITLE),
        "close": plain("Close" if kind == "show" else "Cancel", MAX_VIEW_BUTTON),
        "blocks": list(blocks),
    }
    return view | {"private_metadata": str(place)} if place else view


def _waiting(agent: Agent, turn: Turn | None, link: Link) -> list[Block]:
    """What waits and what its card says of it, in as many words as fit, with the buttons that decide it.

    Each block names the agent's channel.
    """
    opens = _opens(agent, link)
    said = cut(wait_text(agent, turn), MAX_WAITING_TEXT)
    if turn is None:
        shown, pressable = [section(said, at=agent.since)], [element(Button("resume", agent.id))]
    else:
        card = turn_card(agent, turn)
        state = card.standing if turn.state == "interrupted" else ""
        lines = [said, *(cut(text, MAX_REMARK) for text in (state, card.remark, card.edits) if text)]
        shown = [
            section("\n".join(lines), at=agent.since),
            *facts_in(facts_of(card), MAX_WAITING_TEXT),
            context(footer_text(card), most=MAX_FOOTER),
        ]
        pressable = [element(each) for each in card.buttons if each.verb in HOME_VERBS and each.times == 1]
        pressable += [element(ViewButton("show all", card.turn))]
    blocks = [*shown, actions(*pressable, *_revokes(agent), *([opens] if opens else [])), divider()]
    places = [f"{agent.channel.key} {agent.id} {number}" for number in range(len(blocks))]
    return [
        block | {"block_id": place} if len(place) <= MAX_ID else block
        for block, place in zip(blocks, places, strict=True)
    ]


def _mine(agent: Agent, link: Link) -> list[Block]:
    place = f"{agent.channel.key} {agent.id}"
    opens = _opens(agent, link)
    rests = main_element(Button("resume" if agent.is_at_rest else "stop", agent.id), agent.name)
    acting = [rests, *_revokes(agent)] if len(place) <= MAX_ID else []
    buttons = [*([opens] if opens else []), *acting]
    lease = f" · {lease_text(agent)}" if agent.lease else ""
    standing = blocks_of((Text(words=standing_words(agent, lease), role="row"),))
    return [*standing, *([actions(*buttons, block_id=place)] if buttons else [])]


def _revokes(agent: Agent) -> list[Block]:
    """A button that ends the agent's lease, if it has one."""
    return [element(Button("revoke", agent.id))] if agent.lease else []


def _opens(agent: Agent, link: Link) -> Block | None:
    """A button that opens the agent's thread, if it has an address."""
    return link_button(Opens("Open", url, agent.id)) if (url := link(agent)) else None
