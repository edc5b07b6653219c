"""Whatever becomes of a reply on its way, it never turns into another command."""

import html
import json
from contextlib import suppress
from datetime import timedelta

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from agent_core.errors import UnusableReply
from agent_core.model.command import CommandCall, replace_lone_surrogates
from agent_core.model.model_calls import Reply, Usage
from agent_core.replies.reading import is_verbatim, is_worth_repairing, parse, parse_repaired
from tests.example_counts import tried

SLOW = timedelta(seconds=2)

# Letters that mean something to whoever reads JSON, more often than others.
TELLING = "{}[]\"'\\:,/*#`“”‘’\n\t nu0_<>-1.x\uff5b\uff0c"
TEXTS = st.text(st.one_of(st.sampled_from(TELLING), st.characters(codec="utf-8")), max_size=40)
PIECES = st.sampled_from(
    [
        *("\u200b", "\u2060", "&quot;", "&amp;", "NaN", '"thoughts": '),
        '{"',
        '"}',
        '": "',
        '", "',
        "{'",
        "'}",
        "command",
        "name",
        "args",
        "<think>",
        "</think>",
        '\\"',
        "//",
        "/*",
        '"""',
    ]
)
NAMES = st.from_regex(r"[a-z_]{1,12}", fullmatch=True)
VALUES = st.recursive(
    st.one_of(
        TEXTS,
        st.integers(-(10**15), 10**15),
        st.booleans(),
        st.none(),
        st.floats(allow_nan=False, allow_infinity=False),
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(TEXTS, inner, max_size=3)),
    max_leaves=6,
)
ARGUMENTS = st.dictionaries(NAMES, VALUES, max_size=4)


def strict(answer: object) -> str:
    return json.dumps(answer)


def pretty(answer: object) -> str:
    return "```json\n" + json.dumps(answer, indent=2, ensure_ascii=False) + "\n```"


def python(answer: object) -> str:
    return repr(answer)


def trailing(answer: object) -> str:
    return json.dumps(answer, indent=1).replace('"\n', '",\n').replace("}\n", "},\n")


def unescaped(answer: object) -> str:
    return json.dumps(answer, ensure_ascii=False).replace("\\n", "\n").replace('\\"', '"')


def laced(answer: object) -> str:
    return "{\u200b" + json.dumps(answer, separators=("\u2060,\u200b", "\ufeff:\u200d"))[1:]


def escaped(answer: object) -> str:
    return html.escape(json.dumps(answer))


def repeated(answer: object) -> str:
    return "\n".join([json.dumps(answer)] * 30)


SPELLINGS = st.sampled_from([strict, pretty, python, trailing, unescaped, laced, repeated])
LAYOUTS = st.sampled_from(
    [
        lambda name, args: {"thoughts": {"text": "x"}, "command": {"name": name, "args": args}},
        lambda name, args: {"command": {"name": name, "args": args}, "thoughts": {"text": "x"}},
        lambda name, args: {"thoughts": {"text": "x", "command": {"name": name, "args": args}}},
        lambda name, args: {"name": name, "arguments": args},
        lambda name, args: {"tool_calls": [{"function": {"name": name, "arguments": json.dumps(args)}}]},
        lambda name, args: {"action": name, "action_input": args},
    ]
)


def said(text: str) -> Reply:
    return Reply(text=text, usage=Usage())


def call_in(text: str) -> CommandCall | None:
    """The call, or None where the reply is refused; anything else that is raised fails the test."""
    try:
        return parse(said(text))[1]
    except UnusableReply:
        return None


@st.composite
def replies(draw: st.DrawFn) -> str:
    return str(draw(SPELLINGS)(draw(LAYOUTS)(draw(NAMES), draw(ARGUMENTS))))


@pytest.mark.slow
@given(NAMES, ARGUMENTS)
def test_any_arguments_come_through_strict_json(name: str, arguments: dict[str, object]) -> None:
    answer = {"thoughts": {}, "command": {"name": name, "args": arguments}}
    assert call_in(strict(answer)) == call_in(pretty(answer)) == CommandCall(name, arguments)
    assert call_in(escaped(answer)) == call_in(repeated(answer)) == CommandCall(name, arguments)


