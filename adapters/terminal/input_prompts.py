"""Prompts at the terminal: for a new agent's name, role and goals, and for edited arguments."""

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

from adapters.screens.cards import as_text
from adapters.screens.visible_text import one_line
from adapters.terminal.render import value_text
from adapters.terminal.streams import Read, Streams
from agent_core.errors import InvalidInput
from agent_core.model.agent import Agent
from agent_core.model.command import Arguments
from agent_core.model.draft import DEFAULT_NAME, DEFAULT_ROLE, MAX_GOALS, AgentDraft

HOW_TO_EDIT = """Press Enter to keep a value. For several lines, type < on a line, then the lines, then . on a line.
Type numbers, lists and other values that are not text as JSON.
"""
MISSING = {
    "name": "--name is missing. Give the agent's name, or --settings with an ai_settings.yaml.",
    "goals": "--goal is missing. Give at least one goal.",
}


@dataclass(frozen=True, slots=True)
class Unchanged:
    """The answer with which a person keeps an argument's value."""


Typed: TypeAlias = str | Unchanged | None


def is_complete(draft: AgentDraft) -> bool:
    """Whether a name and a goal were given; the role has a default."""
    return bool(draft.name.strip()) and any(goal.strip() for goal in draft.goals)


async def ask_name(draft: AgentDraft, streams: Streams, greeting: str) -> AgentDraft:
    """Greet and ask for a missing name; raise InvalidInput if the input is not interactive or ends."""
    if draft.name.strip():
        return draft
    if not streams.can_ask:
        raise InvalidInput({"name": MISSING["name"]})
    if streams.emit is None:
        streams.say(greeting)
    return replace(draft, name=await ask_line(streams, f"Name [{DEFAULT_NAME}]: ", "name") or DEFAULT_NAME)


async def ask_role_and_goals(draft: AgentDraft, streams: Streams) -> AgentDraft:
    """Ask for a missing role and goals; raise InvalidInput if goals cannot be asked for or the input ends."""
    if not draft.role.strip() and streams.can_ask:
        draft = replace(draft, role=await ask_line(streams, f"Role [{DEFAULT_ROLE}]: ", "role"))
    if any(goal.strip() for goal in draft.goals):
        return draft
    if not streams.can_ask:
        raise InvalidInput({"goals": MISSING["goals"]})
    return replace(draft, goals=await ask_goals(streams))


async def create_from(draft: AgentDraft, create: Callable[[AgentDraft], Awaitable[Agent]], streams: Streams) -> Agent:
    """Create the agent. If its goals are refused, ask for others and keep the rest; raise InvalidInput otherwise."""
    while True:
        try:
            return await create(draft)
        except InvalidInput as wrong:
            if not streams.can_ask or wrong.problems.keys() != {"goals"}:
                raise
            streams.say(str(wrong))
        draft = replace(draft, goals=await ask_goals(streams))


async def ask_goals(streams: Streams) -> tuple[str, ...]:
    """Ask for goals until an empty line; raise InvalidInput if the input ends."""
    streams.write(f"Goals, up to {MAX_GOALS}. Finish with an empty line.\n")
    goals: list[str] = []
    while len(goals) < MAX_GOALS:
        goal = await ask_line(streams, f"Goal {len(goals) + 1}: ", "goals")
        if not goal:
            break
        goals += filter(None, map(str.strip, goal.split("\n")))  # a pasted list has one on each line
    return tuple(goals)


async def ask_line(streams: Streams, prompt: str, field: str) -> str:
    """The next line without blanks around it; raise InvalidInput for the field if the input ends."""
    streams.write(prompt)
    line = await streams.read()
    if line is None:
        raise InvalidInput({field: "No agent was created: the input ended."})
    return line.strip()


async def ask_arguments(arguments: Arguments, schema: Mapping[str, object], streams: Streams) -> Arguments | None:
    """Ask for each argument, also optional ones; return the arguments after the edit, or None if the input ends."""
    declared = schema.get("properties")
    properties = declared if isinstance(declared, Mapping) else {}
    streams.write(HOW_TO_EDIT)
    changed = dict(arguments)
    for name in dict.fromkeys([*arguments, *properties]):
        is_given = name in arguments
        streams.write(value_text(as_text(arguments[name]), streams.look) if is_given else "")
        is_text = isinstance(arguments[name], str) if is_given else _is_text(properties.get(name))
        value = await _value(one_line(name) + ("" if is_given else " (not given)"), streams, is_text=is_text)
        if value is None:
            return None
        if not isinstance(value, Unchanged):
            changed[name] = value
    return changed


async def _value(label: str, streams: Streams, *, is_text: bool) -> object:
    """Ask for a value until it is valid: text, or parsed JSON; return it, Unchanged, or None at the end of input."""
    while True:
        streams.write(f"{label}: ")
        typed = await _read_typed(streams.read)
        if not isinstance(typed, str) or is_text:
            return typed
        try:
            return json.loads(typed) if typed != "null" else Unchanged()
        except ValueError as error:
            streams.write(f"This is not JSON: {error}.\n")


async def _read_typed(read: Read) -> Typed:
    line = await read()
    if line != "<":
        return Unchanged() if line == "" else line
    lines: list[str] = []
    while (line := await read()) != ".":
        if line is None:
            return None
        lines.append(line)
    return "\n".join(lines)


def _is_text(schema: object) -> bool:
    return isinstance(schema, Mapping) and schema.get("type") == "string"
