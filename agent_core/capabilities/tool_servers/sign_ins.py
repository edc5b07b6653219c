"""Keeps sign-ins at tool servers: their tokens, encrypted in the database, which all processes read and renew in turn.

Nothing of the SDK is imported here.
"""

import base64
import hashlib
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from datetime import datetime

from cryptography.fernet import Fernet, InvalidToken
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from agent_core.model.origin import Installation
from agent_core.ports.clock import Clock
from agent_core.ports.database import Database, UnitOfWork, in_one_unit, queue_in_one_unit
from agent_core.ports.tool_servers import AskPerson

KEY_PURPOSE = b"signoff/mcp/sign-ins/1"
RENEWAL_SECONDS = 30  # a process that renews a token claims this time slot and the next


@dataclass(frozen=True, slots=True, kw_only=True)
class SignIn:
    """A sign-in at the server of this address. `client`, `tokens`, `metadata`: JSON as the SDK has it.

    `expires_at`: when the access token does, in seconds since 1970; None if it does not.
    """

    url: str
    client: str = field(repr=False)
    tokens: str = field(repr=False)
    metadata: str = ""
    expires_at: float | None = None

    @property
    def secrets(self) -> tuple[str, ...]:
        """The tokens, and the secret of the client."""
        parts = {**json.loads(self.tokens), **json.loads(self.client)}
        return tuple(str(parts[name]) for name in ("access_token", "refresh_token", "client_secret") if parts.get(name))


class SignInStore:
    """The sign-ins of all servers. What was encrypted by another key counts as not there."""

    def __init__(self, database: Database, clock: Clock, key: str) -> None:
        self._database, self._clock = database, clock
        derived = HKDF(algorithm=SHA256(), length=32, salt=None, info=KEY_PURPOSE).derive(key.encode())
        self._seal = Fernet(base64.urlsafe_b64encode(derived))

    async def get(self, server: str, url: str) -> SignIn | None:
        """The sign-in at this server; None if there is none, or if the server had another address then."""
        async with self._database.begin() as work:
            there = await work.installations.get("mcp", server)
        try:
            found = SignIn(**json.loads(self._seal.decrypt(there.sealed))) if there else None
        except (InvalidToken, ValueError, TypeError):
            return None
        return found if found and found.url == url else None

    async def put(self, server: str, sign_in: SignIn) -> None:
        """Insert or replace it."""
        kept = self._sealed(server, sign_in, self._clock.now())
        await queue_in_one_unit(self._database, lambda work: work.installations.put(kept))

    async def renew(self, server: str, sign_in: SignIn) -> bool:
        """Replace it; return False, and store nothing, if it was forgotten meanwhile."""
        now = self._clock.now()
        kept = self._sealed(server, sign_in, now)

        async def act(work: UnitOfWork) -> bool:
            is_there = await work.installations.get("mcp", server) is not None
            if is_there:
                work.installations.put(kept)
            return is_there

        return await in_one_unit(self._database, act)

    async def forget(self, server: str) -> bool:
        """Remove it; return whether there was one."""

        async def act(work: UnitOfWork) -> bool:
            there = await work.installations.get("mcp", server)
            work.installations.remove("mcp", server)
            return there is not None

        return await in_one_unit(self._database, act)

    def _sealed(self, server: str, sign_in: SignIn, now: datetime) -> Installation:
        sealed = self._seal.encrypt_at_time(json.dumps(asdict(sign_in)).encode(), int(now.timestamp())).decode()
        return Installation(surface="mcp", workspace=server, name=server, sealed=sealed, installed_at=now)

    async def may_renew(self, token: str) -> bool:
        """Reserve a refresh token for at least half a minute; return False if another process may be using it."""
        now = self._clock.now()
        slot = int(now.timestamp()) // RENEWAL_SECONDS
        name = f"mcp/renewal/{hashlib.sha256(token.encode()).hexdigest()}"

        async def act(work: UnitOfWork) -> bool:
            is_free = await work.deliveries.first_time(f"{name}/{slot}", now)
            if is_free:
                await work.deliveries.first_time(f"{name}/{slot + 1}", now)
            return is_free

        return await in_one_unit(self._database, act)


def ignore_tokens(_secrets: tuple[str, ...]) -> None:
    """Nobody wants to know."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SignIns:
    """What connections need for sign-ins.

    `ask_person`: has somebody open an address in a browser, and returns with what it came back to `came_back_to`; None
    where nobody can be asked, so that a server that needs a sign-in is away.
    `use_tokens`: is told the secrets of each sign-in that is used, so that they can be kept out of what people see.
    `is_anew`: what is stored is not used; it is replaced when there is something new.
    """

    store: SignInStore
    clock: Clock
    ask_person: AskPerson | None = None
    came_back_to: str = "http://127.0.0.1/signed-in"
    use_tokens: Callable[[tuple[str, ...]], None] = ignore_tokens
    is_anew: bool = False
