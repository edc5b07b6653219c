"""Signing in to the page with an account, over sockets and at a real provider."""

import html
import json
import re
from pathlib import Path

import pytest

from agent_core.model.origin import account_id
from agent_core.testing.language_model import ScriptedModel
from tests.scenario.chat import writing
from tests.scenario.served import served
from tests.scenario.signing_in import GENERAL, alert_in, browser, page_with_accounts, query_of
from tests.standins.oidc import CLIENT_ID, make_account, own_provider

LEADS, TOKEN = ["leads"], "a-token-of-the-team"


@pytest.mark.proves("page:sign-in")
async def test_who_signs_in_gets_to_the_page_that_was_wanted(provider: str, tmp_path: Path) -> None:
    await make_account(provider, "ana-1", name="Ana Lovelace", email="ana@example.org")
    async with page_with_accounts(provider, tmp_path) as base, browser(base) as ana:
        asked = await ana.get(GENERAL)
        assert asked.headers["Location"] == f"/enter?to={GENERAL}"
        entry = await (await ana.get(asked.headers["Location"])).text()
        assert (f'href="/enter/begin?to={GENERAL}"' in entry, "With your account at" in entry) == (True, True)
        entered = await ana.sign_in("ana-1", GENERAL)
        assert f'url={base}{GENERAL}"' in await entered.text()
        page = await (await ana.get(GENERAL)).text()
        assert 'You are <output id="me">Ana Lovelace</output>' in page
        assert 'action="/me"' not in page
        assert (await ana.get("/enter?to=/search")).headers["Location"] == "/search", "no second sign-in is asked for"


@pytest.mark.slow
@pytest.mark.proves("page:sign-in")
@pytest.mark.parametrize(
    ("claims", "name"),
    [
        ({"name": "  ", "preferred_username": "ana"}, "ana"),
        ({"name": None, "email": "ana@example.org"}, "ana"),
        ({"name": "<b>Ana</b> · admin"}, "bAnab admin"),
        ({"name": ["Ana"]}, "Account"),
    ],
)
async def test_the_name_is_the_provider_s(claims: dict[str, object], name: str, tmp_path: Path) -> None:
    async with (
        own_provider(claims=claims) as own,
        page_with_accounts(own.address, tmp_path) as base,
        browser(base) as ana,
    ):
        await ana.sign_in()
        assert f'<output id="me">{name}</output>' in await (await ana.get("/")).text()


@pytest.mark.slow
@pytest.mark.proves("page:sign-in")
async def test_what_the_token_leaves_out_is_read_from_the_page_of_the_person(tmp_path: Path) -> None:
    told = {"name": "Ana", "groups": LEADS}
    async with (
        own_provider(claims={"name": None}, userinfo=told) as own,
        page_with_accounts(own.address, tmp_path, groups=("leads",)) as base,
        browser(base) as ana,
    ):
        await ana.sign_in()
        assert '<output id="me">Ana</output>' in await (await ana.get("/")).text()


@pytest.mark.proves("page:sign-in-groups")
async def test_only_members_of_the_groups_come_in(provider: str, tmp_path: Path) -> None:
    await make_account(provider, "ana-2", name="Ana", groups=["staff", "leads"])
    await make_account(provider, "ben-2", name="Ben", groups=["staff"])
    async with (
        page_with_accounts(provider, tmp_path, groups=("leads", "ops")) as base,
        browser(base) as ana,
        browser(base) as ben,
    ):
        assert (await ana.sign_in("ana-2")).status == 200
        refused = await ben.sign_in("ben-2")
        assert (refused.status, "in none of them" in alert_in(await refused.text())) == (403, True)
        assert ((await ana.get("/")).status, (await ben.get("/")).status) == (200, 303)


@pytest.mark.slow
@pytest.mark.proves("page:sign-in-groups")
async def test_who_is_refused_gets_a_way_on(provider: str, tmp_path: Path) -> None:
    await make_account(provider, "ben-7", name="Ben")
    await make_account(provider, "ana-7", name="Ana", groups=["leads"])
    async with page_with_accounts(provider, tmp_path, groups=("leads",)) as base, browser(base) as ben:
        entry = await (await ben.get(f"/enter?to={GENERAL}")).text()
        assert ("With another account" in entry, "Sign out at" in entry) == (False, False)
        said = await (await ben.sign_in("ben-7", GENERAL)).text()
        assert f'href="{provider}/oauth2/end_session?client_id={CLIENT_ID}"' in said
        (other,) = re.findall(r'href="([^"]+)">With another account', said)
        began = await ben.get(html.unescape(other))
        asked = query_of(began.headers["Location"])
        assert asked["prompt"] == "select_account"
        async with ben.session.post(began.headers["Location"], data={"sub": "ana-7"}, allow_redirects=False) as answer:
            entered = await ben.come_back(answer.headers["Location"])
        assert f'url={base}{GENERAL}"' in await entered.text()
    async with (
        own_provider(claims={"groups": []}) as own,
        page_with_accounts(own.address, tmp_path, groups=("leads",)) as base,
        browser(base) as eve,
    ):
        assert "Sign out at" not in await (await eve.sign_in()).text(), "this one has no page for it"


