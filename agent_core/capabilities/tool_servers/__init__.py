"""Tool servers that speak MCP."""
