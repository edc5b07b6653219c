"""Attacks on the sign-in of the page: forged answers of the provider, other people's answers, sessions, cookies."""

import asyncio
import gzip
import json
import logging
import time
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

import pytest
from aiohttp import ClientSession, CookieJar, web
from joserfc import jws, jwt
from joserfc.jwk import OctKey
from joserfc.jws import JWSRegistry
from joserfc.util import urlsafe_b64encode

from adapters.screens.ui_text import AWAY
from adapters.web.guard import WRONG_SECONDS
from adapters.web.sign_in.sessions import SESSION_SECONDS
from adapters.web.surface import WebSurface
from agent_core.errors import NotFound
from agent_core.model.origin import Actor, account_id
from agent_core.service.housekeeping.accounts import Accounts
from agent_core.testing.clock import FakeClock
from agent_core.testing.database import TemporaryDatabase
from agent_core.testing.examples import CHANNEL
from agent_core.testing.language_model import ScriptedModel
from tests.attacks.rows import attack
from tests.patience import PATIENCE_SECONDS
from tests.scenario.chat import writing
from tests.scenario.served import served
from tests.scenario.signing_in import GENERAL, Browser, alert_in, browser, page_with_accounts, query_of, signed_cookie
from tests.standins.interrupted import DatabaseSwitch
from tests.standins.oidc import CLIENT_ID, CLIENT_SECRET, OwnProvider, make_key, own_provider
from tests.standins.serving import serving

NOBODY = "nobody is signed in"
Claims = dict[str, Any]


@pytest.fixture
async def own() -> AsyncIterator[OwnProvider]:
    async with own_provider() as made:
        yield made


@pytest.fixture
async def base(own: OwnProvider, tmp_path: Path) -> AsyncIterator[str]:
    async with page_with_accounts(own.address, tmp_path) as address:
        yield address


@pytest.fixture
async def eve(base: str) -> AsyncIterator[Browser]:
    async with browser(base) as one:
        yield one


async def outcome(eve: Browser) -> str:
    """What came of it: who is signed in, if anybody."""
    page = await eve.get("/")
    return NOBODY if page.status == 303 else "somebody is signed in"


# Answers of the provider that prove nothing


def lie(what: str, **changes: Any) -> object:
    return pytest.param(changes, marks=attack("http", f"A sign-in on the page with {what}", NOBODY), id=what)


def with_none(_own: OwnProvider, claims: Claims) -> str:
    parts = (json.dumps(each).encode() for each in ({"alg": "none", "typ": "JWT"}, claims))
    return ".".join([*(urlsafe_b64encode(part).decode() for part in parts), ""])


def with_secret(_own: OwnProvider, claims: Claims) -> str:
    return jwt.encode({"alg": "HS256"}, claims, OctKey.import_key(CLIENT_SECRET), algorithms=["HS256"])


def with_public_key(own: OwnProvider, claims: Claims) -> str:
    secret = OctKey.import_key(own.key.as_pem(private=False))
    return jws.serialize_compact(
        {"alg": "HS256", "kid": own.key.kid}, json.dumps(claims), secret, registry=JWSRegistry(algorithms=["HS256"])
    )


def with_other_key(key_id: str) -> Callable[[OwnProvider, Claims], str]:
    return lambda _own, claims: jwt.encode({"alg": "RS256", "kid": key_id}, claims, make_key(key_id))


def with_own_key(_own: OwnProvider, claims: Claims) -> str:
    key = make_key()
    return jwt.encode({"alg": "RS256", "jwk": key.as_dict(private=False)}, claims, key)


def changed(own: OwnProvider, claims: Claims) -> str:
    head, _, signature = own.signed(claims).split(".")
    return ".".join((head, urlsafe_b64encode(json.dumps({**claims, "sub": "boss"}).encode()).decode(), signature))


SAYS_NONE = {"id_token_signing_alg_values_supported": ["none", "HS256", "RS256"]}


@pytest.mark.slow
@pytest.mark.proves("page:sign-in-proof")
@pytest.mark.parametrize(
    "changes",
    [
        lie("a token of another issuer", claims={"iss": "https://evil.example"}),
        lie("a token without an issuer", claims={"iss": None}),
        lie("a token for another client", claims={"aud": "another"}),
        lie("a token for another client, made for this one", claims={"aud": ["another"], "azp": CLIENT_ID}),
        lie("a token that was made for another client", claims={"aud": [CLIENT_ID, "another"], "azp": "another"}),
        lie("a token without an audience", claims={"aud": None}),
        lie("an unsigned token (`alg: none`)", sign=with_none),
        lie("an unsigned token, where the provider says that it makes such", sign=with_none, metadata=SAYS_NONE),
        lie(
            "a token signed with the client's secret, where the provider says so", sign=with_secret, metadata=SAYS_NONE
        ),
        lie("a token signed with the provider's public key as a secret", sign=with_public_key, metadata=SAYS_NONE),
        lie("a token signed with a key that the provider does not have", sign=with_other_key("unknown")),
        lie("a token signed with another key of the same name", sign=with_other_key("first")),
        lie("a token that brings its own key", sign=with_own_key),
        lie("a token whose subject was changed after it was signed", sign=changed),
        lie("a token that is none", sign=lambda _own, _claims: "x.y.z"),
        lie("a token of an hour ago", claims={"iat": time.time() - 7200, "exp": time.time() - 3600}),
        lie("a token of a clock that is three minutes behind", claims={"exp": int(time.time()) - 180}),
        lie("a token of the future", claims={"iat": int(time.time()) + 3600}),
        lie("a token that does not end", claims={"exp": None}),
        lie("the nonce of another attempt", claims={"nonce": "another"}),
        lie("a token without a nonce", claims={"nonce": None}),
        lie("a token without a subject", claims={"sub": None}),
        lie("an empty subject", claims={"sub": ""}),
        lie("a subject that is no text", claims={"sub": ["sub-1"]}),
        lie("a subject of 300 letters", claims={"sub": "s" * 300}),
        lie("a page of the person that is about somebody else", userinfo={"sub": "boss"}),
        lie("a description of another provider", metadata={"issuer": "https://accounts.example"}),
        lie("a token endpoint on the network without TLS", metadata={"token_endpoint": "http://192.0.2.1/token"}),
        lie("keys at a file of the server", metadata={"jwks_uri": "file:///etc/passwd"}),
        lie("a description of wrong types", metadata={"id_token_signing_alg_values_supported": 7}),
        lie("a description without keys", metadata={"jwks_uri": None}),
    ],
)
async def test_what_proves_nothing_signs_nobody_in(
    own: OwnProvider, eve: Browser, changes: dict[str, Any], answer: str
) -> None:
    for name, value in changes.items():
        setattr(own, name, value)
    began = await eve.get("/enter/begin")
    if began.status == 303:
        await eve.sign_in()
    assert await outcome(eve) == answer


