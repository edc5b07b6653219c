"""The page with every part in every state: accessible, without errors, and nothing wider than the screen.

Layouts are compared, not pictures: the font of code is the system's, so pictures would differ between machines.
"""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from axe_playwright_python.async_playwright import Axe
from playwright.async_api import Browser, ViewportSize

from docs.pictures.design import serving_design
from tests.browser.browsing import IN_A_BROWSER, open_context

pytestmark = IN_A_BROWSER
TOO_WIDE = """cards => cards.filter(card => card.scrollWidth > card.clientWidth + 1 || card.clientHeight < 24).length"""


@pytest_asyncio.fixture(loop_scope="session")
async def design() -> AsyncIterator[str]:
    async with serving_design() as base:
        yield f"{base}/design"


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 360])
async def test_every_part_of_the_page_fits_and_is_accessible(
    browser: Browser, design: str, width: int, theme: str
) -> None:
    size, errors = ViewportSize(width=width, height=900), list[str]()
    page = await (await open_context(browser, viewport=size, color_scheme=theme)).new_page()
    page.on("console", lambda said: errors.append(said.text))
    page.on("pageerror", lambda error: errors.append(str(error)))
    await page.goto(design)
    assert await page.locator(".design > .card").count() > 20
    assert await page.locator(".design .card").evaluate_all(TOO_WIDE) == 0
    assert min(map(len, await page.locator(".design .frame").all_inner_texts())) > 8
    assert await page.evaluate("document.documentElement.scrollWidth") == width
    assert (await Axe().run(page)).response["violations"] == []
    assert errors == []
