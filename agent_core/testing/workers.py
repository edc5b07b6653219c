"""Repository of the in-memory database: workers and their claims."""

from collections.abc import Mapping

from agent_core.model.ids import AgentId, WorkerId
from agent_core.model.worker import Worker
from agent_core.testing.store_buffer import StoreRepository


class MemoryWorkers(StoreRepository):
    """See `Workers` in the ports."""

    async def list_all(self) -> tuple[Worker, ...]:
        return tuple(sorted(self._buffer.committed.workers.values(), key=lambda worker: worker.id))

    async def claimant(self, agent_id: AgentId) -> WorkerId | None:
        claim = self._buffer.committed.claims.get(agent_id)
        return claim and claim[0]

    async def list_claimed(self, worker_id: WorkerId) -> Mapping[AgentId, int]:
        claims = sorted(self._buffer.committed.claims.items())
        return {agent_id: fence for agent_id, (claimant, fence) in claims if claimant == worker_id}

    def join(self, worker: Worker) -> None:
        self._buffer.queue(lambda store: store.workers.__setitem__(worker.id, worker))

    def beat(self, worker_id: WorkerId, *, accepts: bool) -> None:
        self._buffer.queue(lambda store: store.beat(worker_id, accepts=accepts))

    def remove(self, worker: Worker) -> None:
        self._buffer.queue(lambda store: store.remove_worker(worker))

    def claim(self, agent_id: AgentId, worker_id: WorkerId, fence: int) -> None:
        self._buffer.queue(lambda store: store.claim_agent(agent_id, worker_id, fence))

    def renew_claim(self, agent_id: AgentId, worker_id: WorkerId, fence: int) -> None:
        self._buffer.queue(lambda store: store.renew_claim(agent_id, worker_id, fence))

    def unclaim(self, agent_id: AgentId, worker_id: WorkerId, fence: int) -> None:
        self._buffer.queue(lambda store: store.unclaim_agent(agent_id, worker_id, fence))
