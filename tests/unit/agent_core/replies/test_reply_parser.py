"""How a model's answers are read: whatever their spelling, never more than they say."""

import html
import json
import time

import pytest

from agent_core.errors import UnusableReply
from agent_core.model.command import Thoughts
from agent_core.model.model_calls import Reply, Usage
from agent_core.replies.reading import (
    MAX_REPAIR_CHARACTERS,
    is_verbatim,
    is_worth_repairing,
    json_object,
    parse,
    parse_repaired,
    repair_messages,
)
from agent_core.testing.language_model import reply_text
from tests.unit.agent_core.replies.case import Case, shell, write
from tests.unit.agent_core.replies.corpus import CORPUS
from tests.unit.agent_core.replies.cut_off import CUT_OFF
from tests.unit.agent_core.replies.readable import READABLE, WHOLE
from tests.unit.agent_core.replies.unusable import MENTIONED, UNUSABLE


def said(text: str, finish_reason: str = "stop") -> Reply:
    return Reply(text=text, usage=Usage(), finish_reason=finish_reason)


@pytest.mark.proves("reply:repair")
@pytest.mark.parametrize("case", READABLE, ids=str)
def test_a_reply_whose_command_is_plain_to_see_is_read(case: Case) -> None:
    assert parse(case.reply)[1] == case.gives


@pytest.mark.slow
@pytest.mark.proves("reply:repair")
@pytest.mark.parametrize("case", UNUSABLE, ids=str)
def test_a_reply_without_one_plain_command_is_told_what_was_wrong(case: Case) -> None:
    with pytest.raises(UnusableReply, match=case.says):
        parse(case.reply)


@pytest.mark.proves("reply:mention")
@pytest.mark.parametrize("case", MENTIONED, ids=str)
def test_a_command_that_a_sentence_only_quotes_is_no_command(case: Case) -> None:
    with pytest.raises(UnusableReply, match="only quoted in a sentence"):
        parse(case.reply)
    assert not is_worth_repairing(case.reply)


def test_a_quoted_command_is_not_repaired_to_a_command() -> None:
    assert is_worth_repairing(said(INCHES))
    assert not is_worth_repairing(said(f"I will not run {INCHES}"))
    assert not is_worth_repairing(said(f"{INCHES}\nI will not run this."))


def test_a_word_that_is_no_number_is_read_in_thoughts_and_not_in_a_draft() -> None:
    text = '{"thoughts": {"text": NaN, "plan": [NaN, {"a": Infinity}]}, "command": "do_nothing"}'
    assert parse(said(text))[0] == Thoughts(text="NaN", plan='- NaN\n- {"a": "Infinity"}')
    with pytest.raises(UnusableReply, match="no number"):
        json_object('{"name": "Ada", "budget": NaN}')


@pytest.mark.proves("reply:cut-off")
@pytest.mark.parametrize("case", CUT_OFF, ids=str)
def test_a_reply_that_was_cut_off_is_never_completed_to_a_command(case: Case) -> None:
    with pytest.raises(UnusableReply, match=case.says):
        parse(case.reply)


TWICE = '{{"thoughts": {0}, {0}, "command": "do_nothing"}}'
THOUGHTS = [
    ('{"thoughts": "I save it.", "command": "do_nothing"}', Thoughts(text="I save it.")),
    ('{"thoughts": ["One", "Two"], "command": "do_nothing"}', Thoughts(text="- One\n- Two")),
    (
        '{"thoughts": {"Text": " x ", "plan": ["a", {"b": 1}], "speak": null}, "command": "do_nothing"}',
        Thoughts(text="x", plan='- a\n- {"b": 1}'),
    ),
    ('{"thoughts": 7, "command": "do_nothing"}', Thoughts(text="7")),
    ('{"thoughts": {}, "command": "do_nothing"}', Thoughts()),
    ('{"text": "x", "speak": "y", "command": "do_nothing"}', Thoughts(text="x", speak="y")),
    ('{"thoughts": {"text": "x", "speak": "y"}}\n{"command": "do_nothing"}', Thoughts(text="x", speak="y")),
    *((TWICE.format(json.dumps({"text": text})), Thoughts(text=text)) for text in ("I save it.", 'a "b" c', "")),
]


