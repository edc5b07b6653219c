"""The parts of the sandbox by themselves, and what is said where one of them is missing."""

import asyncio
import os
import socket
import struct
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inline_snapshot import snapshot

from agent_core.capabilities.files.folder_workspace import FolderWorkspaces
from agent_core.capabilities.programs import process_sandbox as sandbox_module
from agent_core.capabilities.programs.bubblewrap import BubblewrapBackend
from agent_core.capabilities.programs.docker import IMAGE, DockerBackend
from agent_core.capabilities.programs.process_sandbox import ProcessSandbox, docker_sandbox
from agent_core.capabilities.programs.program_output import ProgramOutput
from agent_core.capabilities.programs.sandbox_self_test import Listener
from agent_core.model.ids import AgentId
from agent_core.providers.clock import SystemClock
from agent_core.providers.confinement import bwrap_options, seccomp
from agent_core.providers.confinement.bwrap_options import hidden_folders, system_view
from agent_core.providers.confinement.cgroup import Cgroup, Cgroups
from agent_core.providers.confinement.interpreter import Interpreter
from agent_core.providers.confinement.limits import LIMITS, user_for
from agent_core.providers.confinement.resource_use import SocketUse
from agent_core.providers.own_process import own_process
from agent_core.providers.system_packages import install_command
from agent_core.testing.examples import an_agent
from tests.attacks.sandboxes import LONG, ROOT_OF_PROJECT
from tests.packages import SANDBOX, need
from tests.patience import PATIENCE_SECONDS
from tests.standins import docker

ADA = an_agent(id=AgentId("0ada"))
SELF_TEST = """
import asyncio, pathlib, sys, tempfile
from tests.attacks.sandboxes import possible_sandbox
print(asyncio.run(possible_sandbox(pathlib.Path(tempfile.mkdtemp(dir=sys.argv[1]))).self_test()))
"""


def verdict(program: bytes, *, arch: int, number: int, arguments: tuple[int, ...] = (0, 0)) -> int:
    """What a filter answers to a call, as the kernel works it out."""
    data = struct.pack("<IIQ6Q", number, arch, 0, *arguments, *[0] * (6 - len(arguments)))
    steps = [struct.unpack_from("<HBBI", program, place) for place in range(0, len(program), 8)]
    place, loaded = 0, 0
    while True:
        code, if_so, if_not, value = steps[place]
        place += 1
        match code:
            case seccomp.LOAD:
                (loaded,) = struct.unpack_from("<I", data, value)
            case seccomp.EQUAL:
                place += if_so if loaded == value else if_not
            case seccomp.GREATER_OR_EQUAL:
                place += if_so if loaded >= value else if_not
            case seccomp.ANY_BIT:
                place += if_so if loaded & value else if_not
            case seccomp.RETURN:
                return int(value)
            case other:
                raise ValueError(other)


@pytest.mark.parametrize("name", seccomp.ARCHITECTURES)
def test_the_filter_refuses_what_it_lists_and_allows_the_rest(name: str) -> None:
    machine, program = seccomp.ARCHITECTURES[name], seccomp.build_filter(name)
    assert program is not None
    tables = (seccomp.REFUSED, seccomp.ABSENT, seccomp.UNSUPPORTED)
    refused = {numbers[machine.column] for table in tables for numbers in table.values()}
    asked = {machine.clone, machine.ioctl, machine.socket, machine.socketpair, machine.fallocate}
    for number in {*range(500)} - asked:
        answer = verdict(program, arch=machine.audit, number=number)
        assert (answer == seccomp.ALLOW) == (number not in refused), number
    for number, argument, answer in (
        (machine.clone, 0x01200011, seccomp.ALLOW),  # fork
        (machine.clone, 0x10000011, seccomp.FAIL_WITH | seccomp.EPERM),
        (machine.socket, 2, seccomp.ALLOW),
        (machine.socket, 40, seccomp.FAIL_WITH | seccomp.EAFNOSUPPORT),
        (machine.socketpair, 1, seccomp.ALLOW),
        (machine.socketpair, 30, seccomp.FAIL_WITH | seccomp.EAFNOSUPPORT),
    ):
        assert verdict(program, arch=machine.audit, number=number, arguments=(argument, 0)) == answer
    for number, argument, answer in (
        (machine.ioctl, 0x5401, seccomp.ALLOW),
        (machine.ioctl, 0x5412, seccomp.FAIL_WITH | seccomp.EPERM),
        (machine.fallocate, 0, seccomp.ALLOW),
        (machine.fallocate, 1, seccomp.FAIL_WITH | seccomp.EOPNOTSUPP),
    ):
        assert verdict(program, arch=machine.audit, number=number, arguments=(0, argument)) == answer
    assert verdict(program, arch=0x40000003, number=20) == seccomp.KILL_PROCESS


