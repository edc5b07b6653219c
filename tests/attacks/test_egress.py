"""Attacks on the egress gateway: a victim listens on this machine, and no request may arrive at it."""

import asyncio
import zlib
from dataclasses import replace
from ipaddress import ip_network

import pytest

from agent_core.errors import CommandError
from agent_core.model.channel_settings import Sites
from agent_core.providers.egress.address_policy import InternalHosts
from agent_core.providers.egress.gateway import EgressGateway
from agent_core.providers.egress.local_addresses import LocalAddresses
from agent_core.providers.egress.proxy import open_tunnel
from agent_core.providers.egress.values import FetchLimits, Timeouts
from tests.attacks.rows import attack
from tests.standins.site import HERE, NAME, OPEN, Names, Raw, dripping, endless, leads_to, packed, page, site, two_sites

ANYWHERE = Sites()
MOST = 100_000
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"
QUICK = Timeouts(connect=0.5, idle=0.3, total=0.5)


def a_door(names: Names | None = None, patience: Timeouts = QUICK) -> EgressGateway:
    return EgressGateway(internal=InternalHosts.of([OPEN]), resolve=names or Names(), timeouts=patience)


async def refusal(door: EgressGateway, url: str, sites: Sites = ANYWHERE) -> str:
    """Why a page was not given, in short."""
    with pytest.raises(CommandError) as error:
        await door.fetch(url, sites, FetchLimits(max_bytes=MOST))
    return in_short(str(error.value))


def in_short(said: str) -> str:
    return (
        "refused: " + said.partition(" is refused: ")[2].partition(". ")[0].rstrip(".")
        if " is refused: " in said
        else said
    )


def at(what: str, url: str, why: str) -> object:
    shown = url.replace(":{port}", "").encode("unicode_escape").decode() if "\n" in url or "\t" in url else url
    return pytest.param(url, marks=attack("door", f"{what}: `{shown.replace(':{port}', '')}`", f"refused: {why}"))


MACHINE = "127.0.0.1 is this machine"
CLOUD = "169.254.169.254 is a cloud's metadata service"
LOGIN = "there must be no name or password in it"
TWO_WAYS = "it holds a blank, a backslash or a control character; write them as %20, %5C and so on"


@pytest.mark.parametrize(
    "url",
    [
        at("This machine", "http://127.0.0.1:{port}/", MACHINE),
        at("The address as one decimal number", "http://2130706433:{port}/", MACHINE),
        at("Parts in hexadecimal", "http://0x7f.1:{port}/", MACHINE),
        at("The whole address in hexadecimal", "http://0x7f000001:{port}/", MACHINE),
        at("Parts in octal", "http://0177.0.0.1:{port}/", MACHINE),
        at("Omitted parts", "http://127.1:{port}/", MACHINE),
        at("Percent escapes", "http://%31%32%37.0.0.1:{port}/", MACHINE),
        at("Full-width digits and dots", "http://１２７．０．０．１:{port}/", MACHINE),
        at("Circled digits", "http://①②⑦.0.0.1:{port}/", MACHINE),
        at("A trailing dot", "http://127.0.0.1.:{port}/", MACHINE),
        at("Zero", "http://0:{port}/", "0.0.0.0 stands for this machine"),
        at("IPv6 loopback", "http://[::1]:{port}/", "::1 is this machine"),
        at("IPv4-mapped IPv6", "http://[::ffff:127.0.0.1]:{port}/", MACHINE),
        at("The same in hexadecimal", "http://[::ffff:7f00:1]:{port}/", MACHINE),
        at("IPv4-compatible IPv6", "http://[::127.0.0.1]:{port}/", "::7f00:1 is this machine"),
        at("NAT64", "http://[64:ff9b::7f00:1]:{port}/", "64:ff9b::7f00:1 is this machine"),
        at("6to4", "http://[2002:7f00:1::]:{port}/", "2002:7f00:1:: is this machine"),
        at("Teredo", "http://[2001:0:4136:e378:0:0:80ff:fffe]:{port}/", "2001:0:4136:e378::80ff:fffe is this machine"),
        at("An IPv6 zone", "http://[fe80::1%25lo]:{port}/", "an address with a zone belongs to a local network"),
        at("A name of this machine", "http://localhost.:{port}/", "localhost is the name of something inside"),
        at("A name under localhost", "http://a.LOCALHOST:{port}/", "a.localhost is the name of something inside"),
        at("Credentials before the host", "http://example.org@127.0.0.1:{port}/", LOGIN),
        at("User name and password", "http://me:secret@example.org:{port}/", LOGIN),
        at("A backslash that some parsers read as a slash", "http://example.org\\@127.0.0.1:{port}/", TWO_WAYS),
        at("CRLF injection", "http://127.0.0.1:{port}/\nHost: example.org", TWO_WAYS),
        at("A tab inside the scheme", "ht\ttp://127.0.0.1:{port}/", TWO_WAYS),
        at("A fragment before the credentials", "http://127.0.0.1:{port}#@example.org/", MACHINE),
        at(
            "A number that is not a valid address",
            "http://127.0.0.256:{port}/",
            "its host is a number that is no address",
        ),
        at("A null byte in the host", "http://127.0.0.1%00.example.org:{port}/", "its host cannot be read"),
    ],
)
async def test_this_machine_is_not_reached_however_it_is_written(url: str, answer: str) -> None:
    async with site(HERE) as victim:
        saw = await refusal(a_door(), url.format(port=victim.port))
    assert (saw, victim.connections) == (answer, 0)


