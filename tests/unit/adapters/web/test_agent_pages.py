"""Goals, budgets, self-review and settings in the local workspace: what is shown, who may, and what bad input gets."""

import re
from collections.abc import AsyncIterator
from decimal import Decimal
from pathlib import Path
from typing import get_args

import pytest
from aiohttp import ClientSession, FormData

from adapters.typed.management_commands import CALLS
from adapters.web.page_context import ModelLabel
from agent_core.capabilities.demo.rehearsal import RehearsalModel
from agent_core.capabilities.memory.hashing_embedder import HashingEmbedder
from agent_core.capabilities.models.token_counters import Estimates
from agent_core.errors import Conflict
from agent_core.model.model_calls import CallKind, Reply, Usage
from agent_core.model.origin import ChannelScope
from agent_core.model.records.reservation import Account
from agent_core.persistence.database import SqlDatabase
from agent_core.ports.models import NewestCall
from agent_core.spending.budget_ledger import charge_account
from agent_core.testing.embedder import WordEmbedder
from agent_core.testing.language_model import ScriptedModel, reply_text
from agent_core.testing.memory_index import InMemoryIndex
from bot.commands import memory_hints
from bot.wiring.models import Models
from tests.scenario.chat import writing
from tests.scenario.page import PageChat, text_of
from tests.scenario.served import served

CHANNEL = "/c/web/local/general"
SETTINGS = "ai_name: Scout\nai_role: finds things\nai_goals:\n- look\n- 'tell: us'\napi_budget: 2.5\n"
POSTS = (
    "add-file",
    "archive",
    "unarchive",
    "goals",
    "model",
    "budget",
    "press",
    "memory/search",
    "memory/add",
    "memory/file",
    "memory/forget",
    "memory/forget-all",
)


@pytest.fixture
def model() -> ScriptedModel:
    return ScriptedModel(writing("a.txt", "one"), waits=True, cost=Decimal("0.25"))


@pytest.fixture
async def base(model: ScriptedModel, tmp_path: Path) -> AsyncIterator[str]:
    async with served(model, tmp_path) as address:
        yield address


@pytest.fixture
async def ana(base: str) -> AsyncIterator[PageChat]:
    async with PageChat.opened(base, "ana") as chat:
        await chat.new_agent("Clerk", "writes", "Write a file")
        yield chat


@pytest.mark.slow
async def test_goals_are_changed_while_the_agent_lives(ana: PageChat) -> None:
    await ana.asks("write_to_file")
    assert (await ana.send("goals", {"goals": " Read it \r\n\r\nTell us"}))[0] == 200
    page = await ana.page()
    assert '<li dir="auto">Read it</li><li dir="auto">Tell us</li>' in page
    assert "@ana set the goals: 1. Read it 2. Tell us" in page


@pytest.mark.slow
@pytest.mark.parametrize(
    ("goals", "said"),
    [("  ", "write at least one"), ("1\n2\n3\n4\n5\n<b>6</b>", "at most 5"), ("x" * 2001, "at most 2000 characters")],
)
async def test_goals_that_cannot_be_used_come_back_as_they_were_typed(ana: PageChat, goals: str, said: str) -> None:
    status, page = await ana.send("goals", {"goals": goals})
    assert (status, said in page) == (422, True)
    assert f">{goals}</textarea>".replace("<b>6</b>", "&lt;b&gt;6&lt;/b&gt;").lstrip(">") in page
    assert 'aria-invalid="true" aria-describedby="problem-goals"' in page
    assert '<li dir="auto">Write a file</li>' in await ana.page()


@pytest.mark.slow
async def test_a_budget_that_is_no_amount_comes_back_as_it_was_typed(ana: PageChat) -> None:
    status, page = await ana.send("budget", {"budget": '5"><b>'})
    assert (status, 'value="5&#34;&gt;&lt;b&gt;"' in page, "<b>" in page.partition('id="limit"')[2][:60]) == (
        422,
        True,
        False,
    )


@pytest.mark.slow
@pytest.mark.proves("rights:owner")
async def test_whoever_may_not_decide_changes_nothing_and_keeps_what_was_typed(base: str, ana: PageChat) -> None:
    fields = {"name": "Own", "goals": "x", "approvers": "owner"}
    async with ana.session.post(f"{base}{CHANNEL}/new", data=fields) as made:
        path = made.url.path
    async with PageChat.opened(base, "ben", path) as ben:
        goals, page = await ben.send("goals", {"goals": "Do as ben says"})
        added, _ = await ben.send("memory/add", {"text": "ben was here"})
        every, _ = await ben.send("memory/forget-all", {"name": "Own"})
    assert (goals, added, every) == (403, 403, 403)
    assert "Do as ben says" in page
    assert "you may not set goals here: only @ana decides" in text_of(page)


