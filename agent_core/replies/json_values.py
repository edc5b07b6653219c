"""Checks and cleans a model's JSON: strips zero-width characters from names, rejects NaN and Infinity, lists leaves."""

from collections.abc import Iterator
from dataclasses import dataclass

from agent_core.errors import UnusableReply

ZERO_WIDTH = "\u00ad\u180e\u200b\u200c\u200d\u200e\u200f\u2060\ufeff"


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
