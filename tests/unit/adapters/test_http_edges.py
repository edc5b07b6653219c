"""What strangers write into headers and addresses, without a server: Slack's signature, hosts, paths, clients."""

from datetime import UTC, datetime

import pytest

from adapters.slack.inbound.signature import Signature
from adapters.web.urls import host_name, local_path
from tests.standins.slack.deliveries import signature

NOW = datetime(2026, 1, 1, tzinfo=UTC)
AT = str(int(NOW.timestamp()))
GOOD = signature("s3cret", b"body", AT)


@pytest.mark.proves("slack:signature")
@pytest.mark.parametrize(
    ("timestamp", "value", "is_signed"),
    [
        (AT, GOOD, True),
        (AT, "", False),
        ("", GOOD, False),
        (AT, "v0=" + "é" * 64, False),
        (AT, "v0=" + "0" * 64, False),
        ("now", GOOD, False),
        ("9" * 5000, GOOD, False),
        ("١٧٦٧٢٢٥٦٠٠", GOOD, False),
        (str(int(AT) - 301), signature("s3cret", b"body", str(int(AT) - 301)), False),
        (str(int(AT) + 301), signature("s3cret", b"body", str(int(AT) + 301)), False),
    ],
)
def test_only_slacks_own_signature_of_these_bytes_counts(timestamp: str, value: str, is_signed: bool) -> None:
    read = Signature.of({"X-Slack-Request-Timestamp": timestamp, "X-Slack-Signature": value})
    assert (read is not None and read.is_fresh(NOW) and read.matches(b"body", "s3cret")) is is_signed


@pytest.mark.proves("page:stays")
@pytest.mark.parametrize(
    "path", ["//x", "/\\x", "\\\\x", "/\t/x", "/\r\nX: y", " //x", "https://x/", "", "/\x00", "/é"]
)
def test_an_address_that_may_lead_elsewhere_becomes_the_first_page(path: str) -> None:
    assert local_path(path) == "/"


@pytest.mark.parametrize("path", ["/", "/c/web/local/general", "/c/web/local/ops%20desk/a/1?last#end", "/%09/x"])
def test_an_address_on_this_site_is_kept(path: str) -> None:
    assert local_path(path) == path


@pytest.mark.proves("page:host")
@pytest.mark.parametrize(
    ("host", "name"),
    [
        ("LOCALHOST:8700", "localhost"),
        ("[::1]:8700", "::1"),
        ("a@127.0.0.1", ""),
        ("[::1", ""),
        ("\udcff", ""),
        ("", ""),
    ],
)
def test_a_host_is_read_or_is_none(host: str, name: str) -> None:
    assert host_name(host) == name