@pytest.mark.slow
@pytest.mark.proves("page:sign-in-proof")
async def test_clocks_may_differ_by_a_minute(own: OwnProvider, eve: Browser) -> None:
    own.claims = {"iat": int(time.time()) + 60, "exp": int(time.time()) - 60}
    await eve.sign_in()
    assert await outcome(eve) == "somebody is signed in"


@pytest.mark.slow
@pytest.mark.proves("page:sign-in-proof")
async def test_a_new_key_of_the_provider_is_known_and_an_old_one_for_an_hour_at_most(tmp_path: Path) -> None:
    clock, old, new = FakeClock(), make_key("old"), make_key("new")
    async with (
        own_provider(key=old) as own,
        page_with_accounts(own.address, tmp_path, clock=clock) as base,
        browser(base) as ana,
        browser(base) as ben,
        browser(base) as eve,
    ):
        await ana.sign_in()
        own.key, own.keys = new, [new, old]
        await ben.sign_in()
        own.key, own.keys = old, [new]
        clock.advance(timedelta(hours=1).total_seconds())
        assert (await eve.sign_in()).status == 403
        assert [(await each.get("/")).status for each in (ana, ben, eve)] == [200, 200, 303]


# Answers that another browser, or nobody, has asked for


@attack("http", "Login CSRF: a link that ends somebody else's sign-in with the attacker's code", NOBODY)
@pytest.mark.proves("page:sign-in-proof")
async def test_a_code_that_this_browser_did_not_ask_for_signs_nobody_in(base: str, eve: Browser, answer: str) -> None:
    link = await eve.go_to_provider()
    async with browser(base) as ana:
        refused = await ana.come_back(link)
        assert (refused.status, await outcome(ana)) == (403, answer)
        assert "did not begin in this browser" in alert_in(await refused.text())
        await ana.begin()
        await ana.come_back(link)
        assert await outcome(ana) == answer, "not beside an attempt of her own either"
        assert "signoff_attempt" in ana.cookies, "which she can still end"


@pytest.mark.slow
@attack("http", "A stolen code in an attempt of the attacker's own, held to the first by PKCE", NOBODY)
@pytest.mark.proves("page:sign-in-proof")
async def test_a_stolen_code_is_worth_nothing_elsewhere(base: str, eve: Browser, answer: str) -> None:
    async with browser(base) as ana:
        code = query_of(await ana.go_to_provider())["code"]
    state = query_of(await eve.begin())["state"]
    await eve.come_back(f"{base}/enter/callback?{urlencode({'code': code, 'state': state})}")
    assert await outcome(eve) == answer


@pytest.mark.slow
@attack("http", "The same at a provider that knows no PKCE", NOBODY)
@pytest.mark.proves("page:sign-in-proof")
async def test_the_nonce_holds_the_token_to_the_browser(own: OwnProvider, base: str, eve: Browser, answer: str) -> None:
    own.checks_verifier = False
    await test_a_stolen_code_is_worth_nothing_elsewhere(base, eve, answer)


@pytest.mark.slow
@attack("http", "Following the way back twice, also with a copy of the browser's cookies", NOBODY)
@pytest.mark.proves("page:sign-in-proof")
async def test_a_way_back_leads_back_once(own: OwnProvider, base: str, eve: Browser, answer: str) -> None:
    await eve.go_to_provider()
    before = {"Cookie": "; ".join(f"{name}={value}" for name, value in eve.cookies.items())}
    assert (await eve.come_back()).status == 200
    assert "signoff_attempt" not in eve.cookies
    assert (await eve.come_back()).status == 403
    async with ClientSession(cookie_jar=CookieJar(unsafe=True), headers=before) as copied:
        one = Browser(base, copied)
        assert (await one.come_back(eve.way_back)).status == 403
        assert await outcome(one) == answer
    assert own.asked.count("/token") == 1


@pytest.mark.slow
@attack("http", "A way back after ten minutes, or with a made-up attempt", NOBODY)
@pytest.mark.proves("page:sign-in-proof")
async def test_an_attempt_ends_and_cannot_be_made_up(own: OwnProvider, base: str, eve: Browser, answer: str) -> None:
    attempt = ["state", "nonce", "verifier", "/"]
    late = signed_cookie("attempt", attempt, age=601)
    for cookie in (late, late[:-1], signed_cookie("session", attempt), "x", json.dumps(attempt)):
        back = f"/enter/callback?{urlencode({'code': 'code-0', 'state': 'state'})}"
        assert (await eve.get(back, headers={"Cookie": f"signoff_attempt={cookie}"})).status == 403
    assert "/token" not in own.asked
    assert await outcome(eve) == answer


@pytest.mark.slow
@attack("http", "A text of the attacker's own in the provider's error", "not shown")
@pytest.mark.proves("page:sign-in-proof")
async def test_an_error_of_the_provider_shows_no_text_of_its_sender(base: str, eve: Browser, answer: str) -> None:
    for word, shown in (("access_denied", "(access_denied)"), ("Call 555-0100 now", "(no reason that can be shown)")):
        state = query_of(await eve.begin())["state"]
        given = urlencode({"error": word, "error_description": "Call 555-0100", "state": state, "code": "x"})
        refused = await eve.come_back(f"{base}/enter/callback?{given}")
        said = alert_in(await refused.text())
        assert (refused.status, shown in said, "555" in said) == (403, True, False), answer


