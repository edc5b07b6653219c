"""Verifies Slack's request signature (HMAC-SHA256) on headers and raw bytes, before anything is parsed.

A missing or malformed header means "not signed". See docs.slack.dev/authentication/verifying-requests-from-slack
"""

import hashlib
import hmac
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Self

MAX_AGE_SECONDS = 300
TIMESTAMP = re.compile(r"[0-9]{1,12}", re.ASCII)
SIGNATURE = re.compile(r"v0=[0-9a-f]{64}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Signature:
    """The two headers that Slack sends with each request."""

    timestamp: str
    value: str

    @classmethod
    def of(cls, headers: Mapping[str, str]) -> Self | None:
        """Read the headers; None if one is missing or malformed."""
        timestamp = headers.get("X-Slack-Request-Timestamp", "")
        value = headers.get("X-Slack-Signature", "")
        if not (TIMESTAMP.fullmatch(timestamp) and SIGNATURE.fullmatch(value)):
            return None
        return cls(timestamp, value)

    def is_fresh(self, now: datetime) -> bool:
        """Whether the request was signed within five minutes of now."""
        return abs(now.timestamp() - int(self.timestamp)) <= MAX_AGE_SECONDS

    def matches(self, body: bytes, secret: str) -> bool:
        """Whether this is the signature of the bytes."""
        signed = b"v0:" + self.timestamp.encode() + b":" + body
        expected = "v0=" + hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest()
        return hmac.compare_digest(expected, self.value)
