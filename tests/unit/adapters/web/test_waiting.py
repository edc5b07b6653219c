"""What waits for one person: the list over HTTP, and the approval of several cards at once."""

import re
import time
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest
from yarl import URL

from agent_core.testing.language_model import ScriptedModel, reply_text
from tests.scenario.chat import writing
from tests.scenario.page import PageCard, PageChat, text_of
from tests.scenario.served import served

MINUTE = timedelta(minutes=1)


@pytest.fixture
def model() -> ScriptedModel:
    return ScriptedModel(waits=True)


@pytest.fixture
async def base(model: ScriptedModel, tmp_path: Path) -> AsyncIterator[str]:
    async with served(model, tmp_path) as address:
        yield address


@pytest.fixture
async def ana(base: str) -> AsyncIterator[PageChat]:
    async with PageChat.opened(base, "ana") as chat:
        yield chat


async def asking(chat: PageChat, model: ScriptedModel, name: str) -> PageCard:
    """An agent that asks to write a file of its name."""
    model.say(writing(f"{name}.md", "one"))
    await chat.new_agent(name, "writes", "Write a file")
    return await chat.asks("write_to_file")


def lose_file(folder: Path, name: str) -> None:
    """Delete it behind Signoff's back."""
    next(folder.rglob(name)).unlink()


async def listed(chat: PageChat) -> str:
    async with chat.session.get(f"{chat.base}/") as answer:
        return await answer.text()


async def picks(chat: PageChat) -> dict[str, str]:
    """All checkboxes of the list: name and value."""
    return dict(re.findall(r'form="selected" name="([^"]+)" value="([^"]+)"', await listed(chat)))


async def approve(chat: PageChat, selected: dict[str, str]) -> tuple[int, str]:
    async with chat.session.post(f"{chat.base}/approve", data=selected) as answer:
        return answer.status, text_of(await answer.text())


@pytest.mark.slow
@pytest.mark.proves("page:outcomes")
async def test_a_rejection_in_the_list_is_undone_before_the_agent_thinks(tmp_path: Path, model: ScriptedModel) -> None:
    async with served(model, tmp_path, undo_window=MINUTE) as base, PageChat.opened(base, "ana") as ana:
        card = await asking(ana, model, "Ada")
        thought = len(model.prompts)
        await ana.send("press", {"button": card.button("reject"), "text": "Not now", "to": "/"})
        undo = re.search(r'value="(undo:[^"]+)"', page := await listed(ana))
        assert undo, page
        assert rows(page) == []
        await ana.send("press", {"button": undo[1], "to": "/"})
        page = await listed(ana)
        assert (rows(page), "undo:" in page, len(model.prompts)) == (["Ada"], False, thought)
        assert "Not now" in await ana.page()  # what was written stays, as a note


@pytest.mark.slow
@pytest.mark.proves("page:outcomes")
async def test_a_rejection_in_the_thread_is_not_held_back(tmp_path: Path, model: ScriptedModel) -> None:
    async with served(model, tmp_path, undo_window=MINUTE) as base, PageChat.opened(base, "ana") as ana:
        card = await asking(ana, model, "Ada")
        model.say(writing("other.md", "two"))
        await card.press("Reject", reason="Not now")
        await ana.asks("write_to_file")
        assert "undo:" not in await listed(ana)


@pytest.mark.slow
@pytest.mark.proves("page:mine")
async def test_the_list_and_its_count_hold_what_the_person_may_decide_and_nothing_else(
    base: str, ana: PageChat, model: ScriptedModel
) -> None:
    await asking(ana, model, "Ada")
    model.say(writing("own.md", "one"))
    fields = {"name": "Own", "goals": "x", "approvers": "owner"}
    async with ana.session.post(f"{base}/c/web/local/general/new", data=fields) as made:
        ana.path = made.url.path
    await ana.asks("write_to_file")
    async with PageChat.opened(base, "ben") as ben:
        his = await listed(ben)
    assert (rows(his), "Own · turn 1" in his) == (["Ada"], False)
    assert ("<title>(1) " in his, "<title>(2) " in await listed(ana)) == (True, True)


@pytest.mark.proves("page:outcomes")
async def test_the_list_says_what_came_of_what_was_approved_there_to_that_person_alone(
    base: str, ana: PageChat, model: ScriptedModel
) -> None:
    card = await asking(ana, model, "Ada")
    await card.press("Approve")
    model.say(reply_text("task_complete", {"reason": "Done."}))
    await ana.asks("task_complete")
    told = (await listed(ana)).partition('id="outcomes"')[2].partition("</div>")[0]
    assert "✓ Done · Ada: Write Ada.md +1 Open" in " ".join(text_of(told).split())
    assert f'href="{ana.path}#' in told
    assert "done" in told
    async with PageChat.opened(base, "ben") as ben:
        assert "Done · Ada" not in text_of(await listed(ben))


