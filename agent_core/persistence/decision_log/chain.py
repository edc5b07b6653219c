"""How an entry of the decision log becomes a record in the hash chain of its channel, and is read again.

`data` is the canonical JSON (RFC 8785) of the entry without its texts, with its place in the chain: `seq`, from 1, and
`previous`, the hash of the record before. `hash` is the SHA-256 of `data`. The texts, which are deleted with their
agent, stand beside it, and `data` has their SHA-256. Their random salt keeps a deleted text from being guessed.
"""

import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, fields
from hashlib import sha256
from typing import Any

import rfc8785

from agent_core.errors import UnreadableRecord
from agent_core.model.records.audit import UNLISTED, AuditEntry
from agent_core.persistence.json_codec import encode
from agent_core.persistence.write_buffer import read_value

NO_HASH = "0" * 64  # the `previous` of a chain's first record
TEXTS = ("detail", "target", "given")
BLANK = {**dict.fromkeys(TEXTS, ""), "is_blanked": True}


@dataclass(frozen=True, slots=True, kw_only=True)
class Record(AuditEntry):
    """An entry as `data` has it."""

    seq: int
    previous: str
    texts_digest: str


_OF_ENTRY = tuple(each.name for each in fields(AuditEntry))


def digest(text: str) -> str:
    return sha256(text.encode(errors="surrogatepass")).hexdigest()


def seal(entry: AuditEntry, seq: int, previous: str) -> dict[str, Any]:
    """The columns of the record with this entry, at this place of its channel's chain."""
    plain: dict[str, Any] = json.loads(encode(entry))
    texts = _canonical({name: plain.pop(name) for name in TEXTS} | {"salt": secrets.token_hex(16)})
    del plain["is_blanked"]
    data = _canonical(plain | {"seq": seq, "previous": previous, "texts_digest": digest(texts)})
    return {
        "id": entry.id,
        "channel": entry.channel.key,
        "agent_id": entry.agent_id,
        "at": entry.at,
        "data": data,
        "seq": seq,
        "texts": texts,
        "hash": digest(data),
        "is_listed": entry.act not in UNLISTED,
    }


def unseal(row: Any) -> AuditEntry:
    """The entry of a row, also of an older release; raise UnreadableRecord."""
    if row.seq is None:
        return read_value(AuditEntry, row.data)[0]
    record = read_value(Record, row.data)[0]
    try:
        texts: Mapping[str, Any] = BLANK if row.texts is None else json.loads(row.texts)
        whole: dict[str, Any] = {name: texts.get(name, getattr(record, name)) for name in _OF_ENTRY}
    except (ValueError, TypeError, AttributeError, RecursionError) as fault:
        raise UnreadableRecord("record") from fault
    return AuditEntry(**whole)


def blank(data: str) -> str:
    """An entry of an older release without its texts."""
    return json.dumps(json.loads(data) | BLANK)


def _canonical(value: Any) -> str:
    try:
        return rfc8785.dumps(value).decode()
    except rfc8785.CanonicalizationError:  # half of a surrogate pair has no UTF-8, and no form in the RFC
        return json.dumps(value, sort_keys=True, separators=(",", ":"))