@pytest.mark.slow
@attack("http", "Half a character (a lone surrogate) in what the provider says of somebody", "403, and no traceback")
@pytest.mark.proves("page:sign-in-proof")
@pytest.mark.parametrize("claims", [{"sub": "\ud800"}, {"groups": ["\ud800", "leads"]}])
async def test_half_a_character_signs_nobody_in(
    own: OwnProvider, eve: Browser, caplog: pytest.LogCaptureFixture, claims: Claims, answer: str
) -> None:
    def signed(_own: OwnProvider, said: Claims) -> str:
        return jws.serialize_compact({"alg": "RS256", "kid": own.key.kid}, json.dumps(said), own.key)

    own.claims, own.sign = claims, signed
    refused = await eve.sign_in()
    has_traceback = any(each.exc_info for each in caplog.records)
    assert (refused.status, await outcome(eve), has_traceback, answer) == (403, NOBODY, False, "403, and no traceback")


@pytest.mark.slow
@attack("http", "An account whose name is Signoff's own, also in full width or with dots", "shown as `Account`")
@pytest.mark.proves("page:sign-in")
@pytest.mark.parametrize("name", ["Signoff", " SIGN OFF", "\uff33ignoff", "S.i.g.n.o.f.f."])
async def test_nobody_is_called_signoff(own: OwnProvider, eve: Browser, name: str, answer: str) -> None:
    own.claims = {"name": name}
    await eve.sign_in()
    shown = '<output id="me">Account</output>' in await (await eve.get("/")).text()
    assert (shown, answer) == (True, "shown as `Account`")


@pytest.mark.slow
@pytest.mark.proves("page:sign-in")
async def test_of_two_tabs_the_later_signs_in_and_the_other_goes_on(base: str, eve: Browser) -> None:
    first, second = await eve.go_to_provider("/a"), await eve.go_to_provider("/b")
    refused = await eve.come_back(first)
    assert (refused.status, "in another tab" in alert_in(await refused.text())) == (403, True)
    assert (await eve.come_back(second)).status == 200
    assert (await eve.get("/enter/begin", params={"to": "/a"})).headers["Location"] == "/a"


def leads(what: str, to: str) -> object:
    return pytest.param(to, marks=attack("http", f"Sign-in with `to=` as {what}", "the first page"), id=what)


@pytest.mark.slow
@pytest.mark.proves("page:stays")
@pytest.mark.parametrize(
    "to",
    [
        leads("another site", "//evil.example"),
        leads("another site with a backslash", "/\\evil.example"),
        leads("the address of another site", "https://evil.example/"),
        leads("a script", "javascript:alert(1)"),
        leads("a header", "/\r\nSet-Cookie: x=y"),
        leads("a path too long for a cookie", "/" + "a" * 4000),
    ],
)
async def test_who_signs_in_stays_on_this_site(base: str, eve: Browser, to: str, answer: str) -> None:
    assert 'href="/enter/begin?to=/"' in await (await eve.get("/enter", params={"to": to})).text()
    entered = await eve.sign_in(to=to)
    assert f'content="0; url={base}/"' in await entered.text(), answer


# Sessions


@pytest.mark.slow
@pytest.mark.proves("page:session")
async def test_a_session_is_not_renewed_and_ends_after_twelve_hours(own: OwnProvider, base: str, eve: Browser) -> None:
    await eve.sign_in()
    person = account_id(own.address, "sub-1")
    async with browser(base) as other:
        ahead = (-60, 200), (-180, 303)  # signed by another process, whose clock is ahead
        for age, status in (*ahead, (0, 200), (SESSION_SECONDS - 60, 200), (SESSION_SECONDS + 60, 303)):
            seen = await other.get(
                "/", headers={"Cookie": f"signoff_session={signed_cookie('session', [person, 'a'], age)}"}
            )
            assert (seen.status, [each for each in seen.cookies if each != "signoff_visit"]) == (status, [])


@pytest.mark.slow
@attack("http", "A session that somebody made up, or that is signed with another secret", NOBODY)
@pytest.mark.proves("page:session")
async def test_a_session_cannot_be_made_up(own: OwnProvider, eve: Browser, answer: str) -> None:
    await eve.sign_in()
    person = account_id(own.address, "sub-1")
    forged = (
        signed_cookie("session", [person, "a"], secret="another"),
        signed_cookie("attempt", [person, "a"]),
        signed_cookie("visitor", [person, "Ana", "entered"]),
        signed_cookie("session", ["ab" * 16, "a"]),
        signed_cookie("session", [person]),
        json.dumps([person, "a"]),
    )
    async with browser(eve.base) as other:
        for cookie in forged:
            seen = await other.get("/", headers={"Cookie": f"signoff_session={cookie}; signoff={cookie}"})
            assert seen.status == 303, answer


@pytest.mark.slow
@attack("http", "Session fixation: a cookie from before the sign-in", "another session, whose id is new")
@pytest.mark.proves("page:session")
async def test_each_sign_in_is_a_new_session(eve: Browser, answer: str) -> None:
    eve.session.cookie_jar.update_cookies({"signoff_session": "planted"})
    await eve.sign_in()
    first = eve.cookies["signoff_session"]
    await eve.post("/sign-out")
    await eve.sign_in()
    assert len({"planted", first, eve.cookies["signoff_session"]}) == 3, answer


