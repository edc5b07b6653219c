"""The web search port."""

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class WebHit:
    """A search result; `text` is the excerpt that the search engine gave."""

    title: str
    url: str
    text: str


class Search(Protocol):
    """Web search."""

    async def search(self, query: str, most: int) -> tuple[WebHit, ...]:
        """Up to `most` results, best first; raise CommandError with a message without secrets."""
