"""What every sandbox keeps to: bubblewrap, Docker's command line, and the recording one."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeAlias

import pytest

from agent_core.capabilities.files.folder_workspace import FolderWorkspaces
from agent_core.capabilities.programs import process_sandbox as sandbox_module
from agent_core.capabilities.programs.docker import IMAGE
from agent_core.capabilities.programs.process_sandbox import ProcessSandbox, docker_sandbox
from agent_core.errors import CommandError
from agent_core.model.files import ProgramRun
from agent_core.model.ids import AgentId
from agent_core.ports.files import Files, Workspaces
from agent_core.ports.sandbox import Sandbox
from agent_core.providers.clock import SystemClock
from agent_core.providers.confinement.limits import LIMITS
from agent_core.testing.examples import an_agent
from agent_core.testing.files import InMemoryWorkspaces
from agent_core.testing.sandbox import RecordingSandbox
from tests.attacks.sandboxes import LONG, real_sandbox
from tests.packages import SANDBOX, need
from tests.patience import PATIENCE_SECONDS
from tests.standins import docker

ADA = an_agent(id=AgentId("0ada"))
BOB = replace(ADA, id=AgentId("0bob"), name="Bob")
SLEEPS = "echo up; sleep 1000"
LIMIT = 0.5  # seconds
Made: TypeAlias = tuple[Sandbox, Workspaces]


@pytest.fixture(params=["bubblewrap", "docker", "recording"])
async def made(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Made]:
    """A sandbox and the workspaces it works in."""
    if request.param == "recording":
        memory = InMemoryWorkspaces()
        yield RecordingSandbox(program=shell, workspaces=memory), memory
        return
    monkeypatch.setattr(sandbox_module, "FIRST_OUTPUT_SECONDS", PATIENCE_SECONDS)  # all programs here speak or end
    folders = FolderWorkspaces(tmp_path / "workspaces")
    if request.param == "docker":
        need(*SANDBOX)  # the stand-in's containers are made by bubblewrap
        monkeypatch.setenv("PATH", docker.install(tmp_path / "bin", images=(IMAGE,)))
        sandbox = docker_sandbox(folders, SystemClock(), tmp_path)
    else:
        sandbox = real_sandbox(tmp_path, folders)
    yield sandbox, folders
    await sandbox.close()


@pytest.fixture
def sandbox(made: Made) -> Sandbox:
    return made[0]


async def shell(argv: Sequence[str], files: Files) -> ProgramRun:
    """The few lines of these tests, as the recording sandbox knows them."""
    match argv[-1].split():
        case ["exit", code]:
            return ProgramRun(exit_code=int(code), output="")
        case ["cat", name]:
            return ProgramRun(exit_code=0, output=(await files.read(name)).decode())
        case ["echo", word, ">", name]:
            await files.write(name, f"{word}\n".encode())
            return ProgramRun(exit_code=0, output="")
        case ["echo", word, *_]:
            return ProgramRun(exit_code=0, output=f"{word.strip(';')}\n")
        case other:
            raise LookupError(other)


def line(text: str) -> tuple[str, ...]:
    return ("/bin/sh", "-c", text)


async def run(sandbox: Sandbox, text: str, report: Callable[[str], None] = print) -> ProgramRun:
    return await sandbox.run(line(text), ADA, seconds=LONG, report=report)


async def keys(sandbox: Sandbox, agent: object = ADA) -> list[str]:
    return [each.key for each in await sandbox.list_background(BOB if agent is BOB else ADA)]


async def test_what_a_program_prints_is_given(sandbox: Sandbox) -> None:
    assert await run(sandbox, "echo hello") == ProgramRun(exit_code=0, output="hello\n")


async def test_a_programs_own_failure_is_a_value(sandbox: Sandbox) -> None:
    assert await run(sandbox, "exit 3") == ProgramRun(exit_code=3, output="")


@pytest.mark.slow
async def test_a_program_reads_and_writes_the_workspace(made: Made) -> None:
    sandbox, workspaces = made
    await workspaces.of(ADA).write("given.txt", b"from the bot")
    assert (await run(sandbox, "cat given.txt")).output == "from the bot"
    await run(sandbox, "echo back > made.txt")
    assert await workspaces.of(ADA).read("made.txt") == b"back\n"
    await workspaces.of(ADA).write("made.txt", b"again")
    await run(sandbox, "echo mine > made.txt")
    assert await workspaces.of(ADA).read("made.txt") == b"mine\n"


@pytest.mark.slow
async def test_a_program_left_running_is_told_of_until_it_is_ended(sandbox: Sandbox) -> None:
    started = await sandbox.start(line(SLEEPS), ADA)
    assert (started.line, started.output, started.exit_code) == (SLEEPS, "up\n", None)
    assert await sandbox.list_background(ADA) == (started,)
    ended = await sandbox.end(ADA, started.key)
    assert (ended.key, ended.output, ended.exit_code) == (started.key, "up\n", 137)
    assert await sandbox.list_background(ADA) == ()


@pytest.mark.slow
async def test_an_agent_sees_and_ends_only_its_own(sandbox: Sandbox) -> None:
    started = await sandbox.start(line(SLEEPS), ADA)
    assert await keys(sandbox, BOB) == []
    with pytest.raises(CommandError, match="There is no program"):
        await sandbox.end(BOB, started.key)
    assert await keys(sandbox) == [started.key]


@pytest.mark.slow
async def test_so_many_programs_of_an_agent_may_be_left_running(sandbox: Sandbox) -> None:
    started = [await sandbox.start(line(SLEEPS), ADA) for _ in range(LIMITS.background)]
    with pytest.raises(CommandError, match="4 programs run already"):
        await sandbox.start(line(SLEEPS), ADA)
    other = await sandbox.start(line(SLEEPS), BOB)
    await sandbox.end(ADA, started[0].key)
    newest = await sandbox.start(line(SLEEPS), ADA)
    assert await keys(sandbox) == [*(each.key for each in started[1:]), newest.key]
    assert await keys(sandbox, BOB) == [other.key]


@pytest.mark.slow
async def test_all_of_an_agents_programs_end_at_once(sandbox: Sandbox) -> None:
    for agent in (ADA, ADA, BOB):
        await sandbox.start(line(SLEEPS), agent)
    await sandbox.end_all(ADA.id)
    assert (len(await keys(sandbox)), len(await keys(sandbox, BOB))) == (0, 1)
    await sandbox.close()
    assert await keys(sandbox, BOB) == []


async def test_a_key_that_names_nothing_is_told(sandbox: Sandbox) -> None:
    with pytest.raises(CommandError, match="There is no program 'p9'"):
        await sandbox.end(ADA, "p9")


@dataclass(frozen=True, slots=True)
class LimitClock(SystemClock):
    """A clock on which a program's limit on time is reached once the test says so."""

    reached: asyncio.Event = field(default_factory=asyncio.Event)

    async def sleep(self, seconds: float) -> None:
        """Wait for the test where LIMIT is waited for."""
        await (self.reached.wait() if seconds == LIMIT else SystemClock.sleep(self, seconds))