@attack("http", "Using a copy of a session's cookie after its person signed out", NOBODY)
@pytest.mark.proves("page:session")
async def test_signing_out_ends_every_copy_of_the_session_and_no_other(base: str, eve: Browser, answer: str) -> None:
    await eve.sign_in()
    copied = {"Cookie": f"signoff_session={eve.cookies['signoff_session']}"}
    async with browser(base) as phone, browser(base) as thief:
        await phone.sign_in()
        assert (await thief.get(GENERAL, headers=copied)).status == 200
        assert (await eve.post("/sign-out")).status == 200
        assert "signoff_session" not in eve.cookies
        assert (await thief.get(GENERAL, headers=copied)).status == 303, answer
        assert (await phone.get(GENERAL)).status == 200
        await eve.sign_in()
        assert (await eve.get(GENERAL)).status == 200, "the same person comes back"


@pytest.mark.slow
@attack("http", "Listening on to what changes, after one's session has ended", "the stream ends, and tells nothing")
@pytest.mark.proves("page:session")
@pytest.mark.parametrize("way", ["sign-out", "loss of access", "twelve hours"])
async def test_a_stream_ends_with_its_session(own: OwnProvider, tmp_path: Path, way: str, answer: str) -> None:
    own.claims = {"groups": ["team"]}
    async with (
        page_with_accounts(own.address, tmp_path, groups=("team",)) as base,
        browser(base) as ana,
        browser(base) as ben,
    ):
        await ana.sign_in()
        if way == "twelve hours":
            texts = [account_id(own.address, "sub-1"), "a"]
            ana.session.cookie_jar.clear()
            ana.session.cookie_jar.update_cookies(
                {"signoff_session": signed_cookie("session", texts, SESSION_SECONDS - 1)}
            )
        async with ana.session.get(f"{base}/events") as stream, asyncio.timeout(PATIENCE_SECONDS):
            assert await stream.content.readline() == b"retry: 1000\n"
            match way:
                case "sign-out":
                    await ana.post("/sign-out")
                case "loss of access":
                    own.claims = {"groups": []}
                    await ben.sign_in()
                    own.claims = {"groups": ["team"]}
                case _:
                    while (await ana.get("/")).status == 200:
                        pass
            own.subject = "sub-2"
            await ben.sign_in()
            async with ben.session.get(f"{base}/events") as other:
                await ben.chat().new_agent("Clerk", "keeps notes", "Write a report")
                assert b"changed" in await other.content.readuntil(b"data: ")
            assert await stream.content.read() == b"\n", answer


@pytest.mark.slow
@pytest.mark.proves("page:session")
async def test_signing_out_leads_to_the_provider_s_own_page_where_it_has_one(provider: str, tmp_path: Path) -> None:
    async with page_with_accounts(provider, tmp_path) as base, browser(base) as ana:
        await ana.sign_in("ana-5")
        page = await (await ana.post("/sign-out")).text()
        assert f'href="{provider}/oauth2/end_session?client_id={CLIENT_ID}"' in page


@pytest.mark.slow
@attack("http", "A form of another site, sent with the session of who looks at it (CSRF)", "403, nothing done")
@pytest.mark.proves("page:origin")
async def test_another_site_does_nothing_with_a_session(eve: Browser, answer: str) -> None:
    await eve.sign_in()
    for path in (f"{GENERAL}/new", "/sign-out", f"{GENERAL}/policy"):
        async with eve.session.post(eve.base + path, headers={"Origin": "https://evil.example"}) as refused:
            assert f"{refused.status}, nothing done" == answer
    assert await outcome(eve) == "somebody is signed in"


@pytest.mark.slow
@attack("http", "A form of `http://` and the page's own name, which somebody on the network made", "403, nothing done")
@pytest.mark.proves("page:origin")
async def test_the_same_name_without_tls_is_another_site(own: OwnProvider, tmp_path: Path, answer: str) -> None:
    async with (
        page_with_accounts(own.address, tmp_path, public_url="https://signoff.example") as base,
        ClientSession(headers={"Host": "signoff.example"}) as eve,
    ):
        session = signed_cookie("session", [account_id(own.address, "sub-1"), "a"])
        seen = {}
        for origin in ("http://signoff.example", "https://signoff.example"):
            headers = {"Origin": origin, "Cookie": f"__Host-signoff_session={session}"}
            async with eve.post(f"{base}/theme", headers=headers, allow_redirects=False) as refused:
                seen[refused.status] = await refused.text()
    assert sorted(seen) == [303, 403]
    assert (f"403, {'nothing' if 'nothing was done' in seen[403] else 'what'} done") == answer


@pytest.mark.slow
@attack("http", "A request line with the address of another site, and the page's own Host", "the way back is this page")
@pytest.mark.proves("page:stays")
async def test_the_way_back_is_of_the_host_that_was_checked(own: OwnProvider, base: str, answer: str) -> None:
    place = urlsplit(base)
    reader, writer = await asyncio.open_connection(place.hostname, place.port)
    line = "GET http://evil.example/enter/begin HTTP/1.1"
    writer.write(f"{line}\r\nHost: {place.netloc}\r\nConnection: close\r\n\r\n".encode())
    said = (await asyncio.wait_for(reader.read(), PATIENCE_SECONDS)).decode()
    writer.close()
    (to,) = (each.partition(": ")[2] for each in said.splitlines() if each.startswith("Location: "))
    assert (query_of(to)["redirect_uri"], answer) == (f"{base}/enter/callback", "the way back is this page")


@pytest.mark.slow
@attack("http", "Cutting the provider off while somebody signs out", "the session has ended")
@pytest.mark.proves("page:session")
async def test_a_session_ends_before_the_provider_is_asked(own: OwnProvider, tmp_path: Path, answer: str) -> None:
    clock = FakeClock()
    async with page_with_accounts(own.address, tmp_path, clock=clock) as base, browser(base) as ana:
        await ana.sign_in()
        cookie = {"Cookie": f"signoff_session={ana.cookies['signoff_session']}"}
        clock.advance(timedelta(hours=1).total_seconds())  # what the provider says of itself is asked again
        own.answers = asyncio.Event()
        async with asyncio.TaskGroup() as tasks, browser(base) as thief:
            leaving = tasks.create_task(ana.post("/sign-out"))
            async with asyncio.timeout(PATIENCE_SECONDS):
                await own.is_asked.wait()
            assert ((await thief.get("/", headers=cookie)).status, answer) == (303, "the session has ended")
            own.answers.set()
        assert leaving.result().status == 200