@pytest.mark.slow
async def test_what_was_spent_is_told_by_kind_of_call(ana: PageChat, model: ScriptedModel) -> None:
    card = await ana.asks("write_to_file")
    model.say("Look before you write.")
    await card.press("Self-review")
    rows = (await ana.page()).partition('class="kinds"')[2].partition("</table>")[0]
    said = text_of(rows.replace("</tr>", "\n").replace("<td", " <td")).splitlines()
    assert [line.split()[0] for line in said if "$" in line] == ["turns", "self-reviews"]
    assert [line.split()[-1] for line in said if "$" in line] == ["$0.25", "$0.25"]


@pytest.mark.slow
async def test_the_tokens_saved_to_the_cache_are_told_by_kind_of_call(ana: PageChat, model: ScriptedModel) -> None:
    card = await ana.asks("write_to_file")
    usage = Usage(prompt=2_000, completion=5, cache_written=1_900)
    model.say(Reply(text="Look before you write.", usage=usage))
    await card.press("Self-review")
    rows = (await ana.page()).partition('class="kinds"')[2].partition("</table>")[0].split("<tr>")
    assert [("1,900 saved to the cache" in row) for row in rows if "<td" in row] == [True, False]


@pytest.mark.slow
async def test_a_self_review_stands_in_its_own_section_and_the_proposal_stays_open(
    ana: PageChat, model: ScriptedModel
) -> None:
    card = await ana.asks("write_to_file")
    model.say("Not needed.\u202e <script>alert(1)</script>")
    await card.press("Self-review")
    page = await ana.page()
    section = page.partition('<section class="review"')[2].partition("</section>")[0]
    assert text_of(section).endswith("Self-reviewNot needed.⟨U+202E⟩ <script>alert(1)</script>")
    assert "<script>alert" not in page
    assert 'data-busy="Self-review' not in page
    await card.press("Approve")
    assert await ana.sees("a.txt now holds 3 characters.")


@pytest.mark.slow
async def test_a_self_review_that_comes_too_late_is_refused_in_a_sentence(ana: PageChat) -> None:
    card = await ana.asks("write_to_file")
    await card.press("Reject", reason="no")
    status, page = await ana.send("press", {"button": f"review:{card.turn}:1"})
    assert (status, "only an open proposal can be reviewed" in page) == (409, True)


@pytest.mark.slow
async def test_an_agent_whose_budget_is_reached_offers_to_raise_it_and_then_to_resume(tmp_path: Path) -> None:
    model = ScriptedModel(writing("a.txt", "one"), cost=Decimal("0.6"))
    fields = {"name": "Clerk", "role": "writes", "goals": "Write a file", "budget": "0.5"}
    async with served(model, tmp_path) as base, PageChat.opened(base, "ana") as ana:
        async with ana.session.post(f"{base}{CHANNEL}/new", data=fields) as answer:
            ana.path = answer.url.path
        await ana.sees("Raise the budget with !budget N, then Resume.")
        page = await ana.page()
        assert 'value="1.00"> <button class="go" name="then" value="resume">Raise and resume</button>' in page
        assert ('id="about-budget" open' in page, text_of(page).count("the next call may cost")) == (True, 1)
        _, page = await ana.send("budget", {"budget": "5"})
        assert "paused: The budget was raised. Resume goes on." in text_of(page)
        assert '<button class="go" name="button" value="resume' in page
        assert "Raise and resume" not in page
        await ana.send("budget", {"budget": "6", "then": "resume"})
        await ana.asks("write_to_file")


@pytest.mark.slow
async def test_a_channels_budget_is_shown_and_set_on_its_page(base: str, ana: PageChat) -> None:
    await ana.asks("write_to_file")
    async with ana.session.post(f"{base}{CHANNEL}/budget", data={"budget": "12.5"}) as answer:
        page = await answer.text()
    assert (answer.url.path, "$0.25 spent of $12.50. Calls that would exceed this are refused." in page) == (
        CHANNEL,
        True,
    )
    async with ana.session.post(f"{base}{CHANNEL}/budget", data={"budget": "-3"}) as refused:
        page = await refused.text()
    assert (refused.status, 'value="-3"' in page, "$12.50" in page) == (422, True, True)
    async with ana.session.post(f"{base}{CHANNEL}/budget", data={"budget": ""}) as lifted:
        assert "$0.25 spent, no limit." in await lifted.text()