@pytest.mark.parametrize("name", seccomp.ARCHITECTURES)
def test_the_filter_refuses_modes_with_set_id_bits(name: str) -> None:
    machine, program = seccomp.ARCHITECTURES[name], seccomp.build_filter(name)
    assert program is not None
    for calls, place in seccomp.MODES.values():
        for mode, answer in ((0o1777, seccomp.ALLOW), (0o4755, seccomp.FAIL_WITH | 1), (0o2755, seccomp.FAIL_WITH | 1)):
            if number := calls[machine.column]:
                given = arguments(**{str(place): mode})
                assert verdict(program, arch=machine.audit, number=number, arguments=given) == answer
    for calls, flags, place in seccomp.OPENS.values():
        for opening, answer in (
            (0, seccomp.ALLOW),
            (os.O_CREAT, seccomp.FAIL_WITH | 1),
            (0x400000, seccomp.FAIL_WITH | 1),
        ):
            if number := calls[machine.column]:
                given = arguments(**{str(flags): opening, str(place): 0o4755})
                assert verdict(program, arch=machine.audit, number=number, arguments=given) == answer
                plain = arguments(**{str(flags): opening, str(place): 0o666})
                assert verdict(program, arch=machine.audit, number=number, arguments=plain) == seccomp.ALLOW


@pytest.mark.parametrize("name", seccomp.ARCHITECTURES)
def test_the_filter_ignores_changed_sizes_of_socket_buffers(name: str) -> None:
    machine, program = seccomp.ARCHITECTURES[name], seccomp.build_filter(name)
    assert program is not None
    for level, option, answer in (
        (1, 7, seccomp.FAIL_WITH),  # an error of 0 is success: the call is not made
        (1, 33, seccomp.FAIL_WITH),
        (1, 2, seccomp.ALLOW),  # SO_REUSEADDR
        (6, 7, seccomp.ALLOW),  # TCP_SYNCNT
    ):
        assert verdict(program, arch=machine.audit, number=machine.setsockopt, arguments=(level, option)) == answer


def arguments(**values: int) -> tuple[int, ...]:
    """Arguments of a call, by their places in what the filter is given."""
    return tuple(values.get(str(place), 0) for place in range(seccomp.FIRST, seccomp.FIRST + 48, 8))


def test_settings_below_usr_are_hidden_and_links_are_left(tmp_path: Path) -> None:
    for name in ("bin", "etc", "src", "local/bin", "local/etc", "local/app", "lib/etc"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "local" / "src").symlink_to(tmp_path / "bin")
    assert hidden_folders(tmp_path) == ["/usr/etc", "/usr/src", "/usr/local/etc", "/usr/local/app"]
    options = [*system_view(tmp_path)]
    assert options[options.index("/usr/local/etc") - 1 :][:4] == [
        "--tmpfs", "/usr/local/etc", "--remount-ro", "/usr/local/etc"
    ]  # fmt: skip


def test_sockets_of_this_machine_are_counted() -> None:
    with socket.socket(), socket.socket(socket.AF_INET6):
        found = SocketUse.of(os.getpid())
    assert found.sockets >= 2
    assert SocketUse(sockets=3).max_bytes(0) >= 3 * 2 * 4096
    assert SocketUse(tcp=1, tcp_bytes=10).max_bytes(4) == 6
    assert SocketUse(tcp=0, tcp_bytes=10).max_bytes(4) == 0
    assert SocketUse.of(0) == SocketUse()


def test_no_filter_is_made_for_a_processor_that_is_not_known() -> None:
    assert seccomp.build_filter("s390x") is None


