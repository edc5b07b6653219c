"""Draws ten screens of two revisions side by side: `python -m docs.pictures.compare OLD_REV [--to FOLDER]`.

Each revision is served by its own code from the same values, in both themes and at both widths. The folder gets an
`index.html` with the old picture beside the new one.
"""

import argparse
import asyncio
import importlib.util
import os
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from html import escape
from pathlib import Path
from types import ModuleType

from playwright.async_api import async_playwright

from agent_core.capabilities.files.folder_workspace import FolderWorkspaces
from agent_core.persistence.database import SqlDatabase
from agent_core.persistence.schema import upgrade
from agent_core.providers.clock import SystemClock
from agent_core.testing.examples import keep
from agent_core.testing.language_model import ScriptedModel
from docs.pictures.draw import PHONE, WIDE
from tests.browser.conftest import ARGUMENTS, chromium
from tests.scenario.served import served

HERE = Path(__file__).resolve()
ROOT = HERE.parents[2]
CHANNEL = "/c/web/local/energy-desk"
SCREENS = {
    "needs approval": "/",
    "a card that asks": f"{CHANNEL}/a/energy-gpt",
    "a finished agent": f"{CHANNEL}/a/weekly",
    "an interrupted turn": "/c/web/local/platform/a/deployer",
    "a stopped agent": "/c/web/local/platform/a/repo-reviewer",
    "a channel": CHANNEL,
    "a new agent": f"{CHANNEL}/new",
    "activity": f"{CHANNEL}/a/energy-gpt/glance",
    "the decision log": f"{CHANNEL}/audit",
    "search": "/search?q=energy",
}
THEMES, SIZES = ("light", "dark"), {"wide": WIDE, "phone": PHONE}
SIDES = ("before", "after")
STYLE = "body{font:14px sans-serif;margin:24px} div{display:flex;gap:16px} img{max-width:46vw;border:1px solid}"


def main() -> None:
    parser = argparse.ArgumentParser(prog="docs.pictures.compare", description="Draw ten screens of two revisions.")
    parser.add_argument("old", nargs="?", help="the revision to compare with; else the last one before the tokens")
    parser.add_argument("--to", type=Path, default=Path(tempfile.gettempdir()) / "signoff-compared")
    parser.add_argument(
        "--serve", action="store_true", help="serve the revision in this folder; for this program alone"
    )
    given = parser.parse_args()
    if given.serve:
        asyncio.run(_serve())
        return
    old = given.old or _git("log", "--format=%h~1", "--diff-filter=A", "--", "adapters/web/static/tokens.css").strip()
    given.to.mkdir(parents=True, exist_ok=True)
    with _worktree(old) as tree:
        asyncio.run(_draw(tree, given.to))
    (given.to / "index.html").write_text(_index(old), encoding="utf-8")
    sys.stdout.write(f"{given.to / 'index.html'}\n")


async def _serve() -> None:
    """Serve the day by the code of the folder in which this runs, until the input ends."""
    with tempfile.TemporaryDirectory() as home:
        url = f"sqlite:///{Path(home) / 'signoff.db'}"
        await upgrade(url)
        database = SqlDatabase(url)
        lived = _own_day()
        for values in await lived.day(SystemClock().now()):
            await keep(database, *values)
            async with database.begin() as work:
                work.budgets.add_spending(values[0].channel, values[0].budget.spent)
                await work.commit()
        await database.close()
        for name, channel, path, text in lived.FILES:
            agent = lived.agent_named(name, channel, "", "", SystemClock().now())
            await FolderWorkspaces(Path(home) / "workspaces").of(agent).write(path, text.encode())
        async with served(ScriptedModel(waits=True), Path(home)) as address:
            sys.stdout.write(f"{address}\n")
            sys.stdout.flush()
            await asyncio.to_thread(sys.stdin.read)


async def _draw(tree: Path, folder: Path) -> None:
    async with _serving(tree) as before, _serving(ROOT) as after, async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=chromium(), args=list(ARGUMENTS))
        for side, address in zip(SIDES, (before, after), strict=True):
            for size, viewport in SIZES.items():
                scale = 2 if size == "phone" else 1  # points of a screen for one of the page, at least
                context = await browser.new_context(viewport=viewport, device_scale_factor=scale, timezone_id=_noon())
                page = await context.new_page()
                await page.goto(address)
                await context.request.post(
                    f"{address}/me", form={"name": "Kim", "to": "/"}, headers={"origin": address}
                )
                for screen, path in SCREENS.items():
                    await page.goto(f"{address}{path}")
                    for theme in THEMES:
                        await page.emulate_media(color_scheme="dark" if theme == "dark" else "light")
                        name = _name(screen, side, size, theme)
                        await page.screenshot(path=folder / name, animations="disabled", caret="hide")
                await context.close()
        await browser.close()


def _own_day() -> ModuleType:
    """The day of this revision, whichever revision serves it."""
    spec = importlib.util.spec_from_file_location("lived_day", HERE.with_name("day.py"))
    if spec is None or spec.loader is None:
        raise SystemExit("day.py could not be read.")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@asynccontextmanager
async def _serving(tree: Path) -> AsyncIterator[str]:
    """The address of a workspace that a revision's own code serves."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-P", str(HERE), "--serve"),
        cwd=tree,
        env=os.environ | {"PYTHONPATH": str(tree)},
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    try:
        line = await process.stdout.readline() if process.stdout else b""
        if not line:
            raise SystemExit(f"{tree} could not be served.")
        yield line.decode().strip()
    finally:
        await process.communicate(b"")  # ends its input, and so the server


@contextmanager
def _worktree(revision: str) -> Iterator[Path]:
    """The files of a revision in a folder of their own."""
    with tempfile.TemporaryDirectory() as name:
        tree = Path(name) / "tree"
        _git("worktree", "add", "--quiet", "--detach", str(tree), revision)
        try:
            yield tree
        finally:
            _git("worktree", "remove", "--force", str(tree))


def _git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout  # noqa: S603, S607


def _index(old: str) -> str:
    """Every screen in each look, the old picture left and the new one right."""
    looks = [(screen, size, theme) for screen in SCREENS for size in SIZES for theme in THEMES]
    rows = "".join(
        f"<h2>{screen} · {size} · {theme}</h2><div>"
        + "".join(f'<img src="{_name(screen, side, size, theme)}" alt="{side}">' for side in SIDES)
        + "</div>"
        for screen, size, theme in looks
    )
    heading = f"Before ({escape(old)}) and after"
    return (
        f'<!doctype html><meta charset="utf-8"><title>{heading}</title><style>{STYLE}</style><h1>{heading}</h1>{rows}'
    )


def _noon() -> str:
    """The time zone in which it is past noon, so that the hours before it are those of one day."""
    return f"Etc/GMT{SystemClock().now().hour - 13:+d}"


def _name(screen: str, side: str, size: str, theme: str) -> str:
    return f"{screen.replace(' ', '-')}-{size}-{theme}-{side}.png"


if __name__ == "__main__":
    main()
