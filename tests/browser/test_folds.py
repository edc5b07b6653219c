"""A finished turn is one line after the next decision, and whole again by a click or for who wants it so."""

import re

import pytest
from axe_playwright_python.async_playwright import Axe
from playwright.async_api import ViewportSize, expect

from agent_core.testing.language_model import ScriptedModel
from tests.browser.browsing import IN_A_BROWSER, BrowserChat, ana_on
from tests.scenario.chat import writing

pytestmark = IN_A_BROWSER
SCREENS = [ViewportSize(width=1280, height=800), ViewportSize(width=360, height=740)]


ana = ana_on(SCREENS, ["desk", "phone"])


@pytest.mark.proves("page:folds")
async def test_a_decided_turn_folds_to_one_line_after_the_next_decision(ana: BrowserChat, model: ScriptedModel) -> None:
    model.say(*(writing(f"{name}.md", f"{name} one\n") for name in ("ada", "bob", "cy")))
    await ana.new_agent("Clerk", "writes", "Write a file")
    await (await ana.asks("write_to_file")).press("Approve")
    second = await ana.asks("write_to_file")
    first = ana.page.locator("article:has(.fold)")
    await expect(first).to_have_count(1)
    await expect(first.locator(".outcome")).to_be_visible()  # the last line shows how its result begins
    await second.press("Approve")
    await expect(first).to_have_count(2)
    first = first.first
    line = first.locator("summary").first
    await expect(line).to_have_text(re.compile(r"✓ Write ada\.md \+1 @ana, "))
    assert (await line.bounding_box() or {"height": 0})["height"] <= 90
    await expect(first.locator(".result")).to_be_hidden()
    found = await Axe().run(ana.page)
    assert found.violations_count == 0, found.generate_report()
    await line.click()
    await expect(first.locator(".result")).to_be_visible()
    await (await ana.asks("write_to_file")).press("Reject", reason="Enough")
    # The newest decision stays open while the agent thinks.
    await expect(ana.page.locator("article:has(.fold)")).to_have_count(
        2
    )  # the newest decision stays open while the agent thinks
    await expect(first.locator(".result")).to_be_visible()


async def test_a_turn_that_is_gone_takes_no_buttons_from_the_others(ana: BrowserChat, model: ScriptedModel) -> None:
    model.say(writing("a.md", "one"), writing("b.md", "two"))
    await ana.new_agent("Clerk", "writes", "Write a file")
    await (await ana.asks("write_to_file")).press("Approve")
    asks = await ana.asks("write_to_file")
    await ana.page.route("**/t/*", lambda route: route.fulfill(status=404))  # as of a helper that was deleted
    async with ana.page.expect_event("requestfinished", lambda each: "/t/" in each.url):
        await ana.page.locator("article:has(.fold) summary").first.click()
    await ana.page.evaluate("refresh()")
    await expect(ana.page.locator("#alert")).to_be_empty()
    await asks.press("Approve")


@pytest.mark.proves("page:folds")
async def test_a_link_to_a_folded_turn_opens_it_and_a_browser_may_keep_all_open(
    ana: BrowserChat, model: ScriptedModel
) -> None:
    model.say(*(writing(f"{name}.md", f"{name} one\n") for name in ("ada", "bob", "cy")))
    await ana.new_agent("Clerk", "writes", "Write a file")
    for _ in range(2):
        await (await ana.asks("write_to_file")).press("Approve")
    await ana.asks("write_to_file")
    first = ana.page.locator("article:has(.fold)").first
    await expect(first.locator(".result")).to_be_hidden()
    await ana.page.goto(f"{ana.page.url}#{await first.get_attribute('id')}")
    await ana.page.reload()
    await expect(first.locator(".result")).to_be_visible()
    await ana.page.goto(ana.page.url.partition("#")[0])
    await expect(first.locator(".result")).to_be_hidden()
    await ana.open_settings()
    await ana.page.get_by_label("Keep finished turns open").check()
    await expect(first.locator(".result")).to_be_visible()
    await ana.page.reload()
    await expect(first.locator(".result")).to_be_visible()


