"""Signoff as an MCP server: other programs list, make, read and wait for agents. None of its tools decides anything."""
