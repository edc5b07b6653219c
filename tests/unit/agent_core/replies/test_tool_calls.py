"""Native tool calls: one is a proposal like any other, several are refused in words that help."""

import pytest

from agent_core.errors import UnusableReply
from agent_core.model.command import CommandCall
from agent_core.model.model_calls import Reply, ToolCall, Usage
from agent_core.replies.reading import parse


def reply(*calls: tuple[str, str], text: str = "", finish_reason: str = "stop") -> Reply:
    tools = tuple(ToolCall(name, arguments) for name, arguments in calls)
    return Reply(text=text, usage=Usage(), finish_reason=finish_reason, tool_calls=tools)


def test_a_tool_call_is_the_command_and_the_text_its_thoughts() -> None:
    thoughts, call = parse(reply(("read_file", '{"filename": "a.txt"}'), text="<think>Hm.</think>I look at it."))
    assert (thoughts.text, call) == ("I look at it.", CommandCall("read_file", {"filename": "a.txt"}))


def test_a_tool_call_without_arguments_has_none() -> None:
    assert parse(reply(("do_nothing", "")))[1] == CommandCall("do_nothing", {})


def test_another_command_in_the_text_beside_a_tool_call_is_refused() -> None:
    text = '{"command": {"name": "delete_file", "args": {"filename": "a.txt"}}}'
    with pytest.raises(UnusableReply, match="two different commands"):
        parse(reply(("do_nothing", "{}"), text=text))


def test_the_name_of_a_tool_is_cut_where_it_is_told() -> None:
    with pytest.raises(UnusableReply) as problem:
        parse(reply(("a" * 1_000_000, "{}"), ("b", "{}")))
    assert len(str(problem.value)) < 300


@pytest.mark.parametrize(
    ("calls", "problem"),
    [
        (
            [("write_to_file", '{"filename": "a'), ("write_to_file", '.txt"}')],
            r"it called 2 tools at once \(write_to_file, write_to_file\). Choose the one that comes first.",
        ),
        ([("a", "{}")] * 64, r"it called 64 tools at once \(a, a, a, a, a\)"),
        ([("write_to_file", '{"filename": "a.txt", "text": "Lo')], "arguments that are no whole JSON object"),
        ([("write_to_file", '["a"]')], "arguments that are no whole JSON object"),
        ([("write_to_file", '{"size": NaN}')], "NaN"),
        ([("", "{}")], "it called a tool without a name"),
    ],
)
def test_a_tool_call_that_cannot_run_is_told_to_the_model(calls: list[tuple[str, str]], problem: str) -> None:
    with pytest.raises(UnusableReply, match=problem):
        parse(reply(*calls))


def test_a_tool_call_that_was_cut_off_is_none() -> None:
    with pytest.raises(UnusableReply, match="cut off"):
        parse(reply(("do_nothing", "{}"), finish_reason="length"))


def test_reasoning_that_took_all_the_room_is_told_as_such() -> None:
    spent = Reply(text="", usage=Usage(completion=64_000, reasoning=64_000), finish_reason="length")
    with pytest.raises(UnusableReply, match="your reasoning took all of 64,000 tokens") as problem:
        parse(spent)
    assert problem.value.brief == "The model's reasoning took all the room."


def test_reasoning_is_never_read_for_a_command() -> None:
    reasoning = '{"command": {"name": "delete_file", "args": {"filename": "a.txt"}}}'
    with pytest.raises(UnusableReply):
        parse(Reply(text="I am done.", usage=Usage(completion=9), reasoning=reasoning))
