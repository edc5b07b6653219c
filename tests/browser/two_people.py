"""Two people at one page: what Ana sees and sends while Ben decides."""

from playwright.async_api import Browser, Locator, expect

from agent_core.testing.language_model import ScriptedModel
from tests.browser.browsing import BrowserChat
from tests.browser.test_keys import open_card
from tests.scenario.chat import writing

TEXT_IS_OVER = "() => performance.now() - Math.max(typedAt, lostAt) >= LOSS_MS"  # keys decide again
# Presses a key as soon as the page knows that somebody else decided the card which the key would have been for.
PRESS_WHEN_LOST = """key => {
    window.hasPressed = false;
    const timer = setInterval(() => {
        if (lostAt < 0) return;
        clearInterval(timer);
        document.activeElement.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
        window.hasPressed = true;
    }, 5);
}"""
OVER = "That card does not ask you any more. Nothing was done."


async def visit(browser: Browser, address: str, name: str, height: int = 720) -> BrowserChat:
    """The page of a person whose clock goes as it does for people. `height`: of the window, in pixels."""
    context = await browser.new_context(viewport={"width": 1280, "height": height})
    chat = BrowserChat(await context.new_page(), address)
    await chat.call_me(name)
    return chat


async def decide(ben: BrowserChat, name: str) -> None:
    await ben.page.goto(ben.base)
    await (await open_card(ben, name)).get_by_role("button", name="Approve", exact=True).click()


async def press_when_lost(chat: BrowserChat, key: str) -> None:
    """Have the key pressed within the moment in which it may still be for the card that somebody else decides."""
    await chat.page.evaluate(PRESS_WHEN_LOST, key)


async def expect_nothing_done(chat: BrowserChat, sent: list[str]) -> None:
    """The key was pressed, sent nothing, and the page says why."""
    await chat.page.wait_for_function("() => window.hasPressed")
    await expect(hint(chat)).to_have_text(OVER)
    assert sent == []


async def start_one_turn(ana: BrowserChat, model: ScriptedModel) -> None:
    model.say(writing("one.md", "one"))
    await ana.new_agent("Ada", "writes", "Write a file")
    await ana.asks("write_to_file")


def sent_by(chat: BrowserChat) -> list[str]:
    addresses: list[str] = []
    chat.page.on("request", lambda request: addresses.append(request.url) if request.method == "POST" else None)
    return addresses


def asking(chat: BrowserChat, text: str) -> Locator:
    """Cards that wait for a decision and show this text."""
    return chat.page.locator("article.card.open", has_text=text)


def hint(chat: BrowserChat) -> Locator:
    return chat.page.locator("#hint")