@pytest.mark.slow
@given(st.lists(st.binary(max_size=50)), st.integers(0, 40), st.integers(1, 40))
def test_output_is_whole_or_its_beginning_and_end(chunks: list[bytes], first: int, last: int) -> None:
    output, whole = ProgramOutput(head_bytes=first, tail_bytes=last), b"".join(chunks)
    for chunk in chunks:
        output.add(chunk)
    assert output.total == len(whole)
    if len(whole) <= first + last:
        assert output.text == whole.decode(errors="replace")
    else:
        assert f"(… {len(whole) - first - last:,} bytes are left out here …)" in output.text


def test_no_character_is_cut_in_two() -> None:
    output = ProgramOutput(head_bytes=4, tail_bytes=4)
    output.add("ééééééééé".encode()[1:])
    assert "\ufffd" not in output.text.partition("\n")[2]
    assert output.newest(1) in ("é", "\ufffd")


def make_groups(mounted: Path, *, limited: str = "cpu memory pids") -> Path:
    """A folder as a control group of version 2 looks in which another one may be made."""
    (mounted / "app.slice" / "signoff.scope").mkdir(parents=True)
    (mounted / "app.slice" / "cgroup.subtree_control").write_text(limited)
    own = mounted / "own"
    own.write_text("4:memory:/old\n0::/app.slice/signoff.scope\n")
    return own


def test_a_group_is_made_beside_the_own_one_with_its_limits(tmp_path: Path) -> None:
    groups = Cgroups.find(tmp_path, make_groups(tmp_path))
    assert groups == Cgroups(tmp_path / "app.slice")
    group = groups.create(1_000, 7)
    assert group.folder.parent == tmp_path / "app.slice"
    told = {path.name: path.read_text() for path in group.folder.iterdir()}
    assert told == {"memory.max": "1000", "memory.oom.group": "1", "pids.max": "7", "memory.swap.max": "0"}


@pytest.mark.parametrize("limited", ["", "cpu", "memory", "pids"])
def test_no_group_is_made_where_it_would_not_be_limited(tmp_path: Path, limited: str) -> None:
    assert Cgroups.find(tmp_path, make_groups(tmp_path, limited=limited)) is None


def test_no_group_is_made_outside_of_where_groups_are(tmp_path: Path) -> None:
    own = make_groups(tmp_path / "cgroup")
    own.write_text("0::/../outside/x\n")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "cgroup.subtree_control").write_text("memory pids")
    assert Cgroups.find(tmp_path / "cgroup", own) is None


def test_that_memory_ran_out_is_read_from_the_group(tmp_path: Path) -> None:
    assert not Cgroup(tmp_path).is_out_of_memory
    (tmp_path / "memory.events").write_text("low 0\nmax 12\noom 1\noom_kill 0\n")
    assert not Cgroup(tmp_path).is_out_of_memory
    (tmp_path / "memory.events").write_text("low 0\nmax 12\noom 1\noom_kill 3\n")
    assert Cgroup(tmp_path).is_out_of_memory


@pytest.mark.slow
async def test_a_program_enters_its_group_before_anything_of_it_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    need(*SANDBOX)
    monkeypatch.setattr(sandbox_module, "FIRST_OUTPUT_SECONDS", PATIENCE_SECONDS)
    make_groups(tmp_path)
    confinement = BubblewrapBackend(data=tmp_path, file_bytes=1_000, cgroups=Cgroups(tmp_path / "app.slice"))
    workspaces = FolderWorkspaces(tmp_path / "workspaces")
    sandbox = ProcessSandbox(backend=confinement, workspaces=workspaces, clock=SystemClock())
    started = await sandbox.start(("/bin/sh", "-c", "echo up; sleep 1000"), ADA)
    (group,) = (tmp_path / "app.slice").glob("signoff-*")
    assert ((group / "cgroup.procs").read_text(), started.output) == ("0\n", "up\n")
    (group / "memory.events").write_text("oom_kill 1\n")
    async with asyncio.timeout(PATIENCE_SECONDS):
        while (await sandbox.list_background(ADA))[0].exit_code is None:
            await asyncio.to_thread(lambda: None)
    (ended,) = await sandbox.list_background(ADA)
    assert ended.ended_because == "it took more than 1,500,000,000 bytes of memory"


