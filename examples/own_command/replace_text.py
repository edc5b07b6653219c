"""The command replace_text."""

from pydantic import BaseModel, Field

from agent_core.commands.registry import CommandContext, declare
from agent_core.errors import CommandError
from agent_core.model.command import Preview


class Replacement(BaseModel):
    """What the model fills in; it is told the descriptions."""

    filename: str = Field(description="path inside the workspace", min_length=1)
    old: str = Field(description="text to look for", min_length=1)
    new: str = Field(description="text to put in its place")


async def replace_text(given: Replacement, context: CommandContext) -> str:
    """Replace a text in a file, wherever it stands."""
    before = (await context.files.read(given.filename)).decode()
    await context.files.write(given.filename, before.replace(given.old, given.new).encode())
    return f"{before.count(given.old)} × {given.old!r} was replaced in {given.filename}."


async def preview_replace(given: Replacement, context: CommandContext) -> Preview:
    """What would change, and the content that this was worked out from."""
    basis = await context.files.fingerprint(given.filename)
    places = (await context.files.read(given.filename)).decode().count(given.old)
    if not places:
        raise CommandError(f"{given.filename} does not hold {given.old!r}.")
    title, change = f"{given.filename} · {places} ×", f"-{given.old}\n+{given.new}"
    return Preview(title=title, body=change, kind="diff", target=given.filename, basis=basis)


REPLACE_TEXT = declare(
    Replacement, replace_text, preview_replace, label="Replace text", risks=("write",), category="files"
)
