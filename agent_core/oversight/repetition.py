"""Loop detection: finds an agent that repeats the same step with the same outcome. Pure functions of turns."""

import re
from collections.abc import Sequence
from itertools import combinations

from agent_core.model.command import CommandCall, Failed, Succeeded
from agent_core.model.turn import Turn, text_of

LOOKBACK_TURNS = 9
REPETITIONS = 3
MIN_WORD_OVERLAP = 0.6
MIN_OUTCOME_OVERLAP = 0.8
MAX_COMPARED_CHARACTERS = 4_000
WORD = re.compile(r"\d+|\w{3,}")
STOP_WORDS = frozenset(
    re.findall(
        r"\w+",
        "the and for that this with from will should next step now again once more then its our are was have has not "
        "into about what which them there here use using used need let first try trying want going",
    )
)


def find_repetition(turns: Sequence[Turn]) -> str:
    """What the agent repeats without progress, as a sentence, or "". `turns` are its newest, in order.

    Within the last nine turns, these are repetitions:
    - the same call was rejected three times, the last time by the newest decision
    - the same call had the same result three times
    - the same command failed three times in the same way, whatever its arguments
    - two calls alternated twice with the same results
    - the same command ran three times in a row with similar words and a similar outcome
    """
    if rejected := _same_rejected(turns):
        return rejected
    ended = [turn for turn in turns[-LOOKBACK_TURNS:] if turn.state == "done" and turn.result is not None]
    if not ended:
        return ""
    return _same_result(ended) or _same_failure(ended) or _alternation(ended) or _paraphrase(ended)


def continues_repetition(call: CommandCall, turns: Sequence[Turn]) -> bool:
    """Whether a call continues the repetition: it is the rejected call, or resembles one of the last three that ran."""
    if _same_rejected(turns):
        return call == turns[-1].call  # people may have asked for a similar one
    newest = [turn for turn in turns if turn.state == "done"][-REPETITIONS:]
    return any(
        call == turn.call
        or (
            call.name == turn.call.name
            and _likeness(_argument_words(call), _argument_words(turn.call)) >= MIN_WORD_OVERLAP
        )
        for turn in newest
    )


def _same_rejected(turns: Sequence[Turn]) -> str:
    if not turns or turns[-1].state != "rejected":
        return ""
    call = turns[-1].call
    times = sum(turn.state == "rejected" and turn.call == call for turn in turns[-LOOKBACK_TURNS:])
    return f"{call.name} with the same arguments was rejected {times} times." if times >= REPETITIONS else ""


def _same_result(ended: Sequence[Turn]) -> str:
    last = ended[-1]
    times = sum(turn.call == last.call and turn.result == last.result for turn in ended)
    return (
        f"{last.call.name} with the same arguments had the same result {times} times." if times >= REPETITIONS else ""
    )


def _same_failure(ended: Sequence[Turn]) -> str:
    last = ended[-1]
    if not isinstance(last.result, Failed):
        return ""
    times = sum(turn.call.name == last.call.name and turn.result == last.result for turn in ended)
    return f"{last.call.name} failed {times} times in the same way." if times >= REPETITIONS else ""


def _alternation(ended: Sequence[Turn]) -> str:
    if len(ended) < 4:
        return ""
    first, second, third, fourth = ended[-4:]
    if first.call == second.call or not (_is_same(first, third) and _is_same(second, fourth)):
        return ""
    return f"{first.call.name} and {second.call.name} took turns with the same results."


def _paraphrase(ended: Sequence[Turn]) -> str:
    newest = ended[-REPETITIONS:]
    if len(newest) < REPETITIONS or len({turn.call.name for turn in newest}) > 1 or _makes_progress(newest):
        return ""
    alike = all(
        _likeness(_thought_words(one), _thought_words(two)) >= MIN_WORD_OVERLAP
        or _likeness(_argument_words(one.call), _argument_words(two.call)) >= MIN_WORD_OVERLAP
        for one, two in combinations(newest, 2)
    )
    return (
        f"{newest[0].call.name} was tried {REPETITIONS} times in other words, and nothing new came of it."
        if alike
        else ""
    )


def _makes_progress(turns: Sequence[Turn]) -> bool:
    """Whether two of the outcomes differ, which means that something new was found or written."""
    texts = [_outcome(turn)[:MAX_COMPARED_CHARACTERS] for turn in turns]
    told = [_words(text) for text in texts]
    whole = [frozenset(re.findall(r"\w+", text.casefold())) for text in texts]  # short words count, too
    pairs = (*combinations(told, 2), *combinations(whole, 2))
    return any(_overlap(one, two) < MIN_OUTCOME_OVERLAP for one, two in pairs)


def _outcome(turn: Turn) -> str:
    """The turn's result; for a command that writes, the written text, because results of writing are always similar."""
    if turn.changes_files and isinstance(turn.result, Succeeded):
        return " ".join(str(value) for value in turn.call.arguments.values())
    return text_of(turn.result) if turn.result else ""


def _is_same(one: Turn, two: Turn) -> bool:
    return one.call == two.call and one.result == two.result


def _thought_words(turn: Turn) -> frozenset[str]:
    return _words(turn.proposal.thoughts.text)


def _argument_words(call: CommandCall) -> frozenset[str]:
    return _words(" ".join(str(value) for value in call.arguments.values()))


def _words(text: str) -> frozenset[str]:
    """Crude stems (first six letters) of the words that are not stop words."""
    return frozenset(
        word[:6] for word in WORD.findall(text[:MAX_COMPARED_CHARACTERS].casefold()) if word not in STOP_WORDS
    )


def _likeness(one: frozenset[str], two: frozenset[str]) -> float:
    """Overlap coefficient: shared words divided by the size of the smaller set; 1.0 for two empty sets."""
    return len(one & two) / min(len(one), len(two)) if one and two else float(one == two)


def _overlap(one: frozenset[str], two: frozenset[str]) -> float:
    """Jaccard index: shared words divided by the size of the union; 1.0 for two empty sets."""
    return len(one & two) / len(one | two) if one or two else 1.0
