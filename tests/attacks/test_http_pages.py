"""Attacks on the pages over HTTP: what strangers write into addresses, headers and forms."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import urlencode, urlsplit

import pytest
from aiohttp import ClientSession

from agent_core.testing.language_model import ScriptedModel
from tests.attacks.rows import attack
from tests.patience import PATIENCE_SECONDS
from tests.scenario.served import served

TOKEN = "a token of some length"


@pytest.fixture
async def base(tmp_path: Path) -> AsyncIterator[str]:
    async with served(ScriptedModel(), tmp_path, token=TOKEN) as address:
        yield address


async def status_of(base: str, request: bytes) -> int:
    """The status that these bytes are answered with; 0 for a connection that is closed without one."""
    address = urlsplit(base)
    reader, writer = await asyncio.open_connection(address.hostname, address.port)
    writer.write(request)
    async with asyncio.timeout(PATIENCE_SECONDS):
        line = await reader.readline()
    writer.close()
    return int(line.split()[1]) if line else 0


def leads(what: str, to: str) -> object:
    return pytest.param(to, marks=attack("http", what, "redirects to the first page of this site"), id=repr(to))


@pytest.mark.slow
@pytest.mark.proves("page:stays")
@pytest.mark.parametrize(
    "to",
    [
        leads("Open redirect by `/enter?to=` without a scheme: `//evil.example`", "//evil.example"),
        leads("The same with a backslash: `/\\evil.example`", "/\\evil.example"),
        leads("The same with two backslashes: `\\\\evil.example`", "\\\\evil.example"),
        leads("A tab between the slashes: `/%09/evil.example`", "/\t/evil.example"),
        leads("A line feed between the slashes", "/\n/evil.example"),
        leads("Leading spaces", "  //evil.example"),
        leads("The full URL of another site", "https://evil.example/"),
        leads("A script URL: `javascript:alert(1)`", "javascript:alert(1)"),
        leads("Header injection (CRLF)", "/\r\nSet-Cookie: signoff_person=x"),
        leads("A control character", "/\x01/evil.example"),
        leads("A character that some programs read as a slash", "/\u2215evil.example"),
    ],
)
async def test_who_enters_stays_on_this_site(base: str, to: str, answer: str) -> None:
    async with ClientSession(headers={"Origin": base}) as session:
        async with session.get(f"{base}/enter", params={"to": to}) as asked:
            assert 'name="to" value="/"' in await asked.text()
        form = {"token": TOKEN, "to": to}
        async with session.post(f"{base}/enter", data=form, allow_redirects=False) as entered:
            assert (entered.status, entered.headers["Location"]) == (303, "/")
    assert answer == "redirects to the first page of this site"


@pytest.mark.proves("page:stays")
@pytest.mark.parametrize("path", [b"//evil.example", b"/%0d%0aSet-Cookie:x", b"/%09/evil.example", b"/c/%ff?to=//x"])
async def test_the_way_to_the_token_stays_on_this_site(base: str, path: bytes) -> None:
    address = urlsplit(base)
    reader, writer = await asyncio.open_connection(address.hostname, address.port)
    writer.write(b"GET " + path + b" HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
    async with asyncio.timeout(PATIENCE_SECONDS):
        head = (await reader.read()).decode().partition("\r\n\r\n")[0]
    writer.close()
    location = next(line for line in head.splitlines() if line.startswith("Location: "))
    assert location.startswith("Location: /enter?to=/")
    assert "evil" not in location or "/enter?to=/%2509/evil" in location
    assert not any(line.startswith("Set-Cookie:x") for line in head.splitlines())


@pytest.mark.proves("page:host")
@pytest.mark.parametrize(
    ("path", "answer"),
    [
        pytest.param(path, said, marks=attack("http", f"`{path}` under a foreign host name (DNS rebinding)", said))
        for path in ("/metrics", "/healthz", "/enter", "/static/workspace.js")
        for said in ("403",)
    ],
)
async def test_every_path_wants_a_known_host(base: str, path: str, answer: str) -> None:
    request = f"GET {path} HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n"
    assert str(await status_of(base, request.encode())) == answer


def broken(what: str, status: int, *headers: bytes, line: bytes = b"GET / HTTP/1.1", body: bytes = b"") -> object:
    host = () if any(header.startswith(b"Host:") for header in headers) else (b"Host: 127.0.0.1",)
    origin = () if any(header.startswith(b"Origin:") for header in headers) else (b"Sec-Fetch-Site: none",)
    head = b"\r\n".join((line, *host, *origin, *headers, b"Connection: close"))
    return pytest.param(head + b"\r\n\r\n" + body, status, marks=attack("http", what, str(status)), id=what)


METRICS, SCRIPT = b"GET /metrics HTTP/1.1", b"GET /static/workspace.js HTTP/1.1"
FORM = b"Content-Type: application/x-www-form-urlencoded"
PACKED, CHUNKED = (b"Content-Encoding: gzip", b"Content-Length: 4"), b"Transfer-Encoding: chunked"
ENTER, SAY = b"POST /enter HTTP/1.1", b"POST /me HTTP/1.1"
BADGE_IS_UNKNOWN, REFUSED, BAD = 303, 403, 400


@pytest.mark.proves("page:broken")
@pytest.mark.parametrize(
    ("request_bytes", "status"),
    [
        broken("A non-ASCII cookie", BADGE_IS_UNKNOWN, "Cookie: signoff_token=é".encode()),
        broken("A cookie of invalid UTF-8", BADGE_IS_UNKNOWN, b"Cookie: signoff_token=\xff\xfe"),
        broken("A malformed cookie", BADGE_IS_UNKNOWN, b"Cookie: ;;=;signoff_token"),
        broken("A Host of invalid UTF-8", REFUSED, b"Host: \xff\xfe"),
        broken("A Host with an incomplete IPv6 address", REFUSED, b"Host: [::1"),
        broken("A Host with credentials", REFUSED, b"Host: evil@127.0.0.1"),
        broken("An Origin with an incomplete IPv6 address", REFUSED, b"Origin: http://[::1", line=ENTER),
        broken("A bearer token of invalid UTF-8", 401, b"Authorization: Bearer \xff\xe9", line=METRICS),
        broken("A path of invalid UTF-8", BADGE_IS_UNKNOWN, line=b"GET /c/web/%ff/%00 HTTP/1.1"),
        broken("An invalid Range", 416, b"Range: bytes=9-1", line=SCRIPT),
        broken("An invalid date", 200, b"If-Modified-Since: Mon, 99 Foo 99999", line=SCRIPT),
        broken("A form declared as gzip, but not compressed", BAD, FORM, *PACKED, line=ENTER, body=b"to=x"),
        broken("A form with invalid chunks", BAD, FORM, CHUNKED, line=ENTER, body=b"zz\r\nto=x"),
        broken("A token form of a megabyte", 413, FORM, b"Content-Length: 1000000", line=ENTER),
        broken("The same with 8,000 fields", 422, FORM, b"Content-Length: 16000", line=ENTER, body=b"a&" * 8000),
    ],
)  # fmt: skip
async def test_a_request_that_makes_no_sense_is_answered_and_breaks_nothing(
    base: str, request_bytes: bytes, status: int, answer: str, caplog: pytest.LogCaptureFixture
) -> None:
    assert await status_of(base, request_bytes) == status
    assert [record.message for record in caplog.records if record.levelname == "ERROR"] == []
    assert answer == str(status)


@pytest.mark.proves("page:broken")
@pytest.mark.parametrize(
    "kind", [b"text/plain; charset=nope", b"multipart/form-data", b"multipart/form-data; boundary=x; charset=\xff"]
)
async def test_a_form_of_a_kind_that_cannot_be_read_is_told(tmp_path: Path, kind: bytes) -> None:
    head = SAY + b"\r\nHost: 127.0.0.1\r\nSec-Fetch-Site: none\r\nContent-Length: 6\r\nContent-Type: " + kind
    form = SAY + b"\r\nHost: 127.0.0.1\r\nSec-Fetch-Site: none\r\nContent-Length: 8\r\n" + FORM + b"; charset=nope"
    async with served(ScriptedModel(), tmp_path) as base:
        answers = [await status_of(base, head + b"\r\n\r\nname=x"), await status_of(base, form + b"\r\n\r\nname=ana")]
    assert all(200 <= status < 500 for status in answers)


def test_the_form_for_the_token_is_what_the_page_sends() -> None:
    assert len(urlencode({"token": TOKEN, "to": "/c/web/local/general"})) < 16_384
