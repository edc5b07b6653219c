"""Interfaces of chat platforms. Each has a ChatPlatform in `PLATFORMS`, a WiredPlatform and a ChatConnection."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from aiohttp import web

from adapters.typed.actions import ActionDispatcher
from adapters.typed.agent_templates import AgentTemplates, load_templates
from agent_core.assembly import Core
from agent_core.model.origin import SurfaceName
from agent_core.ports.clock import Clock
from agent_core.ports.database import Database
from agent_core.ports.engine import NO_BROADCAST, Broadcast
from agent_core.ports.files import Workspaces
from agent_core.ports.models import LanguageModel
from agent_core.ports.surface import ChatSurface
from agent_core.ports.telemetry import NOT_WATCHED, Telemetry
from bot.settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class PlatformStatus:
    """How an enabled platform is reached, and the variables that enable it.

    `tested` is the variable that the doctor can test at the platform; "" if there is none.
    """

    reached: str
    variables: str
    tested: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlatformParts:
    """The parts that a platform needs besides the settings.

    `model`: the language model, whose label is shown. `broadcast`: connects the processes of this installation.
    """

    database: Database
    workspaces: Workspaces
    clock: Clock
    model: LanguageModel
    broadcast: Broadcast = NO_BROADCAST
    templates: AgentTemplates = field(default_factory=load_templates)
    telemetry: Telemetry = NOT_WATCHED


class ChatConnection(Protocol):
    """Receives the events of a platform."""

    @property
    def routes(self) -> Sequence[web.RouteDef]:
        """The HTTP routes for the platform's requests, each below `/<name of the platform>/`; empty without HTTP."""

    @property
    def has_one_listener(self) -> bool:
        """Whether the platform sends each event to every connection, so that only one process may listen."""

    @property
    def heard_at(self) -> datetime | None:
        """The time of the platform's last event, or None before the first. `/healthz` and `/metrics` show it."""

    async def prepare(self) -> None:
        """Test the tokens; raise SettingsError if the platform rejects one. An unreachable platform is no error."""

    async def run(self) -> None:
        """Listen until cancelled. If the platform is unreachable, retry."""


class WiredPlatform(Protocol):
    """A platform whose parts are built. Its surface can show agents at once; events arrive only after `connect`."""

    @property
    def surface(self) -> ChatSurface:
        """The surface that shows agents on the platform."""

    def connect(self, actions: ActionDispatcher, core: Core) -> ChatConnection:
        """Build the listeners. Opens no connection."""

    async def close(self) -> None:
        """Finish running tasks, then close every connection."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatPlatform(ABC):
    """One entry of `PLATFORMS`. Its module imports no SDK; `fault` and `wire` import the SDK when they are called.

    `name`: occurs in channel keys, in findings and as the first part of the platform's HTTP paths.
    `title`: the name as the platform spells it.
    `switch`: the variables that enable the platform, as text.
    `signed_paths`: requests to these paths carry a signature, so they may have any Host header.
    """

    name: SurfaceName
    title: str
    switch: str
    signed_paths: tuple[str, ...] = ()

    @abstractmethod
    def is_on(self, settings: Settings) -> bool:
        """Whether the operator enabled the platform."""

    @abstractmethod
    def status(self, settings: Settings) -> PlatformStatus:
        """How an enabled platform is reached."""

    @abstractmethod
    async def fault(self, settings: Settings) -> str | None:
        """Test the token at the platform; return what is wrong, or None. Never raises."""

    @abstractmethod
    def wire(self, settings: Settings, parts: PlatformParts) -> WiredPlatform:
        """Build the parts of an enabled platform."""
