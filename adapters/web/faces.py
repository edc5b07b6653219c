"""The generated avatars of agents and people: the initials of a name, in one of 24 looks."""

import zlib
from dataclasses import dataclass

import regex

LOOKS = 24
INITIALS = regex.compile(r"(?<![\p{L}\p{N}\p{M}])[\p{L}\p{N}]\p{M}*")


@dataclass(frozen=True, slots=True)
class Face:
    """An avatar. `look`: a number below LOOKS, for the colour."""

    letters: str
    look: int


def face_of(name: str, key: str) -> Face:
    """The avatar of who has this name. `key` decides the look, and stays the same through a change of name.

    Of two words both begin the avatar, where letters stand by themselves: not in scripts that join them.
    """
    initials = [each.upper() for each in INITIALS.findall(name)] or ["?"]
    most = 2 if all(each != each.lower() for each in initials[:2]) else 1
    return Face("".join(initials[:most]), zlib.crc32(key.encode()) % LOOKS)
