"""What one unit of work knows of its records: what it read, and what it is about to save."""

from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

from agent_core.errors import NotFound
from agent_core.model.channels import ChannelScope


class Record(Protocol):
    """What a record is found by."""

    @property
    def id(self) -> str:
        """Its own name."""
        ...

    @property
    def channel(self) -> ChannelScope:
        """Where it is."""
        ...


R = TypeVar("R", bound=Record)


class IdentityMap(Generic[R]):
    """The records of one kind, called `kind`. `check_open` raises once the unit of work has ended."""

    def __init__(self, kind: str, check_open: Callable[[], None]) -> None:
        self._kind = kind
        self._check_open = check_open
        self._revisions: dict[str, int] = {}
        self._values: dict[str, R | None] = {}

    def read(self, record: R, revision: int) -> R:
        """Remember the revision; of a record read twice the first counts, for decisions may rest on it."""
        self._revisions.setdefault(record.id, revision)
        return record

    def find(self, record_id: str, channel: ChannelScope | None = None) -> R | None:
        """The value to be saved, or None when there is none; raise NotFound when it is removed or elsewhere."""
        self._check_open()
        if record_id not in self._values:
            return None
        record = self._values[record_id]
        if record is None or channel not in (None, record.channel):
            raise self.missing(record_id)
        return record

    def missing(self, record_id: str) -> NotFound:
        """The error that says so."""
        return NotFound(self._kind, record_id)

    def latest(self, record: R) -> R | None:
        """The value to be saved in place of one just read: None when it is to be removed."""
        return self._values.get(record.id, record)

    def add(self, record: R) -> None:
        """Keep the value of a new record."""
        self._check_open()
        self._values[record.id] = record

    def save(self, record: R) -> int | None:
        """Keep the value and return the revision that was read, or None for a record added here."""
        self._check_open()
        is_known = record.id in self._revisions or record.id in self._values
        if not is_known or self._values.get(record.id, record) is None:
            raise LookupError(f"The {self._kind} {record.id} is saved but was not read in this unit of work.")
        self._values[record.id] = record
        return self._revisions.get(record.id)

    def remove(self, record: R) -> None:
        """Keep that it is gone."""
        self._check_open()
        self._values[record.id] = None
