"""Parses untrusted Host and Origin headers and redirect targets, and tells which addresses are private."""

import re
from ipaddress import ip_address
from urllib.parse import urlsplit

LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
HOST = re.compile(r"(?P<name>[A-Za-z0-9._-]{1,253}|\[[0-9A-Fa-f:.]{2,45}\])(?::[0-9]{1,5})?", re.ASCII)
# Printable ASCII without a backslash: browsers read "\" as "/" and leave out tabs and line ends.
LOCAL_PATH = re.compile(r"/(?![/\\])[!-\[\]-~]*", re.ASCII)


def host_name(host: str) -> str:
    """The host name or IP address in a Host header, lower case, without brackets; "" if invalid."""
    found = HOST.fullmatch(host)
    return found["name"].strip("[]").lower() if found else ""


def is_ip_address(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True


def is_private(address: str) -> bool:
    """Whether nobody on the network reads or changes what is sent there: by HTTPS, or on this machine."""
    parts = urlsplit(address)
    return bool(parts.hostname) and (parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in LOOPBACK))


def origin_host(origin: str) -> str:
    """Host and port of an Origin header; "" if invalid."""
    try:
        return urlsplit(origin).netloc
    except ValueError:
        return ""


def local_path(path: str) -> str:
    """The path if every browser reads it as a path of this site, else `/`; this prevents open redirects."""
    return path if LOCAL_PATH.fullmatch(path) else "/"
