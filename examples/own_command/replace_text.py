"""The command replace_text."""

from pydantic import BaseModel, Field

from agent_core.errors import CommandError
from agent_core.model.command import Preview
from agent_core.text.decoding import decode_unicode
from agent_core.toolset.registry import CommandContext, declare


class Replacement(BaseModel):
    """What the model fills in; it is told the descriptions."""

    filename: str = Field(description="path inside the workspace", min_length=1, max_length=400)
    old: str = Field(description="text to look for", min_length=1)
    new: str = Field(description="text to put in its place")


async def replace_text(given: Replacement, context: CommandContext) -> str:
    """Replace a text in a file, wherever it stands."""
    before = await _read(given, context)
    changed = before.replace(given.old, given.new).encode()
    await context.files.write(given.filename, changed, expected=context.approved_basis)
    return f"{before.count(given.old)} × {given.old!r} was replaced in {given.filename}."


async def preview_replace(given: Replacement, context: CommandContext) -> Preview:
    """The replaced text, as a diff."""
    basis = await context.files.fingerprint(given.filename)
    places = (await _read(given, context)).count(given.old)
    if not places:
        raise CommandError(f"{given.filename} does not hold {given.old!r}.")
    title, change = f"{given.filename} · {places} ×", f"-{given.old}\n+{given.new}"
    return Preview(title=title, body=change, kind="diff", target=given.filename, basis=basis)


async def _read(given: Replacement, context: CommandContext) -> str:
    text = decode_unicode(await context.files.read(given.filename))
    if text is None:
        raise CommandError(f"{given.filename} is not a text file.")
    return text


REPLACE_TEXT = declare(
    Replacement, replace_text, preview_replace, label="Replace text", risks=("write",), category="files"
)
