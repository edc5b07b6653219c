"""Reads the chains of the decision log from end to end: to find every change in them, and to export them.

Whoever can write to the database can write a whole chain anew. Only a head that was kept elsewhere tells.
"""

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import lru_cache, partial
from itertools import chain, groupby
from operator import itemgetter
from typing import Any, TypeAlias, TypeVar

from pydantic_core import from_json
from sqlalchemy import Column, Connection, Label, Row, Text, event, func, select, type_coerce
from sqlalchemy.exc import DBAPIError

from agent_core.errors import UnreadableRecord
from agent_core.model.origin import ChannelScope, SurfaceName
from agent_core.model.records.audit import DELETED, UNLISTED, AuditEntry
from agent_core.persistence.connections import make_engine, translate_outage
from agent_core.persistence.decision_log.chain import NO_HASH, digest, unseal
from agent_core.persistence.row_transfer import require_head, snapshot
from agent_core.persistence.schema import read_version, run_on
from agent_core.persistence.tables import audit, audit_heads, from_storable, to_storable

T = TypeVar("T")
Head: TypeAlias = tuple[int, str]  # `seq` and `hash` of a record
Heads: TypeAlias = Mapping[str, Sequence[Head]]  # by channel

BATCH_ROWS = 2_000
MAX_FAULTS = 20
ANEW = "Record {} is not the one of a head that was kept: the chain was written anew."
RETURNED = (
    "Entries outside the chain are older than a beginning that was cut, and the retention deletes such entries first:"
    " they were inserted, or are cut records with another content."
)
UNREADABLE = (ValueError, LookupError, TypeError, AttributeError, OverflowError, RecursionError)


def _stored(column: Column[Any]) -> Label[Any]:
    """The column as it is stored. What its type makes of that hides another form, which queries do not find."""
    return type_coerce(column, Text).label(column.name)


