"""The end of a process in order: model calls are given up, running commands get time to end, nothing new begins."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any


@dataclass(slots=True)
class Draining:
    """Whether this process is shutting down. The loop looks at it before each step.

    `is_over`: there is no more time, so nothing waits for a database that is away.
    """

    is_requested: bool = False
    is_over: bool = False
    _model_calls: dict["asyncio.Task[Any]", None] = field(default_factory=dict, repr=False)

    @contextmanager
    def give_up_on_request(self) -> Iterator[None]:
        """Cancel the current task if draining is requested inside the with-block, or was before it.

        For steps that lose nothing: a model call is charged for what it used, and made again by the next process.
        """
        task = asyncio.current_task()
        if self.is_requested or task is None:
            raise asyncio.CancelledError
        self._model_calls[task] = None
        try:
            yield
        finally:
            self._model_calls.pop(task, None)

    def request(self) -> None:
        """Begin to drain: the model calls in progress are given up."""
        self.is_requested = True
        for task in self._model_calls:
            task.cancel()
