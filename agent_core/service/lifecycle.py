"""Creates, stops, resumes and deletes agents with their helpers, and fills the form for a new one.

Each change is a short transaction; no model is called, and a chat platform only to learn whether an owner has left.
After a deletion notifications are called off, and files and index entries erased.
"""

from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from functools import partial

from agent_core.errors import InvalidInput, NotFound, NotPossible, UnreadableRecord
from agent_core.model.agent import Acting, Agent, Awaiting, Stopped, Thinking
from agent_core.model.channel_policy import POLICY_KEY, parse_channel_policy
from agent_core.model.decision import Policy
from agent_core.model.draft import AgentDraft
from agent_core.model.ids import AgentId
from agent_core.model.origin import Actor, Origin
from agent_core.model.records.audit import AuditEntry
from agent_core.model.turn import Turn
from agent_core.oversight.policy import may_decide, require_may_create, require_may_decide, require_may_speak
from agent_core.ports.database import UnitOfWork, in_one_unit
from agent_core.ports.models import Rehearsal
from agent_core.ports.telemetry import record_end
from agent_core.service.creating.creation import (
    DEFAULT_LIMITS,
    CreationLimits,
    find_free_name,
    load_agent_defaults,
    require_below_limits,
    require_rehearsed,
    save_agent_defaults,
)
from agent_core.service.housekeeping.archiving import take_back
from agent_core.service.housekeeping.calling_off import call_off
from agent_core.service.housekeeping.deleting import Deleted, newest_turn, remove_family, sizes_of_files
from agent_core.service.housekeeping.erasing import Eraser
from agent_core.service.schedules import SETTING, SchedulePreview
from agent_core.service.transactional import Attempt, TransactionalService
from agent_core.spending.helper_tree import (
    budget_of,
    list_helpers_below,
    report,
    report_deletion,
    taint_shared_folder,
)
from agent_core.text.lines import counted
from agent_core.toolset.registry import Commands


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentLifecycle(TransactionalService):
    """Creates, stops, resumes and deletes agents.

    `default_budget`: in US dollars. `rehearsal`: the script of demo mode, None if a model is connected.
    """

    commands: Commands
    eraser: Eraser
    default_budget: Decimal | None = None
    limits: CreationLimits = DEFAULT_LIMITS
    rehearsal: Rehearsal | None = None

    async def load_agent_defaults(self, origin: Origin) -> AgentDraft | None:
        """The form's defaults, from the channel's last new agent; raise NotAllowed if the person may not create one."""
        require_may_create(origin.by, guests_may=self.limits.guests_may_create)
        async with self.database.begin() as work:
            last = await load_agent_defaults(work, origin.channel)
        if last and self.rehearsal and self.rehearsal.model_problem(last.model):
            return replace(last, model="")
        return last

    async def draft_copy(self, agent_id: AgentId, origin: Origin) -> AgentDraft:
        """The form for a copy of the agent, with its settings and a free name; nothing is created.

        Only the person who chose the agent's free classes gets them in the form. Raise NotAllowed if the person may not
        create agents.
        """
        require_may_create(origin.by, guests_may=self.limits.guests_may_create)
        async with self.database.begin() as work:
            agent = await work.agents.get(origin.channel, agent_id)
            name = await find_free_name(work, origin.channel, agent.name)
            budget = await budget_of(work, agent)
        return AgentDraft(
            name=name,
            role=agent.role,
            goals=agent.goals,
            budget=budget.limit,
            model="" if self.rehearsal and self.rehearsal.model_problem(agent.model) else agent.model,
            effort=agent.effort,
            policy=agent.policy if agent.free_chooser.id == origin.by.id else replace(agent.policy, free=()),
            dry_run=agent.dry_run,
        )

    async def create(
        self, draft: AgentDraft, origin: Origin, *, sets_defaults: bool = True, schedule: SchedulePreview | None = None
    ) -> Agent:
        """Create an agent and let it think; raise InvalidInput with all invalid fields, also for a taken name.

        `sets_defaults`: whether the form offers its settings for the channel's next agent.
        `schedule`: when it works again by itself, which only people who may decide for it set.

        Raise NotAllowed for persons who may not create agents, NotPossible when a limit is reached. If the operator
        lets guests create agents, a guest's agent asks for every command, and its settings are not offered as defaults.
        """
        require_may_create(origin.by, guests_may=self.limits.guests_may_create)
        tidy = draft.tidied()
        require_rehearsed(self.rehearsal, goals=tidy.goals, model=tidy.model)
        if tidy.budget is None:
            tidy = replace(tidy, budget=self.default_budget)
        if origin.by.kind != "member":
            tidy = replace(tidy, policy=Policy(two=tidy.policy.two, verbosity=tidy.policy.verbosity))

        async def act(work: UnitOfWork) -> Agent:
            if taken := await work.agents.find_by_name(origin.channel, tidy.name):
                if await self.is_repeated(work, origin):
                    return taken
                whose = " by an archived agent" if taken.is_archived else ""
                raise InvalidInput({"name": f"Name: {taken.name} is taken in this channel{whose}. Choose another."})
            await self.is_repeated(work, origin)
            await require_below_limits(work, origin, self.limits)
            policy = parse_channel_policy(await work.preferences.get(origin.channel, POLICY_KEY))
            agent = replace(tidy.made(origin, self.clock.now()), read_policy=policy)
            agent = agent if may_decide(agent, origin.by) else agent.expose()  # nobody who decides wrote its goals
            agent = self._put_on(work, schedule, agent, origin) if schedule else agent
            work.agents.add(agent)
            if sets_defaults and origin.by.kind == "member":
                save_agent_defaults(work, origin.channel, tidy)
            self.audit(work, agent, origin, "created", _creation_detail(agent))
            self.waker.wake(work, agent.id)
            return agent

        return await self.save(act)

    def _put_on(self, work: UnitOfWork, schedule: SchedulePreview, agent: Agent, origin: Origin) -> Agent:
        require_may_decide(agent, origin.by, SETTING)
        scheduled, told = schedule.put_on(agent, self.clock.now())
        self.announce(work, scheduled, "changed", told)
        return scheduled

    async def stop(self, agent_id: AgentId, origin: Origin) -> Agent:
        """Stop the agent and its helpers: withdraw proposals, end running commands and leases.

        Raise NotAllowed for bots, NotPossible if the agent is stopped already or archived.
        """
        require_may_speak(origin.by, "stop agents here")

        async def change(work: UnitOfWork, agent: Agent) -> Agent:
            if isinstance(agent.status, Stopped):
                raise NotPossible(f"already stopped by {agent.status.by}, {agent.since:%H:%M} UTC")
            if agent.is_archived:
                raise NotPossible(f"{agent.name} is archived and does nothing.")
            for each in (agent, *await self._stop_helpers(work, agent, origin)):
                self.waker.interrupt(work, each.id)
            agent = await work.agents.get(agent.channel, agent.id)  # a helper's command may have tainted its folder
            self.announce(work, agent, "stopped", f"stopped by {origin.by}. Resume to continue.")
            stopped = await self._stop(work, agent, origin)
            if parent := await report(work, stopped, self.clock.now()):
                self.waker.wake(work, parent)
            return stopped

        return await self.change(agent_id, origin, "stopped", change)

    async def resume(self, agent_id: AgentId, origin: Origin) -> Agent:
        """Let a paused, stopped or finished agent continue, also an archived one.

        Raise NotAllowed, or NotPossible if the agent is not at rest.
        """

        async def change(work: UnitOfWork, agent: Agent) -> Agent:
            require_may_decide(agent, origin.by, "resume agents here")
            if not agent.is_at_rest:
                raise NotPossible(f"{agent.name} is at work already.")
            turn = await newest_turn(work, agent)
            status = _status_after(turn)
            self.announce(work, agent, "resumed", f"resumed by {origin.by}.")
            present = await take_back(work, agent)
            return replace(present.become(status, self.clock.now()), unusable=0, complaint="")

        return await self.change(agent_id, origin, "resumed", change)

    async def delete(self, agent_id: AgentId, origin: Origin) -> Deleted:
        """Delete the agent with its helpers, history, memory and files. The decision log remains, without texts.

        What cannot be removed now, because the vector index is away for instance, is removed later.
        """

        async def find(work: UnitOfWork) -> Agent:
            agent = await work.agents.get(origin.channel, agent_id)
            require_may_decide(agent, origin.by, "delete agents here")
            return agent

        attempt = Attempt(origin=origin, what="deleted", agent_id=agent_id)
        found = await self.save(find, attempt)
        sizes = await sizes_of_files(self.eraser.workspaces, found)

        async def act(work: UnitOfWork) -> Deleted:
            agent = await work.agents.get(origin.channel, agent_id)
            require_may_decide(agent, origin.by, "delete agents here")
            await report_deletion(work, agent, origin.by, self.clock.now())
            if agent.parent:
                self.waker.wake(work, agent.parent)
            return await self._remove_family(work, agent, origin.by, "history, memory and files")

        deleted = await self.save(act, attempt)
        return await self._erase(deleted.with_files(sizes))

    async def delete_at_rest(self, agent: Agent, before: datetime, by: Actor) -> bool:
        """Delete the agent like `delete`, if it and its helpers rest since before that time and no run comes."""

        async def act(work: UnitOfWork) -> Deleted | None:
            present = await work.agents.get(agent.channel, agent.id)
            family = (present, *await list_helpers_below(work, present))
            if present.scheduled_at or not all(each.is_at_rest and each.since < before for each in family):
                return None
            days = (self.clock.now() - present.since).days
            left = f"history, memory and files, at rest for {counted(days, 'day')}"
            return await self._remove_family(work, present, by, left)

        try:
            deleted = await in_one_unit(self.database, act)
        except (NotFound, UnreadableRecord):  # deleted meanwhile, or saved by a newer release
            return False
        return deleted is not None and bool(await self._erase(deleted))

    async def _remove_family(self, work: UnitOfWork, agent: Agent, by: Actor, what: str) -> Deleted:
        """Remove the agents, and end what they still run."""
        deleted = await remove_family(work, self.eraser, agent, by, what)
        for each in deleted.family:
            self.waker.interrupt(work, each.agent_id)
        return deleted

    async def _erase(self, deleted: Deleted) -> Deleted:
        """Call off, and erase what is outside the database; add what is left."""
        await call_off(self.eraser.surfaces, deleted.calls)
        left = [place for each in deleted.family for place in await self.eraser.erase(each)]
        await self.eraser.empty_journal()
        return replace(deleted, left=tuple(dict.fromkeys(left)))

    async def _stop_helpers(self, work: UnitOfWork, agent: Agent, origin: Origin) -> list[Agent]:
        at_work = [helper for helper in await list_helpers_below(work, agent) if not helper.is_at_rest]
        for listed in at_work:
            helper = await work.agents.get(
                listed.channel, listed.id
            )  # another one's command may have tainted its folder
            work.agents.save(await self._stop(work, helper, origin))
            self.audit(work, helper, origin, "stopped")
        return at_work

    async def _stop(self, work: UnitOfWork, agent: Agent, origin: Origin) -> Agent:
        now = self.clock.now()
        turn = await newest_turn(work, agent)
        if turn and turn.state in ("proposed", "approved", "running", "interrupted"):
            ended = turn.stop(origin.by, now, outside=self.commands.may_return_untrusted(turn.call.name, agent))
            work.turns.save(ended)
            work.after_commit(partial(record_end, self.telemetry, ended))
            if ended.state == "done":
                work.audit.append(AuditEntry.of_end(agent, ended, now))
            agent = await self._expose_cut_short(work, agent, turn)
        return agent.become(Stopped(origin.by), now)

    async def _expose_cut_short(self, work: UnitOfWork, agent: Agent, turn: Turn) -> Agent:
        """The agent after its command was stopped: exposed if the command may have read untrusted content."""
        if turn.state not in ("running", "interrupted"):
            return agent
        exposed = self.commands.expose_after_interruption(turn.call.name, agent)
        if self.commands.may_write_untrusted(turn.call.name, exposed):
            await taint_shared_folder(work, exposed, self.clock.now())
        return exposed


def _creation_detail(agent: Agent) -> str:
    """What the decision log says about a new agent: role, goals, classes that need no approval, schedule."""
    free = f" · runs without asking: {', '.join(agent.policy.free)}" if agent.policy.free else ""
    two = f" · two people approve: {', '.join(agent.policy.two)}" if agent.policy.two else ""
    dry = " · dry run" if agent.dry_run else ""
    scheduled = f" · {agent.schedule.words}. {agent.schedule.limits}" if agent.schedule else ""
    return f"{agent.role} · {'; '.join(agent.goals)}{free}{two}{dry}{scheduled}"


def _status_after(turn: Turn | None) -> Awaiting | Acting | Thinking:
    """A resumed agent's status: Awaiting if people must decide, Acting if a command was approved, else Thinking."""
    match turn.state if turn else "":
        case "proposed" | "interrupted":
            return Awaiting()
        case "approved" | "running":
            return Acting()
        case _:
            return Thinking()