_EXPORTED = ("channel", "seq", "hash", "data", "texts")
_CHECKED = ("id", "channel", "agent_id", "at", "seq", "is_listed", "data", "texts", "hash")
_RECORDS = select(*(_stored(audit.c[name]) for name in _EXPORTED)).order_by(audit.c.channel, audit.c.seq)
_CHAINED = _RECORDS.with_only_columns(*(_stored(audit.c[name]) for name in _CHECKED)).where(audit.c.seq.is_not(None))
_HEADS = select(*map(_stored, audit_heads.c)).order_by(audit_heads.c.channel)
_OUTSIDE = (
    select(_stored(audit.c.channel), func.count().label("number"), func.max(audit.c.at, type_=Text).label("newest"))
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
        try:
            return unseal(self)
        except UnreadableRecord as fault:
            raise UnreadableRecord(f"record {self.seq} of {self.channel}") from fault


async def check_log(url: str, kept: Heads) -> Sequence[ChannelReport]:
    """Check every channel's chain, also against heads that were kept elsewhere.

    Like the other functions, it reads one state of the database. They raise TransferRefused for tables of another
    release, DatabaseAway, and UnreadableRecord for a value that cannot be read at all.
    """

    def check(connection: Connection) -> Sequence[ChannelReport]:
        return list(_check_chains(connection, kept))

    try:
        return await _on_log(url, check, is_utf8=True)
    except UnreadableRecord:
        return await _on_log(url, check)


async def read_heads(url: str) -> Heads:
    """The head of each channel's chain."""
    rows = await _on_log(url, lambda connection: connection.execute(_HEADS).all())
    return {_name(row.channel): [(row.seq, row.hash)] for row in rows}


async def export_log(url: str, channels: Sequence[str], write: Callable[[Iterator[ExportedRecord]], None]) -> None:
    """Call `write`, in a thread, with all records or those of some channels, in the order of their chains."""

    def read(connection: Connection) -> None:
        wanted = _RECORDS.where(audit.c.channel.in_(channels)) if channels else _RECORDS
        rows = connection.execute(wanted.execution_options(yield_per=BATCH_ROWS))
        write(map(_exported, rows))

    await _on_log(url, read)


def _exported(row: Any) -> ExportedRecord:
    channel, seq, hash_, data, texts = row
    if any(isinstance(value, bytes) for value in row):
        raise UnreadableRecord(f"record {seq} of {_name(channel)}")
    return ExportedRecord(channel=_name(channel), seq=seq, hash=hash_, data=data, texts=texts)


async def _on_log(url: str, work: Callable[[Connection], T], *, is_utf8: bool = False) -> T:
    """Run `work` on one state of the database. With `is_utf8`, which is faster, other text is an UnreadableRecord."""

    def run(connection: Connection) -> T:
        with snapshot(connection):
            require_head(read_version(connection))
            return work(connection)

    engine = make_engine(url)
    if engine.dialect.name == "sqlite" and not is_utf8:
        event.listen(engine, "connect", _read_any_bytes)
    try:
        with translate_outage():
            return await run_on(engine, run)
    except (*UNREADABLE, DBAPIError) as fault:
        raise UnreadableRecord("record of the decision log") from fault


def _read_any_bytes(connection: Any, _record: object) -> None:
    connection.text_factory = partial(str, encoding="utf-8", errors="surrogateescape")


def _check_chains(connection: Connection, kept: Heads) -> Iterator[ChannelReport]:
    heads = {row.channel: row for row in connection.execute(_HEADS)}
    outside = {row.channel: row for row in connection.execute(_OUTSIDE)}
    chained = connection.execute(_CHAINED.execution_options(yield_per=BATCH_ROWS))
    unseen = {*heads, *outside, *map(to_storable, kept)}
    for key, rows in groupby(chained, itemgetter(1)):
        unseen.discard(key)
        yield _check(key, rows, heads.get(key), outside.get(key), kept.get(_name(key), ()))
    for key in sorted(unseen, key=str):
        yield _check(key, iter(()), heads.get(key), outside.get(key), kept.get(_name(key), ()))


def _check(
    channel: Any, rows: Iterable[Any], head: Row[Any] | None, outside: Row[Any] | None, kept: Sequence[Head]
) -> ChannelReport:
    found = ChannelReport(channel=_name(channel), outside=outside.number if outside else 0)
    head = _begin(found, head)
    before, wanted, begun = found.head, _by_number(found, kept), None
    bare: defaultdict[object, list[str]] = defaultdict(list)  # by agent, until a record says that it was deleted
    for id_, key, agent_id, at, seq, is_listed, data, texts, hash_ in rows:  # a tuple: attributes take twice as long
        if not isinstance(seq, int):
            found.add(f"Record {seq} ({id_}): its number is not a number.")
            continue
        last, previous = found.head
        if seq != last + 1:
            found.add(_missing(last + 1, seq - 1))
        columns, plain = (id_, key, agent_id, at, seq, is_listed), _parse(data)
        for fault in _faults_of(columns, plain, (data, texts, hash_), previous if seq == last + 1 else None):
            found.add(f"Record {seq} ({id_}): {fault}")
        if wanted and wanted.pop(seq, hash_) != hash_:
            found.add(ANEW.format(seq))
        if texts is None or plain.get("act") == DELETED:
            _note_bare(bare, agent_id, f"Record {seq} ({id_})" if texts is None else "", plain.get("act"))
        begun = begun or at
        found.records += 1
        found.blanked += texts is None
        found.head = seq, str(hash_)
    for record in chain.from_iterable(bare.values()):
        found.add(f"{record}: its texts are gone, and no later record says that its agent was deleted.")
    _check_ends(found, head, outside, begun)
    _compare_others(found, before, wanted)
    return found


def _note_bare(bare: defaultdict[object, list[str]], agent_id: object, record: str, act: object) -> None:
    """Note a record without texts, "" for none; a deletion explains those that were noted of its agent."""
    if agent_id and act == DELETED:
        bare.pop(agent_id, None)
    bare[agent_id] += [record] if record else []


def _begin(found: ChannelReport, head: Row[Any] | None) -> Row[Any] | None:
    """Note where the chain should begin; return its head, None if that cannot be read."""
    if head is None:
        return None
    if not (isinstance(head.seq, int) and isinstance(head.first_seq, int)):
        found.add("The chain's head cannot be read.")
        return None
    found.first, found.head = head.first_seq, (head.first_seq - 1, str(head.first_previous))
    if head.first_seq == 1 and head.first_previous != NO_HASH:
        found.add("The chain does not begin with its first record.")
    return head


def _by_number(found: ChannelReport, kept: Sequence[Head]) -> dict[int, str]:
    """The hashes of the kept heads. Two of one record that differ are a fault, whichever is the record's."""
    hashes = dict(kept)
    for seq in sorted({seq for seq, hash_ in kept if hashes[seq] != hash_}):
        found.add(f"Two heads that were kept of record {seq} differ: the chain was written anew, or a line changed.")
    return hashes


def _check_ends(found: ChannelReport, head: Row[Any] | None, outside: Row[Any] | None, begun: Any) -> None:
    seq, last = found.head
    if head is None and found.records:
        found.add("The chain's head is missing.")
    elif head and seq < head.seq:
        found.add(_missing(seq + 1, head.seq))
    elif head and (seq, last) != (head.seq, head.hash):
        found.add(f"The chain's head is {head.seq}:{head.hash}, its last record {seq}:{last}.")
    if outside and begun and (type(outside.newest) is not type(begun) or outside.newest > begun):
        found.add("An entry outside the chain is newer than the chain: it was inserted, or an older release wrote it.")
    elif outside and head and head.first_seq > 1:
        found.add(RETURNED)


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
    columns: tuple[object, ...], plain: Mapping[str, Any], sealed: tuple[Any, Any, Any], previous: str | None
) -> Iterator[str]:
    """What is wrong with a record; `previous` is the hash of the record before, None if that is missing."""
    data, texts, hash_ = sealed
    if not isinstance(data, str) or digest(data) != hash_:
        yield "its content or its hash was changed."
    try:
        if previous not in (None, plain["previous"]):
            yield "it does not follow the record before: one of the two was changed, moved or inserted."
        if texts is not None and digest(texts) != plain["texts_digest"]:
            yield "its texts were changed."
        if columns != _columns(plain, is_sqlite=not isinstance(columns[3], datetime)):
            yield "a column differs from its content."
    except UNREADABLE:
        yield "its content is not a record."


