"""Posting to a public social network."""

from typing import Protocol


class PostPublisher(Protocol):
    """Publishes posts."""

    @property
    def label(self) -> str:
        """The network, as shown to people."""

    async def post(self, text: str) -> str:
        """Publish the text once and return the post's URL, or "" if it is unknown. There is no retry.

        Raise CommandError with a message without secrets. The message says if it is unknown whether the text was
        posted.
        """
