"""Attacks of programs in the sandbox of bubblewrap: each is really made, and answered by the kernel or by a limit."""

import ast
import os
import platform
import signal
import socket
from pathlib import Path

import pytest

from agent_core.capabilities.programs.sandbox_self_test import Listener
from agent_core.providers.confinement.resource_use import ProcessTree
from agent_core.providers.confinement.seccomp import ARCHITECTURES
from agent_core.providers.confinement.seccomp import REFUSED as REFUSED_CALLS
from tests.attacks.rows import attack
from tests.attacks.sandboxes import LONG, Cell

ABSENT, DENIED, REFUSED = "No such file or directory", "Permission denied", "Operation not permitted"
NO_CALL, NO_FAMILY = "Function not implemented", "Address family not supported by protocol"


READING = [
    ("open('/etc/shadow').read()", "Reading password hashes in /etc/shadow", ABSENT),
    ("open(given['database']).read()", "Reading the bot's database by its path", ABSENT),
    ("os.listdir('/workspace/../0bob')", "Listing another agent's workspace", ABSENT),
    ("os.listdir(given['workspaces'])", "Listing the folder of all workspaces", ABSENT),
    ("open(f'/proc/{given[\"bot\"]}/environ').read()", "Reading the environment of the bot's own process", ABSENT),
    ("open(f'/proc/{given[\"bot\"]}/mem', 'rb').read(1)", "Reading the memory of the bot's process", ABSENT),
    ("open(os.path.expanduser('~/.ssh/id_rsa')).read()", "Reading SSH keys in the home folder", ABSENT),
    ("os.listdir('/sys')", "Reading /sys", ABSENT),
    (
        "[path for path in ('/proc/kcore', '/dev/mem', '/dev/kmem', '/dev/port') if os.access(path, os.R_OK)]",
        "Reading all memory in /proc/kcore or /dev/mem",
        "[]",
    ),
    ("called(libc.klogctl(3, ctypes.create_string_buffer(99), 99))", "Reading the kernel's log", REFUSED),
    (
        "[path for path in '/root /home /var /run /opt /srv /mnt /boot /sys'.split() if os.path.exists(path)]",
        "Looking for home folders, /var, /run, /opt, /srv, /mnt, /boot",
        "[]",
    ),
    (
        "os.path.isdir('/usr/src') and os.listdir('/usr/src') or []",
        "Looking for settings of programs in /usr/src",
        "[]",
    ),
    (
        "[path for path in ('/usr/etc', '/usr/local/etc', '/usr/local/src') if os.path.isdir(path) "
        "and not (os.path.ismount(path) and os.listdir(path) == [])]",
        "Looking for the machine's settings in /usr/etc and /usr/local/etc",
        "[]",
    ),
]

NETWORK = [
    (
        "socket.create_connection(('169.254.169.254', 80))",
        "Connecting to the cloud's metadata service",
        "Network is unreachable",
    ),
    (
        "socket.socket(type=socket.SOCK_DGRAM).sendto(b'?', ('9.9.9.9', 53))",
        "Sending a DNS query",
        "Network is unreachable",
    ),
    ("socket.socket(socket.AF_INET, socket.SOCK_RAW, 1)", "Opening a raw socket", REFUSED),
    ("socket.socket(socket.AF_PACKET, socket.SOCK_RAW)", "Sniffing the network with AF_PACKET", NO_FAMILY),
    ("socket.socket(40, socket.SOCK_STREAM)", "Connecting to the host of a virtual machine by vsock", NO_FAMILY),
    ("socket.socket(16, socket.SOCK_RAW)", "Opening a netlink socket", NO_FAMILY),
    (
        "socket.socket(socket.AF_UNIX).connect('/var/run/docker.sock')",
        "Connecting to Docker's socket",
        ABSENT,
    ),
]

