"""Code and Markdown as HTML for people: what is rendered, and hostile files."""

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agent_core.capabilities.documents.html_renderer import IsolatedHtmlRenderer
from agent_core.capabilities.documents.html_worker import ATTRIBUTES, TAGS, markdown_html

FILES = "/c/web/local/general/a/1/files/"
PIECES = (
    *(
        "[a](",
        ")",
        "![a](",
        "javascript:alert(1)",
        "data:text/html,x",
        "//evil.example",
        "https://ok.example",
        "<",
        ">",
    ),
    *(
        '"',
        "'",
        "<script>",
        "<img src=x onerror=alert(1)>",
        "onerror=",
        "`",
        "```\n",
        "\n\n",
        "|",
        "|-|\n",
        "*",
        "[x]: ",
    ),
    *("- [ ] ", "- [x] ", "1. [X] "),
    *("&#106;avascript:", "&quot;", "\\", "../../", "a.png", "<a:b onclick=c>", "\u202e", "svg", "%2e%2e/"),
)


class Found(HTMLParser):
    """The tags of HTML with their attributes."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str]]] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, {name: value or "" for name, value in attrs}))


def faults(html: str) -> list[object]:
    """What no rendered page may have: other tags, handlers, or addresses that are loaded or lead elsewhere."""
    found: list[object] = []
    for tag, attributes in Found(html).tags:
        allowed = {*ATTRIBUTES["*"], *ATTRIBUTES.get(tag, ()), *(["rel"] if tag == "a" else [])}
        found += [] if tag in TAGS else [tag]
        found += [name for name in attributes if name not in allowed]
        found += [] if re.match(r"(?i)https?://|mailto:|$", attributes.get("href", "")) else [attributes]
        source = attributes.get("src", FILES)
        found += [] if source.startswith(FILES) and ".." not in source else [attributes]
        found += [] if tag != "span" or attributes.get("role", "img") == "img" else [attributes]
        found += [] if attributes.get("aria-label", "done") in ("done", "to do") else [attributes]
        found += [] if tag != "a" or attributes.get("rel") == "noopener nofollow noreferrer" else [attributes]
    return found


@pytest.mark.proves("files:harmless")
@pytest.mark.parametrize(
    "text",
    [
        "<script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        "<svg onload=alert(1)>",
        "<iframe src=https://evil.example></iframe>",
        "[a](javascript:alert(1)) [b](JaVaScRiPt:alert(1)) [c](&#106;avascript:alert(1)) [d](\x01javascript:alert(1))",
        "[a](data:text/html,<script>alert(1)</script>) [b](vbscript:x) [c](//evil.example) [d](/enter?to=/)",
        "<javascript:alert(1)> <data:text/html,x> <https://ok.example>",
        '[a](https://ok.example/"onclick="alert(1)) [b](<https://ok.example/" onclick=alert(1)>)',
        '![a](https://evil.example/x.png "t") ![b](//evil.example/x.png) ![c](data:image/png;base64,AAAA)',
        "![a](../../../files/x.png) ![b](/etc/x.png) ![c](%2e%2e/%2e%2e/x.png) ![d](..%5c..%5cx.png) ![e](x.svg)",
        '![a" onerror="alert(1)](x.png) ![a](x.png" onerror="alert(1))',
        "[![a](https://evil.example/x.png)](javascript:alert(1))",
        "> " * 500 + "<b onclick=alert(1)>deep</b>",
        "[x]\n\n[x]: javascript:alert(1) 'title'",
        "| <script> |\n|---|\n| [a](javascript:x) |",
        '```"><script>alert(1)</script>\ncode\n```',
        "<style>*{background:url(https://evil.example)}</style> <base href=https://evil.example>",
    ],
)
def test_hostile_markdown_has_no_script_and_no_foreign_address(text: str) -> None:
    assert faults(markdown_html(text, "docs", FILES)) == []


@pytest.mark.slow
@pytest.mark.proves("files:harmless")
@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.sampled_from(PIECES), max_size=12).map("".join))
def test_no_combination_of_hostile_pieces_gets_through(text: str) -> None:
    assert faults(markdown_html(text, "", FILES)) == []


@pytest.mark.slow
async def test_markdown_is_rendered_with_tables_pictures_of_its_folder_and_the_direction_of_each_block() -> None:
    text = "# Plan\n\nمرحبا **بكم**\n\n| a | b |\n|---|--:|\n| 1 | 2 |\n\n![sun](pics/sun%20one.png)\n[x](mailto:a@b.c)"
    html = await IsolatedHtmlRenderer().render_markdown(text, folder="docs", files=FILES)
    assert '<h2 dir="auto">Plan</h2>' in html
    assert '<p dir="auto">مرحبا <strong>بكم</strong></p>' in html
    assert '<td dir="auto" class="number">2</td>' in html
    assert f'<img src="{FILES}docs/pics/sun%20one.png" alt="sun" loading="lazy">' in html
    assert '<a href="mailto:a@b.c" rel="noopener nofollow noreferrer">x</a>' in html


@pytest.mark.slow
async def test_tasks_of_a_list_are_boxes_with_a_name() -> None:
    text = "- [ ] write *it*\n- [x] مراجعة\n- [X]\n- [X] `code`\n- [y] z\n\n1. [ ] loose\n\n2. b\n\n[ ] no item\n"
    html = await IsolatedHtmlRenderer().render_markdown(text, folder="", files=FILES)
    to_do = '<span class="task" role="img" aria-label="to do">☐</span>'
    done = '<span class="task" role="img" aria-label="done">☑</span>'
    assert f'<li dir="auto">{to_do} write <em>it</em></li>' in html
    assert f'<li dir="auto">{done} مراجعة</li>' in html
    assert f'<li dir="auto">[X]</li>\n<li dir="auto">{done} <code>code</code></li>\n<li dir="auto">[y] z</li>' in html
    assert f'<p dir="auto">{to_do} loose</p>' in html
    assert '<p dir="auto">[ ] no item</p>' in html


@pytest.mark.slow
async def test_an_empty_heading_of_a_table_is_a_cell() -> None:
    html = await IsolatedHtmlRenderer().render_markdown("| | b |\n|-|-|\n| 1 | 2 |", folder="", files=FILES)
    assert re.findall(r"<t[hd][^>]*>[^<]*</t[hd]>", html)[:2] == ['<td dir="auto"></td>', '<th dir="auto">b</th>']


@pytest.mark.slow
async def test_a_picture_elsewhere_becomes_its_text_and_its_address() -> None:
    html = await IsolatedHtmlRenderer().render_markdown("![sun](https://x.example/y.png)", folder="", files=FILES)
    assert html == '<p dir="auto">[picture not loaded: sun · https://x.example/y.png]</p>\n'


@pytest.mark.slow
async def test_code_is_coloured_by_the_language_of_its_name_and_keeps_every_character() -> None:
    renderer = IsolatedHtmlRenderer()
    html = await renderer.render_code("a.py", "\n\n\tx = '<b>'  \n\n")
    assert (
        html == """\n\n\t<span class="n">x</span> <span class="o">=</span> <span class="s1">'&lt;b&gt;'</span>  \n\n"""
    )
    assert await renderer.render_code("notes.txt", "x = 1") == ""
    assert await renderer.render_code("a.unknown", "x = 1") == ""


@pytest.mark.slow
async def test_a_text_that_keeps_the_worker_busy_is_given_up(tmp_path: Path) -> None:
    worker = tmp_path / "busy.py"
    worker.write_text("while True: pass\n")
    assert await IsolatedHtmlRenderer(worker=worker, seconds=0.2).render_code("a.py", "x") == ""
    (tmp_path / "broken.py").write_text("raise ValueError\n")
    assert await IsolatedHtmlRenderer(worker=tmp_path / "broken.py").render_markdown("x", folder="", files=FILES) == ""
