"""A lenient JSON parser: accepts misspelt JSON that can be read in exactly one way, and rejects everything else.

It completes nothing: every string is a piece of the text, and a text that ends inside the object counts as cut off,
unless only the last brace is missing. It accepts other quotes, bare names, quotes and line ends inside strings,
trailing or missing commas, comments, Python's literals, full-width punctuation, doubled braces, zero-width characters
between tokens, and thoughts that occur twice.
"""

import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal, NoReturn, TypeAlias

from agent_core.errors import UnusableReply

ZERO_WIDTH = "\u00ad\u180e\u200b\u200c\u200d\u200e\u200f\u2060\ufeff"
CUT_OFF = "it was cut off before its end. Answer more briefly."
NOT_JSON = "it was no valid JSON"
MAX_DEPTH, MAX_OBJECT_CHARACTERS, MAX_DIGITS = 40, 200_000, 40
Within: TypeAlias = Literal["key", "member", "item"]
# The second of each pair is the full-width one.
OPEN, CLOSE, OPEN_LIST, CLOSE_LIST = "{\uff5b", "}\uff5d", "[\uff3b", "]\uff3d"
COMMA, COLON = ",\uff0c", ":\uff1a"
CLOSERS = {'"': '"', "'": "'", "`": "`", "“": "”", "„": "“”", "‘": "’", "«": "»", "\uff02": "\uff02"}
QUOTES, ANY_QUOTE = "".join(CLOSERS), "".join({*CLOSERS, *"".join(CLOSERS.values())})
# Comments are bounded to 500 characters, so that many false starts stay cheap. Before Python 3.11.5 a possessive group
# around a lazy part matches too little (github.com/python/cpython/issues/106052).
SPACE = re.compile(
    rf"(?:[\s{ZERO_WIDTH}]++|(?://|\#)[^\n]{{0,500}}+(?=\n|\Z)|/\*(?s:.{{0,500}}?)\*/|<think>(?s:.{{0,500}}?)</think>)*"
)
QUOTE_ENDS = {quote: re.compile(rf"\\.|[{closers}]", re.DOTALL) for quote, closers in CLOSERS.items()}
QUOTED_KEY = re.compile(rf"[{QUOTES}][^{ANY_QUOTE}\\\n]{{1,80}}[{ANY_QUOTE}][\s{ZERO_WIDTH}]*+[{COLON}]")
STRICT_STRING = re.compile(r'"(?:[^"\\\n]|\\.)*+"')
BARE_KEY = re.compile(rf"[A-Za-z_$][\w$-]{{0,80}}[\s{ZERO_WIDTH}]*+[{COLON}]")
BARE_WORD = re.compile(rf"[^\s{ANY_QUOTE}{COMMA}{COLON}{{}}\uff5b\uff5d\[\]\uff3b\uff3d]+")
NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?", re.ASCII)
ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)
ESCAPED_CHARACTERS = dict(zip("ntrbf", "\n\t\r\b\f", strict=True)) | {letter: letter for letter in "/\\\"'_"}
LITERALS: dict[str, object] = {"true": True, "false": False, "null": None, "none": None, "undefined": None}


@dataclass(frozen=True, slots=True)
class InvalidNumber:
    """A word that stands for a number and that JSON does not allow: NaN, Infinity."""

    word: str

    def __str__(self) -> str:
        return self.word


def strip_zero_width(name: str) -> str:
    """The name without zero-width characters and surrounding white space."""
    return name.translate(dict.fromkeys(map(ord, ZERO_WIDTH))).strip()


def require_numbers(value: object) -> None:
    """Raise UnusableReply if the value contains an InvalidNumber."""
    for leaf in leaves(value):
        if isinstance(leaf, InvalidNumber):
            raise UnusableReply(f"{leaf} is no number that JSON has.")


def leaves(value: object) -> Iterator[object]:
    """The values inside objects and lists, in order, without the objects and lists themselves."""
    match value:
        case dict():
            yield from leaves(list(value.values()))
        case list():
            for item in value:
                yield from leaves(item)
        case _:
            yield value