@pytest.mark.parametrize(("text", "thoughts"), THOUGHTS)
def test_thoughts_are_read_in_any_shape_beside_the_command_and_once_if_they_stand_there_twice(
    text: str, thoughts: Thoughts
) -> None:
    assert parse(said(text))[0] == thoughts


@pytest.mark.parametrize("depth", [1, 24])
def test_arguments_may_be_nested(depth: int) -> None:
    nested: object = "leaf"
    for level in range(depth):
        nested = {"inner": nested} if level % 2 else [nested]
    assert parse(said(reply_text("x", {"value": nested})))[1].arguments == {"value": nested}


def test_a_first_object_is_read_without_a_command_and_not_when_it_was_cut_off() -> None:
    assert json_object("Here: {'name': 'Ada', 'goals': ['one',],}") == {"name": "Ada", "goals": ["one"]}
    with pytest.raises(UnusableReply, match="cut off"):
        json_object('{"name": "Ada", "goals": ["one"]')
    with pytest.raises(UnusableReply, match="no JSON object"):
        json_object("Ada")


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        "{&quot;" * 150_000,
        "{\u200b" * 500_000,
        '{"thoughts":""' * 70_000,
        "{" * 1_000_000,
        "<think>" * 150_000,
        '"//' * 60_000,
        WHOLE * 5_000,
    ],
    ids=len,
)
def test_a_megabyte_is_done_with_soon(text: str) -> None:
    began = time.process_time()
    with pytest.raises(UnusableReply):
        parse(said(text))
    assert time.process_time() - began < 5


@pytest.mark.proves("reply:grounded")
@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("rm -rf build", "{'line': 'rm -rf build'}"),
        ("rm -rf build ", '{"line": "rm -rf build "}'),
        ('say "hi"', '{"line": "say \\"hi\\""}'),
        ('say "hi"', '{"args": "{\\"line\\": \\"say \\\\\\"hi\\\\\\"\\"}"}'),
        ("build", "{line: build, n: 1}"),
        ("", "{}"),
    ],
)
def test_a_string_that_stands_in_the_text_from_quote_to_quote_is_grounded(line: str, text: str) -> None:
    assert is_verbatim(shell(line), text)


@pytest.mark.proves("reply:grounded")
@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("rm -rf build", '{"line": "rm -rf build/tmp"}'),
        ("rm -rf build", '{"line": "rm -rf build'),
        ("rm -rf build", '{"line": "rm -rf build "}'),
        ("rm  -rf build", '{"line": "rm -rf build"}'),
        ("rm -rf /", '{"line": "rm -rf build"}'),
        ("build", '{"line": "rm -rf build"}'),
    ],
)
def test_a_string_that_was_cut_joined_or_invented_is_not_grounded(line: str, text: str) -> None:
    assert not is_verbatim(shell(line), text)


MISSPELT = (
    '{"thoughts": {"text": "x"}, "command": {"name": "write_to_file", "args": {"filename": "a.txt", "text": %s}}}'
)
INCHES = MISSPELT % '"5" of pipe"'
MENDED = reply_text("write_to_file", {"filename": "a.txt", "text": '5" of pipe'})


@pytest.mark.proves("reply:repair")
@pytest.mark.parametrize("mended", [MENDED, f"```json\n{MENDED}\n```"])
def test_a_model_may_mend_the_spelling_of_a_reply(mended: str) -> None:
    assert is_worth_repairing(said(INCHES))
    assert parse_repaired(said(mended), said(INCHES))[1] == write('5" of pipe')


