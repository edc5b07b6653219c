"""Finds the arguments that a preview shows to their last character, so that a card need not repeat them."""

from agent_core.model.command import Preview

AS_ABOVE = "as in the preview above"
WITHOUT_LINE_END = f"{AS_ABOVE}, with no line end after the last line"


def line_instead(value: object, preview: Preview | None) -> str:
    """The line to show instead of an argument's value, or "" if the value is to be shown.

    A preview repeats a text if it is that text, or a diff that only adds lines and adds exactly the text: the text of a
    new file, or what is appended. A diff does not show whether the last line has a line end, so the line tells that.
    """
    if preview is None or not isinstance(value, str) or not value.strip():
        return ""
    if preview.kind == "text":
        return AS_ABOVE if preview.body == value else ""
    added = _added(preview.body)
    if added is None or value not in (added, f"{added}\n"):
        return ""
    return WITHOUT_LINE_END if value == added else AS_ABOVE


def _added(diff: str) -> str | None:
    """The added lines of a diff with one place of change and no removed line; None for any other diff."""
    place, *lines = diff.split("\n")
    signs = {line[:1] for line in lines}
    if not place.startswith("@@ ") or not signs <= {"+", " "}:
        return None
    return "\n".join(line[1:] for line in lines if line.startswith("+"))
