"""The commands that run programs: what people are shown, what the model reads, and what it is told of mistakes."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from platform import python_version

import pytest
from inline_snapshot import snapshot

from agent_core.capabilities.files.folder_workspace import FolderWorkspaces
from agent_core.capabilities.programs.commands import ProgramCommands
from agent_core.capabilities.programs.sealed_copy_launcher import launch_command
from agent_core.errors import CommandError
from agent_core.model.command import CommandCall, Preview
from agent_core.model.files import ProgramRun
from agent_core.ports.files import Files
from agent_core.testing.clock import FakeClock
from agent_core.testing.examples import an_agent
from agent_core.testing.files import InMemoryWorkspaces
from agent_core.testing.sandbox import Program, RecordingSandbox
from agent_core.toolset.registry import CommandContext, Commands
from tests.attacks.sandboxes import real_sandbox

ADA = an_agent()
START = datetime(2026, 3, 14, 12, tzinfo=UTC)


class Desk:
    """An agent with a sandbox that a test looks into."""

    def __init__(self, *runs: ProgramRun, program: Program | None = None) -> None:
        self.runs = list(runs)
        self.workspaces = InMemoryWorkspaces(clock=FakeClock(START))
        self.sandbox = RecordingSandbox(
            program=program or self.scripted, workspaces=self.workspaces, clock=FakeClock(START)
        )
        self.commands = Commands.of(*ProgramCommands(sandbox=self.sandbox).commands)
        self.heard: list[str] = []

    async def scripted(self, _argv: Sequence[str], _files: Files) -> ProgramRun:
        return self.runs.pop(0)

    @property
    def context(self) -> CommandContext:
        return CommandContext(agent=ADA, files=self.workspaces.of(ADA), report=self.heard.append)

    async def write(self, path: str, text: str) -> None:
        await self.workspaces.of(ADA).write(path, text.encode())

    async def does(self, name: str, **arguments: object) -> str:
        call = self.commands.checked(CommandCall(name, arguments))
        command = self.commands.get(call.name)
        approved = await command.preview(call.arguments, self.context)
        return (await command.run(call.arguments, replace(self.context, approved=approved))).text

    async def foresees(self, name: str, **arguments: object) -> Preview | None:
        call = self.commands.checked(CommandCall(name, arguments))
        return await self.commands.get(call.name).preview(call.arguments, self.context)


def printed(output: str, *, code: int = 0, why: str = "") -> ProgramRun:
    return ProgramRun(exit_code=code, output=output, ended_because=why)


async def test_a_python_file_runs_with_its_arguments() -> None:
    desk = Desk(printed("3\n"))
    await desk.write("-sum.py", "print(1 + 2)")
    assert await desk.does("execute_python_file", file="-sum.py", args="--round 'two words'") == snapshot(
        """\
It ended without an error.
It printed:
3\
"""
    )
    assert desk.sandbox.ran == [launch_command("-sum.py", ["--round", "two words"])]
    assert desk.sandbox.sealed == [{"-sum.py": b"\xef\xbb\xbfprint(1 + 2)"}]
    assert desk.heard == ["3\n"]


async def test_a_line_runs_in_a_shell_as_it_was_given() -> None:
    desk = Desk(printed(""))
    assert await desk.does("execute_shell", command="ls | wc -l; echo $HOME") == snapshot(
        """\
It ended without an error.
It printed nothing.\
"""
    )
    assert desk.sandbox.ran == [("/bin/sh", "-c", "ls | wc -l; echo $HOME")]


@pytest.mark.proves("program:failed")
async def test_a_program_that_fails_is_a_failed_command_with_its_output() -> None:
    desk = Desk(printed("1 failed\n", code=1))
    with pytest.raises(CommandError) as failed:
        await desk.does("execute_shell", cmd="pytest")
    assert str(failed.value) == snapshot(
        """\
It failed with exit code 1.
It printed:
1 failed\
"""
    )


async def test_what_a_limit_ended_is_an_error_that_tells_what_was_printed() -> None:
    desk = Desk(printed("still at it\n", code=137, why="it ran for more than 120 seconds"))
    with pytest.raises(CommandError) as caught:
        await desk.does("execute_shell", command_line="sleep 1000")
    assert str(caught.value) == snapshot(
        """\
