"""Builds Slack's forms, the full view of a card and the Home tab. `submitted_forms` reads the forms."""

import json
from collections.abc import Sequence
from decimal import Decimal

from adapters.buttons import Button, ViewButton, ViewVerb
from adapters.cards import Card, Labelled, as_text, money, turn_card
from adapters.chat.card_sections import thoughts_sections
from adapters.chat.notification_texts import wait_text
from adapters.chat.subcommand_answers import Link
from adapters.forms import DEFAULT_EFFORT, argument_names
from adapters.question_form import QuestionForm
from adapters.slack.inbound.submitted_forms import ARGUMENT, FormContext
from adapters.slack.outbound.blocks import (
    MAX_ID,
    MAX_PLACEHOLDER,
    MAX_VIEW_BLOCKS,
    MAX_VIEW_BUTTON,
    MAX_VIEW_BYTES,
    MAX_VIEW_TITLE,
    Block,
    actions,
    chooser,
    context,
    divider,
    heading,
    labelled,
    option,
    plain,
    section,
)
from adapters.slack.outbound.card import MAX_FOOTER, MAX_REMARK, command_in, footer_text, show_all_button
from adapters.slack.outbound.controls import APPROVE_N, PREFIX, element, rest_button
from adapters.slack.outbound.full_text import drawn, parts_of, split_into_parts
from adapters.slack.outbound.inputs import FIELD, MAX_INPUT_PIECE, entries
from adapters.slack.outbound.notification_messages import DIRECT_VERBS
from adapters.slack.outbound.question_inputs import question_blocks
from adapters.slack.outbound.render import EXAMPLE, EXPLANATION, linked, rest_line, standing_text
from adapters.text_fit import beginning, cut
from adapters.visible_text import one_line, readable
from agent_core.model.agent import Agent
from agent_core.model.agent_policy import Policy
from agent_core.model.command import RISK_CLASSES, CommandSpec
from agent_core.model.decision import MAX_LEASE_COMMANDS, MIN_LEASE_COMMANDS
from agent_core.model.draft import DEFAULT_NAME, DEFAULT_ROLE, EFFORTS, MAX_GOAL_CHARACTERS, MAX_GOALS, AgentDraft
from agent_core.model.note import Notice
from agent_core.model.turn import Turn
from agent_core.service.approval_queue import WaitingAgent

HOME_VERBS = (*DIRECT_VERBS, "answer", "decline")
MAX_OWN_AGENTS, MAX_WAITING, MAX_WAITING_TEXT = 15, 12, 600
APPROVERS = {"anyone": "Anyone here", "owner": "Only me"}
VERBOSITIES = {"full": "All thoughts", "brief": "The text only, the rest under Thoughts"}
NEW_AGENT, ANSWER = "New agent", "Answer"
REPLY = "The model's reply"
CHANNEL: Block = {
    "type": "conversations_select",
    "action_id": FIELD,
    "filter": {"include": ["public", "private"], "exclude_external_shared_channels": True},
}
EMPTY_HOME = "You have no agents yet. Press New agent, or mention Signoff in a channel and say what you want done:"


def agent_form(
    draft: AgentDraft | None, last: AgentDraft | None, channel_key: str, *, said: str = "", thread: str = ""
) -> Block:
    """The form for a new agent. `draft`: values to fill in; `last`: the settings last used in the channel.

    With an empty `channel_key` the form asks for a channel.
    """
    given = (draft or AgentDraft()).like(last)
    budget = "" if given.budget is None else str(given.budget)
    blocks = [context(said)] if said else []
    blocks += [] if channel_key else [labelled("Channel", CHANNEL, "channel", optional=False)]
    blocks += entries("name", "Name", beginning(readable(given.name), MAX_INPUT_PIECE), placeholder=DEFAULT_NAME)
    blocks += entries("role", "Role", beginning(readable(given.role), MAX_INPUT_PIECE), placeholder=DEFAULT_ROLE)
    goals = beginning(readable("\n".join(given.goals)), MAX_GOALS * (2 * MAX_GOAL_CHARACTERS + 1))
    blocks += entries("goals", "Goals", goals, hint="One per line, 1 to 5.", multiline=True, optional=False)
    blocks += [divider(), heading("More")]
    blocks += [context(f"Settings from {last.name}, the last agent created here.")] if last and last.name else []
    blocks += entries("budget", "Budget in US dollars", budget, placeholder="No limit")
    blocks += entries("model", "Model", given.model, placeholder="The default model")
    efforts = [option("As the operator set it", DEFAULT_EFFORT), *(option(effort, effort) for effort in EFFORTS)]
    chosen = chooser("static_select", FIELD, efforts, [given.effort or DEFAULT_EFFORT])
    chosen["placeholder"] = plain("Reasoning effort", MAX_PLACEHOLDER)
    blocks += [labelled("Reasoning effort", chosen, "effort")]
    place = FormContext(channel_key, thread=thread)
    return form_view(NEW_AGENT, "new", [*blocks, *_policy_fields(given.policy)], place, submit="Create")