@pytest.mark.slow
async def test_programs_run_on_our_own_python_where_the_system_has_none(tmp_path: Path) -> None:
    need(*SANDBOX)
    own = Interpreter.running()
    assert own is not None
    confinement = BubblewrapBackend(data=tmp_path, file_bytes=1_000, interpreter=own)
    workspaces = FolderWorkspaces(tmp_path / "workspaces")
    sandbox = ProcessSandbox(backend=confinement, workspaces=workspaces, clock=SystemClock())
    code = "import json, ssl, sys; print(sys.executable, sys.prefix); import pydantic"
    run = await sandbox.run(("python3", "-u", "-c", code), ADA, seconds=LONG)
    assert run.output.startswith("/opt/python/bin/python3 /opt/python\n")
    assert run.output.endswith("ModuleNotFoundError: No module named 'pydantic'\n")
    assert await sandbox.self_test() == ""


def test_programs_of_two_agents_run_as_two_users_where_root_starts_them() -> None:
    one, other = user_for("0ada"), user_for("0bob")
    assert (one != other, one is not None) == (os.geteuid() == 0, os.geteuid() == 0)


async def test_a_data_folder_that_programs_could_read_is_refused() -> None:
    confinement = BubblewrapBackend(data=Path("/usr/share/signoff"), file_bytes=1_000)
    assert (
        await confinement.find_missing()
        == "/usr/share/signoff lies in /usr, which programs can read. Move it elsewhere."
    )


async def test_no_python_for_programs_is_told(tmp_path: Path) -> None:
    confinement = BubblewrapBackend(data=tmp_path, file_bytes=1_000, interpreter=None)
    assert await confinement.find_missing() == "there is no Python that programs could run on. Install python3."


