"""Reads that end when their time is over, and slices of a search that end although records are long."""

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest
from sqlalchemy import Select, func, literal, select

from agent_core.model.channels import ChannelScope
from agent_core.model.ids import TurnId
from agent_core.model.result import Succeeded
from agent_core.persistence import text_search
from agent_core.persistence.connections import Connections, TooLong
from agent_core.persistence.file_connections import FileConnections
from agent_core.persistence.server_connections import ServerConnections
from agent_core.ports.database import Database
from agent_core.testing.examples import CHANNEL, a_turn, an_agent, keep

ELSEWHERE = ChannelScope("slack", "T1", "C1")
LONG = "Ж中é слово " * 20_000  # 200,000 characters, as the output of a program may have
MANY = 12


def count_to(number: int) -> Select[int]:
    counted = select(literal(1).label("n")).cte("counted", recursive=True)
    counted = counted.union_all(select(counted.c.n + 1).where(counted.c.n < number))
    return select(func.max(counted.c.n).label("last"))


@pytest.fixture(params=["sqlite_url", "postgres"])
def address(request: pytest.FixtureRequest) -> str:
    return str(request.getfixturevalue(request.param))


@pytest.fixture
async def connections(address: str) -> AsyncIterator[Connections]:
    connections = FileConnections(address) if address.startswith("sqlite") else ServerConnections(address)
    yield connections
    await connections.close()


async def test_a_read_whose_time_is_over_ends_and_the_next_one_is_not_limited(connections: Connections) -> None:
    assert [row.last for row in await connections.rows(count_to(3), {}, 10)] == [3]
    with pytest.raises(TooLong):
        await connections.rows(count_to(20_000_000), {}, 0.1)
    assert [row.last for row in await connections.rows(count_to(100_000), {})] == [100_000]


async def test_a_read_ends_also_if_its_time_is_over_before_it_begins(sqlite_url: str) -> None:
    connections = FileConnections(sqlite_url)
    for _ in range(3):
        with pytest.raises(TooLong):
            await connections.rows(count_to(2_000_000), {}, 0.0)
    await connections.close()


@pytest.mark.slow
@pytest.mark.proves("page:search-bounded")
@pytest.mark.parametrize("word", ["слово", "слова"])
async def test_a_slice_of_long_records_ends_early_and_the_search_goes_on_to_the_last(
    database: Database, word: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(text_search, "SLICE_SECONDS", 0.001)  # no machine reads MANY of these records in it
    agent = an_agent(turns=MANY)
    ids = [TurnId(f"t-{number:02}") for number in range(1, MANY + 1)]
    turns = [a_turn(agent, id=each, number=number, state="done") for number, each in enumerate(ids, 1)]
    oldest, *others = turns
    await keep(database, agent, replace(oldest, result=Succeeded(f"{LONG} слова")))
    await keep(database, *[replace(turn, result=Succeeded(LONG)) for turn in others])
    found, before, most, slices = list[str](), "", 4_000, 0
    async with database.begin() as work:
        while True:
            part = await work.text_search.turns([CHANNEL, ELSEWHERE], [word], before=before, most=most)
            found += [turn.id for turn in part.found]
            slices += 1
            assert part.most <= most
            if not part.up_to:
                break
            assert part.up_to < (before or "u")
            before = part.up_to
    assert slices > 1
    assert found == (ids[::-1] if word == "слово" else ids[:1])
