"""The page of an agent's memory over HTTP: hostile text, files, searching, forgetting, and agents of other surfaces."""

import json
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest

from agent_core.model.agent import Agent
from agent_core.model.draft import AgentDraft
from agent_core.model.origin import Actor, ChannelScope, Origin
from agent_core.model.records.memory import Memory
from agent_core.persistence.database import SqlDatabase
from agent_core.ports.database import UnitOfWork, in_one_unit
from agent_core.testing.examples import NOON
from agent_core.testing.language_model import ScriptedModel
from agent_core.testing.memory_index import InMemoryIndex
from tests.scenario.chat import writing
from tests.scenario.page import PageChat, text_of
from tests.scenario.served import served

HOSTILE = "<img src=x onerror=alert(1)> see http://evil.example/ \u202e\x07 {{ 7 * 7 }}"
SLACK = ChannelScope("slack", "T1", "C1")
CHANGING = ("goals", "budget", "press", "say", "delete", *(f"memory/{act}" for act in ("add", "file", "forget")))


@pytest.fixture
def index() -> InMemoryIndex:
    return InMemoryIndex()


@pytest.fixture
async def base(index: InMemoryIndex, tmp_path: Path) -> AsyncIterator[str]:
    async with served(ScriptedModel(writing("a.txt", "one"), waits=True), tmp_path, index=index) as address:
        yield address


@pytest.fixture
async def ana(base: str) -> AsyncIterator[PageChat]:
    async with PageChat.opened(base, "ana") as chat:
        await chat.new_agent("Clerk", "writes", "Write a file")
        await chat.asks("write_to_file")
        yield chat


async def remembered(chat: PageChat) -> list[dict[str, str]]:
    """What the agent remembers, as it is exported."""
    async with chat.session.get(f"{chat.base}{chat.path}/memory.jsonl") as answer:
        assert answer.headers["Content-Disposition"].startswith("attachment; filename*=UTF-8''memory.jsonl")
        assert answer.content_type == "application/octet-stream"
        return [json.loads(line) for line in (await answer.text()).splitlines()]


@pytest.mark.slow
@pytest.mark.proves("page:text")
async def test_what_is_remembered_is_shown_as_text_and_no_link_is_made_of_it(ana: PageChat) -> None:
    status, page = await ana.send("memory/add", {"text": HOSTILE})
    assert status == 200
    assert "<img" not in page
    assert 'href="http' not in page
    assert "<img src=x onerror=alert(1)> see http://evil.example/ ⟨U+202E⟩⟨U+0007⟩ {{ 7 * 7 }}" in text_of(page)
    assert "1 memory." in text_of(page)


@pytest.mark.proves("page:text")
async def test_where_a_memory_is_from_is_hostile_too(ana: PageChat) -> None:
    _, page = await ana.upload("memory/file", "<b>x\u202e.txt", b"one")
    assert "<b>x" not in page
    assert "_b_x.txt · just now" in text_of(page)


@pytest.mark.slow
async def test_the_newest_are_shown_and_older_ones_behind_a_link(ana: PageChat) -> None:
    await ana.upload("memory/file", "facts", "\n\n".join(f"fact {number} {'x' * 220}" for number in range(25)).encode())
    page = await ana.page("/memory")
    older = page.partition('href="?before=')[2].partition('"')[0]
    assert (page.count('class="memory"'), "fact 24" in page, "fact 0 " in page) == (20, True, False)
    last = await ana.page(f"/memory?before={older}")
    assert ("fact 0 " in last, "fact 24" in last, ">Older<" in last, ">Newest<" in last) == (True, False, False, True)


@pytest.mark.slow
async def test_a_search_shows_the_nearest_first_and_costs_no_link(ana: PageChat) -> None:
    await ana.send("memory/add", {"text": "The stand-up is at half past nine"})
    await ana.send("memory/add", {"text": "Ben brings cake"})
    status, page = await ana.send("memory/search", {"words": "who brings <cake>"})
    found = page.partition('<ol class="memories">')[2]
    assert status == 200
    assert 0 < found.find("Ben brings cake") < found.find("The stand-up")
    assert "Best matches for “who brings <cake>”" in text_of(page)
    assert 'value="who brings &lt;cake&gt;"' in page
    async with ana.session.get(f"{ana.base}{ana.path}/memory/search?words=cake") as followed:
        assert followed.url.path == f"{ana.path}/memory"


