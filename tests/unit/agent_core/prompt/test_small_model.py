"""The prompt for small models: what is offered, what is told, what is not put before people."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_core.capabilities.agents.finish import FINISH_COMMANDS
from agent_core.capabilities.models.token_counters import ENCODINGS, build_encoding, read_encoding
from agent_core.capabilities.web.search import WebSearchCommands
from agent_core.capabilities.web.search_engines import MetaSearch
from agent_core.errors import ModelRefused
from agent_core.model.agent import Digest, Paused
from agent_core.model.command import CommandCall, Failed, Succeeded, Thoughts
from agent_core.model.decision import Approve, ApproveEdited, Reject
from agent_core.model.model_calls import Message
from agent_core.model.records.memory import Memory, Recalled
from agent_core.model.turn import Turn
from agent_core.prompt.packing import TOKENS_PER_PROMPT, Situation, TokenRoom
from agent_core.prompt.profiles import profile_for
from agent_core.prompt.small_model import instructions, pack
from agent_core.prompt.small_model_commands import MAX_OFFERED_COMMANDS, add_bounds, objection, schema, select_commands
from agent_core.testing.examples import ANA, BEN, NOON, a_note, a_turn, an_agent
from agent_core.testing.language_model import ScriptedModel, reply_text
from agent_core.testing.stage import Stage
from agent_core.toolset.registry import Commands
from tests.unit.agent_core.prompt.test_packing import COMMANDS, COUNT, WIDE, after, done, text_of

EVERY = Commands.of(*COMMANDS.by_name.values(), *WebSearchCommands(MetaSearch()).commands)
LIST = CommandCall("list_files", {})
NOTHING = CommandCall("do_nothing", {})
SEARCH = CommandCall("google", {"query": "x"})
FINISH = CommandCall("task_complete", {"reason": "All is written."})
WIDEST = 1000  # what llama.cpp takes


def at_work(*goals: str, turns: tuple[Turn, ...] = (), **situation: Any) -> Situation:
    agent = an_agent(goals=goals or ("Write hello into hello.txt",), turns=len(turns))
    return replace(
        Situation(agent=agent, commands=EVERY.specs, turns=turns, notes=(), now=NOON),
        **situation,
    )


def step(number: int, call: CommandCall, result: Succeeded | Failed | None = None, **changes: Any) -> Turn:
    turn = a_turn(an_agent(), number=number, **changes)
    turn = replace(turn, proposal=replace(turn.proposal, call=call))
    return replace(turn, result=result, state="done") if result else turn


def names(situation: Situation) -> set[str]:
    return {spec.name for spec in select_commands(situation)}


@pytest.mark.parametrize(
    ("goal", "note", "may_read"),
    [
        ("Write a poem into poem.txt", "", False),
        ("Copy the first line of in.txt to out.txt", "", True),
        ("Summarise what I uploaded", "", True),
        ("Write the numbers of prices.csv into sum.txt", "", True),
        ("Write a poem into poem.txt", "like the one in old.txt", True),
    ],
)
def test_files_are_offered_for_reading_only_if_there_may_be_one_to_read(goal: str, note: str, may_read: bool) -> None:
    notes = (a_note(an_agent(), text=note),) if note else ()
    offered = names(at_work(goal, notes=notes))
    assert ({"read_file", "list_files"} <= offered) is may_read
    assert "do_nothing" not in offered


@pytest.mark.parametrize(
    ("goal", "command"),
    [
        ("Search for the newest tennis strings", "google"),
        ("Find news about tennis on the internet", "google"),
        ("Remember the port of the server", "memory_add"),
        ("Recall where the keys are", "memory_recall"),
        ("Delete old.txt", "delete_file"),
        ("Ingest notes.txt", "ingest_file"),
    ],
)
def test_a_command_is_offered_when_the_goals_or_somebody_speaks_of_it(goal: str, command: str) -> None:
    assert command in names(at_work(goal))
    assert command in names(at_work("Write a poem", notes=(a_note(an_agent(), text=goal),)))
    assert command not in names(at_work("Write a poem"))


@pytest.mark.parametrize(
    ("turn", "command"),
    [(step(1, LIST, Succeeded("old.txt")), "read_file"), (step(1, SEARCH, Succeeded("1. y")), "google")],
)
def test_a_file_that_a_listing_names_and_a_command_that_was_used_lately_are_within_reach(
    turn: Turn, command: str
) -> None:
    assert command in names(at_work("Write a poem into poem.txt", turns=(turn,)))


def test_however_much_a_goal_speaks_of_few_commands_are_offered_and_a_finish_is_among_them() -> None:
    turns = (step(1, LIST, Succeeded("There are no files.")),)
    situation = at_work("Search the web, remember, recall, forget, ingest and delete everything", turns=turns)
    assert len(select_commands(situation)) == MAX_OFFERED_COMMANDS
    assert {"task_complete", "google"} <= names(situation)


def test_a_goal_in_a_language_that_is_not_understood_is_offered_one_command_of_each_kind() -> None:
    assert {"google", "memory_add"} <= names(at_work("Suche die besten Saiten"))


@pytest.mark.proves("compact:first-turn")
def test_nothing_is_finished_before_anything_succeeded() -> None:
    failed = (step(1, LIST, Failed("There is no such folder.")),)
    succeeded = (*failed, step(2, LIST, Succeeded("a.txt")))
    finishes = ["task_complete" in names(at_work(turns=turns)) for turns in ((), failed, succeeded)]
    assert finishes == [False, False, True]
    assert "nothing has been done yet" in objection(at_work(turns=failed), FINISH)
    assert objection(at_work(turns=succeeded), FINISH) == ""


def test_an_agent_whose_successes_are_out_of_sight_may_finish() -> None:
    folded = at_work()
    assert objection(replace(folded, agent=replace(folded.agent, digest=Digest(upto=3), turns=3)), FINISH) == ""
    assert objection(replace(folded, agent=replace(folded.agent, turns=60)), FINISH) == ""


def test_an_agent_that_can_only_finish_may() -> None:
    only = [spec for spec in EVERY.specs if spec.finishes]
    assert (names(at_work(commands=only)), objection(at_work(commands=only), FINISH)) == ({"task_complete"}, "")


def test_the_call_that_just_succeeded_is_not_put_before_people_again() -> None:
    read = CommandCall("read_file", {"filename": "a.txt"})
    situation = at_work(turns=(step(1, read, Succeeded("hello")),))
    assert "has just succeeded" in objection(situation, read)
    assert "has just succeeded" in objection(situation, CommandCall("read_file", {"start": 0, "filename": "a.txt"}))
    assert objection(situation, CommandCall("read_file", {"filename": "b.txt"})) == ""
    assert 'Already done, do not do it again: read_file {"filename": "a.txt"}' in text_of(pack(situation, WIDE))


def test_a_command_without_arguments_that_just_succeeded_is_not_offered_again() -> None:
    goal = "Read all files"
    assert "list_files" not in names(at_work(goal, turns=(step(1, LIST, Succeeded("a.txt")),)))
    assert "list_files" in names(at_work(goal, turns=(step(1, NOTHING, Succeeded("Nothing was done.")),)))


def test_what_failed_or_what_somebody_wrote_about_since_may_be_tried_again() -> None:
    failed, again = at_work(turns=(step(1, LIST, Failed("no")),)), at_work(turns=(step(1, LIST, Succeeded("a.txt")),))
    assert objection(failed, LIST) == ""
    assert objection(replace(again, notes=(a_note(an_agent(), text="Once more."),)), LIST) == ""


def test_the_past_is_told_as_what_is_done_with_the_reasons_of_what_was_not() -> None:
    write = CommandCall("write_to_file", {"filename": "a.txt", "text": "hello " * 30})
    rejected = step(2, CommandCall("delete_file", {"filename": "a.txt"})).decide(Reject("Keep it."), by=BEN, at=NOON)
    edited = a_turn(an_agent(), number=4).decide(ApproveEdited({"path": "b.txt"}), by=ANA, at=NOON)
    turns = (
        step(1, write, Succeeded("a.txt now holds 180 characters.")),
        rejected,
        step(3, CommandCall("read_file", {"filename": "x"}), Failed("There is no x.")),
        edited.start(NOON).finish(Succeeded("Written."), NOON),
        step(5, LIST, Succeeded("a.txt\nb.txt")),
    )
    told = pack(at_work(turns=turns), WIDE)[1].content
    assert told.startswith(
        """Goal: Write hello into hello.txt

