"""The base class of a feature: its commands, start, end and findings for the doctor; how findings are made."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import ClassVar, Literal, TypeVar

from agent_core.memory.long_term import LongTermMemory
from agent_core.ports.clock import Clock
from agent_core.ports.database import Database
from agent_core.ports.helpers import Helpers
from agent_core.prompt.model_client import MeteredModel
from agent_core.toolset.registry import Command

T = TypeVar("T")
L = TypeVar("L")
PATIENCE = 3.0  # seconds that the doctor waits for an answer


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandParts:
    """The parts of the core that commands may use."""

    database: Database
    clock: Clock
    memory: LongTermMemory
    helpers: Helpers
    metered_model: MeteredModel


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What `signoff doctor` says of a part. `variable` is the setting that changes it, or "" if no setting does.

    "warn": it is on, and may not work.
    """

    name: str
    state: Literal["on", "off", "warn", "fault"]
    why: str
    variable: str = ""


class Capability:
    """A feature, made from the settings. Making it reaches nothing outside; each method does nothing by default."""

    name: ClassVar[str]

    async def open(self) -> None:
        """Prepare what takes time, such as the test of a sandbox, before agents run."""

    def commands(self, parts: CommandParts) -> Iterable[Command]:
        """The commands that the feature gives to agents, those that are off among them, with the reason."""
        return ()

    async def findings(self) -> Iterable[Finding]:
        """What the doctor says of the feature, which is not opened. It changes nothing and raises nothing."""
        return ()

    async def close(self) -> None:
        """End what the feature runs, and close its connections."""


def provided_finding(name: str, by: str, variable: str) -> Finding:
    """The finding on something that a service provides; `by` is the service, or "" if none is set."""
    return Finding(name=name, state="on" if by else "off", why=f"by {by}" if by else "", variable=variable)


async def answer_or(late: L, probe: Callable[[], Awaitable[T]], more: float = 0) -> T | L:
    """The result of the probe, or `late` if it takes longer than PATIENCE and `more` seconds."""
    try:
        async with asyncio.timeout(PATIENCE + more):
            return await probe()
    except TimeoutError:
        return late


def silent() -> str:
    """That a service was not heard in time, to complete its name."""
    return f"did not answer within {PATIENCE:.0f} seconds"
