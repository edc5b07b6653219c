"""A storage of files that accepts a request and does not answer: a search ends all the same."""

import asyncio
from dataclasses import dataclass
from typing import cast

import pytest

from agent_core.model.agent import Agent
from agent_core.model.files import FileEntry
from agent_core.service.reading.text_search import TextSearches
from agent_core.testing.database import TemporaryDatabase
from agent_core.testing.examples import CHANNEL, a_turn, an_agent, keep
from agent_core.testing.files import InMemoryFiles, InMemoryWorkspaces

PROMISED_SECONDS, MARGIN_SECONDS = 1, 9


@dataclass(frozen=True)
class SilentFiles:
    """The files of an agent on an S3 server that is silent. A request to a real one takes 60 seconds then."""

    async def list_files(self, _folder: str = "") -> tuple[FileEntry, ...]:
        """Never answer."""
        await asyncio.Event().wait()
        return ()


class SilentWorkspaces(InMemoryWorkspaces):
    """Folders of silent files."""

    def of(self, agent: Agent) -> InMemoryFiles:
        return cast("InMemoryFiles", SilentFiles())


@pytest.mark.slow
@pytest.mark.proves("page:search-bounded")
async def test_a_search_ends_although_the_storage_of_files_does_not_answer() -> None:
    database = TemporaryDatabase()
    await keep(database, an_agent(), a_turn(an_agent()))
    searches = TextSearches(database=database, workspaces=SilentWorkspaces())
    async with asyncio.timeout(PROMISED_SECONDS + MARGIN_SECONDS):
        found = await searches.find([CHANNEL], ["poem"])
    assert len(found.entries) == 1
