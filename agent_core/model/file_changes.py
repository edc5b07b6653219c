"""Which turns changed a file, as far as they tell. Pure."""

from posixpath import normpath

from agent_core.model.result import Failed, Succeeded
from agent_core.model.turn import Turn


def changes_file(turn: Turn, path: str) -> bool:
    """Whether the turn changed the file of this normal path, as far as its preview or result names it or its folder."""
    if turn.state != "done" or isinstance(turn.result, Failed) or not turn.changes_files:
        return False
    made = turn.result.files if isinstance(turn.result, Succeeded) else ()
    target = normpath(turn.shown_preview.target) if turn.shown_preview and turn.shown_preview.target else ""
    return path == target or path in made or (bool(target) and path.startswith(f"{target}/"))
