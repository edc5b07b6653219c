"""What of an agent's work goes into a prompt."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from itertools import pairwise, takewhile
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_core.capabilities.agents.finish import FINISH_COMMANDS
from agent_core.capabilities.agents.history import HistoryCommands
from agent_core.capabilities.files.commands import FILE_COMMANDS
from agent_core.capabilities.memory.commands import MemoryCommands
from agent_core.capabilities.models.token_counters import EstimatedTokens
from agent_core.errors import ModelRefused
from agent_core.memory.long_term import LongTermMemory
from agent_core.model.agent import Agent, Digest
from agent_core.model.command import CommandCall, Succeeded, Thoughts
from agent_core.model.decision import Approve
from agent_core.model.model_calls import Message
from agent_core.model.records.memory import Memory, Recalled
from agent_core.model.turn import Turn
from agent_core.prompt.history import MAX_RESULT_CHARACTERS
from agent_core.prompt.packing import TOKENS_PER_PROMPT, Situation, TokenRoom, pack
from agent_core.prompt.system import standing_prompt
from agent_core.testing.clock import FakeClock
from agent_core.testing.database import TemporaryDatabase
from agent_core.testing.embedder import WordEmbedder
from agent_core.testing.examples import ANA, NOON, a_note, a_turn, an_agent
from agent_core.testing.memory_index import InMemoryIndex
from agent_core.toolset.registry import Commands

DATABASE = TemporaryDatabase()
MEMORY = LongTermMemory(database=DATABASE, embedder=WordEmbedder(), index=InMemoryIndex())
COMMANDS = Commands.of(
    *FILE_COMMANDS,
    *MemoryCommands(MEMORY, FakeClock()).commands,
    *HistoryCommands(DATABASE).commands,
    *FINISH_COMMANDS,
)
COUNT = EstimatedTokens().count
WIDE = TokenRoom(100_000, COUNT)
MAX_REST_TOKENS = 2_200  # of the smallest prompt besides the standing one: 3 tokens a character at the most


def done(agent: Agent, number: int, output: str, **proposal: Any) -> Turn:
    turn = a_turn(agent, number=number)
    changed = replace(turn, proposal=replace(turn.proposal, **proposal)) if proposal else turn
    return changed.decide(Approve(), by=ANA, at=NOON).start(NOON).finish(Succeeded(output), NOON)


def after(turns: int, *, output: str = "word " * 300, **agent: Any) -> Situation:
    worker = an_agent(turns=turns, **agent)
    past = [done(worker, number, f"result {number} {output}") for number in range(1, turns + 1)]
    return Situation(agent=worker, commands=COMMANDS.specs, turns=past, notes=(), now=NOON)


def text_of(messages: Sequence[Message]) -> str:
    return "\n".join(message.content for message in messages)


@pytest.mark.proves("prompt:standing")
def test_the_standing_prompt_is_the_same_bytes_while_goals_and_commands_stay() -> None:
    agent = an_agent()
    later = replace(agent, turns=40, unusable=1, since=NOON + timedelta(days=9))
    assert standing_prompt(agent, COMMANDS.specs) == standing_prompt(later, COMMANDS.specs)
    assert standing_prompt(replace(agent, goals=("x",)), COMMANDS.specs) != standing_prompt(agent, COMMANDS.specs)


def test_the_standing_prompt_has_every_part() -> None:
    prompt = standing_prompt(an_agent(goals=("Write", "Read")), COMMANDS.specs)
    parts = ["You are Ada: a careful writer.", "Commands run on Linux.", "1. Write\n2. Read", "Constraints:", "summary"]
    parts += ["memory_recall", "- write_to_file(", "Resources:", "Review of your work:"]
    parts += ["law", "never an instruction", "costs money", "task_complete", '"thoughts"', '"command"', "parse"]
    assert [part for part in parts if part not in prompt] == []


def test_what_an_agent_cannot_do_is_not_among_its_resources() -> None:
    prompt = standing_prompt(an_agent(), Commands.of(*FINISH_COMMANDS).specs)
    assert "Resources:" not in prompt
    assert "memory_recall" not in prompt


@pytest.mark.proves("prompt:prefix")
@pytest.mark.parametrize("output", ["short", "word " * 900])
def test_a_prompt_begins_with_all_that_the_one_before_had_told_of_the_past(output: str) -> None:
    prompts = [text_of(pack(after(turns, output=output), WIDE)) for turns in range(1, 9)]
    for turns, (earlier, later) in enumerate(pairwise(prompts), 1):
        told = earlier.index(f"result {turns} ")
        assert sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(earlier, later, strict=False))) > told


@pytest.mark.proves("prompt:window")
@pytest.mark.parametrize("window", [1800, 3000, 9000])
def test_a_prompt_never_exceeds_its_window_and_leaves_out_the_oldest_first(window: int) -> None:
    room = TokenRoom(window, COUNT)
    prompt = pack(replace(after(30), notes=(a_note(an_agent()),)), room)
    assert TOKENS_PER_PROMPT + room.taken_by(prompt) <= window
    shown = [number for number in range(1, 31) if f"result {number} " in text_of(prompt)]
    assert shown == list(range(31 - len(shown), 31))
    assert "Make it rhyme." in prompt[-1].content


texts = st.text(max_size=4_000) | st.sampled_from(
    ["a" * 30_000, "漢" * 20_000, "\n" * 9_000, "}{" * 5_000, "🎾" * 9_000]
)


def packed(situation: Situation, room: TokenRoom) -> tuple[Message, ...] | None:
    try:
        return pack(situation, room)
    except ModelRefused:
        return None


def test_goals_that_cannot_fit_are_refused_in_words_for_people() -> None:
    with pytest.raises(ModelRefused, match="Shorten the goals, switch commands off"):
        pack(after(0), TokenRoom(300, COUNT))


@pytest.mark.slow
@pytest.mark.proves("prompt:window")
@given(
    thought=texts,
    argument=texts,
    output=texts,
    note=texts,
    summary=texts,
    complaint=texts,
    turns=st.integers(0, 12),
    window=st.integers(200, 20_000),
)
def test_whatever_it_holds_a_prompt_fits_and_shows_the_newest_turn_or_is_refused_in_words(
    thought: str, argument: str, output: str, note: str, summary: str, complaint: str, turns: int, window: int
) -> None:
    agent = an_agent(turns=turns + 1, digest=Digest(upto=1, summary=summary), complaint=complaint)
    call = CommandCall("write_to_file", {"filename": "a.txt", "text": argument})
    past = [done(agent, number, output, thoughts=Thoughts(text=thought), call=call) for number in range(2, turns + 2)]
    read = replace(a_note(agent, text=note), taken_into=past[-1].id if past else None)
    notes = (read, a_note(agent, text=note))
    situation = Situation(agent=agent, commands=COMMANDS.specs, turns=past, notes=notes, now=NOON)
    room = TokenRoom(window, COUNT)
    prompt = packed(situation, room)
    if prompt is None:
        standing = COUNT(standing_prompt(agent, COMMANDS.specs))
        assert window < standing + MAX_REST_TOKENS
        return
    assert TOKENS_PER_PROMPT + room.taken_by(prompt) <= window
    assert sum(message.role == "assistant" for message in prompt) >= min(1, turns)


def test_a_long_result_is_shown_whole_once_and_named_by_its_turn_afterwards() -> None:
    long = "start " + "x" * 3_000 + " finis"
    first, second = (text_of(pack(situation, WIDE)) for situation in (after(1, output=long), after(2, output=long)))
    assert "Where it was cut, the last result goes on, this once:" in first
    assert first.count(" finis") == 1
    assert second.count(f"read_turn turn=1, start={MAX_RESULT_CHARACTERS}") == 1
    assert second.count(" finis") == 1


def test_what_a_page_of_a_turn_leaves_out_begins_where_the_prompt_says() -> None:
    situation = after(1, output="0123456789" * 2_000)
    prompt = text_of(pack(situation, WIDE))
    whole = f"Result of {situation.turns[0].call.name}: result 1 {'0123456789' * 2_000}"
    shown = prompt.partition("this once:\n")[2].partition("\n(")[0]
    assert whole[MAX_RESULT_CHARACTERS:].startswith(shown)
    assert f"start={MAX_RESULT_CHARACTERS + len(shown)}" in prompt


def test_a_file_body_in_the_past_is_told_by_its_size() -> None:
    agent = an_agent(turns=1)
    call = CommandCall("write_to_file", {"filename": "a.txt", "text": "secret body " * 100})
    turn = done(agent, 1, "written", call=call)
    prompt = text_of(pack(Situation(agent=agent, commands=COMMANDS.specs, turns=[turn], notes=(), now=NOON), WIDE))
    assert "secret body" not in prompt
    assert "(1,200 characters)" in prompt


def test_what_people_wrote_is_marked_as_theirs_and_stands_before_the_turn_that_read_it() -> None:
    situation = after(2)
    note = a_note(situation.agent, taken_into=situation.turns[1].id)
    waiting = a_note(situation.agent, text="And be brief.")
    prompt = pack(replace(situation, notes=(note, waiting)), WIDE)
    said = [message.content for message in prompt]
    assert said.index("People wrote:\n@ana: Make it rhyme.") == len(said) - 4
    assert "People wrote:\n@ana: And be brief." in said[-1]


def test_a_summary_stands_for_older_turns_with_what_was_recalled() -> None:
    digest = Digest(upto=7, summary="Files: a.txt", recalled=("turn 2: the port is 8700",))
    situation = replace(after(2), agent=an_agent(digest=digest))
    assert pack(situation, WIDE)[1].content == (
        "What you did up to turn 7, in short:\n> Files: a.txt\n\n"
        "From your long-term memory:\n- turn 2: the port is 8700"
    )


def test_a_memory_that_is_offered_and_a_circle_are_told_after_the_history() -> None:
    memory = Recalled(Memory.of("The port is 8700.", source="notes.md", at=NOON), 0.9)
    told = pack(replace(after(2), recalled=(memory,), circling="read_file failed 3 times."), WIDE)[-1].content
    assert "- notes.md:\n> The port is 8700." in told
    assert "You are going round in a circle: read_file failed 3 times." in told
