"""The verbatim check: a leniently parsed call must say exactly what the text says, nothing added, lost or joined."""

import re

from agent_core.model.command import CommandCall, replace_lone_surrogates
from agent_core.replies.extraction import ARGUMENT_KEYS
from agent_core.replies.lenient_json import ANY_QUOTE, QUOTED_KEY, SPACE, ZERO_WIDTH, leaves, unescape

WORD = re.compile(r"""\w+|[^\w\s"'`\\{}\[\]:,]""")
CONTEXT_CHARACTERS = 600  # on each side of a string, to find its delimiters
QUOTE = rf"(?:[{ANY_QUOTE}]{{3}}|[{ANY_QUOTE}])"
OPENS = rf"(?:[:\uff1a\[\uff3b{{\uff5b,\uff0c\n]|\*/)[\s{ZERO_WIDTH}]*"
CLOSES = rf"{SPACE.pattern}(?:[:\uff1a,\uff0c}}\]\uff5d\uff3d]|{QUOTED_KEY.pattern})"
QUOTED = re.compile(rf"{OPENS}{QUOTE}\Z"), re.compile(rf"{QUOTE}{CLOSES}")
BARE = re.compile(rf"{OPENS}\Z"), re.compile(CLOSES)


def is_verbatim(call: CommandCall, text: str) -> bool:
    """Whether every string of the arguments occurs in the text from delimiter to delimiter, including white space.

    JSON escapes may be resolved once, or twice for JSON inside a string. The end of the text is not a delimiter.
    """
    once = unescape(text)
    readings = [str(replace_lone_surrogates(reading)) for reading in (text, once, unescape(once))]
    strings = [leaf for leaf in leaves(dict(call.arguments)) if isinstance(leaf, str)]
    return all(any(_is_in(string, reading) for reading in readings) for string in strings)


def accounts_for(call: CommandCall, text: str) -> bool:
    """Whether the call has the same words as a part of the text: from the command's name to `thoughts` or the end.

    Quotes, white space, backslashes and JSON punctuation are ignored: `is_verbatim` checks where strings end.
    """
    wanted, found = _words(call.name), _words(unescape(text))
    expected = [word for name, value in call.arguments.items() for word in (*_words(name), *_expected_words(value))]
    return any(
        found[at : at + len(wanted)] == wanted and _is_rest(found[at + len(wanted) :], expected)
        for at in range(len(found))
    )


def _is_rest(rest: list[str], expected: list[str]) -> bool:
    after_label = rest[1:] if rest and rest[0] in ARGUMENT_KEYS else rest
    return after_label[: len(expected)] == expected and after_label[len(expected) :][:1] in ([], ["thoughts"])


def _is_in(string: str, text: str) -> bool:
    at = text.find(string) if string else -1
    while at >= 0:
        end = at + len(string)
        before, after = text[max(at - CONTEXT_CHARACTERS, 0) : at], text[end : end + CONTEXT_CHARACTERS]
        for opens, closes in (QUOTED, BARE) if string == string.strip() else (QUOTED,):
            if closes.match(after) and opens.search(before):
                return True
        at = text.find(string, at + 1)
    return not string


def _expected_words(value: object) -> list[str]:
    match value:
        case dict():
            return [word for name, inner in value.items() for word in (*_words(name), *_expected_words(inner))]
        case list():
            return [word for inner in value for word in _expected_words(inner)]
        case _:
            return _words(str(value))


def _words(text: str) -> list[str]:
    return ["none" if word == "null" else word for word in WORD.findall(text.casefold())]
