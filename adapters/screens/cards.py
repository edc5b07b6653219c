"""The content of a turn's card with its buttons, and texts also used elsewhere: status, spend, lease, arguments, money.

`message/card.py` makes the chat platforms' message of it; the page and the terminal lay it out themselves.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from adapters.screens.argument_changes import ArgumentChange, argument_changes, edited_by
from adapters.screens.buttons import Button
from adapters.screens.message.card_titles import CardTitle, title_of
from adapters.screens.preview_repeats import IN_TITLE, STANDS_ABOVE, lines_instead, visible_preview
from adapters.screens.question_form import question_buttons
from adapters.screens.risk_labels import RiskLabel, alert_text, labels_of, risk_text
from adapters.screens.turn_lines import target_text
from adapters.screens.turn_state import StateParts, Tone, outcome_text, state_parts, state_text, tone_of
from adapters.screens.ui_text import offered_times
from adapters.screens.visible_text import readable, visible
from agent_core.model.agent import SIMULATED, Acting, Agent, AgentStatus, Awaiting, Finished, Paused, Stopped, Thinking
from agent_core.model.command import Arguments, Preview
from agent_core.model.decision import Approve
from agent_core.model.ids import TurnId
from agent_core.model.model_calls import Budget
from agent_core.model.turn import Turn
from agent_core.text.lines import unseparated

READ_UNTRUSTED = "⚠ read content from outside since the last decision"
FROM_UNTRUSTED = "content from outside"
ENDS = (".", "!", "?", "…")  # of a sentence
ASKS_EACH_TIME = "asks each time, also under Approve ×N"


@dataclass(frozen=True, slots=True)
class Labelled:
    """A text with its label. `instead`: a line that stands for a text which the card shows in full above it, or ""."""

    label: str
    text: str
    instead: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """A turn as people see it. `headline`: agent, turn number and command.

    `title`, `action`: what the command does as people say it, alone and with who wants it or did it.

    `state_parts`: what happened, who decided and when. Times are separate parts, for surfaces that show local time.
    `details`: further thoughts; a brief card shows them behind a Thoughts button. `review`: the self-review, or "".
    `model_reasoning`: what a reasoning model wrote before its reply, always behind the Thoughts button.
    `lease`: what is left of the lease under which the command runs or ran, or "".
    `outcome`: the result, or the newest output of a running command.
    `remark`: why the card is shown again. `edits`: one sentence on what a person changed; `changes`: the diffs.
    """

    turn: TurnId
    title: CardTitle
    action: str
    headline: str
    command: str
    number: int
    state_parts: StateParts
    tone: Tone
    says: str
    plan: tuple[str, ...]
    details: tuple[Labelled, ...]
    review: str
    is_brief: bool
    arguments: tuple[Labelled, ...]
    preview: Preview | None
    risks: tuple[RiskLabel, ...]
    footer: tuple[str, ...]
    lease: str
    remark: str
    outcome: str
    buttons: tuple[Button, ...]
    model_reasoning: str = ""
    edits: str = ""
    changes: tuple[Labelled, ...] = ()

    @property
    def standing(self) -> str:
        """The turn's state as text: what happened, who decided, and when (in UTC)."""
        return state_text(self.state_parts)

    @property
    def arguments_shown(self) -> tuple[Labelled, ...]:
        """The arguments that the card names: the preview stands for the others."""
        return tuple(argument for argument in self.arguments if argument.instead not in STANDS_ABOVE)

    @property
    def repeats_preview(self) -> bool:
        """Whether the preview's body stands for an argument, which then only Show all has by itself."""
        return any(argument.instead not in ("", IN_TITLE) for argument in self.arguments)

    @property
    def risk(self) -> str:
        """The risk classes of the command as text; delete, execute, publish and spend have their emoji."""
        return risk_text(self.risks)


def turn_card(agent: Agent, turn: Turn, continuous_limit: int | None = None) -> Card:
    """The card of a turn in its present state; `continuous_limit` is the operator's limit for Approve ×N."""
    thoughts, changes = turn.proposal.thoughts, argument_changes(turn, as_text)
    labels, who = labels_of(turn.risks), readable(f"{unseparated(agent.title)}{_badge(agent)}")
    spoken = (("Reasoning", thoughts.reasoning), ("Criticism", thoughts.criticism), ("Speak", thoughts.speak))
    return Card(
        turn=turn.id,
        title=(title := title_of(turn)),
        action=after_alert(labels, _action(who, title, turn)),
        headline=f"{who} · turn {turn.number} · {readable(turn.call.name)}",
        command=turn.call.name,
        number=turn.number,
        state_parts=tuple(readable(part) if isinstance(part, str) else part for part in state_parts(turn)),
        tone=tone_of(turn),
        says=readable(thoughts.text),
        plan=_steps(readable(thoughts.plan)),
        details=tuple(Labelled(label, readable(text)) for label, text in spoken if text not in thoughts.text),
        model_reasoning=readable(thoughts.model_reasoning),
        review=readable(turn.review),
        is_brief=agent.policy_in_force.verbosity == "brief",
        arguments=shown_arguments(turn.call.arguments, turn.shown_preview),
        preview=visible_preview(turn.shown_preview, turn.call.arguments),
        risks=labels,
        footer=_footer(agent, turn),
        lease=lease_text(agent) if _is_under_lease(agent, turn) else "",
        remark=readable(turn.remark),
        outcome=readable(outcome_text(turn)),
        buttons=_buttons(agent, turn, continuous_limit),
        edits=_edits(turn, changes),
        changes=tuple(
            Labelled(f"{visible(each.name)} · changed by {edited_by(turn)}", visible(each.change.body))
            for each in changes
        ),
    )


