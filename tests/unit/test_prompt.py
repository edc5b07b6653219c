"""What the model reads and how its answers are read."""

import json
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_core.commands.files import FILE_COMMANDS
from agent_core.commands.finish import FINISH_COMMANDS
from agent_core.commands.registry import Commands
from agent_core.errors import UnusableReply
from agent_core.model.command import CommandCall
from agent_core.model.decision import Approve
from agent_core.model.messages import Reply
from agent_core.model.result import Succeeded
from agent_core.model.usage import Usage
from agent_core.prompt.packing import Situation, pack
from agent_core.prompt.reply import parse, reply_schema
from agent_core.prompt.system import standing_prompt
from agent_core.testing.examples import ANA, NOON, a_note, a_turn, an_agent
from agent_core.testing.model import reply_text

COMMANDS = Commands.of(*FILE_COMMANDS, *FINISH_COMMANDS)
WRITE = reply_text("write_to_file", {"filename": "a.txt", "text": 'say "hi" {x}'})
CALL = CommandCall("write_to_file", {"filename": "a.txt", "text": 'say "hi" {x}'})


def said(text: str, finish_reason: str = "stop") -> Reply:
    return Reply(text=text, usage=Usage(), finish_reason=finish_reason)


@pytest.mark.parametrize(
    "text",
    [
        WRITE,
        f"```json\n{WRITE}\n```",
        f"Sure! Here it is:\n{WRITE}\nShall I go on?",
        f"<think>maybe {{x}}</think>{WRITE}",
        WRITE.replace('"},', '",},').replace('"args": {', '"args":{'),
        WRITE.replace('{"thoughts"', "{'thoughts'"),
    ],
)
def test_a_whole_reply_is_read_whatever_stands_around_it(text: str) -> None:
    assert parse(said(text))[1] == CALL


@pytest.mark.proves("reply:cut-off")
@pytest.mark.parametrize("end", range(WRITE.index('"command"'), len(WRITE), 7))
def test_a_reply_that_was_cut_off_is_never_completed_to_a_command(end: int) -> None:
    with pytest.raises(UnusableReply):
        parse(said(WRITE[:end]))


def test_a_reply_that_met_the_limit_is_not_used_even_when_it_reads_well() -> None:
    with pytest.raises(UnusableReply, match="cut off"):
        parse(said(WRITE, "length"))


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "no JSON object"),
        ("I will write a file.", "no JSON object"),
        ('{"thoughts": {}}', 'no "command" object'),
        ('{"command": "write"}', '"command" was not an object'),
        ('{"command": {"args": {}}}', 'no "name"'),
        ('{"command": {"name": "x", "args": [1]}}', '"args" of the command was not an object'),
    ],
)
def test_the_model_is_told_what_was_wrong(text: str, fault: str) -> None:
    with pytest.raises(UnusableReply, match=fault):
        parse(said(text))


@given(st.text(max_size=300))
def test_no_text_whatever_breaks_the_reading(text: str) -> None:
    with suppress(UnusableReply):
        parse(said(text))


def test_half_a_character_is_replaced() -> None:
    text = '{"command": {"name": "x", "args": {"text": "a\\ud800b"}}}'
    assert parse(said(text))[1].arguments == {"text": "a\ufffdb"}


@pytest.mark.parametrize(
    ("given_call", "meant"),
    [
        (CommandCall("create_file", {"file": "a", "content": "b"}), {"filename": "a", "text": "b"}),
        (CommandCall("append_file", {"filename": "a", "text": "b"}), {"filename": "a", "text": "b"}),
    ],
)
def test_other_names_for_a_command_and_its_arguments_are_understood(
    given_call: CommandCall, meant: dict[str, str]
) -> None:
    assert COMMANDS.checked(given_call).arguments == meant


@pytest.mark.parametrize(
    ("call", "fault"),
    [
        (CommandCall("fly", {}), "there is no command 'fly'. Commands are: write_to_file"),
        (CommandCall("read_file", {}), "'filename' is a required property"),
        (CommandCall("read_file", {"filename": "a", "x": 1}), "'x' was unexpected"),
        (CommandCall("read_file", {"filename": 7}), "filename: 7 is not of type 'string'"),
    ],
)
def test_a_call_that_cannot_run_is_told_which_and_what_is_allowed(call: CommandCall, fault: str) -> None:
    with pytest.raises(UnusableReply, match=fault):
        COMMANDS.checked(call)


def test_a_command_name_cannot_be_taken_twice() -> None:
    with pytest.raises(ValueError, match="create_file"):
        Commands.of(*FILE_COMMANDS, replace(FILE_COMMANDS[0], spec=replace(FILE_COMMANDS[0].spec, name="create_file")))


@pytest.mark.proves("prompt:standing")
def test_the_standing_prompt_is_the_same_bytes_while_goals_and_commands_stay() -> None:
    agent = an_agent()
    later = replace(agent, turns=40, unusable=1, since=NOON + timedelta(days=9))
    assert standing_prompt(agent, COMMANDS.specs) == standing_prompt(later, COMMANDS.specs)
    assert standing_prompt(replace(agent, goals=("x",)), COMMANDS.specs) != standing_prompt(agent, COMMANDS.specs)


def test_the_schema_offers_each_command_with_its_own_arguments() -> None:
    schema = json.loads(json.dumps(reply_schema(COMMANDS.specs)))
    names = [choice["properties"]["name"]["const"] for choice in schema["properties"]["command"]["anyOf"]]
    assert names == [spec.name for spec in COMMANDS.specs]


def history(turns: int) -> Situation:
    agent = an_agent(turns=turns)
    done = [
        a_turn(agent, number=number)
        .decide(Approve(), by=ANA, at=NOON)
        .start(NOON)
        .finish(Succeeded(f"result {number} " + "word " * 300), NOON)
        for number in range(1, turns + 1)
    ]
    return Situation(agent=agent, commands=COMMANDS.specs, turns=done, notes=(a_note(agent),), now=NOON)


@pytest.mark.proves("prompt:window")
@pytest.mark.parametrize("window", [1500, 3000, 9000])
def test_a_prompt_never_exceeds_its_window_and_leaves_out_the_oldest_first(window: int) -> None:
    prompt = pack(history(30), window=window, count=lambda text: len(text) // 3)
    assert sum(len(message.content) // 3 for message in prompt) <= window
    assert prompt[0].role == "system"
    assert "Make it rhyme." in prompt[-1].content
    if len(prompt) > 2:
        assert "result 30" in prompt[-2].content


def test_a_past_result_is_cut_and_the_newest_is_whole() -> None:
    prompt = pack(history(3), window=20_000, count=lambda text: len(text) // 3)
    results = [message.content for message in prompt if "Result of" in message.content]
    assert ["characters are not shown" in result for result in results] == [True, True, False]
