"""The door to the web where nothing is wrong, and what an operator can open."""

import asyncio
import gzip
import tracemalloc
import zlib
from base64 import b64encode
from collections.abc import AsyncIterator
from contextlib import suppress
from ipaddress import ip_address
from pathlib import Path

import pytest

from agent_core.errors import CommandError
from agent_core.model.channel_settings import Sites
from agent_core.providers.egress.address_policy import InternalHosts, describe_internal
from agent_core.providers.egress.decompression import Decompressor
from agent_core.providers.egress.gateway import EgressGateway
from agent_core.providers.egress.proxy import USER, EgressProxy, open_tunnel
from agent_core.providers.egress.urls import parse_url
from agent_core.providers.egress.values import AdmittedTarget, FetchLimits, Timeouts
from tests.standins.site import HERE, NAME, OPEN, Names, endless, leads_to, packed, page, self_signed, site

ANYWHERE = Sites()
WANTED = FetchLimits(max_bytes=10_000)
DOOR = EgressGateway(
    internal=InternalHosts.of([OPEN]), resolve=Names(), user_agent="Signoff/1 (+https://signoff.example)"
)


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        (" HTTPS://Example.ORG ", "https://example.org/"),
        ("http://example.org:80?a=b#c", "http://example.org/?a=b"),
        ("https://example.org.:8443/ä?q=ü&x=%20", "https://example.org:8443/%C3%A4?q=%C3%BC&x=%20"),
        ("http://Bücher.example/", "http://xn--bcher-kva.example/"),
        ("http://例え。jp", "http://xn--r8jz45g.jp/"),
        ("http://exa\u00admple.org/", "http://example.org/"),
        ("http://under_score.example.org/", "http://under_score.example.org/"),
        ("https://example.org/my file.pdf?a=b", "https://example.org/my%20file.pdf?a=b"),
        ("https://example.org/a  b/ c ", "https://example.org/a%20%20b/%20c"),
        ("https://example.org/a --upload-pack=x", "https://example.org/a%20--upload-pack=x"),
        ("http://8.8.8.8/dns", "http://8.8.8.8/dns"),
        ("http://134744072/", "http://8.8.8.8/"),
        ("http://[2606:2800:220:1::1]:8080/", "http://[2606:2800:220:1::1]:8080/"),
    ],
)
def test_a_url_has_one_spelling(written: str, meant: str) -> None:
    assert parse_url(written).url == meant
    assert parse_url(meant).url == meant


@pytest.mark.parametrize(
    "url",
    [
        *(
            "",
            "example.org",
            "//example.org",
            "http:example.org",
            "http://",
            "http://:80/",
            "http://[::1",
            "http://a..b/",
        ),
        *(
            "http://example.org:x/",
            "http://example.org:99999/",
            "http://-a.org/",
            f"http://{'a' * 64}.org",
            "http://a b/",
            "http://a /b",
            "https://example.org/?q=a b",
            "https://example.org/a b?q=a b",
            "https://example.org/#a b",
            "https://example.org/a https://example.net/b",
            "https://example.org/a b\nHost: c",
            "https://example.org/a\u2028b c\t",
        ),
        *(f"http://example.org/{'x' * 2000}", "http://1.2.3.4.5/", f"http://{'9' * 1900}/", "http://[v1]/"),
    ],
)
def test_what_is_no_url_is_refused_in_a_sentence(url: str) -> None:
    with pytest.raises(CommandError, match=r"is refused: .*\.$"):
        parse_url(url)


@pytest.mark.parametrize(
    "address", ["8.8.8.8", "100.128.0.1", "172.32.0.1", "192.167.255.255", "2606:4700::1111", "64:ff9b::808:808"]
)
def test_the_open_internet_is_open(address: str) -> None:
    assert describe_internal(ip_address(address)) == ""


@pytest.mark.parametrize(
    ("named", "host", "address", "is_open"),
    [
        ("10.0.0.5", "10.0.0.5", "10.0.0.5", True),
        ("10.0.0.5", "wiki", "10.0.0.5", True),
        ("10.0.0.5", "10.0.0.6", "10.0.0.6", False),
        ("10.0.0.0/8", "wiki", "10.1.2.3", True),
        ("10.0.0.0/8", "wiki", "::ffff:10.1.2.3", True),
        ("Wiki.Example.", "wiki.example", "192.168.0.1", True),
        ("wiki.example", "x.wiki.example", "192.168.0.1", False),
        ("wiki.example", "wiki.example", "169.254.169.254", False),
        ("0.0.0.0/0", "x", "169.254.169.254", False),
        ("::/0", "x", "fe80::1", False),
        ("::/0", "x", "fd00:ec2::254", False),
        ("169.254.169.254", "x", "169.254.169.254", True),
    ],
)
def test_an_operator_opens_what_is_named_and_no_more(named: str, host: str, address: str, is_open: bool) -> None:
    assert InternalHosts.of([named]).allow(host, ip_address(address)) is is_open