RIGHTS = [
    ("called(libc.unshare(0x10000000))", "Making a user namespace in the sandbox", REFUSED),
    ("called(libc.syscall(given['clone'], 0x10000000 | 17, 0, 0, 0, 0))", "Making one with clone", REFUSED),
    ("called(libc.syscall(435, 0, 0))", "Making one with clone3", NO_CALL),
    ("called(libc.mount(b'tmpfs', b'/tmp', b'tmpfs', 0, None))", "Mounting a file system", REFUSED),
    ("called(libc.ptrace(16, 1, 0, 0))", "Tracing another process", REFUSED),
    ("called(libc.syscall(given['keyctl'], 0, -3, 1))", "Using the session's key ring", REFUSED),
    ("called(libc.syscall(given['bpf'], 0, 0, 0))", "Loading a program into the kernel with bpf", REFUSED),
    ("called(libc.syscall(425, 8, 0))", "Bypassing seccomp with io_uring", NO_CALL),
    ("called(libc.shmget(0, 1 << 30, 0o1600))", "Allocating memory outside the limits in SysV segments", REFUSED),
    ("called(libc.memfd_create(b'hidden', 0))", "Allocating memory outside the limits in a memfd", NO_CALL),
    ("fcntl.ioctl(0, 0x5412, b'x')", "Injecting input into the operator's terminal with TIOCSTI", REFUSED),
    ("open('/dev/tty')", "Opening the operator's terminal", "No such device or address"),
    ("os.mknod('disk', stat.S_IFBLK | 0o666, os.makedev(8, 0))", "Making a device file for the disk", REFUSED),
    ("time.clock_settime(time.CLOCK_REALTIME, 0)", "Setting the machine's clock", REFUSED),
    ("socket.sethostname('mine')", "Renaming the machine", REFUSED),
    ("os.nice(-30)", "Raising its CPU priority", REFUSED),
    (
        "resource.setrlimit(resource.RLIMIT_NPROC, (9999, 9999))",
        "Raising its own resource limits",
        "not allowed to raise maximum limit",
    ),
    ("os.kill(given['bot'], 9)", "Killing the bot", "No such process"),
    ("open('/usr/bin/env', 'ab')", "Writing to a system program", DENIED),
    ("open('/usr/bin/mine', 'x')", "Adding a system program", "Read-only file system"),
    ("open('/dev/mine', 'x')", "Filling memory through /dev", "Read-only file system"),
    ("open('/mine', 'x')", "Filling memory through /", "Read-only file system"),
    ("os.rename('/workspace', '/tmp/workspace')", "Moving the workspace away", "Invalid cross-device link"),
    ("os.link('/usr/bin/env', 'env')", "Hard-linking a system file into the workspace", "Invalid cross-device link"),
]

TAKING = [
    ("bytearray(400_000_000)", "Allocating more memory than one process may use", "MemoryError"),
    (
        "[open(f'/tmp/{n}', 'wb').write(bytes(190_000)) for n in range(99)]",
        "Filling /tmp, which is in memory",
        "No space left on device",
    ),
    (
        "[open(f'/dev/shm/{n}', 'wb').write(bytes(190_000)) for n in range(99)]",
        "Filling /dev/shm, which is in memory",
        "No space left on device",
    ),
    (
        "open('big', 'wb').write(bytes(300_000)) and open('big', 'ab').write(b'more')",
        "Writing a file that is too long",
        "File too large",
    ),
    ("open('hole', 'wb').truncate(10**12)", "Making a sparse file of a terabyte", "File too large"),
    (
        "called(libc.fallocate(os.open('kept', os.O_CREAT | os.O_RDWR), 1, ctypes.c_long(0), ctypes.c_long(10**9)))",
        "Reserving a gigabyte of disk for an empty file",
        "Operation not supported",
    ),
    (
        "fcntl.ioctl(os.open('x', os.O_CREAT | os.O_RDWR), 0x4030582A, struct.pack('hhqqi20x', 0, 0, 0, 10**9, 0))",
        "Reserving it with the older ioctl",
        "Operation not supported",
    ),
    (
        "open('x', 'x') and os.setxattr('x', 'user.more', bytes(4000))",
        "Storing data in extended attributes, which no file size includes",
        "Operation not supported",
    ),
    ("[os.open('/dev/null', 0) for _ in range(9999)]", "Opening files endlessly", "Too many open files"),
]