@pytest.mark.slow
@pytest.mark.proves("page:text")
async def test_what_is_asked_in_the_reply_box_is_answered_on_the_page_as_text(ana: PageChat) -> None:
    await ana.asks("write_to_file")
    await ana.says("!memory add <img src=x>\u202e")
    assert await ana.told("Saved to the memory of Clerk.")
    await ana.says("!memory")
    assert await ana.told("• <img src=x>⟨U+202E⟩ · @ana · just now")
    assert "<img" not in ana.answered
    await ana.says("!export")
    assert 'ai_settings.yaml" download>ai_settings.yaml</a>' in ana.answered.partition('id="told"')[2][:400]
    await ana.says("Not now")
    assert 'class="told"' not in ana.answered


@pytest.mark.slow
@pytest.mark.parametrize("as_file", [True, False])
async def test_an_ai_settings_file_fills_the_form_in_and_creates_nothing(
    base: str, ana: PageChat, as_file: bool
) -> None:
    form = FormData({"settings": "" if as_file else SETTINGS})
    if as_file:
        form.add_field("file", ("\ufeff" + SETTINGS).encode(), filename="ai_settings.yaml")
    async with ana.session.post(f"{base}{CHANNEL}/import", data=form) as answer:
        page = await answer.text()
    assert (answer.status, "nothing is created yet" in page) == (200, True)
    assert 'value="Scout"' in page
    assert 'value="2.5"' in page
    assert "look\ntell: us</textarea>" in page
    async with ana.session.get(base + CHANNEL) as channel:
        assert "Scout" not in await channel.text()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sent", "said"),
    [
        (b"", "ai_settings.yaml: choose the file, or paste what it says."),
        (b"ai_goals: 7", "ai_goals is not a list"),
        (b"ai_name: [", "it is not YAML"),
        (b"just words <b>", "it has no ai_name, ai_role and ai_goals"),
        (b"ai_name: x\nai_goals: [a, b, c, d, e, f]", "Goals: at most 5, one per line; there are 6."),
        (b"ai_name: \xff\xfe", "is not UTF-8 text, so it was not read"),
        (b"ai_name: x\napi_budget: -1", "api_budget is not an amount"),
    ],
)
async def test_a_settings_file_that_cannot_be_used_names_the_fault(
    base: str, ana: PageChat, sent: bytes, said: str
) -> None:
    form = FormData()
    form.add_field("file", sent, filename="<i>my</i>.yaml") if sent else form.add_field("settings", "  ")
    async with ana.session.post(f"{base}{CHANNEL}/import", data=form) as answer:
        page = await answer.text()
    assert (answer.status, said in text_of(page)) == (422, True)
    assert "<i>my" not in page


@pytest.mark.slow
async def test_pasted_settings_with_a_fault_come_back_as_they_were_typed(base: str, ana: PageChat) -> None:
    async with ana.session.post(f"{base}{CHANNEL}/import", data={"settings": "ai_goals: 7\n"}) as answer:
        page = await answer.text()
    assert "ai_goals: 7\n</textarea>" in page
    assert 'aria-describedby="problem-settings"' in page


@pytest.mark.slow
@pytest.mark.proves("create:copy")
async def test_a_copy_is_a_form_that_shows_what_would_run_without_asking(base: str, ana: PageChat) -> None:
    fields = {"name": "Own <b>", "goals": "x\ny", "approvers": "owner", "budget": "3", "free.execute": "on"}
    async with ana.session.post(f"{base}{CHANNEL}/new", data=fields) as made:
        identity = made.url.path.rpartition("/")[2]
        assert f'href="{CHANNEL}/new?copy={identity}">' in await made.text()
    async with ana.session.get(f"{base}{CHANNEL}/new?copy={identity}") as answer:
        page = await answer.text()
    assert "Copied from Own &lt;b&gt;, without its history, memory and files. Nothing is created yet." in page
    assert "Like Own &lt;b&gt;, it would run without asking: execute." in page
    assert 'value="Own &lt;b&gt; 2"' in page
    assert 'name="free.execute" checked' in page
    assert ('<option value="owner" selected' in page, 'name="budget" inputmode="decimal" value="3"' in page) == (
        True,
        True,
    )
    async with PageChat.opened(base, "ben") as ben, ben.session.get(f"{base}{CHANNEL}/new?copy={identity}") as answer:
        page = await answer.text()
    assert "Unlike Own &lt;b&gt;, it asks for: execute. Choose below what runs without asking." in page
    assert 'name="free.execute" checked' not in page
    async with ana.session.get(f"{base}/c/web/local/other/new?copy={identity}") as answer:
        assert answer.status == 404