class LenientJsonReader:
    """Reads the object that begins at offset `at` of a text. Afterwards `at` is the offset after the object.

    `is_closed`: False if only the last brace of the outermost object is missing.
    `is_mended`: the end of at least one string had to be inferred, because a quote in it is not escaped, for example.
    """

    def __init__(self, text: str, start: int) -> None:
        if len(text) - start > MAX_OBJECT_CHARACTERS:
            raise UnusableReply(f"{NOT_JSON}, and too long to find out what was meant.")
        self.text, self.at, self.depth, self.end = text, start, 0, len(text.rstrip("` \t\r\n"))
        self.is_closed, self.is_mended, self.is_in_thoughts = True, False, False

    def read(self) -> dict[str, object]:
        """The object; raise UnusableReply if the text ends inside it or it can be read in two ways."""
        self._open()
        is_double = self._takes(OPEN)
        members: list[tuple[str, object]] = []
        while not self._takes(CLOSE):
            members.append(self._member())
            if not self._takes(COMMA) and self.depth == 1 and self._peek() == "":
                self.is_closed = False
                return merge_members(members)
        if is_double and not self._takes(CLOSE):
            self._fail("a brace is missing")
        self.depth -= 1
        return merge_members(members)

    def _member(self) -> tuple[str, object]:
        key = self._string("key") if self._next() in QUOTES else self._bare()
        if not isinstance(key, str):
            self._fail("a name is missing")
        self._next()
        if not self._takes(COLON):
            self._fail("a colon is missing")
        if self.depth > 1 or strip_zero_width(key).casefold() != "thoughts":
            return key, self._value("member")
        self._next()
        start, self.is_in_thoughts = self.at, True
        value, self.is_in_thoughts = self._value("member"), False
        if isinstance(value, dict):
            self._skip_repeats(self.text[start : self.at])
        return key, value

    def _skip_repeats(self, raw: str) -> bool:
        """Skip repetitions of the last value, whose text is `raw`; return whether there were any.

        A string before a colon is a name and not a repetition.
        """
        is_repeated = False
        while True:
            at = self._after_space(self.at)
            at = self._after_space(at + 1) if self.text[at : at + 1] in tuple(COMMA) else at
            after = self._after_space(at + len(raw))
            if not self.text.startswith(raw, at) or self.text[after : after + 1] in tuple(COLON):
                return is_repeated
            self.at, is_repeated = at + len(raw), True

    def _value(self, within: Within) -> object:
        letter = self._next()
        if letter in OPEN:
            return self.read()
        if letter in OPEN_LIST:
            return self._list()
        if letter in QUOTES:
            return self._string(within)
        if letter in CLOSE + COMMA + COLON + CLOSE_LIST:
            self._fail("a value is missing")
        return _bare_value(self._bare())

    def _list(self) -> list[object]:
        self._open()
        items: list[object] = []
        while not self._takes(CLOSE_LIST):
            items.append(self._value("item"))
            if not self._takes(COMMA) and self._next() not in CLOSE_LIST:
                self._fail("a comma is missing")
        self.depth -= 1
        return items

    def _string(self, within: Within) -> str:
        quote = self.text[self.at]
        if quote in "\"'" and self.text.startswith(quote * 3, self.at):
            return self._block(quote * 3)
        if self.is_in_thoughts and within == "member" and (raw := self._repeated()):
            return _decode_string(raw, quote)
        return self._quoted(quote, within)

    def _quoted(self, quote: str, within: Within) -> str:
        start, inner = self.at + 1, 0
        for found in QUOTE_ENDS[quote].finditer(self.text, start, self.end):
            at = found.start()
            if found.group()[0] == "\\" or self._is_apostrophe(at):
                continue
            if self._closes(at + 1, within):
                if inner % 2 or (inner and within == "key"):
                    break
                self.at, self.is_mended = at + 1, self.is_mended or bool(inner)
                return _decode_string(self.text[start:at], quote)
            inner += 1
            if self.text[at + 1 if inner % 2 else at - 1].isspace():
                break  # neither an opening nor a closing quote of a quotation
        if not inner:
            raise UnusableReply(CUT_OFF)
        return self._fail("quotes inside a string are not escaped")

    def _repeated(self) -> str:
        """The raw content of the string here, if the model wrote it several times in a row; else ""."""
        found, start = STRICT_STRING.match(self.text, self.at, self.end), self.at
        self.at = found.end() if found else start
        if found and self._skip_repeats(found.group()):
            return found.group()[1:-1]
        self.at = start
        return ""

    def _block(self, quotes: str) -> str:
        start = self.at + 3
        end = self.text.find(quotes, start)
        if end < 0:
            raise UnusableReply(CUT_OFF)
        self.at, self.is_mended = end + 3, True
        return _decode_string(self.text[start:end], quotes[0])

    def _is_apostrophe(self, at: int) -> bool:
        around = self.text[at - 1], self.text[at + 1 : at + 2]
        return self.text[at] in "'’" and all(letter.isalnum() for letter in around)

    def _closes(self, at: int, within: Within) -> bool:
        """Whether a string can end before offset `at`, judged by the text that begins there."""
        at = self._after_space(at)
        following = self.text[at : min(at + 1, self.end)]
        match within:
            case _ if not following:
                return True
            case "key":
                return following in COLON
            case "item":
                return following in CLOSE_LIST + COMMA
            case "member":
                if following in COMMA:
                    return self._begins_member(self._after_space(at + 1))
                return following in CLOSE or QUOTED_KEY.match(self.text, at) is not None

    def _begins_member(self, at: int) -> bool:
        if at >= self.end or self.text[at] in CLOSE:
            return True
        return (QUOTED_KEY.match(self.text, at) or BARE_KEY.match(self.text, at)) is not None

    def _bare(self) -> str:
        found = BARE_WORD.match(self.text, self.at, self.end)
        if not found:
            self._fail("something is missing")
        self.at = found.end()
        return found.group().rstrip(ZERO_WIDTH)

    def _open(self) -> None:
        self.at += 1
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise UnusableReply("it was nested too deeply.")

    def _takes(self, letters: str) -> bool:
        letter = self._peek()
        found = letter != "" and letter in letters
        self.at += found
        return found

    def _next(self) -> str:
        if not (letter := self._peek()):
            raise UnusableReply(CUT_OFF)
        return letter

    def _peek(self) -> str:
        self.at = self._after_space(self.at)
        return self.text[self.at : min(self.at + 1, self.end)]

    def _after_space(self, at: int) -> int:
        found = SPACE.match(self.text, at, self.end)
        return found.end() if found else at

    def _fail(self, why: str) -> NoReturn:
        near = " ".join(self.text[max(self.at - 30, 0) : self.at + 10].split())
        raise UnusableReply(f"{NOT_JSON}: {why} near {near!r}.")


