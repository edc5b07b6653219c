"""Tool calls that models write as text: in their markup, or as the tool for a reply. And reasoning between tags."""

import json

import pytest

from agent_core.errors import UnusableReply
from agent_core.model.command import CommandCall, Thoughts
from agent_core.model.model_calls import Reply, ToolCall, Usage
from agent_core.replies.extraction import MAX_CHARACTERS
from agent_core.replies.reading import parse
from agent_core.testing.language_model import reply_text
from tests.unit.agent_core.replies.readable import DRAFT, WHOLE

ARGUMENTS = '{"filename": "a.txt"}'
# Each up to the end of the call itself; what may follow it is in ENDS.
CALLS = {
    "qwen": "<tool_call>\n<function=read_file>\n<parameter=filename>\na.txt\n</parameter>\n</function>",
    "llama": f"<function=read_file>{ARGUMENTS}</function>",
    "glm": "<tool_call>read_file\n<arg_key>filename</arg_key>\n<arg_value>a.txt</arg_value>\n</tool_call>",
    "kimi": "<|tool_calls_section_begin|><|tool_call_begin|>functions.read_file:0<|tool_call_argument_begin|>"
    f"{ARGUMENTS}<|tool_call_end|>",
    "deepseek": "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>read_file\n```json\n"
    f"{ARGUMENTS}\n```<｜tool▁call▁end｜>",
    "newer deepseek": f"<｜tool▁call▁begin｜>read_file<｜tool▁sep｜>{ARGUMENTS}<｜tool▁call▁end｜>",
    "gpt-oss": f"<|channel|>commentary to=functions.read_file <|constrain|>json<|message|>{ARGUMENTS}",
    "gpt-oss reversed": f"<|start|>assistant to=functions.read_file<|channel|>commentary json<|message|>{ARGUMENTS}",
    "mistral": f"[TOOL_CALLS]read_file[ARGS]{ARGUMENTS}",
    "mistral with id": f"[TOOL_CALLS]read_file[CALL_ID]x1[ARGS]{ARGUMENTS}",
    "invoke": '<function_calls>\n<invoke name="read_file">\n<parameter name="filename">a.txt</parameter>\n</invoke>',
    "minimax": '<minimax:tool_call><invoke name="read_file"><parameter name="filename">a.txt</parameter></invoke>',
    "react": f"Action: read_file\nAction Input: {ARGUMENTS}",
    "python tag": f'<|python_tag|>{{"name": "read_file", "parameters": {ARGUMENTS}}}',
    "older mistral": f'[TOOL_CALLS] [{{"name": "read_file", "arguments": {ARGUMENTS}}}]',
    "hermes": f'<tool_call>\n{{"name": "read_file", "arguments": {ARGUMENTS}}}',
}
MARKUP = [call for name, call in CALLS.items() if name not in ("python tag", "older mistral", "hermes")]
ENDS = {
    "qwen": "\n</tool_call>",
    "kimi": "<|tool_calls_section_end|>",
    "deepseek": "<｜tool▁calls▁end｜>",
    "gpt-oss": "<|call|>",
    "invoke": "\n</function_calls>",
    "minimax": "</minimax:tool_call>",
    "react": "\nObservation:",
    "python tag": "<|eom_id|>",
    "hermes": "\n</tool_call>",
}
READ = CommandCall("read_file", {"filename": "a.txt"})
every_call = pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
every_markup = pytest.mark.parametrize("call", MARKUP)


def said(text: str) -> Reply:
    return Reply(text=text, usage=Usage())


def problem(text: str) -> str:
    with pytest.raises(UnusableReply) as caught:
        parse(said(text))
    return str(caught.value)


@pytest.mark.proves("reply:repair")
@pytest.mark.parametrize("name", CALLS)
def test_a_whole_call_in_the_markup_of_a_model_is_read(name: str) -> None:
    for text in (CALLS[name], CALLS[name] + ENDS.get(name, ""), f"I read the file.\n\n{CALLS[name]}<|im_end|>\n"):
        assert parse(said(text))[1] == READ


@pytest.mark.proves("reply:cut-off")
@every_markup
def test_no_part_of_a_call_is_a_call(call: str) -> None:
    for end in range(1, len(call)):
        problem(call[:end])


@every_call
def test_two_different_calls_are_told_and_the_same_one_twice_is_one(call: str) -> None:
    assert "two different commands" in problem(f"{call}\n{call.replace('a.txt', 'b.txt')}")
    assert parse(said(f"{call}\n{call}"))[1] == READ
    assert "two different commands" in problem(f"{WHOLE}\n{call}")


@pytest.mark.proves("reply:mention")
@pytest.mark.parametrize(
    "prose",
    [
        "I will not run {}",
        "I'm sorry, but I cannot read files. {}",
        "For example: {}",
        "The page says: {}. That is an injection, so I ignore it.",
        "One writes {} to read a file. Shall I?",
    ],
)
@every_markup
def test_a_call_that_prose_only_mentions_is_none(prose: str, call: str) -> None:
    problem(prose.format(call))


@every_call
def test_a_call_in_reasoning_or_in_the_text_of_a_file_is_none(call: str) -> None:
    assert parse(said(f"<think>Perhaps {call}</think>{WHOLE}"))[1] == parse(said(WHOLE))[1]
    writes = reply_text("write_to_file", {"filename": "notes.md", "text": f"Write:\n{call}\n"})
    assert parse(said(writes))[1].name == "write_to_file"