# Python at the level of a module: what ends it is a limit, and the answer says which.
ENDED = [
    ("while True: print('y' * 1000)", "Printing endlessly", "it printed more than 200,000 bytes"),
    ("while True: pass", "Using the processor endlessly", "it used more than 2 seconds of processor time"),
    (
        "while True: time.sleep(99)",
        "Waiting endlessly",
        "it ran for more than 1 seconds",
    ),
    (
        "for number in range(1, 65):\n"
        "    if number not in (9, 19, 32, 33): signal.signal(number, signal.SIG_IGN)\n"
        "while True: time.sleep(99)",
        "Ignoring every signal that can be ignored",
        "it ran for more than 1 seconds",
    ),
    (
        "for _ in range(8):\n    if not os.fork(): kept = b'x' * 60_000_000; time.sleep(99)\nos.wait()",
        "Taking memory in many processes",
        "it took more than 300,000,000 bytes of memory",
    ),
    (
        "for _ in range(2):\n"
        "    if not os.fork(): shared = mmap.mmap(-1, 200_000_000); [shared.write(bytes(10**6)) for _ in range(200)]; "
        "time.sleep(99)\n"
        "os.wait()",
        "Taking memory that processes share",
        "it took more than 300,000,000 bytes of memory",
    ),
    (
        "pairs = []\nfor _ in range(5):\n"
        "    if not os.fork():\n"
        "        for _ in range(110):\n"
        "            pairs += socket.socketpair()\n"
        "            for end in pairs[-2:]: end.setblocking(False); end.send(bytes(150_000))\n"
        "        time.sleep(99)\n"
        "os.wait()",
        "Taking memory in the buffers of sockets",
        "it took more than 300,000,000 bytes of memory",
    ),
    (
        "heard, kept = socket.create_server(('127.0.0.1', 0)), []\n"
        "while len(kept) < 240:\n"
        "    kept += [socket.create_connection(heard.getsockname()), heard.accept()[0]]\n"
        "    kept[-2].setblocking(False)\n"
        "    try:\n"
        "        while True: kept[-2].send(bytes(100_000))\n"
        "    except BlockingIOError: pass\n"
        "time.sleep(99)",
        "Taking memory in the buffers of connections to itself",
        "it took more than 300,000,000 bytes of memory",
    ),
    (
        "for number in range(300): open(f'/tmp/{number}', 'x')\ntime.sleep(99)",
        "Filling memory with empty files in /tmp",
        "it made more than 200 files in /tmp or /dev/shm",
    ),
    (
        "for number in range(9999): open(str(number), 'x')",
        "Filling the disk with small files",
        "its workspace came to hold more than 100 files",
    ),
    (
        "for number in range(99): open(str(number), 'wb').write(bytes(190_000))",
        "Filling the disk with files within the size limit",
        "its workspace came to hold more than 2,000,000 bytes",
    ),
    (
        "held = []\nfor number in range(60):\n"
        "    held.append(open(str(number), 'wb')); held[-1].write(bytes(190_000)); os.unlink(str(number))\n"
        "time.sleep(99)",
        "Filling the disk with files that are deleted and held open",
        "it held more than 40 files open that it had deleted",
    ),
    (
        "for number in range(60):\n"
        "    held = os.open(str(number), os.O_CREAT | os.O_RDWR); os.truncate(held, 190_000); os.unlink(str(number))\n"
        "    kept = libc.mmap(None, 4096, 3, 1, held, ctypes.c_long(0)); os.close(held)\n"
        "time.sleep(99)",
        "Filling the disk with files that are deleted and mapped to memory",
        "it held more than 40 files open that it had deleted",
    ),
    (
        "for number in range(9999): os.symlink('x', str(number))",
        "Making thousands of symlinks",
        "its workspace came to hold more than 300 entries",
    ),
    (
        "for number in range(100): os.mkdir('d'); os.chdir('d')",
        "Nesting folders 100 levels deep",
        "the folders of its workspace came to lie more than 64 deep",
    ),
]


