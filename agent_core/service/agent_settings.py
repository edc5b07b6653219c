"""What people set for agents and channels: goals, models, budgets, policy, web sites and tools."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from decimal import Decimal

from agent_core.errors import InvalidInput, NotAllowed, NotPossible
from agent_core.model.agent import Agent, Awaiting, Paused
from agent_core.model.channel_policy import (
    POLICY_KEY,
    ChannelPolicy,
    parse_channel_policy,
    serialise_channel_policy,
)
from agent_core.model.channel_settings import (
    SITES_KEY,
    TOOLS_KEY,
    Sites,
    ToolSwitches,
    parse_sites,
    parse_tool_switches,
    serialise_sites,
    serialise_tool_switches,
)
from agent_core.model.decision import PolicyChange
from agent_core.model.draft import clean_goals, effort_problem, goals_problem, model_problem
from agent_core.model.ids import AgentId
from agent_core.model.model_calls import Budget
from agent_core.model.origin import ChannelScope, Origin
from agent_core.model.records.reservation import reached_budget
from agent_core.oversight.policy import require_keeps, require_may_change, require_may_decide
from agent_core.oversight.policy_change import (
    change_policy,
    follow_channel_policy,
    follow_policy,
    list_changes,
    list_channel_changes,
    with_choosers,
)
from agent_core.ports.database import Database, UnitOfWork
from agent_core.ports.models import Rehearsal
from agent_core.service.creating.creation import require_rehearsed
from agent_core.service.housekeeping.deleting import newest_turn
from agent_core.service.transactional import Attempt, TransactionalService
from agent_core.spending.helper_tree import list_helpers_below
from agent_core.text.lines import listed

MAX_BUDGET_USD = 1_000_000_000
BUDGET_RAISED = "The budget was raised. Resume goes on."


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentSettings(TransactionalService):
    """Saves the settings that people change. A change takes effect when the agent next asks the model.

    `rehearsal`: the script of demo mode, None if a model is connected.
    """

    rehearsal: Rehearsal | None = None

    async def set_goals(self, agent_id: AgentId, goals: tuple[str, ...], origin: Origin) -> Agent:
        """Replace the agent's goals; raise NotAllowed, InvalidInput."""
        usable = clean_goals(goals)
        if problem := goals_problem(usable):
            raise InvalidInput({"goals": problem})
        require_rehearsed(self.rehearsal, goals=usable)
        listed = " ".join(f"{number}. {goal}" for number, goal in enumerate(usable, 1))

        async def change(work: UnitOfWork, agent: Agent) -> Agent:
            require_may_decide(agent, origin.by, "set goals here")
            self.announce(work, agent, "changed", f"{origin.by} set the goals: {listed}")
            return replace(agent, goals=usable)

        return await self.change(agent_id, origin, "set the goals", change, listed)

    async def set_model(self, agent_id: AgentId, model: str, origin: Origin, effort: str | None = None) -> Agent:
        """Set the model that the agent uses, "" for the operator's; raise NotAllowed, InvalidInput.

        `effort`: its reasoning effort, "" for the operator's, None to leave it as it is.
        """
        if problem := model_problem(model) or ("Model: one name without blanks." if " " in model else ""):
            raise InvalidInput({"model": problem})
        if problem := effort_problem(effort or ""):
            raise InvalidInput({"effort": problem})
        require_rehearsed(self.rehearsal, model=model)
        chosen = model or "the default"
        if effort is not None:
            chosen += f", reasoning effort {effort or 'default'}"

        async def change(work: UnitOfWork, agent: Agent) -> Agent:
            require_may_decide(agent, origin.by, "set models here")
            self.announce(work, agent, "changed", f"{origin.by} set the model: {chosen}.")
            return replace(agent, model=model, fallback="", effort=agent.effort if effort is None else effort)

        return await self.change(agent_id, origin, "set the model", change, chosen)

    async def set_budget(self, agent_id: AgentId, limit: Decimal | None, origin: Origin) -> Agent:
        """Set the agent's budget in US dollars, None for no limit; raise NotAllowed, InvalidInput, NotPossible."""
        _require_usable_limit(limit)

        async def change(work: UnitOfWork, agent: Agent) -> Agent:
            require_may_decide(agent, origin.by, "set budgets here")
            if agent.head:
                raise NotPossible(f"{agent.name} spends from the budget of the agent it helps: set that one's.")
            self.announce(work, agent, "changed", f"{origin.by} set the budget to {_limit_text(limit)}.")
            raised = replace(agent, budget=replace(agent.budget, limit=limit))
            is_mended = reached_budget(agent.status) == "agent" and agent.budget.allows_less_than(limit)
            return replace(raised, status=Paused(BUDGET_RAISED)) if is_mended else raised

        return await self.change(agent_id, origin, "set the budget", change, _limit_text(limit))

    async def set_policy(self, agent_id: AgentId, change: PolicyChange, origin: Origin) -> Agent:
        """Change who may approve, which classes run without asking, and what cards show, also for the helpers.

        Nothing is saved if that is the present policy. Raise NotAllowed, InvalidInput (also if it sets a class free
        beside one of another person that this person was not shown), NotPossible for a helper.
        """

        async def act(work: UnitOfWork) -> Agent:
            agent = await work.agents.get(origin.channel, agent_id)
            if await self.is_repeated(work, origin):
                return agent
            _require_may_change(agent, change, origin)
            changed = change_policy(agent, change, origin.by, self.clock.now())
            if not (phrases := list_changes(agent, changed)):
                return agent
            said = "; ".join(phrases)
            self.announce(work, agent, "changed", f"{origin.by} set the policy: {said}.")
            self.audit(work, agent, origin, "set the policy", said)
            work.agents.save(changed)
            await self._ask_two(work, changed)
            for helper in await list_helpers_below(work, changed):
                following = follow_policy(helper, changed)
                work.agents.save(following)
                await self._ask_two(work, following)
            return changed

        return await self.save(act, Attempt(origin=origin, what="set the policy", agent_id=agent_id))

    async def _ask_two(self, work: UnitOfWork, agent: Agent) -> None:
        """Have what is open or not started ask two people, if the changed policy wants that."""
        turn = await newest_turn(work, agent)
        if turn and turn.state == "proposed" and turn.needs_two and not agent.channel_policy.may_be_two:
            said = (
                f"Nothing was changed. Two people approve turn {turn.number} of {agent.name}, which is open: decide it"
            )
            raise InvalidInput({"policy": f"{said} first."})
        if turn and turn.state in ("proposed", "approved", "interrupted") and turn.requires_two(agent.policy_in_force):
            work.turns.save(turn.marked_for_two(agent.policy_in_force))
        self.waker.wake(work, agent.id)

    async def set_channel_budget(self, limit: Decimal | None, origin: Origin) -> Budget:
        """Set the budget that all agents of the channel share; raise NotAllowed for who may not."""

        async def act(work: UnitOfWork) -> Budget:
            await _require_may_set(work, origin, "set budgets here")
            _require_usable_limit(limit)
            budget = await work.budgets.of(origin.channel)
            if not await self.is_repeated(work, origin):
                work.budgets.set_limit(origin.channel, limit)
                self.audit_channel(work, origin, "set the channel's budget", _limit_text(limit))
            return replace(budget, limit=limit)

        return await self.save(act, Attempt(origin=origin, what="set the channel's budget"))

    async def channel_budget(self, channel: ChannelScope) -> Budget:
        async with self.database.begin() as work:
            return await work.budgets.of(channel)

    async def set_sites(self, change: Callable[[Sites], Sites], origin: Origin) -> Sites:
        """Change which web sites the channel's agents may reach; raise NotAllowed for who may not."""

        async def act(work: UnitOfWork) -> Sites:
            await _require_may_set(work, origin, "set sites here")
            before = await work.preferences.get(origin.channel, SITES_KEY)
            changed = change(parse_sites(before))
            if not await self.is_repeated(work, origin):
                work.preferences.exchange(origin.channel, SITES_KEY, before, serialise_sites(changed, before))
                self.audit_channel(work, origin, "set the channel's sites", _sites_text(changed))
            return changed

        return await self.save(act, Attempt(origin=origin, what="set the channel's sites"))

    async def channel_policy(self, channel: ChannelScope) -> ChannelPolicy:
        async with self.database.begin() as work:
            return parse_channel_policy(await work.preferences.get(channel, POLICY_KEY))

    async def set_channel_policy(
        self, change: Callable[[ChannelPolicy], ChannelPolicy], origin: Origin
    ) -> ChannelPolicy:
        """Change the policy of the channel; raise NotAllowed unless the policy lets the person, and InvalidInput.

        It holds at once: leases lose what asks now, open cards ask two people or never run, and threads say so.
        """
        set_by = (await self.channel_policy(origin.channel)).set_by
        has_left = set_by is not None and await self.succession.is_gone(origin.channel, set_by)

        async def act(work: UnitOfWork) -> ChannelPolicy:
            before = await work.preferences.get(origin.channel, POLICY_KEY)
            present, now = parse_channel_policy(before), self.clock.now()
            if await self.is_repeated(work, origin):
                return present
            require_may_change(present, origin, has_left=has_left and present.set_by == set_by)
            changed = change(present)
            if changed.problem:
                raise InvalidInput({"policy": f"Nothing was changed. {changed.problem}"})
            if not (said := "; ".join(list_channel_changes(present, changed))):
                return present
            require_keeps(changed, origin.by)
            changed = replace(changed, set_by=origin.by)
            changed = with_choosers(present, changed, origin.by, now)
            work.preferences.exchange(origin.channel, POLICY_KEY, before, serialise_channel_policy(changed, before))
            self.audit_channel(work, origin, "set the channel's policy", said)
            for agent in await work.agents.of(origin.channel):
                await self._follow(work, agent, changed, f"{origin.by} set the policy of this channel: {said}.")
            return changed

        return await self.save(act, Attempt(origin=origin, what="set the channel's policy"))

    async def _follow(self, work: UnitOfWork, agent: Agent, changed: ChannelPolicy, said: str) -> None:
        """Have an agent's lease and open card follow the channel's policy, and its thread say so."""
        following = follow_channel_policy(agent, changed)
        if following.lease != agent.lease:
            work.agents.save(following)
        if not (agent.is_at_rest or agent.head):
            self.announce(work, agent, "changed", said)
        await self._ask_two(work, following)

    async def sites(self, channel: ChannelScope) -> Sites:
        async with self.database.begin() as work:
            return parse_sites(await work.preferences.get(channel, SITES_KEY))

    async def set_tools(
        self, change: Callable[[ToolSwitches], ToolSwitches], origin: Origin, detail: str
    ) -> ToolSwitches:
        """Change which tools the channel's agents may use; raise NotAllowed for who may not.

        Agents see it when they next think. Those that wait for people are woken, since their open cards may be of a
        tool that is off now: such a card is shown anew.
        """

        async def act(work: UnitOfWork) -> ToolSwitches:
            await _require_may_set(work, origin, "switch tools here")
            for each in await work.agents.of(origin.channel):
                if each.status == Awaiting():
                    self.waker.wake(work, each.id)
            before = await work.preferences.get(origin.channel, TOOLS_KEY)
            changed = change(parse_tool_switches(before))
            if not await self.is_repeated(work, origin):
                work.preferences.exchange(origin.channel, TOOLS_KEY, before, serialise_tool_switches(changed, before))
                self.audit_channel(work, origin, "set the channel's tools", detail)
            return changed

        return await self.save(act, Attempt(origin=origin, what="set the channel's tools"))


