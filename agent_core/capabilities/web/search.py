"""The command google: searches the web."""

from dataclasses import dataclass

from pydantic import BaseModel, Field

from agent_core.ports.web import Search, WebHit
from agent_core.text.lines import one_line
from agent_core.toolset.registry import Command, CommandContext, declare

MAX_HITS = 8
MAX_TITLE_CHARACTERS, MAX_ADDRESS_CHARACTERS, MAX_EXCERPT_CHARACTERS = 200, 500, 400


class SearchArguments(BaseModel):
    """What to look for."""

    query: str = Field(description="query", min_length=1, max_length=500)


@dataclass(frozen=True, slots=True)
class WebSearchCommands:
    """The command google. Its results are untrusted content."""

    search: Search

    async def google(self, given: SearchArguments, _context: CommandContext) -> str:
        """Find titles, addresses and excerpts."""
        hits = await self.search.search(given.query, MAX_HITS)
        return "\n".join(_hit_text(number, hit) for number, hit in enumerate(hits, 1)) or "Nothing was found."

    @property
    def commands(self) -> tuple[Command, ...]:
        return (
            declare(
                SearchArguments,
                self.google,
                label="Search the web",
                risks=("network",),
                category="web",
                synonyms=("search", "web_search", "google_search"),
                aliases={"input": "query", "q": "query", "search": "query"},
                outside=True,
            ),
        )


def _hit_text(number: int, hit: WebHit) -> str:
    lines = (
        one_line(hit.title, MAX_TITLE_CHARACTERS),
        one_line(hit.url, MAX_ADDRESS_CHARACTERS),
        one_line(hit.text, MAX_EXCERPT_CHARACTERS),
    )
    return f"{number}. " + "\n   ".join(lines)
