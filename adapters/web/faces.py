"""The generated avatars of agents and people: the initials of a name, in one of 24 looks."""

import zlib
from dataclasses import dataclass

import regex

LOOKS = 24
WORDS = regex.compile(r"[\p{L}\p{N}][\p{L}\p{N}\p{M}]*")


@dataclass(frozen=True, slots=True)
class Face:
    """An avatar. `look`: a number below LOOKS, for the colour."""

    letters: str
    look: int


def face_of(name: str, key: str) -> Face:
    """The avatar of who has this name. `key` decides the look, and stays the same through a change of name.

    It has the initials of two words, or how one word begins: one letter in scripts that join them.
    """
    words = [regex.findall(r"\X", word) for word in WORDS.findall(name)] or [["?"]]
    pair = (words[0][0].upper(), words[1][0].upper() if words[1:] else "".join(words[0][1:2]))
    is_cased = all(each.lower() != each.upper() for each in pair)
    return Face("".join(pair) if is_cased else pair[0], zlib.crc32(key.encode()) % LOOKS)
