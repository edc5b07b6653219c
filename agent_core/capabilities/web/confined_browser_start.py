"""Program inside the browser's confinement: hands a listening socket to Signoff, then executes the browser.

    python -I -c THIS HANDOVER PORT PROGRAM ARGUMENTS…

The network namespace is empty. This program listens on PORT of loopback and sends the listening socket over the Unix
socket HANDOVER. Signoff's egress proxy answers connections to it; there is no other network access.
"""

import ctypes
import os
import socket
import sys

NEW_USER_NAMESPACE = 0x10000000  # linux/sched.h
PROFILE = "--user-data-dir="


def hand_over(path: str, port: int) -> None:
    """Listen on the port, send the socket to Signoff and wait for the acknowledgement."""
    with socket.create_server(("127.0.0.1", port)) as listening, socket.socket(socket.AF_UNIX) as signoff:
        signoff.connect(path)
        socket.send_fds(signoff, [b"."], [listening.fileno()])
        if not signoff.recv(1):
            sys.exit("Signoff did not acknowledge the socket")


def can_confine() -> bool:
    """Whether this user can create user namespaces, which Chromium's sandbox needs."""
    if child := os.fork():
        return os.waitpid(child, 0)[1] == 0
    os._exit(0 if ctypes.CDLL(None).unshare(NEW_USER_NAMESPACE) == 0 else 1)


def arguments_for(given: list[str], *, own_sandbox: bool) -> list[str]:
    """The browser's arguments with its profile in `/tmp`, plus --no-sandbox unless its own sandbox can be used."""
    arguments = [f"{PROFILE}/tmp/profile" if each.startswith(PROFILE) else each for each in given]  # noqa: S108
    return arguments if own_sandbox else [*arguments, "--no-sandbox"]


def main() -> None:
    path, port, program, *given = sys.argv[1:]
    hand_over(path, int(port))
    os.execv(program, [program, *arguments_for(given, own_sandbox=can_confine())])  # noqa: S606


if __name__ == "__main__":
    main()
