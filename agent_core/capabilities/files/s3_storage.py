"""Objects in a bucket of S3 or the like: read, conditional write and delete, list; errors become sentences.

The one module that imports obstore.
"""

import logging
import re
import secrets
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

from obstore.exceptions import (
    AlreadyExistsError,
    BaseError,
    PermissionDeniedError,
    PreconditionError,
    UnauthenticatedError,
)
from obstore.store import S3Store

from agent_core.errors import CommandError

if TYPE_CHECKING:
    from obstore import GetResult, ObjectMeta
    from obstore.store import ClientConfig, RetryConfig, S3Config

Condition: TypeAlias = str | None  # the etag of the object that is to be replaced, None if there must be none
MAX_KEY_BYTES = 1_024  # https://docs.aws.amazon.com/AmazonS3/latest/userguide/object-keys.html
WRITE_ID, PROGRAM = "signoff-write", "signoff-program"  # metadata of an object
CONNECT_TIMEOUT, REQUEST_TIMEOUT = timedelta(seconds=5), timedelta(seconds=60)
RETRY: "RetryConfig" = {"max_retries": 3, "retry_timeout": REQUEST_TIMEOUT}
MAX_REASON = 300
UNKNOWN_TIME = datetime.fromtimestamp(0, UTC)
NOTHING: Mapping[str, str] = {}

logger = logging.getLogger(__name__)


class ObjectChanged(Exception):
    """The object is not the one that was to be replaced or deleted."""


class StorageAway(CommandError):
    """The storage does not answer, or refuses the request. `what` completes "The storage …"; the log has more."""

    def __init__(self, what: str) -> None:
        self.what = what
        super().__init__(f"The storage of the agents' files {what}.")


@dataclass(frozen=True, slots=True, kw_only=True)
class S3Bucket:
    """Where the objects are, below `prefix`. What is "" is taken from the environment, as AWS's own tools do."""

    bucket: str
    prefix: str = ""
    endpoint: str = ""
    region: str = ""
    access_key_id: str = ""
    secret_access_key: str = field(default="", repr=False)
    session_token: str = field(default="", repr=False)

    @property
    def place(self) -> str:
        """The address for people."""
        return f"s3://{'/'.join(filter(None, (self.bucket, self.prefix)))}"

    def connect(self, headers: Mapping[str, str] = NOTHING) -> S3Store:
        """A client. `headers` are sent with each request."""
        config: S3Config = {"disable_bulk_delete": bool(headers)}
        for name in ("endpoint", "region", "access_key_id", "secret_access_key", "session_token"):
            if value := getattr(self, name):
                config[name] = value
        client: ClientConfig = {
            "allow_http": self.endpoint.startswith("http://"),
            "connect_timeout": CONNECT_TIMEOUT,
            "timeout": REQUEST_TIMEOUT,
            "default_headers": dict(headers),
        }
        return S3Store(
            self.bucket, prefix=self.prefix or None, config=config, client_options=client, retry_config=RETRY
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredObject:
    """An object. `content` is None if only its description was read, or if it is longer than was asked for."""

    key: str
    size: int
    etag: str = ""
    changed_at: datetime = UNKNOWN_TIME
    content: bytes | None = None
    is_program: bool = False
    write_id: str = ""


@dataclass(frozen=True)
class S3Storage:
    """The objects of a bucket. Every method raises StorageAway if the server does not answer or refuses."""

    bucket: S3Bucket

    @cached_property
    def store(self) -> S3Store:
        return self.bucket.connect()

    async def get(self, key: str, max_bytes: int) -> StoredObject | None:
        """The object, or None. One of more than `max_bytes` comes without its content."""
        with translate_storage_errors():
            try:
                found = await self.store.get_async(key)
            except FileNotFoundError:
                return None
            content = bytes(await found.bytes_async()) if found.meta["size"] <= max_bytes else None
            return described(found, content)

    async def put(self, key: str, data: bytes, *, is_program: bool = False) -> None:
        """Store an object, whatever is there."""
        with translate_storage_errors():
            await self.store.put_async(key, data, attributes=attributes_of("", is_program), use_multipart=False)

    async def replace(self, key: str, data: bytes, condition: Condition, *, is_program: bool = False) -> str:
        """Store an object in the place of the one with that etag, or as the first; return the new etag.

        Raise ObjectChanged if another one is there. After a fault, the object tells whether it was stored all the same.
        """
        write_id = secrets.token_hex(8)
        attributes = attributes_of(write_id, is_program)
        with translate_storage_errors():
            try:
                stored = await self.store.put_async(
                    key, data, attributes=attributes, mode={"e_tag": condition} if condition else "create"
                )
            except BaseError as fault:
                found = await self.get(key, 0)
                if found and found.write_id == write_id:
                    return found.etag
                if isinstance(fault, AlreadyExistsError | PreconditionError):
                    raise ObjectChanged from fault
                raise
            return stored["e_tag"] or ""

    async def delete(self, key: str, etag: str) -> None:
        """Delete the object with that etag; raise ObjectChanged if another one or none is there."""
        with translate_storage_errors():
            try:
                await self.bucket.connect({"If-Match": etag}).delete_async(key)
            except (FileNotFoundError, PreconditionError) as fault:
                raise ObjectChanged from fault

    async def delete_all(self, keys: Sequence[str]) -> None:
        with translate_storage_errors():
            if keys:
                await self.store.delete_async(keys)

    async def list_objects(self, folder: str) -> AsyncIterator[StoredObject]:
        """The objects below a folder, in order of their keys, which begin with that folder."""
        with translate_storage_errors():
            async for chunk in self.store.list(folder or None, chunk_size=1_000):
                for meta in chunk:
                    yield _listed(meta)


def _reason(text: str) -> str:
    """One line of an error's text: without the debug part, and of the server's XML only its message."""
    text, _, xml = text.partition("\n\nDebug source")[0].partition("<?xml")
    told = re.findall(r"<(?:Code|Message)>(.*?)</", xml)
    return " ".join((text + ": ".join(told)).split())[:MAX_REASON]


def attributes_of(write_id: str, is_program: bool) -> dict[str, str]:
    given = {WRITE_ID: write_id, PROGRAM: "yes" if is_program else ""}
    return {name: value for name, value in given.items() if value}


def _listed(meta: "ObjectMeta") -> StoredObject:
    return StoredObject(key=meta["path"], size=meta["size"], etag=meta["e_tag"] or "", changed_at=meta["last_modified"])


def described(found: "GetResult", content: bytes | None) -> StoredObject:
    attributes = found.attributes
    return replace(
        _listed(found.meta), content=content, is_program=PROGRAM in attributes, write_id=attributes.get(WRITE_ID, "")
    )


@contextmanager
def translate_storage_errors() -> Iterator[None]:
    """Turn obstore's errors into StorageAway. Their texts name address and bucket, and no key."""
    try:
        yield
    except (BaseError, OSError) as fault:
        logger.warning("storage of files failed", extra={"why": _reason(str(fault))})
        if "NoSuchBucket" in str(fault):
            raise StorageAway("has no such bucket") from None
        refused = isinstance(fault, PermissionDeniedError | UnauthenticatedError)
        raise StorageAway("refuses access" if refused else "does not answer") from None
