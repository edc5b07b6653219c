"""A worker: a process that advances agents."""

from dataclasses import dataclass

from agent_core.model.ids import WorkerId


@dataclass(frozen=True, slots=True)
class Worker:
    """A worker as the others see it.

    `process`: identifies its operating system process on its machine; "" if the system cannot tell.
    `beats`: its heartbeats so far. A worker whose number does not grow is suspended, cut off or dead.
    `accepts`: whether it takes agents; False while it drains.
    """

    id: WorkerId
    process: str = ""
    beats: int = 0
    accepts: bool = True
