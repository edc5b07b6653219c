"""The page's scripts: those of others are what their table says, and every one is served and packed."""

import hashlib
import json
import re
from pathlib import Path

from adapters.web.render import HERE

STATIC = HERE / "static"
VENDOR = STATIC / "vendor"
ROOT = HERE.parents[1]
ROW = re.compile(r"^\| (\S+\.js) \| \S+ \| \S+ \| (\S+) \| ([0-9a-f]{64}) \|$", re.MULTILINE)
MOST_LINES = 500  # of our own scripts, without blank lines and comments


def test_the_scripts_of_others_are_those_of_their_table_and_free_to_ship() -> None:
    rows = ROW.findall((VENDOR / "README.md").read_text(encoding="utf-8"))
    assert {name: digest for name, _, digest in rows} == {
        file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in VENDOR.glob("*.js")
    }
    assert {licence for _, licence, _ in rows} == {"0BSD"}


def test_every_script_is_loaded_by_a_page_and_lies_in_a_package_of_the_wheel() -> None:
    pages = "".join(file.read_text(encoding="utf-8") for file in (HERE / "templates").glob("*.html"))
    scripts = {file.relative_to(STATIC).as_posix() for file in STATIC.rglob("*.js")}
    assert scripts == set(re.findall(r'<script src="/static/([^"]+)" defer(?: fetchpriority="low")?></script>', pages))
    assert pages.count("<script") == len(re.findall(r'<script src="/static/', pages)), "no script stands in a page"
    assert re.search(
        r'^packages = \[.*"adapters".*\]$', (ROOT / "pyproject.toml").read_text(encoding="utf-8"), re.MULTILINE
    )


def test_htmx_evaluates_nothing_and_asks_this_server_alone() -> None:
    base = (HERE / "templates/base.html").read_text(encoding="utf-8")
    found = re.search(r"<meta name=\"htmx-config\" content='([^']+)'>", base)
    assert found
    config = json.loads(found[1])
    assert not any(config[name] for name in ("allowEval", "allowScriptTags", "includeIndicatorStyles"))
    assert config["selfRequestsOnly"]
    templates = "".join(file.read_text(encoding="utf-8") for file in (HERE / "templates").glob("*.html"))
    assert not re.search(r"hx-on|hx-vals=.?js:|hx-vars", templates)


def test_our_own_scripts_stay_small() -> None:
    assert sum(count_code(file) for file in STATIC.glob("*.js")) <= MOST_LINES


def count_code(file: Path) -> int:
    """The lines of a script that are neither blank nor a comment."""
    lines = (line.strip() for line in file.read_text(encoding="utf-8").splitlines())
    return sum(not re.match(r"$|//|/?\*", line) for line in lines)
