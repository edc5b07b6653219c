"""Wraps the commands of plugins: whatever one raises or returns by mistake becomes a sentence for the model."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from agent_core.errors import CommandError, DatabaseAway, MemoryAway, ModelError
from agent_core.model.command import Arguments, Preview
from agent_core.plugins.loaded import NOT_OF_PLUGINS, LoadedPlugin, require_not_cancelled, title_of
from agent_core.toolset.registry import Command, CommandContext, CommandOutput, FoundOutcome

KNOWN = (CommandError, DatabaseAway)
KNOWN_OF_A_RUN = (*KNOWN, MemoryAway, ModelError)


def guard(command: Command, loaded: LoadedPlugin) -> Command:
    """The same command, which raises nothing that its callers do not know.

    Where it shows no preview, people are shown what its plugin says of it.
    """
    name = command.spec.name
    said = command.spec.description or command.spec.label
    stated = Preview(title="", body=f"The plugin {loaded.title} says: {said}", target=name)

    async def run(arguments: Arguments, context: CommandContext) -> CommandOutput:
        with _guarded(loaded, name, KNOWN_OF_A_RUN):
            return _require_output(await command.run(arguments, context))

    async def preview(arguments: Arguments, context: CommandContext) -> Preview | None:
        with _guarded(loaded, name, KNOWN):
            shown = _require_preview(await command.preview(arguments, context))
        return shown or replace(stated, title=title_of(command.spec.label, arguments))

    async def find_outcome(arguments: Arguments, context: CommandContext) -> FoundOutcome:
        with _guarded(loaded, name, KNOWN):
            found = await command.find_outcome(arguments, context)
            return found if found in ("not run", "unknown") else _require_output(found)

    def off_for(model: str) -> str:
        try:
            return str(command.off_for(model))
        except NOT_OF_PLUGINS:
            raise
        except BaseException as failure:
            return str(loaded.command_failed(name, failure))

    return replace(command, run=run, preview=preview, find_outcome=find_outcome, off_for=off_for)


@contextmanager
def _guarded(loaded: LoadedPlugin, name: str, known: tuple[type[Exception], ...]) -> Iterator[None]:
    task = asyncio.current_task()
    try:
        yield
    except NOT_OF_PLUGINS:
        raise
    except BaseException as failure:
        require_not_cancelled(task)
        if isinstance(failure, known):
            raise
        raise loaded.command_failed(name, failure) from failure
    require_not_cancelled(task)


def _require_output(produced: object) -> CommandOutput:
    match produced:
        case CommandOutput(text=str(), files=tuple(files)) if all(isinstance(each, str) for each in files):
            return produced
        case _:
            raise TypeError(f"it gave no text, but {type(produced).__name__}")


def _require_preview(shown: object) -> Preview | None:
    match shown:
        case None | Preview(title=str(), body=str(), kind="text" | "diff", target=str(), basis=str(), model=str()):
            return shown
        case _:
            raise TypeError(f"its preview is no Preview of texts, but {type(shown).__name__}")
