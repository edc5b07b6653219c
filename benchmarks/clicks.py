"""Clicks in Slack over signed HTTP: until they are durably saved and acknowledged, and until the card is edited."""

import asyncio
import hashlib
import hmac
import json
import os
import random
import sys
import tempfile
import time
from asyncio.subprocess import Process
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlencode

from aiohttp import ClientError, ClientSession, ClientTimeout, TCPConnector

from benchmarks.clicks_cards import Click, count_lost_and_repeated, fill
from benchmarks.clicks_slack import LeanSlack, serve
from benchmarks.start import free_port

HERE = Path(__file__).parent
RESULTS = HERE / "results"
SECRET = "bench"
WARM_UP = (10, 3)
RATES = ((20, 15), (30, 10), (40, 10), (60, 10))
LONG_RATES = ((20, 120), (30, 30), (40, 30), (60, 30), (80, 30))
DOUBLED, REPLAYED = 0.1, 0.1
BROKEN = 1.0
ACKNOWLEDGED_WITHIN = {20: 300}  # clicks a second: milliseconds
PATIENCE = 60.0
TEXT = "*write_to_file* <notes.md> · “the market”:\n" + "A line of the file, as long as lines are. " * 6
CARD = [{"type": "section", "block_id": f"b{n}", "text": {"type": "mrkdwn", "text": TEXT}} for n in range(16)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """What came of one rate."""

    rate: int
    clicks: Sequence[Click]

    def ack(self, share: float) -> float:
        """Milliseconds until that share of the clicks was acknowledged."""
        return percentile([click.ack for click in self.clicks], share)

    def other(self, share: float) -> float:
        """The same for second presses and repeated deliveries."""
        return percentile([each for click in self.clicks for each in click.others], share)

    def edit(self, share: float) -> float:
        """Milliseconds until that share of the cards was edited."""
        return percentile([click.edit for click in self.clicks], share)


def main() -> None:
    RESULTS.mkdir(exist_ok=True)
    rates = LONG_RATES if "--long" in sys.argv else RATES
    with tempfile.TemporaryDirectory(dir=RESULTS, prefix="clicks-") as folder:
        asyncio.run(measure(Path(folder), rates))


async def measure(home: Path, rates: Sequence[tuple[int, int]]) -> None:
    """Fill the database, start Signoff beside a Slack, click, and count what became of it."""
    planned = (WARM_UP, *rates)
    cards = await fill(home, sum(rate * seconds for rate, seconds in planned))
    slack, steps = LeanSlack(), []
    async with serve(slack) as address, start_signoff(home, address) as signoff:
        await wait_until_quiet(slack)
        async with ClientSession(connector=TCPConnector(limit=0), timeout=ClientTimeout(total=PATIENCE)) as session:
            for rate, seconds in planned:
                clicks = [cards.pop() for _ in range(rate * seconds)]
                await press(session, f"{signoff}/slack/events", clicks, rate)
                await wait_until_edited(slack, clicks)
                steps.append(Step(rate=rate, clicks=clicks))
                say(line(steps[-1]))
        await wait_until_quiet(slack)
    report(steps[1:], *await count_lost_and_repeated(home, [click for step in steps for click in step.clicks]))


async def press(session: ClientSession, url: str, clicks: Sequence[Click], rate: int) -> None:
    """Click at an even rate, whatever comes back; some twice, by somebody else or by the network."""
    chance, begun = random.Random(7), time.perf_counter() + 0.2
    async with asyncio.TaskGroup() as group:
        for number, click in enumerate(clicks):
            click.due = begun + number / rate
            await _until(click.due)
            body = payload(click, "U1", f"{number}.1")
            group.create_task(_send(session, url, click, body))
            if chance.random() < DOUBLED:
                group.create_task(_send(session, url, click, payload(click, "U2", f"{number}.2"), is_first=False))
            if chance.random() < REPLAYED:
                group.create_task(_send(session, url, click, body, is_first=False))


async def _until(due: float) -> None:
    loop = asyncio.get_running_loop()
    if (left := due - time.perf_counter()) > 0:
        woken = loop.create_future()
        loop.call_later(left, woken.set_result, None)
        await woken


async def _send(session: ClientSession, url: str, click: Click, body: bytes, *, is_first: bool = True) -> None:
    stamp = str(int(time.time()))
    signature = hmac.new(SECRET.encode(), b"v0:" + stamp.encode() + b":" + body, hashlib.sha256).hexdigest()
    headers = {
        "Content-Type": "application/x-www-form-urlencoded",
        "X-Slack-Request-Timestamp": stamp,
        "X-Slack-Signature": f"v0={signature}",
    }
    try:
        async with session.post(url, data=body, headers=headers) as answer:
            click.statuses.append(answer.status)
    except (ClientError, TimeoutError):
        click.statuses.append(0)
    if click.statuses[-1] != 200:
        return
    if is_first:
        click.ack = time.perf_counter() - click.due
    else:
        click.others.append(time.perf_counter() - click.due)


def payload(click: Click, person: str, ts: str) -> bytes:
    """What Slack sends for a press of Approve."""
    channel = click.card.partition("/")[0]
    action = {"type": "button", "action_id": "signoff.approve", "value": click.button}
    payload = {
        "type": "block_actions",
        "user": {"id": person, "team_id": "T1"},
        "team": {"id": "T1"},
        "container": {"type": "message", "channel_id": channel, "thread_ts": "1.0", "message_ts": click.card},
        "channel": {"id": channel},
        "message": {"team": "T1", "ts": click.card, "text": TEXT, "blocks": CARD},  # Slack sends the card along
        "trigger_id": f"t.{click.turn}.{person}",
        "response_url": "http://127.0.0.1:1/",
        "actions": [{**action, "action_ts": f"{click.turn}.{ts}"}],
    }
    return urlencode({"payload": json.dumps(payload)}).encode()


async def wait_until_edited(slack: LeanSlack, clicks: Sequence[Click]) -> None:
    """Wait until every card was edited, and note when."""
    end = time.perf_counter() + PATIENCE
    while any(click.card.partition("/")[2] not in slack.edited for click in clicks) and time.perf_counter() < end:
        await _until(time.perf_counter() + 0.05)
    for click in clicks:
        if at := slack.edited.get(click.card.partition("/")[2]):
            click.edit = at - click.due


async def wait_until_quiet(slack: LeanSlack, seconds: float = 1.5) -> None:
    """Wait until nothing was asked of Slack for a while."""
    end = time.perf_counter() + 3 * PATIENCE
    while time.perf_counter() - slack.asked_at < seconds and time.perf_counter() < end:
        await _until(time.perf_counter() + 0.1)


@asynccontextmanager
async def start_signoff(home: Path, slack: str) -> AsyncIterator[str]:
    """`python -m bot run` for this Slack; its address. Ended with the block."""
    port = free_port()
    given = {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "PYTHONPATH": str(HERE.parent),
        "SIGNOFF_HOME": str(home),
        "PORT": str(port),
        "SLACK_API_URL": f"{slack}/api",
        "SLACK_BOT_TOKEN": "xoxb-bench",
        "SLACK_SIGNING_SECRET": SECRET,
    }
    null = asyncio.subprocess.DEVNULL
    process: Process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "bot", "run", cwd=home, env=given, stdout=asyncio.subprocess.PIPE, stderr=null
    )
    try:
        assert process.stdout
        async with asyncio.timeout(PATIENCE):
            await process.stdout.readline()
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        await process.wait()


