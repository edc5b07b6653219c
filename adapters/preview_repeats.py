"""What a preview shows to the last character, so that a card need not repeat it."""

from dataclasses import replace

from adapters.visible_text import one_line, visible
from agent_core.model.command import Arguments, Preview

IN_TITLE = "in the title of the preview"
AS_ABOVE = "as in the preview above"
WITHOUT_LINE_END = f"{AS_ABOVE}, with no line end after the last line"
MAX_NAME_CHARACTERS = 100  # of a name that the preview's title stands for: no surface cuts such a title
STANDS_ABOVE = frozenset({IN_TITLE, AS_ABOVE})
OF_NEW_TEXT = "@@ -0,0 "  # the hunk header of a diff to an empty text


def lines_instead(arguments: Arguments, preview: Preview | None) -> tuple[str, ...]:
    """For each argument, the line that stands for its value, or "" if the value is to be shown.

    A preview repeats a text if its title begins with it and no other argument has that value, if its body is that text,
    or if it is a diff that only adds lines and adds exactly the text: the text of a new file, or what is appended. A
    diff does not show whether the last line has a line end, so the line tells that.
    """
    if preview is None:
        return ("",) * len(arguments)
    values = [*arguments.values()]
    return tuple(_line_instead(value, preview, is_alone=values.count(value) == 1) for value in values)


def _line_instead(value: object, preview: Preview, *, is_alone: bool) -> str:
    if not isinstance(value, str) or not value.strip():
        return ""
    if is_alone and _is_title(value, preview.title):
        return IN_TITLE
    if preview.kind == "text":
        return AS_ABOVE if preview.body == value else ""
    added = _added(preview.body)
    if added is None or value not in (added, f"{added}\n"):
        return ""
    return WITHOUT_LINE_END if value == added else AS_ABOVE


def visible_preview(preview: Preview | None) -> Preview | None:
    """The preview with marks for invisible characters, and without the header of a diff that has only new lines."""
    if preview is None:
        return None
    body = preview.body
    if preview.kind == "diff" and body.startswith(OF_NEW_TEXT):
        body = body.partition("\n")[2]
    return replace(preview, title=visible(preview.title), body=visible(body))


def _is_title(value: str, title: str) -> bool:
    """Whether the preview's title begins with the value, and shows it as it is."""
    is_plain = value == one_line(visible(value)) and len(value) <= MAX_NAME_CHARACTERS
    return is_plain and title.partition(" · ")[0] == value


def _added(diff: str) -> str | None:
    """The added lines of a diff with one place of change and no removed line; None for any other diff."""
    place, *lines = diff.split("\n")
    signs = {line[:1] for line in lines}
    if not place.startswith("@@ ") or not signs <= {"+", " "}:
        return None
    return "\n".join(line[1:] for line in lines if line.startswith("+"))
