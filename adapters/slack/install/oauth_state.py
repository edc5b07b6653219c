"""The OAuth state: ties the redirect from Slack to the browser that started the installation."""

import base64
import logging
import secrets
from typing import Any

from cryptography.fernet import Fernet, InvalidToken
from slack_sdk.oauth import OAuthStateUtils
from slack_sdk.oauth.state_store.async_state_store import AsyncOAuthStateStore

from adapters.slack.install.installations import derive_key
from agent_core.ports.clock import Clock
from agent_core.ports.database import Database, UnitOfWork, in_one_unit

logger = logging.getLogger(__name__)

COOKIE_NAME = "signoff_slack_state"
STATE_TTL_SECONDS = 600
NONCE_BYTES = 32  # a state of 140 characters, without padding
STATE_KEY_PURPOSE = b"signoff/slack/states/1"


class OAuthStates(AsyncOAuthStateStore):
    """Issues and checks OAuth states: encrypted, valid for ten minutes, usable once."""

    def __init__(self, *, database: Database, clock: Clock, client_secret: str) -> None:
        self._database = database
        self._clock = clock
        self._fernet = Fernet(base64.urlsafe_b64encode(derive_key(client_secret, STATE_KEY_PURPOSE)))

    @property
    def logger(self) -> logging.Logger:
        return logger

    async def async_issue(self, *args: Any, **kwargs: Any) -> str:
        return self._fernet.encrypt_at_time(secrets.token_bytes(NONCE_BYTES), self._now).decode()

    async def async_consume(self, state: str) -> bool:
        """Whether the state is valid and unused; marks it as used."""
        try:
            nonce = self._fernet.decrypt_at_time(state.encode(errors="replace"), STATE_TTL_SECONDS - 1, self._now)
        except InvalidToken:
            return False

        async def act(work: UnitOfWork) -> bool:
            return await work.deliveries.first_time(f"slack/state/{nonce.hex()}", self._clock.now())

        return await in_one_unit(self._database, act)

    @property
    def _now(self) -> int:
        return int(self._clock.now().timestamp())


class StateCookie(OAuthStateUtils):
    """The cookie with the OAuth state. The browser returns from Slack by a redirect (GET), so SameSite=Lax suffices."""

    def __init__(self, *, is_secure: bool) -> None:
        super().__init__(cookie_name=COOKIE_NAME, expiration_seconds=STATE_TTL_SECONDS)
        self._rules = "Path=/; HttpOnly; SameSite=Lax" + ("; Secure" if is_secure else "")

    def build_set_cookie_for_new_state(self, state: str) -> str:
        return f"{self.cookie_name}={state}; Max-Age={self.expiration_seconds}; {self._rules}"

    def build_set_cookie_for_deletion(self) -> str:
        return f"{self.cookie_name}=deleted; Max-Age=0; {self._rules}"
