"""What people settle about an agent while it lives: its goals, what it may spend, and which sites it may reach."""

from dataclasses import dataclass, replace
from decimal import Decimal

from agent_core.errors import InvalidInput, NotAllowed, NotPossible
from agent_core.model.actors import Origin
from agent_core.model.agent import Agent
from agent_core.model.audit import AuditEntry
from agent_core.model.channels import ChannelScope
from agent_core.model.draft import goals_of, problem_of_goals
from agent_core.model.ids import AgentId
from agent_core.model.sites import SITES_KEY, Sites, parse_sites, serialise_sites
from agent_core.model.usage import Budget
from agent_core.oversight.policy import require_may_decide
from agent_core.ports.database import UnitOfWork
from agent_core.service.transactional import TransactionalService

MOST = 1_000_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentSettings(TransactionalService):
    """Changes that an agent's next thought is the first to know."""

    async def set_goals(self, agent_id: AgentId, goals: tuple[str, ...], origin: Origin) -> Agent:
        """Set what the agent works toward; raise NotAllowed, or InvalidInput for goals that cannot be used."""
        kept = goals_of(goals)
        if problem := problem_of_goals(kept):
            raise InvalidInput({"goals": problem})
        listed = " ".join(f"{number}. {goal}" for number, goal in enumerate(kept, 1))

        async def change(work: UnitOfWork, agent: Agent) -> Agent:
            require_may_decide(agent, origin.by, "set goals here")
            self.announce(work, agent, "changed", f"{origin.by} set the goals: {listed}")
            return replace(agent, goals=kept)

        return await self.change(agent_id, origin, "set the goals", change, listed)

    async def set_budget(self, agent_id: AgentId, limit: Decimal | None, origin: Origin) -> Agent:
        """Set what the agent may spend in US dollars; None is no limit."""
        _must_be_usable(limit)

        async def change(work: UnitOfWork, agent: Agent) -> Agent:
            require_may_decide(agent, origin.by, "set budgets here")
            if agent.head:
                raise NotPossible(f"{agent.name} spends from the budget of the agent it helps: set that one's.")
            self.announce(work, agent, "changed", f"{origin.by} set the budget to {_limit_text(limit)}.")
            return replace(agent, budget=Budget(limit=limit, spent=agent.budget.spent))

        return await self.change(agent_id, origin, "set the budget", change, _limit_text(limit))

    async def set_channel_budget(self, limit: Decimal | None, origin: Origin) -> Budget:
        """Set what all agents of the channel may spend together; full members of the channel may."""
        if origin.by.kind != "member":
            raise NotAllowed("set budgets here: a full member of the channel does.")
        _must_be_usable(limit)

        async def act(work: UnitOfWork) -> Budget:
            budget = await work.budgets.of(origin.channel)
            if not await self.is_repeated(work, origin):
                work.budgets.set_limit(origin.channel, limit)
                self._record(work, origin, "set the channel's budget", _limit_text(limit))
            return replace(budget, limit=limit)

        return await self.save(act)

    async def channel_budget(self, channel: ChannelScope) -> Budget:
        """What the channel may spend and has spent."""
        async with self.database.begin() as work:
            return await work.budgets.of(channel)

    async def set_sites(self, sites: Sites, origin: Origin) -> Sites:
        """Set which sites the agents of the channel may reach; full members of the channel may."""
        if origin.by.kind != "member":
            raise NotAllowed("set sites here: a full member of the channel does.")

        async def act(work: UnitOfWork) -> Sites:
            if not await self.is_repeated(work, origin):
                work.preferences.put(origin.channel, SITES_KEY, serialise_sites(sites))
                self._record(work, origin, "set the channel's sites", _sites_text(sites))
            return sites

        return await self.save(act)

    async def sites(self, channel: ChannelScope) -> Sites:
        """Which sites the agents of the channel may reach."""
        async with self.database.begin() as work:
            return parse_sites(await work.preferences.get(channel, SITES_KEY))

    def _record(self, work: UnitOfWork, origin: Origin, act: str, detail: str) -> None:
        """Write into the decision log what was settled for all agents of the channel."""
        at = self.clock.now()
        work.audit.append(AuditEntry.in_channel(origin.channel, act, by=origin.by, at=at, detail=detail))


def _must_be_usable(limit: Decimal | None) -> None:
    if limit is not None and not (limit.is_finite() and 0 < limit < MOST):
        raise InvalidInput({"budget": "Budget: an amount in US dollars above 0, or nothing for no limit."})


def _limit_text(limit: Decimal | None) -> str:
    return f"${limit:,.2f}" if limit is not None else "no limit"


def _sites_text(sites: Sites) -> str:
    lists = (("allowed", sites.allow), ("denied", sites.deny))
    return " · ".join(f"{word}: {', '.join(hosts)}" for word, hosts in lists if hosts) or "every public site"
