"""Refused forms and offered drafts, stored in memory for an hour."""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta

from cachetools import TTLCache

from adapters.forms import Form
from agent_core.errors import NotPossible
from agent_core.model.draft import AgentDraft
from agent_core.ports.clock import Clock

STORED_FOR = timedelta(hours=1)
MAX_STORED = 2_000
EXPIRED = "This form was kept for one hour and is gone: start again with /agent new."


@dataclass(frozen=True, slots=True)
class StoredForm:
    """The values of a form, with an error message for each invalid one; an offered draft has no errors."""

    given: AgentDraft | Form
    problems: Mapping[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class FormStore:
    """Stores forms by key: a random key that a button carries, or `edit_key`. All are lost when the process ends."""

    clock: Clock
    forms: TTLCache[str, StoredForm] = field(init=False)

    def __post_init__(self) -> None:
        self.forms = TTLCache(MAX_STORED, ttl=STORED_FOR.total_seconds(), timer=lambda: self.clock.now().timestamp())

    def keep(self, form: StoredForm, key: str = "") -> str:
        """Store a form under `key`, or under a new random key; return the key."""
        key = key or secrets.token_urlsafe(16)
        self.forms[key] = form
        return key

    def get(self, key: str) -> StoredForm:
        """The stored form; raise NotPossible if it has expired."""
        if form := self.forms.get(key):
            return form
        raise NotPossible(EXPIRED)