@pytest.mark.slow
@pytest.mark.proves("page:session")
async def test_under_https_the_cookies_are_kept_to_the_host(own: OwnProvider, tmp_path: Path) -> None:
    public = "https://signoff.example"
    async with page_with_accounts(own.address, tmp_path, public_url=public) as base, browser(base) as ana:
        began = await ana.get("/enter/begin", headers={"X-Forwarded-Proto": "https"})
        asked = query_of(began.headers["Location"])
        assert asked["redirect_uri"] == f"{public}/enter/callback"
        (attempt,) = began.headers.getall("Set-Cookie")
        async with ana.session.get(began.headers["Location"], allow_redirects=False) as answer:
            back = answer.headers["Location"].replace(public, base)
        entered = await ana.get(back.removeprefix(base), headers={"Cookie": attempt.partition(";")[0]})
        session = next(each for each in entered.headers.getall("Set-Cookie") if "session" in each)
    assert attempt.startswith("__Host-signoff_attempt=")
    assert session.startswith("__Host-signoff_session=")
    both = {"Secure", "HttpOnly", "Path=/"}
    assert both | {"SameSite=Lax", "Max-Age=600"} <= set(attempt.split("; "))
    assert both | {"SameSite=Strict", f"Max-Age={SESSION_SECONDS}"} <= set(session.split("; "))


# Rights, names and ids


@pytest.mark.slow
@attack("http", "Opening a page with the token, or the key, where people sign in", "a redirect to the sign-in")
@pytest.mark.proves("page:sign-in")
@pytest.mark.parametrize("secret", ["token", "key"])
async def test_token_and_key_open_no_page(own: OwnProvider, tmp_path: Path, secret: str, answer: str) -> None:
    given: dict[str, Any] = {secret: "a-secret-for-programs"}
    async with page_with_accounts(own.address, tmp_path, **given) as base, browser(base) as eve:
        keyed = base.replace("://", "://signoff:a-secret-for-programs@")
        bearer = {"Authorization": "Bearer a-secret-for-programs"}
        for address, headers in ((keyed, {}), (base, bearer)):
            async with eve.session.get(address, headers=headers, allow_redirects=False) as seen:
                assert seen.headers["Location"] == "/enter?to=/", answer
        assert (await eve.post("/enter", token="a-secret-for-programs")).status in (303, 405)
        assert await outcome(eve) == NOBODY
        assert (await eve.get("/metrics")).status == 401
        assert (await eve.get("/metrics", headers=bearer)).status == 200
        assert (await eve.get("/metrics", headers={"Authorization": "Bearer another"})).status == 401
        proxied = await eve.get("/metrics", headers={**bearer, "X-Forwarded-For": "192.0.2.1"})
        assert (proxied.status, "METRICS_TOKEN" in await proxied.text()) == ((200, False), (403, True))[secret == "key"]


@pytest.mark.slow
@attack("http", "A stranger asks for pages, or sends forms, where people sign in", "nothing is shown or done")
@pytest.mark.proves("page:sign-in")
@pytest.mark.parametrize("path", ["/", GENERAL, "/events", "/search?q=a", "/enter/other", "/static/x"])
async def test_strangers_see_nothing(eve: Browser, path: str, answer: str) -> None:
    for method in ("GET", "HEAD", "POST", "PUT", "OPTIONS"):
        async with eve.session.request(method, eve.base + path, allow_redirects=False) as seen:
            text = await seen.text()
            assert (seen.status in (303, 401, 404, 405), "general" in text.replace(GENERAL, "")) == (True, False), (
                answer
            )
            assert "Set-Cookie" not in seen.headers
    for path in ("/enter/begin", "/enter/callback"):
        async with eve.session.head(eve.base + path) as seen:
            assert seen.status == 404


@pytest.mark.slow
@attack("http", "Typing another name, as the form without accounts lets people do", "404, and the name stays")
@pytest.mark.proves("page:sign-in")
async def test_nobody_types_a_name(eve: Browser, answer: str) -> None:
    await eve.sign_in()
    assert (await eve.post("/me", name="Boss")).status == int(answer[:3])
    assert '<output id="me">Ana</output>' in await (await eve.get("/")).text()


@attack("http", "An id that reads like another account's, or like a browser's", "another person")
@pytest.mark.proves("page:sign-in")
def test_no_two_accounts_share_an_id(answer: str) -> None:
    pairs = [
        ("https://a.example", "b|c"), ("https://a.example|b", "c"), ("https://a.example", "b%7Cc"),
        ("https://a.example", "ab" * 16), ("https://a.example", "B|c"), ("https://a.example", " b|c"),
        ("https://a.example", "b/c"), ("https://a.example/b", "c"), ("https://a.example", "&leads"),
    ]  # fmt: skip
    ids = {account_id(issuer, subject) for issuer, subject in pairs}
    assert (len(ids), any(each.startswith(("&", "S")) for each in ids)) == (len(pairs), False), answer


@pytest.mark.slow
@attack("http", "A group whose name is that of an account, or the other way round", "no right")
@pytest.mark.proves("page:sign-in-groups")
async def test_a_group_is_no_person(own: OwnProvider, eve: Browser, answer: str) -> None:
    own.claims = {"groups": ["leads", "owner", "anyone", account_id(own.address, "boss"), {"a": 1}, "", 7, "g" * 999]}
    await eve.sign_in()
    assert (await eve.post(f"{GENERAL}/policy", groups="leads")).status == 303
    own.subject, own.claims = "&leads", {"groups": ["Leads", "&leads", " leads"]}
    async with browser(eve.base) as mallory:
        await mallory.sign_in()
        refused = await mallory.post(f"{GENERAL}/policy", approvers="anyone")
        assert (refused.status, "@leads" in await refused.text()) == (403, True), answer


