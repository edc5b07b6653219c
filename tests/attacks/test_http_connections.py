"""Attacks by connections: requests that never end, and more connections than there can be."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from agent_core.testing.language_model import ScriptedModel
from bot.http_server import ConnectionTable, ServerLimits, source_of
from tests.attacks.rows import attack
from tests.patience import PATIENCE_SECONDS
from tests.scenario.served import served

QUICK = ServerLimits(head_seconds=0.2, body_seconds=0.2, keepalive_seconds=0.3, linger_seconds=0.1, connections=20)
PATIENT = ServerLimits(connections=20, head_seconds=600)
HALF_HEAD = b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n"
WHOLE = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
FORM = b"POST /enter HTTP/1.1\r\nHost: 127.0.0.1\r\nSec-Fetch-Site: none\r\nContent-Length: 9\r\n\r\n"


@dataclass(slots=True)
class Client:
    """A client that sends what it likes."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def send(self, *parts: bytes, every: float = 0) -> None:
        """Send the parts, the next after so many seconds, until the other side hangs up."""
        for part in parts:
            self.writer.write(part)
            if every and await self.is_closed_within(every):
                return

    async def status(self) -> int:
        """The status of the next answer; 0 where the connection is closed without one."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            line = await self.reader.readline()
        return int(line.split()[1]) if line else 0

    async def is_closed_within(self, seconds: float) -> bool:
        """Whether the other side hangs up, whatever it says before."""
        try:
            async with asyncio.timeout(seconds):
                await self.reader.read()
        except TimeoutError:
            return False
        except ConnectionError:
            pass
        return True


@asynccontextmanager
async def connected(base: str) -> AsyncIterator[Client]:
    address = urlsplit(base)
    client = Client(*await asyncio.open_connection(address.hostname, address.port))
    try:
        yield client
    finally:
        client.writer.transport.abort()


@pytest.fixture
async def quick(tmp_path: Path) -> AsyncIterator[str]:
    async with served(ScriptedModel(), tmp_path, limits=QUICK) as base:
        yield base


@pytest.fixture
async def patient(tmp_path: Path) -> AsyncIterator[str]:
    async with served(ScriptedModel(), tmp_path, limits=PATIENT) as base:
        yield base


@pytest.mark.proves("http:slow")
@attack("http", "A request head that never ends (slowloris)", "408, and the connection is closed")
async def test_half_a_head_is_waited_for_so_long_and_no_longer(quick: str, answer: str) -> None:
    async with connected(quick) as client:
        await client.send(HALF_HEAD)
        assert await client.status() == int(answer[:3])
        assert await client.is_closed_within(PATIENCE_SECONDS)


@pytest.mark.proves("http:slow")
@attack("http", "The same byte by byte, so that the connection is never idle", "408, and the connection is closed")
async def test_bytes_now_and_then_do_not_lengthen_the_time_for_a_head(quick: str, answer: str) -> None:
    async with connected(quick) as client:
        await client.send(HALF_HEAD, *(b"X: y\r\n" for _ in range(100)), every=0.03)
        assert client.reader.at_eof()
    assert answer.endswith("closed")


@pytest.mark.proves("http:slow")
@attack("http", "An idle connection", "closed")
async def test_a_silent_connection_is_closed(quick: str, answer: str) -> None:
    async with connected(quick) as client:
        assert await client.is_closed_within(PATIENCE_SECONDS)
    assert answer == "closed"


@pytest.mark.proves("http:slow")
@attack("http", "A second request on a connection, with a head that never ends", "408, and the connection is closed")
async def test_the_time_for_a_head_counts_for_every_request(tmp_path: Path, answer: str) -> None:
    limits = ServerLimits(head_seconds=0.2, keepalive_seconds=600)
    async with served(ScriptedModel(), tmp_path, limits=limits) as base, connected(base) as client:
        await client.send(WHOLE)
        assert await client.status() == 200
        await client.send(HALF_HEAD)
        assert await client.is_closed_within(PATIENCE_SECONDS)
    assert answer.endswith("closed")


@pytest.mark.proves("http:slow")
@attack("http", "A form with a body that never ends", "408, and the connection is closed")
async def test_half_a_body_is_waited_for_so_long_and_no_longer(quick: str, answer: str) -> None:
    async with connected(quick) as client:
        await client.send(FORM, b"to")
        assert await client.status() == int(answer[:3])
        assert await client.is_closed_within(PATIENCE_SECONDS)


@pytest.mark.proves("http:slow")
async def test_a_connection_that_is_kept_for_nothing_is_closed(quick: str) -> None:
    async with connected(quick) as client:
        await client.send(WHOLE)
        assert await client.status() == 200
        assert await client.is_closed_within(PATIENCE_SECONDS)


@pytest.mark.slow
async def test_a_stream_outlasts_every_limit_on_time(quick: str) -> None:
    async with connected(quick) as client:
        await client.send(WHOLE.replace(b"/healthz", b"/events"))
        assert await client.status() == 200
        assert not await client.is_closed_within(0.6)


@pytest.mark.proves("http:many")
@attack("http", "More incomplete requests than connections", "the oldest is closed for each new one; pages are served")
async def test_half_requests_keep_nobody_else_out(patient: str, answer: str) -> None:
    async with AsyncExitStack() as stack:
        crowd = [await stack.enter_async_context(connected(patient)) for _ in range(3 * PATIENT.connections)]
        for client in crowd:
            await client.send(HALF_HEAD)
        async with connected(patient) as visitor:
            await visitor.send(WHOLE)
            assert await visitor.status() == 200
        assert await crowd[0].is_closed_within(PATIENCE_SECONDS)
        assert not await crowd[-1].is_closed_within(0.1)
    assert "pages are served" in answer


@pytest.mark.proves("http:many")
@attack("http", "More event streams than connections", "503 while all connections are in use")
async def test_connections_in_use_are_not_closed_for_others(patient: str, answer: str) -> None:
    async with AsyncExitStack() as stack:
        streams = [await stack.enter_async_context(connected(patient)) for _ in range(PATIENT.connections)]
        for stream in streams:
            await stream.send(WHOLE.replace(b"/healthz", b"/events"))
            assert await stream.status() == 200
        async with connected(patient) as visitor:
            assert await visitor.status() == int(answer[:3])
        streams.pop().writer.transport.abort()
        assert await is_answered(patient)


async def is_answered(base: str) -> bool:
    """Whether a visitor is answered at last."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while True:
            async with connected(base) as visitor:
                await visitor.send(WHOLE)
                if await visitor.status() == 200:
                    return True


