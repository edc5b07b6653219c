"""Which calls of the kernel a program in the sandbox may not make, as a filter of classic BPF that bubblewrap loads.

Refused is what could give other rights, look into other programs, keep memory or disk where no limit counts it, or
reach past namespaces: key rings belong to users and vsock to the machine, whatever namespace one is in. Set-id bits on
files are refused because other accounts of the machine could run such a file with its owner's rights.
"""

import platform
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

# linux/filter.h and linux/seccomp.h
LOAD, EQUAL, AT_LEAST, ANY_BIT, GIVE = 0x20, 0x15, 0x35, 0x45, 0x06
ALLOW, KILL, FAIL = 0x7FFF0000, 0x80000000, 0x00050000
SUCCESS, EPERM, ENOSYS, EOPNOTSUPP, EAFNOSUPPORT = 0, 1, 38, 95, 97
NUMBER, ARCHITECTURE, FIRST, SECOND, THIRD, FOURTH = 0, 4, 16, 24, 32, 40
SET_ID_BITS = 0o6000  # S_ISUID and S_ISGID of linux/stat.h
CREATING = 0x400040  # O_CREAT and the own bit of O_TMPFILE: without one of them open(2) takes no mode
SOCKET_LEVEL, AF_UNIX = 1, 1
BUFFER_SIZES = (7, 8, 32, 33)  # SO_SNDBUF, SO_RCVBUF and their …FORCE of asm-generic/socket.h
NEW_NAMESPACES = 0x7E020000  # every CLONE_NEW… of linux/sched.h
FAMILIES = (1, 2, 10)  # AF_UNIX, AF_INET, AF_INET6
TERMINAL_INPUT = (0x5412, 0x541C)  # TIOCSTI, TIOCLINUX
RESERVATIONS = (0x40305828, 0x4030582A, 0x40305839)  # FS_IOC_RESVSP, FS_IOC_RESVSP64, FS_IOC_ZERO_RANGE
FOREIGN_NUMBERS = 0x40000000  # x32 on x86_64