@pytest.mark.slow
@pytest.mark.proves("page:sign-in-groups")
async def test_who_lost_their_group_approves_nothing_in_any_browser(own: OwnProvider, tmp_path: Path) -> None:
    own.claims = {"groups": ["leads"]}
    model = ScriptedModel(writing("a.md", "x"), waits=True)
    async with page_with_accounts(own.address, tmp_path, model=model) as base, browser(base) as one:
        await one.sign_in()
        ana = one.chat()
        await one.post(f"{GENERAL}/policy", groups="leads")
        await ana.new_agent("Clerk", "keeps notes", "Write a report")
        card = await ana.asks("write_to_file")
        own.claims = {"groups": []}
        async with browser(base) as other:
            await other.sign_in()
        refused = await one.post(f"{ana.path}/press", button=card.button("approve"))
        assert (refused.status, "@leads may" in await refused.text()) == (403, True)


@pytest.mark.slow
@pytest.mark.proves("page:sign-in-groups")
async def test_what_a_person_granted_ends_with_their_group(own: OwnProvider, tmp_path: Path) -> None:
    own.claims = {"groups": ["leads"]}
    model = ScriptedModel(writing("a.md", "x"), waits=True)
    async with (
        page_with_accounts(own.address, tmp_path, model=model) as base,
        browser(base) as one,
        browser(base) as other,
        browser(base) as third,
    ):
        await one.sign_in()
        ana, ben = one.chat(), third.chat()
        await one.post(f"{GENERAL}/policy", groups="leads")
        await ana.new_agent("Clerk", "keeps notes", "Write a report")
        await (await ana.asks("write_to_file")).press("Approve ×3")
        assert await ana.sees("done")
        own.claims = {"groups": []}
        await other.sign_in()
        model.say(writing("b.md", "x"))
        own.subject, own.claims, ben.path = "sub-2", {"name": "Ben", "groups": ["leads"]}, ana.path
        await third.sign_in()
        assert (await ben.asks("write_to_file")).command


@attack("http", "Taking a lost right back by the policy, which one set last oneself", "403")
@pytest.mark.proves("page:sign-in-groups")
async def test_who_lost_their_group_does_not_change_the_policy_that_they_set(
    own: OwnProvider, tmp_path: Path, answer: str
) -> None:
    own.claims = {"groups": ["leads"]}
    async with page_with_accounts(own.address, tmp_path) as base, browser(base) as ana:
        await ana.sign_in()
        assert (await ana.post(f"{GENERAL}/policy", groups="leads")).status == 303
        await ana.post("/sign-out")
        own.claims = {"groups": ["staff"]}
        await ana.sign_in()
        refused = await ana.post(f"{GENERAL}/policy", approvers="anyone")
        assert (refused.status, "@leads may" in await refused.text()) == (int(answer), True)
        form = await (await ana.get(f"{GENERAL}/policy")).text()
        assert ("Set the policy" in form, "Who set it last" in form) == (False, False)
    async with served(ScriptedModel(waits=True), tmp_path, token=CLIENT_SECRET) as base, browser(base) as operator:
        await operator.post("/enter", token=CLIENT_SECRET)
        assert (await operator.post(f"{GENERAL}/policy", approvers="anyone")).status == 303, "the operator still can"


@pytest.mark.slow
@pytest.mark.proves("page:sign-in-groups")
async def test_nobody_gives_the_policy_away_by_a_group_that_they_are_not_in(own: OwnProvider, eve: Browser) -> None:
    own.claims = {"groups": ["leads"]}
    await eve.sign_in()
    refused = await eve.post(f"{GENERAL}/policy", groups="laeds")
    said = await refused.text()
    assert (refused.status, "in none of these groups: @laeds" in said, 'value="laeds"' in said) == (422, True, True)
    assert (await eve.post(f"{GENERAL}/policy", groups="laeds, leads")).status == 303


@pytest.mark.slow
@attack("approval", "A group at the provider that is called as a word of the policy, such as `anyone`", "is not named")
@pytest.mark.proves("page:sign-in-groups")
async def test_no_group_is_named_by_a_word_of_the_policy(own: OwnProvider, eve: Browser, answer: str) -> None:
    own.claims = {"groups": ["owner", "Anyone", "leads"]}
    await eve.sign_in()
    ana = eve.chat()
    await ana.new_agent("Clerk", "keeps notes", "Write a report")
    for said in ("@owner", "@Anyone", "leads, @anybody"):
        refused = await eve.post(f"{ana.path}/say", text=f"!policy channel approvers {said}")
        assert (refused.status, "is a word of the policy" in await refused.text()) == (422, True), answer
        refused = await eve.post(f"{GENERAL}/policy", groups=said)
        assert (refused.status, "is a word of the policy" in await refused.text()) == (422, True), answer
    for said, shown in (("owner", "who made the agent"), ("@leads owner", "@leads, who made the agent")):
        told = await eve.post(f"{ana.path}/say", text=f"!policy channel approvers {said}")
        assert f"Who may approve: {shown}" in await told.text()


# Secrets, and a provider or a database that is away


@pytest.mark.slow
@attack("http", "Reading codes, tokens or verifiers in the log, at the level DEBUG", "none is there")
@pytest.mark.proves("page:sign-in-proof")
async def test_no_secret_of_a_sign_in_is_logged(
    own: OwnProvider, base: str, eve: Browser, caplog: pytest.LogCaptureFixture, answer: str
) -> None:
    caplog.set_level(logging.DEBUG)
    logging.getLogger("authlib").setLevel(logging.WARNING)  # as bot.logs does
    asked = query_of(await eve.begin("/"))
    await eve.sign_in()
    await eve.come_back()
    own.claims = {"nonce": "another"}
    async with browser(base) as other:
        await other.sign_in()
    secrets = [CLIENT_SECRET, "code-0", "code-1", "an-access-token", asked["state"], asked["nonce"], *own.tokens]
    secrets += [eve.cookies["signoff_session"], query_of(eve.way_back)["state"]]
    assert [each for each in secrets if each in caplog.text] == [], answer
    assert "signed in" in caplog.text
    assert "a sign-in failed" in caplog.text
    assert {getattr(each, "why", "") for each in caplog.records} >= {"InvalidClaimError (nonce)"}


