"""The MCP server of the official SDK: the table of tools with their specs, and what becomes of a call."""

import asyncio
import inspect
import json
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, get_type_hints

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError
from pydantic import TypeAdapter

from adapters.mcp import arguments as given
from adapters.mcp.agent_tools import AgentTools
from adapters.screens.text_fit import cut
from adapters.screens.ui_text import fault_text
from adapters.screens.visible_text import one_line, visible
from agent_core.errors import CommandError, DatabaseAway, PersonError

logger = logging.getLogger(__name__)

MAX_CALLS = 64
INSTRUCTIONS = (
    "Signoff runs agents that ask people before they act. You can make agents, read them, write to them and wait for "
    "them. You cannot decide what an agent wants to run: only people can, on the agent's page. When `wait` says that "
    "an agent needs people, give the person its page."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A tool: what it takes and gives, and what it does. `reads`: it changes nothing."""

    name: str
    description: str
    takes: type[given.Arguments]
    gives: TypeAdapter[Any]
    does: Callable[[Any], Awaitable[object]]
    reads: bool = True

    @classmethod
    def of(cls, method: Callable[[Any], Awaitable[object]], *, reads: bool = True) -> "Tool":
        """The tool of a method, whose docstring clients read."""
        types_of = get_type_hints(method)
        return cls(
            name=method.__name__,
            description=inspect.getdoc(method) or "",
            takes=types_of["call"],
            gives=TypeAdapter(types_of["return"]),
            does=method,
            reads=reads,
        )

    @property
    def spec(self) -> types.Tool:
        """The tool as clients see it."""
        hints = types.ToolAnnotations(
            read_only_hint=self.reads, destructive_hint=False, idempotent_hint=self.reads, open_world_hint=False
        )
        return types.Tool(
            name=self.name,
            description=self.description,
            input_schema=_without_titles(self.takes.model_json_schema()),
            output_schema=_without_titles(self.gives.json_schema(mode="serialization")),
            annotations=hints,
        )


def tools_of(agents: AgentTools) -> tuple[Tool, ...]:
    """Every tool there is. `tests/unit/adapters/mcp` names them all: none decides."""
    return (
        Tool.of(agents.list_agents),
        Tool.of(agents.create_agent, reads=False),
        Tool.of(agents.read_thread),
        Tool.of(agents.read_turn),
        Tool.of(agents.wait),
        Tool.of(agents.add_note, reads=False),
        Tool.of(agents.list_files),
        Tool.of(agents.read_file),
    )


def make_server(agents: AgentTools, version: str) -> Server[Any]:
    """The server; each client's calls go to the same tools, MAX_CALLS at a time."""
    tools, free = {tool.name: tool for tool in tools_of(agents)}, asyncio.Semaphore(MAX_CALLS)
    specs = [tool.spec for tool in tools.values()]

    async def list_tools(
        _context: ServerRequestContext[Any], _params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        return types.ListToolsResult(tools=specs)

    async def call_tool(
        _context: ServerRequestContext[Any], params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        tool = tools.get(params.name)
        if tool is None:
            name = cut(one_line(params.name), given.MAX_NAME_CHARACTERS)
            raise MCPError(types.INVALID_PARAMS, f"There is no tool {name}.")
        async with free:
            return await run(tool, params.arguments)

    return Server(
        "signoff",
        version=version,
        title="Signoff",
        instructions=INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


async def run(tool: Tool, arguments: object) -> types.CallToolResult:
    """Call the tool; what cannot be done is a result that says why."""
    try:
        found = tool.gives.dump_python(await tool.does(given.parse(tool.takes, arguments)), mode="json")
    except (PersonError, CommandError) as refused:
        return _refusal(str(refused))
    except DatabaseAway as away:  # the outage is logged once, by the database
        return _refusal(fault_text(away))
    except Exception as error:
        logger.exception("tool failed", extra={"tool": tool.name})
        return _refusal(fault_text(error))
    return types.CallToolResult(content=[_text(json.dumps(found, ensure_ascii=False))], structured_content=found)


def _without_titles(schema: Any) -> Any:
    """The schema without titles, which repeat the names of properties: each model that uses the tools reads it."""
    if isinstance(schema, dict):
        kept = schema.items()
        return {name: _without_titles(part) for name, part in kept if not (name == "title" and isinstance(part, str))}
    return [_without_titles(part) for part in schema] if isinstance(schema, list) else schema


def _refusal(sentence: str) -> types.CallToolResult:
    return types.CallToolResult(content=[_text(visible(sentence))], is_error=True)


def _text(text: str) -> types.TextContent:
    return types.TextContent(text=text)
