"""A program of its own that reads one hostile page: a line of JSON and the page on standard input, JSON comes out.

    python -P page_worker.py < {"url": …, "charset": …, "markup": true} and the page

It limits itself before it reads anything, knows nothing of Signoff and opens no file but those of its own libraries.
It prints {"title", "text", "links", "scripted"}, or {"fault": "binary"}. Whatever takes too much ends it.
"""

import json
import resource
import sys
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING
from urllib.parse import urljoin, urlsplit

if TYPE_CHECKING:
    from resiliparse.parse.html import HTMLTree

MOST_MEMORY = 768 * 2**20
MOST_CPU = 6  # seconds: pages take some milliseconds, those nested 10,000 deep take minutes
MOST_TEXT, MOST_TITLE = 400_000, 300
MOST_NODES = 50_000
MOST_LINKS, LONGEST_LINK, LONGEST_LABEL = 300, 1_000, 120
ENOUGH = 200  # characters: with less than that, what stands around the main text is told too
UNSEEN = [  # what people do not see on the page is no part of it
    "[hidden]",
    "template",
    *(f"[style*='{rule}' i]" for rule in ("display:none", "display: none", "visibility:hidden", "visibility: hidden")),
]
MARKS = ((b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"))
PICTURES = (b"\x89PNG", b"GIF8", b"\xff\xd8\xff", b"PK\x03\x04", b"RIFF", b"\x1f\x8b", b"\x7fELF", b"wOF")


def limit() -> None:
    """Bound memory, time, files and what can be written; what a system does not know is left out."""
    for kind, most in (
        (resource.RLIMIT_AS, MOST_MEMORY),
        (resource.RLIMIT_CPU, MOST_CPU),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_NOFILE, 64),
    ):
        with suppress(ValueError, OSError):
            resource.setrlimit(kind, (most, most))


def decoded(data: bytes, declared: str) -> str:
    """The page's text: by its mark, as UTF-8 where it can be nothing else, as declared, or as its letters suggest.

    What a server declares is wrong often enough that it only counts where it fits.
    """
    from resiliparse.parse.encoding import bytes_to_str, detect_encoding, map_encoding_to_html5

    for mark, name in MARKS:
        if data.startswith(mark):
            return data[len(mark) :].decode(name, "replace")
    header = map_encoding_to_html5(declared, fallback_utf8=False) if declared else None
    inside = detect_encoding(data, from_html_meta=True)
    for name in filter(None, ("" if data.isascii() else "utf-8", header, inside)):
        with suppress(UnicodeDecodeError, LookupError):
            return data.decode(name)
    return bytes_to_str(data, detect_encoding(data) or "utf-8", errors="replace")


def read(text: str, url: str, *, markup: bool) -> dict[str, object]:
    """What the page says."""
    if not markup:
        return {"title": "", "text": text[:MOST_TEXT], "links": [], "scripted": False}
    from resiliparse.parse.html import HTMLTree

    tree = HTMLTree.parse(text)
    return {
        "title": " ".join((tree.title or "").split())[:MOST_TITLE],
        "text": main_text(tree)[:MOST_TEXT],
        "links": links(tree, url),
        "scripted": bool(tree.document and tree.document.query_selector("script")),
    }


def main_text(tree: "HTMLTree") -> str:
    """The main text where there is some, else all that can be seen."""
    from resiliparse.extract.html2text import extract_plain_text

    main = extract_plain_text(tree, main_content=True, alt_texts=False, skip_elements=UNSEEN)
    if len(main) >= ENOUGH:
        return main
    return extract_plain_text(tree, alt_texts=False, noscript=True, skip_elements=UNSEEN)


def links(tree: "HTMLTree", url: str) -> list[tuple[str, str]]:
    """Where the page leads: absolute, each once, with the first text that is not empty."""
    from resiliparse.parse.html import ElementNode

    start, found = url, dict[str, str]()
    for node in islice(tree.document or (), MOST_NODES):  # the library's own lists take ever longer to walk
        if not isinstance(node, ElementNode) or node.tag not in ("a", "base"):
            continue
        target = joined(start, node.get_attribute("href") or "")
        if target and node.tag == "base":
            start = target
        elif target and (target in found or len(found) < MOST_LINKS):
            found[target] = found.get(target) or " ".join((node.text or "").split())[:LONGEST_LABEL]
    return list(found.items())


def joined(start: str, target: str) -> str:
    """An absolute URL of the web, without a fragment; "" for anything else."""
    try:
        whole = urljoin(start, target.strip()).partition("#")[0] if target.strip() else ""
        parts = urlsplit(whole)
        is_web = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return ""
    return whole if is_web and len(whole) <= LONGEST_LINK and whole.isprintable() and " " not in whole else ""


def main() -> None:
    """Read, print."""
    limit()
    head, _, data = sys.stdin.buffer.read().partition(b"\n")
    asked = json.loads(head)
    text = "" if data.startswith(PICTURES) else decoded(data, asked["charset"])
    if (data and not text) or "\0" in text[:10_000]:
        told: dict[str, object] = {"fault": "binary"}
    else:
        told = read(text, asked["url"], markup=asked["markup"])
    sys.stdout.buffer.write(json.dumps(told, ensure_ascii=False).encode("utf-8", "replace"))


if __name__ == "__main__":
    main()
