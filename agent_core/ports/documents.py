"""What reads files that are more than plain text."""

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Reading:
    """What a file says. `note` tells in a sentence how it was read, where that is not plain, or what was left out."""

    text: str
    note: str = ""


class Documents(Protocol):
    """Reads files that anybody may have made, within bounds of time and memory, and touches nothing but their bytes."""

    async def text_of(self, name: str, data: bytes) -> Reading:
        """The text of a file of that name.

        Raise CommandError with a sentence for the model where there is none, it is locked, or it takes too much.
        """
        ...
