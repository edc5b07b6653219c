"""Agents' files in a browser: the page of a file, its versions, and files that are chosen, dropped or pasted."""

import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Literal
from urllib.parse import quote

import pytest
import pytest_asyncio
from axe_playwright_python.async_playwright import Axe
from playwright.async_api import Browser, FilePayload, ViewportSize, expect

from agent_core.testing.language_model import ScriptedModel
from tests.browser.browsing import IN_A_BROWSER, BrowserChat, open_context, open_tab
from tests.scenario.chat import writing

pytestmark = IN_A_BROWSER
SCREENS = [ViewportSize(width=1280, height=800), ViewportSize(width=360, height=740)]
TEXT = """# A plan

| string | price |
|---|--:|
| one | 1 |

> quoted

- [ ] to be done
- [x] **done**
- no task

```python
@cached
def f(a: int = 12) -> str:  # comment
    return f"{a}" if a else None
```

مرحبا **بالعالم** <b>!</b>
"""
CODE = """'''Docs.'''
import os

@cached
class Person(Base):
    name: str = "x" + r'y\\d'  # comment

    def age(self) -> float:
        raise ValueError(f"no {self!r}\\n", 0x1F, 2.5, None, not True)
"""
ARABIC = "مرحبا بالعالم الجميل اليوم\n"
FILES = {
    "plan.md": TEXT,
    "a.py": CODE,
    "page.html": "<!doctype html>\n<p class='x'>&amp; text <!-- note --></p>\n<script>let x = 1.5;</script>\n",
    "a.diff": "--- a\n+++ b\n@@ -1 +1 @@\n-one\n+two\n",
    "data.csv": "الاسم,age\nعلي,30\n=1+1\n" + "x," * 40,
    "تقرير.txt": ARABIC,
}
DROP = """([files, kind]) => {
  const transfer = new DataTransfer();
  for (const [name, size] of files) transfer.items.add(new File([new Uint8Array(size)], name, { type: "image/png" }));
  const place = kind === "paste" ? document.getElementById("reply") : document.body;
  const event = kind === "paste"
    ? new ClipboardEvent("paste", { clipboardData: transfer, bubbles: true, cancelable: true })
    : new DragEvent(kind, { dataTransfer: transfer, bubbles: true, cancelable: true });
  return !place.dispatchEvent(event);
}"""


@pytest_asyncio.fixture(loop_scope="session", params=SCREENS, ids=["desk", "phone"])
async def ana(
    browser: Browser, address: str, model: ScriptedModel, request: pytest.FixtureRequest
) -> AsyncIterator[BrowserChat]:
    """Ana, on the thread of an agent that asks to change a file."""
    model.say(writing("تقرير.txt", ARABIC), writing("تقرير.txt", ARABIC.replace("الجميل", "الكبير")))
    chat = BrowserChat(await (await open_context(browser, viewport=request.param)).new_page(), address)
    await chat.call_me("ana")
    await chat.new_agent("Clerk", "writes", "Write a file")
    await (await chat.asks("write_to_file")).press("Approve")
    await chat.asks("write_to_file")
    yield chat


async def hands_over(chat: BrowserChat, kind: str, files: dict[str, int]) -> bool:
    """Drop or paste files of these sizes; the answer tells whether the page took them."""
    return bool(await chat.page.evaluate(DROP, [list(files.items()), kind]))


async def axe_passes(chat: BrowserChat) -> None:
    found = await Axe().run(chat.page)
    assert found.violations_count == 0, f"{chat.page.url}\n{found.generate_report()}"


@pytest.mark.proves("page:accessible")
@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_the_pages_of_files_have_no_fault_that_axe_finds_and_nothing_to_scroll_sideways(
    ana: BrowserChat, scheme: Literal["light", "dark"]
) -> None:
    await ana.page.emulate_media(color_scheme=scheme)
    thread = ana.page.url
    await axe_passes(ana)  # with what changed inside a line, on the open card
    files = [FilePayload(name=name, mimeType="", buffer=text.encode()) for name, text in FILES.items()]
    await open_tab(ana.page, "Files")
    await ana.page.get_by_label("Add files").set_input_files(files)
    await ana.page.get_by_role("button", name="Add", exact=True).click()
    await expect(ana.page.locator("#thread .note", has_text="into your workspace")).to_have_count(len(FILES))
    for behind in (*map(quote, FILES), "plan.md?as=source", f"{quote('تقرير.txt')}?as=versions"):
        await ana.page.goto(f"{thread}/view/{behind}")
        await axe_passes(ana)
        assert await ana.page.evaluate("document.documentElement.scrollWidth <= innerWidth"), behind