@pytest.mark.parametrize("entry", ["", "10.0.0.1/8", "http://wiki", "a b", "10.0.0.0/99"])
def test_a_wrong_entry_of_the_operator_is_told(entry: str) -> None:
    with pytest.raises(ValueError, match="is no host name, address or network"):
        InternalHosts.of([entry])


async def test_redirects_are_followed_to_the_page() -> None:
    async with site() as here:
        here.answers = {"/": leads_to("a/b?c=d", 301), "/a/b": leads_to(here.url("/end"), 307), "/end": page("there")}
        fetched = await DOOR.fetch(here.url(), ANYWHERE, WANTED)
    assert (fetched.url, fetched.data, here.paths) == (here.url("/end"), b"there", ["/", "/a/b?c=d", "/end"])
    assert (fetched.kind, fetched.charset) == ("text/html", "utf-8")


async def test_a_request_says_who_sends_it_and_for_which_site() -> None:
    async with site() as here:
        here.answers["/"] = page("there")
        await DOOR.fetch(here.url(), ANYWHERE, WANTED)
    sent = here.requests[0].headers
    assert (sent["user-agent"], sent["host"]) == ("Signoff/1 (+https://signoff.example)", f"{NAME}:{here.port}")


@pytest.mark.parametrize(
    "answer",
    [
        packed(b"hello " * 500),
        page(gzip.compress(b"hello " * 250) * 2, content_encoding="x-gzip"),
        page(zlib.compress(b"hello " * 500), content_encoding="deflate"),
        page(zlib.compress(b"hello " * 500)[2:-4], content_encoding="deflate"),
        page(b"hello " * 500, content_encoding="identity"),
    ],
)
async def test_what_is_packed_is_unpacked(answer: bytes) -> None:
    async with site() as here:
        here.answers["/"] = answer
        assert (await DOOR.fetch(here.url(), ANYWHERE, WANTED)).data == b"hello " * 500


@pytest.mark.slow
async def test_no_more_is_unpacked_at_a_time_than_is_wanted() -> None:
    async def bomb() -> AsyncIterator[bytes]:
        yield packed_bomb

    packed_bomb = gzip.compress(bytes(50_000_000))
    tracemalloc.start()
    with pytest.raises(CommandError, match="is too much"):
        await Decompressor(NAME, "gzip", 10_000).read_all(bomb())
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1_000_000


async def test_what_is_packed_and_cut_off_is_told() -> None:
    async with site() as here:
        here.answers["/"] = page(gzip.compress(b"hello " * 500)[:-12], content_encoding="gzip")
        with pytest.raises(CommandError, match="ends too early"):
            await DOOR.fetch(here.url(), ANYWHERE, WANTED)


@pytest.mark.parametrize(
    ("status", "said"),
    [(404, "There is no such page"), (403, "try another source"), (429, "too often"), (503, "later")],
)
async def test_a_refusal_of_the_site_is_told(status: int, said: str) -> None:
    async with site() as here:
        here.answers["/"] = page("<h1>Whatever it writes there</h1>", status=status)
        with pytest.raises(CommandError, match=rf"^example\.org answered {status}\. .*{said}"):
            await DOOR.fetch(here.url(), ANYWHERE, WANTED)


async def test_a_kind_that_is_not_wanted_is_not_read() -> None:
    async with site() as here:
        here.answers["/"] = endless(b"HTTP/1.1 200 OK\r\nContent-Type: video/mp4\r\n\r\n", b"x" * 9000)
        with pytest.raises(CommandError, match=r"no page but video/mp4\. download_file"):
            await DOOR.fetch(
                here.url(), ANYWHERE, FetchLimits(max_bytes=99, accepts=lambda kind: kind.startswith("text/"))
            )


async def test_a_channel_keeps_agents_to_its_sites() -> None:
    async with site() as here:
        here.answers["/"] = page("there")
        assert (await DOOR.fetch(here.url(), Sites(allow=(NAME,)), WANTED)).data == b"there"
        for sites in (Sites(allow=("other.org",)), Sites(deny=("org",))):
            with pytest.raises(CommandError, match="in this channel"):
                await DOOR.fetch(here.url(), sites, WANTED)
    assert here.connections == 1


async def test_https_does_not_lead_to_http() -> None:
    way = AdmittedTarget(parse_url("https://example.org/"), (ip_address(OPEN),))
    with pytest.raises(CommandError, match=r"from https to plain http\. Ask for http://example.org/a itself"):
        await DOOR._admit_redirect(way, "http://example.org/a", ANYWHERE)
    assert (await DOOR._admit_redirect(way, "/b", ANYWHERE)).target.url == "https://example.org/b"


