"""Redacts the operator's secrets from everything a command returns, previews, raises or reports."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from agent_core.errors import CommandError
from agent_core.model.command import Arguments, Preview
from agent_core.toolset.registry import Command, CommandContext, CommandOutput


def redact_output(command: Command, redact: Callable[[str], str]) -> Command:
    """The same command, with secrets redacted from its result, preview, errors, and what it says meanwhile."""

    async def run(arguments: Arguments, context: CommandContext) -> CommandOutput:
        watched = replace(
            context,
            report=lambda text: context.report(redact(text)),
            announce=lambda text: context.announce(redact(text)),
        )
        try:
            produced = await command.run(arguments, watched)
        except CommandError as error:
            raise CommandError(redact(str(error))) from None
        return replace(produced, text=redact(produced.text))

    async def preview(arguments: Arguments, context: CommandContext) -> Preview | None:
        try:
            shown = await command.preview(arguments, context)
        except CommandError as error:
            raise CommandError(redact(str(error))) from None
        if shown is None:
            return None
        return replace(shown, title=redact(shown.title), body=redact(shown.body))

    return replace(command, run=run, preview=preview)


def redact_schema(command: Command, redact: Callable[[str], str]) -> Command:
    """The command with no secret in its schema, such as in the values that an argument may have."""

    def redacted(part: Any) -> Any:
        match part:
            case dict():
                return {name: redacted(value) for name, value in part.items()}
            case list():
                return [*map(redacted, part)]
            case str():
                return redact(part)
            case _:
                return part

    return replace(command, spec=replace(command.spec, parameters=redacted(command.spec.parameters)))
