"""Commands that run Python files and shell lines in the sandbox, and list and end those left in the background.

A program that fails or exceeds a limit is a failed command. A program's output is untrusted content if the agent's
folder is tainted (`agent_core/oversight/untrusted_content.py`), because it may come from the folder's files.
"""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import TypeAlias

from pydantic import BaseModel, Field

from agent_core.capabilities.files.commands import FILE_ALIASES
from agent_core.capabilities.programs.sealed_copy_launcher import launch_command
from agent_core.capabilities.programs.sealed_programs import read_program
from agent_core.errors import CommandError
from agent_core.model.command import Preview
from agent_core.model.files import Background, ProgramRun
from agent_core.ports.files import Files
from agent_core.ports.sandbox import NOTHING_SEALED, Sandbox
from agent_core.text.lines import counted
from agent_core.toolset.registry import Command, CommandContext, declare

SHELL = ("/bin/sh", "-c")
RUN_TIMEOUT_SECONDS, BACKGROUND_TIMEOUT_SECONDS = 120.0, 3_600.0
MAX_NAMED_FILES, MAX_OVERHEARD_CHARACTERS = 20, 300
UNAPPROVED_FILES_NOTE = "files that it runs are not part of this approval"
COMMAND_LINE_ALIASES = dict.fromkeys(("command", "cmd", "line", "shell_command"), "command_line")
PROCESS_ALIASES = dict.fromkeys(("id", "process", "process_id", "pid"), "key")
SHELL_SYNONYMS = ("execute_shell_command", "run_shell", "shell", "bash", "run_command")
START_SYNONYMS = ("shell_popen", "run_in_background", "start_process")
LIST_SYNONYMS = ("read_process_output", "list_background_processes")
FileStates: TypeAlias = Mapping[str, tuple[int, datetime]]


class PythonFile(BaseModel):
    """A program and what it is given."""

    filename: str = Field(description="path of a .py file inside the workspace", min_length=1, max_length=400)
    args: str = Field(default="", max_length=2_000, description="arguments, as in a shell")


class CommandLine(BaseModel):
    """A line for the shell."""

    command_line: str = Field(description="line for /bin/sh, run in the workspace", min_length=1, max_length=20_000)


class WhichProcess(BaseModel):
    """One of the programs that were left running, or all."""

    key: str = Field(default="", max_length=40, description="which one to show in full, empty for a summary of all")


class Process(BaseModel):
    """One of the programs that were left running."""

    key: str = Field(description="which one, as list_processes names it", min_length=1, max_length=40)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramCommands:
    """Commands that run programs. Timeouts in seconds: `seconds` in the foreground, `left` in the background."""

    sandbox: Sandbox
    seconds: float = RUN_TIMEOUT_SECONDS
    left: float = BACKGROUND_TIMEOUT_SECONDS

    async def execute_python_file(self, given: PythonFile, context: CommandContext) -> str:
        """Run a Python file of the workspace in a sandbox without network, and give what it prints."""
        arguments = _split(given.args)
        program = await read_program(given.filename, context.files)
        if context.approved_basis != program.digest:
            raise CommandError(
                f"{program.script}, or a file that it imports, is not what was approved, so nothing was run. "
                "Propose it again."
            )
        return await self._run(launch_command(program.script, arguments), context, program.files)

    async def execute_shell(self, given: CommandLine, context: CommandContext) -> str:
        """Run a line in a shell, in a sandbox without network, and give what it prints."""
        return await self._run((*SHELL, _require_no_null(given.command_line)), context)

    async def execute_shell_popen(self, given: CommandLine, context: CommandContext) -> str:
        """Start a line in a shell, in a sandbox without network, and leave it running."""
        started = await self.sandbox.start((*SHELL, _require_no_null(given.command_line)), context.agent)
        if started.exit_code:
            raise CommandError(f"{_state(started)}\n{_output_text(started.output)}")
        hint = "Ask for more with list_processes, end it with end_process."
        return f"{_state(started)} {hint}\n{_output_text(started.output)}"

    async def list_processes(self, given: WhichProcess, context: CommandContext) -> str:
        """Tell of the programs that were left running: what they do and what they printed last."""
        programs = await self.sandbox.list_background(context.agent)
        if given.key and all(each.key != given.key for each in programs):
            raise CommandError(
                f"There is no program {given.key!r}: list_processes without a key names those there are."
            )
        texts = (_background_text(each, full=each.key == given.key) for each in programs)
        return "\n\n".join(texts) or "No programs were left running."

    async def end_process(self, given: Process, context: CommandContext) -> str:
        """End a program that was left running, with all that it started."""
        ended = await self.sandbox.end(context.agent, given.key)
        return f"{given.key} is ended. {_output_text(ended.output)}"

    async def preview_python(self, given: PythonFile, context: CommandContext) -> Preview:
        """The whole source of the program and its imports, and its limits. No other source runs."""
        program = await read_program(given.filename, context.files)
        _split(given.args)
        title = f"{program.script} · {program.size} · {self._confined}"
        return Preview(title=title, body=program.shown, target=program.script, basis=program.digest)

    async def preview_shell(self, given: CommandLine, _context: CommandContext) -> Preview:
        """The exact line, and its limits."""
        title = f"Shell {self._confined} · {UNAPPROVED_FILES_NOTE}"
        return Preview(title=title, body=_require_no_null(given.command_line))

    async def preview_popen(self, given: CommandLine, _context: CommandContext) -> Preview:
        """The exact line, and its limits in the background."""
        limits = f"no network · for at most {self.left / 60:,.0f} minutes · {UNAPPROVED_FILES_NOTE}"
        title = f"Shell, left running in the sandbox · {limits}"
        return Preview(title=title, body=_require_no_null(given.command_line))

    async def preview_end(self, given: Process, context: CommandContext) -> Preview:
        """The program that would be ended, and its state."""
        programs = await self.sandbox.list_background(context.agent)
        program = next((each for each in programs if each.key == given.key), None)
        if program is None:
            raise CommandError(f"There is no program {given.key!r}: list_processes names those there are.")
        return Preview(title=_state(program), body=program.line, target=given.key)

    @property
    def commands(self) -> tuple[Command, ...]:
        execute = partial(declare, risks=("execute",))
        shell = partial(execute, CommandLine, category="shell", aliases=COMMAND_LINE_ALIASES)
        processes = partial(declare, category="shell", aliases=PROCESS_ALIASES)
        python, listing = partial(execute, PythonFile, category="code"), partial(processes, WhichProcess)
        return (
            python(
                self.execute_python_file,
                self.preview_python,
                label="Run Python file",
                synonyms=("execute_file", "run_python_file", "execute_python", "run_python"),
                aliases={**FILE_ALIASES, "arguments": "args"},
            ),
            shell(self.execute_shell, self.preview_shell, label="Run in a shell", synonyms=SHELL_SYNONYMS),
            shell(self.execute_shell_popen, self.preview_popen, label="Start in a shell", synonyms=START_SYNONYMS),
            listing(self.list_processes, label="List processes", risks=("read",), synonyms=LIST_SYNONYMS),
            processes(
                Process,
                self.end_process,
                self.preview_end,
                label="End process",
                risks=("write",),
                synonyms=("kill_process", "stop_process"),
            ),
        )

    @property
    def _confined(self) -> str:
        return f"in the sandbox · no network · at most {self.seconds:,.0f} s"

    async def _run(
        self, argv: Sequence[str], context: CommandContext, sealed: Mapping[str, bytes] = NOTHING_SEALED
    ) -> str:
        before = await _file_states(context.files)
        run = await self.sandbox.run(argv, context.agent, seconds=self.seconds, report=context.report, sealed=sealed)
        changes = _changes(before, await _file_states(context.files))
        text = "\n".join(filter(None, (_run_text(run), changes, _output_text(run.output))))
        if run.ended_because or run.exit_code != 0:
            raise CommandError(text)
        return text