def _action(who: str, title: CardTitle, turn: Turn) -> str:
    told = title.quoted_text
    return f"{who} wants to {told[0].lower()}{told[1:]}" if turn.state == "proposed" else f"{who} · {told}"


def _edits(turn: Turn, changes: Sequence[ArgumentChange]) -> str:
    if not changes:
        return f"{edited_by(turn)} opened Edit and changed nothing." if edited_by(turn) else ""
    return visible(f"{edited_by(turn)} changed {'; '.join(change.brief for change in changes)}.")


def summary_text(agent: Agent, turn: Turn) -> str:
    """A turn in one line, for notifications and screen readers."""
    card = turn_card(agent, turn)
    about = target_text(turn) if turn.shown_preview else brief_arguments(card)
    said, mark = f"{after_alert(card.risks, card.headline)} · {card.standing}", " · "
    if turn.state == "proposed":
        asks = f"{agent.title}{_badge(agent)} asks to run {card.command} (turn {card.number})"
        said, mark = after_alert(card.risks, asks), ": "
    return " ".join(f"{said}{mark}{about}".split()) if about else said


def brief_arguments(card: Card) -> str:
    texts = (" ".join(f"{argument.label}: {argument.text}".split()) for argument in card.arguments)
    return " · ".join(map(unseparated, texts))


def status_text(agent: Agent) -> str:
    """What an agent is doing, in a few words, and whether it is archived; times in UTC."""
    return state_text(status_parts(agent))


def status_parts(agent: Agent) -> StateParts:
    """What `status_text` says, with its times as separate parts."""
    if isinstance(agent.status, Thinking) and agent.status.held_up and agent.wake_at and not agent.status.waits_for:
        return f"{_status(agent)} Next try at ", agent.wake_at, f".{_badge(agent)}"
    return (f"{_status(agent)}{_badge(agent)}",)


def _badge(agent: Agent) -> str:
    return " · dry run" if agent.dry_run else ""


def _status(agent: Agent) -> str:
    archived = " · archived" if agent.is_archived else ""
    match agent.status:
        case Thinking() as status:
            return _thinking(status)
        case Awaiting():
            return "needs approval"
        case Acting():
            return "waiting for an answer to a tool server" if agent.asks else "running a command"
        case Paused(reason):
            return f"paused: {reason}{archived}"
        case Stopped(by):
            return f"stopped by {by}{archived}"
        case Finished():
            return f"done{archived}"


def _thinking(status: Thinking) -> str:
    if status.waits_for:
        return f"waiting for {', '.join(status.waits_for)}"
    if status.activity:
        return f"thinking {status.activity}"
    if not status.held_up:
        return "thinking"
    return f"waiting for the model: {status.held_up}{'' if status.held_up.endswith(ENDS) else '.'}"


def status_word(status: AgentStatus) -> str:
    """What an agent is doing, in one word for a list."""
    words = {
        "thinking": "thinks",
        "awaiting": "needs approval",
        "acting": "runs",
        "paused": "paused",
        "finished": "done",
    }
    return "needs approval" if isinstance(status, Acting) and status.asks else words.get(status.kind, status.kind)


def spend_text(agent: Agent) -> str:
    spent = money(agent.budget.spent)
    return f"{spent} of {money(agent.budget.limit)}" if agent.budget.limit is not None else f"{spent} spent"


def estimate_text(budget: Budget) -> str:
    """How much of a budget's spending is an estimate, and why; "" if all of it is known."""
    if not budget.estimated:
        return ""
    return f"about {money(budget.estimated)} of it estimated, because a process ended during a call"


def lease_text(agent: Agent) -> str:
    """What is left of the agent's lease and who granted it, or "" without a lease."""
    lease = agent.lease
    if lease is None:
        return ""
    whose = f"{lease.granted_by.in_full}’s ×{lease.total}"
    parts = (f"under {whose}", str(lease.limits), f"{lease.left} of {lease.total} left")
    return " · ".join(filter(None, parts))


def shown_arguments(arguments: Arguments, preview: Preview | None) -> tuple[Labelled, ...]:
    """Every argument in full: text with marks for invisible characters, other values as JSON."""
    return tuple(
        Labelled(visible(name), visible(as_text(value)), instead)
        for (name, value), instead in zip(arguments.items(), lines_instead(arguments, preview), strict=True)
    )


