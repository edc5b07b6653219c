"""What a command works on, in a few words: its command line, address, file or search."""

from collections.abc import Mapping

from agent_core.model.command import Preview
from agent_core.model.lines import one_line, unseparated
from agent_core.model.turn import Turn

MAIN_ARGUMENTS = ("command_line", "url", "filename", "path", "query", "key", "turn")
JOINED_ARGUMENTS: Mapping[str, str] = {"args": " ", "clone_path": " → "}  # shown behind the main one
MAX_TARGET_CHARACTERS = 500


def target_of(turn: Turn) -> str:
    """What the command of a turn works on, on one line; for a changed file with the number of lines.

    The text belongs to no time: it is true before the command runs and afterwards. It is "" without arguments.
    """
    values = {name: str(value) for name, value in turn.call.arguments.items() if _can_be_told(value)}
    main = next((name for name in MAIN_ARGUMENTS if name in values), next(iter(values), ""))
    joined = {**JOINED_ARGUMENTS, "filename": " → "} if main == "url" else JOINED_ARGUMENTS
    more = "".join(f"{joint}{values[name]}" for name, joint in joined.items() if name in values and name != main)
    told = unseparated(f"{values.get(main, '')}{more}")
    return one_line(f"{told}{_lines_changed(turn.shown_preview)}", MAX_TARGET_CHARACTERS)


def named_target_of(turn: Turn) -> str:
    """The target for the decision log, which outlives the agent: "" where it would be the model's own prose."""
    return target_of(turn) if any(name in turn.call.arguments for name in MAIN_ARGUMENTS) else ""


def _can_be_told(value: object) -> bool:
    return isinstance(value, str | int) and not isinstance(value, bool) and bool(str(value).strip())


def _lines_changed(preview: Preview | None) -> str:
    """The end of a diff's title: ` · +4 −1`."""
    end = preview.title.rpartition(" · ")[2] if preview and preview.kind == "diff" else ""
    return f" · {end}" if end.startswith(("+", "−")) else ""
