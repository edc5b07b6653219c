"""Reads the chains of the decision log from end to end: to find every change in them, and to export them.

Whoever can write to the database can write a whole chain anew. Only a head that was kept elsewhere tells.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from itertools import groupby
from operator import itemgetter
from typing import Any, TypeAlias, TypeVar

from pydantic_core import from_json
from sqlalchemy import Connection, Row, func, select

from agent_core.errors import UnreadableRecord
from agent_core.model.origin import ChannelScope, SurfaceName
from agent_core.model.records.audit import UNLISTED, AuditEntry
from agent_core.persistence.connections import make_engine, translate_outage
from agent_core.persistence.decision_log.chain import NO_HASH, digest, unseal
from agent_core.persistence.row_transfer import require_head, snapshot
from agent_core.persistence.schema import read_version, run_on
from agent_core.persistence.tables import audit, audit_heads

T = TypeVar("T")
Head: TypeAlias = tuple[int, str]  # `seq` and `hash` of a record
Heads: TypeAlias = Mapping[str, Sequence[Head]]  # by channel

BATCH_ROWS = 2_000
MAX_FAULTS = 20
ANEW = "Record {} is not the one of a head that was kept: the chain was written anew."
_EXPORTED = ("channel", "seq", "hash", "data", "texts")
_RECORDS = select(audit).order_by(audit.c.channel, audit.c.seq)
_COPIES = (audit.c.id, audit.c.channel, audit.c.agent_id, audit.c.at, audit.c.seq, audit.c.is_listed)
_CHAINED = _RECORDS.with_only_columns(*_COPIES, audit.c.data, audit.c.texts, audit.c.hash)
_OUTSIDE = (
    select(audit.c.channel, func.count().label("number"), func.max(audit.c.at, type_=audit.c.at.type).label("newest"))
    .where(audit.c.seq.is_(None))
    .group_by(audit.c.channel)
)


@dataclass(slots=True, kw_only=True)
class ChannelReport:
    """What was found in one channel. `faults`: a sentence for each, at most MAX_FAULTS; `more` counts the others.

    `first`: the first record that is there; before it, the retention deleted the records.
    `outside`: entries of older releases, which no chain protects.
    `uncompared`: heads that were kept of records that the retention has deleted since.
    """

    channel: str
    records: int = 0
    first: int = 1
    head: Head = (0, NO_HASH)
    blanked: int = 0
    outside: int = 0
    uncompared: int = 0
    faults: list[str] = field(default_factory=list)
    more: int = 0

    def add(self, fault: str) -> None:
        if len(self.faults) < MAX_FAULTS:
            self.faults.append(fault)
        else:
            self.more += 1


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportedRecord:
    """A row of the decision log as it is stored; an entry of an older release has no `seq` and no `hash`."""

    channel: str
    seq: int | None
    hash: str | None
    data: str
    texts: str | None

    @property
    def entry(self) -> AuditEntry:
        return unseal(self)


async def check_log(url: str, kept: Heads) -> Sequence[ChannelReport]:
    """Check every channel's chain, also against heads that were kept elsewhere.

    Like the other functions, it reads one state of the database. They raise TransferRefused for tables of another
    release, DatabaseAway, and UnreadableRecord for a value that is not of its column's type.
    """
    return await _on_log(url, lambda connection: list(_check_chains(connection, kept)))


async def read_heads(url: str) -> Heads:
    """The head of each channel's chain."""

    def read(connection: Connection) -> Heads:
        rows = connection.execute(select(audit_heads).order_by(audit_heads.c.channel))
        return {row.channel: [(row.seq, row.hash)] for row in rows}

    return await _on_log(url, read)


async def export_log(url: str, channels: Sequence[str], write: Callable[[Iterator[ExportedRecord]], None]) -> None:
    """Call `write`, in a thread, with all records or those of some channels, in the order of their chains."""

    def read(connection: Connection) -> None:
        wanted = _RECORDS.where(audit.c.channel.in_(channels)) if channels else _RECORDS
        rows = connection.execute(wanted.execution_options(yield_per=BATCH_ROWS))
        write(ExportedRecord(**{name: getattr(row, name) for name in _EXPORTED}) for row in rows)

    await _on_log(url, read)


async def _on_log(url: str, work: Callable[[Connection], T]) -> T:
    def run(connection: Connection) -> T:
        with snapshot(connection):
            require_head(read_version(connection))
            return work(connection)

    try:
        with translate_outage():
            return await run_on(make_engine(url), run)
    except (ValueError, TypeError, AttributeError) as fault:
        raise UnreadableRecord("record of the decision log") from fault


