"""Refused forms and offered drafts, stored in memory for an hour."""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Generic, TypeVar

from cachetools import TTLCache

from adapters.forms import Form
from agent_core.errors import NotPossible
from agent_core.model.draft import AgentDraft
from agent_core.ports.clock import Clock

T = TypeVar("T")

STORED_FOR = timedelta(hours=1)
MAX_STORED = 2_000
EXPIRED = "This form was kept for one hour and is gone: start again with /agent new."


@dataclass(frozen=True, slots=True)
class RefusedForm:
    """The values of a form and their problems."""

    given: AgentDraft | Form
    problems: Mapping[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class ExpiringStore(Generic[T]):
    """Values by the keys that buttons carry. They are lost when the process ends."""

    clock: Clock
    things: TTLCache[str, T] = field(init=False)

    def __post_init__(self) -> None:
        self.things = TTLCache(MAX_STORED, ttl=STORED_FOR.total_seconds(), timer=lambda: self.clock.now().timestamp())

    def keep(self, thing: T, key: str = "") -> str:
        """Store a value under `key`, or under a new random key; return the key."""
        key = key or secrets.token_urlsafe(16)
        self.things[key] = thing
        return key

    def find(self, key: str) -> T | None:
        thing: T | None = self.things.get(key)
        return thing

    def get(self, key: str) -> T:
        """The stored value; raise NotPossible if it has expired."""
        thing = self.find(key)
        if thing is None:
            raise NotPossible(EXPIRED)
        return thing
