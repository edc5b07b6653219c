"""Keeps what the provider said of each person of the page at their last sign-in: their name and groups."""

import json
from dataclasses import dataclass

from agent_core.errors import NotFound
from agent_core.model.origin import Actor
from agent_core.ports.database import Database, UnitOfWork, in_one_unit
from agent_core.service.housekeeping.sign_outs import SCOPE

ACCOUNT = "account "  # begins the keys, which end with the person's id
NO_MORE = ""  # kept of who could come in before


@dataclass(frozen=True, slots=True)
class Accounts:
    """People who signed in to the local workspace.

    `issuer`: the provider whose people they are; `groups`: those of whom a person needs one. Each is empty for any.
    """

    database: Database
    issuer: str = ""
    groups: frozenset[str] = frozenset()

    def admits(self, person: Actor) -> bool:
        """Whether a person with these groups may come in."""
        return not self.groups or any(group.removeprefix("&") in self.groups for group in person.groups)

    async def save(self, person: Actor) -> bool:
        """Return whether the person may come in; keep the name and groups of who may, and that others may no more.

        What is kept holds in every process, whatever groups its settings name. Raise DatabaseAway.
        """
        is_admitted, key = self.admits(person), f"{ACCOUNT}{person.id}"

        async def act(work: UnitOfWork) -> None:
            if is_admitted or await work.preferences.get(SCOPE, key):
                said = json.dumps([person.display, *person.groups])
                work.preferences.put(SCOPE, key, said if is_admitted else NO_MORE)

        await in_one_unit(self.database, act)
        return is_admitted

    async def find(self, person_id: str) -> Actor:
        """The person with the name and groups of their last sign-in; raise NotFound for who may not come in.

        Raise DatabaseAway.
        """
        async with self.database.begin() as work:
            said = await work.preferences.get(SCOPE, f"{ACCOUNT}{person_id}")
        if not said or (self.issuer and not person_id.startswith(f"{self.issuer}|")):
            raise NotFound("person", person_id)
        display, *groups = json.loads(said)
        person = Actor(id=person_id, display=display, workspace=SCOPE.workspace, groups=tuple(groups))
        if not self.admits(person):
            raise NotFound("person", person_id)
        return person
