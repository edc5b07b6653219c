"""Reads the file of tool servers, in the form of other MCP clients: programs, addresses, sign-ins, and their secrets.

Errors name the file, the server and the key. Values of `env` and `headers` may be `${NAME}`: a variable of Signoff's
own environment, and nothing else of it is passed on.
"""

import base64
import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import Annotated, Any, NoReturn
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from pydantic import BeforeValidator

from agent_core.capabilities.declaring import Rule, own_words
from agent_core.model.command import RISK_CLASSES
from agent_core.ports.tool_servers import LocalProgram, RemoteAddress, ServerEntry, SignInTerms

SERVER_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,29}", re.ASCII)
VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}", re.ASCII)
SECRET_NAME = re.compile(r"key|token|secret|pass|pwd|auth|credential|cookie|(^|_)pat($|_)", re.IGNORECASE)
VARIABLE_NAME = re.compile(r"[^=\0]+")
HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+", re.ASCII)
NO_HEADER_VALUE = re.compile(r"[^\t\x20-\x7e]")
KEYS = {
    "command", "args", "env", "cwd", "url", "headers", "trusted", "classes", "tools", "exclude", "disabled", "type",
    "oauth", "elicitation",
}  # fmt: skip
KINDS = ("", "stdio", "http", "streamable-http", "streamable_http", "streamableHttp")
SIGN_IN_KEYS = ("client_id", "client_secret", "scope", "port")
MAX_PORT = 65_535
MAX_SERVERS, MAX_FILE_BYTES, MAX_SHOWN_PATH = 50, 1_000_000, 200


@dataclass(frozen=True, slots=True)
class ToolServerFile:
    """The servers of the file. `secrets`: values in it that must never be shown."""

    path: Path
    entries: tuple[ServerEntry, ...] = ()
    secrets: tuple[str, ...] = field(default=(), repr=False)

    @property
    def with_sign_in(self) -> tuple[str, ...]:
        """The names of the servers at which somebody has to sign in."""
        return tuple(
            each.name for each in self.entries if isinstance(each.reached, RemoteAddress) and each.reached.sign_in
        )


class _WrongEntry(ValueError):
    """What is wrong, beginning with the server's name."""


def read_tool_servers(path: Path, environ: Mapping[str, str] = os.environ) -> ToolServerFile:
    """The servers of the file; raise ValueError with a sentence that names the file, the server and the key."""
    try:
        with path.open("rb") as file:
            given = json.loads(file.read(MAX_FILE_BYTES))
    except (OSError, ValueError, RecursionError) as fault:
        why = fault.strerror if isinstance(fault, OSError) else f"it is no JSON{_where(fault)}"
        named = path if len(str(path)) < MAX_SHOWN_PATH and "{" not in str(path) else "that"  # not the text of a file
        raise ValueError(f"{named} cannot be read: {why}.") from None
    match given:
        case {"mcpServers": dict(servers)}:
            return _read_servers(path, servers, environ)
        case _:
            raise ValueError(f'{path} must hold an object "mcpServers" with one entry for each server.')


def _read_servers(path: Path, servers: Mapping[str, object], environ: Mapping[str, str]) -> ToolServerFile:
    try:
        readers = [_Entry(name, entry, environ) for name, entry in servers.items()]
        entries = tuple(each.read() for each in readers if not each.is_disabled)
        _require_different(entries)
    except _WrongEntry as wrong:
        raise ValueError(f"{path}: {wrong}") from None
    return ToolServerFile(path, entries, tuple(dict.fromkeys(secret for each in readers for secret in each.secrets)))


def _where(fault: Exception) -> str:
    return f" (line {fault.lineno}, column {fault.colno})" if isinstance(fault, json.JSONDecodeError) else ""


def _parse(given: object) -> object:
    if not isinstance(given, str | Path):
        return given
    try:
        return read_tool_servers(Path(given).expanduser().absolute())
    except ValueError as fault:
        raise own_words(str(fault)) from None


ToolServers = Annotated[ToolServerFile, BeforeValidator(_parse), Rule("a file of JSON with an object mcpServers")]


