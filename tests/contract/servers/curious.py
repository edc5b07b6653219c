"""A tool server of the newest protocol that asks people before it pours tea."""

from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp_types import ElicitRequest, ElicitRequestFormParams, ElicitResult, InputRequiredResult

server = MCPServer("curious")
CUP = {
    "type": "object",
    "properties": {
        "tea": {"type": "string", "enum": ["green", "black"], "description": "Which?"},
        "cups": {"type": "integer"},
        "milk": {"type": "boolean"},
    },
    "required": ["tea", "cups"],
}


@server.tool()
async def pour(ctx: Context) -> str | InputRequiredResult:
    """Pour tea as people want it."""
    answered = (ctx.input_responses or {}).get("cup")
    if isinstance(answered, ElicitResult):
        return f"{answered.action}: {answered.content}"
    params = ElicitRequestFormParams(message="How do you want it?\u200b", requested_schema=CUP)
    return InputRequiredResult(input_requests={"cup": ElicitRequest(params=params)})


if __name__ == "__main__":
    server.run("stdio")
