"""Reads that end when their time is over, and a search that says so."""

from collections.abc import AsyncIterator

import pytest
from sqlalchemy import Select, func, literal, select

from agent_core.model.ids import NoteId
from agent_core.persistence import text_search
from agent_core.persistence.connections import Connections, FileConnections, ServerConnections, TooLong
from agent_core.ports.database import Database
from agent_core.service.reading.text_search import SearchPage, TextSearches
from agent_core.testing.examples import CHANNEL, a_note, an_agent, keep
from agent_core.testing.files import InMemoryWorkspaces


def count_to(number: int) -> Select[int]:
    counted = select(literal(1).label("n")).cte("counted", recursive=True)
    counted = counted.union_all(select(counted.c.n + 1).where(counted.c.n < number))
    return select(func.max(counted.c.n).label("last"))


@pytest.fixture
async def connections(url: str) -> AsyncIterator[Connections]:
    connections = FileConnections(url) if url.startswith("sqlite") else ServerConnections(url)
    yield connections
    await connections.close()


@pytest.mark.slow
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
async def test_a_search_whose_time_is_over_says_so(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_search, "MOST_SECONDS", 0.001)
    ada = an_agent()
    await keep(database, ada, *[a_note(ada, id=NoteId(f"n-{each}"), text="а" * 50_000) for each in range(100)])
    found = await TextSearches(database=database, workspaces=InMemoryWorkspaces()).find([CHANNEL], ["аб"])
    assert found == SearchPage(ended="The search was ended after 0.001 seconds. Choose one channel to search in.")
