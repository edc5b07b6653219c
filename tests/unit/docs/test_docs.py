"""The pages say what is so: links lead somewhere, generated pages are new, what they print was printed."""

import os
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.__main__ import COMMANDS
from bot.solo import options_parser
from docs.reference.generate import PAGE, commands_page
from docs.reference.oversight_page import OVERSIGHT_PAGE, oversight_page
from docs.reference.plugin_page import PLUGIN_PAGE, plugin_page
from tests.attacks.rows import PAGE as ATTACKS
from tests.behaviours import PROMISES

ROOT = Path(__file__).parents[3]
DOCS = ROOT / "docs"
PAGES = sorted([*ROOT.glob("*.md"), *DOCS.rglob("*.md"), *ROOT.glob("benchmarks/*.md"), *ROOT.glob("examples/*/*.md")])
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
PICTURE = re.compile(r"!\[([^\]]*)\]\(([^)\s]+)\)")
FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
MODULE = re.compile(r"`([\w./*-]+\.py)`")
HISTORY = DOCS / "explanation" / "decisions"
SOURCES = ("adapters", "agent_core", "benchmarks", "bot", "docs", "examples", "tests")
CLOCK = re.compile(r"\d\d:\d\d UTC")
MOST_BYTES = 250_000


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


def text_of(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def links_of(page: Path) -> Iterator[tuple[Path, str]]:
    for address in LINK.findall(FENCED.sub("", text_of(page))):
        if not re.match(r"[a-z]+:", address):
            path, _, anchor = address.partition("#")
            yield (page.parent / path).resolve() if path else page, anchor


def anchors_of(page: Path) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", FENCED.sub("", text_of(page)), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def block_after(page: Path, mark: str) -> list[str]:
    _, _, rest = text_of(page).partition(mark)
    return rest.split("```")[1].splitlines()[1:]


def stands_in(shown: list[str], printed: str) -> str:
    """What is shown but was not printed there: … stands for lines left out."""
    at = 0
    for part in "\n".join(shown).split("…\n"):
        piece = part.removesuffix("\n…").strip("\n")
        found = printed.find(piece, at)
        if found < 0:
            return piece
        at = found + len(piece)
    return ""


def printed_by(command: list[str], typed: list[str], folder: Path) -> str:
    kept = {name: text for name, text in os.environ.items() if not name.startswith("OPENAI_")}
    own = {"SIGNOFF_HOME": str(folder / "home"), "LOGNAME": "ana", "COLUMNS": "88", "PYTHONUTF8": "1"}
    done = subprocess.run(
        [sys.executable, *command],
        cwd=folder,
        env={**kept, **own, "PYTHONPATH": str(ROOT)},
        input="".join(f"{line}\n" for line in typed),
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_link_leads_somewhere(page: Path) -> None:
    links = list(links_of(page))
    assert [str(target) for target, _ in links if not target.exists()] == []
    assert [f"{target.name}#{anchor}" for target, anchor in links if anchor and anchor not in anchors_of(target)] == []


# What a reader of "Add a surface" and "Add a memory index" makes.
NOT_YET_THERE = re.compile(r"\birc\b|irc_|_irc|qdrant_index")


@pytest.mark.parametrize("page", [page for page in PAGES if HISTORY not in page.parents], ids=name_of)
def test_every_module_that_a_page_names_is_a_file_of_the_repository(page: Path) -> None:
    named = set(MODULE.findall(FENCED.sub("", text_of(page))))
    sources = [path.relative_to(ROOT) for top in SOURCES for path in (ROOT / top).rglob("*.py")]
    named = {path for path in named if not NOT_YET_THERE.search(path)}
    assert sorted(path for path in named if not any(source.match(path) for source in sources)) == []


def test_every_page_can_be_reached_from_the_first() -> None:
    found, left = set[Path](), [ROOT / "README.md"]
    while left:
        page = left.pop()
        if page not in found and page.suffix == ".md":
            found.add(page)
            left += [target for target, _ in links_of(page)]
    assert sorted(map(name_of, {*PAGES} - found)) == []


def test_every_picture_is_used_described_and_small() -> None:
    used = {(page.parent / path).resolve(): said for page in PAGES for said, path in PICTURE.findall(text_of(page))}
    drawn = [*DOCS.glob("pictures/*.png"), *DOCS.glob("pictures/*.svg")]
    assert set(used) == set(drawn)
    assert all(used.values())
    assert {path.name: path.stat().st_size for path in drawn if path.stat().st_size > MOST_BYTES} == {}


def test_the_reference_of_commands_is_as_the_registry_says() -> None:
    assert text_of(PAGE) == commands_page(), "Run `python -m docs.reference.generate`."
    assert text_of(PLUGIN_PAGE) == plugin_page(), "Run `python -m docs.reference.generate`."
    assert text_of(OVERSIGHT_PAGE) == oversight_page(), "Run `python -m docs.reference.generate`."


@pytest.mark.slow
def test_the_table_of_attacks_is_as_the_tests_say() -> None:
    asked = [sys.executable, "-m", "tests.attacks.rows", "--print"]
    done = subprocess.run(asked, cwd=ROOT, capture_output=True, encoding="utf-8", check=True)
    assert text_of(ATTACKS) == done.stdout, "Run `python -m tests.attacks.rows`."


def test_the_command_line_is_described_whole() -> None:
    page = text_of(DOCS / "reference" / "cli.md")
    options = set(re.findall(r"--[a-z]+", options_parser().format_help()))
    assert {command for command in COMMANDS if f"| `{command}` |" not in page} == set()
    assert {option for option in options if f"| `{option}" not in page} == set()
    assert set(re.findall(r"^\| `(--[a-z]+)", page, re.MULTILINE)) == options


def test_every_word_of_the_glossary_is_used_in_code() -> None:
    sources = "\n".join(
        path.read_text(encoding="utf-8")
        for top in ("bot", "adapters", "agent_core")
        for path in (ROOT / top).rglob("*.py")
    )
    words = re.findall(r"^\| ([a-z ]+) \|", text_of(DOCS / "glossary.md"), re.MULTILINE)
    words = [word for word in words if word != "word"]
    assert len(words) > 20
    named = {word: word.replace(" ", "[ _]?") for word in words}  # "budget ledger", budget_ledger or BudgetLedger
    assert [word for word in words if not re.search(rf"\b{named[word]}(?:e?s)?\b", sources, re.IGNORECASE)] == []


def test_the_settings_are_linked_from_both_indexes() -> None:
    settings = DOCS / "reference" / "settings.md"
    assert all(
        settings in {target for target, _ in links_of(page)} for page in (ROOT / "README.md", DOCS / "README.md")
    )


def test_every_decision_is_listed_under_its_number() -> None:
    folder = DOCS / "explanation" / "decisions"
    pages = sorted(folder.glob("0*.md"))
    listed = [target for target, _ in links_of(folder / "README.md") if target.parent == folder]
    assert listed == pages
    numbers = [int(number) for number in re.findall(r"^\| \[?(\d{4})\b", text_of(folder / "README.md"), re.MULTILINE)]
    assert numbers == list(range(1, len(numbers) + 1)), "a superseded decision leaves its line"
    assert [page.name for page in pages if not text_of(page).startswith(f"# {int(page.name[:4])} · ")] == []


@pytest.mark.slow
def test_the_conversation_on_the_first_page_is_what_is_printed(tmp_path: Path) -> None:
    command, *shown = block_after(ROOT / "README.md", "runs this and compares")
    typed = [line.removeprefix("> ") for line in shown if line.startswith("> ")]
    printed = printed_by(shlex.split(command)[2:], typed, tmp_path)
    assert stands_in([CLOCK.sub("09:30 UTC", line) for line in shown], CLOCK.sub("09:30 UTC", printed)) == ""


@pytest.mark.slow
def test_the_guide_to_commands_shows_the_example_and_what_it_prints(tmp_path: Path) -> None:
    page = DOCS / "how-to" / "add-a-command.md"
    assert text_of(ROOT / "examples" / "own_command" / "replace_text.py") in text_of(page)
    shown = block_after(page, "compares; …")
    assert stands_in(shown, printed_by(["-m", "examples.own_command"], [], tmp_path)) == ""


def test_the_guide_to_plugins_shows_the_example() -> None:
    assert text_of(ROOT / "examples" / "plugins" / "word_counter.py") in text_of(DOCS / "how-to" / "write-a-plugin.md")


def test_each_sentence_on_what_an_approval_guarantees_names_a_promise_that_is_kept() -> None:
    page = (ROOT / "docs/explanation/approval.md").read_text(encoding="utf-8")
    guaranteed, _, _ = page.partition("## What is not guaranteed")
    named = set(re.findall(r"`([a-z]+:[a-z-]+)`", guaranteed))
    assert named - {*PROMISES} == set()
    sentences = re.findall(r"^- (.+?)(?=^- |^## |\Z)", guaranteed, re.MULTILINE | re.DOTALL)
    assert len(sentences) > 25
    assert [text for text in sentences if not re.search(r"\(`[^)]+`\)", text.replace("\n", " "))] == []


@pytest.mark.slow
def test_pages_name_the_command_of_the_clone_for_optional_packages() -> None:
    """Signoff is on no package index yet: only where it is installed as a package do its messages name pip."""
    known = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    texts = [path.read_text() for path in (*PAGES, ROOT / ".env.example", *sources_of("agent_core", "adapters", "bot"))]
    named = {extra for text in texts for extra in re.findall(r"make extras EXTRAS=(\w+)", text)}
    assert {"claude", "s3", "browser"} <= named <= known.keys()
    assert sum("install 'signoff" in text for text in texts) == 2  # the function that writes it, and its decision
    assert re.search(r"^extras:", (ROOT / "Makefile").read_text(), re.MULTILINE)


def sources_of(*folders: str) -> list[Path]:
    return [path for folder in folders for path in (ROOT / folder).rglob("*.py")]
