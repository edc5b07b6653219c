"""Routes Slack's requests to listeners; handles Stop and uninstalls; finds installations; has the scopes."""

import logging
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from slack_bolt.async_app import AsyncApp
from slack_bolt.authorization import AuthorizeResult
from slack_bolt.authorization.async_authorize import AsyncAuthorize
from slack_bolt.context.async_context import AsyncBoltContext

from adapters.chat.refusals import RefusedAction, attempt
from adapters.slack.api.tokens import SlackTokens
from adapters.slack.inbound.clicks import SlackClickListener
from adapters.slack.inbound.context import Ack, SlackContext, thread_of
from adapters.slack.inbound.direct_messages import SlackDirectListener, channel_in
from adapters.slack.inbound.home import HomeTab
from adapters.slack.inbound.inbound_event import Body, SlackEvent, of_event, workspaces_in
from adapters.slack.inbound.messages import SlackMessageListener
from adapters.slack.inbound.modals import SlackModalListener
from adapters.slack.inbound.slash import SlackSlashListener
from adapters.slack.install.installations import InstallationStore, WorkspaceInstall
from agent_core.model.agent import Agent

logger = logging.getLogger(__name__)

COMMAND = "/agent"
OUR_ACTIONS = re.compile(r"signoff\..+")
INSTALL_KEY = "signoff_install"
# The scopes that Signoff requests; `manifest.yml` and the install page list exactly these.
SCOPES = (
    "app_mentions:read",
    "assistant:write",
    "channels:history",
    "channels:read",
    "chat:write",
    "chat:write.customize",
    "commands",
    "files:read",
    "files:write",
    "groups:history",
    "groups:read",
    "im:history",
    "im:write",
    "reactions:write",
    "usergroups:read",
    "users:read",
)


@dataclass(slots=True, kw_only=True)
class EventRouter:
    """Registers the listeners with Bolt. `manifest.yml` subscribes to the events in `by_name`."""

    context: SlackContext
    messages: SlackMessageListener
    installed: InstallationStore | None
    home: HomeTab = field(init=False)

    def __post_init__(self) -> None:
        self.home = HomeTab(self.context)

    def listen(self, app: AsyncApp) -> None:
        forms, slash = SlackModalListener(self.context), SlackSlashListener(self.context)
        # Bolt asks each listener in turn, so those that people wait for come first.
        app.action(OUR_ACTIONS)(_acknowledging(self._press))
        app.view(OUR_ACTIONS)(_acknowledging(forms.submit))
        app.command(COMMAND)(_acknowledging(slash.run))
        for name, listener in self.by_name.items():
            app.event(name)(_of_workspace(listener))

    @property
    def by_name(self) -> dict[str, Callable[[Body, str], Awaitable[None]]]:
        return {
            "message": self._message,
            "app_mention": self._message,
            "app_home_opened": self.home.on_opened,
            "agent_session_stopped": self._on_stopped,
            "user_change": self._person,
            "team_join": self._person,
            "app_uninstalled": lambda _, workspace: self._forget(workspace),
            "tokens_revoked": self._on_revoked,
        }

    async def _press(self, ack: Ack, body: Body, workspace: str) -> None:
        """Carry out a press on the Home tab or in a view, in a direct message, or on a card; then acknowledge it."""
        if (body.get("container") or {}).get("type") == "view":
            await self.home.press(body, workspace)
        elif channel := channel_in(body):
            await SlackDirectListener(self.context).press(body, workspace, channel)
        else:
            await SlackClickListener(self.context).press(body, workspace)
        await ack()

    async def _message(self, body: Body, workspace: str) -> None:
        await self.messages.take(body["event"], workspace)

    async def _on_stopped(self, body: Body, workspace: str) -> None:
        """Handle a click on Slack's own Stop button: stop the agent, as Signoff's Stop button does."""
        event = of_event(body, workspace)
        agent = await self.context.views.in_thread(thread_of(event))
        if agent is None:
            return
        if isinstance(refusal := await attempt(self._stop(agent, event)), RefusedAction):
            self.context.soon(self.context.tell(event, refusal.text))
        self.context.surface.forget_status(agent)
        await self.context.surface.status(await self.context.views.agent(agent.channel, agent.id))

    async def _stop(self, agent: Agent, event: SlackEvent) -> None:
        await self.context.service.lifecycle.stop(agent.id, await self.context.origin(event))

    async def _person(self, body: Body, workspace: str) -> None:
        self.context.directory.learn_change(workspace, body["event"]["user"])

    async def _forget(self, workspace: str) -> None:
        logger.warning("removed from a workspace", extra={"workspace": workspace})
        if self.installed:
            await self.installed.forget(workspace)

    async def _on_revoked(self, body: Body, workspace: str) -> None:
        if body["event"].get("tokens", {}).get("bot"):
            await self._forget(workspace)


class SlackAuthorizer(AsyncAuthorize):
    """Finds the installation for a request, without a call to Slack."""

    def __init__(self, tokens: SlackTokens) -> None:
        self._tokens = tokens

    async def find(self, body: dict[str, Any], context: dict[str, Any], next_: Callable[[], Awaitable[None]]) -> None:
        """Put the workspace's installation into Bolt's context, if one is found."""
        for workspace in dict.fromkeys(workspaces_in(body)):
            if install := await self._tokens.source.install(workspace):
                context[INSTALL_KEY] = install
                break
        await next_()

    async def __call__(self, *, context: AsyncBoltContext, **_told: Any) -> AuthorizeResult | None:
        """Return the installation to Bolt; None rejects the request."""
        install: WorkspaceInstall | None = context.get(INSTALL_KEY)
        if install is None:
            return None
        return AuthorizeResult(
            enterprise_id=install.enterprise or None,
            team_id=install.workspace,
            bot_user_id=install.bot_user,
            bot_token=install.bot_token,
        )


def _of_workspace(listener: Callable[[Body, str], Awaitable[None]]) -> Callable[..., Awaitable[None]]:
    async def listen(body: dict[str, Any], context: dict[str, Any]) -> None:
        await listener(body, context[INSTALL_KEY].workspace)

    return listen


def _acknowledging(listener: Callable[[Ack, Body, str], Awaitable[None]]) -> Callable[..., Awaitable[None]]:
    async def listen(ack: Ack, body: dict[str, Any], context: dict[str, Any]) -> None:
        await listener(ack, body, context[INSTALL_KEY].workspace)

    return listen
