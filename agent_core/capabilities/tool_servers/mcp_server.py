"""Implements `ToolServer`: connects in the background, again after a loss, lists anew, passes calls and reads on."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar

from agent_core.capabilities.tool_servers.people_calls import PeopleCalls, reading
from agent_core.capabilities.tool_servers.sign_ins import SignIns
from agent_core.errors import CommandError
from agent_core.model.command import Arguments
from agent_core.ports.clock import Clock
from agent_core.ports.tool_servers import (
    AskPeople,
    ServerAnswer,
    ServerCondition,
    ServerEntry,
    ServerResource,
    ServerState,
    ServerTool,
    SourcePrompt,
)
from agent_core.toolset.time_limit import TimeLimit

if TYPE_CHECKING:
    from agent_core.capabilities.tool_servers.mcp_connection import McpConnection

T = TypeVar("T")
logger = logging.getLogger(__name__)
FIRST_WAIT_SECONDS, LONGEST_WAIT_SECONDS = 1.0, 60.0
STEADY_SECONDS = 60.0  # a connection that lasted so long starts again with the first wait
PROMPT_SECONDS = 5.0  # for the list of prompts, without which the tools are used
RELIST_SECONDS = 2.0  # between two looks at a list that a server says has changed
REST = 10  # so many times as long as it took to take a list over, nothing is done about the next one
CANCEL_SECONDS = 1.0  # until a task that swallowed a cancellation is cancelled again
LOOK_SECONDS, FRESH_SECONDS = 5.0, 0.2  # of a look at a list right before a run; how long it counts as the present one
RECONNECT_SECONDS = 10.0  # how long a call waits for a server that is being connected


async def ignore_change(_server: "McpServer") -> None:
    """Nobody wants to know."""


@dataclass(slots=True, kw_only=True)
class McpServer:
    """Implements `ToolServer`. `seconds`: the limit of one call. `changed`: told of every new list of tools.

    `sign_ins`: of people at servers; None if no server needs one.
    `redact`: takes secrets out of what the server says of its failures.
    """

    entry: ServerEntry
    clock: Clock
    seconds: float
    changed: Callable[["McpServer"], Awaitable[None]] = ignore_change
    sign_ins: SignIns | None = None
    redact: Callable[[str], str] = str
    state: ServerState = field(init=False)
    tools: Sequence[ServerTool] = ()
    unmatched: tuple[str, ...] = ()
    unreadable: tuple[str, ...] = ()
    has_resources: bool = False
    prompts: Sequence[SourcePrompt] = ()
    instructions: str = ""
    connection: "McpConnection | None" = None
    people: PeopleCalls = field(default_factory=PeopleCalls)
    _listed_at: float = 0.0
    _is_ready: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self.state = ServerState(condition="connecting", since=self.clock.now())

    async def run(self) -> None:
        """Keep the server connected until this is cancelled. Failures are told in `state` and in the log."""
        wait = FIRST_WAIT_SECONDS
        try:
            while True:
                began = self.clock.elapsed()
                why = await _run_apart(self.connect_once())
                wait = FIRST_WAIT_SECONDS if self.clock.elapsed() - began > STEADY_SECONDS else wait
                self._enter("away", why)
                logger.warning("a tool server is away", extra={"server": self.entry.name, "why": why})
                await self.clock.sleep(wait)
                wait = min(2 * wait, LONGEST_WAIT_SECONDS)
                self._enter("connecting", why)
        finally:
            self._enter("closed")

    async def connect_once(self, *, until_listed: bool = False) -> str:
        """Connect until the connection is lost, or only until the tools are listed; return why it ended."""
        sdk = await asyncio.to_thread(_import_sdk)
        connection: McpConnection = sdk.McpConnection(
            entry=self.entry,
            clock=self.clock,
            people=self.people,
            sign_ins=self.sign_ins,
            redact=self.redact,
        )
        try:
            async with connection.open(self.seconds) as opened:
                self.has_resources, self.instructions = opened.has_resources, opened.instructions
                await self._list_anew(opened)
                self.connection = opened
                self._enter("connected")
                self._is_ready.set()
                if until_listed:
                    return ""
                self.prompts = await opened.list_prompts(PROMPT_SECONDS)
                await self._follow(opened)
                self._enter("away", opened.why_ended)
        except Exception as failure:  # whatever a server makes the SDK raise ends this connection alone
            return connection.why_ended or connection.fault_of(failure, self.seconds)
        finally:
            self._is_ready.clear()
            self.connection = None
        return connection.why_ended

    async def call(
        self,
        tool: str,
        arguments: Arguments,
        report: Callable[[str], None],
        digest: str = "",
        ask_people: AskPeople | None = None,
    ) -> ServerAnswer:
        async def ask(connection: "McpConnection") -> ServerAnswer:
            if digest:
                await self._look(connection)
            if digest and digest not in {each.digest for each in self.tools if each.name == tool}:
                raise CommandError(f"{tool!a} changed after this was approved, so it was not called. Propose it anew.")
            return await connection.call(tool, arguments, report)

        limit = TimeLimit()
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(self.people.take(ask_people, limit))  # one that waits asks nobody yet
            return await self._ask(ask, limit)

    async def look_again(self) -> None:
        with suppress(CommandError, TimeoutError):
            async with asyncio.timeout(LOOK_SECONDS):
                await self._ask(self._look)

    async def _look(self, connection: "McpConnection") -> None:
        """List the tools of a server that does not tell of changes, unless that was just done."""
        if not connection.tells_of_changes and self.clock.elapsed() - self._listed_at > FRESH_SECONDS:
            await self._list_anew(connection)

    async def read(self, uri: str) -> ServerAnswer:
        with reading():
            return await self._ask(lambda connection: connection.read(uri))

    async def list_resources(self) -> Sequence[ServerResource]:
        with reading():
            return await self._ask(lambda connection: connection.list_resources())

    async def read_prompt(self, name: str, arguments: Mapping[str, str]) -> str:
        with reading():
            return await self._ask(lambda connection: connection.read_prompt(name, arguments))

    async def _ask(self, ask: Callable[["McpConnection"], Awaitable[T]], limit: TimeLimit | None = None) -> T:
        connection = await self._require_connection()
        try:
            async with asyncio.timeout(self.seconds) as timeout:
                if limit:
                    limit.limit = timeout
                return await connection.unless_ended(ask(connection))
        except TimeoutError:
            late = f"did not answer within {self.seconds:.0f} seconds: look whether the call took effect"
            raise CommandError(f"The tool server {self.entry.name} {late}.") from None

    async def _require_connection(self) -> "McpConnection":
        """The connection; raise CommandError if there is none, or none within ten seconds while one is made."""
        if self.state.condition == "connecting":
            with suppress(TimeoutError):
                async with asyncio.timeout(RECONNECT_SECONDS):
                    await self._is_ready.wait()
        if self.connection is None or self.connection.why_ended:
            why = f": it {self.state.why}" if self.state.why else ""
            raise CommandError(f"The tool server {self.entry.name} cannot be reached now{why}. It is tried again.")
        return self.connection

    async def _follow(self, connection: "McpConnection") -> None:
        """Until the connection ends, take each new list of tools."""
        while await connection.list_changed_or_ended():
            await self._list_anew(connection)
            began = self._listed_at
            self.prompts = await connection.list_prompts(PROMPT_SECONDS)
            await self.clock.sleep(max(RELIST_SECONDS, REST * (self.clock.elapsed() - began)))

    async def _list_anew(self, connection: "McpConnection") -> None:
        """Take over the tools as the server lists them now."""
        tools = await connection.list_tools(self.seconds)
        self._listed_at = self.clock.elapsed()
        self.unreadable = tuple(connection.results.left_out)
        offered = {tool.name for tool in tools}
        self.unmatched = tuple(name for name in (*self.entry.only, *self.entry.besides) if name not in offered)
        kept = tuple(tool for tool in tools if _is_wanted(tool.name, self.entry))
        if kept != self.tools or not self._is_ready.is_set():
            self.tools = kept
            await self.changed(self)

    def _enter(self, condition: ServerCondition, why: str = "") -> None:
        self.state = replace(self.state, condition=condition, since=self.clock.now(), why=why)


def _import_sdk() -> Any:
    """The module that needs the SDK, imported by a thread, because that takes a second."""
    return import_module("agent_core.capabilities.tool_servers.mcp_connection")


async def _run_apart(work: Coroutine[Any, Any, T]) -> T:
    """The result of work in a task of its own: what swallows a cancellation there does not keep this one from ending.

    The SDK does so while a connection breaks, and leaves no trace of it.
    """
    task = asyncio.create_task(work)
    try:
        await asyncio.wait((task,))
    finally:
        while not task.done():
            task.cancel()
            await asyncio.wait((task,), timeout=CANCEL_SECONDS)
    return task.result()


def _is_wanted(name: str, entry: ServerEntry) -> bool:
    return name not in entry.besides and (not entry.only or name in entry.only)