IMPORTS = "import ctypes, mmap, os, signal, socket, time; libc = ctypes.CDLL(None)"


def rows(attacks: list[tuple[str, str, str]]) -> list[object]:
    return [pytest.param(code, id=tries, marks=attack("sandbox", tries, answer)) for code, tries, answer in attacks]


@pytest.mark.slow
@pytest.mark.parametrize("code", rows(READING + NETWORK + RIGHTS + TAKING))
async def test_what_is_tried_is_refused(cell: Cell, code: str, answer: str) -> None:
    machine = ARCHITECTURES[platform.machine()]
    given = {
        "database": str(cell.data / "signoff.db"),
        "workspaces": str(cell.data / "workspaces"),
        "bot": os.getpid(),
        "clone": machine.clone,
        "keyctl": REFUSED_CALLS["keyctl"][machine.column],
        "bpf": REFUSED_CALLS["bpf"][machine.column],
    }
    run = await cell.attempt(f"return {code}", **given)
    assert run.output.strip() == answer


@pytest.mark.slow
@pytest.mark.parametrize("code", rows(ENDED))
async def test_what_knows_no_end_is_ended(cell: Cell, code: str, answer: str) -> None:
    seconds = 1.0 if "ran for" in answer else LONG
    run = await cell.sandbox.run(("python3", "-I", "-c", f"{IMPORTS}\n{code}"), cell.agent, seconds=seconds)
    assert run.ended_because.partition(": the newest")[0] == answer
    held = [entry.path for entry in await cell.files.list_files()]
    assert len(held) <= 100
    await cell.files.write("after.txt", b"the workspace can be used")


