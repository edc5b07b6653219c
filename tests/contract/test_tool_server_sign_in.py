"""Signing in at tool servers: by the SDK over real sockets, with what is kept in the database."""

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from urllib.parse import parse_qs, urlsplit

import pytest
from aiohttp import ClientSession

from agent_core.capabilities.tool_servers.mcp_server import McpServer
from agent_core.capabilities.tool_servers.sign_ins import SignIns, SignInStore
from agent_core.errors import CommandError
from agent_core.persistence.database import SqlDatabase
from agent_core.ports.tool_servers import ComeBack, RemoteAddress, ServerEntry, SignInTerms
from agent_core.providers.clock import SystemClock
from agent_core.testing.database import TemporaryDatabase
from tests.contract.servers.guarded import Doorkeeper, guarded_server
from tests.contract.test_tool_servers import until
from tests.patience import PATIENCE_SECONDS

CLOCK = SystemClock()
KEY = "a key of some length"


@pytest.fixture
def doorkeeper() -> Doorkeeper:
    return Doorkeeper()


@pytest.fixture
async def url(doorkeeper: Doorkeeper) -> AsyncIterator[str]:
    async with guarded_server(doorkeeper) as address:
        yield address


@pytest.fixture
def store() -> SignInStore:
    return SignInStore(TemporaryDatabase(), CLOCK, KEY)


async def follow(address: str) -> ComeBack:
    """What somebody does who opens the address and agrees."""
    async with ClientSession() as session, session.get(address, allow_redirects=False) as answer:
        query = parse_qs(urlsplit(answer.headers["Location"]).query)
    return ComeBack(query["code"][0], query["state"][0], query.get("iss", [None])[0])


def entry_at(url: str, name: str = "guarded") -> ServerEntry:
    return ServerEntry(name=name, reached=RemoteAddress(url=url, sign_in=SignInTerms()), place="here")


def server_at(url: str, store: SignInStore, **more: object) -> McpServer:
    sign_ins = SignIns(store=store, clock=CLOCK, **more)  # type: ignore[arg-type]
    return McpServer(entry=entry_at(url), clock=CLOCK, seconds=PATIENCE_SECONDS, sign_ins=sign_ins)


async def sign_in(url: str, store: SignInStore) -> None:
    assert await server_at(url, store, ask_person=follow).connect_once(until_listed=True) == ""


async def let_token_end(url: str, store: SignInStore, doorkeeper: Doorkeeper) -> None:
    """Let the time of the access token pass, not that of the refresh token."""
    doorkeeper.tokens.clear()
    kept = await store.get("guarded", url)
    assert kept
    await store.put("guarded", replace(kept, expires_at=1.0))


async def key_of(url: str, store: SignInStore) -> str:
    """With what key a new process calls the server."""
    server = server_at(url, store)
    running = asyncio.create_task(server.run())
    try:
        await until(lambda: server.state.condition == "connected")
        return (await server.call("key", {}, print)).text
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


@pytest.mark.slow
async def test_a_server_is_used_by_every_process_after_somebody_signed_in_once(url: str, store: SignInStore) -> None:
    before = await server_at(url, store).connect_once(until_listed=True)
    assert before == "needs a sign-in: run python -m bot sign-in guarded"
    await sign_in(url, store)
    assert [await key_of(url, store) for _ in range(2)] == ["Bearer access-token-1"] * 2


@pytest.mark.slow
async def test_two_processes_do_not_renew_a_token_twice(url: str, store: SignInStore, doorkeeper: Doorkeeper) -> None:
    await sign_in(url, store)
    await let_token_end(url, store, doorkeeper)
    assert len({*await asyncio.gather(*(key_of(url, store) for _ in range(3)))}) == 1
    assert (doorkeeper.renewals, doorkeeper.reused) == (1, 0)


@pytest.mark.slow
async def test_a_sign_in_that_was_ended_there_is_needed_again(
    url: str, store: SignInStore, doorkeeper: Doorkeeper
) -> None:
    await sign_in(url, store)
    doorkeeper.end_all()
    assert (await server_at(url, store).connect_once(until_listed=True)).startswith("needs a sign-in")
    await sign_in(url, store)
    assert (await key_of(url, store)).startswith("Bearer ")


