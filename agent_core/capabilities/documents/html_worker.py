"""Worker program that renders one untrusted file of code or Markdown as HTML without scripts; JSON in, JSON out.

    python -P html_worker.py < {"kind": "markdown", "text": …, "folder": "docs", "files": "/…/files/"}
    python -P html_worker.py < {"kind": "code", "text": …, "name": "a.py"}

`worker_frame.py` runs it. It imports no Signoff code, and opens only files of its libraries. It prints
{"html": …}, with "" for code in no known language, and is killed if it exceeds a limit. The HTML has no script, no
style and no address from which a browser would load anything but the pictures below `files`.
"""

import json
import re
import sys
from collections.abc import Sequence
from contextlib import suppress
from copy import copy
from html import escape
from posixpath import join, normpath
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote

if TYPE_CHECKING:
    from markdown_it.token import Token

MAX_SHOWN_ADDRESS = 200
MAX_NESTING = 20
LINK = re.compile(r"(?:https?://|mailto:)", re.IGNORECASE)
ADDRESS = re.compile(r"[a-z][a-z0-9+.-]*:|//|[\\/]", re.IGNORECASE)  # with a scheme, or from a root
PICTURES = (".png", ".jpg", ".jpeg", ".webp", ".gif")  # no SVG, which can have scripts
HEADINGS = {f"h{level}": f"h{min(level + 1, 6)}" for level in range(1, 7)}  # the page's own heading is the h1
TAGS = {
    *(
        "p",
        "br",
        "hr",
        "h2",
        "h3",
        "h4",
        "h5",
        "h6",
        "blockquote",
        "ul",
        "ol",
        "li",
        "pre",
        "code",
        "em",
        "strong",
        "s",
    ),
    *("table", "thead", "tbody", "tr", "th", "td", "a", "img", "span"),
}
ATTRIBUTES = {
    "*": {"dir"},
    "a": {"href"},
    "img": {"src", "alt", "loading"},
    "ol": {"start"},
    "span": {"class", "role", "aria-label"},
    "td": {"class"},
    "th": {"class"},
}
TASK = re.compile(r"\[([ xX])\](?=\s)")  # at the beginning of an item of a list
TASK_HTML = '<span class="task" role="img" aria-label="{}">{}</span>'
TASK_SIGNS = {" ": ("to do", "☐"), "x": ("done", "☑")}
FIXED_VALUES = {"role": ("img",), "aria-label": tuple(name for name, _ in TASK_SIGNS.values())}
RELATION = "noopener nofollow noreferrer"
END_ALIGNED = "text-align:right"
TEXT_BLOCKS = ("p", "h2", "h3", "h4", "h5", "h6", "blockquote", "ul", "ol", "li", "th", "td")


def code_html(text: str, name: str) -> str:
    """The text of a file with a span for each token, or "" if the language is not known by the name."""
    from pygments.lexers import find_lexer_class_for_filename

    found = find_lexer_class_for_filename(name)
    return "" if found is None or found.name == "Text only" else _coloured(text, found)


def markdown_html(text: str, folder: str, files: str) -> str:
    """CommonMark with tables, as HTML of TAGS and ATTRIBUTES; HTML in the text is shown as text.

    `folder`: the file's folder, from which pictures are named. `files`: the address of the workspace's files.
    """
    import nh3
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", {"html": False, "maxNesting": MAX_NESTING, "highlight": _fence_html})
    parser.enable(["table", "strikethrough"])
    parser.validateLink = lambda url: True  # type: ignore[method-assign]  # `_adapt` decides
    tokens = parser.parse(text)
    _adapt(tokens, folder, files)
    return nh3.clean(
        parser.renderer.render(tokens, parser.options, {}),
        tags=TAGS,
        attributes=ATTRIBUTES,
        attribute_filter=lambda _tag, name, value: _kept(name, value, files),
        url_schemes={"http", "https", "mailto"},
        link_rel=RELATION,
    )


