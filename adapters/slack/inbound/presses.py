"""Takes presses of buttons to their listeners, around Bolt, which took a sixth of a press.

All else that Slack sends goes through Bolt. The signature was checked before (`signature.py`).
"""

import json
from dataclasses import dataclass, field
from typing import Any, cast

from slack_bolt.adapter.socket_mode.aiohttp import AsyncSocketModeHandler
from slack_sdk.socket_mode.aiohttp import SocketModeClient
from slack_sdk.socket_mode.request import SocketModeRequest
from slack_sdk.socket_mode.response import SocketModeResponse
from yarl import query_to_pairs

from adapters.slack.api.tokens import SlackTokens
from adapters.slack.inbound.clicks import SlackClickListener
from adapters.slack.inbound.context import SlackContext
from adapters.slack.inbound.direct_messages import SlackDirectListener, channel_in
from adapters.slack.inbound.home import HomeTab
from adapters.slack.inbound.inbound_event import Body, workspaces_in
from adapters.slack.install.installations import WorkspaceInstall
from adapters.slack.outbound.controls import PREFIX


@dataclass(slots=True, kw_only=True)
class PressRouter:
    """Chooses the listener by where the button stands: on a card, in a direct message, on the Home tab or in a view."""

    context: SlackContext
    home: HomeTab
    clicks: SlackClickListener = field(init=False)
    direct: SlackDirectListener = field(init=False)

    def __post_init__(self) -> None:
        self.clicks = SlackClickListener(self.context)
        self.direct = SlackDirectListener(self.context)

    async def take(self, body: Body | None) -> bool:
        """Carry out a press of a button of Signoff's, to be acknowledged now.

        Return False for everything else, and if Signoff is not installed in the workspace: Bolt says so.
        """
        if body is None or not is_press(body):
            return False
        install = await find_install(self.context.calls.tokens, body)
        if install is None:
            return False
        if (body.get("container") or {}).get("type") == "view":
            await self.home.press(body, install.workspace)
        elif channel := channel_in(body):
            await self.direct.press(body, install.workspace, channel)
        else:
            await self.clicks.press(body, install.workspace)
        return True


class SocketHandler(AsyncSocketModeHandler):
    """Slack's handler of Socket Mode, with presses taken first."""

    presses: PressRouter

    async def handle(self, client: SocketModeClient, req: SocketModeRequest) -> None:  # type: ignore[override]
        if await self.presses.take(req.payload):
            await client.send_socket_mode_response(SocketModeResponse(envelope_id=req.envelope_id))
        else:
            await super().handle(client, req)


def read_interaction(form: bytes) -> Body | None:
    """The payload of a press or a submitted form, as it comes by HTTP; None for other requests."""
    if not form.startswith(b"payload="):
        return None
    try:
        read: Any = json.loads(dict(query_to_pairs(form.decode()))["payload"])
    except (ValueError, KeyError):
        return None
    return cast("Body", read) if isinstance(read, dict) else None


def is_press(body: Body) -> bool:
    """Whether the payload is a press of a button of Signoff's, or a choice in one of its menus."""
    if body.get("type") != "block_actions":
        return False
    return any(str(action.get("action_id") or "").startswith(PREFIX) for action in (body.get("actions") or ())[:1])


async def find_install(tokens: SlackTokens, body: Body) -> WorkspaceInstall | None:
    """The installation that the payload is for, without a call to Slack."""
    for workspace in dict.fromkeys(workspaces_in(body)):
        if install := await tokens.source.install(workspace):
            return install
    return None
