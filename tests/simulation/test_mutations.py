"""Each guard against loss, repetition and standstill is taken out once: the simulation has to notice.

`pytest -m slow -rP tests/simulation/test_mutations.py` prints which seed did so, and after how long.
"""

import sys
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Literal

import pytest

from adapters.web.surface import Hub
from agent_core.engines.local import LocalEngine
from agent_core.loop.claim import AgentClaim, Fence, Step
from agent_core.loop.command_runner import CommandRunner
from agent_core.loop.outcome import Outcome
from agent_core.model.agent import Agent
from agent_core.model.note import Note
from agent_core.model.origin import Origin
from agent_core.ports.database import UnitOfWork
from agent_core.service import agents as agent_service
from agent_core.service.transactional import TransactionalService
from agent_core.spending import helper_tree
from agent_core.spending.budget_ledger import BudgetLedger
from agent_core.spending.spending_tracker import SpendingTracker, StepReservation
from tests.simulation.chat import ProcessSurface
from tests.simulation.job_queue import JobQueue, QueueEngine
from tests.simulation.scheduler import PROCESS
from tests.simulation.test_simulation import MANY, find_complaints

MAX_SEEDS = 400


async def do_nothing(*_given: object, **_named: object) -> None:
    """In place of a guard that returns nothing."""


def ignore_fences(patch: pytest.MonkeyPatch) -> None:
    """A save takes the fence that it finds for its own."""
    original: Any = AgentClaim.save_and_present

    async def save_and_present(claim: AgentClaim, step: Step) -> Outcome:
        async with claim.database.begin() as work:
            fence = (await work.agents.locate(claim.agent.id)).fence
            claim.fence.claimed = replace(claim.agent, fence=fence)
        outcome: Outcome = await original(claim, step)
        return outcome

    patch.setattr(AgentClaim, "save_and_present", save_and_present)


def raise_no_fence(patch: pytest.MonkeyPatch) -> None:
    """A worker that advances an agent is not told apart from the one before."""
    patch.setattr(Agent, "claim", lambda agent: agent)


def go_on_after_a_loss(patch: pytest.MonkeyPatch) -> None:
    """A worker neither asks whether it still has the agent nor ends its steps when another has it."""
    patch.setattr(Fence, "confirm", do_nothing)
    patch.setattr(QueueEngine, "cancel", lambda *_given: None)


def let_jobs_overlap(patch: pytest.MonkeyPatch) -> None:
    """A job begins although another one of its agent runs."""
    patch.setattr(JobQueue, "finish", lambda *_given: None)

    def hand_out(queue: JobQueue) -> None:
        queue.holders.clear()
        original(queue)

    original = JobQueue.hand_out
    patch.setattr(JobQueue, "hand_out", hand_out)


def only_wake_for_stop(patch: pytest.MonkeyPatch) -> None:
    """Stop wakes the agent, whose command goes on until it ends by itself."""
    patch.setattr(JobQueue, "abort", lambda *_given: None)


def throw_results_away(patch: pytest.MonkeyPatch) -> None:
    """A step ends when the database is away, with what it has in hand."""

    async def try_once(_claim: AgentClaim, request: Callable[[], Any]) -> Any:
        return await request()

    patch.setattr(AgentClaim, "_when_reachable", try_once)


def forget_what_was_saved(patch: pytest.MonkeyPatch) -> None:
    """A save whose answer was lost is made again, although its id and the missing reservation tell."""
    original = Outcome.save

    def save(outcome: Outcome, work: UnitOfWork) -> None:
        original(replace(outcome, agent=replace(outcome.agent, save_id="")), work)

    def remove(reservation: StepReservation, work: UnitOfWork) -> None:
        if reservation.id:
            work.reservations.remove(reservation.id, must_exist=False)

    patch.setattr(Outcome, "save", save)
    patch.setattr(SpendingTracker, "drop_if_charged", do_nothing)
    patch.setattr(StepReservation, "remove", remove)