@pytest.mark.slow
async def test_an_agent_is_taken_along_as_an_ai_settings_file(ana: PageChat) -> None:
    async with ana.session.get(f"{ana.base}{ana.path}/ai_settings.yaml") as answer:
        assert answer.headers["Content-Disposition"].startswith("attachment; filename*=UTF-8''ai_settings.yaml")
        said = await answer.text()
    assert said == "ai_name: Clerk\nai_role: writes\nai_goals:\n- Write a file\napi_budget: 0.0\n"


@pytest.mark.slow
@pytest.mark.proves("page:origin")
@pytest.mark.parametrize("where", POSTS)
async def test_another_page_can_send_none_of_the_forms(ana: PageChat, where: str) -> None:
    await ana.asks("write_to_file")
    before = await ana.page()
    evil = {"Origin": "https://evil.example"}
    fields = {"goals": "x", "budget": "1", "text": "x", "words": "x", "name": "Clerk"}
    async with ana.session.post(f"{ana.base}{ana.path}/{where}", data=fields, headers=evil) as answer:
        assert (answer.status, "from another page" in await answer.text()) == (403, True)
    assert (await ana.page()).partition("<aside")[2] == before.partition("<aside")[2]


async def charge(database: SqlDatabase, cost: Decimal) -> None:
    """Charge the channel's only agent with an estimate, as another process does."""
    async with database.begin() as work:
        (agent,) = await work.agents.of(ChannelScope("web", "local", "general"))
        await charge_account(work, Account.of(agent), {"chat": Usage(cost=cost)}, cost)
        await work.commit()


@pytest.mark.slow
@pytest.mark.proves("page:origin")
async def test_pages_say_how_much_of_what_was_spent_is_an_estimate(base: str, ana: PageChat, tmp_path: Path) -> None:
    await ana.asks("write_to_file")
    said = "about $0.20 of it estimated, because a process ended during a call"
    assert said not in await ana.page()
    database = SqlDatabase(f"sqlite:///{tmp_path / 'signoff.db'}")
    for attempt in range(10):  # the agent may still save that its card was sent
        try:
            await charge(database, Decimal("0.2"))
            break
        except Conflict:
            assert attempt < 9
    await database.close()
    assert f'<p class="quiet">{said}</p>' in await ana.page()
    async with ana.session.get(f"{base}{CHANNEL}") as answer:
        assert f"$0.45 spent, no limit.<br><small>{said}</small>" in await answer.text()


@pytest.mark.slow
@pytest.mark.parametrize("where", ["import", "budget"])
async def test_another_page_can_send_none_of_a_channels_forms(ana: PageChat, where: str) -> None:
    evil = {"Origin": "https://evil.example"}
    async with ana.session.post(f"{ana.base}{CHANNEL}/{where}", data={"budget": "1"}, headers=evil) as answer:
        assert answer.status == 403


@pytest.mark.slow
@pytest.mark.proves("page:host")
@pytest.mark.parametrize("behind", ["/memory", "/memory.jsonl", "/ai_settings.yaml"])
async def test_a_name_that_was_pointed_here_sees_none_of_the_pages(ana: PageChat, behind: str) -> None:
    async with ana.session.get(ana.base + ana.path + behind, headers={"Host": "evil.example"}) as answer:
        assert answer.status == 403


@pytest.mark.proves("page:token")
@pytest.mark.parametrize("behind", ["memory", "memory.jsonl", "ai_settings.yaml", "memory/search"])
async def test_before_the_token_none_of_the_pages_is_shown(tmp_path: Path, behind: str) -> None:
    async with served(ScriptedModel(), tmp_path, token="long enough") as base, ClientSession() as session:
        closed = await session.get(f"{base}{CHANNEL}/a/x/{behind}")
        assert closed.url.path == "/enter"


@pytest.mark.slow
@pytest.mark.parametrize("where", ["goals", "model", "budget", "memory/search", "memory/forget-all"])
async def test_a_reload_after_a_refused_form_shows_the_page_it_stands_on(ana: PageChat, where: str) -> None:
    async with ana.session.get(f"{ana.base}{ana.path}/{where}") as answer:
        assert (answer.status, answer.url.path) == (200, f"{ana.path}/{where}".rpartition("/")[0])


