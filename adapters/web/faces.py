"""The generated avatars of agents and people: the first letter of a name, on one of twelve hues."""

import zlib
from dataclasses import dataclass

import regex

HUES = 12


@dataclass(frozen=True, slots=True)
class Face:
    """An avatar. `hue`: the number of a class in `tokens.css`."""

    letter: str
    hue: int


def face_of(name: str, key: str) -> Face:
    """The avatar of who has this name. `key` decides the hue, and stays the same through a change of name."""
    first = regex.search(r"[\p{L}\p{N}]\p{M}*", name)
    return Face(first[0].upper() if first else "?", zlib.crc32(key.encode()) % HUES)
