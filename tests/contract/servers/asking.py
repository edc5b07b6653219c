"""A tool server of the newest protocol that asks the client's model."""

import sys

from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp_types import (
    CreateMessageRequest,
    CreateMessageRequestParams,
    CreateMessageResult,
    InputRequiredResult,
    SamplingMessage,
    TextContent,
)

server = MCPServer("asking")


@server.tool()
async def ask(question: str, ctx: Context) -> str | InputRequiredResult:
    """Ask the model."""
    answered = (ctx.input_responses or {}).get("one")
    if isinstance(answered, CreateMessageResult) and isinstance(answered.content, TextContent):
        return f"{answered.content.text} (by {ctx.protocol_version})"
    content = TextContent(type="text", text=question)
    params = CreateMessageRequestParams(messages=[SamplingMessage(role="user", content=content)], max_tokens=9_000)
    return InputRequiredResult(input_requests={"one": CreateMessageRequest(params=params)})


if __name__ == "__main__":
    sys.stderr.write("asking\n")
    server.run("stdio")
