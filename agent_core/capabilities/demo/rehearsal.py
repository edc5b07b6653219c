"""The scripted demo model (no AI): writes the next proposal from the goals and the past turns in the prompt.

Its reply depends only on the prompt. It recognises its earlier steps by the first line of its own thoughts.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

from agent_core.capabilities.demo.goal_patterns import SHAPES, Action, parse_actions
from agent_core.capabilities.demo.rehearsal_prompt import (
    MAX_QUOTE_CHARACTERS,
    NOT_PROPOSED,
    RehearsalPast,
    parse_commands,
    parse_goals,
    parse_past,
    shorten,
)
from agent_core.capabilities.demo.tour import REPORT_TITLE, TOUR_END, TOUR_GOAL, read_tour, tour_actions
from agent_core.capabilities.models.token_counters import EstimatedTokens
from agent_core.model.model_calls import FREE, Message, Reply, Usage
from agent_core.ports.models import CallOptions, Tour

LABEL = "Demo · scripted, no AI"
CONNECT_HINT = "To connect a model, put {settings} into .env and start again."
DOES_ONCE = " The script does each step once, so a run of the schedule repeats none."
RUN = re.compile(r"^This is run \d+ of your schedule", re.MULTILINE)
NO_GOALS = "This is demo mode: a script without AI, which can only carry out an agent's goals."
MAX_TITLE_CHARACTERS, MAX_NAMED_CHARACTERS, MAX_REASON_CHARACTERS, MAX_PLAN_STEPS = 120, 60, 3900, 10
WINDOW_TOKENS = 16_000

SUMMARY_LABELS = {
    "done": "Done",
    "edited": "Done, as you changed it",
    "rejected": "Rejected",
    "failed": "Failed",
    "not proposed": "Not possible",
}
UNUSED_REPLY = re.compile(r"^Your last reply could not be used: (.*) Nothing was run\.$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class RehearsalStep:
    """One step: an action for goal number `goal`. `why_idle` says why a step does nothing, else ""."""

    goal: int
    action: Action
    why_idle: str = ""


@dataclass(frozen=True, slots=True)
class RehearsalModel:
    """Implements `LanguageModel` and `Rehearsal` without AI, free of charge.

    `settings` names the settings that connect a model.
    """

    settings: str = "an API key or a base URL"

    label = LABEL
    default_model = "demo mode"

    async def complete(self, messages: Sequence[Message], options: CallOptions) -> Reply:
        text, count = complete_prompt(messages, self.settings), EstimatedTokens().count
        prompt = sum(count(message.content) for message in messages)
        return Reply(text=text, usage=Usage(prompt=prompt, completion=count(text)))

    def window(self, model: str) -> int:
        return WINDOW_TOKENS

    def max_reply(self, model: str) -> int | None:
        return None

    def takes_images(self, model: str) -> bool:
        return False

    def price(self, usage: Usage, model: str) -> Decimal | None:
        return FREE

    def goals_problem(self, goals: Sequence[str]) -> str:
        unknown = next((goal for goal in goals if not _actions(goal)), "")
        said = shorten(unknown, MAX_NAMED_CHARACTERS)
        return (
            unknown
            and f"Goals: demo mode can't do “{said}”. Connect a model ({self.settings} in .env) or try: {_try()}"
        )

    def model_problem(self, name: str) -> str:
        is_own = name in ("", self.default_model)
        return "" if is_own else f"Model: demo mode is a script and has no {name}. {self._hint}"

    def tour(self) -> Tour:
        return read_tour()

    @property
    def _hint(self) -> str:
        return CONNECT_HINT.format(settings=self.settings)


def complete_prompt(messages: Sequence[Message], settings: str) -> str:
    """The reply to a prompt. `settings` names the settings that connect a model."""
    system_prompt = messages[0].content if messages else ""
    goals = parse_goals(system_prompt)
    if not goals:
        return NO_GOALS
    commands, past = parse_commands(system_prompt), parse_past(messages[1:])
    hint = CONNECT_HINT.format(settings=settings)
    steps = [step for number, goal in enumerate(goals, 1) for step in _steps(number, goal, commands, past, hint)]
    settled = settle_steps(steps, past)
    left = [at for at in range(len(steps)) if at not in settled]
    remarks = _remarks(past[-1:], messages[-1].content, is_more=bool(left))
    if not left:
        once = DOES_ONCE if RUN.search(messages[-1].content) else ""
        return _finish(steps, settled, remarks, once, TOUR_END if goals == (TOUR_GOAL,) else "", hint)
    complaint = UNUSED_REPLY.search(messages[-1].content)
    return _propose(steps, left, remarks, shorten(complaint[1], MAX_QUOTE_CHARACTERS) if complaint else "")


def settle_steps(steps: Sequence[RehearsalStep], past: Sequence[RehearsalPast]) -> dict[int, RehearsalPast]:
    """The past turn of each settled step (one that needs no new proposal), by step index.

    A step whose proposal was withdrawn is not settled. A step before the last known one is settled even if the prompt
    has lost its turn; its outcome is then `unknown`.
    """
    known: dict[int, RehearsalPast] = {}
    for turn in past:
        at = _find_step(turn, steps, known)
        if at is not None:
            known[at] = turn
    forgotten = RehearsalPast(number=0, title="", outcome="unknown")
    through = {at: known.get(at, forgotten) for at in range(max(known, default=-1) + 1)}
    return {at: turn for at, turn in through.items() if turn.outcome != "withdrawn"}


def _actions(goal: str, past: Sequence[RehearsalPast] = ()) -> tuple[Action, ...]:
    """The commands for a goal; empty if demo mode does not know it."""
    if goal != TOUR_GOAL:
        return parse_actions(goal)
    report = next((turn for turn in reversed(past) if turn.title == REPORT_TITLE), None)
    return tour_actions(report.outcome, report.why.partition(" rejected it: ")[2]) if report else tour_actions()


def _try() -> str:
    return f"{'; '.join(SHAPES)}."


def _steps(
    number: int, goal: str, commands: frozenset[str], past: Sequence[RehearsalPast], hint: str
) -> list[RehearsalStep]:
    actions = _actions(goal, past)
    if not actions:
        why_idle = f"Demo mode has no pattern for goal {number}. Try one of these: {_try()} {hint}"
        return [_idle(number, f"Goal {number} is not understood: {goal}", why_idle)]
    missing = sorted({action.command for action in actions} - commands)
    if missing:
        why_idle = f"Goal {number} needs {' and '.join(missing)}, which this agent does not have."
        return [_idle(number, f"Goal {number} cannot be carried out: {goal}", why_idle)]
    return [RehearsalStep(goal=number, action=_with_title(action, action.title)) for action in actions]


def _idle(number: int, title: str, why_idle: str) -> RehearsalStep:
    action = Action(command="do_nothing", arguments={}, title="")
    return RehearsalStep(goal=number, action=_with_title(action, title), why_idle=why_idle)


def _with_title(action: Action, title: str) -> Action:
    line = shorten(" ".join(title.split()), MAX_TITLE_CHARACTERS)
    return replace(action, title=line)


def _find_step(turn: RehearsalPast, steps: Sequence[RehearsalStep], known: Mapping[int, RehearsalPast]) -> int | None:
    """The index of the turn's step, or None. It is found by title: numbers change when goals are added or removed."""
    places = [at for at, step in enumerate(steps) if step.action.title == turn.title]
    if turn.number - 1 in places:
        return turn.number - 1
    return next((at for at in places if at not in known), places[-1] if places else None)


