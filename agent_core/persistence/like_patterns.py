r"""Patterns of SQL's LIKE that find every JSON text, as `json_codec` writes it, in which a folded word occurs.

They may find others too. JSON is stored in ASCII, so LIKE compares its letters without regard to case on SQLite; other
letters are escapes (`\u03c3`), of which a pattern leaves open what differs between upper and lower case.
"""

import json
import re
from functools import cache, lru_cache

from agent_core.model.text_search import fold

ESCAPE = "!"
BEHIND_THE_LAST_CASED = 0x1E944  # the last letter of Unicode with two cases is U+1E943
_PARTS = re.compile("(?P<open>^s+|s+$|ss+)|.", re.DOTALL)  # ß is ss, and half of it may be at an end of the word
_SPECIAL = re.compile("[%_!]")
_FREQUENT_FIRST = '"etaoinsr:,hldcumfpg0123456789wybvkxjqz'


@lru_cache(1_000)
def patterns_of(word: str) -> tuple[str, str]:
    """Two patterns, both of which a text with the word matches.

    The first is the end of the word from its rarest letter on: the database finds few places to compare.
    """
    parts = ["%" if part["open"] else _pattern_of(part[0]) for part in _PARTS.finditer(word)]
    rarest = max(range(len(parts)), key=lambda at: _FREQUENT_FIRST.find(parts[at]))
    return f"%{''.join(parts[rarest:])}%", f"%{''.join(parts)}%"


def field_pattern(name: str, value: str) -> str:
    """A pattern that every JSON text matches in which a field has this text as its value, and hardly any other."""
    stored = f"{json.dumps(name)}:{json.dumps(value)}".lower()
    return "%" + _SPECIAL.sub(r"!\g<0>", stored) + "%"


def _pattern_of(letter: str) -> str:
    escapes = [json.dumps(each)[1:-1] for each in (letter, *_unfolded().get(letter, ()))]
    if len({len(each) for each in escapes}) > 1:
        return "%"
    merged = ("".join(set(column)) for column in zip(*escapes, strict=True))
    return "".join(_SPECIAL.sub(r"!\g<0>", each) if len(each) == 1 else "_" for each in merged)


@cache
def _unfolded() -> dict[str, list[str]]:
    """For each folded letter outside ASCII the other letters that become it."""
    sources: dict[str, list[str]] = {}
    for letter in map(chr, range(0x80, BEHIND_THE_LAST_CASED)):
        if (folded := fold(letter)) != letter:
            sources.setdefault(folded, []).append(letter)
    return sources