real = pytest.mark.parametrize("made", ["bubblewrap", "docker"], indirect=True)


async def test_sealed_files_are_given_to_one_run(made: Made) -> None:
    sandbox, _ = made
    sealed = {"a.txt": b"sealed", "deep/er/b.txt": bytes(range(256)) * 1_000, "empty": b""}
    await sandbox.run(line("echo x"), ADA, seconds=LONG, report=print, sealed=sealed)
    if isinstance(sandbox, RecordingSandbox):
        assert sandbox.sealed == [sealed]


@pytest.mark.slow
@real
async def test_a_program_reads_sealed_files_and_cannot_change_them(sandbox: Sandbox, tmp_path: Path) -> None:
    sealed = {"a.txt": b"sealed", "deep/er/b.txt": bytes(range(256)) * 1_000, "empty": b""}
    tries = "cat /sealed/a.txt; wc -c < /sealed/deep/er/b.txt; rm -f /sealed/a.txt; echo x > /sealed/a.txt"
    run = await sandbox.run(
        line(f"({tries}; echo x > /sealed/new; chmod 777 /sealed/empty; mv /sealed/deep /sealed/d); ls -R /sealed"),
        ADA, seconds=LONG, report=print, sealed=sealed,
    )  # fmt: skip
    said = run.output.splitlines()
    assert said[0] == "sealed256000"
    assert said[-10:] == [
        "/sealed:",
        "a.txt",
        "deep",
        "empty",
        "",
        "/sealed/deep:",
        "er",
        "",
        "/sealed/deep/er:",
        "b.txt",
    ]
    assert not await asyncio.to_thread(lambda: [*tmp_path.glob("sealed-*")])