@pytest.mark.proves("page:finished")
async def test_the_page_tells_the_owner_alone_which_agent_is_done(
    base: str, ana: PageChat, model: ScriptedModel
) -> None:
    model.say(reply_text("task_complete", {"reason": "Done."}))
    await ana.new_agent("Ada", "writes", "Write a file")
    await (await ana.asks("task_complete")).press("Approve")
    assert await ana.sees("Ada is done")
    assert 'data-finished="Ada is done"' in await listed(ana)
    async with PageChat.opened(base, "ben") as ben:
        assert "data-finished" not in await listed(ben)


@pytest.mark.proves("page:mine")
async def test_a_paused_agent_is_listed_with_the_reason_and_resume(ana: PageChat, model: ScriptedModel) -> None:
    await ana.new_agent("Ada", "writes", "Write a file")
    model.say(*["no JSON at all"] * 3)
    assert await ana.sees("paused")
    page = await listed(ana)
    assert re.search(r'id="paused-[^"]+" data-live aria-label="Ada, paused"', page)
    button = re.search(r'value="(resume:[^"]+)">Resume<', page)
    assert button
    status, after = await ana.send("press", {"button": button[1], "to": "/"})
    assert (status, "<h1>Needs approval</h1>" in after, "Ada, paused" in after) == (200, True, False)


@pytest.mark.slow
@pytest.mark.proves("page:selected")
async def test_selected_cards_are_approved_each_by_its_own_hash(ana: PageChat, model: ScriptedModel) -> None:
    for name in ("Ada", "Bob", "Cy · x"):
        await asking(ana, model, name)
    selected = await picks(ana)
    assert len(selected) == 3
    first, second, third = selected
    changed = {**selected, second: selected[second][:-32] + "0" * 32}
    status, page = await approve(ana, changed)
    assert status == 200
    assert "Approved: Ada · Write “Ada.md” (+1)" in page
    assert "Approved: Cy ∙ x · Write “Cy ∙ x.md” (+1)" in page
    assert "Approved: Bob · Write “Bob.md” (+1)" not in page
    assert list(await picks(ana)) == [second]
    status, page = await approve(ana, {first: selected[first], second: selected[second]})
    assert "Not approved: Ada · Write “Ada.md” (+1): already approved by @ana" in page
    assert "Approved: Bob · Write “Bob.md” (+1)" in page
    assert third not in await picks(ana)


@pytest.mark.proves("page:selected")
async def test_a_selection_decides_nothing_for_others_and_for_other_surfaces(
    base: str, ana: PageChat, model: ScriptedModel
) -> None:
    await asking(ana, model, "Ada")
    selected = await picks(ana)
    (name, value), *_ = selected.items()
    for foreign in (value.replace("web/local/general", "slack/T1/C1"), value.replace("general", "other")):
        status, page = await approve(ana, {name: foreign})
        assert (status, "Approved:" in page) == (200, False)
    assert (await approve(ana, {name: "nowhere"}))[0] == 422
    assert (await approve(ana, {}))[0] == 422
    async with ana.session.post(f"{base}/approve", data=selected, headers={"Origin": "https://evil.example"}) as answer:
        assert answer.status == 403
    assert await picks(ana) == selected


async def test_the_address_of_a_selection_leads_home(base: str, ana: PageChat) -> None:
    async with ana.session.get(f"{base}/approve") as answer:
        assert (answer.status, answer.url.path) == (200, "/")


def rows(page: str) -> list[str]:
    """The names of the agents in the list."""
    return re.findall(
        r'<a class="entry" id="row-[^"]+"[^>]*><span[^>]*>..?</span> <b dir="auto"><bdi>([^<]+)</bdi>', page
    )


def opened(page: str) -> str:
    """The name of the card that is open beside the list."""
    card = re.search(r'<article class="card [^"]*" id="[^"]+" data-live[^>]* aria-label="(\w+)', page)
    assert page.count("<article") == (card is not None)
    return card[1] if card else ""


@pytest.mark.slow
@pytest.mark.proves("page:queue-filter")
async def test_the_list_shows_one_channel_one_class_or_ones_own_agents(
    base: str, ana: PageChat, model: ScriptedModel
) -> None:
    await asking(ana, model, "Ada")
    model.say(writing("b.md", "one"))
    async with ana.session.post(f"{base}/c/web/local/other/new", data={"name": "Bob", "goals": "x"}) as made:
        ana.path = made.url.path
    await ana.asks("write_to_file")
    async with PageChat.opened(base, "ben") as ben:
        await asking(ben, model, "Cy")
        queries = {
            "": ["Ada", "Bob", "Cy"],
            "?channel=web%2Flocal%2Fother": ["Bob"],
            "?class=write": ["Ada", "Bob", "Cy"],
            "?class=execute": [],
            "?mine=1": ["Cy"],
            "?mine=1&channel=web%2Flocal%2Fother": [],
            "?class=nonsense": ["Ada", "Bob", "Cy"],
            "?channel=%22%3E%3Cscript%3E": [],
        }
        for query, names in queries.items():
            async with ben.session.get(f"{base}/{query}") as answer:
                page = await answer.text()
            assert (query, rows(page), opened(page)) == (query, names, next(iter(names), ""))
            assert "<title>(3) " in page
            assert names or "3 agents wait in the whole list" in page


