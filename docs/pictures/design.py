"""Serves every part of the page in every state at `/design`: `python -m docs.pictures.design`.

Cards, diffs and faces are drawn by the page's own templates from the values in `scenes`. Lists, bubbles, tabs and
forms are cut out of real pages. Nothing of this is part of the product, so a running Signoff has no such page.
"""

import asyncio
import re
import sys
import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

from aiohttp import ClientSession, web
from jinja2 import ChoiceLoader, FileSystemLoader
from markupsafe import Markup

from adapters.web.page_context import STATIC, WebContext
from adapters.web.render import HERE as WEB
from adapters.web.render import _environment
from agent_core.model.agent import Acting, Agent, Awaiting, Finished
from agent_core.model.command import Failed, Preview, Succeeded
from agent_core.model.decision import Approve, Reject
from agent_core.model.ids import AgentId, NoteId, TurnId, new_id
from agent_core.model.note import Note, Notice, NoticeKind
from agent_core.model.origin import ChannelScope
from agent_core.model.turn import Turn
from agent_core.persistence.database import SqlDatabase
from agent_core.persistence.schema import upgrade
from agent_core.providers.clock import SystemClock
from agent_core.testing.examples import keep
from agent_core.testing.language_model import ScriptedModel
from agent_core.text.diffs import diff_of
from docs.pictures.scenes import ANA, BEN, Scene, scenes
from tests.scenario.served import served

HERE = Path(__file__).parent
SPACES = (4, 8, 12, 16, 20, 28)
INBOX, NEW = "/", "/c/web/local/general/new"
THREAD = "/c/web/local/energy-desk/a/thread"
OLD_CODE = 'RATE = 0.2\n\n\ndef tax(of):\n    # rounded\n    return round(of * RATE, "2")\n'
NEW_CODE = OLD_CODE.replace("0.2", "0.19").replace("# rounded", "# rounded to cents").replace('"2"', "2")
TABLE = "# Energy\n\n| Ticker | Yield |\n|---|--:|\n| NXG | 4.2 % |\n| WND | 2.9 % |\n"


def states(drawn: Sequence[Scene], now: datetime) -> list[tuple[str, Agent, Turn]]:
    """A card in each state: those of the pictures, and those that only this page shows."""
    by_name = {scene.name: scene for scene in drawn}
    agent, turn = by_name["asks"].agent, by_name["asks"].turn
    approved = turn.decide(Approve(), by=BEN, at=now)
    two = replace(turn, needs_two=True)
    failed = approved.start(now).finish(Failed("report.md could not be written: the disk is full."), now)
    simulated = approved.start(now).finish(
        Succeeded("Only simulated: report.md would be changed.", is_simulated=True), now
    )
    return [
        *((name, scene.agent, scene.turn) for name, scene in by_name.items() if name not in ("rest", "folded")),
        ("busy", replace(agent, status=Acting()), approved.start(now)),
        ("failed", agent, failed),
        ("two people", agent, two),
        ("one of two people approved", agent, two.decide(Approve(), by=BEN, at=now)),
        ("dry run", replace(agent, dry_run=True), turn),
        ("simulated", replace(agent, dry_run=True), simulated),
        ("acts on others", agent, replace(turn, risks=("delete", "execute", "publish", "spend"), exposed=True)),
        ("a table", agent, _changing(turn, "rates.md", "# Energy\n", TABLE)),
        ("code", agent, _changing(turn, "tax.py", OLD_CODE, NEW_CODE)),
        ("a long diff", agent, _changing(turn, "list.txt", "", "".join(f"{number}\n" for number in range(500)))),
    ]


def _changing(turn: Turn, path: str, old: str, new: str) -> Turn:
    call = replace(turn.proposal.call, arguments={"filename": path, "text": new})
    preview = Preview(title=f"{path} · changed", body=diff_of(old, new).body, kind="diff", target=path)
    return replace(turn, proposal=replace(turn.proposal, call=call, preview=preview))


def _numbered(cards: Sequence[tuple[str, Agent, Turn]]) -> list[tuple[str, Agent, Turn]]:
    """The cards with ids of their own, so that their sheets can be told apart."""
    return [(name, agent, replace(turn, id=TurnId(f"state-{at}"))) for at, (name, agent, turn) in enumerate(cards)]