@pytest.mark.slow
def test_a_machine_that_forbids_namespaces_is_told_and_what_allows_them(tmp_path: Path) -> None:
    need(*SANDBOX)
    forbidding = ["bwrap", "--dev-bind", "/", "/", "--cap-drop", "CAP_SYS_ADMIN", "--die-with-parent"]
    forbidding += ["--unshare-user", "--disable-userns"] if os.geteuid() else []
    done = subprocess.run(
        [*forbidding, "--", sys.executable, "-c", SELF_TEST, str(tmp_path)],
        cwd=ROOT_OF_PROJECT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.stdout.startswith("The sandbox could not be started: bwrap: Creating new na")
    assert "Allow namespaces: on Ubuntu sysctl" in done.stdout


@pytest.fixture
def bin_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PATH", docker.install(tmp_path / "bin", runtimes="runc runsc", images=(IMAGE,)))
    return tmp_path / "bin"


@pytest.mark.slow
async def test_docker_is_asked_to_shut_programs_in(bin_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-bot")
    data = bin_folder.parent
    sandbox = docker_sandbox(FolderWorkspaces(data / "workspaces"), SystemClock(), data)
    assert await sandbox.backend.find_missing() == ""
    await sandbox.run(("true",), ADA, seconds=LONG)
    options = docker.recorded_lines(bin_folder)[-1]
    user = user_for("0ada") or os.getuid()
    assert options[0] == "run"
    for wanted in (
        ["--rm"],
        ["--runtime", "runsc"],
        ["--network", "none"],
        ["--read-only"],
        ["--cap-drop", "ALL"],
        ["--security-opt", "no-new-privileges"],
        ["--user", f"{user}:{user}"] if os.geteuid() == 0 else ["--user", f"{user}:{os.getgid()}"],
        ["--pids-limit", "64"],
        ["--memory", "1500000000"],
        ["--memory-swap", "1500000000"],
        ["--log-driver", "none"],
        ["--pull", "never"],
        ["--volume", f"{data}/workspaces/0ada:/workspace:rw"],
        [IMAGE, "timeout", "-s", "KILL", "3660", "true"],
    ):
        assert any(options[place : place + len(wanted)] == wanted for place in range(len(options))), wanted
    assert "sk-of-the-bot" not in str(options)


@pytest.mark.slow
async def test_what_an_earlier_process_left_in_docker_is_removed(bin_folder: Path) -> None:
    left = await asyncio.create_subprocess_exec("sleep", "1000")
    (bin_folder / "signoff-left.pid").write_text(str(left.pid))
    await DockerBackend(data=bin_folder, file_bytes=1_000).find_missing()
    assert await asyncio.wait_for(left.wait(), PATIENCE_SECONDS) == -9


@pytest.mark.slow
@pytest.mark.proves("workers:many")
async def test_containers_of_another_process_that_is_at_work_stay(bin_folder: Path) -> None:
    ended = f"{own_process().rpartition('/')[0]}/1"  # a process id that the system has used again
    programs = {name: await asyncio.create_subprocess_exec("sleep", "1000") for name in ("mine", "unknown", "ended")}
    for name, who in (("mine", own_process()), ("unknown", ""), ("ended", ended)):
        (bin_folder / f"{name}.pid").write_text(str(programs[name].pid))
        (bin_folder / f"{name}.process").write_text(who)
    await DockerBackend(data=bin_folder, file_bytes=1_000, is_shared=True).find_missing()
    assert await asyncio.wait_for(programs["ended"].wait(), PATIENCE_SECONDS) == -9
    assert [programs[name].returncode for name in ("mine", "unknown")] == [None, None]
    for name in ("mine", "unknown"):
        programs[name].kill()
        await programs[name].wait()


@pytest.mark.slow
async def test_no_docker_no_answer_and_no_image_are_told(tmp_path: Path, bin_folder: Path) -> None:
    found = DockerBackend(data=tmp_path, file_bytes=1_000)
    nowhere = replace(found, environ={"PATH": str(tmp_path / "none")})
    other = replace(found, image="other:1")
    (tmp_path / "broken").mkdir()
    broken = tmp_path / "broken" / "docker"
    broken.write_text("#!/bin/sh\necho Cannot connect to the daemon\nexit 1\n")
    broken.chmod(0o755)
    silent = replace(found, environ={"PATH": f"{broken.parent}:{os.environ['PATH']}"})
    assert [await each.find_missing() for each in (nowhere, silent, other)] == snapshot(
        [
            "docker is not installed. Install Docker, or use bubblewrap.",
            "Docker does not answer: Cannot connect to the daemon. Start it, or use bubblewrap.",
            "Docker has no image other:1. Fetch it: docker pull other:1",
        ]
    )
    assert LIMITS.processes == 64


async def test_a_question_to_docker_that_is_given_up_ends_with_its_program(tmp_path: Path) -> None:
    program, asked = tmp_path / "docker", tmp_path / "asked"
    program.write_text(f"#!/bin/sh\necho $$ > {asked}.new; mv {asked}.new {asked}; exec sleep 1000\n")
    program.chmod(0o755)
    backend = DockerBackend(data=tmp_path, file_bytes=1_000, environ={"PATH": f"{tmp_path}:{os.environ['PATH']}"})
    asking = asyncio.create_task(backend.find_missing())
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not await asyncio.to_thread(asked.exists):
            continue
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    program_id = (await asyncio.to_thread(asked.read_text)).strip()
    assert not await asyncio.to_thread(Path("/proc", program_id).exists)


async def test_a_bubblewrap_that_is_missing_or_too_old_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "bwrap").write_text("#!/bin/sh\necho bubblewrap 0.6.1\n")
    (tmp_path / "bwrap").chmod(0o755)
    monkeypatch.setattr(bwrap_options, "PATHS", f"{tmp_path}:{bwrap_options.PATHS}")
    said = await BubblewrapBackend(data=tmp_path, file_bytes=1_000).find_missing()
    assert said == "bubblewrap 0.6.1 is too old. Install 0.8 or newer, or use Docker."
    monkeypatch.setattr(bwrap_options, "PATHS", str(tmp_path))
    (tmp_path / "bwrap").unlink()
    assert await BubblewrapBackend(data=tmp_path, file_bytes=1_000).find_missing() == (
        f"bwrap is not installed. Install it: {install_command('bubblewrap', 'util-linux', 'coreutils', 'dash')}"
    )


@pytest.mark.parametrize(("sent", "is_escape"), [("", False), ("GET / HTTP/1.1\r\n\r\n" * 9, False), ("nonce", True)])
async def test_only_the_program_that_was_to_try_counts_as_an_escape(sent: str, is_escape: bool) -> None:
    async with Listener() as listener:
        reader, writer = await asyncio.open_connection("127.0.0.1", listener.port)
        writer.write((listener.nonce if sent == "nonce" else sent).encode())
        writer.write_eof()
        async with asyncio.timeout(PATIENCE_SECONDS):
            await reader.read()
        writer.close()
    assert (listener.connections, listener.reached) == (1, is_escape)
