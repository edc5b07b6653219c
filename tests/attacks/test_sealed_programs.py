"""Having another program run than the one that people approved."""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from agent_core.capabilities.agents.finish import FINISH_COMMANDS
from agent_core.capabilities.files.folder_workspace import FolderFiles, FolderWorkspaces
from agent_core.capabilities.programs.commands import ProgramCommands
from agent_core.capabilities.programs.process_sandbox import ProcessSandbox
from agent_core.errors import CommandError
from agent_core.loop.command_runner import NO_EXTENSIONS, Extensions, NextHook
from agent_core.model.agent import Agent
from agent_core.model.command import CommandCall, Failed, Result, Succeeded
from agent_core.model.decision import Approve, Reject
from agent_core.ports.files import Workspaces
from agent_core.ports.sandbox import Sandbox
from agent_core.testing.examples import an_agent
from agent_core.testing.language_model import ScriptedModel, reply_text
from agent_core.testing.sandbox import RecordingSandbox
from agent_core.testing.stage import Stage
from agent_core.toolset.registry import CommandContext, Commands
from tests.attacks.rows import attack
from tests.attacks.sandboxes import LONG, real_sandbox

RUN = reply_text("execute_python_file", {"filename": "main.py"})
NOTHING = reply_text("do_nothing")
NOT_RUN = "nothing runs"
SEALED = "the approved source runs"
ROUNDS = 30
FLIPPING = """
import os, sys
path, number = sys.argv[1], 0
while True:
    number += 1
    draft = path + ".draft"
    with open(draft, "w") as file:
        file.write("print('version " + "AB"[number % 2] + "')\\n")
    os.replace(draft, path)
    if number == 1:
        print("it flips", flush=True)
"""


def stage_of(sandbox: Sandbox, workspaces: Workspaces, *replies: str, extensions: Extensions = NO_EXTENSIONS) -> Stage:
    commands = Commands.of(*ProgramCommands(sandbox=sandbox).commands, *FINISH_COMMANDS)
    return Stage(model=ScriptedModel(*replies), commands=commands, workspaces=workspaces, extensions=extensions)


async def answered(stage: Stage, agent: Agent) -> Result | None:
    """What became of the newest turn after it was approved."""
    asked = await stage.turn(agent)
    await stage.decide(agent, Approve())
    await stage.wait_until_settled(agent)
    return stage.shown.cards[asked.id].result


CHANGES = {
    "The program is changed after the last check (TOCTOU)": ("main.py", b"import helper\nprint('other')"),
    "A module that it imports is replaced": ("helper.py", b"print('other')"),
    "A module in its folder shadows a standard one": ("random.py", b"print('other')"),
    "A package shadows a module": ("helper/__init__.py", b"print('other')"),
}


@pytest.mark.proves("program:sealed")
@pytest.mark.parametrize(
    ("path", "data"),
    [pytest.param(*change, marks=attack("approval", tries, NOT_RUN)) for tries, change in CHANGES.items()],
)
async def test_a_program_that_changed_at_the_last_moment_does_not_run(
    path: str, data: bytes, answer: str, tmp_path: Path
) -> None:
    async def change_it(call: CommandCall, context: CommandContext, following: NextHook) -> Result:
        if call.name != "do_nothing":
            await context.files.write(path, data)
        return await following(call, context)

    workspaces = FolderWorkspaces(tmp_path)
    sandbox = RecordingSandbox(workspaces=workspaces)
    stage = stage_of(sandbox, workspaces, NOTHING, RUN, NOTHING, extensions=Extensions(hooks=(change_it,)))
    agent = await stage.create()
    await workspaces.of(agent).write("main.py", b"import helper, random")
    await workspaces.of(agent).write("helper.py", b"")
    await answered(stage, agent)
    result = await answered(stage, agent)
    assert isinstance(result, Failed)
    assert ("so nothing was run" in result.error, sandbox.ran) == (True, []), answer