It was ended, because it ran for more than 120 seconds.
It printed:
still at it\
"""
    )


async def test_files_it_made_changed_and_deleted_are_named() -> None:
    async def program(_argv: Sequence[str], files: Files) -> ProgramRun:
        await files.write("old.txt", b"longer")
        await files.delete("gone.txt")
        for number in range(25):
            await files.write(f"{number:02}", b"x")
        return printed("")

    desk = Desk(program=program)
    for name in ("old.txt", "same.txt", "gone.txt"):
        await desk.write(name, "text")
    changed, deleted = (await desk.does("execute_shell", command_line="make")).splitlines()[1:3]
    assert changed.startswith("Made or changed: 00 (1 byte), 01 (1 byte), ")
    assert changed.endswith(", 18 (1 byte), 19 (1 byte) and 6 more.")
    assert deleted == "Deleted: gone.txt."


async def test_a_program_is_left_running_told_of_and_ended() -> None:
    desk = Desk(printed("listening\n"))
    assert await desk.does("execute_shell_popen", command_line="python3 -m http.server") == snapshot(
        """\
p1, started at 12:00:00 UTC, is running. Ask for more with list_processes, end it with end_process.
It printed:
listening\
"""
    )
    assert await desk.does("list_processes") == snapshot(
        """\
p1, started at 12:00:00 UTC, is running. Its line: python3 -m http.server
It printed:
listening\
"""
    )
    assert await desk.foresees("end_process", process_id="p1") == snapshot(
        Preview(title="p1, started at 12:00:00 UTC, is running.", body="python3 -m http.server", target="p1")
    )
    assert await desk.does("end_process", key="p1") == snapshot(
        """\
