"""Charges the model calls of a step that saved none of them."""

from contextlib import suppress
from dataclasses import replace

from agent_core.errors import NotFound
from agent_core.model.agent import Agent
from agent_core.model.ids import AgentId
from agent_core.model.records.reservation import Account
from agent_core.ports.database import UnitOfWork
from agent_core.spending.budget_ledger import charge_account
from agent_core.spending.spending_tracker import SpendingTracker


async def charge_once(
    claimed: Agent,
    account: Account,
    tracker: SpendingTracker,
    save_id: str,
    work: UnitOfWork,
    *,
    earlier_save_id: str,
) -> None:
    """Charge what was spent, and delete its reservation, unless a save with one of these ids has done so already.

    `claimed`: the agent as it was claimed. If another worker has taken it since, it is charged all the same.
    """
    await tracker.drop_if_charged(work)
    present = await _find_agent(work, claimed.id)
    if present and present.save_id and present.save_id in (save_id, earlier_save_id):
        return  # an earlier save took effect
    tracker.remove_reservation(work)
    await charge_account(work, account, tracker.spent)
    if tracker.spent and present and present.fence == claimed.fence:
        charged = await work.agents.locate(claimed.id)
        work.agents.save(replace(charged, save_id=save_id))


async def _find_agent(work: UnitOfWork, agent_id: AgentId) -> Agent | None:
    with suppress(NotFound):
        return await work.agents.locate(agent_id)
    return None
