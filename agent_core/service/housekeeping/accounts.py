"""Keeps what the provider said of each person of the page at their last sign-in: their name and groups."""

import json
from dataclasses import dataclass

from agent_core.errors import NotFound
from agent_core.model.origin import Actor
from agent_core.ports.database import Database, UnitOfWork, in_one_unit
from agent_core.service.housekeeping.sign_outs import SCOPE

ACCOUNT = "account "  # begins the keys, which end with the person's id


@dataclass(frozen=True, slots=True)
class Accounts:
    """People who signed in to the local workspace."""

    database: Database

    async def save(self, person: Actor) -> None:
        """Keep the person's present name and groups; raise DatabaseAway."""

        async def act(work: UnitOfWork) -> None:
            said = json.dumps([person.display, *person.groups])
            work.preferences.put(SCOPE, f"{ACCOUNT}{person.id}", said)

        await in_one_unit(self.database, act)

    async def find(self, person_id: str) -> Actor:
        """The person with the name and groups of their last sign-in; raise NotFound, DatabaseAway."""
        async with self.database.begin() as work:
            said = await work.preferences.get(SCOPE, f"{ACCOUNT}{person_id}")
        if said is None:
            raise NotFound("person", person_id)
        display, *groups = json.loads(said)
        return Actor(id=person_id, display=display, workspace=SCOPE.workspace, groups=tuple(groups))
