"""Loads what a step goes by: newest turns, unread notes, budgets, and the rights of those who let it run unasked."""

from dataclasses import dataclass
from datetime import datetime

from agent_core.errors import DatabaseAway, NotFound, PersonError, SurfaceError
from agent_core.model.agent import Agent
from agent_core.model.channel_settings import ALL_ON, ToolSwitches
from agent_core.model.decision import Approve
from agent_core.model.model_calls import Budget
from agent_core.model.note import Note
from agent_core.model.origin import Actor
from agent_core.model.turn import Turn
from agent_core.oversight.evaluation import Granters
from agent_core.oversight.policy import may_decide
from agent_core.oversight.repetition import LOOKBACK_TURNS, find_repetition
from agent_core.ports.database import UnitOfWork
from agent_core.ports.surface import ChatSurface
from agent_core.spending.helper_tree import budget_of
from agent_core.toolset.channel_tools import load_tool_switches

MAX_TURNS = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnContext:
    """An agent's newest turns in order, with notes and budgets. The summary covers turns up to number `upto`.

    `notes`: notes that these turns read.
    `waiting`: notes that the next turn will read.
    `own`: the budget of the agent or, for a helper, of its root agent.
    `budget`: the budget of the channel.
    `circling`: a sentence on what the agent repeats, or "".
    `switches`: which tools of plugins and servers are off in the channel.
    """

    turns: tuple[Turn, ...]
    upto: int
    notes: tuple[Note, ...]
    waiting: tuple[Note, ...]
    own: Budget
    budget: Budget
    circling: str
    switches: ToolSwitches = ALL_ON


async def load_turn_context(work: UnitOfWork, agent: Agent, *, has_tools: bool = False) -> TurnContext:
    """Load it in the unit of work; `has_tools`: whether there are commands that the channel can switch off."""
    upto = agent.digest.upto
    last = min(MAX_TURNS, max(LOOKBACK_TURNS, agent.turns - upto))
    turns = await work.turns.of(agent, last=last)
    notes = await work.notes.of(agent, since=_notes_since(turns, upto))
    read = tuple(note for note in notes if note.taken_into)
    return TurnContext(
        turns=turns,
        upto=upto,
        notes=read,
        waiting=await work.notes.list_waiting(agent),
        own=await budget_of(work, agent),
        budget=await work.budgets.of(agent.channel),
        circling=find_repetition([turn for turn in turns if agent.is_in_run(turn.number)]),
        switches=await load_tool_switches(work, agent.channel) if has_tools else ALL_ON,
    )


def _notes_since(turns: tuple[Turn, ...], upto: int) -> datetime | None:
    """The time from which notes are loaded; None for all notes.

    It is the time when the newest summarised turn was proposed. If none of `turns` is summarised, it is the time when
    the first of them was proposed.
    """
    if not turns or turns[0].number == 1:
        return None
    older = [turn for turn in turns if turn.number <= upto]
    return (older[-1] if older else turns[0]).proposed_at


async def look_up_granters(surface: ChatSurface, agent: Agent, command: str) -> Granters:
    """Ask the platform about the people whose permission the agent may use next, and about no others.

    `command`: the one that it wants to run, "" for none.
    """
    makers = [rule.by for rule in agent.read_rules if rule.command == command and rule.effect == "allow"]
    choosers = [agent.free_chooser] if agent.policy.free else []
    wanted = {each.id: each for each in (*choosers, *agent.channel_policy.free_by.values(), *makers)}
    people = [await look_up(surface, agent, each) for each in wanted.values()]
    granter = await look_up(surface, agent, agent.lease.granted_by) if agent.lease else None
    return Granters(people=tuple(filter(None, people)), granter=granter, lease=agent.lease)


async def look_up_approvers(surface: ChatSurface, agent: Agent, turn: Turn) -> dict[str, Actor | None]:
    """Who approved a turn, by id, as the platform knows them now; nobody where it need not be asked once more.

    It is asked where two people approved, the policy names people and groups, a permission let the command run, or
    somebody approved who signed in to the page and may have been barred since.
    """
    last = turn.approvals[-1].decision if turn.approvals else None
    is_unasked = isinstance(last, Approve) and bool(last.under)
    by = {approval.by.id: approval.by for approval in turn.approvals}
    signed_in = any(each.signed_in for each in by.values())
    if not (turn.needs_two or agent.channel_policy.groups or is_unasked or signed_in):
        return {}
    return {person: await look_up(surface, agent, each) for person, each in by.items()}


async def has_lost_right(surface: ChatSurface, agent: Agent, person: Actor) -> bool:
    """Whether the person may not decide for the agent now; False if there is no answer."""
    try:
        return not may_decide(agent, await surface.actor(agent.channel, person))
    except NotFound as gone:
        return gone.kind != "channel"
    except (PersonError, SurfaceError, DatabaseAway, TimeoutError):
        return False


async def look_up(surface: ChatSurface, agent: Agent, person: Actor) -> Actor | None:
    """A person as the platform knows them now; None if it gave no answer."""
    try:
        return await surface.actor(agent.channel, person)
    except (PersonError, SurfaceError, DatabaseAway, TimeoutError):
        return None
