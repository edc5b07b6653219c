"""An attack on the time of one search: many turns with long results."""

import sqlite3
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from time import process_time

import pytest

from agent_core.model.command import Succeeded
from agent_core.model.ids import TurnId, new_id
from agent_core.model.turn import Turn
from agent_core.persistence.database import SqlDatabase
from agent_core.persistence.schema import upgrade
from agent_core.service.reading.text_search import TextSearches
from agent_core.testing.examples import CHANNEL, NOON, a_turn, an_agent, keep
from agent_core.testing.files import InMemoryWorkspaces

LONG, SHORT = 600, 1_250
RESULT = "Ж中é слово " * 20_000  # 200,000 characters, as the output of a program may have
MOST_SPENT = 2  # seconds of all threads
AGENT = replace(an_agent(), turns=LONG + SHORT)


def turn(number: int, result: str) -> Turn:
    at = NOON + timedelta(seconds=number)
    return replace(
        a_turn(AGENT, id=TurnId(new_id(at)), number=number, state="done", proposed_at=at), result=Succeeded(result)
    )


def lengthen(path: Path) -> None:
    """Give the oldest turns the text of the first one, in the file itself, because that is fast."""
    with sqlite3.connect(path) as connection:
        long = "(SELECT folded FROM texts WHERE id = (SELECT id FROM turns WHERE number = 1))"
        connection.execute(
            f"UPDATE texts SET folded = {long} WHERE id IN (SELECT id FROM turns WHERE number <= {LONG})"
        )


@pytest.mark.slow
@pytest.mark.proves("page:search-bounded")
async def test_a_search_ends_although_older_turns_have_long_results(tmp_path: Path) -> None:
    path = tmp_path / "signoff.db"
    await upgrade(f"sqlite:///{path}")
    database = SqlDatabase(f"sqlite:///{path}")
    try:
        await keep(
            database, AGENT, *(turn(number, RESULT if number == 1 else "ok") for number in range(1, LONG + SHORT + 1))
        )
        lengthen(path)
        begun = process_time()
        searches = TextSearches(database=database, workspaces=InMemoryWorkspaces())
        await searches.find([CHANNEL], ["слова"])
        spent = process_time() - begun
    finally:
        await database.close()
        path.unlink()
    assert spent < MOST_SPENT, f"{spent:.1f} s"
