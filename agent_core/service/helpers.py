"""Implements the port `Helpers`: an agent starts, messages, lists and deletes its helpers, each in one transaction."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from agent_core.errors import CommandError
from agent_core.model.agent import Agent, Finished, Thinking
from agent_core.model.draft import MAX_ROLE_CHARACTERS
from agent_core.model.ids import AgentId, new_id
from agent_core.model.model_calls import Budget
from agent_core.model.note import Note
from agent_core.model.origin import is_name_of
from agent_core.model.records.audit import AuditEntry
from agent_core.oversight.untrusted_content import expose
from agent_core.ports.database import UnitOfWork
from agent_core.service.creating.creation import find_free_name
from agent_core.service.housekeeping.calling_off import call_off
from agent_core.service.housekeeping.deleting import Deleted, remove_family
from agent_core.service.housekeeping.erasing import Eraser
from agent_core.service.transactional import TransactionalService
from agent_core.spending.helper_tree import as_actor, deliver_note, find_helper, list_helpers_below, list_helpers_of
from agent_core.text.lines import one_line, quoted

MAX_HELPERS = 5
MAX_QUOTE_CHARACTERS = 200
MAX_AGENTS_LOOKED_AT, MAX_ENTRIES_LOOKED_AT = 100, 2_000
NOT_IN_A_NAME = re.compile(r"[^\w.'-]+|[.'-]+(?!\w)")


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentHelpers(TransactionalService):
    """Implements the port `Helpers`. Below a root agent are at most five helpers, in at most two generations.

    Taint passes to a new helper, to a helper with each message, and to its parent with a report. A helper has no free
    class.
    """

    eraser: Eraser

    async def start(self, agent: Agent, name: str, task: str, prompt: str) -> Agent:

        async def act(work: UnitOfWork) -> Agent:
            present, head = await _save_at_work(work, agent)
            _require_room(agent, len(_counted(head, await list_helpers_below(work, head))))
            own = await self._own_name(work, head, name)
            helper = self._new_helper(present, head, await find_free_name(work, agent.channel, own), one_line(task))
            work.agents.add(helper)
            if prompt.strip():
                work.notes.add(Note.to(helper, prompt.strip(), by=as_actor(agent), at=self.clock.now()))
            said, by = quoted(task, MAX_QUOTE_CHARACTERS), as_actor(agent)
            work.audit.append(AuditEntry.on(helper, "created", by=by, at=self.clock.now(), detail=said))
            self.announce(work, agent, "helper", f"{agent.name} started {helper.name}: {said}")
            return self._wake_both(work, helper, agent)

        return await self.save(act)

    async def message(self, agent: Agent, key: str, text: str) -> Agent:
        """Write to a helper; a finished helper starts to work again."""

        async def act(work: UnitOfWork) -> Agent:
            present, _ = await _save_at_work(work, agent)
            helper, now = find_helper(await list_helpers_of(work, agent), key), self.clock.now()
            if present.is_tainted:
                helper, notices = expose(helper, f"a message of {agent.name}", now)
                for notice in notices:
                    work.notes.announce(notice)
            if isinstance(helper.status, Finished):
                helper = helper.become(Thinking(), now)
            helper = deliver_note(work, helper, Note.to(helper, text, by=as_actor(agent), at=now))
            self.announce(work, agent, "helper", f"{agent.name} to {helper.name}: {quoted(text, MAX_QUOTE_CHARACTERS)}")
            return self._wake_both(work, helper, agent)

        return await self.save(act)

    async def of(self, agent: Agent) -> tuple[Agent, ...]:
        """The helpers that the agent started, oldest first."""
        async with self.database.begin() as work:
            return await list_helpers_of(work, agent)

    async def delete(self, agent: Agent, key: str) -> Agent:
        async with self.database.begin() as work:
            found = find_helper(await list_helpers_of(work, agent), key)

        async def act(work: UnitOfWork) -> Deleted:
            helper = find_helper(await list_helpers_of(work, agent), found.id)
            self.announce(work, agent, "helper", f"{agent.name} removed {helper.name}.")
            deleted = await remove_family(work, self.eraser, helper, as_actor(agent), "history and memory")
            for each in deleted.family:
                self.waker.interrupt(work, each.agent_id)
            return deleted

        deleted = await self.save(act)
        await call_off(self.eraser.surfaces, deleted.calls)
        for each in deleted.family:
            await self.eraser.erase(each)
        await self.eraser.empty_journal()
        return found

    async def _own_name(self, work: UnitOfWork, head: Agent, wanted: str) -> str:
        """The wanted name in letters and digits; one that a person of the channel may have gets "helper-" before it.

        Otherwise a line for that person would be for the helper.
        """
        name = " ".join(NOT_IN_A_NAME.sub(" ", wanted).split())
        agents = await work.agents.of(head.channel)
        looked_at = (head, *agents[-MAX_AGENTS_LOOKED_AT:])
        wrote = [note.by for agent in looked_at for note in await work.notes.of(agent)]
        acted = [each.by for each in await work.audit.page(head.channel, last=MAX_ENTRIES_LOOKED_AT)]
        people = {each.display for each in (*wrote, *acted, *(each.owner for each in agents)) if each.kind != "bot"}
        surface = next((each for each in self.eraser.surfaces if each.name == head.channel.surface), None)
        is_known = surface is not None and await surface.names_somebody(head.channel, name)
        return f"helper-{name}" if is_known or is_name_of(people, name) else name

    def _wake_both(self, work: UnitOfWork, helper: Agent, agent: Agent) -> Agent:
        """Wake the helper and the agent that started it, whose next step posts the notice in the thread."""
        self.waker.wake(work, helper.id)
        self.waker.wake(work, agent.id)
        return helper

    def _new_helper(self, agent: Agent, head: Agent, name: str, task: str) -> Agent:
        now = self.clock.now()
        return Agent(
            id=AgentId(new_id(now)),
            channel=agent.channel,
            thread=head.thread,
            name=name,
            role=f"a helper of {agent.name}, whose goal is: {agent.goals[0]}"[:MAX_ROLE_CHARACTERS],
            goals=(task,),
            owner=agent.owner,
            created_at=now,
            since=now,
            model=agent.model,
            effort=agent.effort,
            budget=Budget(),
            policy=replace(agent.policy, free=()),
            parent=agent.id,
            head=head.id,
            under=agent.name,
            exposed=agent.is_tainted or agent.folder_tainted,
            tainted=agent.is_tainted or agent.folder_tainted,
            folder_tainted=agent.folder_tainted,
        )


async def _save_at_work(work: UnitOfWork, agent: Agent) -> tuple[Agent, Agent]:
    """Save the agent and its root agent unchanged, and return them; raise CommandError if one of them is at rest.

    This makes the unit of work conflict with Stop and with deletion, after which no helper begins to work.
    """
    present, head = await work.agents.get(agent.channel, agent.id), await work.agents.get(agent.channel, agent.home)
    for each in (present, head):
        if each.is_at_rest:
            raise CommandError(f"{each.name} is at rest, so nothing was done.")
        work.agents.save(each)
    return present, head


def _counted(head: Agent, helpers: Sequence[Agent]) -> Sequence[Agent]:
    """The helpers without those that ended in earlier runs of a schedule."""
    began = head.schedule.last_at if head.schedule else None
    return [each for each in helpers if began is None or not each.is_at_rest or each.since >= began]


def _require_room(agent: Agent, helpers: int) -> None:
    if agent.parent != agent.head:
        raise CommandError("You are a helper's helper: do this yourself, or report what you need.")
    if helpers >= MAX_HELPERS:
        raise CommandError(f"There are {helpers} helpers already, which is the most. delete_agent removes one.")
