"""AutoGPT's `ai_settings.yaml` as the draft of an agent."""

from decimal import Decimal, InvalidOperation
from pathlib import Path

from agent_core.errors import InvalidInput
from agent_core.model.draft import AgentDraft


def read_settings(path: Path) -> AgentDraft:
    """Read ai_name, ai_role, ai_goals and api_budget; raise InvalidInput with one clear line.

    A budget of 0 says that there is no limit, None that the file says nothing of one.
    """
    kept = _mapping(path)
    return AgentDraft(
        name=_text(path, kept, "ai_name"),
        role=_text(path, kept, "ai_role"),
        goals=_goals(path, kept),
        budget=_budget(path, kept),
    )


def _mapping(path: Path) -> dict[object, object]:
    import yaml

    try:
        kept = yaml.safe_load(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise _fault(path, error.strerror or "it cannot be read") from None
    except UnicodeDecodeError:
        raise _fault(path, "it is not UTF-8 text") from None
    except yaml.MarkedYAMLError as error:
        where = f" in line {error.problem_mark.line + 1}" if error.problem_mark else ""
        raise _fault(path, f"it is not YAML: {error.problem}{where}") from None
    except (yaml.YAMLError, ValueError, RecursionError):
        raise _fault(path, "it is not YAML") from None
    if not isinstance(kept, dict):
        raise _fault(path, "it holds no ai_name, ai_role and ai_goals")
    return kept


def _text(path: Path, kept: dict[object, object], key: str) -> str:
    value = kept.get(key)
    if value is None:
        return ""
    if not isinstance(value, str | int | float) or isinstance(value, bool):
        raise _fault(path, f"{key} is not a text")
    return str(value)


def _goals(path: Path, kept: dict[object, object]) -> tuple[str, ...]:
    value = kept.get("ai_goals")
    goals = [] if value is None else value
    if not isinstance(goals, list):
        raise _fault(path, "ai_goals is not a list")
    return tuple(_goal(path, goal) for goal in goals)


def _goal(path: Path, goal: object) -> str:
    match goal:
        case str():
            return goal
        case dict() if len(goal) == 1:  # YAML's reading of a goal with a colon in it
            return "".join(f"{before}: {after}" for before, after in goal.items())
        case _:
            raise _fault(path, f"the goal {goal!r} is not a text")


def _budget(path: Path, kept: dict[object, object]) -> Decimal | None:
    value = kept.get("api_budget")
    if value is None:
        return None
    try:
        amount = Decimal(str(value))
    except InvalidOperation:
        amount = Decimal(-1)
    if isinstance(value, bool) or not amount.is_finite() or amount < 0:
        raise _fault(path, "api_budget is not an amount in US dollars (0 is no limit)")
    return amount


def _fault(path: Path, why: str) -> InvalidInput:
    return InvalidInput({"settings": f"{path}: {' '.join(why.split())}."})
