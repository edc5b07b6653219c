"""Stores installations by workspace in the database, encrypted with a key derived from the client secret."""

import base64
import hashlib
import json
import logging
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from cachetools import TTLCache
from cryptography.fernet import Fernet, InvalidToken
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from pydantic import TypeAdapter

from agent_core.model.channel_settings import NO_TOOLS_KEY
from agent_core.model.origin import Installation, whole_workspace
from agent_core.ports.clock import Clock
from agent_core.ports.database import Database, UnitOfWork, in_one_unit, queue_in_one_unit
from agent_core.ports.engine import NO_BROADCAST, Broadcast

logger = logging.getLogger(__name__)

ANY = "any"  # stands for every workspace that is not named
TOKEN_KEY_PURPOSE = b"signoff/slack/installations/1"
RENEWAL_CLAIM_SECONDS = 30  # a process that refreshes a token claims this time slot and the next
CACHE_TTL = timedelta(minutes=1)  # another process may have changed the row, and its message may be lost


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkspaceInstall:
    """An installation of Signoff. `workspace`: the team's id, or the organisation's for an org-wide installation.

    Without `expires_at` the token is valid until it is revoked. `enterprise`: the organisation's id, if there is one.
    """

    workspace: str
    team_name: str
    bot_token: str = field(repr=False)
    bot_user: str
    app_id: str = ""
    enterprise: str = ""
    is_enterprise: bool = False
    refresh_token: str = field(default="", repr=False)
    expires_at: datetime | None = None
    scopes: tuple[str, ...] = ()


_INSTALL = TypeAdapter(WorkspaceInstall)


