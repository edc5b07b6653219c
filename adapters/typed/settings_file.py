"""Reads and writes AutoGPT's `ai_settings.yaml`, from a file or from pasted text, with checks of the YAML."""

import re
from dataclasses import replace
from decimal import Decimal, InvalidOperation
from pathlib import Path

from agent_core.errors import InvalidInput
from agent_core.model.agent import Agent
from agent_core.model.draft import AgentDraft

FILENAME = "ai_settings.yaml"
MAX_CHARACTERS, MAX_DEPTH = 20_000, 8
MAX_DOLLARS = 1_000_000_000
FENCED = re.compile(r"\A\s*```(?:[a-z]*\n)?(.*?)```\s*\Z", re.DOTALL)
BREAKS = frozenset("\x85\u2028\u2029")  # YAML reads them back as spaces unless they are escaped
KEYS = re.compile(r"^(ai_name|ai_goals)[ \t]*:", re.MULTILINE)


def read_settings(path: Path) -> AgentDraft:
    """Read ai_name, ai_role, ai_goals and api_budget; raise InvalidInput with one line that says what is wrong.

    A budget of 0 means no limit; None means that the file names no budget.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise _fault(str(path), error.strerror or "it cannot be read") from None
    return parse_settings(decoded(data, str(path)), str(path))


def pasted_draft(text: str, source: str = FILENAME) -> AgentDraft:
    """Parse a file for a form: a budget of 0 (no limit) becomes None (empty). Raise InvalidInput if unreadable."""
    draft = parse_settings(text, source)
    return replace(draft, budget=draft.budget or None)


def decoded(data: bytes, source: str = FILENAME) -> str:
    """The file's text; raise InvalidInput if it is not UTF-8."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise _fault(source, "it is not UTF-8 text") from None


def parse_settings(text: str, source: str = FILENAME) -> AgentDraft:
    """Parse the text of an ai_settings.yaml, possibly in a Markdown code block; raise InvalidInput naming `source`."""
    kept = read_mapping(source, text)
    try:
        return AgentDraft(
            name=text_value(source, kept, "ai_name"),
            role=text_value(source, kept, "ai_role"),
            goals=_goals(source, kept),
            budget=_budget(source, kept),
        )
    except ValueError:
        raise _fault(source, "it has a number with too many digits") from None


def is_settings(text: str) -> bool:
    """Whether a text looks like an ai_settings.yaml: a line begins with `ai_name:` or `ai_goals:`."""
    return KEYS.search(_unfenced(text)) is not None


def settings_text(agent: Agent) -> str:
    """The agent as ai_settings.yaml, where a budget of 0 means no limit."""
    import yaml

    kept = {
        "ai_name": agent.name,
        "ai_role": agent.role,
        "ai_goals": list(agent.goals),
        "api_budget": float(agent.budget.limit or 0),
    }
    is_plain = BREAKS.isdisjoint("".join((agent.name, agent.role, *agent.goals)))
    return yaml.safe_dump(kept, allow_unicode=is_plain, sort_keys=False, width=MAX_CHARACTERS)


def write_settings(agent: Agent, path: Path) -> None:
    """Write the file; raise InvalidInput if that fails."""
    try:
        path.write_text(settings_text(agent), encoding="utf-8")
    except OSError as error:
        raise _fault(str(path), error.strerror or "it cannot be written") from None


def _unfenced(text: str) -> str:
    fenced = FENCED.match(text)
    return fenced[1] if fenced else text


def read_mapping(source: str, text: str) -> dict[object, object]:
    """Every key of the text of an ai_settings.yaml, possibly in a Markdown code block; raise InvalidInput."""
    import yaml

    text = _unfenced(text)
    if len(text) > MAX_CHARACTERS:
        raise _fault(source, f"it has more than {MAX_CHARACTERS:,} characters")
    try:
        _check(source, text)
        kept = yaml.safe_load(text)
    except yaml.MarkedYAMLError as error:
        where = f" in line {error.problem_mark.line + 1}" if error.problem_mark else ""
        raise _fault(source, f"it is not YAML: {error.problem}{where}") from None
    except (yaml.YAMLError, ValueError, RecursionError):
        raise _fault(source, "it is not YAML") from None
    if not isinstance(kept, dict):
        raise _fault(source, "it has no ai_name, ai_role and ai_goals")
    return kept


def _check(source: str, text: str) -> None:
    """Raise InvalidInput for YAML aliases, which can expand without bound, and for deep nesting."""
    import yaml

    depth = 0
    for event in yaml.parse(text, Loader=yaml.SafeLoader):
        if isinstance(event, yaml.AliasEvent):
            raise _fault(source, "it uses YAML aliases, which are not supported")
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > MAX_DEPTH:
            raise _fault(source, "it is nested too deeply")


def text_value(source: str, kept: dict[object, object], key: str) -> str:
    """The text under a key, "" without one; raise InvalidInput if it is no text."""
    value = kept.get(key)
    if value is None:
        return ""
    if not isinstance(value, str | int | float) or isinstance(value, bool):
        raise _fault(source, f"{key} is not text")
    return str(value)


def _goals(source: str, kept: dict[object, object]) -> tuple[str, ...]:
    value = kept.get("ai_goals")
    goals = [] if value is None else value
    if not isinstance(goals, list):
        raise _fault(source, "ai_goals is not a list")
    return tuple(_goal(source, goal) for goal in goals)


def _goal(source: str, goal: object) -> str:
    match goal:
        case str():
            return goal
        case dict() if len(goal) == 1:  # YAML reads a goal with a colon as a mapping
            return "".join(f"{before}: {after}" for before, after in goal.items())
        case _:
            raise _fault(source, "one of ai_goals is not text")


def _budget(source: str, kept: dict[object, object]) -> Decimal | None:
    value = kept.get("api_budget")
    if value is None:
        return None
    try:
        amount = Decimal(str(value))
    except InvalidOperation:
        amount = Decimal(-1)
    if isinstance(value, bool) or not (amount.is_finite() and 0 <= amount < MAX_DOLLARS):
        raise _fault(source, "api_budget is not an amount in US dollars (0 means no limit)")
    return amount


def _fault(source: str, why: str) -> InvalidInput:
    return InvalidInput({"settings": f"{source}: {' '.join(why.split())}."})
