"""Stands between transport and SDK: drops the parts of results and lists for which the SDK would refuse the whole.

The SDK refuses a result as a whole. But a tool that has run is no failure because of one part of its answer, and a tool
that is described wrongly is no reason to lose the others.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import mcp_types
from anyio.abc import ObjectReceiveStream, ObjectSendStream
from mcp.client._transport import ReadStream, TransportStreams, WriteStream
from mcp.shared.message import SessionMessage
from mcp_types.methods import validate_server_result
from mcp_types.version import LATEST_MODERN_VERSION
from pydantic import ValidationError

from agent_core.capabilities.tool_servers.answers import written

LISTS = {"tools/list": "tools", "prompts/list": "prompts", "resources/list": "resources"}
MAX_NAME_CHARACTERS, MAX_NAMED = 60, 20


class ReadableResults:
    """Makes each result readable as it arrives. `left_out`: the names of the tools that cannot be read."""

    def __init__(self) -> None:
        self.asked: dict[object, str] = {}
        self.version = LATEST_MODERN_VERSION
        self.left_out: list[str] = []

    def readable(self, number: object, result: dict[str, Any]) -> dict[str, Any]:
        """The result of the request with this number, without what the SDK would refuse."""
        match self.asked.pop(number, ""):
            case "initialize":
                self.version = str(result.get("protocolVersion"))
            case "tools/call" if result.get("resultType") in (None, "complete"):
                return self._answer(result)
            case method if method in LISTS:
                return self._list(method, result)
            case _:
                pass
        return result

    def _answer(self, result: Mapping[str, Any]) -> dict[str, Any]:
        frame: dict[str, Any] = {"content": [], "isError": result.get("isError") is True, "resultType": "complete"}
        structured, blocks = result.get("structuredContent"), _listed(result.get("content"))
        kept, wrong = self._sorted("tools/call", frame, "content", blocks)
        kinds = sorted({_name_of(block, "type") for block in wrong})
        if self._fits("tools/call", {**frame, "structuredContent": structured}):
            frame["structuredContent"] = structured
        elif structured is not None:
            kept.append(_text(written(structured)))
        if kinds:
            kept.append(
                _text(f"(The tool has run. Parts of its answer cannot be read: {', '.join(kinds[:MAX_NAMED])}.)")
            )
        return {**frame, "content": kept}

    def _list(self, method: str, result: dict[str, Any]) -> dict[str, Any]:
        field = LISTS[method]
        entries = result.get(field)
        if not isinstance(entries, list) or not self._fits(method, {**result, field: []}):
            return result
        kept, wrong = self._sorted(method, result, field, entries)
        if method == "tools/list":
            self.left_out += [_name_of(entry, "name") for entry in wrong][: MAX_NAMED - len(self.left_out)]
        return {**result, field: kept}

    def _sorted(
        self, method: str, frame: Mapping[str, Any], field: str, entries: Sequence[Any]
    ) -> tuple[list[Any], list[Any]]:
        """The entries that the SDK takes, and the others."""
        sides: tuple[list[Any], list[Any]] = ([], [])
        for entry in entries:
            sides[not self._fits(method, {**frame, field: [entry]})].append(entry)
        return sides

    def _fits(self, method: str, result: Mapping[str, Any]) -> bool:
        """Whether the SDK takes the result; it says itself what it thinks of a version that it does not know."""
        try:
            validate_server_result(method, self.version, result)
        except ValidationError:
            return False
        except (KeyError, ValueError):
            return True
        return True


@asynccontextmanager
async def read_results(
    transport: AbstractAsyncContextManager[TransportStreams], results: ReadableResults
) -> AsyncIterator[TransportStreams]:
    """The same transport, whose results are made readable before the SDK checks them."""
    async with transport as (received, sent):
        yield Received(received, results), Sent(sent, results)


class Received(ObjectReceiveStream[SessionMessage | Exception]):
    """What arrives, with readable results."""

    def __init__(self, inner: ReadStream[SessionMessage | Exception], results: ReadableResults) -> None:
        self.inner, self.results = inner, results

    @property
    def last_context(self) -> object:
        """What the SDK asks of some streams."""
        return getattr(self.inner, "last_context", None)

    async def receive(self) -> SessionMessage | Exception:
        received = await self.inner.receive()
        match received:
            case SessionMessage(message=mcp_types.JSONRPCResponse() as message):
                message.result = self.results.readable(message.id, message.result)
            case SessionMessage(message=mcp_types.JSONRPCError(id=number)):
                self.results.asked.pop(number, None)
            case _:
                pass
        return received

    async def aclose(self) -> None:
        await self.inner.aclose()


class Sent(ObjectSendStream[SessionMessage]):
    """What is sent; keeps the method of each request until its result is there."""

    def __init__(self, inner: WriteStream[SessionMessage], results: ReadableResults) -> None:
        self.inner, self.results = inner, results

    async def send(self, item: SessionMessage) -> None:
        if isinstance(item.message, mcp_types.JSONRPCRequest):
            self.results.asked[item.message.id] = item.message.method
        await self.inner.send(item)

    async def aclose(self) -> None:
        await self.inner.aclose()


def _listed(content: object) -> list[Any]:
    """The blocks of an answer, also of a server that sends one alone, or only its text."""
    match content:
        case None:
            return []
        case list():
            return content
        case str():
            return [_text(content)]
        case _:
            return [content]


def _text(text: str) -> dict[str, str]:
    return {"type": "text", "text": text}


def _name_of(entry: object, field: str) -> str:
    name = entry.get(field) if isinstance(entry, dict) else None
    return ascii(name)[:MAX_NAME_CHARACTERS] if isinstance(name, str) else "one without a name"