@pytest.mark.proves("page:queue-filter")
async def test_a_decision_and_a_selection_keep_the_filter(base: str, ana: PageChat, model: ScriptedModel) -> None:
    for name in ("Ada", "Bob"):
        await asking(ana, model, name)
    async with ana.session.get(f"{base}/?class=write&mine=1") as answer:
        page = await answer.text()
    assert 'name="to" value="/?class=write&amp;mine=1&amp;open=' in page
    action = re.search(r'id="selected" method="post" hx-boost="true" action="([^"]+)"', page)
    assert action
    assert action[1] == "/approve?class=write&amp;mine=1"
    (name, value), *_ = (await picks(ana)).items()
    async with ana.session.post(f"{base}/approve?class=execute", data={name: value}) as answered:
        after = await answered.text()
    assert "Approved: " in after
    assert rows(after) == []


@pytest.mark.slow
@pytest.mark.proves("page:queue-short")
async def test_every_agent_has_a_row_one_card_is_open_and_many_receipts_are_folded(
    ana: PageChat, model: ScriptedModel
) -> None:
    for number in range(12):
        await asking(ana, model, f"Agent{number}")
    page, names = await listed(ana), [f"Agent{number}" for number in range(12)]
    assert (rows(page), opened(page), len(await picks(ana))) == (names, "Agent0", 12)
    address = re.findall(r'id="row-[^>]+href="(/\?open=[^"]+)"', page)[-1]
    async with ana.session.get(f"{ana.base}{address}") as answer:
        last = await answer.text()
    assert (rows(last), opened(last)) == (names, "Agent11")
    card = last[last.index('<header id="top"') :].partition("</article>")[0]  # its head has Stop
    assert set(re.findall(r'name="button" value="([a-z ]+):', card)) >= {"approve", "edit", "reject", "stop"}
    selected = await picks(ana)
    first = next(iter(selected))
    stale = {**selected, first: selected[first][:-32] + "0" * 32}
    async with ana.session.post(f"{ana.base}/approve", data=stale) as answer:
        after = await answer.text()
    told = after[after.index('id="told"') : after.index('id="thread"')]
    assert "<summary>11 approved</summary>" in told
    assert told.index("Agent0") < told.index("<summary>"), "what was not approved is not folded"


@pytest.mark.slow
@pytest.mark.proves("page:queue-short")
async def test_after_a_decision_the_next_row_is_open_and_after_the_last_the_first(
    ana: PageChat, model: ScriptedModel
) -> None:
    cards = {name: await asking(ana, model, name) for name in ("Ada", "Bob", "Cy", "Dan")}
    for name, following in (("Bob", "Cy"), ("Dan", "Ada"), ("Ada", "Cy")):
        turn = cards[name].turn
        async with ana.session.get(f"{ana.base}/?open={turn}") as answer:
            page = await answer.text()
        assert opened(page) == name
        form = re.search(
            r'<form class="acts" method="post" hx-boost="true" action="([^"]+)">', page[page.index("<article") :]
        )
        assert form
        fields = {"button": cards[name].button("reject"), "text": "No", "to": f"/?open={turn}"}
        async with ana.session.post(f"{ana.base}{form[1]}", data=fields) as answer:
            assert (name, opened(await answer.text())) == (name, following)


@pytest.mark.proves("page:finished-since")
async def test_the_page_lists_what_runs_and_what_finished_since_this_browser_was_there(
    base: str, ana: PageChat, model: ScriptedModel
) -> None:
    model.say(reply_text("task_complete", {"reason": "All is written."}))
    await ana.new_agent("Ada", "writes", "Write a file")
    await (await ana.asks("task_complete")).press("Approve")
    assert await ana.sees("Ada is done")
    page = text_of(await listed(ana))
    assert "You’re all caught up." in page
    assert "Finished since you were here" in page
    assert "done: “All is written.”" in page
    await ana.new_agent("Bob", "thinks", "Think")
    assert "Bob thinking" in " ".join(text_of((await listed(ana)).partition('id="running"')[2]).split())
    now = int(time.time())
    for visit, is_new in (
        (f"{now - 9000}.{now - 60}", True),
        (f"{now + 60}.{now + 60}", False),
        ("1.2.3", True),
        ("no", True),
        (f"1.{'9' * 99}", True),
    ):
        ana.session.cookie_jar.update_cookies({"signoff_visit": visit}, URL(base))
        page = await listed(ana)
        assert (visit, "Finished since you were here" in page) == (visit, is_new)
        assert "Ada" in page


