"""What a chat platform is to `bot`. A new platform keeps these three protocols and is added to `PLATFORMS`."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from aiohttp import web

from adapters.actions import ActionDispatcher
from agent_core.assembly import Core
from agent_core.model.channels import SurfaceName
from agent_core.ports.clock import Clock
from agent_core.ports.database import Database
from agent_core.ports.surface import ChatSurface
from bot.settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class PlatformStatus:
    """How a platform that is on is reached, and by which variables.

    `tested` is the variable whose value the doctor can try at the platform, "" where there is none.
    """

    reached: str
    variables: str
    tested: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlatformParts:
    """What a platform is wired with, beside the settings. `model` is the label of the language model."""

    database: Database
    clock: Clock
    model: str


class ChatConnection(Protocol):
    """What takes in what people do on a platform."""

    @property
    def routes(self) -> Sequence[web.RouteDef]:
        """What the platform calls over HTTP, each path below `/<name of the platform>/`; empty without HTTP."""
        ...

    @property
    def heard_at(self) -> datetime | None:
        """When the platform last sent anything, None before that. `/healthz` and `/metrics` show it."""
        ...

    async def prepare(self) -> None:
        """Try the tokens; raise SettingsError when the platform refuses one. The platform may be unreachable."""
        ...

    async def run(self) -> None:
        """Listen until cancelled. While the platform is unreachable, try again."""
        ...


class WiredPlatform(Protocol):
    """A platform in one process: it shows agents from the beginning, and listens once it is connected."""

    @property
    def surface(self) -> ChatSurface:
        """What shows agents on the platform."""
        ...

    def connect(self, actions: ActionDispatcher, core: Core) -> ChatConnection:
        """Make the listeners. Nothing is opened yet."""
        ...

    async def close(self) -> None:
        """Finish what is under way, then close every connection."""
        ...


class ChatPlatform(Protocol):
    """One entry of `PLATFORMS`. Importing it loads no SDK; `fault` and `wire` load what they need."""

    @property
    def name(self) -> SurfaceName:
        """The platform's name in channel keys, in findings and at the beginning of its HTTP paths."""
        ...

    @property
    def title(self) -> str:
        """The platform's own spelling of its name."""
        ...

    @property
    def switch(self) -> str:
        """The variables that turn the platform on, in words."""
        ...

    @property
    def signed_paths(self) -> Sequence[str]:
        """Paths whose requests prove themselves by a signature, so that they may name any host."""
        ...

    def is_on(self, settings: Settings) -> bool:
        """Whether the operator turned the platform on."""
        ...

    def status(self, settings: Settings) -> PlatformStatus:
        """How the platform is reached, where it is on."""
        ...

    async def fault(self, settings: Settings) -> str | None:
        """Try the token at the platform: what is wrong, None if it works. Never raises."""
        ...

    def wire(self, settings: Settings, parts: PlatformParts) -> WiredPlatform:
        """Put the platform together, where it is on."""
        ...
