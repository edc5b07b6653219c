"""The weight of the page, its first paint, what moves while an agent works, and the words in sight for a decision."""

import asyncio
import gzip
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from statistics import mean, median

from playwright.async_api import Browser, Page, Response, ViewportSize, async_playwright

from agent_core.capabilities.web.browser_pages import chromium
from agent_core.testing.language_model import ScriptedModel
from benchmarks.attention_page import VISIBLE_TEXT
from benchmarks.attention_work import write_note
from tests.browser.browsing import BrowserChat, open_context
from tests.browser.conftest import ARGUMENTS
from tests.scenario.served import served

RESULTS = Path(__file__).parent / "results"
TURNS, PAINTS = 30, 10
DESK = ViewportSize(width=1280, height=800)
MOST_BYTES, MOST_MS, MOST_SHIFT, MOST_WORDS = 150_000, 200.0, 0.02, 200.0
PAINT = """() => new Promise(done => new PerformanceObserver(list => {
    const first = list.getEntriesByName("first-contentful-paint")[0];
    if (first) done(first.startTime);
}).observe({ type: "paint", buffered: true }))"""
# Shifts that follow a person's input at once do not count, as in https://web.dev/articles/cls; here nobody gives any.
WATCH_SHIFTS = """() => {
    window.shifts = [];
    new PerformanceObserver(list => {
        for (const entry of list.getEntries()) if (!entry.hadRecentInput) shifts.push([entry.startTime, entry.value]);
    }).observe({ type: "layout-shift", buffered: true });
}"""
WINDOW_MS, GAP_MS = 5_000, 1_000


def main() -> None:
    RESULTS.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=RESULTS, prefix="page-") as folder:
        figures = asyncio.run(measure(Path(folder)))
    for name, (figure, most) in figures.items():
        text = f"{figure:,.0f}" if most >= 1 else f"{figure:.4f}"
        sys.stdout.write(f"{name:<58}{text:>9} of {most:>9,} · {'met' if figure <= most else 'NOT MET'}\n")


async def measure(folder: Path) -> Mapping[str, tuple[float, float]]:
    """Each figure with the most that is promised."""
    model = ScriptedModel(*map(write_note, range(2 * TURNS)))
    async with served(model, folder) as address, async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=chromium(), args=list(ARGUMENTS))
        watching = await _plain_page(browser)
        shifts, words = await _run(browser, address, watching)
        places = {"inbox": address, "thread": watching.url}
        weights = {name: await _weight(browser, url) for name, url in places.items()}
        places["a line of text, to compare"] = f"{address}/healthz"
        paints = {name: await _first_paint(browser, url) for name, url in places.items()}
        await browser.close()
    return {
        **{f"{name}: bytes with gzip, without fonts": (bytes_, MOST_BYTES) for name, bytes_ in weights.items()},
        **{f"{name}: ms to the first paint, median of {PAINTS}": (ms, MOST_MS) for name, ms in paints.items()},
        f"thread: layout shift in {TURNS} turns that another person approves": (shifts, MOST_SHIFT),
        "thread: words in sight for a decision": (words, MOST_WORDS),
    }


async def _run(browser: Browser, address: str, watching: Page) -> tuple[float, float]:
    """The layout shift on a page that is only looked at, and the words that the one who approves has in sight."""
    ben = BrowserChat(await (await open_context(browser, viewport=DESK)).new_page(), address)
    await ben.new_agent("Clerk", "keeps our notes", f"Write {TURNS} notes")
    card = await ben.asks("write_to_file")
    await watching.goto(ben.page.url)
    await watching.evaluate(WATCH_SHIFTS)
    words = []
    for _ in range(TURNS):
        words.append(await ben.page.evaluate(VISIBLE_TEXT))
        await card.press("Approve")
        card = await ben.asks("write_to_file")
    identity = await card.article.get_attribute("id")
    await watching.locator(f"[id='{identity}']").wait_for()
    return largest_window(await watching.evaluate("shifts")), mean(words)


def largest_window(shifts: list[tuple[float, float]]) -> float:
    """The largest sum of shifts that follow each other within a second, of at most five seconds."""
    largest = total = start = last = 0.0
    for at, value in shifts:
        if at - last > GAP_MS or at - start > WINDOW_MS:
            total, start = 0.0, at
        total, last = total + value, at
        largest = max(largest, total)
    return largest


async def _weight(browser: Browser, url: str) -> int:
    """What a browser that has nothing of the page yet is sent, compressed as a proxy in front would."""
    page = await _plain_page(browser)
    found: list[Response] = []
    page.on("response", lambda each: found.append(each))
    await page.goto(url)
    files = [each for each in found if each.request.resource_type not in ("font", "eventsource")]
    return sum([len(gzip.compress(await each.body())) for each in files])


async def _first_paint(browser: Browser, url: str) -> float:
    found: list[float] = []
    for _ in range(PAINTS):
        page = await _plain_page(browser)
        await page.goto(url)
        found.append(await page.evaluate(PAINT))
        await page.context.close()
    return median(found)


async def _plain_page(browser: Browser) -> Page:
    """A page of a person who comes for the first time. Its clock is the browser's own."""
    return await (await browser.new_context(viewport=DESK)).new_page()


if __name__ == "__main__":
    main()
