"""Token rotation: refreshes tokens before they expire, one refresh at a time across tasks and processes.

A refresh token works once: of two processes that use it, Slack refuses one.
"""

import asyncio
import logging
from dataclasses import replace
from datetime import timedelta

from adapters.slack.api.web_api import API_TIMEOUT_SECONDS, SlackClients, SlackRefused, exchange, require_success
from adapters.slack.install.installations import RENEWAL_CLAIM_SECONDS, InstallationStore, WorkspaceInstall
from agent_core.errors import DatabaseAway, SurfaceBusy
from agent_core.ports.clock import Clock

logger = logging.getLogger(__name__)

RENEW_BEFORE_EXPIRY = timedelta(hours=2)  # as in Slack's own SDKs; a token is valid for twelve hours
MAX_SAVE_TRIES = 60


class Rotation:
    """Refreshes tokens that expire soon. While refreshes fail, the old token is used until it expires."""

    def __init__(
        self, installed: InstallationStore, clock: Clock, api: SlackClients, client_id: str, client_secret: str
    ) -> None:
        self._installed = installed
        self._clock = clock
        self._api = api
        self._app = {"client_id": client_id, "client_secret": client_secret}
        self._running: dict[str, asyncio.Task[WorkspaceInstall | None]] = {}
        self._refused: dict[str, WorkspaceInstall] = {}

    async def prepare(self) -> None:
        """Do nothing: each installation is read when it is needed."""

    async def install(self, workspace: str) -> WorkspaceInstall | None:
        return await self._installed.get(workspace)

    async def every(self) -> tuple[WorkspaceInstall, ...]:
        return await self._installed.every()

    async def valid(self, workspace: str) -> WorkspaceInstall | None:
        """Return the installation, refreshed if due. Cancelling the caller does not cancel the refresh."""
        install = await self._installed.get(workspace)
        if install is None or not self._is_due(install):
            return install and self._unexpired(install)
        if workspace not in self._running:
            task = asyncio.create_task(self._renew(workspace))
            self._running[workspace] = task
            task.add_done_callback(lambda done: self._end(workspace, done))
        return await asyncio.shield(self._running[workspace])

    async def close(self) -> None:
        """Wait for running refreshes: a new token that is not saved is lost."""
        if tasks := tuple(self._running.values()):
            await asyncio.wait(tasks, timeout=2 * API_TIMEOUT_SECONDS)
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)

    async def _renew(self, workspace: str) -> WorkspaceInstall | None:
        install = await self._installed.get(workspace, anew=True)
        if install is None or not self._is_due(install):
            return install and self._unexpired(install)
        if not await self._installed.may_renew(install):
            return self._still_valid(install)
        try:
            after = await self._ask(install)
        except SurfaceBusy:
            logger.warning("token refresh failed", extra={"workspace": workspace})
            return self._still_valid(install)
        except SlackRefused as refusal:
            return await self._handle_refusal(install, refusal)
        return await self._save(install, after)

    async def _ask(self, install: WorkspaceInstall) -> WorkspaceInstall:
        refresh = {"grant_type": "refresh_token", "refresh_token": install.refresh_token}
        told = await require_success(exchange(self._api.client(), **self._app, **refresh))
        return replace(
            install,
            bot_token=str(told["access_token"]),
            refresh_token=str(told.get("refresh_token") or install.refresh_token),
            expires_at=self._clock.now() + timedelta(seconds=int(told.get("expires_in") or 0)),
        )

    async def _handle_refusal(self, install: WorkspaceInstall, refusal: SlackRefused) -> WorkspaceInstall | None:
        kept = await self._installed.get(install.workspace, anew=True)
        if kept != install:
            return kept
        self._refused[install.workspace] = install
        facts = {"workspace": install.workspace, "answer": refusal.error}
        logger.warning("Slack refused a token refresh", extra=facts)
        return self._unexpired(install)

    async def _save(self, before: WorkspaceInstall, after: WorkspaceInstall) -> WorkspaceInstall | None:
        for _ in range(MAX_SAVE_TRIES - 1):
            try:
                return await self._installed.renew(before, after)
            except DatabaseAway:
                await self._clock.sleep(1)  # Slack has revoked the old refresh token: only this process has the new one
        return await self._installed.renew(before, after)

    def _is_due(self, install: WorkspaceInstall) -> bool:
        if install.expires_at is None or not install.refresh_token or self._refused.get(install.workspace) == install:
            return False
        return install.expires_at - self._clock.now() < RENEW_BEFORE_EXPIRY

    def _unexpired(self, install: WorkspaceInstall) -> WorkspaceInstall | None:
        return install if install.expires_at is None or install.expires_at > self._clock.now() else None

    def _still_valid(self, install: WorkspaceInstall) -> WorkspaceInstall:
        if self._unexpired(install) is None:
            raise SurfaceBusy("Slack has not renewed this workspace's token yet.", RENEWAL_CLAIM_SECONDS)
        return install

    def _end(self, workspace: str, done: asyncio.Task[WorkspaceInstall | None]) -> None:
        del self._running[workspace]
        if not done.cancelled():
            done.exception()  # callers that waited have raised it; without any, it needs no log
