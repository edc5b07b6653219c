"""What an operator looks at, of all channels: workers, stuck agents, old proposals, spending, faults. Read-only.

Sums are the database's: nothing here reads every agent.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from agent_core.model.agent import Agent
from agent_core.model.ids import AgentId
from agent_core.model.records.operations import QueueState, SpendingSums, WorkerLoad
from agent_core.ports.clock import Clock
from agent_core.ports.database import Database
from agent_core.text.own_commands import process_text

DAYS, MAX_LISTED = 30, 10
STUCK_AFTER = timedelta(minutes=15)  # a command ends after ten minutes


@dataclass(frozen=True, slots=True, kw_only=True)
class OperationsReport:
    """`agents`: how many are in each status. `held`: agents of `workers`, by id. `queue` is None without one.

    `stuck`: at one step for longer than STUCK_AFTER, without those that wait for people or helpers. `oldest`: the
    proposals that wait longest. `paused`: the last that Signoff paused, each with its reason. At most MAX_LISTED each.
    """

    agents: Mapping[str, int]
    workers: tuple[WorkerLoad, ...]
    held: Mapping[AgentId, Agent]
    queue: QueueState | None
    stuck: tuple[Agent, ...]
    oldest: tuple[Agent, ...]
    paused: tuple[Agent, ...]
    spending: SpendingSums
    today: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Operations:
    """`in_progress`: how many agents this process advances."""

    database: Database
    clock: Clock
    in_progress: Callable[[], int]

    async def report(self) -> OperationsReport:
        now = self.clock.now()
        today = now.date()
        async with self.database.begin() as work:
            agents: dict[str, int] = {}
            for count in await work.agents.census():
                agents[count.status] = agents.get(count.status, 0) + count.number
            workers, queue = await work.jobs.list_workers(), await work.jobs.state()
            shown = [agent_id for each in workers for agent_id in each.agents]
            held = await work.agents.list_by_id(shown)
            return OperationsReport(
                agents=agents,
                workers=(WorkerLoad(process_text(), self.in_progress()),) if queue is None else workers,
                held={each.id: each for each in held},
                queue=queue,
                stuck=await work.agents.list_stuck(now - STUCK_AFTER, MAX_LISTED),
                oldest=await work.agents.list_longest("awaiting", MAX_LISTED),
                paused=await work.agents.list_newest("paused", MAX_LISTED),
                spending=await work.budgets.sum_days((today - timedelta(days=DAYS - 1)).isoformat()),
                today=today.isoformat(),
            )

    async def oldest_wait(self) -> datetime | None:
        """Since when the proposal that waits longest does."""
        async with self.database.begin() as work:
            found = await work.agents.list_longest("awaiting", 1)
        return found[0].since if found else None