def test_json_in_the_text_of_a_file_is_no_command() -> None:
    text = f"<function=write_to_file><parameter=filename>a.json</parameter><parameter=text>\n{DRAFT}\n\n</parameter>"
    call = CommandCall("write_to_file", {"filename": "a.json", "text": f"{DRAFT}\n"})
    assert parse(said(f"{text}</function>"))[1] == call
    assert "not whole" in problem(text)


@pytest.mark.parametrize(
    "value",
    ["a</parameter><parameter=text>b", "a<parameter=b>c", "a</function>b", "</tool_call>", "<function=b></function>"],
)
def test_a_value_that_has_tags_of_the_markup_in_it_has_no_clear_end(value: str) -> None:
    problem(f"<function=write_to_file><parameter=text>{value}</parameter></function>")


def test_other_tags_in_a_value_stay_as_they_are() -> None:
    call = parse(said("<function=x><parameter=text>\n <b>1 < 2</b>\n\n</parameter></function>"))[1]
    assert call.arguments == {"text": " <b>1 < 2</b>\n"}
    assert parse(said("<function=do_nothing></function>"))[1] == CommandCall("do_nothing", {})


def test_what_a_model_writes_before_a_call_is_its_thoughts() -> None:
    assert parse(said(f"I read the file.\n{CALLS['qwen']}"))[0] == Thoughts(text="I read the file.")


@pytest.mark.parametrize(
    ("opens", "closes"),
    [
        ("[THINK]", "[/THINK]"),
        ("<thought>", "</thought>"),
        ("<seed:think>", "</seed:think>"),
        ("◁think▷", "◁/think▷"),
        ("<reasoning>", "</reasoning>"),
        ("<|channel|>analysis<|message|>", "<|end|>"),
    ],
)
def test_reasoning_between_any_tags_is_no_answer(opens: str, closes: str) -> None:
    reply = said(f"{opens}Perhaps {DRAFT}? </other> No.{closes}{WHOLE}")
    assert parse(reply)[1].name == "write_to_file"
    assert (reply.answer, reply.written_reasoning) == (WHOLE, f"Perhaps {DRAFT}? </other> No.")
    assert "no JSON object" in problem(f"{opens}Perhaps {DRAFT}, or rather not, since")


TURN = json.loads(reply_text("read_file", {"filename": "a.txt"}, text="I read it."))


@pytest.mark.parametrize(
    "text",
    [
        json.dumps({"name": "next_turn", "arguments": TURN}),
        json.dumps({"name": "functions.next_turn:0", "parameters": json.dumps(TURN)}),
        json.dumps({"name": "next_turn", "arguments": {"parameters": TURN}}),
        json.dumps({"tool_calls": [{"type": "function", "function": {"name": "next_turn", "arguments": TURN}}]}),
        json.dumps({"parameters": TURN}),
        json.dumps({"type": "function", "function": {"name": "next_turn", "parameters": TURN}}),
        json.dumps({"action": "tools.next_turn", "action_input": TURN}),
        json.dumps({"name": "next_turn<|channel|>json", "arguments": TURN}),
        f"<tool_call>{json.dumps({'name': 'next_turn', 'arguments': TURN})}</tool_call>",
        f"<function=next_turn>{json.dumps(TURN)}</function>",
        str({"name": "next_turn", "arguments": TURN}),
    ],
)
def test_the_tool_that_asks_for_a_reply_may_be_called_in_words(text: str) -> None:
    thoughts, call = parse(said(text))
    assert (thoughts.text, call) == ("I read it.", READ)
    problem(f"I will not run {text}")
    problem(f"{text}\n{WHOLE}")


def test_a_native_call_may_have_a_name_space_and_a_number() -> None:
    reply = Reply(text="", usage=Usage(), tool_calls=(ToolCall("functions.read_file:0", ARGUMENTS),))
    assert parse(reply)[1] == READ


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (reply_text("write_to_file", {"text": "x" * MAX_CHARACTERS}), "longer than 1,000,000 characters"),
        (reply_text("x", {f"a{number}": 1 for number in range(6_000)}), "more than 5,000 values"),
        (reply_text("x", {"a": [[1] * 100] * 100}), "more than 5,000 values"),
        (str({"command": {"name": "x", "args": {f"a{number}": "b" for number in range(600)}}}), "not clear"),
        ("<function=x>" + "".join(f"<parameter=a{n}>b</parameter>" for n in range(101)) + "</function>", "not whole"),
    ],
    ids=len,
)
def test_a_reply_of_more_than_can_be_checked_is_told_so(text: str, says: str) -> None:
    assert says in problem(text)


def test_a_native_call_of_more_than_can_be_checked_is_told_so() -> None:
    for arguments in (
        json.dumps({"text": "x" * MAX_CHARACTERS}),
        json.dumps({f"a{number}": 1 for number in range(6_000)}),
    ):
        with pytest.raises(UnusableReply, match=r"longer than 1,000,000 characters|more than 5,000 values"):
            parse(Reply(text="", usage=Usage(), tool_calls=(ToolCall("write_to_file", arguments),)))
