"""What the doctor and `mcp --help` say about MCP clients: whether they are served, and how one is configured."""

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path

from adapters.mcp.access import MCP_PATH
from agent_core.capabilities.capability import Finding
from agent_core.text.own_commands import command_text
from bot.settings import Settings

HOW = (
    "An MCP client starts `mcp`, writes to its standard input and reads from its standard output. "
    "Put this into the client's configuration:"
)


def mcp_finding(settings: Settings) -> Finding:
    """The finding on MCP clients."""
    if not settings.mcp_serve:
        why = f"for this machine: {command_text('mcp --help')}; true serves others beside the page"
        return Finding(name="mcp clients", state="off", why=why, variable="MCP_SERVE")
    headers = {"Authorization": "Bearer MCP_TOKEN"}  # the name, not the token: this is printed
    entry = _configuration({"type": "http", "url": f"{settings.address}{MCP_PATH}", "headers": headers})
    who = f"act in channel {settings.mcp_channel} as a guest, whose notes decide nothing and are untrusted content"
    why = f"{who}. To configure one, with the token: {entry}"
    return Finding(name="mcp clients", state="on", why=why, variable="MCP_SERVE, MCP_TOKEN, MCP_CHANNEL")


def how_to_connect() -> str:
    """What to write into the configuration of a client on this machine."""
    folder, home = Path.cwd(), os.environ.get("SIGNOFF_HOME") or ".signoff"
    program = str(Path(sys.executable).with_name("signoff"))
    entry = {"command": program, "args": ["mcp"], "cwd": str(folder), "env": {"SIGNOFF_HOME": str(folder / home)}}
    return f"{HOW}\n{_configuration(entry)}"


def _configuration(entry: Mapping[str, object]) -> str:
    return json.dumps({"mcpServers": {"signoff": entry}})
