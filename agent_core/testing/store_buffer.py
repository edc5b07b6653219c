"""The buffered changes of a unit of work on the in-memory database, and the base of its repositories."""

from agent_core.testing.store import Change, Store


class StoreBuffer:
    """The changes of one unit of work until its commit."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._changes: dict[object, Change] = {}
        self._is_open = True

    @property
    def committed(self) -> Store:
        self.check_open()
        return self._store

    def check_open(self) -> None:
        """Raise RuntimeError once the unit of work has ended."""
        if not self._is_open:
            raise RuntimeError("This unit of work has ended: begin another.")

    def queue(self, change: Change, *, key: object = None) -> None:
        """Buffer a change; it replaces a buffered change with the same `key`."""
        self.check_open()
        self._changes[object() if key is None else key] = change

    def commit(self) -> None:
        """Apply the buffered changes; raise Conflict."""
        self.check_open()
        self._is_open = False
        self._store.change(tuple(self._changes.values()))

    def take(self) -> tuple[Change, ...]:
        """The buffered changes, for a commit that takes effect later."""
        return tuple(self._changes.values())

    def close(self) -> None:
        self._is_open = False


class StoreRepository:
    """Base of the repositories: reads committed data and queues changes."""

    def __init__(self, buffer: StoreBuffer) -> None:
        self._buffer = buffer
