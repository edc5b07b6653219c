"""What goes wrong on purpose: calls that fail, calls that are held, methods that do not exist."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from tests.patience import PATIENCE_SECONDS

Status: TypeAlias = int | Literal["drop"]


@dataclass(slots=True)
class Fault:
    """How the next calls of a method fail."""

    times: int
    status: Status = 200
    error: str = ""
    retry_after: str = ""
    after_effect: bool = False


@dataclass(slots=True, eq=False)
class Held:
    """Calls of a method that arrive and wait: before they take effect, or with their answers ready."""

    after_effect: bool = False
    count: int = 0
    _arrivals: asyncio.Condition = field(default_factory=asyncio.Condition)
    _end: asyncio.Future[bool] = field(default_factory=lambda: asyncio.get_running_loop().create_future())

    async def arrived(self, calls: int = 1, *, seconds: float = PATIENCE_SECONDS) -> None:
        """Wait until so many calls have come."""
        async with asyncio.timeout(seconds), self._arrivals:
            await self._arrivals.wait_for(lambda: self.count >= calls)

    def release(self) -> None:
        """Let them go on, and all that come later."""
        self._decide(goes_on=True)

    def drop(self) -> None:
        """Close their connections without an answer."""
        self._decide(goes_on=False)

    async def passes(self) -> bool:
        """Wait as a call does; False when it is dropped."""
        async with self._arrivals:
            self.count += 1
            self._arrivals.notify_all()
        return await asyncio.shield(self._end)

    def _decide(self, *, goes_on: bool) -> None:
        if not self._end.done():
            self._end.set_result(goes_on)


@dataclass(slots=True)
class Faults:
    """The faults of every method."""

    disabled: set[str] = field(default_factory=set)
    _coming: dict[str, list[Fault]] = field(default_factory=dict)
    _held: dict[str, list[Held]] = field(default_factory=dict)

    def add(self, method: str, fault: Fault) -> None:
        """After those that are there."""
        self._coming.setdefault(method, []).append(fault)

    def forget(self, method: str) -> None:
        """No more of it fails."""
        self._coming.pop(method, None)

    def take(self, method: str) -> Fault | None:
        """What befalls this call."""
        coming = self._coming.get(method)
        if not coming:
            return None
        coming[0].times -= 1
        return coming[0] if coming[0].times > 0 else coming.pop(0)

    async def passes(self, method: str, *, after_effect: bool) -> bool:
        """Wait where calls are held; False when this one is dropped."""
        held = [held for held in self._held.get(method, ()) if held.after_effect == after_effect]
        return all([await each.passes() for each in held])

    @contextmanager
    def holding(self, method: str, *, after_effect: bool) -> Iterator[Held]:
        """Hold calls of the method; what still waits at the end goes on."""
        held = Held(after_effect)
        self._held.setdefault(method, []).append(held)
        try:
            yield held
        finally:
            self._held[method].remove(held)
            held.release()