@pytest.mark.parametrize(
    "url",
    [
        at("A cloud's metadata service", "http://169.254.169.254/latest/meta-data/", CLOUD),
        at("The same as one decimal number", "http://2852039166/", CLOUD),
        at(
            "The same as a name",
            "http://metadata.google.internal/",
            "metadata.google.internal is the name of something inside",
        ),
        at("The same in IPv6", "http://[fd00:ec2::254]/", "fd00:ec2::254 is a cloud's metadata service"),
        at("A private network", "http://192.168.1.1/", "192.168.1.1 lies in a private network"),
        at("A private network in octal", "http://0300.0250.1/", "192.168.0.1 lies in a private network"),
        at("A private IPv6 network", "http://[fd12::1]/", "fd12::1 lies in a private network"),
        at(
            "A carrier's shared address space (CGNAT)",
            "http://100.64.0.1/",
            "100.64.0.1 is shared by a provider's customers",
        ),
        at("Multicast", "http://239.255.255.250:1900/", "239.255.255.250 is a multicast address"),
        at("A name without a dot", "http://intranet/", "intranet is the name of something inside"),
        at("A file", "file:///etc/passwd", "file is not the web; use http or https"),
        at("Another protocol", "gopher://example.org:6379/_FLUSHALL", "gopher is not the web; use http or https"),
        at("FTP", "ftp://example.org/", "ftp is not the web; use http or https"),
        at("A script", "javascript:alert(1)", "it is no full address; begin with https://"),
        at("A data URL", "data:text/html,<b>hello</b>", "it is no full address; begin with https://"),
        at("The SMTP port", "http://example.org:25/", "port 25 is not one of the web"),
        at("The Redis port", "http://example.org:6379/", "port 6379 is not one of the web"),
    ],
)
async def test_nothing_inside_and_nothing_but_the_web_is_asked(url: str, answer: str) -> None:
    names = Names()
    assert (await refusal(a_door(names), url), names.asked) == (answer, [])


PUBLIC = LocalAddresses(
    own=frozenset(map(ip_network, ("93.184.216.34/32", "2606:2800:220:1::/64"))),
    attached=frozenset(map(ip_network, ("93.184.216.0/26", "2606:2800:220::/48"))),
)
OWN, NEIGHBOUR = "is an address of this machine", "lies in a network that this machine is attached to"


