"""A tool server that asks people with every kind of field: `order` asks one of its questions, by name."""

from typing import Any

from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp_types import ElicitRequest, ElicitRequestFormParams, ElicitResult, InputRequiredResult

server = MCPServer("inquiring")
QUESTIONS: dict[str, dict[str, Any]] = {
    "order": {
        "tea": {"type": "string", "enum": ["green", "black"], "default": "black"},
        "cups": {"type": "integer", "minimum": 1, "maximum": 9},
        "mail": {"type": "string", "format": "email", "title": "Your address", "description": "For @everyone"},
        "milk": {"type": "boolean", "default": False},
    },
    "large": {
        "tea": {"type": "string", "oneOf": [{"const": "g", "title": "Green, mild"}, {"const": "b", "title": "Black"}]},
        "also": {"type": "array", "items": {"type": "string", "enum": ["milk", "sugar", "lemon; or lime"]}},
        "when": {"type": "string", "format": "date", "default": "2026-12-24"},
        "grams": {"type": "number", "default": 2.5},
        "more": {"type": "string", "maxLength": 40},
        "link": {"type": "string", "format": "uri"},
    },
    "sure": {},
}


@server.tool()
async def order(ctx: Context, question: str = "order") -> str | InputRequiredResult:
    """Order tea as people want it."""
    answered = (ctx.input_responses or {}).get("asked")
    if isinstance(answered, ElicitResult):
        return f"{answered.action}: {answered.content}"
    required = {"order": ["tea", "cups", "mail"], "large": ["tea"]}.get(question, [])
    schema = {"type": "object", "properties": QUESTIONS[question], "required": required}
    params = ElicitRequestFormParams(message="How do you want it?\u200b", requested_schema=schema)
    return InputRequiredResult(input_requests={"asked": ElicitRequest(params=params)})


if __name__ == "__main__":
    server.run("stdio")