@attack("approval", "A module of the program is a symlink to a file outside", "refused before people are asked")
async def test_a_linked_module_makes_no_card(answer: str, tmp_path: Path) -> None:
    workspaces = FolderWorkspaces(tmp_path / "workspaces")
    stage = stage_of(RecordingSandbox(workspaces=workspaces), workspaces, NOTHING, RUN, NOTHING)
    agent = await stage.create()
    files = workspaces.of(agent)
    await files.write("main.py", b"import helper")
    (files.folder / "helper.py").symlink_to("/etc/passwd")
    await answered(stage, agent)
    turn = await stage.turn(agent)
    assert turn.call.name == "do_nothing", answer
    assert (
        "helper.py is a link or lies behind one, so main.py cannot import it." in stage.script.prompts[-1][-1].content
    )


IN_A_STRING = 'note = "ゃ\\"; print(404) #"\n'  # a string in UTF-8; in cp932 the backslash belongs to the letter
REFUSED = "refused before people are asked"
READ_OTHERWISE = {
    "A program declares an encoding in which a string ends at another place": f"# coding: cp932\n{IN_A_STRING}",
    "It declares the encoding after a lone carriage return": f"\r# coding: cp932\n{IN_A_STRING}",
    "A lone carriage return ends a comment for Python but not on the card": "x = 1  # set x\rprint(404)\n",
    "A form feed moves a line out of its block": "if False:\n    pass\n    \x0cprint(404)\n",
}


@pytest.mark.proves("program:read")
@pytest.mark.parametrize(
    "source",
    [pytest.param(source, marks=attack("approval", tries, REFUSED)) for tries, source in READ_OTHERWISE.items()],
)
async def test_what_python_would_read_otherwise_than_people_makes_no_card(
    source: str, answer: str, tmp_path: Path
) -> None:
    workspaces = FolderWorkspaces(tmp_path)
    stage = stage_of(RecordingSandbox(workspaces=workspaces), workspaces, NOTHING, RUN, NOTHING)
    agent = await stage.create()
    await workspaces.of(agent).write("main.py", source.encode())
    await answered(stage, agent)
    assert (await stage.turn(agent)).call.name == "do_nothing", answer


@asynccontextmanager
async def real(folder: Path) -> AsyncIterator[tuple[ProcessSandbox, FolderFiles]]:
    workspaces = FolderWorkspaces(folder / "workspaces")
    sandbox = real_sandbox(folder, workspaces)
    yield sandbox, workspaces.of(an_agent())
    await sandbox.close()


async def printed(sandbox: Sandbox, files: FolderFiles, **sources: str) -> str:
    """What main.py prints, or why it failed, once it was approved as it is."""
    for name, source in sources.items():
        await files.write(f"{name}.py", source.encode())
    command = Commands.of(*ProgramCommands(sandbox=sandbox).commands).get("execute_python_file")
    context, arguments = CommandContext(agent=an_agent(), files=files), {"filename": "main.py"}
    approved = await command.preview(arguments, context)
    return (await command.run(arguments, replace(context, approved=approved))).text.partition("It printed:\n")[2]


REWRITES = "open('helper.py', 'w').write('print(\"other\")')\nimport helper"


@attack("approval", "A program rewrites a module before it imports it", SEALED)
async def test_modules_are_imported_as_they_were_approved(answer: str, tmp_path: Path) -> None:
    async with real(tmp_path) as (sandbox, files):
        assert await printed(sandbox, files, main=REWRITES, helper="print('approved')") == "approved", answer


