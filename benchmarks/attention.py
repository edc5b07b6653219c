"""What twenty decisions cost a person on each surface: clicks, scrolls, page loads, messages, words, notifications."""

import asyncio
import sys
import tempfile
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from benchmarks.attention_chats import on_discord, on_slack
from benchmarks.attention_page import on_page
from benchmarks.attention_work import Costs

RESULTS = Path(__file__).parent / "results"
Play = Callable[[Path], Awaitable[Costs]]
HEAD = ("way", "decisions", "clicks", "scrolls", "loads", "words", "messages", "notified")


@dataclass(frozen=True, slots=True)
class Way:
    """One way to take the decisions; `play` runs the goal in a folder and counts."""

    name: str
    play: Play


WAYS = (
    Way("page, one by one", lambda folder: on_page(folder, "one by one")),
    Way("page, one by one, phone", lambda folder: on_page(folder, "one by one", width=360, height=740)),
    Way("page, ×5", lambda folder: on_page(folder, "×5")),
    Way("page, Needs approval", lambda folder: on_page(folder, "list")),
    Way("Slack, one by one", lambda folder: on_slack(folder, "one by one")),
    Way("Slack, ×5", lambda folder: on_slack(folder, "×5")),
    Way("Slack, direct messages", lambda folder: on_slack(folder, "direct")),
    Way("Discord, one by one", lambda folder: on_discord(folder, "one by one")),
    Way("Discord, ×5", lambda folder: on_discord(folder, "×5")),
    Way("Discord, direct messages", lambda folder: on_discord(folder, "direct")),
)


def main() -> None:
    RESULTS.mkdir(exist_ok=True)
    asyncio.run(measure())


async def measure() -> None:
    say(row(dict(zip(HEAD, HEAD, strict=True))))
    for way in WAYS:
        with tempfile.TemporaryDirectory(dir=RESULTS, prefix="attention-") as folder:
            say(row({"way": way.name, **figures(await way.play(Path(folder)))}))
    say("\nClicks, scrolls, page loads, words and notifications for one decision; messages posted for one command.")


def figures(costs: Costs) -> Mapping[str, str]:
    """The averages for one decision, and the messages of the thread for one command."""
    each = costs.decisions
    return {
        "decisions": str(each),
        "clicks": f"{costs.clicks / each:.2f}",
        "scrolls": f"{costs.scrolls / each:.2f}",
        "loads": f"{costs.loads / each:.2f}",
        "words": f"{costs.words / each:.0f}",
        "messages": f"{costs.messages / costs.commands:.2f}",
        "notified": f"{costs.notifications / each:.2f}",
    }


def row(told: Mapping[str, str]) -> str:
    """One line of the table."""
    return f"{told['way']:<26}" + "".join(f"{told[name]:>10}" for name in HEAD[1:])


def say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