def as_text(value: object) -> str:
    """An argument's value as people read and edit it: text unchanged, other values as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=1)


def money(amount: Decimal) -> str:
    """An amount in US dollars: `$0.41`; below 10 cents three decimals, `$0.012`; below 0.1 cents `<$0.001`."""
    if amount == 0:
        return "$0"
    if amount < Decimal("0.001"):
        return "<$0.001"
    return f"${amount:.2f}" if amount >= Decimal("0.1") else f"${amount:.3f}"


def uncounted(card: Card) -> str:
    """The title of a card's preview without what the card's own title has: how many lines change."""
    title, counts = card.preview.title if card.preview else "", card.title.added or card.title.removed
    return re.sub(r"(new file) · \d.*| · \+\d+ −\d+$", r"\1", title) if counts else title


def after_alert(risks: Sequence[RiskLabel], text: str) -> str:
    """The text; what can delete, execute, publish or spend has these classes written before it."""
    alert = alert_text(risks)
    return f"{alert} · {text}" if alert else text


def _steps(plan: str) -> tuple[str, ...]:
    return tuple(step for line in plan.splitlines() if (step := line.strip().lstrip("-*• ").strip()))


def _footer(agent: Agent, turn: Turn) -> tuple[str, ...]:
    source = (readable(f"command of {turn.source_name}"),) if turn.source else ()
    cost = (money(turn.usage.cost),) if turn.usage.cost else ()
    will_be = turn.is_open or turn.state in ("approved", "running")
    simulated = (SIMULATED,) if turn.is_simulated or (will_be and agent.simulates(turn)) else ()
    if not turn.is_open:
        return (*source, *simulated, *cost, *((FROM_UNTRUSTED,) if getattr(turn.result, "outside", False) else ()))
    costs = (f"this step {each}" for each in cost)
    spent = (spend_text(agent),) if cost or agent.budget.nearly_spent else ()
    asks = (ASKS_EACH_TIME,) if turn.always_asks else ()
    exposed = (READ_UNTRUSTED,) if turn.exposed else ()
    return (*source, *simulated, *asks, *_paused_lease(agent), *costs, *spent, *exposed)


def _paused_lease(agent: Agent) -> tuple[str, ...]:
    """That a note paused the agent's lease, and what goes on."""
    lease = agent.lease
    if lease is None or lease.paused_by is None:
        return ()
    whose = f"{lease.granted_by.in_full}’s ×{lease.total}"
    return (f"{whose} is paused, {lease.left} left: Approve runs this command only, Approve ×N goes on",)


def _is_under_lease(agent: Agent, turn: Turn) -> bool:
    """Whether the command runs, or ran, under the lease that the agent holds now."""
    if agent.lease is None or turn.state not in ("approved", "running", "done"):
        return False
    granted_at = agent.lease.granted_at
    return any(
        isinstance(approval.decision, Approve)
        and (approval.decision.times > 1 or approval.decision.under == "lease")
        and approval.at >= granted_at
        for approval in turn.approvals
    )


def _offered(agent: Agent, turn: Turn, continuous_limit: int | None) -> tuple[int, ...]:
    """The N of Approve ×N; none for what two people approve, and for the end of the work, after which nothing runs."""
    return () if turn.finishes or turn.needs_two else offered_times(continuous_limit, agent.channel_policy.times)


def _buttons(agent: Agent, turn: Turn, continuous_limit: int | None) -> tuple[Button, ...]:
    shown = turn.control_hash
    match turn.state:
        case "proposed":
            return (
                Button("approve", turn.id, shown=shown),
                *(Button("approve", turn.id, times, shown) for times in _offered(agent, turn, continuous_limit)),
                Button("edit", turn.id, shown=shown),
                Button("reject", turn.id, shown=shown),
                Button("stop", agent.id),
                *(() if turn.review else (Button("review", turn.id),)),
                *_forks(agent, turn),
            )
        case "approved" | "running":
            revoke = (Button("revoke", agent.id),) if _is_under_lease(agent, turn) else ()
            return (*question_buttons(turn), Button("stop", agent.id), *revoke)
        case "interrupted":
            return (
                Button("it ran", turn.id, shown=shown),
                Button("skip", turn.id, shown=shown),
                *(() if turn.needs_two else (Button("run again", turn.id, shown=shown),)),
                Button("stop", agent.id),
            )
        case "done" if turn.number == agent.turns:
            return (*((Button("revoke", agent.id),) if _is_under_lease(agent, turn) else ()), *_forks(agent, turn))
        case _:
            return ()


def _forks(agent: Agent, turn: Turn) -> tuple[Button, ...]:
    """What forks the agent; at the end of a dry run, what does it for real."""
    if isinstance(agent.status, Finished) and agent.dry_run:
        return (Button("for real", agent.id),)
    return (Button("fork", turn.id),) if turn.state == "proposed" and turn.number > 1 and not agent.parent else ()
