"""Wrong entries of the file MCP_SERVERS are named by file, server and key."""

import json
from pathlib import Path
from typing import Any

import pytest

from agent_core.capabilities.tool_servers.server_file import read_tool_servers


@pytest.mark.parametrize(
    ("entry", "key"),
    [
        ({"url": "http://mcp.example.com:99999/mcp"}, "url"),
        ({"url": "http://mcp.example.com:tea/mcp"}, "url"),
        ({"url": "http://[::1/mcp"}, "url"),
        ({"command": "x", "env": {"A=B": "x"}}, "env"),
        ({"command": "x", "env": {"A": "x\0y"}}, "env"),
        ({"url": "http://a/mcp", "headers": {"X-A": "a\r\nX-B: b"}}, "headers"),
        ({"url": "http://a/mcp", "headers": {"X-A": "\u2615"}}, "headers"),
    ],
)
def test_a_wrong_entry_is_named_with_its_key(tmp_path: Path, entry: dict[str, Any], key: str) -> None:
    file = tmp_path / "mcp.json"
    file.write_text(json.dumps({"mcpServers": {"tea": entry}}))
    with pytest.raises(ValueError) as wrong:  # noqa: PT011
        read_tool_servers(file, {})
    assert (str(file) in str(wrong.value), f"'tea' · {key}" in str(wrong.value)) == (True, True), str(wrong.value)
