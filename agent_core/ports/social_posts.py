"""Posting to a public social network."""

from typing import Protocol


class PostPublisher(Protocol):
    """Publishes posts."""

    @property
    def label(self) -> str:
        """The network, as shown to people."""

    async def post(self, text: str) -> str:
        """Publish the text without any retry; return the post's URL, or "" if it is unknown.

        Raise CommandError, without secrets in its message. If it is not known whether the text was posted, the message
        says so.
        """