@pytest.mark.proves("door:own")
@pytest.mark.parametrize(
    "url",
    [
        at("This machine's own public address", "http://93.184.216.34:{port}/", f"93.184.216.34 {OWN}"),
        at("The same as one decimal number", "http://1572395042:{port}/", f"93.184.216.34 {OWN}"),
        at("The same as IPv4-mapped IPv6", "http://[::ffff:5db8:d822]:{port}/", f"93.184.216.34 {OWN}"),
        at("The same as NAT64", "http://[64:ff9b::5db8:d822]:{port}/", f"64:ff9b::5db8:d822 {OWN}"),
        at("This machine's public IPv6 address", "http://[2606:2800:220:1::7]:{port}/", f"2606:2800:220:1::7 {OWN}"),
        at("A public address in the same network", "http://93.184.216.35:{port}/", f"93.184.216.35 {NEIGHBOUR}"),
        at("The same in IPv6", "http://[2606:2800:220:2::7]:{port}/", f"2606:2800:220:2::7 {NEIGHBOUR}"),
        at(
            "A name that resolves to this machine's public address",
            "http://own.example.org:{port}/",
            f"own.example.org has an address inside: 93.184.216.34 {OWN}",
        ),
    ],
)
async def test_a_public_address_of_this_machine_or_its_network_is_not_reached(url: str, answer: str) -> None:
    names = Names({"own.example.org": [["93.184.216.34"]]})
    door = replace(a_door(names), local_addresses=lambda: PUBLIC)
    assert await refusal(door, url.format(port=8080)) == answer


@attack("door", "A redirect to this machine's public address", f"refused: 93.184.216.34 {OWN}")
async def test_a_redirect_to_a_public_address_of_this_machine_is_not_followed(answer: str) -> None:
    door = replace(a_door(), local_addresses=lambda: PUBLIC)
    async with site(OPEN) as open_site:
        open_site.answers["/"] = leads_to("http://93.184.216.34:8080/")
        assert await refusal(door, open_site.url()) == answer


@attack(
    "door",
    "Any address, while this machine's own addresses cannot be read",
    "refused: the egress gateway blocks everything",
)
async def test_nothing_is_let_out_while_addresses_cannot_be_told_apart(answer: str) -> None:
    def unreadable() -> LocalAddresses:
        raise PermissionError("netlink")

    saw = await refusal(replace(a_door(), local_addresses=unreadable), "http://93.184.216.34/")
    assert saw.startswith("refused: this machine's own addresses cannot be read (PermissionError)")
    assert answer == "refused: the egress gateway blocks everything"


@attack(
    "door",
    "DNS rebinding: a name that is public at the check and private a moment later",
    "only the checked address is connected to",
)
async def test_a_name_is_looked_up_once_and_the_answer_kept(answer: str) -> None:
    names = Names({NAME: [[OPEN], [HERE]]})
    async with two_sites() as (open_site, victim):
        open_site.answers["/"] = page("public")
        fetched = await a_door(names).fetch(open_site.url(), ANYWHERE, FetchLimits(max_bytes=MOST))
    assert (fetched.data, names.asked, victim.connections) == (b"public", [NAME], 0)
    assert answer == "only the checked address is connected to"


@attack(
    "door",
    "DNS rebinding with a redirect to the same name in between",
    "refused: example.org has an address inside: 127.0.0.1 is this machine",
)
async def test_a_name_is_checked_anew_at_a_redirect(answer: str) -> None:
    names = Names({NAME: [[OPEN], [HERE]]})
    async with two_sites() as (open_site, victim):
        open_site.answers["/"] = leads_to("/again")
        saw = await refusal(a_door(names), open_site.url())
    assert (saw, open_site.paths, victim.connections) == (answer, ["/"], 0)


@pytest.mark.parametrize(
    "addresses",
    [
        pytest.param(
            (OPEN, "10.0.0.7"),
            marks=attack(
                "door",
                "A name with a public and a private address",
                "refused: example.org has an address inside: 10.0.0.7 lies in a private network",
            ),
        ),
        pytest.param(
            (OPEN, "::1"),
            marks=attack(
                "door",
                "A name with an IPv6 address of this machine",
                "refused: example.org has an address inside: ::1 is this machine",
            ),
        ),
        pytest.param(
            ("169.254.169.254",),
            marks=attack(
                "door",
                "A name that resolves to a cloud's metadata service",
                "refused: example.org has an address inside: 169.254.169.254 is a cloud's metadata service",
            ),
        ),
    ],
)
async def test_one_address_inside_refuses_the_whole_name(addresses: tuple[str, ...], answer: str) -> None:
    async with site(OPEN) as open_site:
        saw = await refusal(a_door(Names({NAME: [addresses]})), open_site.url())
    assert (saw, open_site.connections) == (answer, 0)