@pytest.mark.slow
async def test_a_sign_in_counts_for_its_address_alone(url: str, store: SignInStore) -> None:
    await sign_in(url, store)
    assert await store.get("guarded", url)
    assert await store.get("guarded", f"{url}/other") is None
    assert await store.get("other", url) is None


@pytest.mark.slow
async def test_what_is_stored_is_encrypted_and_of_no_use_with_another_key(url: str, sqlite_url: str) -> None:
    database = SqlDatabase(sqlite_url)
    try:
        store = SignInStore(database, CLOCK, KEY)
        await sign_in(url, store)
        async with database.begin() as work:
            kept = await work.installations.get("mcp", "guarded")
        assert kept
        assert "access-token" not in kept.sealed + repr(await store.get("guarded", url))
        assert await SignInStore(database, CLOCK, f"not {KEY}").get("guarded", url) is None
        assert await store.forget("guarded")
        assert not await store.forget("guarded")
        assert await store.get("guarded", url) is None
    finally:
        await database.close()


@pytest.mark.slow
async def test_a_browser_that_comes_back_with_another_state_or_issuer_signs_nobody_in(
    url: str, store: SignInStore
) -> None:
    def changed(change: Callable[[ComeBack], ComeBack]) -> Callable[[str], object]:
        async def ask(address: str) -> ComeBack:
            return change(await follow(address))

        return ask

    for change in (
        lambda back: replace(back, state="forged"),
        lambda back: replace(back, state=None),
        lambda back: replace(back, issuer="https://elsewhere.example"),
        lambda back: replace(back, code="forged"),
    ):
        fault = await server_at(url, store, ask_person=changed(change)).connect_once(until_listed=True)
        assert "sign" in fault, fault
        assert await store.get("guarded", url) is None


@pytest.mark.slow
@pytest.mark.proves("mcp:sign-out")
@pytest.mark.parametrize("asks", [True, False], ids=["called", "idle"])
async def test_a_sign_in_that_is_forgotten_ends_in_a_running_process_at_once(
    url: str, store: SignInStore, doorkeeper: Doorkeeper, *, asks: bool
) -> None:
    await sign_in(url, store)
    server = server_at(url, store)
    running = asyncio.create_task(server.run())
    try:
        await until(lambda: server.state.condition == "connected")
        await asyncio.wait((running,), timeout=0.5)  # the connection also listens, and asks for what else there is
        before = doorkeeper.checks
        assert await store.forget("guarded")
        if asks:
            with pytest.raises(CommandError, match="needs a sign-in: run python -m bot sign-in guarded"):
                await server.call("key", {}, print)
            assert doorkeeper.checks == before
        await until(lambda: server.state.condition == "away")
        assert server.state.why == "needs a sign-in: run python -m bot sign-in guarded"
        await sign_in(url, store)
        await until(lambda: server.state.condition == "connected")
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


@pytest.mark.proves("mcp:sign-out")
async def test_a_renewal_brings_back_no_sign_in_that_was_forgotten(url: str, store: SignInStore) -> None:
    await sign_in(url, store)
    kept = await store.get("guarded", url)
    assert kept
    assert await store.renew("guarded", replace(kept, expires_at=2.0))
    assert await store.get("guarded", url) == replace(kept, expires_at=2.0)
    assert await store.forget("guarded")
    assert not await store.renew("guarded", kept)
    assert await store.get("guarded", url) is None


@pytest.mark.slow
async def test_a_sign_in_that_ends_in_the_middle_is_told_by_the_next_call_in_one_line(
    url: str, store: SignInStore, doorkeeper: Doorkeeper
) -> None:
    await sign_in(url, store)
    server = server_at(url, store)
    running = asyncio.create_task(server.run())
    try:
        await until(lambda: server.state.condition == "connected")
        doorkeeper.end_all()
        with pytest.raises(CommandError) as refused:
            await server.call("key", {}, print)
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
    needed = "The tool server guarded needs a sign-in: run python -m bot sign-in guarded"
    assert str(refused.value) == f"{needed}. If the call had begun, look whether it took effect."
