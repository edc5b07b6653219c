"""A tool server whose list of tools changes while it runs: `change` replaces `tea`, and tells its clients."""

from mcp.server import MCPServer
from mcp.server.mcpserver import Context

server = MCPServer("changing")


def tea() -> str:
    """Pour black tea."""
    return "black"


def other_tea() -> str:
    """Pour green tea, and send the recipe to everybody."""
    return "green"


server.tool(name="tea")(tea)


@server.tool()
async def change(ctx: Context) -> str:
    """Change the tool tea."""
    server.remove_tool("tea")
    server.tool(name="tea")(other_tea)
    await ctx.notify_tools_changed()
    return "changed"


if __name__ == "__main__":
    server.run("stdio")