async def groups_of_policy(database: Database, channel: ChannelScope) -> frozenset[str]:
    """The ids of people, groups and roles that the channel's policy names."""
    async with database.begin() as work:
        return parse_channel_policy(await work.preferences.get(channel, POLICY_KEY)).groups


def _require_may_change(agent: Agent, change: PolicyChange, origin: Origin) -> None:
    require_may_decide(agent, origin.by, "set the policy here")
    if agent.head:
        raise NotPossible(f"{agent.name} is a helper and has the policy of the agent it helps: set that one's.")
    if change.approvers == "owner" and agent.owner.kind != "member":
        raise InvalidInput({"approvers": f"Who may approve: {agent.owner}, who made it, is a guest and may not."})


async def _require_may_set(work: UnitOfWork, origin: Origin, what: str) -> None:
    """Raise NotAllowed for who sets nothing for the channel: full members do, or the groups that hold its policy.

    Else who lost a group could still raise the budget, or open a site that the group had closed.
    """
    if origin.by.kind != "member":
        raise NotAllowed(f"{what}: a full member of the channel does.")
    policy = parse_channel_policy(await work.preferences.get(origin.channel, POLICY_KEY))
    if policy.is_left_to_groups(origin.by) and not policy.may_change(origin.by):
        raise NotAllowed(f"{what}: {listed(map(str, policy.managers or policy.approvers))} may.")


def _require_usable_limit(limit: Decimal | None) -> None:
    if limit is not None and not (limit.is_finite() and 0 < limit < MAX_BUDGET_USD):
        raise InvalidInput({"budget": "Budget: an amount in US dollars above 0, or nothing for no limit."})


def _limit_text(limit: Decimal | None) -> str:
    return f"${limit:,.2f}" if limit is not None else "no limit"


def _sites_text(sites: Sites) -> str:
    lists = (("allowed", sites.allow), ("denied", sites.deny))
    return " · ".join(f"{word}: {', '.join(hosts)}" for word, hosts in lists if hosts) or "every public site"