@pytest.mark.slow
@pytest.mark.proves("page:sign-in-proof")
async def test_a_provider_that_is_away_is_said_and_asked_again(own: OwnProvider, eve: Browser) -> None:
    own.is_away = True
    refused = await eve.get("/enter/begin")
    assert (refused.status, "does not answer" in alert_in(await refused.text())) == (503, True)
    own.is_away = False
    await eve.go_to_provider()
    own.is_away = True
    assert (await eve.come_back()).status == 503
    own.is_away = False
    assert (await eve.sign_in()).status == 200
    own.is_away = True
    assert (await eve.get("/")).status == 200, "who is signed in needs no provider"
    assert (await eve.post("/sign-out")).status == 200


@pytest.mark.slow
@pytest.mark.proves("page:sign-in-proof")
@pytest.mark.parametrize(
    "said", ["", "[]", "null", "{", '{"error": "invalid_grant"}', '{"id_token": 7}', "<html>", "{}"]
)
async def test_an_answer_that_cannot_be_read_signs_nobody_in(said: str, own: OwnProvider, eve: Browser) -> None:
    async def answer(_request: web.Request) -> web.Response:
        return web.Response(text=said, content_type="application/json")

    app = web.Application()
    app.router.add_post("/", answer)
    async with serving(app) as broken:
        own.metadata = {"token_endpoint": f"{broken}/"}
        refused = await eve.sign_in()
        assert (refused.status, await outcome(eve)) == (403, NOBODY)


@pytest.mark.slow
@attack("http", "Having the provider asked about one made-up code after the other", "once for each attempt, slowly")
@pytest.mark.proves("page:sign-in-proof")
async def test_a_stranger_does_not_set_signoff_on_the_provider(own: OwnProvider, tmp_path: Path, answer: str) -> None:
    clock = FakeClock()
    async with page_with_accounts(own.address, tmp_path, guard_clock=clock) as base, browser(base) as eve:
        begun = clock.now()
        state = query_of(await eve.begin())["state"]
        attempt = {"Cookie": f"signoff_attempt={eve.cookies['signoff_attempt']}"}
        back = [f"/enter/callback?{urlencode({'code': f'x{number}', 'state': state})}" for number in range(3)]
        async with asyncio.TaskGroup() as tasks:
            for address in back:
                tasks.create_task(eve.get(address, headers=attempt))
            await clock.until_sleeping()
            clock.advance(WRONG_SECONDS)
        assert (own.asked.count("/token"), clock.now() > begun, answer) == (1, True, "once for each attempt, slowly")


@pytest.mark.slow
@attack("http", "A provider that answers without end, byte by byte or all at once", "it counts as away")
@pytest.mark.proves("page:sign-in-proof")
@pytest.mark.parametrize("piece", [b" ", b" " * 100_000])
@pytest.mark.parametrize("endpoint", ["/.well-known/openid-configuration", "/token", "/keys"])
async def test_an_endless_answer_of_the_provider_ends(
    own: OwnProvider, tmp_path: Path, piece: bytes, endpoint: str, answer: str
) -> None:
    async def drip(request: web.Request) -> web.StreamResponse:
        endless = web.StreamResponse(headers={"Content-Type": "application/json"})
        await endless.prepare(request)
        with suppress(ConnectionError):
            while True:
                await endless.write(piece)
        return endless

    app = web.Application()
    app.router.add_route("*", endpoint, drip)
    async with serving(app) as dripping:
        own.metadata = {"token_endpoint": f"{dripping}/token"} if endpoint == "/token" else {}
        own.metadata |= {"jwks_uri": f"{dripping}/keys"} if endpoint == "/keys" else {}
        issuer = dripping if endpoint.startswith("/.well") else own.address
        async with page_with_accounts(issuer, tmp_path, seconds=1.0) as base, browser(base) as eve:
            refused = await eve.get("/enter/begin")
            if refused.status == 303:
                refused = await eve.sign_in()
            assert (refused.status, "does not answer" in await refused.text(), answer) == (
                503,
                True,
                "it counts as away",
            )


def answering(body: bytes, **headers: str) -> web.Application:
    """What answers each request with this body."""

    async def answer(_request: web.Request) -> web.Response:
        return web.Response(body=body, content_type="application/json", headers=headers)

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", answer)
    return app


ENDPOINTS = ("", "token_endpoint", "jwks_uri", "userinfo_endpoint")


async def refusal(own: OwnProvider, folder: Path, answers: web.Application, endpoint: str) -> int:
    """The status of a sign-in where the provider, or one of its endpoints, answers so; it must sign nobody in."""
    async with serving(answers) as address:
        own.metadata = {endpoint: f"{address}/x"} if endpoint else {}
        async with page_with_accounts(own.address if endpoint else address, folder) as base, browser(base) as eve:
            refused = await eve.get("/enter/begin")
            refused = await eve.sign_in() if refused.status == 303 else refused
            assert await outcome(eve) == NOBODY
            return refused.status


@pytest.mark.slow
@attack("http", "A provider whose answer of 500 kB unpacks to half a gigabyte", "nothing is unpacked")
@pytest.mark.proves("page:sign-in-proof")
@pytest.mark.parametrize("endpoint", ENDPOINTS)
async def test_no_answer_of_the_provider_is_unpacked(
    own: OwnProvider, tmp_path: Path, caplog: pytest.LogCaptureFixture, endpoint: str, answer: str
) -> None:
    bomb = answering(gzip.compress(bytes(500_000_000)), **{"Content-Encoding": "gzip"})
    assert (await refusal(own, tmp_path, bomb, endpoint), answer) == (503, "nothing is unpacked")
    assert "DecodingError" in str({getattr(each, "why", "") for each in caplog.records}), "before it was read"


