"""What people typed into forms that could not be used, and drafts that were offered: kept for an hour."""

import secrets
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Generic, TypeVar

from adapters.forms import Form
from agent_core.errors import NotPossible
from agent_core.model.draft import AgentDraft
from agent_core.ports.clock import Clock

T = TypeVar("T")

KEPT_FOR = timedelta(hours=1)
MOST_KEPT = 2_000
EXPIRED = "This form was kept for one hour and is gone: start again with /agent new."


@dataclass(frozen=True, slots=True)
class RefusedForm:
    """What a form is filled in with, and what was wrong with it."""

    given: AgentDraft | Form
    problems: Mapping[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class ExpiringStore(Generic[T]):
    """Things by keys that a button carries. A process that ends forgets them, and then it is said."""

    clock: Clock
    things: OrderedDict[str, tuple[T, datetime]] = field(default_factory=OrderedDict)

    def keep(self, thing: T, key: str = "") -> str:
        """Keep it, and return its key."""
        key = key or secrets.token_urlsafe(16)
        self.things[key] = (thing, self.clock.now())
        while len(self.things) > MOST_KEPT:
            self.things.popitem(last=False)
        return key

    def find(self, key: str) -> T | None:
        """What was kept, or None."""
        thing, at = self.things.get(key) or (None, self.clock.now())
        if thing is not None and self.clock.now() - at <= KEPT_FOR:
            return thing
        self.things.pop(key, None)
        return None

    def get(self, key: str) -> T:
        """What was kept; raise NotPossible once it is gone."""
        thing = self.find(key)
        if thing is None:
            raise NotPossible(EXPIRED)
        return thing