def _split(args: str) -> list[str]:
    try:
        return shlex.split(_require_no_null(args))
    except ValueError as error:
        raise CommandError(f"The arguments cannot be read: {str(error).lower()}.") from None


def _require_no_null(line: str) -> str:
    if "\0" in line:
        raise CommandError("A command line cannot hold a null character.")
    return line


async def _file_states(files: Files) -> FileStates:
    return {entry.path: (entry.size, entry.changed_at) for entry in await files.list_files()}


def _changes(before: FileStates, after: FileStates) -> str:
    changed = [
        f"{path} ({counted(size, 'byte')})" for path, (size, at) in after.items() if before.get(path) != (size, at)
    ]
    gone = [path for path in before if path not in after]
    parts = (("Made or changed", changed), ("Deleted", gone))
    return "\n".join(f"{what}: {_names_text(names)}." for what, names in parts if names)


def _names_text(names: Sequence[str]) -> str:
    more = len(names) - MAX_NAMED_FILES
    return ", ".join(names[:MAX_NAMED_FILES]) + (f" and {more:,} more" if more > 0 else "")


def _run_text(run: ProgramRun) -> str:
    if run.ended_because:
        return f"It was ended, because {run.ended_because}."
    return "It ended without an error." if run.exit_code == 0 else f"It failed with exit code {run.exit_code}."


def _state(program: Background) -> str:
    since = f"{program.key}, started at {program.started_at:%H:%M:%S} UTC,"
    if program.exit_code is None:
        return f"{since} is running."
    if program.ended_because:
        return f"{since} was ended, because {program.ended_because}."
    return f"{since} ended with exit code {program.exit_code}."


def _background_text(program: Background, *, full: bool) -> str:
    printed = _output_text(program.output, full=full)
    return f"{_state(program)} Its line: {_shorten_line(program.line)}\n{printed}"


def _output_text(output: str, *, full: bool = True) -> str:
    text = output.rstrip("\n")
    if not text:
        return "It printed nothing."
    if full or len(text) <= MAX_OVERHEARD_CHARACTERS:
        return f"It printed:\n{text}"
    return f"It printed last:\n…{text[-MAX_OVERHEARD_CHARACTERS:]}"


def _shorten_line(line: str) -> str:
    return line if len(line) <= MAX_OVERHEARD_CHARACTERS else f"{line[:MAX_OVERHEARD_CHARACTERS]}…"