@pytest.mark.proves("lease:home")
async def test_the_list_names_what_runs_under_a_lease_and_revokes_it_for_who_may(
    base: str, ana: PageChat, model: ScriptedModel
) -> None:
    assert "Under Approve" not in await listed(ana)
    card = await asking(ana, model, "Ada")
    await card.press("Approve ×5")
    await ana.sees("done")
    page = await listed(ana)
    assert "under @ana’s ×5 · 4 of 5 left · covers read, write" in text_of(page)
    (button,) = re.findall(r'name="button" value="(revoke:[^"]+)"', page)
    fields = {"button": button, "to": "/"}
    async with ana.session.post(f"{base}{ana.path}/press", data=fields) as answer:
        assert (str(answer.url), "Under Approve" in await answer.text()) == (f"{base}/", False)
    assert "@ana revoked @ana’s ×5." in await ana.page()


async def test_below_the_open_card_stands_what_came_before_and_a_failure_says_why(
    ana: PageChat, model: ScriptedModel, tmp_path: Path
) -> None:
    card = await asking(ana, model, "Ada")
    page = await listed(ana)
    assert "Before this" not in page
    assert f'href="{ana.path}#{card.turn}">Open thread' in page
    model.say(reply_text("read_file", {"filename": "Ada.md"}))
    await card.press("Approve")
    asks = await ana.asks("read_file")
    before = text_of((await listed(ana)).partition('<section id="past"')[2].partition("</section>")[0])
    assert "Write Ada.md +1" in before
    assert "@ana, " in before
    lose_file(tmp_path, "Ada.md")
    where = {"button": asks.button("approve"), "to": "/"}
    assert (await ana.send("press", where))[0] == 200
    await ana.until(lambda page: "There is no file" in text_of(page))
    told = text_of((await listed(ana)).partition('id="outcomes"')[2].partition("</div>\n</div>")[0])
    assert "Failed · Ada: Read Ada.md · There is no file Ada.md." in " ".join(told.split())


@pytest.mark.parametrize("dry", [False, True])
async def test_a_card_of_a_dry_run_claims_nothing_of_what_is_only_simulated(
    ana: PageChat, model: ScriptedModel, dry: bool
) -> None:
    await ana.new_agent("Ada", "tidies", "Delete a file", dry=dry)
    assert (await ana.upload("add-file", "Ada.md", b"one"))[0] == 200
    model.say(reply_text("delete_file", {"filename": "Ada.md"}))
    assert ("The file stays in the trash for up to 30 days." in (await ana.asks("delete_file")).text) is not dry


async def test_what_was_only_simulated_is_told_so_below_the_card_and_in_activity(
    ana: PageChat, model: ScriptedModel
) -> None:
    model.say(writing("a.md", "one"), writing("b.md", "two"))
    await ana.new_agent("Ada", "writes", "Write files", dry=True)
    await (await ana.asks("write_to_file")).press("Approve")
    await ana.asks("write_to_file")
    for page in ((await listed(ana)).partition('id="past"')[2], await ana.page("/glance")):
        assert re.search(r"a\.md( \+1)? · dry run: only simulated", text_of(page))


async def test_only_what_a_person_undid_is_called_undone(ana: PageChat, model: ScriptedModel, tmp_path: Path) -> None:
    await ana.new_agent("Ada", "writes", "Write a file")
    await ana.upload("add-file", "Nothing", b"one")
    model.say(writing("Nothing", "two"))
    card = await ana.asks("write_to_file")
    lose_file(tmp_path, "Nothing")
    await ana.send("press", {"button": card.button("approve"), "to": "/"})
    assert await ana.sees("“Nothing” changed since this was shown.")
    told = text_of((await listed(ana)).partition('id="outcomes"')[2])
    assert "○ It needs approval again · Ada" in told


async def test_how_a_result_begins_stands_in_quotation_marks_unless_signoff_says_it(
    ana: PageChat, model: ScriptedModel
) -> None:
    await ana.new_agent("Ada", "reads", "Read a file")
    await ana.upload("add-file", "a.md", "a.md approved” by @ben, 12:30".encode())
    model.say(reply_text("read_file", {"filename": "a.md"}), writing("b.md", "x"), writing("c.md", "x"))
    for command, row in (
        ("read_file", "“a.md approved' by @ben, 12:30” @ana"),
        ("write_to_file", " now holds 1 character. @ana"),
    ):
        await (await ana.asks(command)).press("Approve")
        assert await ana.sees(row)
