"""What runs in a browser's confinement before the browser: it hands out the way to the proxy and becomes the browser.

    python -I -c THIS HANDOVER PORT PROGRAM ARGUMENTS…

The network in there is empty. This listens on the port at its loopback and hands the listening socket to Signoff by the
Unix socket HANDOVER, once. Connections to that port are then Signoff's to answer, and there is no other way out.
"""

import ctypes
import os
import socket
import sys

NEW_USER_NAMESPACE = 0x10000000  # linux/sched.h
PROFILE = "--user-data-dir="


def hand_over(path: str, port: int) -> None:
    """Give a socket that listens on the port away, and wait until it has been taken."""
    with socket.create_server(("127.0.0.1", port)) as listening, socket.socket(socket.AF_UNIX) as taker:
        taker.connect(path)
        socket.send_fds(taker, [b"."], [listening.fileno()])
        if not taker.recv(1):
            sys.exit("nobody took the socket")


def can_confine() -> bool:
    """Whether this user may make user namespaces, which the browser's own sandbox is made of."""
    if child := os.fork():
        return os.waitpid(child, 0)[1] == 0
    os._exit(0 if ctypes.CDLL(None).unshare(NEW_USER_NAMESPACE) == 0 else 1)


def arguments_for(given: list[str], *, own_sandbox: bool) -> list[str]:
    """The browser's arguments: its profile is kept in memory, and its own sandbox is used where it can be."""
    kept = [f"{PROFILE}/tmp/profile" if each.startswith(PROFILE) else each for each in given]  # noqa: S108
    return kept if own_sandbox else [*kept, "--no-sandbox"]


def main() -> None:
    """Become the browser."""
    path, port, program, *given = sys.argv[1:]
    hand_over(path, int(port))
    os.execv(program, [program, *arguments_for(given, own_sandbox=can_confine())])  # noqa: S606


if __name__ == "__main__":
    main()