def test_the_memory_page_says_what_limits_it_and_nothing_where_nothing_does() -> None:
    plain = minds_with(HashingEmbedder())
    assert memory_hints(plain) == (
        "Found by words, not by meaning: nothing here embeds texts. EMBEDDING_MODEL changes that.",
    )
    assert memory_hints(minds_with(WordEmbedder())) == ()


@pytest.mark.slow
async def test_the_hints_stand_on_the_memory_page_alone(tmp_path: Path) -> None:
    model_label = ModelLabel(ScriptedModel(), memory=("Found by <words>.",))
    async with served(ScriptedModel(), tmp_path, model_label=model_label) as base, PageChat.opened(base, "ana") as ana:
        await ana.new_agent("Clerk", "writes", "Write a file")
        assert '<p class="quiet">Found by &lt;words&gt;.</p>' in await ana.page("/memory")
        assert "Found by" not in await ana.page()


async def test_the_rail_says_that_the_model_is_away_until_a_call_is_answered(tmp_path: Path) -> None:
    newest = NewestCall()
    label = ModelLabel(ScriptedModel(), checked=("m · one.test cannot be reached",), newest=newest)
    async with served(ScriptedModel(), tmp_path, model_label=label) as base, ClientSession() as browser:
        shown = []
        for fault in (None, "", "one.test did not answer in time.", ""):
            newest.fault = fault
            async with browser.get(f"{base}/") as answer:
                shown.append(re.findall(r"one\.test [^<]*", await answer.text()))
    assert shown == [["one.test cannot be reached"], [], ["one.test did not answer in time."], []]


@pytest.mark.slow
async def test_the_page_of_an_agent_names_the_fallback_while_it_answers(tmp_path: Path) -> None:
    model = ScriptedModel(Reply(text=writing("a.txt", "one"), usage=Usage(), answered_by="small · two.test"))
    label = ModelLabel(ScriptedModel(label="large · one.test"))
    async with served(model, tmp_path, model_label=label) as base, PageChat.opened(base, "ana") as ana:
        await ana.new_agent("Clerk", "writes", "Write a file")
        await ana.asks("write_to_file")
        shown = '<p class="model-label" id="model-label" data-live>Model: <b>{}</b>'
        assert shown.format("small · two.test (while large · one.test is away)") in await ana.page()
        async with ClientSession() as browser, browser.get(f"{base}/") as answer:
            assert shown.format("large · one.test") in await answer.text()


@pytest.mark.slow
async def test_an_agents_own_effort_is_shown_beside_its_model(base: str, ana: PageChat) -> None:
    fields = {"name": "Other", "role": "writes", "goals": "Write", "effort": "high"}
    async with ana.session.post(f"{base}{CHANNEL}/new", data=fields) as answer:
        assert " · reasoning effort high" in await answer.text()


@pytest.mark.slow
async def test_an_effort_that_is_refused_is_explained_at_its_field(base: str, ana: PageChat) -> None:
    fields = {"name": "Other", "role": "writes", "goals": "Write", "effort": "huge"}
    async with ana.session.post(f"{base}{CHANNEL}/new", data=fields) as answer:
        page = await answer.text()
    assert answer.status == 422
    assert '<select id="effort" name="effort" aria-invalid="true" aria-describedby="problem-effort">' in page
    assert '<p class="problem" id="problem-effort">Reasoning effort: one of ' in page


async def test_a_model_that_is_refused_is_explained_at_its_field(base: str, ana: PageChat) -> None:
    fields = {"name": "Other", "role": "writes", "goals": "Write", "model": "gpt\u202e4-tpg"}
    async with ana.session.post(f"{base}{CHANNEL}/new", data=fields) as answer:
        page = await answer.text()
    assert answer.status == 422
    assert '<p class="problem" id="problem-model">Model: one line of visible characters; this name has U+202E.' in page


def minds_with(embedder: HashingEmbedder | WordEmbedder) -> Models:
    """A rehearsal with this embedder."""
    return Models(model=RehearsalModel(), tokens=Estimates(), embedder=embedder, index=InMemoryIndex())


def test_every_kind_of_call_has_a_word_on_the_page() -> None:
    assert set(CALLS) == set(get_args(CallKind))


