"""Records what a chat shows before it is sent there, so that it counts if the record is forgotten meanwhile."""

from collections.abc import Iterator, MutableMapping
from contextlib import contextmanager
from typing import TypeVar

K = TypeVar("K")
V = TypeVar("V")


@contextmanager
def recorded(shown: MutableMapping[K, V], key: K, value: V) -> Iterator[None]:
    """Record that the with-block shows this value; take it back if the block fails.

    At most one block of a key runs at a time. Who forgets the key meanwhile finds it forgotten afterwards.
    """
    shown[key] = value
    is_sent = False
    try:
        yield
        is_sent = True
    finally:
        if not is_sent:
            shown.pop(key, None)
