"""Identity map: the records that one unit of work read or will save, with their revisions."""

from collections.abc import Callable
from typing import Generic, TypeVar

from agent_core.errors import NotFound
from agent_core.model.agent import Agent
from agent_core.model.origin import ChannelScope
from agent_core.model.turn import Turn
from agent_core.persistence.json_codec import UnknownFields

R = TypeVar("R", Agent, Turn)


class UnsavedRecords(Generic[R]):
    """The records of one kind, agents or turns. `check_open` raises RuntimeError once the unit of work has ended."""

    def __init__(self, kind: str, check_open: Callable[[], None]) -> None:
        self._kind = kind
        self._check_open = check_open
        self._revisions: dict[str, int] = {}
        self._as_read: dict[str, R] = {}
        self._values: dict[str, R | None] = {}
        self._unknown: dict[str, UnknownFields] = {}

    def read(self, record: R, revision: int, unknown: UnknownFields | None = None) -> R:
        """Note the revision at which the record was first read, to detect conflicts; return the record.

        `unknown`: the fields that this release does not know, which its next save writes back.
        """
        self._revisions.setdefault(record.id, revision)
        self._as_read.setdefault(record.id, record)
        if unknown:
            self._unknown.setdefault(record.id, unknown)
        return record

    def as_read(self, record: R) -> R | None:
        """The record as it was first read; None if this unit of work adds it."""
        return self._as_read.get(record.id)

    def unknown_fields(self, record: R) -> UnknownFields | None:
        """The fields that the record was read with and that this release does not know."""
        return self._unknown.get(record.id)

    def find(self, record_id: str, channel: ChannelScope | None = None) -> R | None:
        """The value that this unit of work will save, or None if it is to be read.

        Raise NotFound if this unit of work removes the record, or if the record belongs to another channel.
        """
        self._check_open()
        if record_id not in self._values:
            return None
        record = self._values[record_id]
        if record is None or channel not in (None, record.channel):
            raise self.missing(record_id)
        return record

    def missing(self, record_id: str) -> NotFound:
        return NotFound(self._kind, record_id)

    def latest(self, record: R) -> R | None:
        """The record as this unit of work changed it: as given if nothing was saved, None if the record was removed."""
        return self._values.get(record.id, record)

    def add(self, record: R) -> None:
        self._check_open()
        self._values[record.id] = record

    def save(self, record: R) -> int | None:
        """Remember the value; return the revision that was read, or None for a record added in this unit of work."""
        self._check_open()
        is_known = record.id in self._revisions or record.id in self._values
        if not is_known or self._values.get(record.id, record) is None:
            raise LookupError(f"The {self._kind} {record.id} is saved but was not read in this unit of work.")
        self._values[record.id] = record
        return self._revisions.get(record.id)

    def remove(self, record: R) -> int | None:
        """Remember that the record is removed; return the revision that was read, or None for an unread record."""
        self._check_open()
        self._values[record.id] = None
        return self._revisions.get(record.id)