def _kept(name: str, value: str, files: str) -> str | None:
    """The value of an attribute, or None if it may not stay: a second look, whatever the parser made."""
    if name == "href":
        return value if LINK.match(value) else None
    if name in FIXED_VALUES:
        return value if value in FIXED_VALUES[name] else None
    return value if name != "src" or (value.startswith(files) and ".." not in value) else None


def _adapt(tokens: Sequence["Token"], folder: str, files: str) -> None:
    """Lower the headings, let each block have its own direction, and replace links and pictures that may not stay."""
    for place, token in enumerate(tokens):
        if token.type == "th_open" and not tokens[place + 1].content:  # an empty heading would be read out as one
            token.tag = tokens[place + 2].tag = "td"
        token.tag = HEADINGS.get(token.tag, token.tag)
        if token.nesting == 1 and token.tag in TEXT_BLOCKS:
            token.attrSet("dir", "auto")
        if token.attrGet("style") == END_ALIGNED:
            token.attrSet("class", "number")
        if token.type == "link_open" and not LINK.match(str(token.attrGet("href"))):
            token.attrs = {}
        if token.type == "image":
            _adapt_picture(token, folder, files)
        if token.type == "list_item_open" and tokens[place + 1].type == "paragraph_open":
            _mark_task(tokens[place + 2])
        _adapt(token.children or (), folder, files)


def _adapt_picture(token: "Token", folder: str, files: str) -> None:
    """Show a picture of the workspace; of any other, show its text and its address."""
    address = str(token.attrGet("src"))
    path = _path_inside(address, folder)
    if path:
        token.attrs = {"src": f"{files}{quote(path)}", "alt": "", "loading": "lazy"}
        return
    text, shown = token.content, unquote(address)
    shown = shown if len(shown) <= MAX_SHOWN_ADDRESS else f"{shown[:MAX_SHOWN_ADDRESS]}…"
    token.type, token.tag, token.attrs, token.children = "text", "", {}, None
    token.content = f"[picture not loaded: {f'{text} · ' if text else ''}{shown}]"


def _mark_task(inline: "Token") -> None:
    """Show `[ ]` or `[x]` at the beginning of this text of a list as a box with a name."""
    first, *rest = inline.children or (inline,)
    if first.type != "text" or not (box := TASK.match(first.content)):
        return
    if not rest and not first.content[box.end() :].strip():
        return
    sign = copy(first)
    sign.type, sign.content = "html_inline", TASK_HTML.format(*TASK_SIGNS[box[1].lower()])
    first.content = first.content[box.end() :]
    inline.children = [sign, first, *rest]


def _path_inside(address: str, folder: str) -> str:
    """The path in the workspace of a picture that a file of the folder names, or ""."""
    name = unquote(address.partition("?")[0].partition("#")[0])
    path = normpath(join(folder, name))
    if not name or ADDRESS.match(name) or path.startswith(("..", "/")) or "\0" in path:
        return ""
    return path if path.casefold().endswith(PICTURES) else ""


def _fence_html(code: str, language: str, _attributes: str) -> str:
    """The code of a block in a Markdown file."""
    from pygments.lexers import find_lexer_class_by_name
    from pygments.util import ClassNotFound

    with suppress(ClassNotFound):
        if language:
            return _coloured(code, find_lexer_class_by_name(language))
    return escape(code)


def _coloured(text: str, lexer: Any) -> str:
    from pygments import highlight
    from pygments.formatters.html import HtmlFormatter

    return highlight(text, lexer(stripnl=False, ensurenl=False), HtmlFormatter(nowrap=True))


def main() -> None:
    asked = json.loads(sys.stdin.buffer.read())
    match asked["kind"]:
        case "markdown":
            html = markdown_html(asked["text"], asked["folder"], asked["files"])
        case _:
            html = code_html(asked["text"], asked["name"])
    sys.stdout.write(json.dumps({"html": html}))


if __name__ == "__main__":
    main()
