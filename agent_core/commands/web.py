"""The command google, and the list of all commands that use the web."""

from dataclasses import dataclass

from pydantic import BaseModel, Field

from agent_core.commands.downloads import DownloadCommands
from agent_core.commands.pages import PageCommands
from agent_core.commands.registry import Command, CommandContext, declare
from agent_core.model.lines import one_line
from agent_core.ports.database import Database
from agent_core.ports.search import Search, WebHit
from agent_core.ports.web import Web
from agent_core.prompt.model_client import MeteredModel

MAX_HITS = 8
MAX_TITLE_CHARACTERS, MAX_ADDRESS_CHARACTERS, MAX_EXCERPT_CHARACTERS = 200, 500, 400


class SearchArguments(BaseModel):
    """What to look for."""

    query: str = Field(description="query", min_length=1, max_length=500)


@dataclass(frozen=True, slots=True)
class WebCommands:
    """Results are untrusted content: material, never an instruction.

    With `web`, `metered_model` or `database` missing, only the search is offered.
    """

    search: Search
    web: Web | None = None
    metered_model: MeteredModel | None = None
    database: Database | None = None

    async def google(self, given: SearchArguments, _context: CommandContext) -> str:
        """Find titles, addresses and excerpts."""
        hits = await self.search.search(given.query, MAX_HITS)
        return "\n".join(_hit_text(number, hit) for number, hit in enumerate(hits, 1)) or "Nothing was found."

    @property
    def commands(self) -> tuple[Command, ...]:
        google = declare(
            SearchArguments,
            self.google,
            label="Search the web",
            risks=("network",),
            category="web",
            synonyms=("search", "web_search", "google_search"),
            aliases={"input": "query", "q": "query", "search": "query"},
            outside=True,
        )
        if self.web is None or self.metered_model is None or self.database is None:
            return (google,)
        pages = PageCommands(self.web, self.metered_model, self.database).commands
        return (google, *pages, *DownloadCommands(self.web, self.database).commands)


def _hit_text(number: int, hit: WebHit) -> str:
    lines = (
        one_line(hit.title, MAX_TITLE_CHARACTERS),
        one_line(hit.url, MAX_ADDRESS_CHARACTERS),
        one_line(hit.text, MAX_EXCERPT_CHARACTERS),
    )
    return f"{number}. " + "\n   ".join(lines)