class _Entry:
    """Reads one entry, and collects its secrets."""

    def __init__(self, name: str, given: object, environ: Mapping[str, str]) -> None:
        self.name, self.environ, self.secrets = name, environ, list[str]()
        if not SERVER_NAME.fullmatch(name):
            self._refuse("", "is no name: a name has letters, digits, _ and -, begins with a letter and has at most 30")
        if not isinstance(given, dict):
            self._refuse("", "must be an object")
        self.given: dict[str, Any] = given
        for key in self.given:
            if key not in KEYS:
                self._refuse(key, f"is not known; known are {', '.join(sorted(KEYS))}")

    @property
    def is_disabled(self) -> bool:
        return self._switch("disabled")

    def read(self) -> ServerEntry:
        """The entry; raise _WrongEntry."""
        reached = self._reached()
        if (kind := self._text("type")) not in KINDS:
            self._refuse("type", f"{kind[:20]!a} is not known; an address is reached by streamable HTTP")
        return ServerEntry(
            name=self.name,
            reached=reached,
            place=_place(reached),
            is_trusted=self._switch("trusted"),
            classes=self._classes(),
            only=self._texts("tools"),
            besides=self._texts("exclude"),
            asks_people=self._switch("elicitation", default=True),
        )

    def _reached(self) -> LocalProgram | RemoteAddress:
        command, url = self._text("command"), self._text("url")
        if bool(command) == bool(url):
            self._refuse("", "must have either command or url")
        if command:
            env = self._filled("env", VARIABLE_NAME, every=False)
            return LocalProgram(command=command, args=self._texts("args"), env=env, cwd=self._text("cwd"))
        parts = _address(url)
        if parts is None or parts.scheme not in ("http", "https") or not parts.hostname:
            self._refuse("url", "must be an http or https address")
        if VARIABLE.search(url):
            self._refuse("url", "has a variable: they are filled in in env and headers")
        self.secrets += _secrets_of(url)
        headers = self._filled("headers", HEADER_NAME, every=True)
        return RemoteAddress(url=url, headers=headers, sign_in=self._sign_in())

    def _sign_in(self) -> SignInTerms | None:
        """What `oauth` says: true, or an object with what the server's operator gave for Signoff."""
        given = self.given.get("oauth", False)
        if isinstance(given, bool):
            return SignInTerms() if given else None
        if not isinstance(given, dict) or not {*given} <= {*SIGN_IN_KEYS}:
            self._refuse("oauth", f"must be true, or an object with some of {', '.join(SIGN_IN_KEYS)}")
        port = given.get("port", 0)
        if not isinstance(port, int) or not 0 <= port <= MAX_PORT:
            self._refuse("oauth", "has a port that is none")
        texts = {name: value for name, value in given.items() if name != "port"}
        if not all(isinstance(value, str) and value.isprintable() for value in texts.values()):
            self._refuse("oauth", "must have texts, except for the port")
        secret = VARIABLE.sub(lambda named: self._variable("oauth", named[1]), texts.get("client_secret", ""))
        self.secrets.append(secret)
        if secret and not texts.get("client_id"):
            self._refuse("oauth", "has a client_secret and no client_id")
        return SignInTerms(
            client_id=texts.get("client_id", ""), client_secret=secret, scope=texts.get("scope", ""), port=port
        )

    def _filled(self, key: str, names: re.Pattern[str], *, every: bool) -> dict[str, str]:
        """The texts of an object with variables filled in; `every`: all values are secrets, not only likely ones."""
        given = self.given.get(key, {})
        if not isinstance(given, dict) or not all(isinstance(value, str) for value in given.values()):
            self._refuse(key, "must be an object of texts")
        filled = {name: VARIABLE.sub(lambda named: self._variable(key, named[1]), text) for name, text in given.items()}
        for name, text in filled.items():
            if not names.fullmatch(name) or "\0" in text or (every and NO_HEADER_VALUE.search(text)):
                self._refuse(key, f"has a name or a value that cannot be sent: {name[:40]!a}")
            self.secrets += _secrets_of(text)
            if every or text != given[name] or SECRET_NAME.search(name):
                self.secrets += [text, *text.split()[1:], _basic_password(text)]
        return filled

    def _variable(self, key: str, name: str) -> str:
        if name not in self.environ:
            self._refuse(key, f"names the variable {name}, which is not set for Signoff's process (.env is not read)")
        return self.environ[name]

    def _classes(self) -> tuple[Any, ...]:
        given = self._texts("classes")
        if not {*given} <= {*RISK_CLASSES}:
            self._refuse("classes", f"must be some of {', '.join(RISK_CLASSES)}")
        return tuple(risk for risk in RISK_CLASSES if risk in given)

    def _text(self, key: str) -> str:
        given = self.given.get(key, "")
        if not isinstance(given, str) or "\0" in given:
            self._refuse(key, "must be a text")
        return str(given)

    def _texts(self, key: str) -> tuple[str, ...]:
        given = self.given.get(key, [])
        if not isinstance(given, list) or not all(isinstance(each, str) and "\0" not in each for each in given):
            self._refuse(key, "must be a list of texts")
        return tuple(given)

    def _switch(self, key: str, *, default: bool = False) -> bool:
        given = self.given.get(key, default)
        if not isinstance(given, bool):
            self._refuse(key, "must be true or false")
        return bool(given)

    def _refuse(self, key: str, why: str) -> NoReturn:
        raise _WrongEntry(f"{' · '.join(filter(None, (f'{self.name[:40]!a}', key)))} {why}.")


def _address(url: str) -> SplitResult | None:
    """The parts of an address; None if it is none."""
    try:
        parts = urlsplit(url)
        is_one = parts.port != 0
    except ValueError:
        return None
    return parts if is_one else None


def _secrets_of(text: str) -> list[str]:
    """What is secret in an address: its password, or the user where it has none, and its query; for others nothing."""
    parts = _address(text)
    if parts is None or not parts.hostname:
        return []
    query = parse_qsl(parts.query, keep_blank_values=True)
    found = [parts.password or parts.username or "", *(value or name for name, value in query)]
    return [each for secret in found for each in (secret, unquote(secret))]


def _basic_password(text: str) -> str:
    """The password in a header such as `Basic bWU6dGVh`; "" if there is none."""
    scheme, _, given = text.partition(" ")
    if scheme.lower() != "basic":
        return ""
    try:
        return base64.b64decode(given).decode().partition(":")[2]
    except ValueError:
        return ""


def _place(reached: LocalProgram | RemoteAddress) -> str:
    """Where calls go, without arguments and addresses that may hold secrets."""
    if isinstance(reached, LocalProgram):
        return f"the program {PurePath(reached.command).name} on the machine of Signoff"
    parts = urlsplit(reached.url)
    port = f":{parts.port}" if parts.port else ""
    return f"{parts.hostname}{port}"


def _require_different(entries: tuple[ServerEntry, ...]) -> None:
    if len(entries) > MAX_SERVERS:
        raise _WrongEntry(f"has {len(entries):,} servers, of {MAX_SERVERS}.")
    for name in _doubled(entries):
        raise _WrongEntry(f"{name!a} is the name of two servers.")


def _doubled(entries: tuple[ServerEntry, ...]) -> Iterator[str]:
    seen = set[str]()
    for each in entries:
        plain = re.sub("[_-]", "", each.name).casefold()
        if plain in seen:
            yield each.name
        seen.add(plain)