@pytest.mark.proves("page:one-list")
async def test_what_ran_under_one_approval_is_one_list_that_names_the_approval_once(
    ana: BrowserChat, model: ScriptedModel
) -> None:
    model.say(*(writing(f"{name}.md", f"{name} one\n") for name in ("ada", "bob", "cy", "dee", "eve", "fay")))
    await ana.new_agent("Clerk", "writes", "Write a file")
    await (await ana.asks("write_to_file")).press("Approve ×5")
    await (await ana.asks("write_to_file")).press("Reject", reason="Enough")
    lines = ana.page.locator("article:has(.fold)")
    await expect(lines).to_have_count(5)
    await expect(lines.nth(0).locator("summary").first).to_contain_text("approved ×5 by @ana")
    for number, name in ((1, "bob"), (2, "cy"), (3, "dee"), (4, "eve")):
        line = lines.nth(number).locator("summary").first
        await expect(line).to_have_text(re.compile(rf"^✓ Write {name}\.md \+1$"))
        above, box = await lines.nth(number - 1).bounding_box(), await lines.nth(number).bounding_box()
        assert above
        assert box
        assert abs(above["y"] + above["height"] - box["y"]) < 1
    found = await Axe().run(ana.page)
    assert found.violations_count == 0, found.generate_report()


@pytest.mark.proves("page:one-entry")
async def test_more_than_five_commands_under_one_approval_fold_to_one_entry_that_opens(
    ana: BrowserChat, model: ScriptedModel
) -> None:
    model.say(*(writing(f"{name}.md", f"{name} one\n") for name in ("ada", "bob", "cy", "dee", "eve", "fay")))
    await ana.new_agent("Clerk", "writes", "Write a file")
    await (await ana.asks("write_to_file")).press("Approve ×10")
    lines, run = ana.page.locator("#thread > article:has(.fold)"), ana.page.locator("#thread > .run")
    await expect(lines).to_have_count(5)
    await expect(run).to_have_count(0)
    model.say(writing("gus.md", "gus one\n"))
    await expect(lines).to_have_count(0)
    title = run.locator("summary").first
    await expect(title).to_have_text(re.compile(r"✓ 6 commands ran · approved ×10 by @ana, \d{1,2}:\d\d"))
    await expect(ana.page.get_by_role("article", name="turn 7")).to_be_visible()
    await expect(run.locator("article").first).to_be_hidden()
    await title.click()
    second = run.locator("article").nth(1)
    await second.locator("summary").first.click()
    await expect(second.locator(".result")).to_be_visible()
    model.say(writing("hal.md", "hal one\n"))
    await expect(title).to_contain_text("7 commands ran")
    await expect(second.locator(".result")).to_be_visible()
    await expect(run.locator("article")).to_have_count(7)
    assert await ana.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    found = await Axe().run(ana.page)
    assert found.violations_count == 0, found.generate_report()


@pytest.mark.proves("page:one-entry")
async def test_a_folded_entry_is_reached_by_keys_and_by_a_link_to_one_of_its_turns(
    ana: BrowserChat, model: ScriptedModel
) -> None:
    names = ("ada", "bob", "cy", "dee", "eve", "fay", "gus")
    model.say(*(writing(f"{name}.md", f"{name} one\n") for name in names))
    await ana.new_agent("Clerk", "writes", "Write a file")
    await (await ana.asks("write_to_file")).press("Approve ×10")
    run = ana.page.locator("#thread > .run")
    await expect(run.locator("summary").first).to_be_focused()  # as the card was on which ana had pressed
    await ana.page.reload()
    await expect(run.locator("summary").first).to_contain_text("6 commands ran")
    await ana.page.keyboard.press("j")
    await expect(run.locator("summary").first).to_be_focused()
    await ana.page.keyboard.press("Enter")
    await ana.page.keyboard.press("j")
    await expect(run.locator("article summary").first).to_be_focused()
    await ana.page.keyboard.press("k")
    await expect(run.locator("summary").first).to_be_focused()
    third = run.locator("article").nth(2)
    address = f"{ana.page.url}#{await third.get_attribute('id')}"
    await ana.page.goto(ana.base)
    await ana.page.goto(address)
    await expect(third.locator(".result")).to_be_visible()
    await expect(run.locator("article").nth(1).locator(".result")).to_be_hidden()
