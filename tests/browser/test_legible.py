"""Every text of the pages is at least 12 px high and stands out from its background, light and dark, at both widths."""

from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest
from playwright.async_api import Browser, ViewportSize

from agent_core.model.agent import Agent, Awaiting
from agent_core.model.command import CommandCall, Failed, Preview, Proposal, Succeeded, Thoughts
from agent_core.model.decision import Approve
from agent_core.model.ids import AgentId, NoteId, TurnId, new_id
from agent_core.model.model_calls import Budget, Usage
from agent_core.model.turn import Turn
from agent_core.persistence.database import SqlDatabase
from agent_core.providers.clock import SystemClock
from agent_core.testing.examples import ANA, a_note, a_turn, an_agent, keep
from agent_core.testing.language_model import ScriptedModel
from tests.browser.browsing import IN_A_BROWSER, open_context
from tests.scenario.served import served
from tests.tables import make_tables

pytestmark = IN_A_BROWSER
SCREENS = [ViewportSize(width=1280, height=800), ViewportSize(width=360, height=740)]
DIFF = "@@ -1,2 +1,2 @@\n-Roses are red\n+Roses are blue\n the end"
FILES = {
    "plan.md": "# Plan\n\n- [x] `one`\n\n> two\n\n```py\nx = 'a'  # b\n```\n",
    "a.py": "x = 1.5  # note\n",
    "a.csv": "a,b\n1,2",
}
FAULTS = """() => {
  const pencil = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const rgba = color => {
    pencil.clearRect(0, 0, 1, 1); pencil.fillStyle = color; pencil.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = pencil.getImageData(0, 0, 1, 1).data;
    return [r, g, b, a / 255];
  };
  const over = (top, bottom) => [...[0, 1, 2].map(i => top[i] * top[3] + bottom[i] * (1 - top[3])), 1];
  const behind = element => {
    const layers = [];
    for (let at = element; at; at = at.parentElement) {
      layers.push(rgba(getComputedStyle(at).backgroundColor));
      if (layers.at(-1)[3] === 1) break;
    }
    return layers.reduceRight((below, layer) => over(layer, below), rgba("Canvas"));
  };
  const light = color => color.slice(0, 3)
    .map(part => part / 255).map(part => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4)
    .reduce((sum, part, i) => sum + part * [0.2126, 0.7152, 0.0722][i], 0);
  const contrast = (one, other) => {
    const [low, high] = [light(one), light(other)].sort((a, b) => a - b);
    return (high + 0.05) / (low + 0.05);
  };
  const faults = new Set(), texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const look = (element, style, what) => {
    const size = parseFloat(style.fontSize), back = behind(element);
    const ratio = contrast(over(rgba(element.closest("svg") ? style.fill : style.color), back), back);
    if (size < 12 || ratio < 4.5) faults.add(`${size}px ${ratio.toFixed(1)}:1 ${what.trim().slice(0, 40)}`);
  };
  while (texts.nextNode()) {
    const text = texts.currentNode, element = text.parentElement;
    if (!text.data.trim() || element.closest(":disabled, .hidden, title, desc")) continue;
    if (element.checkVisibility({ visibilityProperty: true })) look(element, getComputedStyle(element), text.data);
  }
  for (const field of document.querySelectorAll("[placeholder]")) {
    const { fontSize } = getComputedStyle(field), { color } = getComputedStyle(field, "::placeholder");
    if (field.checkVisibility()) look(field, { fontSize, color }, field.placeholder);
  }
  return [...faults];
}"""


def turns_of(agent: Agent) -> list[Turn]:
    """One turn that is done, one that failed, and an open one that runs a program."""
    spent = Usage(prompt=900, cached=400, completion=60, cost=Decimal("0.02"))
    preview = Preview(title="poem.txt · changed", body=DIFF, kind="diff", target="poem.txt")
    call = CommandCall("write_to_file", {"filename": "poem.txt", "text": "Roses are blue\nthe end"})
    thoughts = Thoughts(text="I write.", reasoning="It is asked for.", plan="- Write\n- Check", criticism="Short.")
    proposal = Proposal(thoughts=thoughts, call=call, preview=preview)
    now = agent.since

    def turn(number: int) -> Turn:
        return a_turn(
            agent, id=TurnId(new_id(now)), number=number, proposal=proposal, usage=spent, proposed_at=now, asked_at=now
        )

    ran = [turn(number).decide(Approve(), by=ANA, at=now).start(now) for number in (1, 2)]
    risky = replace(proposal, call=CommandCall("execute_shell", {"command_line": "cp -r א ב"}), preview=None)
    asks = replace(turn(3), proposal=risky, risks=("execute", "publish", "spend", "network"), exposed=True)
    return [ran[0].finish(Succeeded("done"), now), ran[1].finish(Failed("full"), now), asks]


async def prepared(folder: Path) -> Agent:
    now = SystemClock().now()
    url = f"sqlite:///{folder / 'signoff.db'}"
    await make_tables(url)
    spent = Usage(prompt=900, cached=400, cache_written=200, reasoning=50, completion=60, cost=Decimal("0.02"))
    agent = an_agent(id=AgentId("ada"), created_at=now, since=now, turns=3, status=Awaiting(), exposed=True)
    agent = replace(agent, usage=spent, calls={"chat": spent}, budget=Budget(limit=Decimal(2), spent=spent.cost))
    database = SqlDatabase(url)
    note = a_note(agent, id=NoteId(new_id(now)), at=now, text="Make it rhyme.")
    await keep(database, agent, *turns_of(agent), note)
    await database.close()
    for name, text in FILES.items():
        path = folder / "workspaces" / agent.id / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return agent


@pytest.mark.proves("page:legible")
@pytest.mark.parametrize("screen", SCREENS, ids=["desk", "phone"])
async def test_no_text_is_small_or_faint(browser: Browser, tmp_path: Path, screen: ViewportSize) -> None:
    agent = await prepared(tmp_path)
    channel = f"/c/{agent.channel.key}"
    thread = f"{channel}/a/{agent.id}"
    places = ["/", channel, thread, f"{channel}/new", f"{channel}/glance", f"{channel}/audit", "/search?q=roses"]
    places += [f"{thread}/{page}" for page in ("glance", "audit", "memory", "policy", "view/poem.txt?as=versions")]
    places += [f"{thread}/view/{name}" for name in FILES]
    async with served(ScriptedModel(waits=True), tmp_path) as base:
        page = await (await open_context(browser, viewport=screen)).new_page()
        for scheme in ("light", "dark"):
            await page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
            for place in places:
                await page.goto(f"{base}{place}")
                await page.evaluate("for (const each of document.querySelectorAll('details')) each.open = true")
                assert (place, scheme, await page.evaluate(FAULTS)) == (place, scheme, [])
                lefts = await page.locator("h2 code bdi").evaluate_all("all => all.map(each => each.offsetLeft)")
                assert (lefts, bool(lefts)) == (sorted(lefts), place in ("/", thread))  # as the command runs
