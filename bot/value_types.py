"""Parsers for values of environment variables: addresses and keys. Each returns the normalized value.

A ValueError means that the value breaks the variable's rule.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import unquote, urlsplit

from pydantic import AfterValidator, BeforeValidator, SecretStr

from agent_core.model.command import RISK_CLASSES, RiskClass

OPENAI_URL = "https://api.openai.com/v1"
ANTHROPIC_URL = "https://api.anthropic.com"
LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
BUCKET = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{1,254}")
ANY_WORKSPACE, WORKSPACE_ID = "any", re.compile(r"[TE][A-Z0-9]{1,30}", re.ASCII)
DATABASES = ("sqlite", "postgresql", "postgres")


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """The base address of an OpenAI-compatible API or Anthropic's, and the key that is sent to it, "" for no key.

    `url_variable`, `key_variable`: the names of the variables that set the address and the key.
    """

    url: str
    key: str = field(repr=False)
    url_variable: str = field(default="OPENAI_BASE_URL", compare=False)
    key_variable: str = field(default="OPENAI_API_KEY", compare=False)
    api: Literal["openai", "anthropic"] = "openai"


def web_address(url: str) -> str:
    """An http or https address without a user, a query or a fragment."""
    parts = urlsplit(url)
    is_web = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0 and not parts.username
    if url and (not is_web or parts.query or parts.fragment or any(map(str.isspace, url))):
        raise ValueError
    return url.rstrip("/")


def host_address(host: str) -> str:
    """A web address, or a bare host name, to which https:// is added."""
    return web_address(host if not host or "://" in host else f"https://{host}")


def gateway_address(url: str) -> str:
    """A ws or wss address."""
    return f"ws{web_address('http' + url[2:])[4:]}" if url.startswith(("ws://", "wss://")) else _none(url)


def _none(url: str) -> str:
    if url:
        raise ValueError
    return url


def azure_address(url: str) -> str:
    """The base address of an Azure resource; an API path (`/openai/v1`) at its end is removed."""
    return web_address(url).removesuffix("/v1").removesuffix("/openai")


def sendable(secret: SecretStr) -> SecretStr:
    """A secret that an HTTP header can contain: printable ASCII without blanks."""
    text = secret.get_secret_value().strip()
    if not text.isascii() or not text.isprintable() or " " in text:
        raise ValueError
    return SecretStr(text)


def folder(path: Path) -> Path:
    """The absolute path of a folder, which need not exist; raise ValueError for a file or a path with `?`."""
    absolute = path.expanduser().absolute()
    if "?" in str(absolute) or (absolute.exists() and not absolute.is_dir()):
        raise ValueError
    return absolute


def database_address(url: str) -> str:
    """The address of a SQLite file or of a PostgreSQL database."""
    scheme, separator, rest = url.partition("://")
    is_file = rest.startswith("/") and len(rest.partition("?")[0]) > 1
    if not separator or scheme not in DATABASES or (scheme == "sqlite" and not is_file) or not rest:
        raise ValueError
    server = rest.partition("?")[0].rpartition("@")[2].partition("/")[0]
    _ = urlsplit(f"//{server}").port  # raises ValueError if the port is not a number
    return url


def sqlite_file(url: str) -> Path | None:
    """The database file, or None if the database is not SQLite."""
    scheme, _, rest = url.partition(":///")
    return Path(rest.partition("?")[0]) if scheme == "sqlite" else None


def workspace_address(url: str) -> str:
    """The address of a folder, `file:///path`, or of a bucket, `s3://bucket/prefix`."""
    scheme, _, rest = url.partition("://")
    place = rest.rstrip("/")
    parts = place.split("/")
    if scheme == "file" and rest.startswith("/") and place and "?" not in place:
        return f"file://{place}"
    if scheme == "s3" and BUCKET.fullmatch(parts[0]) and not {"", ".", ".."} & {*parts} and place.isprintable():
        return f"s3://{place}"
    return _none(url)


def classes_by_name(given: object) -> object:
    """Risk classes by name, from `NAME=class+class,NAME=class`; what is no text is returned as it is."""
    if not isinstance(given, str):
        return given
    found: dict[str, tuple[RiskClass, ...]] = {}
    for part in filter(str.strip, given.split(",")):
        name, separator, written = (each.strip() for each in part.partition("="))
        classes = {each.strip().lower() for each in written.split("+")}
        if not name or not separator or name in found or not classes <= {*RISK_CLASSES}:
            raise ValueError
        found[name] = tuple(risk for risk in RISK_CLASSES if risk in classes)
    return found


def workspaces(given: object) -> object:
    """Whether each Slack workspace may use tools, by its id, from `T1,T2+tools`; `any` stands for all others."""
    if not isinstance(given, str):
        return given
    found: dict[str, bool] = {}
    for part in filter(None, map(str.strip, given.split(","))):
        name, plus, right = part.partition("+")
        if not (name == ANY_WORKSPACE or WORKSPACE_ID.fullmatch(name)) or (plus and right != "tools"):
            raise ValueError
        found[name] = bool(plus)
    return found


def without_secrets(url: str) -> str:
    """A database's address for display: without user, password and options."""
    scheme, _, rest = url.partition("://")
    return f"{scheme}://{rest.partition('?')[0].rpartition('@')[2]}"


def passwords(url: str) -> tuple[str, ...]:
    """The password in a database's address, both percent-encoded and decoded."""
    userinfo = "" if sqlite_file(url) else url.partition("://")[2].rpartition("@")[0]
    password = userinfo.partition(":")[2]
    return password, unquote(password)


AllowedWorkspaces = Annotated[Mapping[str, bool], BeforeValidator(workspaces)]
ClassesByName = Annotated[Mapping[str, tuple[RiskClass, ...]], BeforeValidator(classes_by_name)]
WorkspaceAddress = Annotated[str, AfterValidator(workspace_address)]
Secret = Annotated[SecretStr, AfterValidator(sendable)]
NO_SECRET = SecretStr("")
WebAddress = Annotated[str, AfterValidator(web_address)]
HostAddress = Annotated[str, AfterValidator(host_address)]
GatewayAddress = Annotated[str, AfterValidator(gateway_address)]
AzureAddress = Annotated[str, AfterValidator(azure_address)]
Folder = Annotated[Path, AfterValidator(folder)]
