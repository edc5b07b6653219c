"""Finds the call to which a server's question to people belongs, among those in progress. Loads nothing of the SDK."""

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

from agent_core.model.question import ServerQuestion
from agent_core.ports.tool_servers import AskPeople
from agent_core.toolset.time_limit import TimeLimit


@dataclass(slots=True, eq=False)
class PeopleCall:
    """One call, and who answers its questions."""

    ask: AskPeople
    clock: TimeLimit
    _open: set["asyncio.Task[Mapping[str, object] | None]"] = field(default_factory=set)

    async def answer(self, question: ServerQuestion) -> Mapping[str, object] | None:
        """What people answer; None if they decline, or if the call ends first."""
        asking = asyncio.create_task(self._ask(question))
        self._open.add(asking)
        try:
            await asyncio.wait((asking,))
            return None if asking.cancelled() else asking.result()
        finally:
            asking.cancel()
            self._open.discard(asking)

    async def end(self) -> None:
        """Decline the questions that are still open: nobody answers what was asked during another call."""
        still_open = [*self._open]
        for each in still_open:
            each.cancel()
        await asyncio.gather(*still_open, return_exceptions=True)

    async def _ask(self, question: ServerQuestion) -> Mapping[str, object] | None:
        with self.clock.standing_still():
            return await self.ask(question)


CURRENT: ContextVar[PeopleCall | None] = ContextVar("call_that_may_ask_people", default=None)
IS_READING: ContextVar[bool] = ContextVar("is_reading", default=False)


@contextmanager
def reading() -> Iterator[None]:
    """What is asked inside belongs to no call: in the newest protocol prompts and resources may ask too."""
    token = IS_READING.set(True)
    try:
        yield
    finally:
        IS_READING.reset(token)


@dataclass(slots=True)
class PeopleCalls:
    """The calls in progress.

    In the newest protocol a question comes with the answer to its call. In older ones nothing tells to which call it
    belongs, so it is declined unless there is one call alone.
    """

    _calls: set[PeopleCall] = field(default_factory=set)

    @asynccontextmanager
    async def take(self, ask: AskPeople | None, clock: TimeLimit) -> AsyncIterator[None]:
        """Let the call inside ask people by `ask`, or not at all. `clock` stands still while they think."""
        if ask is None:
            yield
            return
        call = PeopleCall(ask, clock)
        self._calls.add(call)
        token = CURRENT.set(call)
        try:
            yield
        finally:
            CURRENT.reset(token)
            self._calls.discard(call)
            await call.end()

    async def ask(self, question: ServerQuestion) -> Mapping[str, object] | None:
        """What people answer; None if they decline, or if the question belongs to no call."""
        if IS_READING.get():
            return None
        call = CURRENT.get()
        if call not in self._calls:
            call = next(iter(self._calls)) if len(self._calls) == 1 else None
        return await call.answer(question) if call else None