@pytest.mark.slow
@attack("sandbox", "Reading the environment of every process", "HOME, LANG, PATH, PWD")
async def test_the_environment_of_the_bot_is_nowhere(cell: Cell, answer: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-bot")
    code = """
        names = set(os.environ)
        for process in filter(str.isdecimal, os.listdir("/proc")):
            try:
                names |= {line.partition("=")[0] for line in open(f"/proc/{process}/environ").read().split(chr(0))}
            except PermissionError:
                pass
        return ", ".join(sorted(filter(None, names)))
    """
    assert (await cell.attempt(code)).output.strip() == answer
    await cell.sandbox.start(("/bin/sh", "-c", "echo up; sleep 1000", cell.token), cell.agent)
    launched = [process for process in ProcessTree.below(os.getpid()).processes if cell.token in words_of(process)]
    assert launched != []
    assert [b"OPENAI_API_KEY" in environment_of(process) for process in launched] == [False] * len(launched)


@pytest.mark.slow
@attack("sandbox", "Sharing a namespace with the bot", "cgroup, ipc, mnt, net, pid, uts are its own")
async def test_every_namespace_is_another_one(cell: Cell, answer: str) -> None:
    kinds = ("cgroup", "ipc", "mnt", "net", "pid", "uts")
    code = "return {kind: os.readlink(f'/proc/self/ns/{kind}') for kind in given['kinds']}"
    inside = ast.literal_eval((await cell.attempt(code, kinds=kinds)).output)
    others = [kind for kind in kinds if inside[kind] != namespace(kind)]
    assert f"{', '.join(others)} are its own" == answer


@pytest.mark.slow
@attack("sandbox", "Reading the workspace's path on the host", "the path is visible, but does not exist in the sandbox")
async def test_the_path_of_the_workspace_can_be_read_and_is_of_no_use(cell: Cell, answer: str) -> None:
    code = """
        lines = open("/proc/self/mountinfo").read().splitlines()
        path = next(line.split()[3] for line in lines if line.split()[4] == "/workspace")
        return f"the path is visible, but {'exists' if os.path.exists(path) else 'does not exist'} in the sandbox"
    """
    assert (await cell.attempt(code)).output.strip() == answer


@pytest.mark.slow
@attack(
    "sandbox", "Using a file descriptor that the bot holds open", "nothing is open but /dev/null and its own output"
)
async def test_no_descriptor_of_the_bot_is_inherited(cell: Cell, answer: str) -> None:
    held = os.open(cell.data / "signoff.db", os.O_RDONLY)
    os.set_inheritable(held, True)
    code = """
        found = set()
        for number in os.listdir("/proc/self/fd"):
            try:
                found.add(os.readlink(f"/proc/self/fd/{number}").partition(":")[0])
            except OSError:
                pass
        return found - {f"/proc/{os.getpid()}/fd"}
    """
    try:
        output = (await cell.attempt(code)).output
    finally:
        os.close(held)
    assert set(ast.literal_eval(output)) == {"/dev/null", "pipe"}, answer


@pytest.mark.slow
@attack("sandbox", "Connecting to a service on the machine's loopback interface", "Connection refused")
async def test_the_loopback_is_another_one(cell: Cell, answer: str) -> None:
    async with Listener() as listener:
        run = await cell.attempt("socket.create_connection(('127.0.0.1', given['port']))", port=listener.port)
        assert (run.output.strip(), listener.connections) == (answer, 0)


@pytest.mark.slow
@attack("sandbox", "Connecting to an abstract Unix socket of the machine", "Connection refused")
async def test_abstract_sockets_are_others(cell: Cell, answer: str) -> None:
    name = f"\0signoff-{os.getpid()}"
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(name)
        listening.listen()
        run = await cell.attempt("socket.socket(socket.AF_UNIX).connect(given['name'])", name=name)
    assert run.output.strip() == answer


@attack("sandbox", "Gaining rights by running a setuid program", "NoNewPrivs 1, no capability left to gain")
async def test_no_right_can_be_gained(cell: Cell, answer: str) -> None:
    code = """
        lines = dict(line.split(":\\t") for line in open("/proc/self/status").read().splitlines() if ":\\t" in line)
        sets = {value.strip("0") for name, value in lines.items() if name.startswith("Cap")}
        return sets, lines["NoNewPrivs"]
    """
    assert (await cell.attempt(code)).output.strip() == "({''}, '1')", answer


@pytest.mark.slow
@attack("sandbox", "Printing terminal escape sequences", "kept as text; invalid UTF-8 is replaced")
async def test_what_is_printed_is_text(cell: Cell, answer: str) -> None:
    run = await cell.attempt(r"os.write(1, b'\x1b]0;mine\x07\xff\xfe\n'); return 'end'")
    assert run.output == "\x1b]0;mine\x07\ufffd\ufffd\nend\n", answer


@pytest.mark.slow
@attack("sandbox", "Killing every process it can reach", "only its own process ends")
async def test_a_program_can_kill_only_itself(cell: Cell, answer: str) -> None:
    run = await cell.attempt("libc.kill(-1, signal.SIGKILL); os.kill(os.getpid(), signal.SIGKILL)")
    assert (run.exit_code, run.ended_because) == (128 + signal.SIGKILL, ""), answer
    assert (await cell.attempt("return 'still there'")).output == "still there\n"


@attack("sandbox", "Making system calls of another architecture (32-bit)", "the program is killed")
@pytest.mark.skipif(platform.machine() != "x86_64", reason="there is another kind only on x86_64")
async def test_calls_by_foreign_numbers_kill(cell: Cell, answer: str) -> None:
    code = """
        import mmap
        page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
        page.write(bytes.fromhex("b814000000cd80c3"))  # mov eax, 20 (getpid of 32 bits); int 0x80; ret
        ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(page)))()
        return "it was answered"
    """
    run = await cell.attempt(code)
    assert (run.exit_code, run.output) == (128 + signal.SIGSYS, ""), answer


def words_of(process: int) -> list[str]:
    """What a process was started with, bubblewrap's own among them."""
    return os.fsdecode(Path(f"/proc/{process}/cmdline").read_bytes()).split("\0")


def environment_of(process: int) -> bytes:
    """The environment it was started with."""
    return Path(f"/proc/{process}/environ").read_bytes()


def namespace(kind: str) -> str:
    """The one that this process is in."""
    return str(Path(f"/proc/self/ns/{kind}").readlink())