@pytest.mark.slow
@given(NAMES, ARGUMENTS, st.data())
def test_the_beginning_of_an_html_escaped_reply_never_is_another_command(
    name: str, arguments: dict[str, object], data: st.DataObject
) -> None:
    text = escaped({"thoughts": {}, "command": {"name": name, "args": arguments}})
    cut = call_in(text[: data.draw(st.integers(0, len(text)))])
    assert cut in (None, CommandCall(name, arguments))


@pytest.mark.slow
@pytest.mark.proves("reply:mention")
@settings(deadline=SLOW)
@given(replies(), st.sampled_from(["I will not run %s.", "For example: %s. Which one?", "%s\nI won't run this."]))
def test_a_reply_that_a_sentence_quotes_is_no_command(text: str, sentence: str) -> None:
    assert call_in(sentence.replace("%s", text)) is None


@pytest.mark.slow
@pytest.mark.proves("reply:grounded")
@given(st.text("ab /-.", max_size=12), st.sampled_from("\u200b\u200d\u2060\ufeff\u00ad"), st.data())
def test_a_zero_width_character_stays_in_a_value_and_goes_nowhere_else(
    value: str, hidden: str, data: st.DataObject
) -> None:
    text = strict({"command": {"name": "x", "args": {"text": value}}})
    at = data.draw(st.integers(0, len(text)))
    start, end = text.index(f'"{value}"}}') + 1, text.index('"}}}')
    inside = value[: at - start] + hidden + value[at - start :] if start <= at <= end else value
    call = call_in(text[:at] + hidden + text[at:])
    assert call is None or list(call.arguments.values()) == [inside]


@pytest.mark.slow
@pytest.mark.proves("reply:cut-off")
@settings(max_examples=tried(300), deadline=SLOW)
@given(replies(), st.data())
def test_the_beginning_of_a_reply_never_is_another_command(text: str, data: st.DataObject) -> None:
    whole = call_in(text)
    assume(whole)
    cut = call_in(text[: data.draw(st.integers(0, len(text)))])
    assert cut in (None, whole)


@pytest.mark.slow
@pytest.mark.proves("reply:grounded")
@settings(max_examples=tried(500), deadline=SLOW)
@given(replies(), st.lists(st.tuples(st.integers(0, 600), st.integers(0, 5), st.one_of(TEXTS, PIECES)), max_size=4))
def test_a_damaged_reply_never_has_an_argument_that_it_does_not_say(
    text: str, damage: list[tuple[int, int, str]]
) -> None:
    for at, length, put in damage:
        place = at % (len(text) + 1)
        text = text[:place] + put + text[place + length :]
    call = call_in(text)
    assert call is None or is_verbatim(call, text)


@pytest.mark.slow
@settings(max_examples=tried(500), deadline=SLOW)
@given(st.lists(st.one_of(PIECES, TEXTS), max_size=40).map("".join))
def test_no_text_whatever_breaks_the_reading(text: str) -> None:
    call_in(text)
    with suppress(UnusableReply):
        parse_repaired(said(text), said(text))


SAYINGS = st.text("ab /-\n", max_size=12)


@pytest.mark.slow
@pytest.mark.proves("reply:grounded")
@settings(max_examples=tried(300), deadline=SLOW)
@given(SAYINGS, SAYINGS, st.data())
def test_what_mends_a_reply_can_change_nothing(first: str, second: str, data: st.DataObject) -> None:
    meant = {"line": f'5" {first}', "text": second}
    original = said(unescaped({"command": {"name": "x", "args": meant}}))
    assume(is_worth_repairing(original))
    length = len(meant["line"])
    begin, end = data.draw(st.integers(0, length)), data.draw(st.integers(0, length))
    line = data.draw(st.sampled_from([meant["line"], meant["line"][begin:end], meant["line"].strip(), second]))
    mended = data.draw(st.sampled_from([{**meant, "line": line}, {"line": line}, {"text": line}]))
    with suppress(UnusableReply):
        call = parse_repaired(said(strict({"command": {"name": "x", "args": mended}})), original)[1]
        assert call.arguments == meant


@pytest.mark.slow
@given(st.text(max_size=30))
def test_whole_characters_stay_as_they_are(text: str) -> None:
    assume(text == replace_lone_surrogates(text))
    assert call_in(strict({"command": {"name": "x", "args": {"text": text}}})) == CommandCall("x", {"text": text})
