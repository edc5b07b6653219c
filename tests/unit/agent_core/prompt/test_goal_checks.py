"""What a small model is told of limits that its goals give in so many words, and when it may finish."""

from dataclasses import replace
from typing import Any

import pytest

from agent_core.model.command import CommandCall
from agent_core.model.turn import Turn
from agent_core.prompt.goal_checks import (
    MAX_ATTEMPTS,
    is_all_written,
    longest_text,
    missing_texts,
    unmet_limits,
    wanted_files,
)
from agent_core.prompt.packing import Situation, TokenRoom
from agent_core.prompt.small_model import pack
from agent_core.prompt.small_model_commands import objection, schema, select_commands
from agent_core.providers.llm.token_estimates import EstimatedTokens
from agent_core.testing.examples import a_note
from tests.unit.agent_core.prompt.test_known_files import append, write
from tests.unit.agent_core.prompt.test_small_model import at_work

WIDE = TokenRoom(10_000, EstimatedTokens().count)
FINISH = CommandCall("task_complete", {"reason": "Done."})
SUMMARY = "Write a summary of at most four words into s.txt"
RIVERS = "Sort these alphabetically into r.txt: Rhine, Elbe"


def last_line(situation: Situation) -> str:
    return pack(situation, WIDE)[1].content.rpartition("\n")[2]


def arguments_of(situation: Situation, command: str) -> Any:
    choices: Any = schema(situation)
    variants = choices["properties"]["command"]["anyOf"]
    chosen = next(each for each in variants if each["properties"]["name"]["const"] == command)
    return chosen["properties"]["args"]["properties"]


@pytest.mark.parametrize(
    ("goal", "text", "faults"),
    [
        (SUMMARY, "one two three four five", ("s.txt has 5 words, and the goal allows at most 4.",)),
        (SUMMARY, "one two three four", ()),
        ("Write no more than 2 lines to s.txt", "a\n\nb\nc\n", ("s.txt has 3 lines, and the goal allows at most 2.",)),
        ("Write a poem of two lines into s.txt", "a", ("s.txt has 1 line, and the goal wants exactly 2.",)),
        (
            "Write s.txt with exactly three pets, one per line",
            "a\nb",
            ("s.txt has 2 lines, and the goal wants exactly 3.",),
        ),
        ("Write exactly three pets into s.txt", "cat, dog, cow", ()),
        ("Sort alphabetically into s.txt: b, a", "b\na", ('s.txt is not in alphabetical order, which is: "a\\nb".',)),
        ("Sort alphabetically into s.txt: b, A", "A\nb", ()),
        ("Write a poem into s.txt", "one two three four five", ()),
        ("Add 2 and 3 and write only the result into s.txt", "2 + 3", ("s.txt holds more than a number.",)),
        ("Add 2 and 3 and write only the result into s.txt", "-5.0\n", ()),
        ("Write s.json: an object with the key a (the number 3)", "a: 3", ("s.json is not valid JSON.",)),
        ("Write s.json: an object with the key a (the number 3)", '{"a": 3}', ()),
    ],
)
def test_limits_and_order_are_checked_where_a_goal_gives_them(goal: str, text: str, faults: tuple[str, ...]) -> None:
    name = "s.json" if "s.json" in goal else "s.txt"
    assert unmet_limits(at_work(goal, turns=(write(1, name, text),))) == faults


def test_a_check_that_fails_is_told_and_holds_the_finish_back_for_a_few_attempts() -> None:
    turns: tuple[Turn, ...] = ()
    for number in range(1, MAX_ATTEMPTS + 1):
        turns = (*turns, write(number, "r.txt", f"Rhine\nElbe{' ' * number}"))
        situation = at_work(RIVERS, turns=turns)
        may_finish = number == MAX_ATTEMPTS
        assert (r'which is: "Elbe\nRhine"' in last_line(situation)) is not may_finish
        offered = {spec.name for spec in select_commands(situation)}
        assert ("task_complete" in offered, "append_to_file" in offered) == (may_finish, False)
        assert ("not reached yet: r.txt is not in" in objection(situation, FINISH)) is not may_finish


def test_after_too_many_words_the_next_text_is_bounded() -> None:
    before, after = at_work(SUMMARY), at_work(SUMMARY, turns=(write(1, "s.txt", "one two three four five"),))
    assert (longest_text(before), longest_text(after)) == (None, 20)
    assert arguments_of(after, "write_to_file")["text"] == {"type": "string", "maxLength": 20}


@pytest.mark.parametrize(
    ("goal", "texts"),
    [
        ("Write the line monday into d.txt, then append the line tuesday to it", ["monday", "tuesday"]),
        ('Write the sentence "The boat leaves at nine" into p.txt', ["The boat leaves at nine"]),
        ("Write the number of lines into n.txt", []),
        ("Write the words that rhyme into n.txt", []),
        ("Write s.json with the key user (the text kim)", []),
    ],
)
def test_texts_that_a_goal_gives_word_by_word_are_looked_for(goal: str, texts: list[str]) -> None:
    assert list(missing_texts(at_work(goal))) == texts


def test_what_is_still_missing_is_told_and_then_only_the_finish_is_offered() -> None:
    goals = ("Write the line monday into d.txt", "Append the line tuesday", "Finish")
    one, both = (write(1, "d.txt", "monday\n"),), (write(1, "d.txt", "monday\n"), append(2, "d.txt", "Tuesday\n"))
    assert last_line(at_work(*goals, turns=one)).startswith("The next text is: tuesday. ")
    assert last_line(at_work(*goals, turns=both)).startswith("Everything that the goal names is written: finish. ")
    assert [spec.name for spec in select_commands(at_work(*goals, turns=both))] == ["task_complete"]


@pytest.mark.parametrize("more", ["Then delete e.txt.", "Then ask Ana.", "Then search the web for it."])
def test_a_goal_that_asks_for_more_than_files_is_not_over_when_the_files_are_there(more: str) -> None:
    situation = at_work(f"Write the line monday into d.txt. {more}", turns=(write(1, "d.txt", "monday"),))
    assert not is_all_written(situation)
    assert (wanted_files(situation), len(select_commands(situation)) > 1) == ((), True)


def test_what_was_written_as_often_as_asked_is_over_unless_people_wrote_more() -> None:
    once, twice = at_work("Write a poem into p.txt"), at_work("Write a poem into p.txt and append a line to it")
    turns = (write(1, "p.txt", "The sea"),)
    assert is_all_written(replace(once, turns=turns))
    assert not is_all_written(replace(twice, turns=turns))
    assert is_all_written(replace(twice, turns=(*turns, append(2, "p.txt", "is wide"))))
    assert not is_all_written(replace(once, turns=turns, notes=(a_note(once.agent, text="Make it longer."),)))


def test_a_text_in_another_file_than_the_goals_name_does_not_count() -> None:
    situation = at_work("Write the line monday into d.txt", turns=(write(1, "monday", "monday"),))
    assert missing_texts(situation) == ("monday",)
    assert arguments_of(situation, "write_to_file")["filename"] == {"enum": ["d.txt"]}


def test_missing_files_are_told_and_then_how_to_finish() -> None:
    goals = ("Write a poem into n.txt and translate it into s.txt",)
    one, both = (write(1, "n.txt", "north"),), (write(1, "n.txt", "north"), write(2, "s.txt", "south"))
    assert last_line(at_work(*goals, turns=one)).startswith("Still to write: s.txt. ")
    assert last_line(at_work(*goals, turns=both)).startswith("If n.txt and s.txt hold what the goal asks for, finish. ")
    assert last_line(at_work("Sing")) == "What is the next single command? Reply with one JSON object."
