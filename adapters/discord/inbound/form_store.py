"""Keeps refused forms and drafts in the database for an hour, so that a button can open them in any process.

These are forms that were submitted with invalid values, and agents that the model drafted and no person created yet.
"""

import secrets
from dataclasses import dataclass

from agent_core.errors import NotPossible
from agent_core.model.draft import FORM_LIFETIME, FormDraft
from agent_core.model.origin import Origin
from agent_core.ports.clock import Clock
from agent_core.ports.database import Database, queue_in_one_unit

EXPIRED = "This form was kept for one hour and is gone: start again with /agent new."


@dataclass(frozen=True, slots=True)
class FormStore:
    """Stores forms by key; only the person who made one finds it, in the same channel.

    The key is random and carried by a button, or it names the turn whose arguments were edited, or for which a rule
    was chosen.
    """

    database: Database
    clock: Clock

    def blank(self, origin: Origin, key: str = "") -> FormDraft:
        """An empty form of this person in this channel, under `key` or a new random key."""
        return FormDraft(
            channel=origin.channel,
            person=origin.by.id,
            key=key or secrets.token_urlsafe(16),
            expires_at=self.clock.now() + FORM_LIFETIME,
        )

    async def save(self, form: FormDraft) -> None:
        """Save the form; raise InvalidInput if it is too long."""
        await queue_in_one_unit(self.database, lambda work: work.form_drafts.put(form))

    async def find(self, origin: Origin, key: str) -> FormDraft | None:
        """This person's form in this channel, or None if there is none or it has expired."""
        async with self.database.begin() as work:
            return await work.form_drafts.get(origin.channel, origin.by.id, key, self.clock.now())

    async def get(self, origin: Origin, key: str) -> FormDraft:
        """This person's form in this channel; raise NotPossible if there is none or it has expired."""
        if form := await self.find(origin, key):
            return form
        raise NotPossible(EXPIRED)


def rule_key(turn: str) -> str:
    """The key of the form for a rule that a turn suggests."""
    return f"{turn}/rule"