def merge_members(members: Iterable[tuple[str, object]]) -> dict[str, object]:
    """The members as an object; raise UnusableReply if two members of one name differ."""
    whole: dict[str, object] = {}
    for name, value in members:
        if name in whole and (type(whole[name]), whole[name]) != (type(value), value):
            raise UnusableReply(f'"{name[:80]}" stood twice in one object, with different content.')
        whole[name] = value
    return whole


def parse_float(digits: str) -> float:
    """The number; raise UnusableReply if it is not finite."""
    number = float(digits)
    if not math.isfinite(number):
        raise UnusableReply(f"{digits[:20]} is no number that JSON has.")
    return number


def parse_integer(digits: str) -> int:
    """The number; raise UnusableReply for more than 40 digits."""
    if len(digits) > MAX_DIGITS:
        raise UnusableReply(f"a number of {len(digits)} digits is too long.")
    return int(digits)


def unescape(raw: str) -> str:
    r"""The text with JSON's escapes resolved; also \' and \_. Other backslashes stay."""
    return ESCAPE.sub(
        lambda found: chr(int(found[1], 16)) if found[1] else ESCAPED_CHARACTERS.get(found[2], found[0]), raw
    )


def _bare_value(word: str) -> object:
    if number := NUMBER.fullmatch(word):
        return parse_float(word) if number[1] or number[2] else parse_integer(word)
    if word.casefold() in LITERALS:
        return LITERALS[word.casefold()]
    if word.casefold().lstrip("+-") in ("nan", "inf", "infinity"):
        return InvalidNumber(word)
    if not re.fullmatch(r"[A-Za-z_][\w./-]*", word):
        raise UnusableReply(f"{NOT_JSON}: quotes are missing around {word[:80]!r}.")
    return word


def _decode_string(raw: str, quote: str) -> str:
    """The content of a string with its escapes resolved.

    A backslash before a letter that is not an escape is a backslash, as in a Windows path. In a string with real
    escapes it is ambiguous and raises UnusableReply.
    """
    escapes = list(ESCAPE.finditer(raw))
    is_strange = any(found[2] and found[2].isalnum() and found[2] not in ESCAPED_CHARACTERS for found in escapes)
    is_plain = any(found[1] or found[2] in "ntrbf_'" for found in escapes)
    if (is_strange and is_plain) or (quote == '"' and re.search(r"'\\'|\\''", raw)):
        raise UnusableReply(f"{NOT_JSON}: a backslash can be read in two ways in {raw[:80]!r}.")
    return unescape(raw)