@pytest.mark.slow
async def test_a_search_says_when_it_went_by_words_alone(ana: PageChat, index: InMemoryIndex) -> None:
    await ana.send("memory/add", {"text": "Ben brings cake"})
    index.is_away = True
    _, page = await ana.send("memory/search", {"words": "CAKE"})
    said = text_of(page)
    assert "Search by meaning is not available now. These memories contain your words." in said
    assert "Ben brings cake" in said


@pytest.mark.slow
async def test_what_waits_to_be_embedded_is_told(ana: PageChat, index: InMemoryIndex) -> None:
    index.is_away = True
    _, page = await ana.send("memory/add", {"text": "Ben brings cake"})
    assert "Some are not embedded yet, so search cannot find them." in page


@pytest.mark.slow
@pytest.mark.parametrize(
    ("where", "fields", "said"),
    [
        ("search", {"words": "  "}, "Search: write what to look for."),
        ("add", {"text": " "}, "Memory: between 1 and 20,000 characters, not 0."),
        ("forget-all", {"name": "Clark<"}, "To have Clerk forget everything, type its name."),
        ("file", {"file": ""}, "Choose a text file first."),
    ],
)
async def test_a_form_that_cannot_be_used_is_shown_again_with_the_fault(
    ana: PageChat, where: str, fields: dict[str, str], said: str
) -> None:
    await ana.send("memory/add", {"text": "Ben brings cake"})
    status, page = await ana.send(f"memory/{where}", fields)
    assert (status, page.count(said)) == (422, 2)
    assert 'aria-invalid="true"' in page


async def test_a_text_that_is_too_long_is_given_back(ana: PageChat) -> None:
    status, page = await ana.send("memory/add", {"text": "<p>" + "y" * 20_000})
    assert (status, "&lt;p&gt;" + "y" * 20_000 + "</textarea>" in page) == (422, True)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"\xff\xfea\x00b\x00", "notes.txt is not UTF-8 text, so it was not read. Save it as UTF-8."),
        (b"PK\x03\x04\x00", "notes.txt is not UTF-8 text"),
        (b" \n", "notes.txt is empty"),
        (b"y" * 500_001, "notes.txt is larger than 500 KB, so it was not read."),
        (b"y" * 3_000_000, "larger than 2 MB, so nothing was saved."),
    ],
)
async def test_a_file_that_is_no_text_of_some_length_is_refused_with_a_clear_word(
    ana: PageChat, data: bytes, said: str
) -> None:
    status, page = await ana.upload("memory/file", "notes.txt", data)
    assert (status, said in text_of(page)) == (422, True)
    assert await remembered(ana) == []


@pytest.mark.slow
async def test_a_file_is_remembered_in_pieces_under_its_name(ana: PageChat) -> None:
    text = "\ufeff" + "\n\n".join(f"Paragraph {number}. " + "word " * 40 for number in range(4))
    status, page = await ana.upload("memory/file", "notes/plan.txt", text.encode())
    kept = await remembered(ana)
    assert (status, f"Remembered, in {len(kept)} pieces." in page, len(kept) > 3) == (200, True, True)
    assert {memory["source"] for memory in kept} == {"plan.txt"}
    assert kept[0]["text"].startswith("Paragraph 0.")


@pytest.mark.slow
async def test_forgetting_one_asks_first_and_leaves_the_others(ana: PageChat) -> None:
    await ana.send("memory/add", {"text": "one"})
    await ana.send("memory/add", {"text": "two"})
    first = (await remembered(ana))[0]
    page = await ana.page("/memory")
    confirm = page.partition(f'value="{first["id"]}"')[0].rpartition('<details class="danger">')[2]
    assert "<summary>Forget</summary>" in confirm
    status, page = await ana.send("memory/forget", {"memory": first["id"]})
    assert (status, "1 thing forgotten." in page) == (200, True)
    assert [memory["text"] for memory in await remembered(ana)] == ["two"]
    assert (await ana.send("memory/forget", {"memory": first["id"]}))[0] == 404


@pytest.mark.slow
async def test_nothing_is_forgotten_while_the_index_is_away(ana: PageChat, index: InMemoryIndex) -> None:
    await ana.send("memory/add", {"text": "one"})
    index.is_away = True
    one, page = await ana.send("memory/forget", {"memory": (await remembered(ana))[0]["id"]})
    every, _ = await ana.send("memory/forget-all", {"name": "Clerk"})
    assert (one, every, "Nothing was removed: long-term memory cannot be reached." in page) == (409, 409, True)
    assert len(await remembered(ana)) == 1


