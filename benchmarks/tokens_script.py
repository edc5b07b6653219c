"""A scripted run: replies of about 330 tokens, search results of about 700, the same every time."""

import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any, Protocol

from benchmarks.overhead import CITIES, KINDS, NOUNS, VERBS

RHYTHM = ("search", "new", "more", "read", "search", "more", "read", "search", "more", "wait")


class ReplayScript(Protocol):
    """What a run is made of."""

    def replies(self, turns: int) -> Iterator[str]:
        """The model's replies as JSON text, task_complete the last."""
        ...

    def search(self, query: str) -> Sequence[dict[str, str]]:
        """Hits with title, href and body."""
        ...

    def summary(self, number: int) -> str:
        """The text for the `number`-th summary that is asked for."""
        ...


@dataclass(frozen=True, slots=True)
class Script:
    """Searches, writes, adds and reads, in tens."""

    seed: str = ""

    def replies(self, turns: int) -> Iterator[str]:
        """One for each turn."""
        book = 0
        for turn in range(turns - 1):
            chance = self._chance("turn", turn)
            book += RHYTHM[turn % 10] == "new"
            yield self._reply(turn, *_command(RHYTHM[turn % 10], f"notes_{max(book, 1)}.md", chance))
        yield self._reply(turns - 1, "task_complete", {"reason": "The notes hold what was asked for."})

    def search(self, query: str) -> Sequence[dict[str, str]]:
        """Eight hits."""
        chance = self._chance("search", query)
        return [_hit(chance) for _ in range(8)]

    def summary(self, number: int) -> str:
        """Longer each time, up to some 400 tokens."""
        first = max(0, number - 8)
        return "Facts: " + " ".join(
            _fact(self._chance("summary", each)) for each in range(first, first + min(16, 5 + number))
        )

    def _reply(self, turn: int, name: str, arguments: dict[str, str]) -> str:
        chance = self._chance("thoughts", turn)
        thoughts = {
            "text": f"{_step(chance)} {_step(chance)}",
            "reasoning": f"{_step(chance)} {_step(chance)}",
            "plan": "\n".join(f"- {_step(chance)}" for _ in range(4)),
            "criticism": f"{_step(chance)} I should not repeat what is done.",
            "speak": _step(chance),
        }
        return json.dumps({"thoughts": thoughts, "command": {"name": name, "args": arguments}}, indent=4)

    def _chance(self, *key: object) -> random.Random:
        return random.Random(repr((self.seed, *key)))


def script_from(path: Path, seed: str) -> ReplayScript:
    """The `Transcript(seed)` of another file; it is run as it is."""
    spec = spec_from_file_location("transcript", path)
    if spec is None or spec.loader is None:
        raise SystemExit(f"{path} is no Python file.")
    module: Any = module_from_spec(spec)
    spec.loader.exec_module(module)
    script: ReplayScript = module.Transcript(seed)
    return script


def _command(kind: str, book: str, chance: random.Random) -> tuple[str, dict[str, str]]:
    match kind:
        case "search":
            return "google", {"query": f"{_word(chance, KINDS)} {_word(chance, NOUNS)} {chance.randint(10, 999)}"}
        case "new":
            return "write_to_file", {"filename": book, "text": " ".join(_fact(chance) for _ in range(8))}
        case "more":
            return "append_to_file", {"filename": book, "text": "\n" + " ".join(_fact(chance) for _ in range(5))}
        case "read":
            return "read_file", {"filename": book}
        case _:
            return "do_nothing", {}


def _hit(chance: random.Random) -> dict[str, str]:
    site = f"www.{_word(chance, NOUNS)}-{_word(chance, NOUNS)}.example"
    return {
        "title": f"{_word(chance, KINDS).title()} {_word(chance, NOUNS)} {_word(chance, NOUNS)} · {site}",
        "href": f"https://{site}/{_word(chance, NOUNS)}/{chance.randint(1000, 9999)}",
        "body": f"{_fact(chance)} {_fact(chance)}",
    }


def _step(chance: random.Random) -> str:
    return (
        f"I {_word(chance, VERBS)} the {_word(chance, KINDS)} {_word(chance, NOUNS)} of the {_word(chance, NOUNS)} and "
        f"{_word(chance, VERBS)} {chance.randint(2, 97)} entries on {_word(chance, KINDS)} {_word(chance, NOUNS)}."
    )


def _fact(chance: random.Random) -> str:
    when = f"Q{chance.randint(1, 4)} {chance.randint(2019, 2025)}"
    return (
        f"The {_word(chance, KINDS)} {_word(chance, NOUNS)} {_word(chance, NOUNS)} came to {chance.randint(3, 980)}."
        f"{chance.randint(0, 9)} units in {_word(chance, CITIES)} in {when}."
    )


def _word(chance: random.Random, words: str) -> str:
    return chance.choice(words.split())
