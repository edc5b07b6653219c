"""To which call a server's question to people belongs. Nothing of the SDK is imported here."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

from agent_core.commands.time_limit import TimeLimit
from agent_core.model.server_question import ServerQuestion
from agent_core.ports.tool_servers import AskPeople


@dataclass(slots=True, eq=False)
class PeopleCall:
    """One call, and who answers its questions."""

    ask: AskPeople
    clock: TimeLimit


CURRENT: ContextVar[PeopleCall | None] = ContextVar("call_that_may_ask_people", default=None)


@dataclass(slots=True)
class PeopleCalls:
    """The calls in progress.

    In the newest protocol a question comes with the answer to its call. In older ones nothing tells to which call it
    belongs, so it is declined unless there is one call alone.
    """

    _calls: set[PeopleCall] = field(default_factory=set)

    @contextmanager
    def take(self, ask: AskPeople | None, clock: TimeLimit) -> Iterator[None]:
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

    async def ask(self, question: ServerQuestion) -> Mapping[str, object] | None:
        """What people answer; None if they decline, or if the question belongs to no call."""
        call = CURRENT.get()
        if call not in self._calls:
            call = next(iter(self._calls)) if len(self._calls) == 1 else None
        if call is None:
            return None
        with call.clock.standing_still():
            return await call.ask(question)
