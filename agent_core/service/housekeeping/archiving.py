"""Archives agents at rest, so that lists leave them out, and takes them back; says what hinders it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from agent_core.errors import NotFound, NotPossible
from agent_core.model.agent import Agent, Awaiting
from agent_core.model.ids import AgentId
from agent_core.model.origin import Origin
from agent_core.oversight.policy import require_may_decide
from agent_core.ports.database import UnitOfWork
from agent_core.service.transactional import TransactionalService
from agent_core.spending.helper_tree import list_helpers_below


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentArchive(TransactionalService):
    """The part of AgentService that archives. An agent is archived, and taken back, with all agents of its tree."""

    async def archive(self, agent_id: AgentId, origin: Origin) -> Agent:
        """Leave an agent at rest out of lists, of what waits for people and of reminders, until it is taken back.

        Raise NotAllowed, or NotPossible for a helper, or if one of the tree is at work or it is archived already.
        """

        async def change(work: UnitOfWork, agent: Agent) -> Agent:
            require_may_decide(agent, origin.by, "archive agents here")
            helpers = await list_helpers_below(work, agent)
            if hindrance := find_archive_hindrance(agent, helpers):
                raise NotPossible(hindrance)
            at = max(self.clock.now(), *(each.since for each in (agent, *helpers)))
            for helper in helpers:
                work.agents.save(helper.archive(at))
            paused = " Its schedule is paused." if agent.scheduled_at else ""
            self.announce(work, agent, "changed", f"archived by {origin.by}. Resume brings it back.{paused}")
            return agent.archive(at)

        return await self.change(agent_id, origin, "archived", change)

    async def unarchive(self, agent_id: AgentId, origin: Origin) -> Agent:
        """Let lists show an archived agent again, as it was; raise NotAllowed, or NotPossible if it is not archived."""

        async def change(work: UnitOfWork, agent: Agent) -> Agent:
            require_may_decide(agent, origin.by, "unarchive agents here")
            if not agent.is_archived:
                raise NotPossible(f"{agent.name} is not archived.")
            self.announce(work, agent, "changed", f"unarchived by {origin.by}.")
            return await take_back(work, agent)

        return await self.change(agent_id, origin, "unarchived", change)


async def take_back(work: UnitOfWork, agent: Agent) -> Agent:
    """The agent, no longer archived; the others of its tree are saved so. Without effect if it is not archived."""
    if agent.archived_at is None:
        return agent
    root = agent
    if agent.head:
        try:
            root = await work.agents.get(agent.channel, agent.head)
        except NotFound:  # deleted: its helpers go with it, unless an older release deleted it
            return replace(agent, archived_at=None)
    for each in (root, *await list_helpers_below(work, root)):
        if each.id != agent.id:
            work.agents.save(replace(each, archived_at=None))
    return replace(agent, archived_at=None)


def find_archive_hindrance(agent: Agent, helpers: Sequence[Agent]) -> str:
    """Why an agent, with the helpers below it, cannot be archived now, and what to do about it; "" if it can."""
    if agent.head:
        return f"{agent.name} is a helper: it is archived with the agent that people made."
    if agent.is_archived:
        return f"{agent.name} is archived already."
    for each in (agent, *helpers):
        if isinstance(each.status, Awaiting):
            return f"Not archived: {each.name} needs approval. Decide or stop it first."
        if not each.is_at_rest:
            return f"Not archived: {each.name} is at work. Stop it first."
    return ""
