"""The real program under more connections than it can hold: it answers, or answers again, and its log stays short."""

import asyncio
import resource
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from aiohttp import ClientError, ClientSession, ClientTimeout

from tests.e2e.process import Program, program
from tests.patience import PATIENCE_SECONDS

HALF = b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n"
CROWD = 1_100


@contextmanager
def descriptors(number: int) -> Iterator[None]:
    """As many for this process, and for those that it starts meanwhile."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(number, hard), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def descriptors_of(running: Program) -> int:
    """How many the process has open."""
    return len(list(Path(f"/proc/{running.process.pid}/fd").iterdir()))


@asynccontextmanager
async def half_requests(running: Program, number: int) -> AsyncIterator[None]:
    """So many clients that each send half a request and wait."""
    address = urlsplit(running.address)
    writers = []
    for _ in range(number):
        _, writer = await asyncio.open_connection(address.hostname, address.port)
        writer.write(HALF)
        writers.append(writer)
    try:
        yield
    finally:
        for writer in writers:
            writer.transport.abort()


async def answers_within(running: Program, seconds: float) -> bool:
    """Whether the page answers somebody who asks again and again for so long."""
    try:
        async with asyncio.timeout(seconds), ClientSession(timeout=ClientTimeout(total=1)) as session:
            while True:
                try:
                    async with session.get(f"{running.address}/healthz") as answer:
                        if answer.status == 200:
                            return True
                except (ClientError, TimeoutError):
                    continue
    except TimeoutError:
        return False


@pytest.mark.slow
@pytest.mark.proves("http:many")
async def test_eleven_hundred_half_requests_keep_nobody_out(tmp_path: Path) -> None:
    with descriptors(1024):
        async with program(tmp_path) as running:
            listening = asyncio.create_task(running.listen())
            with descriptors(4096):
                async with half_requests(running, CROWD):
                    assert await answers_within(running, 5)
            await running.stop()
            await listening


@pytest.mark.slow
@pytest.mark.proves("http:descriptors")
async def test_without_a_descriptor_left_it_waits_and_comes_back(tmp_path: Path) -> None:
    async with program(tmp_path) as running:
        await running.says("posts ")  # the last line of what is on and off: nothing more is opened
        assert await answers_within(running, 10)
        resource.prlimit(running.process.pid, resource.RLIMIT_NOFILE, (descriptors_of(running) + 8, 1024))
        async with half_requests(running, 20):
            async with asyncio.timeout(PATIENCE_SECONDS):
                await running.says("out of system resource")
            listening = asyncio.create_task(running.listen())
            assert await answers_within(running, PATIENCE_SECONDS), running.output  # each head has 10 seconds
        await running.stop()
        await listening
    assert 0 < running.output.count("out of system resource") < 100
