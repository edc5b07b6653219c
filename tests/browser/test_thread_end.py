"""The page keeps the end of a thread in view, above the reply box, on a desk and on a phone."""

import pytest
from playwright.async_api import Page, ViewportSize, expect

from agent_core.testing.language_model import ScriptedModel, reply_text
from tests.browser.browsing import BrowserChat, ana_on, open_tab
from tests.patience import PATIENCE_SECONDS
from tests.scenario.chat import writing

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("browser"), pytest.mark.asyncio(loop_scope="session")]
SCREENS = [ViewportSize(width=1280, height=800), ViewportSize(width=390, height=844)]
RESUME, STOP = "#present [value^=resume]", "#top .stop"
IS_ABOVE_BOX = """selector => {
    const { top, bottom } = document.querySelector(selector)?.getBoundingClientRect() || {};
    return top >= 0 && bottom <= document.querySelector("form.reply").getBoundingClientRect().top;
}"""

IS_STILL = """() => {
    const at = scrollY;
    return new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(scrollY === at))));
}"""


ana = ana_on(SCREENS, ["desk", "phone"])


async def comes_above_the_box(page: Page, selector: str) -> None:
    """Wait until the reply box covers no part of the element, without scrolling to it."""
    await page.wait_for_function(IS_ABOVE_BOX, arg=selector, timeout=1000 * PATIENCE_SECONDS)


async def approve(chat: BrowserChat, command: str, times: int = 1) -> None:
    for _ in range(times):
        await (await chat.asks(command)).press("Approve")


async def test_the_thread_of_a_finished_agent_opens_at_resume_and_a_reply_to_it_stays_in_view(
    ana: BrowserChat, model: ScriptedModel
) -> None:
    steps = [writing(f"{number}.md", "one") for number in range(4)]
    model.say(*steps, reply_text("task_complete", {"reason": "Done."}))
    await ana.new_agent("Clerk", "writes", "Write some files")
    await approve(ana, "write_to_file", len(steps))
    await approve(ana, "task_complete")
    await comes_above_the_box(ana.page, RESUME)
    await ana.page.reload()
    await comes_above_the_box(ana.page, RESUME)
    await ana.says("and a pie\n" * 5)
    await comes_above_the_box(ana.page, ".note")
    await comes_above_the_box(ana.page, RESUME)


async def test_stop_is_above_the_reply_box_while_the_agent_thinks_also_after_a_note(
    ana: BrowserChat, model: ScriptedModel
) -> None:
    steps = [writing(f"{number}.md", "one") for number in range(4)]
    model.say(*steps)
    await ana.new_agent("Clerk", "writes", "Write some files")
    await approve(ana, "write_to_file", len(steps))
    await comes_above_the_box(ana.page, STOP)
    await ana.says("the weather is nice")
    await comes_above_the_box(ana.page, ".note")
    await comes_above_the_box(ana.page, ".busy-line")
    await comes_above_the_box(ana.page, STOP)


async def test_who_reads_further_up_stays_there_when_the_agent_goes_on(ana: BrowserChat, model: ScriptedModel) -> None:
    steps = [writing(f"{number}.md", "one") for number in range(4)]
    model.say(*steps)
    await ana.keep_finished_turns_open()
    await ana.new_agent("Clerk", "writes", "Write some files")
    await approve(ana, "write_to_file", len(steps))
    await comes_above_the_box(ana.page, STOP)
    await ana.page.wait_for_function(IS_STILL)
    await ana.page.evaluate("scrollTo({ top: 0, behavior: 'instant' })")
    await ana.page.wait_for_function(IS_STILL)
    model.say(reply_text("do_nothing"))
    await ana.asks("do_nothing")
    await ana.page.wait_for_function(IS_STILL)
    assert await ana.page.evaluate("scrollY") < 20, "only the layout of the header may shift a little"


async def test_the_sign_of_thinking_is_round_beside_a_text_of_several_lines(
    ana: BrowserChat, model: ScriptedModel
) -> None:
    await ana.new_agent("Clerk " * 13, "writes", "Write some files")
    spin = ana.page.locator(".spin")
    for size in ("offsetWidth", "offsetHeight"):
        await expect(spin).to_have_js_property(size, 14)  # asked again if the page replaces it meanwhile


async def test_a_file_that_was_chosen_stays_chosen_while_the_page_changes(
    ana: BrowserChat, model: ScriptedModel
) -> None:
    model.say(writing("a.md", "one"))
    await ana.new_agent("Clerk", "writes", "Write a file")
    card = await ana.asks("write_to_file")
    await open_tab(ana.page, "Files")
    file = {"name": "sun.png", "mimeType": "image/png", "buffer": b"1"}
    await ana.page.get_by_label("Add files").set_input_files(file)  # type: ignore[arg-type]
    await card.press("Approve")  # closes the sheet of a phone
    await open_tab(ana.page, "Files")
    await expect(ana.page.get_by_role("link", name="a.md", exact=True)).to_be_visible()
    await ana.page.get_by_role("button", name="Add", exact=True).click()
    await expect(ana.page.get_by_role("link", name="sun.png", exact=True)).to_be_visible()
    assert await ana.sees("I put “sun.png” (1 byte) into your workspace.")