p1 is ended. It printed:
listening\
"""
    )
    assert await desk.does("list_processes") == snapshot("No programs were left running.")


async def test_only_the_end_of_what_was_printed_is_told_of_those_not_asked_for() -> None:
    desk = Desk(printed("a" * 1000), printed("b" * 1000))
    for line in ("one", "two"):
        await desk.does("execute_shell_popen", command_line=line)
    told = await desk.does("list_processes", key="p2")
    assert ("a" * 300 in told, "a" * 301 in told, "b" * 1000 in told) == (True, False, True)


async def test_people_are_shown_the_program_and_shown_it_again_when_it_changed() -> None:
    desk = Desk()
    await desk.write("job.py", "print('one')\n")
    first = await desk.foresees("execute_python_file", filename="job.py")
    assert first is not None
    assert (first.title, first.body, first.target) == snapshot(
        ("job.py · 1 line · in the sandbox · no network · at most 120 s", "print('one')\n", "job.py")
    )
    await desk.write("job.py", "print('two')\n")
    second = await desk.foresees("execute_python_file", filename="job.py")
    assert second is not None
    assert first.basis != second.basis


@pytest.mark.slow
@pytest.mark.proves("program:whole")
async def test_every_line_of_a_program_and_of_what_it_imports_is_shown() -> None:
    desk = Desk()
    main = "import helper\n" + "".join(f"print({number})\n" for number in range(7_000))
    await desk.write("main.py", main)
    await desk.write("helper.py", "SECRET = 'in line 1'\n")
    shown = await desk.foresees("execute_python_file", filename="main.py")
    assert shown is not None
    assert len(main) > 80_000
    assert shown.title.startswith("main.py · 7,002 lines with 1 imported file · ")
    assert shown.body.splitlines() == [
        f"Runs main.py ({len(main):,} bytes, 7,001 lines) and imports helper.py (21 bytes, 1 line).",
        "",
        f"── main.py ({len(main):,} bytes, 7,001 lines) ──",
        *main.splitlines(),
        "",
        "",
        "── helper.py (21 bytes, 1 line) ──",
        "SECRET = 'in line 1'",
    ]


@pytest.mark.proves("program:whole")
async def test_a_program_that_is_too_long_to_be_shown_never_reaches_people() -> None:
    desk = Desk()
    await desk.write("main.py", "import helper\n" + "#" * 60_000)
    await desk.write("helper.py", "#" * 60_000)
    with pytest.raises(CommandError) as caught:
        await desk.foresees("execute_python_file", filename="main.py")
    assert str(caught.value) == snapshot(
        "main.py with what it imports has 120,014 characters of source. People can be shown at most 100,000 "
        "characters, and what cannot be shown cannot be approved. Split the program, or move its data into files that "
        "it opens."
    )


async def test_a_program_that_nobody_approved_does_not_run() -> None:
    desk = Desk()
    await desk.write("main.py", "print(1)")
    with pytest.raises(CommandError, match="is not what was approved, so nothing was run"):
        await desk.commands.get("execute_python_file").run({"filename": "main.py"}, desk.context)
    assert desk.sandbox.ran == []


async def test_people_are_shown_the_exact_line() -> None:
    desk = Desk()
    line = "rm -rf ~ ;  echo '\t'"
    assert await desk.foresees("execute_shell", command_line=line) == Preview(
        title="Shell in the sandbox · no network · at most 120 s · files that it runs are not part of this approval",
        body=line,
    )
    assert await desk.foresees("execute_shell_popen", command_line=line) == Preview(
        title="Shell, left running in the sandbox · no network · for at most 60 minutes · "
        "files that it runs are not part of this approval",
        body=line,
    )


@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        ("execute_python_file", {"filename": "none.py"}, "There is no file none.py."),
        ("execute_python_file", {"filename": "notes.txt"}, "notes.txt is no Python file: its name has to end in .py."),
        ("execute_python_file", {"filename": "data.py"}, "data.py is not in UTF-8, or declares"),
        ("execute_python_file", {"filename": "bad.py"}, "bad.py is no valid Python 3.11 in line 2: invalid syntax."),
        ("execute_python_file", {"filename": "../x.py"}, "'../x.py' is not a path inside the workspace"),
        (
            "execute_python_file",
            {"filename": "ok.py", "args": "'"},
            "The arguments cannot be read: no closing quotation.",
        ),
        ("execute_shell", {"command_line": "a\0b"}, "A command line cannot hold a null character."),
        ("execute_shell", {"command_line": ""}, "command_line"),
        ("list_processes", {"key": "p7"}, "There is no program 'p7'"),
        ("end_process", {"key": "p7"}, "There is no program 'p7'"),
    ],
)
async def test_what_cannot_run_is_told_in_a_sentence(name: str, arguments: dict[str, str], said: str) -> None:
    desk = Desk()
    await desk.workspaces.of(ADA).write("data.py", b"\xff\xfe")
    await desk.write("ok.py", "pass")
    await desk.write("bad.py", "ok = 1\nno = = 2\n")
    with pytest.raises(CommandError) as caught:
        await desk.commands.get(name).run(arguments, desk.context)
    assert said.replace("3.11", python_version()) in str(caught.value)
    assert desk.sandbox.ran == []


async def test_a_file_that_cannot_run_is_told_before_anybody_is_asked() -> None:
    with pytest.raises(CommandError, match="There is no file"):
        await Desk().foresees("execute_python_file", filename="none.py")


def test_classes_and_categories_are_those_that_policies_know() -> None:
    found = {spec.name: (spec.risks, spec.category, spec.outside) for spec in Desk().commands.specs}
    assert found == snapshot(
        {
            "execute_python_file": (("execute",), "code", False),
            "execute_shell": (("execute",), "shell", False),
            "execute_shell_popen": (("execute",), "shell", False),
            "list_processes": (("read",), "shell", False),
            "end_process": (("write",), "shell", False),
        }
    )


async def test_a_program_really_runs_and_what_it_made_is_listed(tmp_path: Path) -> None:
    workspaces = FolderWorkspaces(tmp_path / "workspaces")
    sandbox = real_sandbox(tmp_path, workspaces)
    commands = Commands.of(*ProgramCommands(sandbox=sandbox).commands)
    context = CommandContext(agent=ADA, files=workspaces.of(ADA))
    arguments = {"filename": "main.py", "args": "1 2 39"}
    source = "import sys, helper\nopen('sum.txt', 'w').write(str(helper.add(*map(int, sys.argv[1:]))))\nprint('ok')"
    await context.files.write("main.py", source.encode())
    await context.files.write("helper.py", b"def add(*numbers): return sum(numbers)")
    command = commands.get("execute_python_file")
    approved = await command.preview(arguments, context)
    ran = await command.run(arguments, replace(context, approved=approved))
    assert ran.text == "It ended without an error.\nMade or changed: sum.txt (2 bytes).\nIt printed:\nok"
    assert await context.files.read("sum.txt") == b"42"