@pytest.mark.parametrize(
    "location",
    [
        pytest.param(
            "http://127.0.0.1:{port}/", marks=attack("door", "A redirect to this machine", f"refused: {MACHINE}")
        ),
        pytest.param(
            "//0x7f.1:{port}/", marks=attack("door", "The same without a scheme, in hexadecimal", f"refused: {MACHINE}")
        ),
        pytest.param(
            "http://169.254.169.254/",
            marks=attack("door", "A redirect to a cloud's metadata service", f"refused: {CLOUD}"),
        ),
        pytest.param(
            "file:///etc/passwd",
            marks=attack("door", "A redirect to a file", "refused: file is not the web; use http or https"),
        ),
        pytest.param(
            "/",
            marks=attack(
                "door",
                "An endless redirect loop",
                "example.org led on more than 5 times; it was followed no further.",
            ),
        ),
        pytest.param(
            "http://denied.example.org:{port}/",
            marks=attack(
                "door",
                "A redirect to a site that the channel denies",
                "refused: denied.example.org is denied in this channel",
            ),
        ),
        pytest.param(
            "http://me:secret@example.org:{port}/",
            marks=attack("door", "A redirect with credentials", f"refused: {LOGIN}"),
        ),
    ],
)
async def test_a_redirect_is_checked_like_a_first_request(location: str, answer: str) -> None:
    async with two_sites() as (open_site, victim):
        open_site.answers["/"] = leads_to(location.format(port=open_site.port))
        saw = await refusal(a_door(), open_site.url(), Sites(deny=("denied.example.org",)))
    assert (saw, victim.connections, len(open_site.requests)) == (answer, 0, 6 if location == "/" else 1)


@attack(
    "door",
    "Leaking proxies, credentials and cookies of the bot's environment and of earlier pages",
    "none is used or sent",
)
async def test_nothing_of_the_environment_is_sent(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory, answer: str
) -> None:
    home = tmp_path_factory.mktemp("home")
    (home / ".netrc").write_text("machine example.org login ana password secret\n")
    async with two_sites() as (open_site, victim):
        for name, value in {"http_proxy": f"http://127.0.0.1:{victim.port}", "HOME": str(home)}.items():
            monkeypatch.setenv(name, value)
        other = open_site.url("/there", name=f"{OPEN}")
        open_site.answers = {"/": page("", status=302, location=other, set_cookie="id=7"), "/there": page("there")}
        for _ in range(2):
            await a_door().fetch(open_site.url(), ANYWHERE, FetchLimits(max_bytes=MOST))
    sent = {name for request in open_site.requests for name in request.headers}
    assert (sent & {"authorization", "cookie", "proxy-authorization", "referer"}, victim.connections) == (set(), 0)
    assert answer == "none is used or sent"


TOO_MUCH = "What example.org sends is too much: more than 100,000 bytes when unpacked."
ENDS_EARLY = "What example.org sent ends too early, or is no HTTP."
NO_HTTP = "example.org answered something that is no HTTP, or with too long a head."
SILENT = "example.org did not send it whole within 0.5 seconds."
BOMB = bytes(50_000_000)
CHUNK = b"8000\r\n" + b"x" * 0x8000 + b"\r\n"


def sends(what: str, raw: Raw, why: str) -> object:
    return pytest.param(raw, marks=attack("door", what, why))


