"""Builds the seccomp filter (classic BPF) of sandboxed programs, from tables of the system calls that fail.

These are calls that could change privileges, inspect other processes, use memory or disk that no limit counts, or
bypass namespaces (key rings belong to users, vsock to the machine). The filter also refuses to set set-id bits: other
accounts of the machine could run such a file with its owner's rights.
"""

import platform
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

# linux/filter.h and linux/seccomp.h
LOAD, EQUAL, GREATER_OR_EQUAL, ANY_BIT, RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
ALLOW, KILL_PROCESS, FAIL_WITH = 0x7FFF0000, 0x80000000, 0x00050000
SUCCESS, EPERM, ENOSYS, EOPNOTSUPP, EAFNOSUPPORT = 0, 1, 38, 95, 97
NUMBER, ARCHITECTURE, FIRST, SECOND, THIRD, FOURTH = 0, 4, 16, 24, 32, 40
SET_ID_BITS = 0o6000  # S_ISUID and S_ISGID of linux/stat.h
CREATING = 0x400040  # O_CREAT and O_TMPFILE's own bit: only with one of them open(2) uses the mode
SOCKET_LEVEL, AF_UNIX = 1, 1
BUFFER_SIZES = (7, 8, 32, 33)  # SO_SNDBUF, SO_RCVBUF and their …FORCE of asm-generic/socket.h
NEW_NAMESPACES = 0x7E020000  # every CLONE_NEW… of linux/sched.h
FAMILIES = (1, 2, 10)  # AF_UNIX, AF_INET, AF_INET6
TERMINAL_INPUT = (0x5412, 0x541C)  # TIOCSTI, TIOCLINUX
RESERVATIONS = (0x40305828, 0x4030582A, 0x40305839)  # FS_IOC_RESVSP, FS_IOC_RESVSP64, FS_IOC_ZERO_RANGE
X32_NUMBERS = 0x40000000  # x32 on x86_64

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
# Programs fall back to other calls if these fail with ENOSYS.
ABSENT: Mapping[str, tuple[int, int]] = {
    "io_uring_setup": (425, 425), "io_uring_enter": (426, 426), "io_uring_register": (427, 427),
    "clone3": (435, 435), "memfd_create": (319, 279), "memfd_secret": (447, 447),
    "openat2": (437, 437),  # seccomp cannot read its mode, which is in memory
}  # fmt: skip
# Extended attributes are not part of the counted file size; programs cope, since many file systems lack them.
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
# Calls that open a file, whose mode counts only if they create it: the arguments with the flags and the mode.
OPENS: Mapping[str, tuple[tuple[int, int | None], int, int]] = {
    "open": ((2, None), SECOND, THIRD), "openat": ((257, 56), THIRD, FOURTH),
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Architecture:
    """System call numbers of a processor architecture. `column`: the index of its number in the tables above."""

    audit: int
    column: Literal[0, 1]
    clone: int
    ioctl: int
    socket: int
    socketpair: int
    setsockopt: int
    fallocate: int


ARCHITECTURES = {
    "x86_64": Architecture(
        audit=0xC000003E, column=0, clone=56, ioctl=16, socket=41, socketpair=53, setsockopt=54, fallocate=285
    ),
    "aarch64": Architecture(
        audit=0xC00000B7, column=1, clone=220, ioctl=29, socket=198, socketpair=199, setsockopt=208, fallocate=47
    ),
}


def build_filter(machine: str = "") -> bytes | None:
    """The filter for an architecture, by default this machine's; None for an unknown architecture."""
    known = ARCHITECTURES.get(machine or platform.machine())
    return b"".join(_instructions(known)) if known else None


def _instructions(machine: Architecture) -> Iterator[bytes]:
    yield _instruction(LOAD, ARCHITECTURE)
    yield _instruction(EQUAL, machine.audit, 1, 0)
    yield _instruction(RETURN, KILL_PROCESS)
    yield _instruction(LOAD, NUMBER)
    yield from _fail_if(GREATER_OR_EQUAL, X32_NUMBERS, ENOSYS)
    for calls, error in ((REFUSED, EPERM), (ABSENT, ENOSYS), (UNSUPPORTED, EOPNOTSUPP)):
        for numbers in calls.values():
            yield from _fail_if(EQUAL, numbers[machine.column], error)
    yield from _check_argument(machine.clone, FIRST, [*_fail_if(ANY_BIT, NEW_NAMESPACES, EPERM)])
    inputs = [line for call in TERMINAL_INPUT for line in _fail_if(EQUAL, call, EPERM)]
    sizes = [line for call in RESERVATIONS for line in _fail_if(EQUAL, call, EOPNOTSUPP)]
    yield from _check_argument(machine.ioctl, SECOND, [*inputs, *sizes])
    # Its other modes allocate disk blocks beyond the file's size, where no size limit applies.
    yield from _check_argument(machine.fallocate, SECOND, [*_fail_if(GREATER_OR_EQUAL, 1, EOPNOTSUPP)])
    families = [
        line for family in FAMILIES for line in (_instruction(EQUAL, family, 0, 1), _instruction(RETURN, ALLOW))
    ]
    yield from _check_argument(machine.socket, FIRST, [*families, _instruction(RETURN, FAIL_WITH | EAFNOSUPPORT)])
    pairs = [_instruction(EQUAL, AF_UNIX, 1, 0), _instruction(RETURN, FAIL_WITH | EAFNOSUPPORT)]
    yield from _check_argument(machine.socketpair, FIRST, pairs)
    yield from _check_argument(machine.setsockopt, FIRST, [*_ignore_buffer_sizes()])
    yield from _refuse_set_id_bits(machine)
    yield _instruction(RETURN, ALLOW)


def _ignore_buffer_sizes() -> Iterator[bytes]:
    """Make changes of socket buffer sizes succeed without effect.

    Each socket then holds at most the system's default, so that the number of sockets bounds their memory.
    """
    names = [line for name in BUFFER_SIZES for line in _fail_if(EQUAL, name, SUCCESS)]
    yield _instruction(EQUAL, SOCKET_LEVEL, 0, len(names) + 1)
    yield _instruction(LOAD, SECOND)
    yield from names


def _refuse_set_id_bits(machine: Architecture) -> Iterator[bytes]:
    refusal = [*_fail_if(ANY_BIT, SET_ID_BITS, EPERM)]
    for numbers, mode in MODES.values():
        if (number := numbers[machine.column]) is not None:
            yield from _check_argument(number, mode, refusal)
    for numbers, flags, mode in OPENS.values():
        if (number := numbers[machine.column]) is not None:
            mode_check = [_instruction(LOAD, mode), *refusal]
            yield from _check_argument(
                number, flags, [_instruction(ANY_BIT, CREATING, 0, len(mode_check)), *mode_check]
            )


def _fail_if(test: int, value: int, error: int) -> Iterator[bytes]:
    """Instructions: if the loaded value passes the test, fail the call with the error."""
    yield _instruction(test, value, 0, 1)
    yield _instruction(RETURN, FAIL_WITH | error)


def _check_argument(call: int, argument: int, tests: list[bytes]) -> Iterator[bytes]:
    """Instructions: for this system call, run tests on one argument; allow the call if no test matches."""
    yield _instruction(EQUAL, call, 0, len(tests) + 2)
    yield _instruction(LOAD, argument)
    yield from tests
    yield _instruction(RETURN, ALLOW)


def _instruction(code: int, value: int, jump_true: int = 0, jump_false: int = 0) -> bytes:
    return struct.pack("<HBBI", code, jump_true, jump_false, value)