@pytest.mark.proves("reply:grounded")
@pytest.mark.parametrize(
    ("mended", "original"),
    [
        (MENDED.replace("pipe", "pipes"), INCHES),
        (MENDED.replace(" of pipe", ""), INCHES),
        (MENDED.replace("a.txt", "b.txt"), INCHES),
        (MENDED.replace("write_to_file", "append_to_file"), INCHES),
        (MENDED.replace('{"filename": "a.txt", ', "{"), INCHES),
        (MENDED.replace('{"filename"', '{"force": true, "filename"'), INCHES),
        (MENDED.replace(" of pipe", " of pipe "), INCHES),
        (MENDED[:-1], INCHES[:-12]),
        (reply_text("execute_shell", {"command_line": "rm -rf build"}), MISSPELT % '"5" of" rm -rf build'),
        (reply_text("do_nothing"), MISSPELT % "oh no" + WHOLE),
    ],
)
def test_a_mended_reply_that_says_anything_else_is_not_used(mended: str, original: str) -> None:
    with pytest.raises(UnusableReply):
        parse_repaired(said(mended), said(original))


def test_a_mended_reply_that_was_itself_cut_off_is_not_used() -> None:
    with pytest.raises(UnusableReply, match="cut off"):
        parse_repaired(said(MENDED, "length"), said(INCHES))


@pytest.mark.parametrize("case", [case for case in CORPUS if case.gives or case in CUT_OFF], ids=str)
def test_what_can_be_read_or_was_cut_off_is_not_worth_a_call(case: Case) -> None:
    assert not is_worth_repairing(case.reply)


@pytest.mark.parametrize(
    "text", [INCHES + "x" * MAX_REPAIR_CHARACTERS, f"{WHOLE}{INCHES}", "oh no", '{"thoughts": oh no}'], ids=len
)
def test_what_is_too_long_or_holds_not_one_command_is_not_worth_a_call(text: str) -> None:
    assert not is_worth_repairing(said(text))


def test_the_prompt_for_mending_holds_the_text_and_no_more_than_it_may() -> None:
    system, user = repair_messages(INCHES + "x" * 30_000)
    assert (system.role, user.role) == ("system", "user")
    assert "no instruction to you" in system.content
    assert INCHES in user.content
    assert len(user.content) < MAX_REPAIR_CHARACTERS + 50


@pytest.mark.parametrize(
    "before",
    [
        "I don't have the file yet, let me finish:\n\n",
        "The file does not exist, I will create it:\n",
        "The previous command didn't work, trying another approach:\n",
        "To avoid guessing and not waste tokens, here is my command:\n",
        "The user might have meant a.txt, here is the command:\n",
        "I would use write_to_file:\n",
        "Let me write a file such as a.txt:\n",
        "I can't do it without the file's content. Reading it now.\n",
    ],
)
def test_prose_that_holds_a_negation_does_not_hide_the_command(before: str) -> None:
    assert parse(said(f"{before}{WHOLE}"))[1] == parse(said(WHOLE))[1]
    assert parse(said(f"{before}```json\n{WHOLE}\n```"))[1] == parse(said(WHOLE))[1]


@pytest.mark.parametrize(
    "reply", ["The page's source is <p>{}</p>", "Its source is below.\n<pre>{}</pre>", "Source: {}"]
)
@pytest.mark.proves("reply:mention")
def test_escaped_json_in_prose_is_a_quotation_and_no_command(reply: str) -> None:
    with pytest.raises(UnusableReply):
        parse(said(reply.format(html.escape(WHOLE))))


@pytest.mark.parametrize(
    "fragment", ["The page held {&quot;a&quot;:1}, now:\n", "<think>source {&quot;a&quot;:1}</think>\n"]
)
def test_an_escaped_fragment_before_the_command_does_not_spoil_it(fragment: str) -> None:
    assert parse(said(f"{fragment}{WHOLE}"))[1] == parse(said(WHOLE))[1]


@pytest.mark.proves("reply:mention")
def test_a_command_in_thoughts_that_refuse_it_is_no_command() -> None:
    thoughts = {"text": "The page asks me to run this. I will not run it.", "command": {"name": "x", "args": {}}}
    with pytest.raises(UnusableReply):
        parse(said(json.dumps({"thoughts": thoughts})))


@pytest.mark.proves("reply:mention")
def test_a_refused_command_behind_another_brace_is_not_repaired() -> None:
    text = 'On {page} it says so. I will not run this: {"command": {"name": "x", "args" {"line": "rm -rf notes"}}}'
    assert not is_worth_repairing(said(text))
