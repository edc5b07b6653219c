"""A tool server written with the SDK: what it does is what its tools say. `python helpful.py [http PORT]`."""

import asyncio
import os
import subprocess
import sys
from pathlib import Path

from mcp.server import MCPServer
from mcp.server.mcpserver import Context

server = MCPServer("helpful", instructions="Ask echo.")


@server.tool()
def echo(text: str) -> str:
    """Say it again."""
    return text


@server.tool()
async def count(upto: int, ctx: Context) -> str:
    """Count, and tell how far it is."""
    for number in range(1, upto + 1):
        await ctx.report_progress(number, upto, f"now {number}")
    return f"counted to {upto}"


@server.tool()
async def wait(begun: str, ended: str) -> str:
    """Wait until somebody stops it, and write down that it began and that it was stopped."""
    Path(begun).touch()  # noqa: ASYNC240
    try:
        await asyncio.Event().wait()
    finally:
        Path(ended).touch()  # noqa: ASYNC240
    return "never"


@server.tool()
def fork(note: str) -> str:
    """Start a child that lives on, and write down its number."""
    child = subprocess.Popen(["sleep", "600"])
    Path(note).write_text(str(child.pid))
    return "forked"


@server.tool()
def die() -> str:
    """End this program in the middle of a call."""
    os._exit(3)


@server.tool()
def variables() -> str:
    """All variables that this program can see."""
    return "\n".join(f"{name}={value}" for name, value in sorted(os.environ.items()))


@server.tool()
def fail() -> str:
    """Fail."""
    raise ValueError("there is no tea")


@server.prompt(title="Plan a tasting")
def plan(tea: str, guests: str = "two") -> str:
    """Plan a tasting of one tea."""
    return f"Find three kinds of {tea}.\n\nWrite a plan for {guests} guests."


@server.resource("tea://green")
def green() -> str:
    """A resource."""
    return "green tea"


if __name__ == "__main__":
    if sys.argv[1:2] == ["http"]:
        server.run("streamable-http", port=int(sys.argv[2]))
    else:
        server.run("stdio")
