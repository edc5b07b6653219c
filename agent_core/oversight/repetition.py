"""Whether an agent goes round in a circle: the same step with the same outcome, again. Pure functions of its turns."""

import re
from collections.abc import Sequence
from itertools import combinations

from agent_core.model.command import CommandCall
from agent_core.model.result import Failed, Succeeded
from agent_core.model.turn import Turn, text_of

LOOKBACK = 9
TIMES = 3
SAME_WORDS = 0.6
SAME_OUTCOME = 0.8
MOST_READ = 4_000  # characters: what is alike for so long is alike
WORD = re.compile(r"\d+|\w{3,}")
COMMON = frozenset(
    re.findall(
        r"\w+",
        "the and for that this with from will should next step now again once more then its our are was have has not "
        "into about what which them there here use using used need let first try trying want going",
    )
)


def find_repetition(turns: Sequence[Turn]) -> str:
    """What an agent repeats that brings it no further, as a sentence, or "". `turns` are its newest, in order.

    Three times within nine turns the same call with the same result, or the same failure; two calls in turn, twice
    each; or three times running the same command with nearly the same words and nearly the same outcome.
    """
    ended = [turn for turn in turns[-LOOKBACK:] if turn.state == "done" and turn.result is not None]
    if not ended:
        return ""
    return _same_again(ended) or _same_failure(ended) or _to_and_fro(ended) or _in_other_words(ended)


def is_more_of_it(call: CommandCall, turns: Sequence[Turn]) -> bool:
    """Whether a proposed call goes on with what `find_repetition` found: one of the newest commands, in like words."""
    newest = [turn for turn in turns if turn.state == "done"][-TIMES:]
    return any(
        call == turn.call or (call.name == turn.call.name and _likeness(_said(call), _said(turn.call)) >= SAME_WORDS)
        for turn in newest
    )


def _same_again(ended: Sequence[Turn]) -> str:
    last = ended[-1]
    times = sum(turn.call == last.call and turn.result == last.result for turn in ended)
    return f"{last.call.name} with the same arguments had the same result {times} times." if times >= TIMES else ""


def _same_failure(ended: Sequence[Turn]) -> str:
    last = ended[-1]
    if not isinstance(last.result, Failed):
        return ""
    times = sum(turn.call.name == last.call.name and turn.result == last.result for turn in ended)
    return f"{last.call.name} failed {times} times in the same way." if times >= TIMES else ""


def _to_and_fro(ended: Sequence[Turn]) -> str:
    if len(ended) < 4:
        return ""
    one, two, again, too = ended[-4:]
    if one.call == two.call or not (_is_same(one, again) and _is_same(two, too)):
        return ""
    return f"{one.call.name} and {two.call.name} took turns with the same results."


def _in_other_words(ended: Sequence[Turn]) -> str:
    newest = ended[-TIMES:]
    if len(newest) < TIMES or len({turn.call.name for turn in newest}) > 1 or _makes_progress(newest):
        return ""
    alike = all(
        _likeness(_intent(one), _intent(two)) >= SAME_WORDS or _likeness(_said(one.call), _said(two.call)) >= SAME_WORDS
        for one, two in combinations(newest, 2)
    )
    return f"{newest[0].call.name} was tried {TIMES} times in other words, and nothing new came of it." if alike else ""


def _makes_progress(turns: Sequence[Turn]) -> bool:
    """Whether outcomes differ: something new was found or written."""
    outcomes = [_words(_outcome(turn)) for turn in turns]
    return any(_overlap(one, two) < SAME_OUTCOME for one, two in combinations(outcomes, 2))


def _outcome(turn: Turn) -> str:
    """What the turn brought; of a writing command what it wrote, for what it says of itself is always alike."""
    if "write" in turn.risks and isinstance(turn.result, Succeeded):
        return " ".join(str(value) for value in turn.call.arguments.values())
    return text_of(turn.result) if turn.result else ""


def _is_same(one: Turn, two: Turn) -> bool:
    return one.call == two.call and one.result == two.result


def _intent(turn: Turn) -> frozenset[str]:
    return _words(turn.proposal.thoughts.text)


def _said(call: CommandCall) -> frozenset[str]:
    return _words(" ".join(str(value) for value in call.arguments.values()))


def _words(text: str) -> frozenset[str]:
    """The stems of the words that carry meaning, crudely."""
    return frozenset(word[:6] for word in WORD.findall(text[:MOST_READ].casefold()) if word not in COMMON)


def _likeness(one: frozenset[str], two: frozenset[str]) -> float:
    """What two sets share, of the smaller one: a paraphrase may say more. Two empty ones are the same."""
    return len(one & two) / min(len(one), len(two)) if one and two else float(one == two)


def _overlap(one: frozenset[str], two: frozenset[str]) -> float:
    """What two sets share, of all that they hold."""
    return len(one & two) / len(one | two) if one or two else 1.0