@pytest.mark.proves("files:versions")
async def test_a_files_page_is_reached_from_the_panel_and_leads_to_its_versions_and_turns(ana: BrowserChat) -> None:
    await open_tab(ana.page, "Files")
    await ana.page.get_by_role("link", name="تقرير.txt", exact=True).last.click()
    await expect(ana.page.get_by_role("heading", name="تقرير.txt")).to_be_visible()
    await expect(ana.page.locator("pre")).to_have_text(ARABIC)
    async with ana.page.expect_download() as download:
        await ana.page.get_by_role("link", name="Download").click()
    assert await (await download.value).path() is not None
    assert (await download.value).suggested_filename == "تقرير.txt"
    await ana.page.get_by_role("link", name="Versions").click()
    await ana.page.get_by_role("link", name="Turn 1 · write_to_file").click()
    await expect(ana.page.get_by_role("heading", name="Write تقرير.txt")).to_be_visible()


async def test_an_open_page_of_a_file_follows_the_agent(ana: BrowserChat) -> None:
    shown = await ana.page.context.new_page()
    await shown.goto(f"{ana.page.url}/view/{quote('تقرير.txt')}")
    await expect(shown.locator("pre")).to_have_text(ARABIC)
    await ana.page.locator("article.open").get_by_role("button", name="Approve", exact=True).click()
    await expect(shown.locator("pre")).to_have_text(ARABIC.replace("الجميل", "الكبير"))


@pytest.mark.proves("page:inside-lines")
async def test_what_changed_inside_a_line_stands_out_by_more_than_its_colour(ana: BrowserChat) -> None:
    card = ana.page.locator("article.open")
    await expect(card.locator("del")).to_have_text("الجميل")
    await expect(card.locator("ins")).to_have_text("الكبير")
    lines = [
        await card.locator(tag).evaluate("each => getComputedStyle(each).textDecorationLine") for tag in ("del", "ins")
    ]
    assert lines == ["line-through", "underline"]


@pytest.mark.proves("files:dropped")
async def test_files_are_dropped_anywhere_on_the_page_and_each_refusal_is_told(ana: BrowserChat) -> None:
    assert await hands_over(ana, "dragover", {"a.bin": 1})
    await expect(ana.page.get_by_text("Drop files here to give them to Clerk. Up to 20 MB each.")).to_be_visible()
    await axe_passes(ana)
    assert await hands_over(ana, "drop", {"a.bin": 1, "big.bin": 20 * 2**20 + 1, "b.bin": 2**20})
    await expect(ana.page.locator("#hint")).to_have_text("Not added: folders, and files larger than 20 MB.")
    await expect(ana.page.get_by_text("Drop files here")).to_be_hidden()
    await expect(ana.page.locator("[data-tab=files] .files")).to_contain_text("b.bin")
    await expect(ana.page.locator("article.open").get_by_role("button", name="Approve", exact=True)).to_be_visible()
    await axe_passes(ana)


@pytest.mark.proves("files:dropped")
async def test_a_picture_is_pasted_into_the_reply_box_and_what_the_server_refuses_is_told(
    ana: BrowserChat, tmp_path: Path
) -> None:
    assert await hands_over(ana, "paste", {"image.png": 10})
    await expect(ana.page.locator("[data-tab=files] .files")).to_contain_text("image.png")
    folder = next(tmp_path.glob("workspaces/*/image.png")).parent  # noqa: ASYNC240
    for number in range(2_000):
        (folder / f"{number}").touch()
    assert await hands_over(ana, "paste", {"image.png": 10})
    await expect(ana.page.locator("#alert")).to_have_text(re.compile("^image.png was not taken: .*at most 2,000 files"))
    assert not await hands_over(ana, "paste", {})  # a text is left to the box


async def test_without_scripts_several_files_are_added_and_shown(browser: Browser, ana: BrowserChat) -> None:
    screen = ana.page.viewport_size
    plain = await (await browser.new_context(viewport=screen, java_script_enabled=False)).new_page()
    await plain.goto(ana.page.url)
    await open_tab(plain, "Files")
    names = ("one.md", "two.txt")
    await plain.get_by_label("Add files").set_input_files(
        [FilePayload(name=name, mimeType="", buffer=b"# Hi") for name in names]
    )
    await plain.get_by_role("button", name="Add", exact=True).click()
    await open_tab(plain, "Files")
    await plain.get_by_role("link", name="one.md", exact=True).last.click()
    await expect(plain.get_by_role("heading", name="Hi", exact=True)).to_be_visible()
