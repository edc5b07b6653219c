"""Keeps the tool servers of MCP_SERVERS connected, and their tools registered as commands.

Part of the composition root, like `bot.tool_wiring`. The SDK is imported only if a server is configured.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from adapters.visible_text import visible
from agent_core.commands.redaction import redact_output
from agent_core.commands.registry import Commands
from agent_core.model.lines import counted
from agent_core.oversight.secrets import Secrets
from agent_core.plugins.loaded import LoadedPlugin
from agent_core.plugins.tool_servers import ServerCommands
from agent_core.ports.clock import Clock
from agent_core.ports.tool_servers import ToolServer
from agent_core.providers.clock import SystemClock
from bot.findings import Finding
from bot.settings import Settings

logger = logging.getLogger(__name__)
DOCTOR_SECONDS = 20.0


@dataclass(slots=True, kw_only=True)
class ToolServerSet:
    """The servers of a process, and what became of the tools of each (`loaded`, by name)."""

    servers: Sequence[ToolServer] = ()
    loaded: dict[str, LoadedPlugin] = field(default_factory=dict)


@asynccontextmanager
async def serve_tools(settings: Settings, commands: Commands, clock: Clock) -> AsyncIterator[ToolServerSet]:
    """Connect the servers in the background, and end them afterwards. Without servers this does nothing."""
    if not settings.mcp_servers:
        yield ToolServerSet()
        return
    from agent_core.providers.mcp.mcp_server import McpServer

    found = ToolServerSet()
    register = _registering(settings, commands, found)
    entries = settings.mcp_servers.entries
    servers = [McpServer(entry=each, clock=clock, seconds=settings.mcp_seconds, changed=register) for each in entries]
    found.servers = servers
    for each in servers:
        commands.replace_from(each.entry.name, ())  # so that prompts list them in the order of the file
    tasks = [asyncio.create_task(each.run(), name=f"tool server {each.entry.name}") for each in servers]
    try:
        yield found
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _registering(settings: Settings, commands: Commands, found: ToolServerSet) -> Callable[[ToolServer], None]:
    """What registers the tools of a server each time it lists them."""
    secrets, disabled = Secrets.of(settings.secrets), {*settings.disabled_commands, *settings.disabled_categories}

    def register(server: ToolServer) -> None:
        name = server.entry.name
        loaded = ServerCommands(server, visible).loaded(commands.taken_besides(name))
        kept = [each for each in loaded.commands if not disabled & {each.spec.name, each.spec.category}]
        commands.replace_from(name, [redact_output(each, secrets) for each in kept])
        found.loaded[name] = loaded
        remarks = secrets.redact("; ".join(loaded.remarks))
        logger.info("a tool server listed its tools", extra={"server": name, "tools": len(kept), "left_out": remarks})

    return register


async def tool_servers_finding(settings: Settings) -> Finding | None:
    """The finding on tool servers, each of which is connected once; None if none is configured. No secrets."""
    if not settings.mcp_servers:
        return None
    from agent_core.providers.mcp.mcp_server import McpServer

    clock, seconds = SystemClock(), min(DOCTOR_SECONDS, settings.mcp_seconds)
    servers = [McpServer(entry=each, clock=clock, seconds=seconds) for each in settings.mcp_servers.entries]
    faults = await asyncio.gather(*(each.connect_once(until_listed=True) for each in servers))
    told = [_told(server, fault) for server, fault in zip(servers, faults, strict=True)]
    is_well = not any(faults) and all(is_whole for _, is_whole in told)
    why = "; ".join(line for line, _ in told) or f"{settings.mcp_servers.path} names no server"
    shown = Secrets.of(settings.secrets).redact(why)
    return Finding(name="tool servers", state="on" if is_well else "warn", why=shown, variable="MCP_SERVERS")


def _told(server: ToolServer, fault: str) -> tuple[str, bool]:
    """A line on one server, and whether nothing of it is left out."""
    name, place = server.entry.name, server.entry.place
    if fault:
        return f"{name} ({place}) {fault}: check its entry, and try it by hand", False
    loaded = ServerCommands(server, visible).loaded({})
    remarks = f", {', '.join(loaded.remarks)}" if loaded.remarks else ""
    return f"{name} ({counted(len(loaded.commands), 'command')}{remarks})", not loaded.remarks