Done so far:
1. write_to_file {"filename": "a.txt", "text": "hello hello hello hello hello hello hel…"}: done. a.txt now holds 180 \
characters.
2. delete_file {"filename": "a.txt"}: not run. @ben said no: Keep it.
3. read_file {"filename": "x"}: Error: There is no x.
4. write_file {"path": "b.txt"}: @ana changed the arguments to these, done. Written.
5. list_files {}: done. a.txt
b.txt

Your files hold now:
- a.txt (1 line, 30 words): "hello hello hello hello hello hello hello hello hello hello hello hello hello hello \
hello hello hello hello hello hello hello hello hello hello hello hello hello hello hello hello "

Already done, do not do it again: list_files {}

Still to write: hello.txt. """
    )
    assert told.endswith("What is the next single command? Reply with one JSON object.")


def test_what_people_wrote_is_marked_as_theirs_and_says_when() -> None:
    situation = at_work(turns=(step(1, LIST, Succeeded("a.txt")),))
    read = a_note(situation.agent, taken_into=situation.turns[0].id)
    notes = (a_note(situation.agent, text="And be brief.", by=BEN), read)
    told = text_of(pack(replace(situation, notes=notes), WIDE))
    assert (
        "People wrote, which counts more than your plan:\n"
        "@ana, before step 1: Make it rhyme.\n@ben, now: And be brief.\n" in told
    )


def test_all_else_that_an_agent_has_to_know_is_told() -> None:
    situation = at_work(
        turns=(step(8, LIST, Succeeded("a.txt")),),
        recalled=(Recalled(Memory.of("The port is 8700.", source="notes.md", at=NOON), 0.9),),
        circling="list_files had the same result 3 times.",
    )
    agent = replace(situation.agent, complaint="it held no JSON object.", digest=Digest(upto=7, summary="Files: a.txt"))
    told = text_of(pack(replace(situation, agent=agent), WIDE))
    wanted = [
        "- notes.md: The port is 8700.",
        "going round in a circle: list_files had",
        "could not be used: it held no",
    ]
    assert [words for words in (*wanted, "Up to step 7: Files: a.txt") if words not in told] == []


@pytest.mark.proves("compact:fits")
def test_of_many_steps_the_oldest_are_left_out_first_and_counted() -> None:
    room = TokenRoom(1_100, COUNT)
    prompt = pack(after(30, output="word " * 60), room)
    shown = [number for number in range(1, 31) if f"result {number} " in text_of(prompt)]
    assert TOKENS_PER_PROMPT + room.taken_by(prompt) <= 1_100
    assert shown == list(range(31 - len(shown), 31))
    assert 8 < len(shown) < 30
    assert f"({30 - len(shown)} earlier steps are left out here.)" in prompt[-1].content


texts = st.text(max_size=3_000) | st.sampled_from(
    ["a" * 30_000, "漢" * 20_000, "\n" * 9_000, "}{" * 5_000, "🎾" * 9_000]
)


@pytest.mark.slow
@pytest.mark.proves("compact:fits")
@given(
    thought=texts,
    argument=texts,
    output=texts,
    note=texts,
    complaint=texts,
    turns=st.integers(0, 12),
    window=st.integers(200, 8_000),
)
def test_whatever_it_holds_a_compact_prompt_fits_and_shows_people_and_the_newest_turn(
    thought: str, argument: str, output: str, note: str, complaint: str, turns: int, window: int
) -> None:
    agent = an_agent(turns=turns + 1, digest=Digest(upto=1, summary=note), complaint=complaint)
    call = CommandCall("write_to_file", {"filename": "a.txt", "text": argument})
    past = [done(agent, number, output, thoughts=Thoughts(text=thought), call=call) for number in range(2, turns + 2)]
    notes = (a_note(agent, text=note, taken_into=past[0].id if past else None), a_note(agent, text=f"Now {note}"))
    memory = Recalled(Memory.of(output, source="turn 1", at=NOON), 0.9)
    situation = Situation(
        agent=agent, commands=EVERY.specs, turns=past, notes=notes, now=NOON, circling=complaint, recalled=(memory,)
    )
    room = TokenRoom(window, COUNT)
    prompt = packed(situation, room)
    if prompt is None:
        assert window < 1_536  # what a window of 2,048 leaves
        return
    assert TOKENS_PER_PROMPT + room.taken_by(prompt) <= window
    told = prompt[-1].content
    assert "@ana, now: Now" in told
    assert "Goal: Write a poem" in told
    assert not turns or f"\n{turns + 1}. write_to_file" in told


def packed(situation: Situation, room: TokenRoom) -> tuple[Message, ...] | None:
    try:
        return pack(situation, room)
    except ModelRefused:
        return None


def test_goals_that_cannot_fit_are_refused_in_words_for_people() -> None:
    with pytest.raises(ModelRefused, match="Shorten the goals, or choose a model with a larger window"):
        pack(at_work("Write " * 500), TokenRoom(700, COUNT))


@pytest.mark.slow
def test_the_instructions_of_the_basic_commands_take_few_tokens() -> None:
    situation = at_work(turns=(step(1, LIST, Succeeded("a.txt")),))
    encoding = ENCODINGS["o200k_base"]
    content = read_encoding(encoding, None)
    assert content
    assert len(build_encoding(encoding, content).encode(instructions(situation, select_commands(situation)))) <= 350


def test_no_example_ends_with_the_finish_or_uses_a_command_that_is_not_offered() -> None:
    without = Commands.of(*FINISH_COMMANDS).specs
    assert "task_complete" not in instructions(at_work(), EVERY.specs).partition("Examples")[2]
    assert '"read_file"' not in instructions(at_work(commands=without), without)


def strings(schema: object) -> Iterator[dict[str, object]]:
    if isinstance(schema, dict) and schema.get("type") == "string":
        yield schema
    elif isinstance(schema, dict | list):
        for part in schema.values() if isinstance(schema, dict) else schema:
            yield from strings(part)


def test_every_string_of_a_schema_has_a_bound_that_llama_cpp_takes() -> None:
    asked = schema(at_work("Search the web, recall and delete", turns=(step(1, LIST, Succeeded("a")),)))
    jsonschema.Draft202012Validator.check_schema(asked)
    bounds = [int(str(string["maxLength"])) for string in strings(asked)]
    assert len(bounds) > 8
    assert max(bounds) < WIDEST


def test_a_schema_of_somebody_else_is_bounded_wherever_a_string_or_a_list_hides() -> None:
    text = {"type": "string"}
    given = {
        "type": "object",
        "properties": {
            "pattern": {"type": "string", "pattern": "^a*$"},
            "type": {"type": ["string", "null"], "maxLength": 9_000, "minLength": 5_000},
            "tags": {"type": "array", "items": {"anyOf": [text, {"type": "integer"}]}},
            "kind": {"type": "string", "enum": ["a", "b"]},
        },
        "$defs": {"Point": {"type": "object", "properties": {"title": {"type": "string", "maxLength": 40}}}},
    }
    assert add_bounds(given) == {
        "type": "object",
        "properties": {
            "pattern": {"type": "string", "maxLength": 900},
            "type": {"type": ["string", "null"], "maxLength": 900, "minLength": 900},
            "tags": {
                "type": "array",
                "maxItems": 8,
                "items": {"anyOf": [{"type": "string", "maxLength": 900}, {"type": "integer"}]},
            },
            "kind": {"type": "string", "enum": ["a", "b"]},
        },
        "$defs": {"Point": {"type": "object", "properties": {"title": {"type": "string", "maxLength": 40}}}},
    }


@pytest.mark.parametrize(
    "model",
    [
        "smollm2:135m", "qwen2.5-1.5b-instruct-q4_k_m.gguf", "llama3.2:3b", "gemma-2-2b", "Qwen2.5-3B-Instruct-1M",
        "gemma-3n-E2B-it", "phi-3.5-mini-3.8b", "org/deepseek-r1:1.5b", "qwen3:4b", "SmolLM2-135M-Instruct.Q4_1",
    ],
)  # fmt: skip
def test_a_model_whose_name_says_that_it_is_small_is_instructed_compactly(model: str) -> None:
    assert profile_for("auto", model, 128_000).name == "compact"
    assert profile_for("full", model, 128_000).name == "full"


@pytest.mark.parametrize(
    "model",
    [
        "gpt-4", "o3", "llama-3.1-70b", "mixtral-8x7b", "phi-4", "moe-8x3b", "Qwen2.5-7B-Instruct-1M", "gpt-4.1-1m", "",
        "qwen3-30b-a3b", "mistral-4bit", "claude-3-5-sonnet-20241022", "llama-3.1-8b", "70b/model",
    ],
)  # fmt: skip
def test_any_other_model_is_instructed_in_full_where_its_window_is_not_small(model: str) -> None:
    names = [profile_for("auto", model, window).name for window in (6_000, 5_999)]
    assert names == ["full", "compact"]
    assert profile_for("compact", model, 128_000).name == "compact"


async def test_an_agent_with_a_small_model_works_by_the_compact_profile_to_the_end() -> None:
    write = reply_text("write_to_file", {"filename": "hello.txt", "text": "hello"})
    finish = reply_text("task_complete", {"reason": "It is written."})
    stage = Stage(model=ScriptedModel(finish, write, write, finish), profile="compact")
    agent = await stage.create("Write hello into hello.txt")
    first = await stage.turn(agent)
    assert first.call.name == "write_to_file"
    assert "could not be used: nothing has been done yet" in stage.script.prompts[1][-1].content
    await stage.service.decisions.decide(first.id, Approve(), stage.origin(), shown=first.control_hash)
    agent = await stage.wait_until_settled(agent)
    assert (await stage.turn(agent)).call.name == "task_complete"
    assert "write_to_file has just succeeded" in stage.script.prompts[3][-1].content
    assert {each.temperature for each in stage.script.options} == {0.2}
    assert agent.digest == Digest()


async def test_a_small_model_that_only_repeats_itself_pauses_its_agent() -> None:
    look = reply_text("list_files", {})
    stage = Stage(model=ScriptedModel(look, look, look, look), profile="compact")
    agent = await stage.create("Look")
    await stage.decide(agent, Approve())
    agent = await stage.wait_until_settled(agent)
    assert isinstance(agent.status, Paused)
    assert agent.turns == 1


@pytest.mark.parametrize(
    "complaint",
    [
        "write_to_file has just succeeded with these arguments. Take the next step, or finish.",
        "hello.txt already holds exactly this; nothing would change.",
    ],
)
def test_after_a_repetition_only_the_finish_or_a_missing_file_is_offered(complaint: str) -> None:
    written = (step(1, CommandCall("write_to_file", {"filename": "hello.txt", "text": "hello"}), Succeeded("Done.")),)
    done = at_work(turns=written)
    assert names(replace(done, agent=replace(done.agent, complaint=complaint))) == {"task_complete"}
    more = at_work("Write hello into hello.txt and bye into bye.txt", turns=written)
    assert "write_to_file" in names(replace(more, agent=replace(more.agent, complaint=complaint)))