@pytest.mark.slow
async def test_a_note_to_an_agent_at_rest_says_that_resume_is_needed(ana: PageChat, model: ScriptedModel) -> None:
    model.say(reply_text("task_complete", {"reason": "Written."}))
    await (await ana.asks("write_to_file")).press("Approve")
    await (await ana.asks("task_complete")).press("Approve")
    assert await ana.sees("Clerk is done: “Written.”")
    await ana.says("Mention the weather")
    page = await ana.page()
    assert "kept for the next turn" not in page
    assert re.search(r"Saved\. It reads this when you resume\.</span></p><p [^>]+>Mention the weather", page)
    assert 'placeholder="Ask Clerk…"' in page


async def test_a_model_that_an_endpoint_names_after_the_start_is_shown(tmp_path: Path) -> None:
    model = ScriptedModel(waits=True, label="host.example")
    async with served(model, tmp_path) as base, PageChat.opened(base, "ana") as chat:
        await chat.new_agent("Clerk", "writes", "Write a file")
        assert "Model: <b>host.example</b>" in await chat.page()
        model.label = "large · host.example"
        assert "Model: <b>large · host.example</b>" in await chat.page()


@pytest.mark.slow
async def test_an_agents_own_model_is_named_instead_of_the_default(tmp_path: Path) -> None:
    label = ModelLabel(ScriptedModel(label="usual · host.example"))
    async with (
        served(ScriptedModel(waits=True), tmp_path, model_label=label) as base,
        PageChat.opened(base, "ana") as chat,
    ):
        await chat.new_agent("Clerk", "writes", "Write a file")
        await chat.says("!model small")
        assert "Model: <b>small · host.example</b>" in await chat.page()


@pytest.mark.slow
async def test_a_file_is_added_to_the_workspace_and_the_agent_is_told(ana: PageChat) -> None:
    await ana.asks("write_to_file")
    picture = b"\x89PNG" + bytes(3 * 2**20)  # more than any other form may have
    status, page = await ana.upload("add-file", "../sun.png", picture)
    assert (status, "I put “sun.png” (3,145,732 bytes) into your workspace." in text_of(page)) == (200, True)
    async with ana.session.get(f"{ana.base}{ana.path}/files/sun.png") as answer:
        assert await answer.read() == picture


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "size", "said"),
    [("", 0, "Choose a file first."), ("a.bin", 20 * 2**20 + 1, "larger than 20 MB"), ("a", 21 * 2**20, "than 20 MB")],
)
async def test_a_file_that_cannot_be_taken_is_refused_with_the_reason(
    ana: PageChat, name: str, size: int, said: str
) -> None:
    await ana.asks("write_to_file")
    status, page = await ana.upload("add-file", name, bytes(size))
    assert (status, said in text_of(page)) == (422, True)
    assert "into your workspace" not in page


@pytest.mark.proves("rights:owner")
async def test_only_who_may_decide_adds_a_file(ana: PageChat) -> None:
    ana.path = ana.path.replace("/c/web/", "/c/slack/")
    assert (await ana.upload("add-file", "sun.png", b"1"))[0] == 403


@pytest.mark.slow
@pytest.mark.parametrize("to", ["/", "https://evil.example/", "//evil.example", ""])
async def test_a_press_in_the_list_leads_back_to_it_and_never_to_another_site(
    ana: PageChat, base: str, to: str
) -> None:
    card = await ana.asks("write_to_file")
    fields = {"button": card.button("approve"), "to": to}
    async with ana.session.post(f"{base}{ana.path}/press", data=fields, allow_redirects=False) as answer:
        assert (answer.status, answer.headers["Location"]) == (303, "/" if to else ana.path)


async def test_the_list_shows_what_would_be_approved(ana: PageChat, base: str) -> None:
    await ana.asks("write_to_file")
    async with ana.session.get(base) as answer:
        page = await answer.text()
    assert page.count('<input type="hidden" name="to" value="/?open=') >= 4
    assert all(each in text_of(page) for each in ("Write a.txt", "new file"))


async def test_the_end_shows_what_was_written(ana: PageChat, model: ScriptedModel) -> None:
    report = "# Prices\n\n- tea <b>4</b>\n" + "- more\n" * 2_000
    model.say(writing("report.md", report), reply_text("task_complete", {"reason": "Done."}))
    await (await ana.asks("write_to_file")).press("Approve")
    await (await ana.asks("write_to_file")).press("Approve")
    assert 'aria-labelledby="report"' not in await ana.page()
    await (await ana.asks("task_complete")).press("Approve")
    assert await ana.sees("This is the beginning; the file has more.")
    page = await ana.page()
    assert (">Prices</h" in page, "<b>4</b>" in page) == (True, False)
