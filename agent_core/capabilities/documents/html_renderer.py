"""Renders code and Markdown by short-lived worker processes (`html_worker.py`), and keeps the newest pages."""

import asyncio
import json
from collections.abc import MutableMapping
from dataclasses import dataclass, field
from pathlib import Path

from cachetools import LRUCache

from agent_core.capabilities.documents.isolated_worker import read_isolated

WORKER = Path(__file__).with_name("html_worker.py")
TIMEOUT_SECONDS = 10.0  # the worker has a limit of its own, of CPU time
MAX_PARALLEL = 2
MAX_KEPT_PAGES = 16


def _kept_pages() -> LRUCache[bytes, str]:
    return LRUCache(maxsize=MAX_KEPT_PAGES)


@dataclass(frozen=True, slots=True, kw_only=True)
class IsolatedHtmlRenderer:
    """Implements `HtmlRenderer` with Pygments, markdown-it-py and nh3. The newest pages are kept in memory."""

    seconds: float = TIMEOUT_SECONDS
    worker: Path = WORKER
    _slots: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(MAX_PARALLEL), init=False, repr=False)
    _kept: MutableMapping[bytes, str] = field(default_factory=_kept_pages, init=False, repr=False)

    async def render_code(self, name: str, text: str) -> str:
        return await self._render(kind="code", name=name, text=text)

    async def render_markdown(self, text: str, *, folder: str, files: str) -> str:
        return await self._render(kind="markdown", text=text, folder=folder, files=files)

    async def _render(self, **given: str) -> str:
        asked = json.dumps(given).encode()
        async with self._slots:
            if asked not in self._kept:
                answer = await read_isolated(self.worker, given=asked, seconds=self.seconds)
                match answer:
                    case {"html": str(html)}:
                        self._kept[asked] = html
                    case _:
                        self._kept[asked] = ""  # as slow the next time
            return self._kept[asked]
