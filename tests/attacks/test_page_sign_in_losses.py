"""Attacks on the page by people, or against people, who lose a right or sign out while something is under way."""

import asyncio
import io
import random
import sqlite3
import zipfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

import pytest

from agent_core.model.origin import account_id
from agent_core.testing.language_model import ScriptedModel
from tests.attacks.rows import attack
from tests.patience import PATIENCE_SECONDS
from tests.scenario.chat import writing
from tests.scenario.page import PageCard, PageChat
from tests.scenario.served import served
from tests.scenario.signing_in import GENERAL, Browser, alert_in, browser, page_with_accounts
from tests.standins.oidc import OwnProvider, own_provider

TEAM = ("team",)
ANA: dict[str, Any] = {"groups": ["team"]}
BEN: dict[str, Any] = {"name": "Ben", "groups": ["team"]}
FORM = "application/x-www-form-urlencoded"


@pytest.fixture
async def own() -> AsyncIterator[OwnProvider]:
    async with own_provider(claims=ANA) as made:
        yield made


def writes() -> ScriptedModel:
    return ScriptedModel(writing("a.md", "x"), waits=True)


async def make_own_agent(one: Browser) -> tuple[PageChat, PageCard]:
    """Sign in and make an agent of which only its maker approves; the chat, and the card that asks."""
    await one.sign_in()
    ana = one.chat()
    await ana.new_agent("Clerk", "keeps notes", "Write a report")
    card = await ana.asks("write_to_file")
    await one.post(f"{ana.path}/say", text="!policy approvers owner")
    return ana, card


async def files_named(folder: Path, name: str) -> list[Path]:
    return await asyncio.to_thread(lambda: list(folder.rglob(name)))


async def send_slowly(
    one: Browser, path: str, form: bytes, between: Callable[[], Awaitable[object]], kind: str = FORM
) -> tuple[int, str]:
    """Send a form of which the most comes after what happens `between`; the status and the text of the answer."""
    place, cookies = urlsplit(one.base), "; ".join(f"{name}={value}" for name, value in one.cookies.items())
    reader, writer = await asyncio.open_connection(place.hostname, place.port)
    head = f"POST {path} HTTP/1.1\r\nHost: {place.netloc}\r\nOrigin: {one.base}\r\nConnection: close\r\n"
    of_form = f"Content-Type: {kind}\r\nContent-Length: {len(form)}\r\nCookie: {cookies}\r\n\r\n"
    writer.write(f"{head}{of_form}".encode() + form[:1])
    await writer.drain()
    await between()
    writer.write(form[1:])
    said = (await asyncio.wait_for(reader.read(), PATIENCE_SECONDS)).decode(errors="replace")
    writer.close()
    return int(said.split()[1]), said


# What is no answer to the question which groups somebody is in


@pytest.mark.slow
@attack("http", "A provider that forgets to say somebody's groups, or says them elsewhere", "nothing is lost")
@pytest.mark.proves("page:sign-in-groups")
@pytest.mark.parametrize("is_by_policy", [False, True])
@pytest.mark.parametrize(
    ("claims", "why"),
    [
        ({"groups": None}, "is not in the provider's answer"),
        ({"groups": None, "_claim_names": {"groups": "src1"}}, "is not in the provider's answer"),
        ({"groups": {"a": 1}}, "holds no names of groups"),
        ({"groups": [f"g{number}" for number in range(201)]}, "has more than 200 groups"),
    ],
)
async def test_an_unsaid_group_is_not_lost(
    own: OwnProvider,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    claims: dict[str, Any],
    why: str,
    is_by_policy: bool,
    answer: str,
) -> None:
    groups = () if is_by_policy else TEAM
    async with (
        page_with_accounts(own.address, tmp_path, model=writes(), groups=groups) as base,
        browser(base) as one,
        browser(base) as two,
        browser(base) as ben,
    ):
        ana, card = await make_own_agent(one)
        if is_by_policy:
            await one.post(f"{GENERAL}/policy", groups="team")
        own.claims = claims
        refused = await two.sign_in()
        assert (refused.status, "which groups you are in" in alert_in(await refused.text())) == (403, True)
        assert f"the claim groups {why}" in {getattr(each, "why", "") for each in caplog.records}
        own.subject, own.claims = "sub-2", BEN
        await ben.sign_in()
        assert (await ben.post(f"{ana.path}/press", button=card.button("approve"))).status == 403, answer
        assert (await one.get("/")).status == 200


