"""Which arguments a preview repeats, with the line that a card shows for each; and the preview as a card shows it."""

import re
from dataclasses import replace

from adapters.screens.visible_text import one_line, visible
from agent_core.model.command import Arguments, Preview

IN_TITLE = "in the title of the preview"
AS_ABOVE = "as in the preview above"
AS_CHANGED = "as after the change above"
NO_LINE_END = ", with no line end after the last line"
WITHOUT_LINE_END = f"{AS_ABOVE}{NO_LINE_END}"
MAX_NAME_CHARACTERS = 100  # of a name that the preview's title stands for: no surface cuts such a title
STANDS_ABOVE = frozenset({IN_TITLE, AS_ABOVE, AS_CHANGED})
HUNK = re.compile(r"@@ -\d+(?:,\d+)? \+(\d+)(?:,(\d+))? @@")
OF_NEW_TEXT = "@@ -0,0 "  # the hunk header of a diff to an empty text


def lines_instead(arguments: Arguments, preview: Preview | None) -> tuple[str, ...]:
    """For each argument, the line that stands for its value, or "" if the value is to be shown.

    A preview repeats a text if its title begins with it and no other argument has that value, if its body is that text,
    or if it is a diff that only adds lines and adds exactly the text: the text of a new file, or what is appended. A
    diff that changes a file into the text has all of it that is new; the card opens the whole. A diff does not show
    whether the last line has a line end, so the line tells that.
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
        end = "" if value.endswith("\n") else NO_LINE_END
        return f"{AS_CHANGED}{end}" if _changes_into(value, preview.body) else ""
    return WITHOUT_LINE_END if value == added else AS_ABOVE


def visible_preview(preview: Preview | None, arguments: Arguments) -> Preview | None:
    """The preview with marks for invisible characters, and without the header of a diff that has only new lines.

    None for one that says no more than with which host an address among the arguments begins.
    """
    if preview is None:
        return None
    values, host = arguments.values(), preview.title
    if not preview.body and host not in values and any(_begins_at(value, host) for value in values):
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


def _changes_into(text: str, diff: str) -> bool:
    """Whether a whole diff ends in this text: each of its places has the lines that the text has there."""
    lines, (before, *places) = text.removesuffix("\n").split("\n"), re.split(r"^(?=@@ )", diff, flags=re.MULTILINE)
    return bool(places) and not before and lines == text.splitlines() and all(_is_place_of(lines, at) for at in places)


def _is_place_of(lines: list[str], place: str) -> bool:
    head, *changed = place.removesuffix("\n").split("\n")
    found = HUNK.fullmatch(head)
    if not found or not {line[:1] for line in changed} <= {"+", "-", " "}:
        return False
    start, new = int(found[1]) - 1, [line[1:] for line in changed if line[:1] != "-"]
    return len(new) == int(found[2] or 1) and bool(new) and lines[start : start + len(new)] == new


def _begins_at(value: object, host: str) -> bool:
    """Whether a value is an address that plainly begins with this host, so that nobody can take it for another one."""
    return (
        isinstance(value, str) and bool(host) and re.match(rf"https?://{re.escape(host)}(?:[/?#]|$)", value) is not None
    )
