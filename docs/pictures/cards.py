"""The states of a card, drawn by a running local workspace, and from what Slack and Discord get."""

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from playwright.async_api import Browser, FloatRect, Locator, ViewportSize, expect

from agent_core.model.agent import Acting
from agent_core.persistence.database import SqlDatabase
from agent_core.persistence.schema import upgrade
from agent_core.providers.clock import SystemClock
from agent_core.testing.examples import keep as put
from agent_core.testing.language_model import ScriptedModel
from docs.pictures import block_kit, components
from docs.pictures.scenes import Scene, scenes
from tests.scenario.served import served

HERE = Path(__file__).parent
VIEW = ViewportSize(width=1280, height=900)
EDGE = 6
IN_DISCORD = ("asks", "lease", "done", "rejected")
STILL: dict[str, Any] = {"animations": "disabled", "caret": "hide"}


async def draw_cards(browser: Browser) -> None:
    """Draw every state, in the workspace only those that it would not carry on at once, and in Discord a few."""
    drawn = await scenes(SystemClock().now().replace(hour=14, minute=6))
    await _locally(
        browser, [scene for scene in drawn if not isinstance(scene.agent.status, Acting) and not scene.is_folded]
    )
    await _in_chats(browser, drawn)


async def _locally(browser: Browser, drawn: Sequence[Scene]) -> None:
    with tempfile.TemporaryDirectory() as name:
        await _kept(Path(name), drawn)
        async with served(ScriptedModel(waits=True), Path(name)) as address:
            page = await (await browser.new_context(viewport=VIEW)).new_page()
            for scene in drawn:
                await page.goto(f"{address}/c/web/local/{scene.name}/a/{scene.agent.id}")
                await expect(page.locator("[aria-disabled=true]")).to_have_count(0)  # controls that settle are pale
                seen = page.locator("#thread, #present") if scene.notice else page.locator("article")
                await page.screenshot(path=HERE / f"card-{scene.name}.png", clip=await _around(seen), **STILL)


async def _around(parts: Locator) -> FloatRect:
    """What these parts take of the page, one under another."""
    boxes = [box for part in await parts.all() if (box := await part.bounding_box())]
    top, left = min(box["y"] for box in boxes), min(box["x"] for box in boxes)
    height = max(box["y"] + box["height"] for box in boxes) - top
    return FloatRect(x=left - EDGE, y=top - EDGE, width=boxes[0]["width"] + 2 * EDGE, height=height + 2 * EDGE)


async def _kept(folder: Path, drawn: Sequence[Scene]) -> None:
    url = f"sqlite:///{folder / 'signoff.db'}"
    await upgrade(url)
    database = SqlDatabase(url)
    for scene in drawn:
        await put(database, scene.agent, scene.turn, *([scene.notice] if scene.notice else []))
    await database.close()


async def _in_chats(browser: Browser, drawn: Sequence[Scene]) -> None:
    page = await (await browser.new_context(viewport=VIEW)).new_page()
    for scene in drawn:
        at = f"{scene.turn.proposed_at:%H:%M}"
        await page.set_content(block_kit.page_of(scene.message, at))
        await page.locator("main").screenshot(path=HERE / f"slack-{scene.name}.png")
        if scene.name in IN_DISCORD:
            await page.set_content(components.page_of(scene.in_discord, at))
            await page.locator("main").screenshot(path=HERE / f"discord-{scene.name}.png")
