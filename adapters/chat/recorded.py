"""Records what a chat shows before it is sent there, so that it counts if the record is forgotten meanwhile."""

from collections.abc import Iterator, MutableMapping
from contextlib import contextmanager
from typing import TypeVar

K = TypeVar("K")
V = TypeVar("V")


@contextmanager
def recorded(shown: MutableMapping[K, V], key: K, value: V) -> Iterator[None]:
    """Record that the with-block shows this value; take it back if the block fails.

    Who forgets the key meanwhile finds it forgotten afterwards. If blocks of a key overlap and one fails, the value
    counts as not shown, which costs one more send.
    """
    shown[key] = value
    is_sent = False
    try:
        yield
        is_sent = True
    finally:
        if not is_sent:
            shown.pop(key, None)