@pytest.mark.slow
@pytest.mark.proves("page:sign-in-groups")
async def test_groups_that_nothing_asks_for_need_not_be_said(own: OwnProvider, tmp_path: Path) -> None:
    own.claims = {}
    async with page_with_accounts(own.address, tmp_path) as base, browser(base) as one:
        await one.post(f"{GENERAL}/policy", approvers="owner")
        assert (await one.sign_in()).status == 200


@pytest.mark.slow
@attack("http", "Deciding for an owner whom this process, with other groups in its settings, does not let in", "403")
@pytest.mark.proves("page:sign-in-groups")
async def test_other_settings_take_no_agent_from_its_owner(own: OwnProvider, tmp_path: Path, answer: str) -> None:
    async with page_with_accounts(own.address, tmp_path, model=writes(), groups=TEAM) as base, browser(base) as one:
        ana, card = await make_own_agent(one)
    own.subject, own.claims = "sub-2", {"name": "Ben", "groups": ["taem"]}
    async with page_with_accounts(own.address, tmp_path, groups=("taem",)) as base, browser(base) as ben:
        await ben.sign_in()
        pressed = await ben.post(f"{ana.path}/press", button=card.button("approve"))
        assert (pressed.status, "took over" in await (await ben.get(ana.path)).text()) == (int(answer), False)


# What is sent, or read, slowly


@pytest.mark.slow
@attack("http", "Uploading a file slowly, and losing the group that decides meanwhile", "the file is not taken")
@pytest.mark.proves("page:sign-in-groups")
async def test_a_file_is_taken_of_who_may_when_it_is_there(own: OwnProvider, tmp_path: Path, answer: str) -> None:
    boundary = b'--B\r\nContent-Disposition: form-data; name="file"; filename="evil.py"\r\n\r\nprint(1)\r\n--B--\r\n'
    async with (
        page_with_accounts(own.address, tmp_path, model=writes()) as base,
        browser(base) as one,
        browser(base) as two,
    ):
        await one.sign_in()
        await one.post(f"{GENERAL}/policy", groups="team")
        ana = one.chat()
        await ana.new_agent("Clerk", "keeps notes", "Write a report")
        await ana.asks("write_to_file")
        own.claims = {"groups": []}
        kind = "multipart/form-data; boundary=B"
        status, _ = await send_slowly(one, f"{ana.path}/add-file", boundary, two.sign_in, kind)
    assert (status, await files_named(tmp_path, "evil.py"), answer) == (403, [], "the file is not taken")


NO_CHARSET = "application/x-www-form-urlencoded; charset=nonsense"


@pytest.mark.slow
@attack(
    "http", "Reading on by a form that was begun before the sign-out, or the loss of access", "409, nothing is read"
)
@pytest.mark.proves("page:session")
@pytest.mark.parametrize("signs_out", [False, True])
@pytest.mark.parametrize(
    ("path", "kind"), [("goals", NO_CHARSET), ("goals", FORM), ("say", FORM), ("memory/add", NO_CHARSET)]
)
async def test_a_form_of_an_ended_session_reads_nothing(
    own: OwnProvider, tmp_path: Path, path: str, kind: str, signs_out: bool, answer: str
) -> None:
    async with (
        page_with_accounts(own.address, tmp_path, model=writes(), groups=TEAM) as base,
        browser(base) as one,
        browser(base) as two,
        browser(base) as thief,
        browser(base) as ben,
    ):
        await one.sign_in()
        ana = one.chat()
        await ana.new_agent("Clerk", "keeps notes", "Write a report")
        await ana.asks("write_to_file")
        thief.session.cookie_jar.update_cookies(one.cookies)

        async def ends() -> None:
            own.claims = {"groups": []}
            await (one.post("/sign-out") if signs_out else two.sign_in())
            own.subject, own.claims = "sub-2", BEN
            await ben.sign_in()
            await ben.post(f"{ana.path}/say", text="The pass phrase is xyzzy", **{"as": "note"})

        status, said = await send_slowly(thief, f"{ana.path}/{path}", b"text=%41&goals=b", ends, kind)
    assert (status, "xyzzy" in said, "<html" in said, answer) == (409, False, False, "409, nothing is read")


