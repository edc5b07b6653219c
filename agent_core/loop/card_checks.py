"""Open cards of tools that changed, went away, are off or never run: each is shown anew, so old buttons refuse.

Whoever changes something wakes the agents that wait with such a card; the worker that has the agent looks at the card.
"""

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from agent_core.errors import CommandError, DatabaseAway, UnusableReply
from agent_core.loop.claim import AgentClaim
from agent_core.loop.command_runner import CommandRunner
from agent_core.loop.outcome import Outcome
from agent_core.loop.transitions import move
from agent_core.model.agent import Agent, Awaiting
from agent_core.model.command import CommandSpec, Preview
from agent_core.model.origin import ChannelScope
from agent_core.model.turn import Turn
from agent_core.oversight.evaluation import why_never
from agent_core.ports.clock import Clock
from agent_core.ports.database import Database, UnitOfWork
from agent_core.ports.engine import Waker
from agent_core.spending.spending_tracker import SpendingTracker
from agent_core.toolset.registry import CommandContext

RETRY_SECONDS = 1.0
WAITING = ("awaiting", "paused")  # what list_awaiting_people lists
WITHDRAWN = "withdrawn"  # the basis of a card whose command cannot run: no decision on an earlier card fits it
CANNOT_RUN = "What was shown is withdrawn: approving this does not run it."


def ask_again(agent: Agent, asked: Turn, spec: CommandSpec | None, now: datetime) -> Outcome:
    """People are asked again about a turn that was shown otherwise, with what the command is now."""
    asked = replace(asked, exposed=agent.exposed, exposures=agent.exposures)
    if spec:
        asked = replace(asked, source=spec.source, risks=spec.risks, always_asks=spec.always_asks)
        asked = asked.marked_for_two(agent.policy_in_force, by_operator=spec.needs_two)
    return move(agent, asked, Awaiting(), now)


@dataclass(frozen=True, slots=True, kw_only=True)
class CardCheck:
    """Looks at the open card of one agent that waits for people."""

    runner: CommandRunner
    clock: Clock
    claim: AgentClaim

    async def check(self, agent: Agent) -> Agent:
        """Show the card anew if its tool is not what was shown, or its command never runs here; return the agent."""
        if not isinstance(agent.status, Awaiting):
            return agent
        async with self.claim.database.begin() as work:
            newest = await work.turns.of(agent, last=1)
        if not newest or newest[0].state != "proposed":
            return agent
        turn = newest[0]
        if why := why_never(agent, turn, self.clock.now()):
            withdrawn = self._withdrawn(turn, why)
            return await self._show(turn, *withdrawn) if withdrawn else agent
        if not (turn.source or _is_withdrawn(turn)):
            return agent
        await self.runner.extensions.wait_for(turn.call.name)
        shown = await self._present_state(agent, turn)
        return await self._show(turn, *shown) if shown else agent

    async def _present_state(self, agent: Agent, turn: Turn) -> tuple[Preview | None, str] | None:
        """What the card has to show now, with a remark; None if it shows that already."""
        commands, call = self.runner.commands, turn.call
        context = CommandContext(agent=agent, files=self.runner.workspaces.of(agent), tracker=SpendingTracker())
        try:
            await commands.check_use(commands.get(call.name).spec, context)
        except UnusableReply:
            gone = f"{turn.source_name} does not offer {call.name} any more."
            return None if self._is_expected(call.name) else self._withdrawn(turn, gone)
        except CommandError as off:
            return self._withdrawn(turn, str(off))
        try:
            preview = await commands.preview(call, context)
        except (CommandError, UnusableReply):
            return None  # of the call, not of the tool; the model reads it when people approve
        if turn.proposal.still_holds(call, preview):
            return None
        changed = f"{turn.source_name} changed {call.name}. What was shown is withdrawn"
        changed = changed if turn.source else f"Nothing in this channel denies {call.name} any more"
        return preview, f"{changed}; this is its present state."

    def _is_expected(self, command: str) -> bool:
        """Whether the command's server has not listed any tools in this process."""
        return self.runner.commands.by_owner.get(command.partition(".")[0]) == ()

    def _withdrawn(self, turn: Turn, why: str) -> tuple[Preview, str] | None:
        before = turn.proposal.preview or Preview(title=turn.call.name, body="")
        remark = f"{why} {CANNOT_RUN}"
        if before.basis == WITHDRAWN and turn.remark == remark:
            return None
        return replace(before, basis=WITHDRAWN), remark

    async def _show(self, turn: Turn, preview: Preview | None, remark: str) -> Agent:
        async def save(work: UnitOfWork, agent: Agent) -> Outcome:
            present = await work.turns.get(agent.channel, turn.id)
            if present.state != "proposed" or present.control_hash != turn.control_hash:
                return Outcome(agent=agent)
            now, command = self.clock.now(), self.runner.commands.by_name.get(turn.call.name)
            return ask_again(agent, present.show_again(preview, remark, now), command.spec if command else None, now)

        return (await self.claim.save_and_present(save)).agent


def _is_withdrawn(turn: Turn) -> bool:
    return turn.proposal.preview is not None and turn.proposal.preview.basis == WITHDRAWN


@dataclass(slots=True, kw_only=True)
class ChangedTools:
    """Wakes the agents that wait with a card of a source whose tools changed, in the background."""

    database: Database
    waker: Waker
    clock: Clock
    surfaces: Sequence[str]
    _changed: dict[str, None] = field(default_factory=dict)
    _event: asyncio.Event = field(default_factory=asyncio.Event)

    def note(self, source: str) -> None:
        """Have the open cards of this source looked at soon."""
        self._changed[source] = None
        self._event.set()

    async def run(self) -> None:
        """Wake the agents with cards of what was noted, until cancelled."""
        while True:
            await self._event.wait()
            self._event.clear()
            changed, self._changed = frozenset(self._changed), {}
            try:
                await self._wake(changed)
            except DatabaseAway:
                self._changed |= dict.fromkeys(changed)
                self._event.set()
                await self.clock.sleep(RETRY_SECONDS)

    async def _wake(self, changed: frozenset[str]) -> None:
        async with self.database.begin() as work:
            waiting = Counter[ChannelScope]()
            for each in await work.agents.census():
                if each.status in WAITING and each.channel.surface in self.surfaces:
                    waiting[each.channel] += each.number
        for channel, number in waiting.items():
            async with self.database.begin() as work:
                agents = await work.agents.list_awaiting_people((channel,), number)
            for agent in agents:
                await self._wake_if_shown(agent, changed)

    async def _wake_if_shown(self, agent: Agent, changed: frozenset[str]) -> None:
        async with self.database.begin() as work:
            newest = await work.turns.of(agent, last=1)
            if newest and newest[0].state == "proposed" and newest[0].source_name in changed:
                self.waker.wake(work, agent.id)
                await work.commit()