def ask_instead_of_reading_files(patch: pytest.MonkeyPatch) -> None:
    async def find_outcome(*_given: object, **_named: object) -> Literal["unknown"]:
        return "unknown"

    patch.setattr(CommandRunner, "find_outcome", find_outcome)


def drain_at_once(patch: pytest.MonkeyPatch) -> None:
    original = LocalEngine.drain

    async def drain(engine: LocalEngine, _seconds: float) -> int:
        return await original(engine, 0)

    patch.setattr(LocalEngine, "drain", drain)


def save_notes_without_conflict(patch: pytest.MonkeyPatch) -> None:
    original = helper_tree.deliver_note

    def deliver_note(work: UnitOfWork, agent: Agent, note: Note) -> Agent:
        if agent.status.kind == "thinking" and agent.status.waits_for:
            return original(work, agent, note)
        work.notes.add(note)
        return agent

    patch.setattr(agent_service, "deliver_note", deliver_note)


def reserve_nothing(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(StepReservation, "take", do_nothing)


def tell_own_pages_only(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Hub, "join", lambda *_given: None)


def keep_settled_reservations(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(BudgetLedger, "_delete_settled", do_nothing)


def remember_what_was_drawn(patch: pytest.MonkeyPatch) -> None:
    """A worker leaves out what it drew before, although another worker has drawn something else since."""
    patch.setattr(ProcessSurface, "forget_shown", lambda *_given: None)


def remember_deliveries_in_the_process(patch: pytest.MonkeyPatch) -> None:
    """Each gateway knows only the events that it received itself."""
    received: dict[tuple[object, str | None], Origin] = {}

    async def is_repeated(_service: TransactionalService, _work: UnitOfWork, origin: Origin) -> bool:
        return received.setdefault((PROCESS.get(), origin.delivery), origin) is not origin

    patch.setattr(TransactionalService, "is_repeated", is_repeated)


MUTATIONS: dict[str, tuple[str, Callable[[pytest.MonkeyPatch], None]]] = {
    "A: the fence is not compared": (f"suspensions, {MANY}", ignore_fences),
    "A: an advance raises no fence": (f"suspensions, {MANY}", raise_no_fence),
    "A: two jobs of one agent run at once": (f"calm, {MANY}", let_jobs_overlap),
    "C: SIGTERM gives commands no time": ("deploys", drain_at_once),
    "D: a result in hand is thrown away": ("outages", throw_results_away),
    "E: Stop does not cancel the job": (f"calm, {MANY}", only_wake_for_stop),
    "E: a change is told only to pages of its own process": (f"calm, {MANY}", tell_own_pages_only),
    "money of a late reservation stays reserved": ("late commits", keep_settled_reservations),
    "F: a call reserves nothing": ("power cuts", reserve_nothing),
    "G: a note does not conflict with a step": ("calm", save_notes_without_conflict),
    "H: a worker does not forget what it drew": (f"calm, {MANY}", remember_what_was_drawn),
    "J: a suspended worker goes on although it lost its agents": (f"suspensions, {MANY}", go_on_after_a_loss),
    "J: a commit whose answer was lost is made again": ("outages", forget_what_was_saved),
    "K: each gateway knows only its own deliveries": (f"calm, {MANY}", remember_deliveries_in_the_process),
    "people are asked although the file tells": ("power cuts", ask_instead_of_reading_files),
}


@pytest.mark.slow
@pytest.mark.proves("simulation:mutations")
@pytest.mark.parametrize("guard", MUTATIONS)
def test_a_guard_that_is_missing_is_noticed(guard: str, monkeypatch: pytest.MonkeyPatch) -> None:
    storm, take_out = MUTATIONS[guard]
    take_out(monkeypatch)
    begun = time.perf_counter()
    seed, complaints = next(
        ((seed, found) for seed in range(MAX_SEEDS) if (found := find_complaints(seed, storm))), (MAX_SEEDS, [])
    )
    seconds = time.perf_counter() - begun
    sys.stdout.write(f"{guard}: {storm}, seed {seed}, {seconds:.1f} s: {complaints[:1]}\n")
    assert complaints, f"{MAX_SEEDS} seeds of {storm} did not notice"
