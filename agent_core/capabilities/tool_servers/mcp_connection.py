"""One connection to a tool server by the SDK's client: opens it, lists and calls tools, reads resources, ends it."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, TypeVar

import httpx2
import mcp_types
from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client
from mcp.client.subscriptions import ListenNotSupportedError, SubscriptionLost
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from agent_core.capabilities.tool_servers.answers import (
    answer_of,
    contents_of,
    list_prompts,
    resource_of,
    text_of_prompt,
    tool_of,
)
from agent_core.capabilities.tool_servers.people_calls import PeopleCalls
from agent_core.capabilities.tool_servers.questions import elicitation_callback
from agent_core.capabilities.tool_servers.result_filter import ReadableResults, read_results
from agent_core.capabilities.tool_servers.sign_in_provider import sign_in_provider
from agent_core.capabilities.tool_servers.sign_ins import SignIns
from agent_core.capabilities.tool_servers.transports import (
    MAX_BYTES,
    MAX_MESSAGE_BYTES,
    FlowLimit,
    TooMuchSent,
    limited_client,
    stdio_transport,
)
from agent_core.errors import CommandError
from agent_core.model.command import Arguments
from agent_core.plugins.loaded import one_line
from agent_core.ports.clock import Clock
from agent_core.ports.tool_servers import (
    LocalProgram,
    ServerAnswer,
    ServerEntry,
    ServerResource,
    ServerTool,
    SourcePrompt,
)

T = TypeVar("T")
logger = logging.getLogger(__name__)
SESSION_ENDED = "Session terminated"  # what the SDK says when a server forgot the session
LOST = ("Connection closed", "SSE stream ", "server answered a request with 202")  # how the SDK begins to say so
CLIENT = mcp_types.Implementation(name="signoff", version="1")
CANCEL_SECONDS = 0.5
MAX_PAGES, MAX_TOOLS, MAX_RESOURCES = 50, 1_000, 1_000
MAX_INSTRUCTIONS_CHARACTERS, MAX_REASON_CHARACTERS, MAX_PROGRESS_CHARACTERS = 4_000, 300, 300
MAX_READ_CHARACTERS = 10_000  # of a failure's text


@dataclass(slots=True, kw_only=True)
class McpConnection:
    """A connection. `why_ended` completes "The server …"; "" as long as it is usable."""

    entry: ServerEntry
    clock: Clock
    people: PeopleCalls = field(default_factory=PeopleCalls)
    sign_ins: SignIns | None = None
    redact: Callable[[str], str] = str
    why_ended: str = ""
    results: ReadableResults = field(default_factory=ReadableResults)
    _is_deaf: bool = False  # it cannot be listened to for changes of its lists
    _client: Client | None = None
    _ended: asyncio.Event = field(default_factory=asyncio.Event)
    _list_changed: asyncio.Event = field(default_factory=asyncio.Event)
    _given_up: set["asyncio.Future[Any]"] = field(default_factory=set)

    @asynccontextmanager
    async def open(self, seconds: float) -> AsyncIterator["McpConnection"]:
        """Connect within that many seconds, and close at the end. Raise whatever the SDK raises."""
        limit = FlowLimit(self.clock, self.end)
        async with AsyncExitStack() as stack:
            async with asyncio.timeout(seconds):
                transport = read_results(await self._transport(stack, limit), self.results)
                client = Client(
                    transport,
                    message_handler=self._on_message,
                    client_info=CLIENT,
                    cache=None,
                    raise_exceptions=False,
                    elicitation_callback=elicitation_callback(self.people, self.redact)
                    if self.entry.asks_people
                    else None,
                )
                self._client = await stack.enter_async_context(client)
            # Its own check of results would run patterns that the server chose.
            self._client.session.validate_tool_result = _accept_any  # type: ignore[assignment, method-assign]
            listening = asyncio.create_task(self._listen(self._client))
            stack.push_async_callback(_cancel, listening)
            yield self

    @property
    def client(self) -> Client:
        if self._client is None:
            raise CommandError(f"The tool server {self.entry.name} is not connected.")
        return self._client

    @property
    def has_resources(self) -> bool:
        return self.client.server_capabilities.resources is not None

    @property
    def tells_of_changes(self) -> bool:
        """Whether the server says that it tells of a changed list of tools."""
        tools = self.client.server_capabilities.tools
        return bool(tools and tools.list_changed) and not self._is_deaf

    @property
    def instructions(self) -> str:
        return (self.client.instructions or "")[:MAX_INSTRUCTIONS_CHARACTERS]

    def end(self, why: str) -> None:
        """Let nobody use the connection any more; the first reason counts."""
        self.why_ended = self.why_ended or self._short(why)
        self._ended.set()

    async def list_changed_or_ended(self) -> bool:
        """Wait until the list of tools or prompts has changed (True) or the connection has ended (False)."""
        waits = [asyncio.create_task(each.wait()) for each in (self._list_changed, self._ended)]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for each in waits:
                each.cancel()
        self._list_changed.clear()
        return not self._ended.is_set()

    async def list_tools(self, seconds: float) -> Sequence[ServerTool]:
        """All tools, page by page, at most MAX_TOOLS."""
        if self.client.server_capabilities.tools is None:
            return ()
        self.results.left_out.clear()
        found: list[ServerTool] = []
        cursor: str | None = None
        size = 0
        async with asyncio.timeout(seconds):
            for _ in range(MAX_PAGES):
                page = await self.client.list_tools(cursor=cursor)
                taken = await asyncio.to_thread(lambda tools: [*map(tool_of, tools)], page.tools)
                found += taken
                size += sum(each.size for each in taken)
                if size > MAX_BYTES:
                    self.end(f"lists tools of more than {MAX_BYTES:,} characters")
                    raise TooMuchSent(self.why_ended)
                cursor = page.next_cursor
                if not cursor or len(found) >= MAX_TOOLS:
                    break
        return found[:MAX_TOOLS]

    async def list_resources(self) -> Sequence[ServerResource]:
        """All resources, page by page, at most MAX_RESOURCES."""
        found: list[ServerResource] = []
        cursor: str | None = None
        for _ in range(MAX_PAGES):
            page = await self.client.list_resources(cursor=cursor)
            found += map(resource_of, page.resources)
            cursor = page.next_cursor
            if not cursor or len(found) >= MAX_RESOURCES:
                break
        return found[:MAX_RESOURCES]

    async def call(self, tool: str, arguments: Arguments, report: Callable[[str], None]) -> ServerAnswer:
        """Call a tool."""

        async def tell(progress: float, total: float | None, message: str | None) -> None:
            of = f" of {total:g}" if total else ""
            said = self.redact((message or "")[:MAX_READ_CHARACTERS])
            report(f"{progress:g}{of} {said}".strip()[:MAX_PROGRESS_CHARACTERS])

        answered = await self.client.call_tool(tool, dict(arguments), progress_callback=tell)
        return await asyncio.to_thread(answer_of, answered)

    async def read(self, uri: str) -> ServerAnswer:
        """Read a resource."""
        return await asyncio.to_thread(contents_of, await self.client.read_resource(uri))

    async def list_prompts(self, seconds: float) -> Sequence[SourcePrompt]:
        """The prompts that it offers, at most MAX_PROMPTS; none if it does not answer in time, or wrongly."""
        if self.client.server_capabilities.prompts is None:
            return ()
        try:
            async with asyncio.timeout(seconds):
                return await list_prompts(self.client)
        except (MCPError, TimeoutError, ValueError) as fault:
            logger.warning(
                "prompts are left out", extra={"server": self.entry.name, "why": self.fault_of(fault, seconds)}
            )
            return ()

    async def read_prompt(self, name: str, arguments: Mapping[str, str]) -> str:
        """The text of a prompt."""
        return text_of_prompt(await self.client.get_prompt(name, dict(arguments)))

    async def unless_ended(self, asked: Awaitable[T]) -> T:
        """The answer; raise CommandError if the server refuses, or if the connection ends first."""
        asking, ending = asyncio.ensure_future(asked), asyncio.create_task(self._ended.wait())
        try:
            await asyncio.wait((asking, ending), return_when=asyncio.FIRST_COMPLETED)
            if asking.done():
                return asking.result()
        except MCPError as refused:
            if self._ended.is_set() or _tells_of_loss(refused):
                raise self._lost() from None
            self._list_changed.set()  # a tool may be gone
            raise CommandError(
                f"The tool server {self.entry.name} refused this: {self._short(refused.message)}"
            ) from None
        except Exception as failure:
            raise CommandError(f"The tool server {self.entry.name} failed: {self.fault_of(failure, 0)}.") from failure
        finally:
            ending.cancel()
            await self._give_up(asking)
        raise self._lost()

    async def _give_up(self, asking: "asyncio.Future[T]") -> None:
        """Cancel what was asked. The SDK tells the server; if that cannot be sent, the connection has ended."""
        asking.cancel()
        _, waiting = await asyncio.wait((asking,), timeout=CANCEL_SECONDS)
        if waiting:
            self.end("reads nothing any more, so it was given up")
            self._given_up.add(asking)  # ends within seconds
        asking.add_done_callback(self._forget)

    def _forget(self, given_up: "asyncio.Future[Any]") -> None:
        self._given_up.discard(given_up)
        if not given_up.cancelled():
            given_up.exception()  # nobody waits for it

    def _lost(self) -> CommandError:
        self.end("closed the connection")
        lost = f"The tool server {self.entry.name} {self.why_ended}"
        if ": " in self.why_ended:  # it says what to do
            return CommandError(f"{lost}. If the call had begun, look whether it took effect.")
        return CommandError(f"{lost} before it had answered: look whether the call took effect.")

    def fault_of(self, failure: BaseException, seconds: float) -> str:
        """What went wrong, to complete "The server …"; the words of the server are without secrets, on one line."""
        while isinstance(failure, BaseExceptionGroup):
            failure = failure.exceptions[0]
        match failure:
            case TimeoutError():
                return f"did not answer within {seconds:.0f} seconds"
            case httpx2.ConnectError():
                return "cannot be reached at its address"
            case FileNotFoundError():
                return "cannot be started: there is no such program or folder"
            case ValidationError():
                return f"sent what is not of the protocol ({failure.title}: {failure.error_count():,} faults)"
            case _:
                return f"failed ({type(failure).__name__}: {self._short(str(failure))})"

    def _short(self, text: str) -> str:
        """The text on one line, without secrets, which are taken out before anything is cut."""
        return one_line(self.redact(text[:MAX_READ_CHARACTERS]), MAX_REASON_CHARACTERS)

    async def _transport(self, stack: AsyncExitStack, limit: FlowLimit) -> Any:
        reached = self.entry.reached
        if isinstance(reached, LocalProgram):
            return stdio_transport(self.entry.name, reached, limit, self.end, self.clock)
        auth = sign_in_provider(self.entry.name, reached, self.sign_ins, self.end)
        if auth:
            stack.push_async_callback(_cancel, asyncio.create_task(auth.watch(), name=f"sign-in {self.entry.name}"))
        client = await stack.enter_async_context(limited_client(reached, limit, auth))
        return streamable_http_client(reached.url, http_client=client, max_sse_event_size=MAX_MESSAGE_BYTES)

    async def _listen(self, client: Client) -> None:
        """Learn of changed lists from servers of the newest protocol, which tell only who listens."""
        if client.protocol_version not in MODERN_PROTOCOL_VERSIONS:
            return
        with suppress(ListenNotSupportedError, SubscriptionLost, MCPError, TimeoutError):
            async with client.listen(tools_list_changed=True, prompts_list_changed=True) as events:
                async for _ in events:
                    self._list_changed.set()
        self._is_deaf = True

    async def _on_message(self, message: object) -> None:
        if isinstance(message, mcp_types.ToolListChangedNotification | mcp_types.PromptListChangedNotification):
            self._list_changed.set()


def _tells_of_loss(refused: MCPError) -> bool:
    """Whether the SDK says that no answer comes; servers use the same code for refusals of their own."""
    is_lost = refused.code == mcp_types.CONNECTION_CLOSED and refused.message.startswith(LOST)
    return is_lost or refused.message == SESSION_ENDED


async def _accept_any(_name: str, _result: mcp_types.CallToolResult) -> None:
    """Accept a result as it is."""


async def _cancel(task: "asyncio.Task[None]") -> None:
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
