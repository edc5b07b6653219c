"""Repository of workers and of the agents that they have claimed."""

from collections.abc import Mapping

from sqlalchemy import bindparam, delete, insert, select, update

from agent_core.model.ids import AgentId, WorkerId
from agent_core.model.worker import Worker
from agent_core.persistence.tables import claims, workers
from agent_core.persistence.write_buffer import SqlRepository

_LIST = select(workers.c.id, workers.c.process, workers.c.beats, workers.c.accepts).order_by(workers.c.id)
_BY_ID = workers.c.id == bindparam("the_id")
_OF_AGENT = claims.c.agent_id == bindparam("of_agent")
_OF_WORKER = claims.c.worker_id == bindparam("of_worker")
_CLAIMANT = select(claims.c.worker_id).where(_OF_AGENT)
_CLAIMED = select(claims.c.agent_id, claims.c.fence).where(_OF_WORKER).order_by(claims.c.agent_id)
_JOIN = insert(workers)
_BEAT = update(workers).where(_BY_ID).values(beats=workers.c.beats + 1, accepts=bindparam("now_accepts"))
_REMOVE = delete(workers).where(_BY_ID, workers.c.beats == bindparam("read"))
_CLAIM = insert(claims)
_RENEW = update(claims).where(_OF_AGENT, _OF_WORKER)
_UNCLAIM = delete(claims).where(_OF_AGENT, _OF_WORKER, claims.c.fence == bindparam("at_fence"))


class SqlWorkers(SqlRepository):
    """See `Workers` in the ports."""

    async def list_all(self) -> tuple[Worker, ...]:
        rows = await self._buffer.rows(_LIST, {})
        return tuple(Worker(WorkerId(row.id), row.process, row.beats, row.accepts) for row in rows)

    async def claimant(self, agent_id: AgentId) -> WorkerId | None:
        rows = await self._buffer.rows(_CLAIMANT, {"of_agent": agent_id})
        return WorkerId(rows[0].worker_id) if rows else None

    async def list_claimed(self, worker_id: WorkerId) -> Mapping[AgentId, int]:
        rows = await self._buffer.rows(_CLAIMED, {"of_worker": worker_id})
        return {AgentId(row.agent_id): row.fence for row in rows}

    def join(self, worker: Worker) -> None:
        columns = {"process": worker.process, "beats": worker.beats, "accepts": worker.accepts}
        self._buffer.queue(_JOIN, {"id": worker.id, **columns})

    def beat(self, worker_id: WorkerId, *, accepts: bool) -> None:
        self._buffer.queue(_BEAT, {"the_id": worker_id, "now_accepts": accepts}, checked=True)

    def remove(self, worker: Worker) -> None:
        self._buffer.queue(_REMOVE, {"the_id": worker.id, "read": worker.beats}, checked=True)

    def claim(self, agent_id: AgentId, worker_id: WorkerId, fence: int) -> None:
        self._buffer.queue(_CLAIM, {"agent_id": agent_id, "worker_id": worker_id, "fence": fence})

    def renew_claim(self, agent_id: AgentId, worker_id: WorkerId, fence: int) -> None:
        self._buffer.queue(_RENEW, {"of_agent": agent_id, "of_worker": worker_id, "fence": fence}, checked=True)

    def unclaim(self, agent_id: AgentId, worker_id: WorkerId, fence: int) -> None:
        self._buffer.queue(_UNCLAIM, {"of_agent": agent_id, "of_worker": worker_id, "at_fence": fence})
