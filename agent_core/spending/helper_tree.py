"""The tree of helpers: its agents, their shared budget, what spreads in it (reports, notes, taint, paused leases)."""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from decimal import Decimal

from agent_core.errors import CommandError, NotFound
from agent_core.model.agent import Acting, Agent, Finished, Paused, Stopped, Thinking
from agent_core.model.ids import AgentId
from agent_core.model.model_calls import FREE, Budget, CallKind, Usage, total_cost
from agent_core.model.note import Note, Notice
from agent_core.model.origin import Actor
from agent_core.model.permissions import Lease
from agent_core.model.records.reservation import Account
from agent_core.oversight.policy import may_decide
from agent_core.oversight.untrusted_content import expose
from agent_core.ports.database import UnitOfWork


async def list_helpers_below(work: UnitOfWork, agent: Agent) -> tuple[Agent, ...]:
    """All descendants of the agent, oldest first, as this unit of work will save them."""
    below, ids = [], {agent.id}
    for each in await _list_beside(work, agent):
        if each.parent in ids:
            ids.add(each.id)
            below.append(each)
    return await _with_unsaved_changes(work, below)


async def list_helpers_of(work: UnitOfWork, agent: Agent) -> tuple[Agent, ...]:
    """The helpers that the agent started itself, oldest first, as this unit of work will save them."""
    started = (each for each in await work.agents.of(agent.channel) if each.parent == agent.id)
    return await _with_unsaved_changes(work, started)


async def budget_of(work: UnitOfWork, agent: Agent) -> Budget:
    """The agent's budget; for a helper, the budget of its root agent, and 0 US dollars if that was deleted."""
    if agent.head is None:
        return agent.budget
    try:
        return (await work.agents.get(agent.channel, agent.head)).budget
    except NotFound:
        return Budget(limit=FREE)


async def charge_root(work: UnitOfWork, agent: Agent, spent: Mapping[CallKind, Usage]) -> None:
    """Charge a helper's spending to its root agent too. The caller saves the helper in the same unit of work."""
    cost = total_cost(spent)
    if agent.head is None or cost <= FREE:
        return
    head = await work.agents.get(agent.channel, agent.head)
    work.agents.save(replace(head, budget=head.budget.spend(cost)))


async def charge_agents(
    work: UnitOfWork, account: Account, spent: Mapping[CallKind, Usage], estimated: Decimal
) -> None:
    """Charge calls to an agent and its root agent, as far as they exist. `estimated`: the part that is an estimate."""
    if account.agent:
        with suppress(NotFound):
            agent = await work.agents.get(account.channel, account.agent)
            work.agents.save(agent.pay(spent, estimated))
    if account.root and account.root != account.agent:
        with suppress(NotFound):
            root = await work.agents.get(account.channel, account.root)
            cost = total_cost(spent)
            work.agents.save(replace(root, budget=root.budget.spend(cost, estimated)))


async def report(work: UnitOfWork, helper: Agent, now: datetime) -> AgentId | None:
    """Tell the parent in a note that its helper is at rest, pass taint on, and end the parent's wait for helpers.

    Return the parent's id; None for a root agent, and if the parent was deleted.
    """
    parent = await _find_parent(work, helper)
    if parent is None:
        return None
    if helper.is_tainted:
        parent, notices = expose(parent, f"the report of {helper.name}", now)
        for notice in notices:
            work.notes.announce(notice)
    deliver_note(work, parent, Note.to(parent, _report_text(helper), by=as_actor(helper), at=now))
    return parent.id


async def report_deletion(work: UnitOfWork, helper: Agent, by: Actor, now: datetime) -> None:
    """Tell the parent in a note that `by` deleted its helper, and end the parent's wait for helpers."""
    if parent := await _find_parent(work, helper):
        deliver_note(work, parent, Note.to(parent, f"{by} deleted me.", by=as_actor(helper), at=now))


async def _find_parent(work: UnitOfWork, helper: Agent) -> Agent | None:
    if helper.parent is None:
        return None
    try:
        return await work.agents.get(helper.channel, helper.parent)
    except NotFound:
        return None


async def save_root(work: UnitOfWork, agent: Agent) -> None:
    """Save the root agent unchanged, so that starting a helper conflicts with deleting an agent of the same tree."""
    with suppress(NotFound):
        work.agents.save(await work.agents.get(agent.channel, agent.home))