@pytest.mark.slow
async def test_everything_is_forgotten_once_the_name_was_typed(ana: PageChat) -> None:
    await ana.send("memory/add", {"text": "one"})
    await ana.send("memory/add", {"text": "two"})
    assert (await ana.send("memory/forget-all", {"name": "clark"}))[0] == 422
    assert len(await remembered(ana)) == 2
    status, page = await ana.send("memory/forget-all", {"name": " cLERK "})
    assert (status, "2 things forgotten." in page, "0 memories." in page) == (200, True, True)
    assert await remembered(ana) == []


@pytest.mark.slow
async def test_a_memory_is_not_found_from_another_channel(ana: PageChat) -> None:
    await ana.send("memory/add", {"text": "lighthouse"})
    kept, path = (await remembered(ana))[0], ana.path
    ana.path = path.replace("/general/", "/other/")
    assert (await ana.send("memory/forget", {"memory": kept["id"]}))[0] == 404
    async with ana.session.get(f"{ana.base}{ana.path}/memory") as page:
        assert (page.status, "lighthouse" in text_of(await page.text()).split()) == (404, False)
    async with ana.session.get(f"{ana.base}{ana.path}/memory.jsonl") as export:
        assert export.status == 404
    ana.path = path
    assert len(await remembered(ana)) == 1


@pytest.fixture
async def elsewhere(ana: PageChat, tmp_path: Path) -> PageChat:
    """Ana at the page of an agent that lives in Slack and remembers something."""
    cleo = Actor(id="U1", display="cleo", workspace="T1")
    agent = AgentDraft(name="Slack-Clerk", goals=("x",)).tidied().made(Origin(by=cleo, channel=SLACK), NOON)
    database = SqlDatabase(f"sqlite:///{tmp_path / 'signoff.db'}")
    await in_one_unit(database, lambda work: _add(work, agent))
    await database.close()
    ana.path = f"/c/{SLACK.key}/a/{agent.id}"
    return ana


async def _add(work: UnitOfWork, agent: Agent) -> None:
    work.agents.add(agent)
    work.memories.add(agent, [Memory.of("Cleo likes tea", source="turn 1", at=NOON + timedelta(hours=1), turn=1)])


def _between_main_and_sheet(page: str) -> str:
    """The page without its navigation and without the sheet Settings, where each person has forms."""
    return page.partition("<main")[2].partition('id="keys"')[0]


@pytest.mark.slow
@pytest.mark.proves("page:other-surfaces")
async def test_the_memory_of_an_agent_of_another_surface_can_only_be_looked_at(elsewhere: PageChat) -> None:
    page = _between_main_and_sheet(await elsewhere.page("/memory"))
    assert "Cleo likes tea" in page
    assert "Its team decides on Slack. Here you can only look." in page
    assert "<form" not in page
    assert "<form" not in _between_main_and_sheet(await elsewhere.page())
    assert [memory["text"] for memory in await remembered(elsewhere)] == ["Cleo likes tea"]


@pytest.mark.slow
@pytest.mark.proves("page:other-surfaces")
@pytest.mark.parametrize("where", [*CHANGING, "memory/search", "memory/forget-all"])
async def test_no_form_changes_an_agent_of_another_surface(elsewhere: PageChat, where: str) -> None:
    kept = (await remembered(elsewhere))[0]["id"]
    fields = {"goals": "y", "budget": "1", "text": "z", "words": "tea", "memory": kept, "name": "Slack-Clerk"}
    status, page = await elsewhere.send(where, {"button": "stop:x:1", **fields})
    assert (status, "you may not decide here: its team decides on Slack." in page) == (403, True)
    assert len(await remembered(elsewhere)) == 1


@pytest.mark.slow
@pytest.mark.proves("page:other-surfaces")
@pytest.mark.parametrize("where", ["new", "import", "budget"])
async def test_no_form_changes_a_channel_of_another_surface(elsewhere: PageChat, where: str) -> None:
    channel = f"{elsewhere.base}/c/{SLACK.key}"
    async with elsewhere.session.post(f"{channel}/{where}", data={"budget": "1", "goals": "x"}) as answer:
        assert answer.status == 403
    async with elsewhere.session.get(channel) as page:
        assert "$0 spent, no limit." in await page.text()
