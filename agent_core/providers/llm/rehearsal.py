"""A model that is none: it turns goals of a few shapes into commands, and says so in every reply.

All it knows is in the prompt: the goals, the commands, and what became of the steps it proposed before, which it
recognises by the first line of its own thoughts.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import pairwise
from typing import Literal

from agent_core.model.messages import Message, Reply
from agent_core.model.usage import FREE, Usage
from agent_core.prompt.system import CONSTRAINTS
from agent_core.providers.llm.goal_patterns import SHAPES, Action, actions_of
from agent_core.providers.llm.token_estimates import EstimatedTokens

LABEL = "Rehearsal · scripted, no AI"
CONNECT = "To connect a model, set OPENAI_API_KEY or OPENAI_BASE_URL, or start a local server such as Ollama."
NO_GOALS = "This is a rehearsal: a script without AI, which can only carry out an agent's goals."
LONGEST_TITLE, LONGEST_QUOTE, LONGEST_REASON, MOST_PLANNED = 120, 300, 3900, 10
WINDOW = 16_000

Fate = Literal["done", "failed", "rejected", "withdrawn", "not proposed", "unknown"]
MARK = re.compile(r"Step (\d+) of \d+ · (.*)")
UNUSED = re.compile(r"^Your last reply could not be used: (.*) Nothing was run\.$", re.MULTILINE | re.DOTALL)
NOT_PROPOSED = "This step could not be put before you: "


@dataclass(frozen=True, slots=True, kw_only=True)
class RehearsalStep:
    """An action for a goal; `excuse` says why it is only to do nothing."""

    goal: int
    action: Action
    excuse: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RehearsalPast:
    """A turn in the prompt: which step it was, by its own mark, and what became of it."""

    number: int
    title: str
    fate: Fate
    why: str = ""


@dataclass(frozen=True, slots=True)
class RehearsalModel:
    """Plans without thinking: a pure function of the prompt, free of charge."""

    @property
    def label(self) -> str:
        """The badge."""
        return LABEL

    @property
    def default_model(self) -> str:
        """Its only one."""
        return "rehearsal"

    async def complete(
        self,
        messages: Sequence[Message],
        *,
        schema: Mapping[str, object] | None,
        model: str,
        max_tokens: int,
        temperature: float | None = None,
    ) -> Reply:
        """The next step of the script."""
        text, count = answer(messages), EstimatedTokens().count
        prompt = sum(count(message.content) for message in messages)
        return Reply(text=text, usage=Usage(prompt=prompt, completion=count(text)))

    def window(self, model: str) -> int:
        """Room for a good number of past turns, of which the script needs to see each once."""
        return WINDOW

    def price(self, usage: Usage, model: str) -> Decimal | None:
        """Nothing."""
        return FREE


def answer(messages: Sequence[Message]) -> str:
    """The reply to a prompt."""
    standing = messages[0].content if messages else ""
    goals = goals_of(standing)
    if not goals:
        return NO_GOALS
    steps, past = steps_of(goals, commands_of(standing)), past_of(messages[1:])
    settled = settled_of(steps, past)
    left = [at for at in range(len(steps)) if at not in settled]
    said = _said(past[-1:], messages[-1].content, is_more=bool(left))
    if not left:
        return _finish(steps, settled, said)
    complaint = UNUSED.search(messages[-1].content)
    return _propose(steps, left, said, _cut(complaint[1], LONGEST_QUOTE) if complaint else "")


def goals_of(standing: str) -> tuple[str, ...]:
    """The numbered goals of a standing prompt."""
    _, found, rest = standing.partition("\n\nGoals:\n")
    block, ended, _ = rest.partition(f"\n\nConstraints:\n1. {CONSTRAINTS[0]}")
    goals: list[str] = []
    for line in block.split("\n") if found and ended else ():
        number = f"{len(goals) + 1}. "
        if line.startswith(number):
            goals.append(line.removeprefix(number))
        elif goals:
            goals[-1] += f"\n{line}"
    return tuple(goals)


def commands_of(standing: str) -> frozenset[str]:
    """The names of the commands that a standing prompt describes."""
    _, _, rest = standing.partition("\n\nCommands:\n")
    block, _, _ = rest.partition("\n\nReview of your work:\n")
    return frozenset(re.findall(r"^\d+\. [^:\n]+: (\w+)\(", block, re.MULTILINE))


def steps_of(goals: Sequence[str], commands: frozenset[str]) -> tuple[RehearsalStep, ...]:
    """One step or more for each goal, in order."""
    return tuple(step for number, goal in enumerate(goals, 1) for step in _steps(number, goal, commands))


def past_of(messages: Sequence[Message]) -> tuple[RehearsalPast, ...]:
    """The turns in the prompt, oldest first."""
    return tuple(_past(said.content, came.content) for said, came in pairwise(messages) if said.role == "assistant")


def settled_of(steps: Sequence[RehearsalStep], past: Sequence[RehearsalPast]) -> dict[int, RehearsalPast]:
    """What became of steps by their place. One that was withdrawn is open again, one before a known one is settled."""
    known: dict[int, RehearsalPast] = {}
    for turn in past:
        at = _place(turn, steps, known)
        if at is not None:
            known[at] = turn
    forgotten = RehearsalPast(number=0, title="", fate="unknown")
    through = {at: known.get(at, forgotten) for at in range(max(known, default=-1) + 1)}
    return {at: turn for at, turn in through.items() if turn.fate != "withdrawn"}


def _steps(number: int, goal: str, commands: frozenset[str]) -> list[RehearsalStep]:
    actions = actions_of(goal)
    if not actions:
        excuse = f"Goal {number} has no shape I know. I know: {'; '.join(SHAPES)}. {CONNECT}"
        return [_idle(number, f"Goal {number} is not understood: {goal}", excuse)]
    missing = sorted({action.command for action in actions} - commands)
    if missing:
        excuse = f"Goal {number} needs {' and '.join(missing)}, which this agent does not have."
        return [_idle(number, f"Goal {number} cannot be carried out: {goal}", excuse)]
    return [RehearsalStep(goal=number, action=_titled(action, action.title)) for action in actions]


def _idle(number: int, title: str, excuse: str) -> RehearsalStep:
    action = Action(command="do_nothing", arguments={}, title="")
    return RehearsalStep(goal=number, action=_titled(action, title), excuse=excuse)


def _titled(action: Action, title: str) -> Action:
    line = _cut(" ".join(title.split()), LONGEST_TITLE)
    return Action(command=action.command, arguments=action.arguments, title=line)


def _past(said: str, came: str) -> RehearsalPast:
    lean = json.loads(said)
    text, name = str(lean["thoughts"]["text"]), str(lean["command"]["name"])
    mark = MARK.match(text)
    fate, why = _fate(name, came)
    if fate == "done" and NOT_PROPOSED in text:
        fate, why = "not proposed", text.partition(NOT_PROPOSED)[2].partition("\n")[0]
    return RehearsalPast(number=int(mark[1]) if mark else 0, title=mark[2] if mark else "", fate=fate, why=why)


def _fate(name: str, came: str) -> tuple[Fate, str]:
    if came.startswith(f"{name} was not run: "):
        return "withdrawn", ""
    if came.startswith(f"{name} was not run. "):
        return "rejected", _cut(came.removeprefix(f"{name} was not run. "), LONGEST_QUOTE)
    _, _, result = came.partition(f"Result of {name}: ")
    failed = result.startswith(("Error: ", "Interrupted: ")) or re.match(r"stopped by .* while it ran", result)
    return ("failed", _cut(result, LONGEST_QUOTE)) if failed else ("done", "")


def _place(turn: RehearsalPast, steps: Sequence[RehearsalStep], known: Mapping[int, RehearsalPast]) -> int | None:
    """Where in the plan a turn belongs: by its title, which goals added or dropped since do not change."""
    places = [at for at, step in enumerate(steps) if step.action.title == turn.title]
    if turn.number - 1 in places:
        return turn.number - 1
    return next((at for at in places if at not in known), places[-1] if places else None)


def _said(last: Sequence[RehearsalPast], trigger: str, *, is_more: bool) -> list[str]:
    """What a script answers to a rejection and to notes."""
    then = "so I go on with the next step." if is_more else "and I have no other step."
    was_rejected = bool(last) and last[-1].fate == "rejected"
    lines = [last[-1].why, f"I am a script: I cannot rethink, {then}"] if was_rejected else []
    if "\nPeople wrote:\n" in trigger:
        lines.append("I received what you wrote, but I am a script and cannot understand it.")
    return lines


def _propose(steps: Sequence[RehearsalStep], left: Sequence[int], said: Sequence[str], complaint: str) -> str:
    at = left[0]
    step, action = steps[at], steps[at].action
    lines = [f"Step {at + 1} of {len(steps)} · {action.title}", *said]
    if complaint:
        lines.append(f"{NOT_PROPOSED}{complaint}")
        action, speak = Action(command="do_nothing", arguments={}, title=""), "One step could not be put before you."
    elif step.excuse:
        lines.append(step.excuse)
        speak = f"I could not make a command of goal {step.goal}, so I propose to do nothing."
    else:
        speak = f"May I do this: {action.title}?"
    reasoning = f"The words of goal {step.goal} fit one of my {len(SHAPES)} shapes. No AI was asked."
    return _reply(
        text="\n".join(lines),
        reasoning="No AI was asked." if step.excuse or complaint else reasoning,
        plan=_planned([steps[later].action.title for later in left]),
        speak=speak,
        action=action,
    )


def _finish(steps: Sequence[RehearsalStep], settled: Mapping[int, RehearsalPast], said: Sequence[str]) -> str:
    lines = ["This was a rehearsal: a script, no AI.", *(_told(step, settled[at]) for at, step in enumerate(steps))]
    return _reply(
        text="\n".join((f"All {len(steps)} steps are through.", *said)),
        reasoning="Every step of the script was proposed once. Whether the goals are reached is yours to say.",
        plan="- Nothing is left.",
        speak="My script is at its end. May I finish?",
        action=Action(command="task_complete", arguments={"reason": _cut("\n".join(lines), LONGEST_REASON)}, title=""),
    )


def _told(step: RehearsalStep, turn: RehearsalPast) -> str:
    """A line on what became of a step."""
    title, why = step.action.title, f" ({turn.why})" if turn.why else ""
    if step.excuse:
        return f"- {title}"
    match turn.fate:
        case "done":
            return f"- Done: {title}"
        case "rejected":
            return f"- Rejected: {title}{why}"
        case "failed":
            return f"- Failed: {title}{why}"
        case "not proposed":
            return f"- Not possible: {title}{why}"
        case _:
            return f"- Proposed, but I no longer see what became of it: {title}"


def _planned(titles: Sequence[str]) -> str:
    shown, more = titles[:MOST_PLANNED], len(titles) - MOST_PLANNED
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


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"