def _remarks(last: Sequence[RehearsalPast], trigger: str, *, is_more: bool) -> list[str]:
    """Sentences in reply to a rejection of the last turn and to messages that people wrote."""
    then = "so I go on with the next step." if is_more else "and I have no other step."
    was_rejected = bool(last) and last[-1].outcome == "rejected"
    lines = [last[-1].why, f"I am a script: I cannot rethink, {then}"] if was_rejected else []
    if "\nPeople wrote:\n" in trigger:
        lines.append("I received what you wrote, but I am a script and cannot understand it.")
    return lines


def _propose(steps: Sequence[RehearsalStep], left: Sequence[int], remarks: Sequence[str], complaint: str) -> str:
    at = left[0]
    step, action = steps[at], steps[at].action
    said = () if action.answers_reply else remarks
    lines = [f"Step {at + 1} of {len(steps)} · {action.title}", *said, *filter(None, [action.remark])]
    if complaint:
        lines.append(f"{NOT_PROPOSED}{complaint}")
        action, speak = Action(command="do_nothing", arguments={}, title=""), "One step could not be put before you."
    elif step.why_idle:
        lines.append(step.why_idle)
        speak = f"I could not make a command of goal {step.goal}, so I propose to do nothing."
    else:
        speak = f"May I do this: {action.title}?"
    reasoning = f"Goal {step.goal} matched the pattern for {step.action.command}. No AI was asked."
    return _reply(
        text="\n".join(lines),
        reasoning="No AI was asked." if step.why_idle or complaint else reasoning,
        plan=_plan_text([steps[later].action.title for later in left]),
        speak=speak,
        action=action,
    )


def _finish(
    steps: Sequence[RehearsalStep],
    settled: Mapping[int, RehearsalPast],
    remarks: Sequence[str],
    once: str,
    tour_end: str,
    hint: str,
) -> str:
    summary = [_summary_line(step, settled[at]) for at, step in enumerate(steps)]
    lines = [tour_end] if tour_end else [f"This was demo mode: a script, no AI.{once}", *summary]
    reason = shorten("\n".join(lines), MAX_REASON_CHARACTERS - len(hint))
    every = {1: "The only step was", 2: "Both steps were"}.get(len(steps), f"All {len(steps)} steps were")
    proposed = "That was the tour. Now make an agent of your own." if tour_end else f"{every} proposed.{once}"
    return _reply(
        text="\n".join((proposed, *remarks)),
        reasoning="Every step of the script was proposed once. You decide whether the goals are reached.",
        plan="- No steps are left.",
        speak="The script has ended. May I finish?",
        action=Action(command="task_complete", arguments={"reason": f"{reason}\n{hint}"}, title=""),
    )


def _summary_line(step: RehearsalStep, turn: RehearsalPast) -> str:
    title, why = step.action.title, f" ({turn.why})" if turn.why else ""
    if step.why_idle:
        return f"- {title}"
    label = SUMMARY_LABELS.get(turn.outcome)
    return f"- {label}: {title}{why}" if label else f"- Proposed, but I no longer see what became of it: {title}"


def _plan_text(titles: Sequence[str]) -> str:
    shown, more = titles[:MAX_PLAN_STEPS], len(titles) - MAX_PLAN_STEPS
    return "\n".join(
        (*(f"- {title}" for title in shown), f"- {more} more steps" if more > 0 else "- Say what was done")
    )


def _reply(*, text: str, reasoning: str, plan: str, speak: str, action: Action) -> str:
    thoughts = {
        "text": text,
        "reasoning": reasoning,
        "plan": plan,
        "criticism": "I match words and understand none of them: look at the arguments before you approve.",
        "speak": speak,
    }
    command = {"name": action.command, "args": dict(action.arguments)}
    return json.dumps({"thoughts": thoughts, "command": command}, ensure_ascii=False)