@pytest.mark.slow
@attack("http", "A provider that answers with numbers or depths that no program can hold", "refused, no traceback")
@pytest.mark.proves("page:sign-in-proof")
@pytest.mark.parametrize("body", [b"[" * 100_000, b'{"access_token": "x", "id_token": "a.b.c", "expires_in": 1e400}'])
@pytest.mark.parametrize("endpoint", ENDPOINTS)
async def test_an_answer_that_no_program_can_hold_is_refused(
    own: OwnProvider, tmp_path: Path, caplog: pytest.LogCaptureFixture, endpoint: str, body: bytes, answer: str
) -> None:
    assert await refusal(own, tmp_path, answering(body), endpoint) in (403, 503)
    assert (any(each.exc_info for each in caplog.records), answer) == (False, "refused, no traceback")


@pytest.mark.parametrize(
    ("issuer", "groups"), [("https://id.example", ("&other",)), ("https://other.example", ("&team",))]
)
@attack("approval", "What somebody granted who is in no group that may come in, or of another provider", "is void")
async def test_who_may_not_come_in_grants_nothing(issuer: str, groups: tuple[str, ...], answer: str) -> None:
    accounts = Accounts(TemporaryDatabase(), "https://id.example", frozenset({"team"}))
    person = Actor(id=account_id(issuer, "ana"), display="Ana", workspace="local", groups=groups)
    await accounts.save(person)
    with pytest.raises(NotFound):
        await WebSurface(accounts=accounts).actor(CHANNEL, person)
    assert answer == "is void"


@attack("http", "Filling the database with accounts of people who may not come in", "nothing of them is kept")
async def test_of_strangers_nothing_is_kept(answer: str) -> None:
    everybody = Accounts(database := TemporaryDatabase())
    team = Accounts(database, groups=frozenset({"team"}))
    ana = Actor(id=account_id("https://id.example", "ana"), display="Ana", workspace="local", groups=("&team",))
    eve = replace(ana, id=account_id("https://id.example", "eve"), groups=())
    assert (await team.save(ana), await team.save(eve)) == (True, False)
    with pytest.raises(NotFound):
        await everybody.find(eve.id)
    assert answer == "nothing of them is kept"
    assert not await team.save(replace(ana, groups=()))
    with pytest.raises(NotFound):  # also in a process whose settings name no groups
        await everybody.find(ana.id)


@pytest.mark.slow
@attack("http", "The cookie of a session at the provider of before, with the same client secret", "is a stranger's")
async def test_a_session_of_another_provider_is_void(own: OwnProvider, tmp_path: Path, answer: str) -> None:
    async with own_provider() as other:
        async with page_with_accounts(own.address, tmp_path) as base, browser(base) as one:
            await one.sign_in()
            cookie = one.cookies["signoff_session"]
        async with page_with_accounts(other.address, tmp_path) as base, browser(base) as two:
            seen = await two.get("/", headers={"Cookie": f"signoff_session={cookie}"})
    assert (seen.status, answer) == (303, "is a stranger's")


@pytest.mark.slow
@attack("http", "A form that is sent slowly, over a sign-out or the loss of the group that approves", "does nothing")
@pytest.mark.parametrize("loses_group", [False, True])
async def test_rights_count_when_the_form_is_there(
    own: OwnProvider, tmp_path: Path, loses_group: bool, answer: str
) -> None:
    own.claims = {"groups": ["leads"]}
    model = ScriptedModel(writing("a.md", "x"), waits=True)
    async with (
        page_with_accounts(own.address, tmp_path, model=model) as base,
        browser(base) as one,
        browser(base) as two,
    ):
        await one.sign_in()
        await one.post(f"{GENERAL}/policy", groups="leads")
        ana = one.chat()
        await ana.new_agent("Clerk", "keeps notes", "Write a report")
        card = await ana.asks("write_to_file")
        body = urlencode({"button": card.button("approve")}).encode()
        place = urlsplit(base)
        reader, writer = await asyncio.open_connection(place.hostname, place.port)
        head = f"POST {ana.path}/press HTTP/1.1\r\nHost: {place.netloc}\r\nOrigin: {base}\r\nConnection: close\r\n"
        form = f"Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {len(body)}\r\n\r\n"
        writer.write(f"{head}Cookie: signoff_session={one.cookies['signoff_session']}\r\n{form}".encode() + body[:1])
        await writer.drain()
        if loses_group:
            own.claims = {"groups": []}
            await two.sign_in()
        else:
            await one.post("/sign-out")
        writer.write(body[1:])
        said = await asyncio.wait_for(reader.read(), PATIENCE_SECONDS)
        writer.close()
    written = await asyncio.to_thread(lambda: list(tmp_path.rglob("a.md")))
    assert (said.split()[1] in (b"403", b"409"), written, answer) == (True, [], "does nothing")


@attack("http", "A copy of the cookie of a session that ended, while the database is away", "503, for each page")
@pytest.mark.proves("page:session")
async def test_while_the_database_is_away_a_session_is_nobody_s(own: OwnProvider, tmp_path: Path, answer: str) -> None:
    database = DatabaseSwitch()
    async with (
        page_with_accounts(own.address, tmp_path, open_database=database.open) as base,
        browser(base) as ana,
        browser(base) as thief,
    ):
        await ana.sign_in()
        thief.session.cookie_jar.update_cookies(ana.cookies)
        await ana.post("/sign-out")
        database.is_off = True
        for path in ("/", "/events", "/enter", "/enter/begin", "/search?q=a"):
            seen = await thief.get(path)
            assert (f"{seen.status}, for each page", AWAY in await seen.text()) == (answer, True), path
        kept = await thief.post("/theme", theme="dark", text="What I wrote")
        assert (kept.status, "What I wrote" in await kept.text()) == (503, True)
        assert (await thief.get("/static/outage.js")).status == 200
        assert (await ana.get("/")).status == 303, "a stranger is one also then"