class InstallationStore:
    """All installations of one Slack app. Rows encrypted under another client secret count as not installed.

    `allowed`: whether each workspace may use tools, by its id; others count as not installed. See `ANY`.
    """

    def __init__(
        self,
        *,
        database: Database,
        clock: Clock,
        client_secret: str,
        allowed: Mapping[str, bool],
        broadcast: Broadcast = NO_BROADCAST,
    ) -> None:
        self._database = database
        self._allowed = allowed
        self._broadcast = broadcast
        broadcast.subscribe("installation", lambda workspace: self._change(workspace, None))
        self._clock = clock
        self._seal = Fernet(base64.urlsafe_b64encode(derive_key(client_secret, TOKEN_KEY_PURPOSE)))
        self._known: TTLCache[str, WorkspaceInstall] = TTLCache(
            math.inf, CACHE_TTL.total_seconds(), timer=lambda: clock.now().timestamp()
        )
        self._changes = 0
        self._shut: set[str] = set()

    def allows(self, workspace: str) -> bool:
        """Whether the operator lets the workspace use Signoff."""
        return workspace in self._allowed or ANY in self._allowed

    async def settle_tools(self) -> None:
        """Save which workspaces may use tools, as the operator says now."""
        workspaces = [install.workspace for install in await self.every()]

        def act(work: UnitOfWork) -> None:
            for workspace in workspaces:
                self._settle_tools(work, workspace)

        await queue_in_one_unit(self._database, act)

    def _settle_tools(self, work: UnitOfWork, workspace: str) -> None:
        may_use = self._allowed.get(workspace, self._allowed.get(ANY, False))
        work.preferences.put(whole_workspace("slack", workspace), NO_TOOLS_KEY, "" if may_use else "no tools")

    async def get(self, workspace: str, *, anew: bool = False) -> WorkspaceInstall | None:
        """The workspace's installation, from the database or a cache of one minute; `anew` bypasses the cache."""
        if not anew and (known := self._known.get(workspace)):
            return known
        before = self._changes
        async with self._database.begin() as work:
            there = await work.installations.get("slack", workspace)
        found = self._opened(there)
        if self._changes == before:  # another task may have written a newer row meanwhile
            self._remember(workspace, found)
        return found

    async def every(self) -> tuple[WorkspaceInstall, ...]:
        """All installations that can be decrypted."""
        async with self._database.begin() as work:
            rows = await work.installations.of("slack")
        return tuple(install for install in map(self._opened, rows) if install)

    async def keep(self, install: WorkspaceInstall) -> None:
        """Insert or replace an installation."""
        sealed = self._sealed(install)

        def act(work: UnitOfWork) -> None:
            work.installations.put(sealed)
            self._settle_tools(work, install.workspace)

        await queue_in_one_unit(self._database, act)
        self._shut.discard(install.workspace)
        self._publish(install.workspace, install)

    async def renew(self, before: WorkspaceInstall, after: WorkspaceInstall) -> WorkspaceInstall | None:
        """Store `after` only if `before` is still stored (compare and swap); return what is stored afterwards."""

        async def act(work: UnitOfWork) -> WorkspaceInstall | None:
            there = await work.installations.get("slack", before.workspace)
            found = self._opened(there)
            if there is None or found != before:
                return found
            sealed = replace(self._sealed(after, self._seal.decrypt(there.sealed)), installed_at=there.installed_at)
            work.installations.put(sealed, replacing=there.sealed)
            return after

        kept = await in_one_unit(self._database, act)
        self._publish(before.workspace, kept)
        return kept

    async def may_renew(self, install: WorkspaceInstall) -> bool:
        """Reserve the refresh token for at least half a minute; return False if another process may be using it."""
        now = self._clock.now()
        turn = int(now.timestamp()) // RENEWAL_CLAIM_SECONDS
        name = f"slack/renewal/{hashlib.sha256(install.refresh_token.encode()).hexdigest()}"

        async def act(work: UnitOfWork) -> bool:
            is_free = await work.deliveries.first_time(f"{name}/{turn}", now)
            if is_free:
                await work.deliveries.first_time(f"{name}/{turn + 1}", now)
            return is_free

        return await in_one_unit(self._database, act)

    async def forget(self, workspace: str) -> None:
        """Remove an installation after the workspace uninstalled Signoff."""
        await queue_in_one_unit(self._database, lambda work: work.installations.remove("slack", workspace))
        self._publish(workspace, None)

    def _remember(self, workspace: str, install: WorkspaceInstall | None) -> None:
        self._known.pop(workspace, None)
        if install:
            self._known[workspace] = install

    def _publish(self, workspace: str, install: WorkspaceInstall | None) -> None:
        """Remember a change that was saved here; the other processes forget what they know."""
        self._change(workspace, install)
        self._broadcast.publish("installation", workspace)

    def _change(self, workspace: str, install: WorkspaceInstall | None) -> None:
        self._changes += 1
        self._remember(workspace, install)

    def _sealed(self, install: WorkspaceInstall, before: bytes = b"{}") -> Installation:
        """The encrypted installation. `before`: its JSON as stored so far, whose fields of a newer release stay."""
        now = self._clock.now()
        content = json.dumps({**json.loads(before), **_INSTALL.dump_python(install, mode="json")})
        text = self._seal.encrypt_at_time(content.encode(), int(now.timestamp())).decode()
        return Installation(
            surface="slack", workspace=install.workspace, name=install.team_name, sealed=text, installed_at=now
        )

    def _opened(self, there: Installation | None) -> WorkspaceInstall | None:
        if there is None or not self.allows(there.workspace):
            return None
        try:
            install = _INSTALL.validate_json(self._seal.decrypt(there.sealed))
        except (InvalidToken, ValueError):  # pydantic's message quotes the decrypted content, so it is dropped
            install = None
        if install and install.workspace == there.workspace:
            return install
        if there.workspace not in self._shut:
            self._shut.add(there.workspace)
            logger.error(
                "an installation cannot be decrypted: was SLACK_CLIENT_SECRET changed?",
                extra={"workspace": there.workspace},
            )
        return None


def derive_key(secret: str, purpose: bytes) -> bytes:
    """Derive a 32-byte key for one purpose by HKDF-SHA256."""
    return HKDF(algorithm=SHA256(), length=32, salt=None, info=purpose).derive(secret.encode())
