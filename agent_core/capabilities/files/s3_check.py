"""Tests whether a bucket can be used: read, written, and with conditions that hold. Used by `signoff doctor`."""

import secrets

from agent_core.capabilities.files.s3_storage import ObjectChanged, S3Storage, StorageAway

ANOTHER_ETAG = '"00000000000000000000000000000000"'


async def find_storage_fault(storage: S3Storage) -> str:
    """Write, read and delete an object. Return what is wrong, to complete "The storage …", or ""."""
    key = f".probe-{secrets.token_hex(8)}"
    try:
        etag = await storage.replace(key, b"first", None)
        fault = await _find_ignored_condition(storage, key)
        found = await storage.get(key, 100)
        if not fault and (found is None or found.content != b"first"):
            fault = "does not return what was written"
        await storage.delete(key, found.etag if found else etag)
    except StorageAway as away:
        return away.what
    except ObjectChanged:
        return "does not return what was written"
    return fault


async def _find_ignored_condition(storage: S3Storage, key: str) -> str:
    for condition, header in ((None, "If-None-Match"), (ANOTHER_ETAG, "If-Match")):
        try:
            await storage.replace(key, b"second", condition)
        except ObjectChanged:
            continue
        return f"ignores conditions of writes ({header}), so that two writers would overwrite each other"
    return ""