def _parse(data: Any) -> Mapping[str, Any]:
    """The content of a record, empty if it is none."""
    try:
        plain = from_json(data, cache_strings="keys")
    except UNREADABLE:  # also half of a surrogate pair, which the standard library accepts
        try:
            plain = json.loads(data)
        except UNREADABLE:
            plain = None
    return plain if isinstance(plain, dict) else {}


def _columns(plain: Mapping[str, Any], *, is_sqlite: bool) -> tuple[object, ...]:
    """The columns that copy parts of the content, as they are stored."""
    is_listed = plain["act"] not in UNLISTED
    stored_at = _sqlite_time(plain["at"]) if is_sqlite else datetime.fromisoformat(plain["at"])
    id_, agent_id = to_storable(plain["id"]), to_storable(plain["agent_id"])
    return id_, _key(**plain["channel"]), agent_id, stored_at, plain["seq"], is_listed


def _sqlite_time(at: str) -> str:
    """The time as SQLite stores it."""
    if at.endswith("Z") and len(at) in (20, 27):  # how it is written, which takes a tenth of the time
        return f"{at[:10]} {at[11:-1]}{'' if len(at) == 27 else '.000000'}"
    return datetime.fromisoformat(at).astimezone(UTC).replace(tzinfo=None).isoformat(" ", "microseconds")


@lru_cache
def _key(surface: SurfaceName, workspace: str, channel: str) -> str | None:
    return to_storable(ChannelScope(surface, workspace, channel).key)


def _name(key: Any) -> str:
    """The name of a channel whose key is stored so."""
    return from_storable(key) or "" if isinstance(key, str) else repr(key)


def _missing(first: int, last: int) -> str:
    if first > last:
        return f"Record {last + 1} is before the beginning of the chain."
    return f"Record {first} is missing." if first == last else f"Records {first} to {last} are missing."
