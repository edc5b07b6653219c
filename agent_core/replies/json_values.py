"""What stands in models' JSON beside its values: zero-width characters in names, and words where numbers should be."""

from dataclasses import dataclass

from agent_core.errors import UnusableReply

ZERO_WIDTH = "\u00ad\u180e\u200b\u200c\u200d\u200e\u200f\u2060\ufeff"


@dataclass(frozen=True, slots=True)
class InvalidNumber:
    """A word that stands where a number should and that JSON does not have: NaN, Infinity."""

    word: str

    def __str__(self) -> str:
        return self.word


def strip_zero_width(name: str) -> str:
    """A name without the zero-width characters and blanks that it was written with."""
    return name.translate(dict.fromkeys(map(ord, ZERO_WIDTH))).strip()


def require_numbers(value: object) -> None:
    """Raise UnusableReply for a word in the value that is no number."""
    match value:
        case InvalidNumber(word):
            raise UnusableReply(f"{word} is no number that JSON has.")
        case dict():
            require_numbers(list(value.values()))
        case list():
            for item in value:
                require_numbers(item)
        case _:
            pass