@pytest.mark.slow
@pytest.mark.parametrize(
    "raw",
    [
        sends("A decompression bomb: 50 MB in 50 kB of gzip", packed(BOMB), TOO_MUCH),
        sends("The same with deflate", page(zlib.compress(BOMB), content_encoding="deflate"), TOO_MUCH),
        sends(
            "Compressed twice",
            packed(BOMB, 2),
            "example.org packed its answer as 'gzip, gzip', which was not asked for.",
        ),
        sends(
            "Compressed with brotli, which was not requested",
            page(b"\x0b\x00", content_encoding="br"),
            "example.org packed its answer as 'br', which was not asked for.",
        ),
        sends(
            "Compressed with zstd, which was not requested",
            page(b"\x28\xb5\x2f\xfd", content_encoding="zstd"),
            "example.org packed its answer as 'zstd', which was not asked for.",
        ),
        sends(
            "Declared as gzip, but not compressed",
            page(b"<p>", content_encoding="gzip"),
            "example.org sent something that cannot be unpacked.",
        ),
        sends("An endless body", endless(HEAD + b"\r\n", b"x" * 8192), TOO_MUCH),
        sends("Endless chunks", endless(HEAD + b"Transfer-Encoding: chunked\r\n\r\n", CHUNK), TOO_MUCH),
        sends(
            "A Content-Length of 5 GB",
            HEAD + b"Content-Length: 5000000000\r\n\r\nx",
            "What example.org sends is too much: 5,000,000,000 bytes, 100,000 at most.",
        ),
        sends("A Content-Length that exceeds the body", HEAD + b"Content-Length: 9\r\n\r\nshort", ENDS_EARLY),
        sends("A negative Content-Length", HEAD + b"Content-Length: -1\r\n\r\nshort", NO_HTTP),
        sends("A slow body, byte by byte, endlessly", dripping(HEAD + b"\r\n"), SILENT),
        sends("A slow header, byte by byte, endlessly", dripping(HEAD + b"X: "), SILENT),
        sends("An endless header", endless(HEAD + b"X: ", b"x" * 8192), NO_HTTP),
        sends("Endless headers", endless(HEAD, b"X: y\r\n" * 99), NO_HTTP),
        sends("A reply that is not HTTP", b"220 mail.example.org ESMTP\r\n", NO_HTTP),
        sends("An empty reply", b"", "example.org hung up without an answer."),
    ],
)
async def test_an_answer_meant_to_do_harm_ends_in_one_sentence(raw: Raw, answer: str) -> None:
    async with site(OPEN) as open_site:
        open_site.answers["/"] = raw
        assert await refusal(a_door(), open_site.url()) == answer


@pytest.mark.parametrize(
    "request_line",
    [
        pytest.param(
            b"CONNECT 127.0.0.1:{port} HTTP/1.1",
            marks=attack("door", "A request of the browser or git to this machine", f"refused: {MACHINE}"),
        ),
        pytest.param(
            b"GET http://[::ffff:127.0.0.1]:{port}/ HTTP/1.1",
            marks=attack("door", "The same in another notation, without TLS", f"refused: {MACHINE}"),
        ),
    ],
)
async def test_programs_with_requests_of_their_own_have_the_same_door(request_line: bytes, answer: str) -> None:
    async with two_sites() as (_, victim), open_tunnel(a_door(), ANYWHERE, MOST) as proxy:
        said = await through(
            proxy.port, request_line.replace(b"{port}", b"%d" % victim.port), proxy.url_with_credentials
        )
    assert (in_short(said), victim.connections) == (answer, 0)


@attack("door", "Another program on this machine uses the browser's proxy", "407: it does not know the password")
async def test_the_way_out_of_a_program_is_its_own(answer: str) -> None:
    async with site(OPEN) as open_site, open_tunnel(a_door(), ANYWHERE, MOST) as proxy:
        said = await through(proxy.port, b"GET " + open_site.url().encode() + b" HTTP/1.1", "http://job:guess@x")
    assert (said.split()[1], open_site.connections) == (answer.partition(":")[0], 0)


async def through(port: int, request_line: bytes, key_and_address: str) -> str:
    """What the proxy answers to one request."""
    from base64 import b64encode

    key = key_and_address.partition("//")[2].partition("@")[0]
    reader, writer = await asyncio.open_connection(HERE, port)
    writer.write(request_line + b"\r\nProxy-Authorization: Basic " + b64encode(key.encode()) + b"\r\n\r\n")
    said = (await reader.read()).decode()
    writer.close()
    return said