@pytest.mark.slow
@attack("approval", "A compiled module differs from its source", SEALED)
async def test_no_compiled_module_runs(answer: str, tmp_path: Path) -> None:
    compile_it = (
        "import py_compile as p; open('o.py', 'w').write('print(\"other\")');"
        "p.compile('o.py', 'helper.pyc', invalidation_mode=p.PycInvalidationMode.UNCHECKED_HASH);"
        "import importlib.util as u, os; c = u.cache_from_source('helper.py');"
        "os.makedirs('__pycache__'); os.replace('helper.pyc', c)"
    )
    async with real(tmp_path) as (sandbox, files):
        made = await sandbox.run(("python3", "-c", compile_it), an_agent(), seconds=LONG)
        assert (made.output, made.exit_code) == ("", 0)
        assert await printed(sandbox, files, main="import helper", helper="print('approved')") == "approved", answer


@attack("approval", "A module whose name is computed at run time", "the import fails with the reason")
async def test_a_module_that_was_not_shown_is_not_found(answer: str, tmp_path: Path) -> None:
    main = "try:\n    exec('import ' + 'hid' + 'den')\nexcept ImportError as fault:\n    print(fault)"
    async with real(tmp_path) as (sandbox, files):
        said = await printed(sandbox, files, main=main, hidden="print('other')")
    assert said.startswith("No module named 'hidden': hidden of the workspace was not part of what was approved."), (
        answer
    )


@pytest.mark.proves("program:read")
async def test_the_sandbox_reads_a_program_and_its_modules_in_utf_8(tmp_path: Path) -> None:
    main = f"# coding: utf-8\nimport helper\n{IN_A_STRING}print(note == helper.note)"
    async with real(tmp_path) as (sandbox, files):
        assert await printed(sandbox, files, main=main, helper=IN_A_STRING) == "True"


async def test_a_sealed_program_sees_itself_in_the_workspace(tmp_path: Path) -> None:
    main = "import os, sys, helper\nprint(__name__, __file__, os.getcwd(), sys.argv, sys.path[0])\nhelper.fail()"
    async with real(tmp_path) as (sandbox, files):
        with pytest.raises(CommandError) as failed:
            await printed(sandbox, files, main=main, helper="def fail():\n    raise ValueError('x')")
    assert str(failed.value).splitlines()[2:] == [
        "__main__ /workspace/main.py /workspace ['./main.py'] /sealed",
        "Traceback (most recent call last):",
        '  File "/workspace/main.py", line 3, in <module>',
        "    helper.fail()",
        '  File "/sealed/helper.py", line 2, in fail',
        "    raise ValueError('x')",
        "ValueError: x",
    ]


@pytest.mark.slow
@attack("approval", "Another process replaces the program repeatedly during approval and run", SEALED)
async def test_no_other_version_ever_runs(answer: str, tmp_path: Path) -> None:
    workspaces = FolderWorkspaces(tmp_path / "workspaces")
    sandbox = real_sandbox(tmp_path, workspaces)
    runs = [reply_text("execute_python_file", {"filename": "main.py", "args": str(turn)}) for turn in range(ROUNDS)]
    stage = stage_of(sandbox, workspaces, NOTHING, *runs, NOTHING)
    agent = await stage.create()
    files = workspaces.of(agent)
    await files.write("main.py", b"print('version A')\n")
    flipping = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", FLIPPING, str(files.folder / "main.py")), stdout=asyncio.subprocess.PIPE
    )
    assert flipping.stdout
    await flipping.stdout.readline()
    try:
        seen = await versions(stage, agent)
    finally:
        flipping.kill()
        await flipping.communicate()
    assert seen.count(True) > 0
    assert False not in seen, answer


async def versions(stage: Stage, agent: Agent) -> list[bool]:
    """For each run whether it printed the version that was shown when it was approved."""
    seen: list[bool] = []
    await answered(stage, agent)
    while (turn := await stage.turn(agent)).call.name == "execute_python_file":
        shown = turn.proposal.preview.body if turn.proposal.preview else ""
        result = await answered(stage, agent)
        if isinstance(result, Succeeded):
            seen.append(f"It printed:\n{shown[7:16]}" in result.output)
        elif (await stage.turn(agent)).remark:
            await stage.decide(agent, Reject("It changed."))
            await stage.wait_until_settled(agent)
    return seen