async def test_a_certificate_that_nobody_vouches_for_is_told(tmp_path: Path) -> None:
    async with site(tls=self_signed(tmp_path)) as here:
        here.answers["/"] = page("there")
        with pytest.raises(CommandError, match=r"^example\.org cannot be trusted: its certificate"):
            await DOOR.fetch(here.url().replace("http:", "https:"), ANYWHERE, WANTED)
    assert here.requests == []


async def test_a_host_that_is_not_there_is_told() -> None:
    async with site() as gone:
        url = gone.url()
    with pytest.raises(CommandError, match=r"^example\.org cannot be reached"):
        await DOOR.fetch(url, ANYWHERE, WANTED)
    with pytest.raises(CommandError, match=r"There is no host nowhere\.example\. Check"):
        await DOOR.fetch("http://nowhere.example/", ANYWHERE, WANTED)


async def test_a_name_that_is_not_answered_is_given_up() -> None:
    async def never(_host: str) -> list[str]:
        await asyncio.Event().wait()
        return []

    with pytest.raises(CommandError, match="could not be found in time"):
        await EgressGateway(resolve=never, timeouts=Timeouts(dns=0.01)).admit("http://example.org/", ANYWHERE)


async def test_a_second_address_is_tried_where_the_first_is_dead() -> None:
    door = EgressGateway(internal=InternalHosts.of(["127.0.0.0/8"]), resolve=Names({NAME: [["127.0.0.9", OPEN]]}))
    async with site() as here:
        here.answers["/"] = page("there")
        assert (await door.fetch(here.url(), ANYWHERE, WANTED)).data == b"there"


async def ask(proxy: EgressProxy, head: bytes, body: bytes = b"") -> bytes:
    reader, writer = await asyncio.open_connection(HERE, proxy.port)
    key = b64encode(f"{USER}:{proxy.password}".encode())
    writer.write(head + b"\r\nProxy-Authorization: Basic " + key + b"\r\n\r\n" + body)
    said = await reader.read()
    writer.close()
    return said


async def test_a_program_gets_out_through_the_proxy_and_nothing_of_the_proxy_is_passed_on() -> None:
    async with site() as here, open_tunnel(DOOR, ANYWHERE, 10_000) as proxy:
        here.answers["/form"] = page("taken")
        head = f"POST {here.url('/form?a=b')} HTTP/1.1\r\nHost: other.org\r\nContent-Length: 8".encode()
        said = await ask(proxy, head, b"name=Ana" + b"and more")
    request = here.requests[0]
    assert said.endswith(b"taken")
    assert (request.method, request.path, request.body) == ("POST", "/form?a=b", b"name=Ana")
    assert (request.headers["host"], "proxy-authorization" in request.headers) == (f"{NAME}:{here.port}", False)


async def test_a_tunnel_carries_bytes_both_ways() -> None:
    async with site() as here, open_tunnel(DOOR, ANYWHERE, 10_000) as proxy:
        here.answers["/"] = page("there")
        said = await ask(proxy, f"CONNECT {NAME}:{here.port} HTTP/1.1".encode(), b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
    assert said.startswith(b"HTTP/1.1 200 Connection established\r\n\r\n")
    assert said.endswith(b"there")


async def test_a_proxy_is_shut_when_too_much_came_through_it() -> None:
    async with site() as here, open_tunnel(DOOR, ANYWHERE, 50_000) as proxy:
        here.answers["/"] = endless(b"HTTP/1.1 200 OK\r\n\r\n", b"x" * 9000)
        head = f"GET {here.url()} HTTP/1.1".encode()
        with suppress(ConnectionResetError):
            assert len(await ask(proxy, head)) < 60_000
        assert proxy.is_over_limit
        assert (await ask(proxy, head)).startswith(b"HTTP/1.1 503 ")


@pytest.mark.parametrize(
    ("head", "status"),
    [
        (b"GET http://example.org/ HTTP/1.1\r\nTransfer-Encoding: chunked", 403),
        (b"GET http://example.org/ HTTP/1.1\r\nContent-Length: 99999999", 403),
        (b"GET http://example.org/ HTTP/1.1\r\nX: a\nHost: other.org", 403),
        (b"PUT http://example.org/ HTTP/1.1", 403),
        (b"GET https://example.org/ HTTP/1.1", 403),
        (b"CONNECT example.org:22 HTTP/1.1", 403),
        (b"GET", 403),
        (b"\xff\xfe", 403),
    ],
)
async def test_an_odd_request_is_not_let_out(head: bytes, status: int) -> None:
    async with open_tunnel(DOOR, ANYWHERE, 10_000) as proxy:
        said = await ask(proxy, head)
    assert said.startswith(b"HTTP/1.1 %d " % status)
    assert len(proxy.refusals) == 1


async def test_a_head_without_an_end_is_hung_up_on() -> None:
    async with open_tunnel(DOOR, ANYWHERE, 10_000) as proxy:
        reader, writer = await asyncio.open_connection(HERE, proxy.port)
        writer.write(b"X" * 100_000)
        assert await reader.read() == b""
        writer.close()
