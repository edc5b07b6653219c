"""Attacks on the time that one request of the local workspace takes from everybody else: the loop is one."""

import re
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from time import process_time
from urllib.parse import quote

import pytest
from aiohttp import ClientSession

from agent_core.model.agent import Agent, Finished
from agent_core.model.command import CommandCall, Preview, Proposal, Succeeded, Thoughts
from agent_core.model.decision import Approval, Approve
from agent_core.model.ids import TurnId, new_id
from agent_core.model.turn import Turn
from agent_core.testing.examples import ANA, NOON, a_turn, an_agent, keep
from agent_core.testing.language_model import ScriptedModel
from agent_core.testing.stage import Stage
from tests.attacks.heartbeat import Heartbeat
from tests.scenario.served import served

pytestmark = pytest.mark.slow

MOST_SPENT = 4  # seconds of all threads; about 2 on two slow cores
MOST_SECONDS = 0.5  # of which a page's first rendering, with its template, takes about 0.2
GRANTED = Approval(ANA, NOON, Approve())
AT_REST = replace(an_agent(), status=Finished("done"))
PATH = "/c/web/local/general/a/agent-ada"


@pytest.fixture
def stages() -> list[Stage]:
    return []


@pytest.fixture
async def base(stages: list[Stage], tmp_path: Path) -> AsyncIterator[str]:
    async with served(ScriptedModel(waits=True), tmp_path, prepared=stages.append) as address:
        yield address


async def longest_gap(base: str, path: str) -> float:
    async with ClientSession() as session:
        await (await session.get(base + "/")).read()  # templates are compiled
        with Heartbeat() as heartbeat:
            async with session.get(base + path) as response:
                await response.read()
                assert response.status == 200
    return heartbeat.longest


def done(agent: Agent, number: int, **changes: object) -> Turn:
    turn = a_turn(agent, id=TurnId(new_id(NOON)), number=number, state="done", approvals=(GRANTED,), shown_as="t/1")
    return replace(turn, **{"result": Succeeded("ok"), **changes})  # type: ignore[arg-type]


@pytest.mark.proves("page:search-bounded")
async def test_a_search_that_finds_long_results_in_another_script_leaves_time_for_others(
    base: str, stages: list[Stage]
) -> None:
    """A result may have 200,000 characters, and excerpts are made of 50 of them."""
    agent, result = replace(AT_REST, turns=50), Succeeded("Ж中é " * 50_000)
    await keep(stages[0].database, agent, *[done(agent, number, result=result) for number in range(1, 51)])
    begun = process_time()
    gap = await longest_gap(base, f"/search?q={quote('ж 中')}")
    spent = process_time() - begun
    assert (gap < MOST_SECONDS, spent < MOST_SPENT) == (True, True), f"{gap:.1f} s"


def rewriting(agent: Agent, number: int) -> Turn:
    lines = [f"line {each} of the report, as it was written in turn" for each in range(100)]
    diff = "\n".join(f"{sign}{line} {number - 1 if sign == '-' else number}" for line in lines for sign in "-+")
    text = "\n".join(f"{line} {number}" for line in lines)
    preview = Preview(title="report.md", body=diff, kind="diff", target="report.md", basis="")
    call = CommandCall("write_to_file", {"filename": "report.md", "text": text})
    proposal = Proposal(thoughts=Thoughts(text="Again."), call=call, preview=preview)
    return done(agent, number, proposal=proposal)


async def test_the_versions_of_a_file_that_was_often_rewritten_leave_time_for_others(
    base: str, stages: list[Stage]
) -> None:
    agent = replace(AT_REST, turns=300)
    await keep(stages[0].database, agent, *[rewriting(agent, number) for number in range(1, 301)])
    assert await longest_gap(base, f"{PATH}/view/report.md?as=versions") < MOST_SECONDS


def with_near_lines(agent: Agent, number: int) -> Turn:
    """A diff of two lines with 195 tokens each, of which few match in order: difflib compares them again and again."""
    old = "始" + "文字" * 97
    new = "末" + "".join("文" if each % 3 else "好" for each in range(195))
    body = f"-{number} {old}\n+{number} {new}"
    preview = Preview(title="report.md", body=body, kind="diff", target="report.md", basis="")
    call = CommandCall("write_to_file", {"filename": "report.md", "text": new})
    return done(agent, number, proposal=Proposal(thoughts=Thoughts(text="Again."), call=call, preview=preview))


async def test_older_versions_are_on_pages_of_their_own(base: str, stages: list[Stage]) -> None:
    agent = replace(AT_REST, turns=45)
    await keep(stages[0].database, agent, *[rewriting(agent, number) for number in range(1, 46)])
    behind, pages, newest = "?as=versions", list[list[str]](), list[bool]()
    async with ClientSession() as session:
        while behind:
            async with session.get(f"{base}{PATH}/view/report.md{behind}") as response:
                page = await response.text()
            pages.append(re.findall(r">Turn (\d+) ·", page))
            newest.append(">Newest</a>" in page)
            behind = "".join(re.findall(r'(\?as=versions&amp;before=[^"]+)">Older', page)).replace("&amp;", "&")
    assert pages == [
        [str(number) for number in numbers] for numbers in (range(45, 25, -1), range(25, 5, -1), range(5, 0, -1))
    ]
    assert newest == [False, True, True]


async def test_a_thread_with_short_diffs_of_repeated_letters_leaves_time_for_others(
    base: str, stages: list[Stage]
) -> None:
    """Difflib compares n × m tokens again for each block that it finds."""
    agent = replace(AT_REST, turns=20)
    await keep(stages[0].database, agent, *[with_near_lines(agent, number) for number in range(1, 21)])
    assert await longest_gap(base, PATH) < MOST_SECONDS


async def test_a_table_of_invisible_characters_leaves_time_for_others(
    base: str, stages: list[Stage], tmp_path: Path
) -> None:
    """Each of 1.8 million characters is spelled out."""
    await keep(stages[0].database, AT_REST)
    folder = tmp_path / "workspaces" / "agent-ada"
    folder.mkdir(parents=True)
    row = ",".join(["\u200b" * 300] * 30)
    (folder / "table.csv").write_text("\n".join([row] * 201), encoding="utf-8")
    assert await longest_gap(base, f"{PATH}/view/table.csv") < MOST_SECONDS


async def test_code_with_one_invisible_character_leaves_time_for_others(
    base: str, stages: list[Stage], tmp_path: Path
) -> None:
    """200,000 characters of code become 5 million of HTML."""
    await keep(stages[0].database, AT_REST)
    folder = tmp_path / "workspaces" / "agent-ada"
    folder.mkdir(parents=True)
    (folder / "a.py").write_text("x=1;" * 49_999 + "#\u200b", encoding="utf-8")
    assert await longest_gap(base, f"{PATH}/view/a.py") < MOST_SECONDS