# asm/unistd_64.h and asm-generic/unistd.h: name: (number on x86_64, number on aarch64)
REFUSED: Mapping[str, tuple[int, int]] = {
    "add_key": (248, 217), "request_key": (249, 218), "keyctl": (250, 219), "ptrace": (101, 117),
    "process_vm_readv": (310, 270), "process_vm_writev": (311, 271), "kcmp": (312, 272), "pidfd_getfd": (438, 438),
    "process_madvise": (440, 440), "unshare": (272, 97), "setns": (308, 268), "mount": (165, 40),
    "umount2": (166, 39), "pivot_root": (155, 41), "chroot": (161, 51), "open_tree": (428, 428),
    "move_mount": (429, 429), "fsopen": (430, 430), "fsconfig": (431, 431), "fsmount": (432, 432),
    "fspick": (433, 433), "mount_setattr": (442, 442), "name_to_handle_at": (303, 264),
    "open_by_handle_at": (304, 265), "bpf": (321, 280), "perf_event_open": (298, 241), "userfaultfd": (323, 282),
    "fanotify_init": (300, 262), "kexec_load": (246, 104), "kexec_file_load": (320, 294), "init_module": (175, 105),
    "finit_module": (313, 273), "delete_module": (176, 106), "swapon": (167, 224), "swapoff": (168, 225),
    "reboot": (169, 142), "acct": (163, 89), "syslog": (103, 116), "quotactl": (179, 60), "quotactl_fd": (443, 443),
    "shmget": (29, 194), "msgget": (68, 186),
}  # fmt: skip
# Programs that would use these go on without them when they are told that there is no such call.
ABSENT: Mapping[str, tuple[int, int]] = {
    "io_uring_setup": (425, 425), "io_uring_enter": (426, 426), "io_uring_register": (427, 427),
    "clone3": (435, 435), "memfd_create": (319, 279), "memfd_secret": (447, 447),
    "openat2": (437, 437),  # its mode is in memory, where no filter can look
}  # fmt: skip
# What is stored beside a file's content belongs to no size that is counted, and many file systems know nothing of it.
UNSUPPORTED: Mapping[str, tuple[int, int]] = {
    "setxattr": (188, 5), "lsetxattr": (189, 6), "fsetxattr": (190, 7), "setxattrat": (463, 463),
}  # fmt: skip
# Calls that give a file its mode: (number on x86_64, number on aarch64) and the argument that holds the mode. A file
# with a set-id bit would give its owner's rights to every account of the machine that runs it.
MODES: Mapping[str, tuple[tuple[int, int | None], int]] = {
    "chmod": ((90, None), SECOND), "fchmod": ((91, 52), SECOND), "fchmodat": ((268, 53), THIRD),
    "fchmodat2": ((452, 452), THIRD), "mknod": ((133, None), SECOND), "mknodat": ((259, 33), THIRD),
    "creat": ((85, None), SECOND),
}  # fmt: skip
# Those that open a file, whose mode counts only where they make one: the arguments with the flags and with the mode.
OPENS: Mapping[str, tuple[tuple[int, int | None], int, int]] = {
    "open": ((2, None), SECOND, THIRD), "openat": ((257, 56), THIRD, FOURTH),
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """How a kind of processor spells its calls: `column` is where the tables above hold its numbers."""

    audit: int
    column: Literal[0, 1]
    clone: int
    ioctl: int
    socket: int
    socketpair: int
    setsockopt: int
    fallocate: int


MACHINES = {
    "x86_64": Machine(
        audit=0xC000003E, column=0, clone=56, ioctl=16, socket=41, socketpair=53, setsockopt=54, fallocate=285
    ),
    "aarch64": Machine(
        audit=0xC00000B7, column=1, clone=220, ioctl=29, socket=198, socketpair=199, setsockopt=208, fallocate=47
    ),
}


def filtered(machine: str = "") -> bytes | None:
    """The filter for this kind of processor, or for that of this machine; None where none is known."""
    known = MACHINES.get(machine or platform.machine())
    return b"".join(_lines(known)) if known else None


def _lines(machine: Machine) -> Iterator[bytes]:
    yield _line(LOAD, ARCHITECTURE)
    yield _line(EQUAL, machine.audit, 1, 0)
    yield _line(GIVE, KILL)
    yield _line(LOAD, NUMBER)
    yield from _answer(AT_LEAST, FOREIGN_NUMBERS, ENOSYS)
    for calls, error in ((REFUSED, EPERM), (ABSENT, ENOSYS), (UNSUPPORTED, EOPNOTSUPP)):
        for numbers in calls.values():
            yield from _answer(EQUAL, numbers[machine.column], error)
    yield from _looked_into(machine.clone, FIRST, [*_answer(ANY_BIT, NEW_NAMESPACES, EPERM)])
    inputs = [line for call in TERMINAL_INPUT for line in _answer(EQUAL, call, EPERM)]
    sizes = [line for call in RESERVATIONS for line in _answer(EQUAL, call, EOPNOTSUPP)]
    yield from _looked_into(machine.ioctl, SECOND, [*inputs, *sizes])
    # Its other modes take blocks of the disk beyond a file's size, which no limit on sizes holds back.
    yield from _looked_into(machine.fallocate, SECOND, [*_answer(AT_LEAST, 1, EOPNOTSUPP)])
    families = [line for family in FAMILIES for line in (_line(EQUAL, family, 0, 1), _line(GIVE, ALLOW))]
    yield from _looked_into(machine.socket, FIRST, [*families, _line(GIVE, FAIL | EAFNOSUPPORT)])
    pairs = [_line(EQUAL, AF_UNIX, 1, 0), _line(GIVE, FAIL | EAFNOSUPPORT)]
    yield from _looked_into(machine.socketpair, FIRST, pairs)
    yield from _looked_into(machine.setsockopt, FIRST, [*_fixed_buffer_sizes()])
    yield from _set_id_bits_refused(machine)
    yield _line(GIVE, ALLOW)


def _fixed_buffer_sizes() -> Iterator[bytes]:
    """A changed size of a socket's buffers is ignored, as the kernel ignores what is beyond its own maximum.

    So each socket holds at most what the machine's default says, and counting sockets bounds their memory.
    """
    names = [line for name in BUFFER_SIZES for line in _answer(EQUAL, name, SUCCESS)]
    yield _line(EQUAL, SOCKET_LEVEL, 0, len(names) + 1)
    yield _line(LOAD, SECOND)
    yield from names


def _set_id_bits_refused(machine: Machine) -> Iterator[bytes]:
    refusal = [*_answer(ANY_BIT, SET_ID_BITS, EPERM)]
    for numbers, mode in MODES.values():
        if (number := numbers[machine.column]) is not None:
            yield from _looked_into(number, mode, refusal)
    for numbers, flags, mode in OPENS.values():
        if (number := numbers[machine.column]) is not None:
            made = [_line(LOAD, mode), *refusal]
            yield from _looked_into(number, flags, [_line(ANY_BIT, CREATING, 0, len(made)), *made])


def _answer(test: int, value: int, error: int) -> Iterator[bytes]:
    """Where what is loaded passes the test, the call fails with the error."""
    yield _line(test, value, 0, 1)
    yield _line(GIVE, FAIL | error)


def _looked_into(call: int, argument: int, tests: list[bytes]) -> Iterator[bytes]:
    """Where it is that call, its argument is tested, and what passes no test is allowed."""
    yield _line(EQUAL, call, 0, len(tests) + 2)
    yield _line(LOAD, argument)
    yield from tests
    yield _line(GIVE, ALLOW)


def _line(code: int, value: int, if_so: int = 0, if_not: int = 0) -> bytes:
    return struct.pack("<HBBI", code, if_so, if_not, value)
