"""Jobs of Procrastinate, written with the commit that they belong to. Only on PostgreSQL, where its tables are."""

from collections.abc import Sequence

from sqlalchemy import text

from agent_core.model.ids import AgentId
from agent_core.persistence.write_buffer import SqlRepository
from agent_core.persistence.writes import JOBS

# The queue is the surface, so that only processes that can show the agent take the job. Jobs with one lock run one at
# a time. See procrastinate.readthedocs.io, "Locks" and "Defer a job".
_DEFER = """
SELECT procrastinate_defer_jobs_v1(ARRAY[ROW(surface, 'advance', 0, id, NULL, jsonb_build_object('agent', id), NULL)
    ::procrastinate_job_to_defer_v1]) FROM agents"""
# An agent of a terminal is advanced by its own process, which queues nothing. A waiting job is enough for all wakes: it
# is locked until this commit, so that it cannot run before what it is to see.
_DEFER_ONE = text(
    f"{_DEFER} WHERE id = :the_id AND surface <> 'terminal' AND NOT EXISTS "
    "(SELECT FROM procrastinate_jobs WHERE lock = agents.id AND status = 'todo' FOR UPDATE)"
)
_DEFER_IDLE = text(
    f"{_DEFER} WHERE id = ANY(:ids) AND NOT EXISTS "
    "(SELECT FROM procrastinate_jobs WHERE lock = agents.id AND status IN ('todo', 'doing'))"
)
_ABORT = text(
    "SELECT procrastinate_cancel_job_v1(id, true, false) FROM procrastinate_jobs "
    "WHERE lock = :the_id AND status = 'doing'"
)
_HOLD = text(
    "UPDATE procrastinate_jobs SET attempts = attempts WHERE id = :the_id AND worker_id = :worker AND status = 'doing'"
)

_HAS_WORKERS = text("SELECT to_regclass('procrastinate_workers') IS NOT NULL AS made")
_WORKERS = text("SELECT count(*) AS number FROM procrastinate_workers WHERE last_heartbeat > now() - interval '5 s'")


class SqlJobs(SqlRepository):
    """See `Jobs` in the ports."""

    def defer(self, agent_id: AgentId) -> None:
        self._buffer.queue(_DEFER_ONE, {"the_id": agent_id}, key=("job", agent_id), rank=JOBS)

    def defer_idle(self, agent_ids: Sequence[AgentId]) -> None:
        self._buffer.queue(_DEFER_IDLE, {"ids": list(agent_ids)}, rank=JOBS)

    def abort(self, agent_id: AgentId) -> None:
        self._buffer.queue(_ABORT, {"the_id": agent_id}, rank=JOBS)

    def hold(self, job_id: int, worker_id: int) -> None:
        self._buffer.queue(_HOLD, {"the_id": job_id, "worker": worker_id}, checked=True, rank=JOBS)

    async def count_workers(self) -> int:
        if not (await self._buffer.rows(_HAS_WORKERS, {}))[0].made:
            return 0
        number: int = (await self._buffer.rows(_WORKERS, {}))[0].number
        return number