@pytest.mark.slow
@pytest.mark.proves("page:sign-in-groups")
async def test_who_lost_the_group_is_out_at_the_next_sign_in_and_in_every_browser(tmp_path: Path) -> None:
    async with (
        own_provider(claims={"groups": LEADS}) as own,
        page_with_accounts(own.address, tmp_path, groups=("leads",)) as base,
        browser(base) as here,
        browser(base) as there,
    ):
        await here.sign_in()
        assert (await here.get("/")).status == 200
        own.claims = {"groups": []}
        assert (await there.sign_in()).status == 403
        assert (await here.get("/")).status == 303


@pytest.mark.slow
@pytest.mark.proves("page:sign-in-groups")
async def test_a_group_of_the_provider_approves_and_sets_the_policy(provider: str, tmp_path: Path) -> None:
    await make_account(provider, "ana-3", name="Ana", groups=["staff", "Domain Leads"])
    await make_account(provider, "ben-3", name="Ben", groups=["staff"])
    model = ScriptedModel(writing("a.md", "x"), waits=True)
    async with (
        page_with_accounts(provider, tmp_path, model=model) as base,
        browser(base) as one,
        browser(base) as other,
    ):
        await one.sign_in("ana-3")
        await other.sign_in("ben-3")
        ana, ben = one.chat(), other.chat()
        await one.post(f"{GENERAL}/policy", groups="Domain Leads")
        await ben.new_agent("Clerk", "keeps notes", "Write a report")
        ana.path = ben.path
        card = await ana.asks("write_to_file")
        refused = await other.post(f"{ben.path}/press", button=card.button("approve"))
        assert (refused.status, "@Domain Leads may" in await refused.text()) == (403, True)
        changed = await other.post(f"{GENERAL}/policy", approvers="anyone")
        assert (changed.status, "@Domain Leads" in await changed.text()) == (403, True)
        await card.press("Approve")
        assert await ana.sees("approved by @Ana")


@pytest.mark.slow
@pytest.mark.proves("page:sign-in")
async def test_the_log_names_the_account(provider: str, tmp_path: Path) -> None:
    await make_account(provider, "ana|4", name="Ana")
    model = ScriptedModel(writing("a.md", "x"), waits=True)
    async with page_with_accounts(provider, tmp_path, model=model) as base, browser(base) as one:
        await one.sign_in("ana|4")
        ana = one.chat()
        await ana.new_agent("Clerk", "keeps notes", "Write a report")
        await (await ana.asks("write_to_file")).press("Approve")
        log = await (await one.get(f"{GENERAL}/channel-decision-log.jsonl")).text()
    who = {(row["who"], row["who_id"]) for row in map(json.loads, log.splitlines())}
    assert who == {("Ana", account_id(provider, "ana|4"))}


@pytest.mark.slow
@pytest.mark.proves("page:sign-in")
async def test_people_from_before_the_accounts_are_strangers_who_decide_nothing_any_more(
    provider: str, tmp_path: Path
) -> None:
    model = ScriptedModel(writing("a.md", "x"), writing("b.md", "x"), waits=True)
    async with served(model, tmp_path, token=TOKEN) as base, browser(base) as before:
        await before.post("/enter", token=TOKEN)
        old = before.chat()
        await before.post(f"{GENERAL}/new", name="Clerk", role="x", goals="Write", approvers="owner")
        (link,) = set(re.findall(rf'href="({GENERAL}/a/[^"/]+)"', await (await before.get(GENERAL)).text()))
        old.path = link
        await old.asks("write_to_file")
    async with page_with_accounts(provider, tmp_path, model=model) as base, browser(base) as one:
        one.session.cookie_jar.update_cookies(before.cookies)
        assert (await one.get(link)).status == 303
        await one.sign_in("ana-8")
        ana = one.chat()
        ana.path = link
        assert "Decisions here: @Visitor-" in await (await one.get(link)).text()
        await ana.says("!policy approvers anyone")
        await (await ana.asks("write_to_file")).press("Approve")
        assert await ana.sees("@ana-8, ")
