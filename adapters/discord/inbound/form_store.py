"""Keeps forms in memory for an hour, so that a button can open them with their values.

These are forms that were submitted with invalid values, and agents that the model drafted and no person created yet.
"""

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
    """The values to fill a form with, and an error message for each invalid value.

    For an agent that the model drafted, `problems` is empty.
    """

    given: AgentDraft | Form
    problems: Mapping[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class FormStore:
    """Stores forms by key. All are lost when the process ends.

    The key is random and carried by a button, or for edited arguments it names turn and person (`context.edit_key`).
    """

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
