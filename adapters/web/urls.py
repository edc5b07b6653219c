"""Which host a request names, and which address of this site somebody wants to go to. Both are written by strangers."""

import re
from ipaddress import ip_address
from urllib.parse import urlsplit

HOST = re.compile(r"(?P<name>[A-Za-z0-9._-]{1,253}|\[[0-9A-Fa-f:.]{2,45}\])(?::[0-9]{1,5})?", re.ASCII)
# Printable ASCII without a backslash: browsers read "\" as "/" and leave out tabs and line ends.
LOCAL_PATH = re.compile(r"/(?![/\\])[!-\[\]-~]*", re.ASCII)


def host_name(host: str) -> str:
    """The name or address in a Host header, in lower case and without brackets; "" where it is none."""
    found = HOST.fullmatch(host)
    return found["name"].strip("[]").lower() if found else ""


def is_ip_address(name: str) -> bool:
    """Whether a host is an address and no name."""
    try:
        ip_address(name)
    except ValueError:
        return False
    return True


def origin_host(origin: str) -> str:
    """Host and port of an Origin header; "" where it is none."""
    try:
        return urlsplit(origin).netloc
    except ValueError:
        return ""


def local_path(path: str) -> str:
    """The path if it stays on this site however a browser reads it, else the first page."""
    return path if LOCAL_PATH.fullmatch(path) else "/"