async def taint_shared_folder(work: UnitOfWork, agent: Agent, now: datetime) -> None:
    """Expose all others that share the agent's folder, into which it may write untrusted content.

    They may have permission to run a program there that was harmless when people looked at it.
    """
    beside = await _list_beside(work, agent)  # also those archived with it, which may be resumed
    others = (each for each in beside if each.home == agent.home and each.id != agent.id)
    for each in await _with_unsaved_changes(work, others):
        exposed, notices = expose(each, f"{agent.name}, who shares its folder", now)
        work.agents.save(replace(exposed, folder_tainted=True))
        for notice in notices:
            work.notes.announce(notice)


async def may_others_write(work: UnitOfWork, agent: Agent) -> bool:
    """Whether another agent runs a command that may still write untrusted content into the folder that they share."""
    family = (each for each in await work.agents.of(agent.channel) if each.home == agent.home and each.id != agent.id)
    return agent.folder_tainted and any(isinstance(each.status, Acting) for each in family)


def deliver_note(work: UnitOfWork, agent: Agent, note: Note) -> Agent:
    """Save a note for the agent's next turn and end the agent's wait for helpers; return the agent as saved.

    The agent is saved even if it does not change. A step of the loop that found no note then conflicts and starts over;
    otherwise it could begin a long wait, or finish, beside a note that nobody reads.
    """
    work.notes.add(note)
    waits = isinstance(agent.status, Thinking) and agent.status.waits_for
    heard = agent.become(Thinking(), note.at) if waits else agent
    work.agents.save(heard)
    return heard


async def pause_leases(work: UnitOfWork, agent: Agent, by: Actor, at: datetime) -> tuple[Agent, ...]:
    """Pause the leases of all agents in the thread, because `by` spoke there; return these agents as saved.

    A lease ends if `by` may not decide for its agent: that is an objection.
    """
    tree = (each for each in await work.agents.of(agent.channel) if each.home == agent.home)
    heard = await _with_unsaved_changes(work, tree)
    spoken = [_after_words(each, each.lease, by, at) for each in heard if each.lease and not each.lease.paused_by]
    for each, notice in spoken:
        work.agents.save(each)
        work.notes.announce(notice)
    return tuple(each for each, _ in spoken)


def _after_words(agent: Agent, lease: Lease, by: Actor, at: datetime) -> tuple[Agent, Notice]:
    if not may_decide(agent, by):
        text = f"{by}, who does not decide here, wrote, so {lease} ended."
        return replace(agent, lease=None), Notice.to(agent, "lease ended", text, at)
    text = f"{by} wrote, so {lease} is paused: the next step asks. Approve ×N goes on without asking."
    return replace(agent, lease=replace(lease, paused_by=by)), Notice.to(agent, "changed", text, at)


def as_actor(agent: Agent) -> Actor:
    """The agent as the author of a note."""
    return Actor(id=agent.id, display=agent.name, kind="bot", workspace=agent.channel.workspace)


async def _list_beside(work: UnitOfWork, agent: Agent) -> tuple[Agent, ...]:
    """The agents among which those of the agent's tree are: all that lists show, and those archived with it."""
    archived = await work.agents.list_archived_at(agent.channel, agent.archived_at) if agent.archived_at else ()
    return (*archived, *await work.agents.of(agent.channel))


async def _with_unsaved_changes(work: UnitOfWork, agents: Iterable[Agent]) -> tuple[Agent, ...]:
    """The agents of a list as this unit of work will save them, without those that were deleted.

    A list has committed values only: a save of one of these overwrites what this unit of work saved before.
    """
    present = []
    for each in agents:
        with suppress(NotFound):
            present.append(await work.agents.get(each.channel, each.id))
    return tuple(present)


def _report_text(helper: Agent) -> str:
    match helper.status:
        case Finished(reason):
            return f"I am done. {reason}"
        case Paused(reason):
            return f"I am paused. {reason}"
        case Stopped(by):
            return f"{by} stopped me."
        case _:
            return "I am not running."


def find_helper(helpers: tuple[Agent, ...], key: str) -> Agent:
    """The helper of that id, name or number; raise CommandError with the names of all helpers."""
    if by_id := next((helper for helper in helpers if helper.id == key), None):
        return by_id
    wanted = " ".join(key.split()).casefold().removeprefix("@")
    for number, helper in enumerate(helpers, 1):
        if wanted in (helper.name.casefold(), str(number)):
            return helper
    there = ", ".join(helper.name for helper in helpers) or "none; start_agent starts one"
    raise CommandError(f"You have no helper {key}. Your helpers are: {there}.")
