"""Types and parsers of settings: addresses, folders, secrets, lists of names, risk classes by command.

A ValueError means that the value breaks the variable's rule.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated
from urllib.parse import unquote, urlsplit

import platformdirs
from pydantic import AfterValidator, BeforeValidator, Field, SecretStr

from agent_core.capabilities.declaring import Rule
from agent_core.model.command import RISK_CLASSES, RiskClass
from agent_core.text.own_commands import IS_CLONE

LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
BUCKET = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{1,254}")
ANY_WORKSPACE, WORKSPACE_ID = "any", re.compile(r"[TE][A-Z0-9]{1,30}", re.ASCII)
PASSWORD_OPTION = re.compile(r"[?&](?:ssl)?password=([^&]*)")
DATABASES = ("sqlite", "postgresql", "postgres")


def web_address(url: str) -> str:
    """An http or https address without a user, a password, a query or a fragment."""
    parts = urlsplit(url)
    is_web = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0 and "@" not in parts.netloc
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
    """The absolute path of a folder, which need not exist; raise ValueError for a file or an impossible path."""
    try:
        absolute = path.expanduser().absolute()
        is_other = absolute.exists() and not absolute.is_dir()
    except (OSError, RuntimeError):  # it is too long, or the home of an unknown user
        raise ValueError from None
    if is_other or {"?", "\0"} & {*str(absolute)}:
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
    """The passwords in a database's address, of the user and among the options, percent-encoded and decoded."""
    if sqlite_file(url):
        return ()
    rest = url.partition("://")[2]
    users = (rest.rpartition("@")[0], rest.rpartition("@")[0].partition("@")[0])  # an option may have an @ too
    found = [*(user.partition(":")[2] for user in users), *PASSWORD_OPTION.findall(rest)]
    return (*found, *map(unquote, found))


def names(given: object) -> object:
    """The names in a text with commas between them; what is no text is returned as it is."""
    if not isinstance(given, str):
        return given
    return tuple(name for name in (part.strip() for part in given.split(",")) if name)


def _lower(given: object) -> object:
    return given.strip().lower() if isinstance(given, str) else given


def _upper(given: object) -> object:
    return given.strip().upper() if isinstance(given, str) else given


BARE = "without a user, a query or a fragment"
WEB_ADDRESS = f"an http or https address {BARE}"
LOWER_CASE, UPPER_CASE = BeforeValidator(_lower), BeforeValidator(_upper)  # words in any case
Names = Annotated[tuple[str, ...], BeforeValidator(names), Rule("names, separated by commas")]
Classes = Annotated[
    tuple[RiskClass, ...], BeforeValidator(names), Rule(f"classes, separated by commas: {', '.join(RISK_CLASSES)}")
]
Seconds = Annotated[int, Field(ge=1, le=600)]
ModelName = Annotated[str, Rule("the name of a model of the endpoint")]
Secret = Annotated[SecretStr, AfterValidator(sendable), Rule("one word of letters, digits and signs")]
WebAddress = Annotated[str, AfterValidator(web_address), Rule(WEB_ADDRESS)]
HostAddress = Annotated[str, AfterValidator(host_address), Rule(f"a host name, or {WEB_ADDRESS}")]
AzureAddress = Annotated[str, AfterValidator(azure_address), Rule(WEB_ADDRESS)]
GatewayAddress = Annotated[str, AfterValidator(gateway_address), Rule(f"a ws or wss address {BARE}")]
WorkspaceAddress = Annotated[
    str,
    AfterValidator(workspace_address),
    Rule("the address of a folder (file:///path) or of a bucket (s3://bucket/prefix)"),
]
Folder = Annotated[
    Path, AfterValidator(folder), Rule("a folder, or a path where one can be made, without a question mark")
]
AllowedWorkspaces = Annotated[
    Mapping[str, bool],
    BeforeValidator(workspaces),
    Rule("ids that begin with T or E, each optionally with +tools, or any, separated by commas"),
]
ClassesByName = Annotated[
    Mapping[str, tuple[RiskClass, ...]],
    BeforeValidator(classes_by_name),
    Rule(
        "names with = and some of read, write, delete, network, execute, publish and spend joined by +, "
        "separated by commas"
    ),
]


def default_home(*, is_clone: bool = IS_CLONE) -> Path:
    """The data folder that nobody named: one for the account where Signoff is a package, so that folders share it."""
    here = Path(".signoff")
    return here if is_clone or here.is_dir() else platformdirs.user_data_path("signoff", appauthor=False)
