"""For a new agent: checks limits and demo goals, finds a free name, keeps the channel's last settings as defaults."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace

from pydantic import TypeAdapter

from agent_core.errors import InvalidInput, NotPossible
from agent_core.model.agent import Agent
from agent_core.model.draft import DEFAULT_NAME, MAX_NAME_CHARACTERS, AgentDraft
from agent_core.model.origin import ChannelScope, Origin
from agent_core.ports.database import UnitOfWork
from agent_core.ports.models import Rehearsal


@dataclass(frozen=True, slots=True, kw_only=True)
class CreationLimits:
    """The operator's limits. Helpers count towards the channel's limit, but not towards a person's.

    Archived agents count towards neither.
    """

    guests_may_create: bool = False
    agents_per_channel: int = 200
    agents_per_person: int = 50


DEFAULT_LIMITS = CreationLimits()


async def require_below_limits(work: UnitOfWork, origin: Origin, limits: CreationLimits) -> None:
    """Raise NotPossible if the channel, or the person in this workspace, has reached the limit."""
    here = len(await work.agents.of(origin.channel))
    if here >= limits.agents_per_channel:
        raise NotPossible(
            f"This channel has {here} agents, which is the most. Archive or delete one first: /agent archive NAME."
        )
    made = await work.agents.list_by_owner(origin.channel.surface, origin.channel.workspace, origin.by.id)
    own = sum(agent.parent is None for agent in made)
    if own >= limits.agents_per_person:
        raise NotPossible(
            f"You have made {own} agents, which is the most for one person. "
            "Archive or delete one first: /agent archive NAME."
        )


ROOM_FOR_NUMBER = 4  # characters


async def find_free_name(work: UnitOfWork, channel: ChannelScope, wanted: str) -> str:
    """The wanted name, with a number if an agent of the channel has it, an archived one included."""
    first = " ".join(wanted.split())[: MAX_NAME_CHARACTERS - ROOM_FOR_NUMBER].rstrip() or DEFAULT_NAME
    name, number = first, 1
    while await work.agents.find_by_name(channel, name):
        number += 1
        name = f"{first} {number}"
    return name


AGENT_DEFAULTS_KEY = "last draft"
ADAPTER = TypeAdapter(AgentDraft)


def save_agent_defaults(work: UnitOfWork, channel: ChannelScope, draft: AgentDraft) -> None:
    """Save the settings of a new agent but free classes and dry run, which each person chooses for each agent."""
    defaults = replace(draft, policy=replace(draft.policy, free=()), dry_run=False)
    work.preferences.put(channel, AGENT_DEFAULTS_KEY, json.dumps(asdict(defaults), default=str))


async def load_agent_defaults(work: UnitOfWork, channel: ChannelScope) -> AgentDraft | None:
    text = await work.preferences.get(channel, AGENT_DEFAULTS_KEY)
    return ADAPTER.validate_python(json.loads(text)) if text else None


async def forget_agent_defaults(work: UnitOfWork, agent: Agent) -> None:
    """Forget the settings that a deleted agent left for the channel's next one."""
    last = await load_agent_defaults(work, agent.channel)
    if last and last.name.casefold() == agent.name.casefold():
        work.preferences.put(agent.channel, AGENT_DEFAULTS_KEY, "")


def require_rehearsed(rehearsal: Rehearsal | None, *, goals: Sequence[str] = (), model: str = "") -> None:
    """Raise InvalidInput for goals and a model that the script does not have; `rehearsal` is None without demo mode."""
    if rehearsal is None:
        return
    found = {"goals": rehearsal.goals_problem(goals), "model": rehearsal.model_problem(model)}
    if problems := {field: problem for field, problem in found.items() if problem}:
        raise InvalidInput(problems)