async def _seed(url: str, now: datetime, drawn: Sequence[Scene]) -> None:
    """An inbox with rows, a finished agent, and a thread with a turn in each state that a thread can have."""
    database = SqlDatabase(url)
    for scene in drawn:
        if scene.name in ("asks", "interrupted"):
            await keep(database, scene.agent, scene.turn)
    asks = drawn[0]
    ended = replace(asks.agent, id=AgentId("ended"), name="Clerk", status=Finished("The report is written."), turns=4)
    await keep(database, replace(ended, channel=ChannelScope("web", "local", "general")))
    channel = ChannelScope("web", "local", "energy-desk")
    agent = replace(asks.agent, id=AgentId("thread"), channel=channel, status=Awaiting(), turns=4)
    approved = asks.turn.decide(Approve(), by=BEN, at=now)
    turns = (
        approved.start(now).finish(Succeeded("Written."), now),
        approved.start(now).finish(Failed("The disk is full."), now),
        asks.turn.decide(Reject("Keep it."), by=ANA, at=now),
        asks.turn,
    )
    times = [now - timedelta(minutes=9 - number) for number in range(9)]
    entries = [
        replace(turn, id=TurnId(new_id(at)), number=number, agent_id=agent.id, channel=channel, proposed_at=at)
        for number, (turn, at) in enumerate(zip(turns, times[1::2], strict=True), start=1)
    ]
    note = Note(id=NoteId(new_id(times[2])), agent_id=agent.id, channel=channel, by=BEN, at=times[2], text="No coal.")
    said: tuple[tuple[NoticeKind, str], ...] = (
        ("question", "Why gas?"),
        ("answer", "It has low debt."),
        ("paused", "Paused."),
    )
    notices = [Notice.to(agent, kind, text, at) for (kind, text), at in zip(said, times[4::2], strict=False)]
    await keep(
        database,
        agent,
        *entries,
        note,
        *(replace(each, by=BEN) if each.kind == "question" else each for each in notices),
    )
    await database.close()


@asynccontextmanager
async def serving_design() -> AsyncIterator[str]:
    """The address of a workspace that has this page."""
    now = SystemClock().now()
    drawn = await scenes(now)
    with tempfile.TemporaryDirectory() as name:
        url = f"sqlite:///{Path(name) / 'signoff.db'}"
        await upgrade(url)
        await _seed(url, now, drawn)
        cards = _numbered(states(drawn, now))
        async with served(
            ScriptedModel(waits=True), Path(name), pages=lambda workspace: _routes(workspace, cards)
        ) as base:
            yield base


def _routes(workspace: WebContext, cards: Sequence[tuple[str, Agent, Turn]]) -> list[web.RouteDef]:
    environment = _environment()
    environment.loader = ChoiceLoader([FileSystemLoader(WEB / "templates"), FileSystemLoader(HERE)])

    async def show(request: web.Request) -> web.StreamResponse:
        cookies = {name: value for name, value in request.cookies.items() if name != "visit"}
        origin = str(request.url.origin())
        async with ClientSession(origin, cookies=cookies, headers={"Origin": origin}) as session:
            inbox, thread, empty, wrong = [
                await (await session.request(method, path)).text()
                for method, path in (("GET", INBOX), ("GET", THREAD), ("GET", "/?channel=none"), ("POST", NEW))
            ]
        return await workspace.answer(
            request,
            "design.html",
            cards=cards,
            tokens=_tokens(),
            spaces=SPACES,
            icons=re.findall(r'id="i-([\w-]+)"', inbox),
            spec=workspace.views.spec("write_to_file"),
            inbox=_cut(inbox, r'<div class="inbox">(.*?)<div class="pane">', '<div class="inbox">', "</div>"),
            empty=_cut(empty, r'(<div class="empty">.*?</div>)\s*</div>'),
            thread=_cut(thread, r'<div id="thread">(.*?)</div>\s*<div id="present"'),
            tabs=_cut(thread, r'(<fieldset class="tabs".*?</fieldset>)'),
            reply=_cut(thread, r'(<form class="reply".*?</form>)'),
            form=_cut(wrong, r'(<form class="sheet" method="post" action="[^"]*/new">.*?</form>)'),
        )

    async def style(_request: web.Request) -> web.StreamResponse:
        swatches = "".join(f".c-{name} {{ background: var(--{name}) !important; }}\n" for name in _tokens())
        spaces = "".join(f".s{size} {{ width: {size}px; }}\n" for size in SPACES)
        text = (HERE / "design.css").read_text(encoding="utf-8")
        return web.Response(text=f"{text}{swatches}{spaces}", content_type="text/css")

    return [web.get("/design", show), web.get("/design.css", style)]


def _cut(html: str, pattern: str, before: str = "", after: str = "") -> Markup:
    """The part of a page that this pattern finds; what escaped it then keeps it safe here."""
    found = re.search(pattern, html, re.DOTALL)
    return Markup(f"{before}{found[1]}{after}" if found else "")  # noqa: S704


def _tokens() -> list[str]:
    """The names of the colours in the stylesheet."""
    return re.findall(r"--([\w-]+): light-dark", (STATIC / "tokens.css").read_text(encoding="utf-8"))


async def main() -> None:
    """Serve the page until the program is ended."""
    async with serving_design() as base:
        sys.stdout.write(f"{base}/design\n")
        sys.stdout.flush()
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main())
