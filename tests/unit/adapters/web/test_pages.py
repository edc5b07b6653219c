"""The local workspace over HTTP: who may talk to it, who may decide there, and what bad input gets."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from aiohttp import ClientSession, CookieJar

from adapters.screens.ui_text import AWAY
from agent_core.capabilities.models.capability import ModelCapability
from agent_core.errors import DatabaseAway
from agent_core.model.draft import AgentDraft
from agent_core.model.origin import Actor, ChannelScope, Origin
from agent_core.persistence.database import SqlDatabase
from agent_core.ports.database import in_one_unit
from agent_core.ports.models import LocalServer
from agent_core.testing.examples import NOON
from agent_core.testing.language_model import ScriptedModel, reply_text
from bot.capabilities import Capabilities
from bot.findings.doctor import Probes, Tables, findings, report
from bot.settings import load
from tests.scenario.chat import writing
from tests.scenario.page import PageChat, text_of
from tests.scenario.served import served

TOKEN = "a token of some length"
SPELLED = "a⟨U+200B⟩b"


@pytest.fixture
async def base(tmp_path: Path) -> AsyncIterator[str]:
    async with served(ScriptedModel(writing("a.txt", "one"), waits=True), tmp_path) as address:
        yield address


@pytest.fixture
async def ana(base: str) -> AsyncIterator[PageChat]:
    async with PageChat.opened(base, "ana") as chat:
        yield chat


@asynccontextmanager
async def is_away(_database: SqlDatabase) -> AsyncIterator[None]:
    """In place of `begin`, during an outage."""
    raise DatabaseAway
    yield


@pytest.mark.proves("page:host")
@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "localhost.evil.example:80", "10.0.0.1"])
async def test_a_name_that_was_pointed_here_is_refused(base: str, host: str) -> None:
    async with ClientSession() as session, session.get(base, headers={"Host": host}) as answer:
        assert answer.status == 403


@pytest.mark.proves("watch:hosts")
@pytest.mark.parametrize("path", ["/livez", "/readyz", "/metrics"])
@pytest.mark.parametrize("host", ["10.42.0.17:8700", "web:8700", "signoff.example.com"])
async def test_who_watches_asks_by_any_name(base: str, path: str, host: str) -> None:
    async with ClientSession() as session, session.get(base + path, headers={"Host": host}) as answer:
        assert answer.status == 200


async def test_an_outage_of_the_database_is_told_on_a_page_that_keeps_what_was_written(
    ana: PageChat, base: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    await ana.new_agent("Clerk", "a clerk", "Write")
    monkeypatch.setattr(SqlDatabase, "begin", is_away)
    async with ana.session.get(base) as answer:
        assert (answer.status, AWAY in text_of(await answer.text())) == (503, True)
    said = {"text": "Not so fast."}
    async with ana.session.post(f"{base}{ana.path}/say", data=said, headers={"Origin": base}) as answer:
        shown = await answer.text()
    assert answer.status == 503
    assert AWAY in shown
    assert "Not so fast." in shown


@pytest.mark.proves("page:origin")
@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:1"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {},
    ],
)
async def test_a_form_that_another_page_sends_does_nothing(base: str, headers: dict[str, str]) -> None:
    fields = {"name": "Clerk", "goals": "x"}
    async with ClientSession(headers=headers) as session:
        async with session.post(f"{base}/c/web/local/general/new", data=fields) as answer:
            assert answer.status == 403
        async with session.get(f"{base}/c/web/local/general") as page:
            assert "No agents here yet." in await page.text()


@pytest.mark.proves("page:origin")
async def test_the_cookie_stays_on_this_site_and_away_from_scripts(base: str) -> None:
    async with ClientSession() as session, session.get(base) as answer:
        cookie = answer.headers["Set-Cookie"]
        policy = answer.headers["Content-Security-Policy"]
    assert "SameSite=Strict" in cookie
    assert "HttpOnly" in cookie
    assert "script-src 'self'" in policy
    assert "frame-ancestors 'none'" in policy


async def test_an_answer_to_the_pages_script_sets_no_cookie(base: str) -> None:
    headers = {"HX-Request": "true"}
    async with ClientSession() as session, session.get(base, headers=headers) as answer:
        assert answer.status == 200
        assert "Set-Cookie" not in answer.headers


@pytest.mark.proves("page:token")
async def test_with_a_token_nothing_is_shown_before_it_was(tmp_path: Path) -> None:
    async with served(ScriptedModel(), tmp_path, token=TOKEN) as base:
        session = ClientSession(cookie_jar=CookieJar(unsafe=True), headers={"Origin": base})
        async with session:
            async with session.get(f"{base}/c/web/local/general") as closed:
                assert closed.url.path == "/enter"
            async with session.post(f"{base}/enter", data={"token": "wrong", "to": "/"}) as wrong:
                assert (wrong.status, "That is not the token." in await wrong.text()) == (403, True)
            async with session.post(f"{base}/enter", data={"token": TOKEN, "to": "//evil.example"}) as entered:
                assert (entered.url.path, entered.url.host) == ("/", "127.0.0.1")
            async with session.post(f"{base}/channels", data={"name": "Ops Desk"}) as inside:
                assert inside.url.path == "/c/web/local/ops-desk"


@pytest.mark.slow
@pytest.mark.proves("decide:twice")
async def test_a_second_click_is_told_who_was_first(base: str, ana: PageChat) -> None:
    await ana.new_agent("Clerk", "writes", "Write a file")
    card = await ana.asks("write_to_file")
    async with PageChat.opened(base, "ben", ana.path) as ben:
        await card.press("Approve")
        status, page = await ben.send("press", {"button": card.button("reject"), "text": "Not that name"})
    assert status == 409
    assert "already approved by @ana" in page
    assert "Not that name" in page


@pytest.mark.slow
async def test_another_number_is_taken_and_a_wrong_one_is_refused(ana: PageChat) -> None:
    await ana.new_agent("Clerk", "writes", "Write a file")
    card = await ana.asks("write_to_file")
    refused, page = await ana.send("press", {"button": card.button("approve", 0), "times": "51"})
    assert (refused, "a number from 2 to 50, not 51" in page) == (422, True)
    await ana.send("press", {"button": card.button("approve", 0), "times": "7"})
    assert await ana.sees("under @ana’s ×7 · 6 of 7 left")


@pytest.mark.slow
async def test_what_is_left_of_a_lease_can_be_revoked_in_one_place(ana: PageChat) -> None:
    await ana.new_agent("Clerk", "writes", "Write a file")
    await (await ana.asks("write_to_file")).press("Approve ×3")
    assert await ana.sees("under @ana’s ×3 · 2 of 3 left · covers")
    assert (await ana.page()).count(">Revoke<") == 1


@pytest.mark.slow
async def test_an_edit_that_is_no_json_keeps_what_was_written(ana: PageChat) -> None:
    await ana.new_agent("Clerk", "writes", "Write a file")
    card = await ana.asks("write_to_file")
    fields = {"button": card.button("edit"), "argument.filename": "b.txt", "argument.text": "x", "argument.up": "7"}
    status, page = await ana.send("press", fields)
    assert status == 422
    assert "b.txt" in text_of(page)


@pytest.mark.parametrize(
    ("path", "back"),
    [
        ("/nope", "/"),
        ("/me", "/"),
        ("/c/nowhere/x/y", "/"),
        ("/c/web/local/general/a/nobody", "/c/web/local/general"),
        ("/c/web/local/general/a/x/t/y", "/c/web/local/general/a/x"),
    ],
)
async def test_what_is_not_there_is_said_in_a_sentence(base: str, path: str, back: str) -> None:
    async with ClientSession() as session, session.get(base + path) as answer:
        page = await answer.text()
    assert answer.status == 404
    assert "There is no" in page
    assert "<h1>Not found</h1>" in page
    assert f'<a class="button" href="{back}">Back</a>' in page


async def test_the_home_page_offers_a_new_agent_also_when_there_are_agents(base: str, ana: PageChat) -> None:
    await ana.new_agent("Clerk", "writes", "Write a file")
    async with ana.session.get(f"{base}/") as answer:
        assert 'href="/c/web/local/general/new">New agent</a>' in await answer.text()


@pytest.mark.slow
async def test_an_agent_is_not_found_from_another_channel(base: str, ana: PageChat) -> None:
    await ana.new_agent("Clerk", "writes", "Write a file")
    card = await ana.asks("write_to_file")
    ana.path = ana.path.replace("/general/", "/other/")
    status, _ = await ana.send("press", {"button": f"approve:{card.turn}:1"})
    assert status == 404
    async with ana.session.get(base + ana.path) as answer:
        assert answer.status == 404


@pytest.mark.proves("page:other-surfaces")
async def test_the_page_shows_agents_of_other_surfaces_and_decides_nothing_for_them(
    base: str, ana: PageChat, tmp_path: Path
) -> None:
    slack = ChannelScope("slack", "T1", "C1")
    cleo = Actor(id="U1", display="cleo", workspace="T1")
    agent = AgentDraft(name="Slack-Clerk", goals=("x",)).tidied().made(Origin(by=cleo, channel=slack), NOON)
    database = SqlDatabase(f"sqlite:///{tmp_path / 'signoff.db'}")
    await in_one_unit(database, lambda work: _add(work, agent))
    await database.close()
    ana.path = f"/c/{slack.key}/a/{agent.id}"
    assert "Slack-Clerk" in await ana.page()
    status, page = await ana.send("press", {"button": f"stop:{agent.id}:1"})
    assert (status, "you may not decide here" in page) == (403, True)


async def _add(work: object, agent: object) -> None:
    work.agents.add(agent)  # type: ignore[attr-defined]


@pytest.mark.slow
async def test_health_and_metrics_answer_operators(base: str, ana: PageChat) -> None:
    await ana.new_agent("Clerk", "writes", "Write a file")
    await ana.asks("write_to_file")
    async with ClientSession() as session:
        for path in ("/healthz", "/readyz", "/livez"):
            async with session.get(f"{base}{path}") as health:
                assert await health.json() == {"status": "ok", **({} if path == "/livez" else {"model": "ok"})}
        async with session.get(f"{base}/metrics") as metrics:
            assert 'signoff_agents{status="awaiting"} 1.0' in await metrics.text()
            assert "signoff_workers " in await metrics.text()


async def test_a_channels_last_settings_are_offered_again(base: str, ana: PageChat) -> None:
    await ana.new_agent("Clerk", "keeps the minutes", "Write them down")
    async with ana.session.get(f"{base}/c/web/local/general/new?last") as form:
        page = await form.text()
    assert 'value="keeps the minutes"' in page
    assert "Write them down</textarea>" in page


@pytest.mark.parametrize("name", ["<b>x</b>", "a" * 200, "  ", "مريم", "-"])
async def test_any_name_a_person_takes_is_a_name_or_leaves_the_one_before(base: str, name: str) -> None:
    async with PageChat.opened(base, name) as chat, chat.session.get(base + "/") as answer:
        page = await answer.text()
    assert "<b>x" not in page
    assert 'id="me" name="name" value=""' not in page


@pytest.mark.slow
@pytest.mark.proves("delete:said")
async def test_deleting_asks_for_the_name_and_removes_everything(base: str, ana: PageChat, tmp_path: Path) -> None:
    await ana.new_agent("Clerk", "writes", "Write a file")
    await (await ana.asks("write_to_file")).press("Approve")
    assert await ana.sees("a.txt now holds")
    assert (await ana.send("delete", {"name": "clark"}))[0] == 422
    status, page = await ana.send("delete", {"name": "clerk"})
    assert status == 200
    assert (
        "Clerk was deleted by @ana, with its history, memory and files: 1 turn, 0 notes, 0 memories, 1 file (" in page
    )
    assert "The decision log keeps 5 entries without their texts: who, when and hashes." in page
    async with ana.session.get(base + ana.path) as gone:
        assert gone.status == 404
    left = [path for path in (tmp_path / "workspaces").rglob("*") if path.is_file()]
    assert [path for path in left if path.parent.name != ".locks"] == []


@pytest.mark.slow
async def test_a_result_is_cut_on_the_card_and_whole_on_its_own_page(tmp_path: Path) -> None:
    long = "\n".join(f"line {number}" for number in range(200))
    replies = (reply_text("write_to_file", {"filename": "a", "text": long}), reply_text("read_file", {"filename": "a"}))
    async with served(ScriptedModel(*replies, waits=True), tmp_path) as base, PageChat.opened(base, "ana") as ana:
        await ana.new_agent("Clerk", "reads", "Read")
        await (await ana.asks("write_to_file")).press("Approve")
        card = await ana.asks("read_file")
        await card.press("Approve")
        assert await ana.sees("Show all")
        async with ana.session.get(f"{base}{ana.path}/t/{card.turn}") as whole:
            assert "line 199" in await whole.text()


async def test_whoever_may_not_decide_is_told_why(base: str, ana: PageChat) -> None:
    fields = {"name": "Own", "goals": "x", "approvers": "owner"}
    async with ana.session.post(f"{base}/c/web/local/general/new", data=fields) as made:
        ana.path = made.url.path
    card = await ana.asks("write_to_file")
    async with PageChat.opened(base, "ben", ana.path) as ben:
        status, page = await ben.send("press", {"button": f"approve:{card.turn}:1"})
    assert (status, "you may not approve here: only @ana decides" in page) == (403, True)


@pytest.mark.proves("page:token")
async def test_behind_tls_cookies_stay_there_and_metrics_ask_for_the_token(tmp_path: Path) -> None:
    async with served(ScriptedModel(), tmp_path, token=TOKEN, public_url="https://signoff.example") as base:
        host = {"Host": "signoff.example", "Origin": "https://signoff.example"}
        async with ClientSession() as session:
            entered = await session.post(f"{base}/enter", data={"token": TOKEN}, headers=host, allow_redirects=False)
            assert "Secure" in entered.headers["Set-Cookie"]
            assert (await session.get(f"{base}/metrics")).status == 401
            known = await session.get(f"{base}/metrics", headers={"Authorization": f"Bearer {TOKEN}"})
            assert known.status == 200


async def test_the_tutorial_shows_what_a_first_start_says(tmp_path: Path) -> None:
    page = (Path(__file__).parents[4] / "docs" / "tutorial" / "first-agent.md").read_text(encoding="utf-8")
    _, *shown = page.partition("Signoff is at")[2].partition("```")[0].splitlines()

    async def no_servers() -> tuple[LocalServer, ...]:
        return ()

    async def no_tables() -> Tables:
        return Tables()

    known, models = Capabilities.of(load({}, None)), ModelCapability
    every = (replace(each, local_servers=no_servers) if isinstance(each, models) else each for each in known.every)
    probes = Probes(database=no_tables, platforms={}, capabilities=replace(known, every=tuple(every)))
    said = report(await findings(load({"SIGNOFF_HOME": str(tmp_path)}, None), probes)).splitlines()
    assert [line for line in shown if line != "…" and line not in said] == []


@pytest.mark.slow
async def test_nothing_hides_on_the_page_whoever_wrote_it(tmp_path: Path) -> None:
    hidden = "a\u200bb"
    reply = reply_text("write_to_file", {"filename": "a.txt", "text": hidden}, text=hidden)
    async with (
        served(ScriptedModel(reply, waits=True), tmp_path) as base,
        PageChat.opened(base, "ana") as ana,
    ):
        await ana.new_agent(hidden, hidden, hidden)
        card = await ana.asks("write_to_file")
        await card.press("Reject", reason=hidden)
        page = await ana.until(lambda page: page if f"“{SPELLED}”" in page else None)
        async with ana.session.get(base + ana.path) as answer:
            page = await answer.text()
    assert "\u200b" not in page
    assert page.count(SPELLED) > 8, card