@pytest.mark.slow
@attack(
    "http", "Reading on by a draft that a model writes slowly, asked for before the sign-out", "409, nothing is read"
)
@pytest.mark.proves("page:session")
async def test_a_slow_draft_for_an_ended_session_shows_nothing(own: OwnProvider, tmp_path: Path, answer: str) -> None:
    model = ScriptedModel(waits=True)
    async with page_with_accounts(own.address, tmp_path, model=model) as base, browser(base) as ana:
        await ana.sign_in()
        async with browser(base) as thief, asyncio.TaskGroup() as tasks:
            thief.session.cookie_jar.update_cookies(ana.cookies)
            asked = tasks.create_task(thief.post(f"{GENERAL}/draft", sentence="It counts"))
            while not model.prompts:
                await ana.get("/")
            await ana.post("/sign-out")
            model.say("no draft", "no draft")
        assert (asked.result().status, "<html" in await asked.result().text(), answer[:3]) == (409, False, "409")


@pytest.mark.slow
@attack("http", "Approving by a form that was begun before the sign-out, where a token opens the page", "nothing runs")
@pytest.mark.proves("page:session")
async def test_a_form_of_who_signed_out_approves_nothing_in_token_mode(tmp_path: Path, answer: str) -> None:
    async with served(writes(), tmp_path, token="a-token-of-the-team") as base, browser(base) as one:
        await one.post("/enter", token="a-token-of-the-team")
        ana = one.chat()
        await ana.new_agent("Clerk", "keeps notes", "Write a report")
        card = await ana.asks("write_to_file")
        form = urlencode({"button": card.button("approve")}).encode()
        async with browser(base) as thief:
            thief.session.cookie_jar.update_cookies(one.cookies)
            status, _ = await send_slowly(thief, f"{ana.path}/press", form, lambda: one.post("/sign-out"))
    assert (status, await files_named(tmp_path, "a.md"), answer) == (409, [], "nothing runs")


@pytest.mark.slow
@attack("http", "Fetching all files slowly, and signing out meanwhile", "what is written later does not come")
@pytest.mark.proves("page:session")
async def test_a_download_breaks_off_where_the_session_ends(own: OwnProvider, tmp_path: Path, answer: str) -> None:
    async with page_with_accounts(own.address, tmp_path, model=writes()) as base, browser(base) as one:
        await one.sign_in()
        ana = one.chat()
        await ana.new_agent("Clerk", "keeps notes", "Write a report")
        await ana.asks("write_to_file")
        folder = tmp_path / "workspaces" / ana.path.rpartition("/")[2]
        folder.mkdir(parents=True, exist_ok=True)
        for number in range(12):
            (folder / f"a{number:02}.bin").write_bytes(random.randbytes(2_000_000))
        (folder / "z.txt").write_text("old")
        async with one.session.get(f"{base}{ana.path}/files.zip") as fetched:
            first = await fetched.content.readany()
            async with browser(base) as same:
                same.session.cookie_jar.update_cookies(one.cookies)
                await same.post("/sign-out")
            (folder / "z.txt").write_text("new")
            rest = await fetched.content.read()
    assert zipfile.is_zipfile(io.BytesIO(first + rest)) is False, answer


@pytest.mark.slow
@pytest.mark.proves("page:sign-in-groups")
async def test_the_operator_ends_the_account_of_somebody_who_was_deleted(own: OwnProvider, tmp_path: Path) -> None:
    async with (
        page_with_accounts(own.address, tmp_path, model=writes()) as base,
        browser(base) as one,
        browser(base) as ben,
    ):
        ana, card = await make_own_agent(one)
        own.subject, own.claims = "sub-2", BEN
        await ben.sign_in()
        assert (await ben.post(f"{ana.path}/press", button=card.button("approve"))).status == 403
        with closing(sqlite3.connect(tmp_path / "signoff.db")) as database:
            of_ana = f"account {account_id(own.address, 'sub-1')}"
            database.execute("UPDATE preferences SET text = '' WHERE key = ?", [of_ana])
            database.commit()
        assert (await ben.post(f"{ana.path}/press", button=card.button("approve"))).status == 303
        assert "took over" in await (await ben.get(ana.path)).text()
