"""Reaching the page without its key: another account or server of this machine, a proxy, a plugin, a stolen cookie."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import pytest

from agent_core.errors import CommandError
from agent_core.model.channel_settings import Sites
from agent_core.providers.egress.address_policy import InternalHosts
from agent_core.providers.egress.gateway import EgressGateway
from agent_core.testing.clock import FakeClock
from agent_core.testing.language_model import ScriptedModel
from tests.attacks.rows import attack
from tests.scenario.chat import writing
from tests.scenario.page import PageChat
from tests.scenario.served import served

KEY = "5ca1ab1e" * 4
TOKEN = "a-token-of-the-team"
GENERAL = "/c/web/local/general"


@asynccontextmanager
async def keyed(folder: Path) -> AsyncIterator[tuple[str, str]]:
    """The address of a page with a key: for people, and without the key."""
    async with served(ScriptedModel(writing("a.md", "x"), waits=True), folder, key=KEY) as plain:
        yield plain.replace("://", f"://signoff:{KEY}@"), plain


async def status_of(address: str, **request: object) -> int:
    async with (
        aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar()) as stranger,
        stranger.get(address, allow_redirects=False, **request) as answer,  # type: ignore[arg-type]
    ):
        return answer.status


@attack("http", "Another account of the machine asks for the page and its files", "401")
@pytest.mark.proves("page:key")
@pytest.mark.parametrize("path", ["/", GENERAL, "/enter", "/events", f"{GENERAL}/a/x/files/a.md", "/search?q=a"])
async def test_without_the_key_nothing_is_shown(path: str, tmp_path: Path, answer: str) -> None:
    async with keyed(tmp_path) as (_, plain):
        assert str(await status_of(plain + path)) == answer


@attack("http", "Asking for a page below `/static/`, or by another method of `/enter`", "no page and no cookie")
@pytest.mark.proves("page:key")
@pytest.mark.parametrize("token", ["", TOKEN])
@pytest.mark.parametrize(("method", "path"), [("GET", "/static/x"), ("POST", "/static/x"), ("PUT", "/enter")])
async def test_a_stranger_gets_no_frame_of_the_page(
    method: str, path: str, token: str, tmp_path: Path, answer: str
) -> None:
    key = "" if token else KEY
    async with (
        served(ScriptedModel(waits=True), tmp_path, key=key, token=token) as page,
        aiohttp.ClientSession(headers={"Origin": page}) as eve,
        eve.request(method, page + path, allow_redirects=False) as response,
    ):
        assert ("general" in await response.text(), "Set-Cookie" in response.headers) == (False, False), answer


@attack("http", "Reading the numbers of `/metrics` from another account of the machine", "401")
@pytest.mark.proves("page:key")
async def test_metrics_want_the_key(tmp_path: Path, answer: str) -> None:
    async with keyed(tmp_path) as (_, plain):
        assert str(await status_of(f"{plain}/metrics")) == answer
        assert await status_of(f"{plain}/metrics", headers={"Authorization": f"Bearer {KEY}"}) == 200


@pytest.mark.slow
@pytest.mark.proves("page:key")
async def test_the_printed_address_opens_the_page_and_leads_to_one_without_the_key(tmp_path: Path) -> None:
    async with keyed(tmp_path) as (address, plain), aiohttp.ClientSession() as ana:
        async with ana.get(f"{address}/enter", allow_redirects=False) as answer:
            html = await answer.text()
            assert f'content="0; url={plain}/"' in html
            assert "/static/icon.svg" in html, "else a browser asks for one, and the answer names a second person"
        assert (await status_of(address), await status_of(plain)) == (200, 401)


@pytest.mark.slow
@attack("http", "Approving with the cookie that a browser sent to another port of this machine", "401")
@pytest.mark.proves("page:cookie")
async def test_a_cookie_alone_opens_nothing(tmp_path: Path, answer: str) -> None:
    async with keyed(tmp_path) as (address, plain), PageChat.opened(address, "ana") as ana:
        await ana.new_agent("Clerk", "keeps notes", "Write a report")
        await ana.asks("write_to_file")
        stolen = "; ".join(f"{each.key}={each.value}" for each in ana.session.cookie_jar)
        assert "signoff=" in stolen
        for path in ("/", ana.path, "/events"):
            assert str(await status_of(plain + path, headers={"Cookie": stolen})) == answer


@attack("http", "Writing the owner's id from the decision log into a cookie", "another person")
@pytest.mark.proves("page:cookie")
@pytest.mark.parametrize("cookie", ["signoff_person={id}:ana", "signoff={id}:ana", "signoff=WyJ7aWR9IiwiYW5hIiwiIl0"])
async def test_a_made_up_cookie_is_nobodys(cookie: str, tmp_path: Path, answer: str) -> None:
    async with keyed(tmp_path) as (address, _), aiohttp.ClientSession() as eve:
        forged = {"Cookie": cookie.replace("{id}", "ab" * 16)}
        async with eve.get(f"{address}/", headers=forged) as page:
            said = await page.text()
    assert ("Visitor-" in said, "Visitor-abab" in said) == (True, False), answer


@attack("http", "A reverse proxy before the page, with no token", "403")
@pytest.mark.proves("page:key")
@pytest.mark.parametrize("name", ["X-Forwarded-For", "Forwarded", "X-Real-IP", "X-Forwarded-Proto"])
async def test_a_proxied_page_wants_a_token(name: str, tmp_path: Path, answer: str) -> None:
    async with keyed(tmp_path) as (address, _):
        assert str(await status_of(address, headers={name: "for=203.0.113.9"})) == answer


@attack("http", "Guessing the token as fast as the page answers", "two answers a second, each in the log")
@pytest.mark.proves("page:guesses")
async def test_wrong_tokens_are_slow_and_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture, answer: str) -> None:
    clock = FakeClock()
    model = ScriptedModel(waits=True)
    async with served(model, tmp_path, token=TOKEN, guard_clock=clock) as page, aiohttp.ClientSession() as eve:
        form = {"token": "guess"}
        guesses = [asyncio.create_task(_post(eve, f"{page}/enter", form, page)) for _ in range(5)]
        await clock.until_sleeping()
        assert not any(guess.done() for guess in guesses), answer
        for _ in guesses:
            await clock.until_sleeping()
            clock.advance(0.5)
        assert await asyncio.gather(*guesses) == [403] * 5
    assert len([line for line in caplog.messages if "wrong token" in line]) == 5


async def _post(session: aiohttp.ClientSession, address: str, form: dict[str, str], origin: str) -> int:
    async with session.post(address, data=form, headers={"Origin": origin}) as answer:
        return answer.status


@pytest.mark.proves("page:cookie")
async def test_signing_out_forgets_person_and_key(tmp_path: Path) -> None:
    async with keyed(tmp_path) as (address, plain), PageChat.opened(address, "ana") as ana:
        headers = {"Origin": plain}
        async with ana.session.post(f"{address}/sign-out", headers=headers) as answer:
            assert (answer.status, "WWW-Authenticate" in answer.headers) == (401, True)
            assert "You are signed out" in await answer.text()
        assert [each.key for each in ana.session.cookie_jar] == []


@pytest.mark.proves("page:cookie")
async def test_under_https_the_cookie_is_kept_to_the_host(tmp_path: Path) -> None:
    public = "https://signoff.example"
    async with (
        served(ScriptedModel(waits=True), tmp_path, token=TOKEN, public_url=public) as page,
        aiohttp.ClientSession(headers={"Origin": page}) as ana,
        ana.post(f"{page}/enter", data={"token": TOKEN}, allow_redirects=False) as answer,
    ):
        (cookie,) = answer.headers.getall("Set-Cookie")
    assert cookie.startswith("__Host-signoff=")
    assert {"Secure", "HttpOnly", "Path=/", "SameSite=Strict"} <= set(cookie.split("; "))
    assert "Max-Age=" in cookie


@attack("door", "Signoff's own page, at an address that the operator allows", "refused: it is Signoff's own page")
@pytest.mark.proves("page:key")
async def test_agents_and_plugins_do_not_reach_the_page(answer: str) -> None:
    allowed = InternalHosts.of(["127.0.0.1", "localhost"], page_port=8700)
    for address in ("http://127.0.0.1:8700/", "http://[::ffff:127.0.0.1]:8700/"):
        with pytest.raises(CommandError, match=r"it is Signoff's own page"):
            await EgressGateway(internal=allowed).admit(address, Sites())
    assert (await EgressGateway(internal=allowed).admit("http://127.0.0.1:8701/", Sites())).target.port == 8701, answer


@pytest.mark.proves("page:cookie")
async def test_whoever_alone_decides_does_not_sign_out_of_it(tmp_path: Path) -> None:
    async with keyed(tmp_path) as (address, plain), PageChat.opened(address, "ana") as ana:
        fields = {"name": "Clerk", "role": "x", "goals": "Write", "approvers": "owner"}
        async with ana.session.post(f"{address}{GENERAL}/new", data=fields) as made:
            assert made.status == 200
        async with ana.session.post(f"{address}/sign-out", headers={"Origin": plain}) as answer:
            assert "You alone decide for Clerk" in await answer.text()
        assert [each.key for each in ana.session.cookie_jar] == ["signoff"]


@attack("http", "Using a copy of a cookie whose person signed out", "303")
@pytest.mark.proves("page:key")
async def test_a_cookie_is_worth_nothing_once_its_person_signed_out(tmp_path: Path, answer: str) -> None:
    async with served(ScriptedModel(waits=True), tmp_path, token=TOKEN) as plain:
        jar = aiohttp.CookieJar(unsafe=True)
        async with aiohttp.ClientSession(headers={"Origin": plain}, cookie_jar=jar) as ana:
            await ana.post(f"{plain}/enter", data={"token": TOKEN})
            copied = "; ".join(f"{each.key}={each.value}" for each in jar)
            assert await status_of(plain + GENERAL, headers={"Cookie": copied}) == 200
            await ana.post(f"{plain}/sign-out")
        assert str(await status_of(plain + GENERAL, headers={"Cookie": copied})) == answer
