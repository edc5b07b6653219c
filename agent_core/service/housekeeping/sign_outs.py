"""Records who signed out of the local workspace: a copy of their cookie is worth nothing from then on."""

from dataclasses import dataclass

from agent_core.model.origin import ChannelScope
from agent_core.ports.database import Database, UnitOfWork, in_one_unit

SCOPE = ChannelScope("web", "local", "")
SIGNED_OUT = "signed out "  # begins the keys, which end with the person's id


@dataclass(frozen=True, slots=True)
class SignOuts:
    """People who signed out; they come back as new people."""

    database: Database

    async def has(self, person_id: str) -> bool:
        """Whether this person signed out; raise DatabaseAway."""
        async with self.database.begin() as work:
            return bool(await work.preferences.get(SCOPE, f"{SIGNED_OUT}{person_id}"))

    async def add(self, person_id: str) -> None:
        """Sign this person out, in every browser."""

        async def act(work: UnitOfWork) -> None:
            work.preferences.put(SCOPE, f"{SIGNED_OUT}{person_id}", "yes")

        await in_one_unit(self.database, act)
