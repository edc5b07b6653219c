"""The SDK's stdio transport with limits: a message that is too long is never collected, and nothing else is parsed."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress

import anyio
import mcp_types
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.client._transport import TransportStreams
from mcp.shared.message import SessionMessage

from agent_core.capabilities.tool_servers.flow_limit import MAX_MESSAGE_BYTES, FlowLimit, TooMuchSent
from agent_core.capabilities.tool_servers.local_process import LocalProcess
from agent_core.ports.clock import Clock
from agent_core.ports.database import finish_uncancelled
from agent_core.ports.tool_servers import LocalProgram

logger = logging.getLogger(__name__)
LAST_LINE_SECONDS = 0.5  # for what a program that ended has printed on standard error
ENDED = (anyio.ClosedResourceError, anyio.BrokenResourceError, OSError)


@asynccontextmanager
async def stdio_transport(
    name: str, program: LocalProgram, limit: FlowLimit, ended: Callable[[str], None], clock: Clock
) -> AsyncIterator[TransportStreams]:
    """Start the program and connect to its pipes; end it afterwards. `ended` is told why nothing comes any more.

    Raise OSError or ValueError if the program cannot be started.
    """
    local = await LocalProcess.start(name, program, clock)
    received_in, received = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    sent, sent_out = anyio.create_memory_object_stream[SessionMessage](0)

    async def read() -> None:
        try:
            why = await _read_messages(local, received_in, limit)
            await asyncio.wait((tasks[-1],), timeout=LAST_LINE_SECONDS)
            ended(f"{why}, and printed last: {local.last_printed}" if local.last_printed else why)
        except TooMuchSent:
            local.kill()
        finally:
            received_in.close()

    async def write() -> None:
        with suppress(*ENDED):
            await _write_messages(local, sent_out, limit)
        received_in.close()

    tasks = [asyncio.create_task(each) for each in (read(), write(), local.log_errors())]
    try:
        yield received, sent
    finally:
        for stream in (received, sent):
            stream.close()
        await finish_uncancelled(_end(local, tasks, sent_out))


async def _end(
    local: LocalProcess, tasks: list["asyncio.Task[None]"], sent_out: MemoryObjectReceiveStream[SessionMessage]
) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    sent_out.close()
    await local.stop()


async def _read_messages(
    local: LocalProcess, received: MemoryObjectSendStream[SessionMessage | Exception], limit: FlowLimit
) -> str:
    """Pass messages on until the program closes its output; return why nothing comes any more."""
    reader = local.process.stdout
    while reader:
        try:
            line = await reader.readuntil(b"\n")
        except asyncio.LimitOverrunError:
            limit.require_message(MAX_MESSAGE_BYTES + 1)
        except (asyncio.IncompleteReadError, OSError):
            break
        else:
            limit.count(len(line), messages=1)
            try:
                await received.send(
                    SessionMessage(mcp_types.jsonrpc_message_adapter.validate_json(line, by_name=False))
                )
            except ValueError:
                logger.debug("a tool server sent no message", extra={"server": local.name})
            except ENDED:
                break
    return "ended"


async def _write_messages(
    local: LocalProcess, sent: MemoryObjectReceiveStream[SessionMessage], limit: FlowLimit
) -> None:
    writer = local.process.stdin
    async for each in sent:
        if writer:
            if isinstance(each.message, mcp_types.JSONRPCRequest):
                limit.restart()
            writer.write(each.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n")
            await writer.drain()