@real
async def test_both_streams_come_in_their_order(sandbox: Sandbox) -> None:
    assert (await run(sandbox, "echo 1; echo 2 >&2; echo 3")).output == "1\n2\n3\n"


@real
async def test_nothing_can_be_typed_in(sandbox: Sandbox) -> None:
    assert await run(sandbox, "cat") == ProgramRun(exit_code=0, output="")


@real
async def test_a_long_output_keeps_its_beginning_and_its_end(sandbox: Sandbox) -> None:
    output = (await run(sandbox, "seq 100000")).output
    assert output.startswith("1\n2\n3\n")
    assert output.endswith("99999\n100000\n")
    assert "568,895 bytes are left out here" in output
    assert len(output) < 21_000


@pytest.mark.slow
@real
async def test_what_it_prints_is_reported_while_it_runs(sandbox: Sandbox) -> None:
    heard: list[str] = []
    told = asyncio.Event()

    def hear(text: str) -> None:
        heard.append(text)
        told.set()

    running = asyncio.create_task(run(sandbox, "seq 3000; sleep 1000", hear))
    await asyncio.wait_for(told.wait(), PATIENCE_SECONDS)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert heard[0].endswith("2999\n3000\n")
    assert len(heard[0]) == 1500


@pytest.mark.slow
@real
async def test_a_program_that_takes_too_long_is_ended(sandbox: Sandbox) -> None:
    assert isinstance(sandbox, ProcessSandbox)
    clock = sandbox.clock = LimitClock()
    line_that_speaks = line("echo begun; sleep 1000")
    ended = await sandbox.run(line_that_speaks, ADA, seconds=LIMIT, report=lambda _: clock.reached.set())
    assert ended.output == "begun\n"
    assert ended.ended_because == "it ran for more than 0.5 seconds"


@real
async def test_one_left_running_that_ends_by_itself_is_told_of_once_it_has(sandbox: Sandbox) -> None:
    started = await sandbox.start(line("exit 5"), ADA)
    async with asyncio.timeout(PATIENCE_SECONDS):
        while (await sandbox.list_background(ADA))[0].exit_code is None:
            await asyncio.to_thread(lambda: None)
    assert await sandbox.list_background(ADA) == (replace(started, exit_code=5),)
    assert await sandbox.end(ADA, started.key) == replace(started, exit_code=5)


@real
async def test_a_line_that_is_too_long_or_cannot_be_one_is_told(sandbox: Sandbox) -> None:
    for impossible in ("x" * 200_000, "null \0 character"):
        with pytest.raises(CommandError):
            await run(sandbox, impossible)


@pytest.mark.slow
@pytest.mark.parametrize("made", ["bubblewrap"], indirect=True)
async def test_nothing_gets_out_of_bubblewrap(sandbox: Sandbox) -> None:
    assert await sandbox.self_test() == ""


@pytest.mark.slow
@pytest.mark.parametrize("made", ["docker"], indirect=True)
async def test_a_sandbox_that_does_not_hold_is_found_out(sandbox: Sandbox) -> None:
    said = await sandbox.self_test()
    assert said.startswith("The sandbox does not hold: a program in it could connect to this machine; ")
