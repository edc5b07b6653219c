"""What puts words before the public."""

from typing import Protocol


class PostPublisher(Protocol):
    """Posts for everybody to read. `label` says where."""

    @property
    def label(self) -> str:
        """What people are told that posts."""
        ...

    async def post(self, text: str) -> str:
        """Post the text, once, and give the post's address or "" where none is told.

        Raise CommandError with a sentence that holds no key; where it is not known whether the text was posted, it
        says so. Nothing is tried again.
        """
        ...
