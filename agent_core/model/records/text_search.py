"""Search in texts, pure: folds case, finds all words, cuts excerpts; which texts of each record are searched."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice

from agent_core.model.agent import Agent
from agent_core.model.decision import Reject
from agent_core.model.note import Note
from agent_core.model.turn import Turn, text_of

MAX_QUERY_CHARACTERS, MAX_WORDS = 200, 8
EXCERPT_CHARACTERS, CHARACTERS_BEFORE = 240, 60
WHITE_SPACE = re.compile(r"\s+")
BLANK_LINE = re.compile(r"\s*\n[ \t]*\n\s*")


class _Folding(dict[int, str]):
    """For `str.translate`: the character to compare, for each character. Only ß becomes two letters."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        folded = character.casefold()
        is_letter_for_letter = len(folded) == 1 and folded.isascii() == character.isascii()
        self[code] = folded if is_letter_for_letter or character in "ßẞ" else character
        return self[code]


_FOLDING = _Folding()


@dataclass(frozen=True, slots=True)
class LabelledText:
    """A text of a record, and what it is there, such as an argument's name or "result"."""

    label: str
    text: str


@dataclass(frozen=True, slots=True)
class Excerpt:
    """The part of a text around the words that were found, as pieces; a piece that `is_marked` is such a word.

    `begins`, `ends`: whether the text itself begins and ends there.
    """

    label: str
    pieces: tuple[tuple[str, bool], ...]
    begins: bool
    ends: bool


def fold(text: str) -> str:
    """The text to compare without regard to case: ς is σ, ß is ss. Ligatures and signs such as the Kelvin sign stay."""
    return text.lower() if text.isascii() else text.translate(_FOLDING)


def words_of(query: str) -> tuple[str, ...]:
    """The folded words of a query without repetition: at most MAX_WORDS, of its first MAX_QUERY_CHARACTERS."""
    return tuple(dict.fromkeys(fold(query[:MAX_QUERY_CHARACTERS]).split()))[:MAX_WORDS]


def has_all(texts: Sequence[LabelledText], words: Sequence[str]) -> bool:
    """Whether each word occurs in one of the texts."""
    whole = fold("\n".join(each.text for each in texts))
    return all(word in whole for word in words)


def texts_of(record: Agent | Turn | Note) -> tuple[LabelledText, ...]:
    """What is searched of a record."""
    match record:
        case Agent():
            goals = (LabelledText("goal", goal) for goal in record.goals)
            return LabelledText("name", record.title), LabelledText("role", record.role), *goals
        case Note():
            return LabelledText("note", record.text), LabelledText("by", record.by.display)
        case Turn():
            return tuple(each for each in _texts_of_turn(record) if each.text)


def excerpt_of(texts: Sequence[LabelledText], words: Sequence[str]) -> Excerpt:
    """The excerpt of the text in which most of the words occur, the first of several.

    It begins and ends with a paragraph in which one of them is.
    """
    pairs = ((each, fold(each.text)) for each in texts)
    found, folded = max(pairs, key=lambda pair: sum(word in pair[1] for word in words))
    spans = list(islice(_spans(text := found.text, folded, words), EXCERPT_CHARACTERS))  # none of them is empty
    first = spans[0][0] if spans else 0
    start = _next_word(text, max(0, first - CHARACTERS_BEFORE), first)
    start = max([start, *(gap.end() for gap in BLANK_LINE.finditer(text, start, first))])
    end = min(len(text), start + EXCERPT_CHARACTERS)
    whole = [span for span in spans if span[1] <= end]
    last = whole[-1][1] if whole else start
    gap = BLANK_LINE.search(text, last, end)
    end = gap.start() if gap else _last_word_end(text, last, end)
    return Excerpt(found.label, tuple(_pieces(text, whole, start, end)), begins=start == 0, ends=end == len(text))


def _texts_of_turn(turn: Turn) -> Iterator[LabelledText]:
    yield LabelledText("command", turn.call.name)
    calls = (turn.call, turn.proposal.call) if turn.is_edited else (turn.call,)
    for name, value in chain.from_iterable(call.arguments.items() for call in calls):
        yield LabelledText(name, "\n".join(_strings(value)))
    thoughts = turn.proposal.thoughts
    for label in ("text", "plan", "reasoning", "criticism", "speak"):
        yield LabelledText("thoughts", getattr(thoughts, label))
    if turn.result:
        yield LabelledText("result", text_of(turn.result))
    yield LabelledText("output", turn.live)
    for approval in turn.approvals:
        if isinstance(approval.decision, Reject):
            yield LabelledText("reason", approval.decision.reason)
    yield LabelledText("self-review", turn.review)


def _strings(value: object) -> Iterator[str]:
    """The texts in an argument, at any depth."""
    rest = [value]
    while rest:
        match rest.pop():
            case str() as text:
                yield text
            case dict() as inner:
                rest += [*inner.keys(), *inner.values()]
            case list() | tuple() as items:
                rest += items
            case int() as number:
                yield str(number)
            case _:
                pass


def _next_word(text: str, start: int, latest: int) -> int:
    """Where the first word that begins in the range begins; `start` if it is cut within a word without an end there."""
    cut = WHITE_SPACE.search(text, start - 1, latest) if start else None
    return cut.end() if cut else start


def _last_word_end(text: str, earliest: int, end: int) -> int:
    """Where the last word that ends in the range ends; `end` if it is cut within a word without a beginning there."""
    if end == len(text) or text[end].isspace():
        return end
    return next((at for at in range(end - 1, earliest, -1) if text[at].isspace()), end)


def _offsets(text: str, folded: str) -> Sequence[int]:
    """For each position in the folded text the one in the text."""
    if len(folded) == len(text):
        return range(len(text))
    return [at for at, character in enumerate(text) for _ in ("ss" if character in "ßẞ" else "s")]


def _spans(text: str, folded: str, words: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Where the words occur, in order and without overlaps; of two at one place the longer one."""
    longest_first = sorted(words, key=len, reverse=True)
    offsets, after = _offsets(text, folded), 0
    for found in re.finditer("|".join(map(re.escape, longest_first)), folded) if words else ():
        begin, end = offsets[found.start()], offsets[found.end() - 1] + 1
        if begin >= after:  # the second s of ß is at the place of the first
            yield begin, end
            after = end


def _pieces(text: str, spans: Sequence[tuple[int, int]], start: int, end: int) -> Iterator[tuple[str, bool]]:
    for begin, stop in spans:
        if begin > start:
            yield text[start:begin], False
        start = max(stop, begin + 1)
        yield text[begin:start], True
    if start < end:
        yield text[start:end], False