@dataclass(eq=False, slots=True)
class Held:
    """A connection in a table."""

    is_busy: bool = False
    closed: list[str] = field(default_factory=list)

    def abort(self) -> None:
        self.closed.append("aborted")


ONE, TWO, PROXY = "198.51.100.7", "198.51.100.8", "127.0.0.1"


@pytest.mark.proves("http:many")
@attack("http", "All connections from one address", "half of them at most; the rest stay free for other addresses")
def test_one_address_holds_half_of_the_connections(answer: str) -> None:
    table = ConnectionTable(ServerLimits(connections=8))
    assert [table.admit(Held(is_busy=True), ONE) for _ in range(5)] == [True] * 4 + [False]
    assert [table.admit(Held(is_busy=True), TWO) for _ in range(5)] == [True] * 4 + [False]
    assert answer.startswith("half")


def test_an_address_that_holds_its_half_gives_up_its_own_oldest_that_waits() -> None:
    table, first = ConnectionTable(ServerLimits(connections=8)), Held()
    other, busy = Held(), Held(is_busy=True)
    table.admit(other, TWO)
    assert all(table.admit(each, ONE) for each in (busy, first, Held(), Held(), Held()))
    assert (first.closed, busy.closed, other.closed) == (["aborted"], [], [])


@pytest.mark.proves("http:proxy")
def test_a_proxy_on_this_machine_may_hold_all_connections() -> None:
    table = ConnectionTable(ServerLimits(connections=8))
    assert [table.admit(Held(is_busy=True), PROXY) for _ in range(9)] == [True] * 8 + [False]


def test_a_connection_that_ended_makes_room_once() -> None:
    table, held = ConnectionTable(ServerLimits(connections=2)), Held(is_busy=True)
    table.admit(held, ONE)
    table.release(held)
    table.release(held)
    assert [table.admit(Held(is_busy=True), ONE), table.admit(Held(is_busy=True), ONE)] == [True, False]


@pytest.mark.parametrize(
    ("address", "source"),
    [
        (ONE, ONE),
        (f"::ffff:{ONE}", ONE),
        ("2001:db8:1:2:3::1", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("127.0.0.9", ""),
        ("::ffff:127.0.0.1", ""),
        ("::1", ""),
        ("", ""),
    ],
)
def test_addresses_of_one_customer_are_one_source(address: str, source: str) -> None:
    assert source_of(address) == source