def _check_chains(connection: Connection, kept: Heads) -> Iterator[ChannelReport]:
    heads = {row.channel: row for row in connection.execute(select(audit_heads))}
    outside = {row.channel: row for row in connection.execute(_OUTSIDE)}
    chained = _CHAINED.where(audit.c.seq.is_not(None)).execution_options(yield_per=BATCH_ROWS)
    unseen = {*heads, *outside, *kept}
    for channel, rows in groupby(connection.execute(chained), itemgetter(1)):
        unseen.discard(channel)
        yield _check(channel, rows, heads.get(channel), outside.get(channel), kept.get(channel, ()))
    for channel in sorted(unseen):
        yield _check(channel, iter(()), heads.get(channel), outside.get(channel), kept.get(channel, ()))


def _check(
    channel: str, rows: Iterable[Any], head: Row[Any] | None, outside: Row[Any] | None, kept: Sequence[Head]
) -> ChannelReport:
    found = ChannelReport(channel=channel, outside=outside.number if outside else 0)
    if head:
        found.first, found.head = head.first_seq, (head.first_seq - 1, head.first_previous)
        if head.first_seq == 1 and head.first_previous != NO_HASH:
            found.add("The chain does not begin with its first record.")
    before, wanted, begun = found.head, _by_number(found, kept), None
    for id_, key, agent_id, at, seq, is_listed, data, texts, hash_ in rows:  # a tuple: attributes take twice as long
        last, previous = found.head
        if seq != last + 1:
            found.add(_missing(last + 1, seq - 1))
        columns = id_, key, agent_id, at, seq, is_listed
        for fault in _faults_of(columns, data, texts, hash_, previous if seq == last + 1 else None):
            found.add(f"Record {seq} ({id_}): {fault}")
        if wanted and wanted.pop(seq, hash_) != hash_:
            found.add(ANEW.format(seq))
        begun = begun or at
        found.records += 1
        found.blanked += texts is None
        found.head = seq, hash_
    _check_ends(found, head, outside, begun)
    _compare_others(found, before, wanted)
    return found


def _by_number(found: ChannelReport, kept: Sequence[Head]) -> dict[int, str]:
    """The hashes of the kept heads. Two of one record that differ are a fault, whichever is the record's."""
    hashes = dict(kept)
    for seq in sorted({seq for seq, hash_ in kept if hashes[seq] != hash_}):
        found.add(f"Two heads that were kept of record {seq} differ: the chain was written anew, or a line changed.")
    return hashes


def _check_ends(found: ChannelReport, head: Row[Any] | None, outside: Row[Any] | None, begun: datetime | None) -> None:
    seq, last = found.head
    if head is None and found.records:
        found.add("The chain's head is missing.")
    elif head and seq < head.seq:
        found.add(_missing(seq + 1, head.seq))
    elif head and (seq, last) != (head.seq, head.hash):
        found.add(f"The chain's head is {head.seq}:{head.hash}, its last record {seq}:{last}.")
    if outside and begun and outside.newest > begun:
        found.add("An entry outside the chain is newer than the chain: it was inserted, or an older release wrote it.")


def _compare_others(found: ChannelReport, before: Head, wanted: Mapping[int, str]) -> None:
    """Compare kept heads of records that are not there. `before` is the record before the first that should be."""
    for number, kept in wanted.items():
        if number > found.head[0]:
            found.add(f"Record {number}, of a head that was kept, is missing: the end was cut off.")
        elif number == before[0] and kept != before[1]:
            found.add(ANEW.format(number))
        elif number < before[0]:
            found.uncompared += 1


def _faults_of(
    columns: tuple[object, ...], data: str, texts: str | None, hash_: str, previous: str | None
) -> Iterator[str]:
    """What is wrong with a record; `previous` is the hash of the record before, None if that is missing."""
    if digest(data) != hash_:
        yield "its content or its hash was changed."
    try:
        plain = _parse(data)
        if previous not in (None, plain["previous"]):
            yield "it does not follow the record before: one of the two was changed, moved or inserted."
        if texts is not None and digest(texts) != plain["texts_digest"]:
            yield "its texts were changed."
        if columns != _columns(plain):
            yield "a column differs from its content."
    except (ValueError, LookupError, TypeError):
        yield "its content is not a record."


def _parse(data: str) -> Any:
    try:
        return from_json(data)
    except ValueError:  # also half of a surrogate pair, which the standard library accepts
        return json.loads(data)


def _columns(plain: Any) -> tuple[object, ...]:
    """The columns that copy parts of the content."""
    at, is_listed = datetime.fromisoformat(plain["at"]), plain["act"] not in UNLISTED
    return plain["id"], _key(**plain["channel"]), plain["agent_id"], at, plain["seq"], is_listed


@lru_cache
def _key(surface: SurfaceName, workspace: str, channel: str) -> str:
    return ChannelScope(surface, workspace, channel).key


def _missing(first: int, last: int) -> str:
    if first > last:
        return f"Record {last + 1} is before the beginning of the chain."
    return f"Record {first} is missing." if first == last else f"Records {first} to {last} are missing."
