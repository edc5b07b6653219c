"""When the heartbeats of other workers were seen to grow, by the clock of the worker that looks."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from agent_core.model.ids import WorkerId
from agent_core.model.worker import Worker

TAKEOVER_SECONDS = 5.0
GAP_SECONDS = 3.0  # who has not looked for so long begins to watch the others again


@dataclass(slots=True)
class Sighting:
    """A number of heartbeats of another worker, and when it was first seen (`Clock.elapsed`)."""

    beats: int
    at: float


@dataclass(slots=True)
class WorkerSightings:
    """The newest sighting of each other worker."""

    _newest: dict[WorkerId, Sighting] = field(default_factory=dict)
    _looked_at: float = 0.0

    @property
    def any(self) -> bool:
        return bool(self._newest)

    def find_silent(self, others: Sequence[Worker], now: float) -> list[Worker]:
        """Note the heartbeats of the others; return those whose number has not grown for TAKEOVER_SECONDS."""
        if now - self._looked_at > GAP_SECONDS:
            self._newest.clear()
        self._looked_at = now
        self._newest = {worker.id: self._sight(worker, now) for worker in others}
        return [worker for worker in others if now - self._newest[worker.id].at >= TAKEOVER_SECONDS]

    def clear(self) -> None:
        """Watch the others afresh."""
        self._newest.clear()

    def _sight(self, worker: Worker, now: float) -> Sighting:
        seen = self._newest.get(worker.id)
        return seen if seen and seen.beats == worker.beats else Sighting(worker.beats, now)
