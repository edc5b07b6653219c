"""A tool server of the lower level that has resources and no tools."""

import asyncio

import mcp_types as types
from mcp.server import Server, ServerRequestContext
from mcp.server.stdio import stdio_server

GREEN = types.Resource(name="green", uri="tea://green")


async def list_resources(
    _context: ServerRequestContext, _params: types.PaginatedRequestParams | None
) -> types.ListResourcesResult:
    return types.ListResourcesResult(resources=[GREEN])


async def run() -> None:
    server = Server("library", on_list_resources=list_resources)
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


if __name__ == "__main__":
    asyncio.run(run())
