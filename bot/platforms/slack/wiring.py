"""Builds Slack's surface and listeners from the settings. Imported only by processes that serve Slack."""

from dataclasses import dataclass
from functools import partial
from typing import Self

from slack_bolt.oauth.async_oauth_flow import AsyncOAuthFlow
from yarl import URL

from adapters.chat.background import BackgroundTasks
from adapters.chat.catchup import CatchUp
from adapters.chat.joined_cards import JoinedCards
from adapters.chat.standing import StandingLines
from adapters.slack.api.client import SlackApi
from adapters.slack.api.directory import SlackDirectory
from adapters.slack.api.tokens import SlackTokens
from adapters.slack.api.web_api import SLACK_API
from adapters.slack.connection import SlackConnection
from adapters.slack.inbound.context import SlackContext
from adapters.slack.inbound.downloads import SlackDownloads
from adapters.slack.inbound.messages import SlackMessageListener
from adapters.slack.inbound.routing import SCOPES, EventRouter
from adapters.slack.install.installations import InstallationStore
from adapters.slack.install.oauth import SlackApp, oauth_flow
from adapters.slack.outbound.surface import SlackSurface
from adapters.typed.actions import ActionDispatcher
from agent_core.assembly import Core
from agent_core.service.agent_settings import groups_of_policy
from agent_core.service.housekeeping.inbound_log import InboundLog
from agent_core.service.reading.thread_turns import ThreadTurns
from bot.platforms.platform import PlatformParts
from bot.settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class WiredSlack:
    """The surface of Slack; `connect` adds the listeners."""

    settings: Settings
    parts: PlatformParts
    installed: InstallationStore | None
    surface: SlackSurface

    @classmethod
    def of(cls, settings: Settings, parts: PlatformParts) -> Self:
        """Build the surface for one workspace by its bot token, or for many by the app's client id."""
        soon, base_url = BackgroundTasks(), settings.slack_api_url or SLACK_API
        database, clock = parts.database, parts.clock
        secret = settings.slack_client_secret.get_secret_value()
        installed = None
        if secret:
            installed = InstallationStore(
                database=database,
                clock=clock,
                client_secret=secret,
                allowed=settings.slack_allowed_workspaces,
                broadcast=parts.broadcast,
            )
            client_id = settings.slack_client_id
            tokens = SlackTokens.many(
                installed=installed, clock=clock, client_id=client_id, client_secret=secret, base_url=base_url
            )
        else:
            tokens = SlackTokens.single(bot_token=settings.slack_bot_token.get_secret_value(), base_url=base_url)
        calls = SlackApi(tokens=tokens, clock=clock, telemetry=parts.telemetry)
        directory = SlackDirectory(
            calls=calls,
            soon=soon,
            clock=clock,
            broadcast=parts.broadcast,
            groups_in=partial(groups_of_policy, database),
        )
        surface = SlackSurface(
            calls=calls,
            soon=soon,
            clock=clock,
            model=parts.model,
            directory=directory,
            cards=JoinedCards(turns=ThreadTurns(parts.database), folds=settings.fold_finished_turns),
            standing=StandingLines(parts.workspaces),
            continuous_limit=settings.continuous_limit,
        )
        return cls(settings=settings, parts=parts, installed=installed, surface=surface)

    def connect(self, actions: ActionDispatcher, core: Core) -> SlackConnection:
        calls, clock = self.surface.calls, self.parts.clock
        context = SlackContext(
            actions=actions,
            service=core.service,
            views=core.views,
            drafting=core.drafting,
            uploads=core.uploads,
            tour=core.tour,
            templates=self.parts.templates,
            inbound_log=InboundLog(self.parts.database, clock),
            surface=self.surface,
            directory=self.surface.directory,
            calls=calls,
            soon=self.surface.soon,
            clock=clock,
        )
        downloads = SlackDownloads(calls, URL(calls.tokens.base_url).origin())
        messages = SlackMessageListener(context, downloads)
        return SlackConnection(
            context=context,
            events=EventRouter(context=context, messages=messages, installed=self.installed),
            catch_up=CatchUp(surface="slack", context=context, read_thread=messages.read_thread),
            signing_secret=self.settings.slack_signing_secret.get_secret_value(),
            app_token=self.settings.slack_app_token.get_secret_value(),
            oauth=self._flow(),
        )

    async def close(self) -> None:
        await self.surface.soon.close()
        await self.surface.calls.tokens.close()

    def _flow(self) -> AsyncOAuthFlow | None:
        if self.installed is None:
            return None
        app = SlackApp(
            client_id=self.settings.slack_client_id,
            client_secret=self.settings.slack_client_secret.get_secret_value(),
            scopes=SCOPES,
            public_url=self.settings.public_url,
        )
        tokens, parts = self.surface.calls.tokens, self.parts
        return oauth_flow(app, installed=self.installed, tokens=tokens, database=parts.database, clock=parts.clock)
