"""What ties a person who comes back from Slack to the browser and the moment they left for it."""

import hashlib
import hmac
import logging
import secrets
from datetime import UTC, datetime
from typing import Any

from slack_sdk.oauth import OAuthStateUtils
from slack_sdk.oauth.state_store.async_state_store import AsyncOAuthStateStore

from adapters.slack.install.installations import derived
from agent_core.ports.database import Database, UnitOfWork, in_one_unit
from agent_core.ports.world import Clock

logger = logging.getLogger(__name__)

COOKIE = "signoff_slack_state"
SECONDS = 600
STATES = b"signoff/slack/states/1"


class OAuthStates(AsyncOAuthStateStore):
    """What Slack brings back with a person: ours by its signature, for ten minutes, and once."""

    def __init__(self, *, database: Database, clock: Clock, client_secret: str) -> None:
        self._database = database
        self._clock = clock
        self._key = derived(client_secret, STATES)

    @property
    def logger(self) -> logging.Logger:
        """Where Bolt logs."""
        return logger

    async def async_issue(self, *args: Any, **kwargs: Any) -> str:
        """A new one."""
        said = f"{secrets.token_urlsafe(16)}.{int(self._clock.now().timestamp()) + SECONDS}"
        return f"{said}.{self._signature(said)}"

    async def async_consume(self, state: str) -> bool:
        """Whether it is to be believed; not a second time."""
        said, _, signature = state.rpartition(".")
        if not hmac.compare_digest(self._signature(said).encode(), signature.encode(errors="replace")):
            return False
        now = self._clock.now()
        if now >= datetime.fromtimestamp(int(said.rpartition(".")[2]), UTC):
            return False

        async def act(work: UnitOfWork) -> bool:
            return await work.deliveries.first_time(f"slack/state/{said}", now)

        return await in_one_unit(self._database, act)

    def _signature(self, said: str) -> str:
        return hmac.new(self._key, said.encode(errors="replace"), hashlib.sha256).hexdigest()


class StateCookie(OAuthStateUtils):
    """The state in the browser that asked for it. Slack sends it back by a link, so Lax lets it through."""

    def __init__(self, *, is_secure: bool) -> None:
        super().__init__(cookie_name=COOKIE, expiration_seconds=SECONDS)
        self._rules = "Path=/; HttpOnly; SameSite=Lax" + ("; Secure" if is_secure else "")

    def build_set_cookie_for_new_state(self, state: str) -> str:
        """Keep it as long as it counts."""
        return f"{self.cookie_name}={state}; Max-Age={self.expiration_seconds}; {self._rules}"

    def build_set_cookie_for_deletion(self) -> str:
        """Drop it."""
        return f"{self.cookie_name}=deleted; Max-Age=0; {self._rules}"
