"""Redacts the operator's secrets from everything a command returns, previews, raises or reports."""

from dataclasses import replace

from agent_core.commands.registry import Command, CommandContext, CommandOutput
from agent_core.errors import CommandError
from agent_core.model.command import Arguments, Preview
from agent_core.oversight.secrets import Secrets


def redact_output(command: Command, secrets: Secrets) -> Command:
    """The same command, with secrets redacted from its result, preview, errors and reports."""

    async def run(arguments: Arguments, context: CommandContext) -> CommandOutput:
        watched = replace(context, report=lambda text: context.report(secrets.redact(text)))
        try:
            produced = await command.run(arguments, watched)
        except CommandError as error:
            raise CommandError(secrets.redact(str(error))) from None
        return replace(produced, text=secrets.redact(produced.text))

    async def preview(arguments: Arguments, context: CommandContext) -> Preview | None:
        try:
            shown = await command.preview(arguments, context)
        except CommandError as error:
            raise CommandError(secrets.redact(str(error))) from None
        if shown is None:
            return None
        return replace(shown, title=secrets.redact(shown.title), body=secrets.redact(shown.body))

    return replace(command, run=run, preview=preview) if secrets.pattern else command
