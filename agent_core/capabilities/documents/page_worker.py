"""Worker program that extracts main text, links and refreshes from one untrusted web page, after decoding it.

    python -P page_worker.py < {"url": …, "charset": …, "markup": true} and the page

It reads one line of JSON and then the bytes of the page. `worker_frame.py` runs it. It imports no Signoff code, and
opens only files of its libraries. It prints JSON: an object with `title`, `text`, `links`, `leads_to` and `scripted`,
or {"fault": "binary"}. It is killed if it exceeds a limit.
"""

import json
import re
import sys
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING
from urllib.parse import urljoin, urlsplit

if TYPE_CHECKING:
    from resiliparse.parse.html import ElementNode, HTMLTree

MAX_TEXT_CHARACTERS, MAX_TITLE_CHARACTERS = 400_000, 300
MAX_NODES = 50_000
MAX_LINKS, MAX_URL_CHARACTERS, MAX_LABEL_CHARACTERS = 300, 1_000, 120
MIN_MAIN_TEXT_CHARACTERS = 200  # with less, the whole visible text is returned
HIDDEN_SELECTORS = [  # CSS selectors of invisible elements
    "[hidden]",
    "template",
    *(f"[style*='{rule}' i]" for rule in ("display:none", "display: none", "visibility:hidden", "visibility: hidden")),
]
ADDRESSES = {"a": "href", "base": "href", "frame": "src", "iframe": "src"}
MAX_REFRESH_SECONDS = 5  # a page that waits longer is meant to be read
REFRESH = re.compile(r"(?P<seconds>\d{1,4})[\d.]*\s*[;,]\s*(?:url\s*=\s*)?[\"']?(?P<url>[^\"']+)[\"']?", re.IGNORECASE)
BYTE_ORDER_MARKS = ((b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"))
BINARY_MAGIC = (b"\x89PNG", b"GIF8", b"\xff\xd8\xff", b"PK\x03\x04", b"RIFF", b"\x1f\x8b", b"\x7fELF", b"wOF")


def decode(data: bytes, declared: str) -> str:
    """Decode the page by the first that fits: byte order mark, UTF-8, HTTP charset, meta element, detection.

    A declared charset is often wrong, so it is used only if the bytes are valid in it.
    """
    from resiliparse.parse.encoding import bytes_to_str, detect_encoding, map_encoding_to_html5

    for mark, name in BYTE_ORDER_MARKS:
        if data.startswith(mark):
            return data[len(mark) :].decode(name, "replace")
    header = map_encoding_to_html5(declared, fallback_utf8=False) if declared else None
    inside = detect_encoding(data, from_html_meta=True)
    for name in filter(None, ("" if data.isascii() else "utf-8", header, inside)):
        with suppress(UnicodeDecodeError, LookupError):
            return data.decode(name)
    return bytes_to_str(data, detect_encoding(data) or "utf-8", errors="replace")


def read(text: str, url: str, *, markup: bool) -> dict[str, object]:
    if not markup:
        return {"title": "", "text": text[:MAX_TEXT_CHARACTERS], "links": [], "leads_to": "", "scripted": False}
    from resiliparse.parse.html import HTMLTree

    tree = HTMLTree.parse(text)
    found, leads_to = ways_on(tree, url)
    return {
        "title": " ".join((tree.title or "").split())[:MAX_TITLE_CHARACTERS],
        "text": main_text(tree)[:MAX_TEXT_CHARACTERS],
        "links": list(found.items()),
        "leads_to": leads_to,
        "scripted": bool(tree.document and tree.document.query_selector("script")),
    }


def main_text(tree: "HTMLTree") -> str:
    """The main text without menus; all visible text if the main text has less than 200 characters."""
    from resiliparse.extract.html2text import extract_plain_text

    text = extract_plain_text(tree, main_content=True, alt_texts=False, skip_elements=HIDDEN_SELECTORS)
    if len(text) >= MIN_MAIN_TEXT_CHARACTERS:
        return text
    return extract_plain_text(tree, alt_texts=False, noscript=True, skip_elements=HIDDEN_SELECTORS)


def ways_on(tree: "HTMLTree", url: str) -> tuple[dict[str, str], str]:
    """The page's links and frames as absolute URLs, each once, with its first non-empty text, and where it leads on."""
    from resiliparse.parse.html import ElementNode

    start, leads_to, found = url, "", dict[str, str]()
    for node in islice(tree.document or (), MAX_NODES):  # the library's own lists take quadratic time
        if not isinstance(node, ElementNode) or node.tag not in (*ADDRESSES, "meta"):
            continue
        if node.tag == "meta":
            leads_to = leads_to or refreshed_url(node, start)
            continue
        target = absolute_url(start, node.get_attribute(ADDRESSES[node.tag]) or "")
        if target and node.tag == "base":
            start = target
        elif target and (target in found or len(found) < MAX_LINKS):
            found[target] = found.get(target) or label_of(node)
    return found, leads_to


def label_of(node: "ElementNode") -> str:
    """The text of a link, or what a frame is called."""
    said = node.text if node.tag == "a" else f"frame {node.get_attribute('title') or node.get_attribute('name') or ''}"
    return " ".join((said or "").split())[:MAX_LABEL_CHARACTERS]


def refreshed_url(node: "ElementNode", start: str) -> str:
    """Where a meta element leads within five seconds, unless it is for browsers without scripts; or ""."""
    is_refresh = (node.get_attribute("http-equiv") or "").strip().lower() == "refresh"
    found = REFRESH.fullmatch((node.get_attribute("content") or "")[:MAX_URL_CHARACTERS].strip())
    if not is_refresh or not found or int(found["seconds"]) > MAX_REFRESH_SECONDS:
        return ""
    return "" if node.parent and node.parent.tag == "noscript" else absolute_url(start, found["url"])


def absolute_url(start: str, target: str) -> str:
    """An absolute http or https URL without fragment; "" for anything else."""
    try:
        whole = urljoin(start, target.strip()).partition("#")[0] if target.strip() else ""
        parts = urlsplit(whole)
        is_web = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return ""
    return whole if is_web and len(whole) <= MAX_URL_CHARACTERS and whole.isprintable() and " " not in whole else ""


def main() -> None:
    head, _, data = sys.stdin.buffer.read().partition(b"\n")
    request = json.loads(head)
    text = "" if data.startswith(BINARY_MAGIC) else decode(data, request["charset"])
    if (data and not text) or "\0" in text[:10_000]:
        answer: dict[str, object] = {"fault": "binary"}
    else:
        answer = read(text, request["url"], markup=request["markup"])
    sys.stdout.buffer.write(json.dumps(answer, ensure_ascii=False).encode("utf-8", "replace"))


if __name__ == "__main__":
    main()