def drafting_view() -> Block:
    """The placeholder while an agent is drafted from a sentence."""
    return sentence_view(NEW_AGENT, "Drafting name, role and goals from your sentence…")


def edit_form(turn: Turn, spec: CommandSpec, place: FormContext) -> Block | None:
    """A field for each argument; None if the arguments are too long for a form."""
    given, blocks = turn.call.arguments, []
    if sum(len(as_text(value)) for value in given.values()) > MAX_VIEW_BYTES:
        return None
    for number, name in enumerate(argument_names(turn, spec)):
        text = as_text(given[name]) if name in given else ""
        hint = "" if name in given else "Not given."
        blocks += entries(f"{ARGUMENT}{number}", one_line(name), text, hint=hint, multiline=True)
    if not blocks:
        blocks = [section("This command takes no arguments.")]
    view = form_view(f"Edit {spec.label}", "edit", blocks, place, "Run edited")
    return view if len(blocks) <= MAX_VIEW_BLOCKS and len(json.dumps(view)) <= MAX_VIEW_BYTES else None


def reason_form(agent: Agent, turn: Turn, place: FormContext, said: str = "") -> Block:
    """The form for the reason of a rejection, which the agent reads; filled in with what the person `said` already."""
    hint = f"Optional. {agent.name} reads it and makes a new proposal."
    blocks = entries("text", "Reason", said, hint=hint, multiline=True)
    return form_view(f"Reject turn {turn.number}", "reject", blocks, place, submit="Reject")


def answer_form(form: QuestionForm, place: FormContext) -> Block:
    """The form for the answer to a tool server."""
    return form_view(ANSWER, "answer", question_blocks(form), place, submit=ANSWER)


def number_form(turn: Turn, place: FormContext, most: int = MAX_LEASE_COMMANDS) -> Block:
    """The form for the number of commands to approve, at most `most`."""
    number = {
        "type": "number_input",
        "action_id": FIELD,
        "is_decimal_allowed": False,
        "min_value": str(MIN_LEASE_COMMANDS),
        "max_value": str(most),
    }
    hint = f"From {MIN_LEASE_COMMANDS} to {most}; this command is the first."
    block = labelled("How many commands", number, "times", hint=hint, optional=False)
    return form_view(f"Approve turn {turn.number}", "times", [block], place, submit=APPROVE_N)


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
            heading("Waiting for you"),
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


def _policy_fields(policy: Policy) -> list[Block]:
    free = chooser("checkboxes", FIELD, [option(risk, risk) for risk in RISK_CLASSES], policy.free)
    return [
        labelled("Run without asking", free, "free", hint="If you tick nothing, every command asks."),
        labelled("Who may approve", _one_of(APPROVERS, policy.approvers), "approvers", optional=False),
        labelled("Cards show", _one_of(VERBOSITIES, policy.verbosity), "verbosity", optional=False),
    ]


def _one_of(words: dict[str, str], chosen: str) -> Block:
    return chooser("radio_buttons", FIELD, [option(label, value) for value, label in words.items()], [chosen])


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
    opens = linked(agent, link)
    said = cut(wait_text(agent, turn), MAX_WAITING_TEXT)
    if turn is None:
        shown, pressable = [section(said, at=agent.since)], [element(Button("resume", agent.id))]
    else:
        card = turn_card(agent, turn)
        state = card.standing if card.question else ""
        lines = [said, *(cut(text, MAX_REMARK) for text in (state, card.remark, card.edits) if text)]
        command = command_in(card, MAX_WAITING_TEXT)
        shown = [
            section("\n".join(lines), at=agent.since),
            *command.blocks,
            context(footer_text(card), most=MAX_FOOTER),
        ]
        pressable = [element(each) for each in card.buttons if each.verb in HOME_VERBS and each.times == 1]
        pressable += [show_all_button(card)]
    blocks = [*shown, actions(*pressable, *([opens] if opens else [])), divider()]
    places = [f"{agent.channel.key} {agent.id} {number}" for number in range(len(blocks))]
    return [
        block | {"block_id": place} if len(place) <= MAX_ID else block
        for block, place in zip(blocks, places, strict=True)
    ]


def _mine(agent: Agent, link: Link) -> list[Block]:
    place = f"{agent.channel.key} {agent.id}"
    opens = linked(agent, link)
    buttons = [*([opens] if opens else []), *([rest_button(agent)] if len(place) <= MAX_ID else [])]
    return [section(standing_text(agent), at=agent.since), *([actions(*buttons, block_id=place)] if buttons else [])]
