"""The settings of tool servers (MCP): the file that lists them, the limit of calls, and the key for sign-ins."""

from typing import ClassVar

from agent_core.capabilities.declaring import SettingsGroup, needs_extra, refuse_if, setting
from agent_core.capabilities.setting_types import Seconds, Secret
from agent_core.capabilities.tool_servers.server_file import ToolServers

KEY_LENGTH = 16
NO_SIGN_IN_KEY = "must be set, to 16 characters or more: the servers with oauth in MCP_SERVERS need it ({})."


class ToolServerSettings(SettingsGroup):
    """The file that lists the tool servers, and what their calls and sign-ins need."""

    title: ClassVar[str] = "Tool servers"

    mcp_servers: ToolServers | None = setting(
        None,
        "A file that lists tool servers (MCP) in the form that other clients use. Their tools become commands of "
        "agents. Programs in this file run with Signoff's own rights. It needs the extra mcp.",
        example="/etc/signoff/mcp.json",
    )
    mcp_sign_in_key: Secret = setting(
        "",
        "Encrypts the tokens from `sign-in` at tool servers with oauth. All processes need the same key; after a "
        "change, sign in again.",
        rule="16 characters or more, without blanks",
        example="choose-16-or-more-characters",
    )
    mcp_seconds: Seconds = setting(60, "The most seconds that a call of a tool server may take.", example="120")

    def check(self) -> None:
        needing = ", ".join(self.mcp_servers.with_sign_in) if self.mcp_servers else ""
        is_short = len(self.mcp_sign_in_key) < KEY_LENGTH
        refuse_if(needing and is_short, "mcp_sign_in_key", NO_SIGN_IN_KEY.format(needing))
        needs_extra(self.mcp_servers, "mcp_servers", "mcp", "mcp")