def percentile(seconds: Sequence[float | None], share: float) -> float:
    """Milliseconds; what never came counts as the longest wait there is."""
    ordered = sorted(PATIENCE if each is None else each for each in seconds)
    return 1000 * ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def line(step: Step) -> str:
    """A row of the table."""
    times = (step.ack(0.5), step.ack(0.99), step.other(0.99), step.edit(0.5), step.edit(0.99))
    return f"{step.rate:>6}/s{len(step.clicks):>8}" + "".join(f"{each:>12.1f}" for each in times)


def report(steps: Sequence[Step], lost: int, twice: int) -> None:
    """What became of the promises."""
    broken = next((step.rate for step in steps if step.ack(0.99) >= 1000 * BROKEN), None)
    say(f"ack p99 reaches 1 s at {broken}/s" if broken else f"ack p99 stays below 1 s up to {steps[-1].rate}/s")
    for step in steps:
        if limit := ACKNOWLEDGED_WITHIN.get(step.rate):
            verdict(f"{step.rate} clicks/s: ack p99 at most {limit} ms", step.ack(0.99), limit)
    verdict("acknowledged and lost: 0", lost, 0)
    verdict("run twice: 0", twice, 0)


def verdict(promise: str, found: float, limit: float) -> None:
    """A promise and what was found."""
    say(f"promise: {promise}: {found:,.0f} · {'met' if found <= limit else 'NOT MET'}")


def say(text: str) -> None:
    """Print at once."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    say(f"{'rate':>8}{'clicks':>8}{'ack p50 ms':>12}{'ack p99':>12}{'others p99':>12}{'edit p50':>12}{'edit p99':>12}")
    main()
