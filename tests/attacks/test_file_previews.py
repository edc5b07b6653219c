"""Attacks by files on the person who opens their page: scripts, foreign addresses, texts that keep a parser busy."""

import html
import re

import pytest

from adapters.web.pages.file_preview import FilePreview, preview_of
from agent_core.capabilities.documents.html_renderer import IsolatedHtmlRenderer
from tests.attacks.rows import attack

pytestmark = pytest.mark.slow

FILES = "/c/web/local/general/a/1/files/"
TEXT, NOWHERE, ADDRESS = "shown as text", "leads nowhere", "not loaded: its address is shown"


async def opened(path: str, text: str) -> FilePreview:
    return await preview_of(path, text.encode(), IsolatedHtmlRenderer(), files=FILES)


def tags(preview: FilePreview) -> str:
    """The tags of the page, without the text between them."""
    return "".join(re.findall(r"<[^>]*>", preview.html))


def tries(what: str, answer: str, text: str) -> object:
    return pytest.param(text, marks=attack("files", what, answer), id=what)


@pytest.mark.proves("files:harmless")
@pytest.mark.parametrize(
    "text",
    [
        tries("A script in Markdown that a person opens on the page", TEXT, "<script>alert(1)</script>"),
        tries("An event handler of a tag in Markdown", TEXT, "x <img src=x onerror=alert(1)> <b onclick=alert(1)>"),
        tries("A frame with another site in Markdown", TEXT, "<iframe src=https://evil.example></iframe>"),
        tries(
            "A style in Markdown that loads from another site", TEXT, "<style>@import 'https://evil.example'</style>"
        ),
        tries(
            "A checkbox in Markdown that is part of the page's form", TEXT, "<input type=checkbox name=press checked>"
        ),
        tries(
            "A form in Markdown that sends a decision", TEXT, "<form action=press><button name=button>x</button></form>"
        ),
    ],
)
async def test_html_in_markdown_is_text(text: str, answer: str) -> None:
    shown = await opened("a.md", text)
    words = html.unescape(re.sub(r"<[^>]*>", "", shown.html)).strip()
    assert (TEXT if words == text and tags(shown) == '<p dir="auto"></p>' else shown.html) == answer


@pytest.mark.proves("files:harmless")
@pytest.mark.parametrize(
    "text",
    [
        tries("A link to a script URL: `javascript:alert(1)`", NOWHERE, "[a](javascript:alert(1))"),
        tries("The same with an entity: `&#106;avascript:alert(1)`", NOWHERE, "[a](&#106;avascript:alert(1))"),
        tries("The same by a reference", NOWHERE, "[a]\n\n[a]: JaVaScRiPt:alert(1)"),
        tries(
            "A link to a page in itself: `data:text/html,…`", NOWHERE, "[a](data:text/html,<script>alert(1)</script>)"
        ),
        tries("A link that decides on this site: `/c/…/press`", NOWHERE, "[a](/c/web/local/general/a/1/press)"),
    ],
)
async def test_a_link_leads_to_the_web_or_nowhere(text: str, answer: str) -> None:
    shown = await opened("a.md", text)
    assert (NOWHERE if "href" not in tags(shown) else shown.html) == answer


@pytest.mark.proves("files:harmless")
@pytest.mark.parametrize(
    "text",
    [
        tries(
            "A picture on another server, which tells it who reads the file",
            ADDRESS,
            "![a](https://evil.example/x.png)",
        ),
        tries("The same without a scheme: `//evil.example/x.png`", ADDRESS, "![a](//evil.example/x.png)"),
        tries(
            "The same inside a link and a table",
            ADDRESS,
            "| x |\n|---|\n| [![a](https://evil.example/x.png)](https://a.b) |",
        ),
        tries("A picture outside the workspace: `../../../x.png`", ADDRESS, "![a](../../../x.png)"),
        tries("The same with escapes: `%2e%2e%2fx.png`", ADDRESS, "![a](%2e%2e%2fx.png)"),
    ],
)
async def test_no_picture_is_loaded_from_outside_the_workspace(text: str, answer: str) -> None:
    shown = await opened("a.md", text)
    is_told = "[picture not loaded: a · " in shown.html and "src" not in tags(shown)
    assert (ADDRESS if is_told else shown.html) == answer


@pytest.mark.proves("files:harmless")
@attack("files", "A drawing (SVG) with a script", "shown as its source")
async def test_a_drawing_is_shown_as_its_source(answer: str) -> None:
    shown = await opened("a.svg", '<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>')
    assert ("shown as its source" if set(re.findall(r"<(\w+)", tags(shown))) == {"span"} else shown.html) == answer


@pytest.mark.proves("files:harmless")
@attack("files", "A character that reverses the text, written as an entity in Markdown", "⟨U+202E⟩")
async def test_a_hidden_character_of_an_entity_is_spelled_out(answer: str) -> None:
    assert (await opened("a.md", "pay &#x202e;me")).html == f'<p dir="auto">pay {answer}me</p>\n'


@pytest.mark.proves("files:harmless")
@attack("files", "A Makefile of 150,000 brackets, on which the highlighter works for minutes", "shown without colours")
async def test_a_text_that_keeps_the_highlighter_busy_is_shown_without_colours(answer: str) -> None:
    text = "(" * 150_000
    assert (
        "shown without colours" if await opened("Makefile.mk", text) == FilePreview(kind="text", text=text) else ""
    ) == answer
