"""The states of a card that are drawn: for each an agent with a turn, or at rest, as plain values."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from decimal import Decimal

from adapters.chat.agent_messages import notice_screen
from adapters.discord.outbound.draw import draw as draw_discord
from adapters.discord.outbound.message import DiscordMessage
from adapters.screens.message.card import card_screen, folded_screen
from adapters.screens.message.pieces import Screen
from adapters.screens.turn_lines import line_of
from adapters.slack.outbound.draw import draw
from adapters.slack.outbound.message import SlackMessage
from agent_core.capabilities.files.commands import FILE_COMMANDS
from agent_core.model.agent import Acting, Agent, AgentStatus, Awaiting, Stopped, Thinking
from agent_core.model.command import CommandCall, Proposal, RiskClass, Succeeded, Thoughts
from agent_core.model.decision import Approve, Reject
from agent_core.model.ids import AgentId, TurnId, new_id
from agent_core.model.model_calls import Budget, Usage
from agent_core.model.note import Notice
from agent_core.model.origin import Actor, ChannelScope
from agent_core.model.permissions import Lease
from agent_core.model.turn import Turn
from agent_core.testing.files import InMemoryFiles
from agent_core.toolset.registry import CommandContext, Commands

ANA = Actor(id="u-ana", display="Ana", workspace="local")
BEN = Actor(id="u-ben", display="Ben", workspace="local")
COST = Decimal("0.012")
CLASSES: tuple[RiskClass, ...] = ("read", "write")
RISKS: Mapping[str, tuple[RiskClass, ...]] = {"read_file": ("read",), "delete_file": ("delete",)}

OLD_REPORT = """# Energy: two candidates

Coal producers look cheapest on every measure.
"""
NEW_REPORT = """# Energy: two candidates

NXG: 4.2 % a year, low debt, one region.
WND: 2.9 % a year, contracts to 2031.
"""
SUMMARY = {"filename": "report.md", "text": "Whoever fears a sudden change of rules takes NXG."}
RATINGS = "ticker,sector,price_to_book,yield,view\n" + "\n".join(
    f"{ticker},{sector},{price:.1f},{income:.1f} %,hold"
    for ticker, sector, price, income in (
        ("CLX", "coal", 0.7, 6.1),
        ("NXG", "gas", 1.1, 4.2),
        ("WND", "wind", 1.4, 2.9),
        ("SUN", "solar", 1.9, 1.2),
        ("HYD", "hydro", 1.3, 3.3),
        ("GEO", "geothermal", 1.2, 3.9),
        ("TID", "tidal", 2.4, 0.0),
        ("BIO", "biomass", 0.9, 4.8),
        ("ATM", "nuclear", 1.0, 5.0),
        ("GRD", "grid", 1.6, 3.6),
        ("BAT", "storage", 3.1, 0.4),
        ("OIL", "oil", 0.8, 5.7),
        ("LNG", "gas", 1.2, 4.4),
        ("PIP", "pipelines", 1.1, 6.0),
    )
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """What is seen: the agent's newest turn, or, where there is one, what its thread was told.

    `earlier`: turns that share the card. `is_folded`: the next decision was taken.
    """

    name: str
    agent: Agent
    turn: Turn
    notice: Notice | None = None
    earlier: tuple[Turn, ...] = ()
    is_folded: bool = False

    @property
    def message(self) -> SlackMessage:
        """The same in Slack."""
        return draw(self._screen)

    @property
    def in_discord(self) -> DiscordMessage:
        """The same in Discord."""
        return draw_discord(self._screen)

    @property
    def _screen(self) -> Screen:
        if self.notice:
            return notice_screen(self.agent, self.notice)
        if self.is_folded:
            return folded_screen(self.agent, [line_of(self.turn)])
        return card_screen(self.agent, self.turn, [line_of(turn) for turn in self.earlier])


async def scenes(now: datetime) -> tuple[Scene, ...]:
    """All of them, as they stand now."""
    asks = await _asks(now)
    write = asks.turn
    granted = write.decide(Approve(times=3), by=ANA, at=now).start(now)
    lease = Lease(granted_by=ANA, granted_at=now, total=3, left=2, classes=CLASSES)
    under_lease = replace(asks.agent, lease=lease)
    done = granted.finish(Succeeded("report.md now holds 105 characters."), now)
    appends = _turn(asks.agent, now, "append_to_file", SUMMARY, "The report ends with a sentence on how to choose.")
    next_one = appends.decide(Approve(under="lease"), by=ANA, at=now).start(now)
    reads = _turn(asks.agent, now, "read_file", {"filename": "ratings.csv"}, "I read the ratings before I write.")
    read = reads.decide(Approve(), by=BEN, at=now).start(now).finish(Succeeded(RATINGS), now)
    deletes = _turn(asks.agent, now, "delete_file", {"filename": "ratings.csv"}, "I have what I need and tidy up.")
    rejected = deletes.decide(Reject("Keep it: the desk works with it too."), by=ANA, at=now)
    running = write.decide(Approve(), by=BEN, at=write.proposed_at).start(write.proposed_at)
    at_rest = _placed("rest", asks.agent, running.stop(ANA, now), Stopped(ANA))
    told = Notice.to(at_rest.agent, "stopped", f"stopped by {ANA}. Resume to continue.", now)
    return (
        asks,
        _placed("lease", under_lease, done, Thinking()),
        replace(_placed("runs", under_lease, replace(next_one, number=4), Acting()), earlier=(done,)),
        replace(_placed("folded", asks.agent, done, Thinking()), is_folded=True),
        _placed("done", asks.agent, read, Thinking()),
        _placed("rejected", asks.agent, rejected, Thinking()),
        _placed("interrupted", asks.agent, running.interrupt(), Awaiting()),
        _placed("stopped", asks.agent, running.stop(ANA, now), Stopped(ANA)),
        replace(at_rest, notice=told),
    )


async def _asks(now: datetime) -> Scene:
    agent = Agent(
        id=AgentId("asks"),
        channel=ChannelScope("web", "local", "energy-desk"),
        name="Energy-GPT",
        role="helps the desk compare opportunities in the energy sector",
        goals=("Replace the conclusion of report.md with the pros and cons of each",),
        owner=ANA,
        created_at=now - timedelta(minutes=9),
        since=now,
        status=Awaiting(),
        turns=3,
        budget=Budget(limit=Decimal(2), spent=3 * COST),
    )
    arguments = {"filename": "report.md", "text": NEW_REPORT}
    files = InMemoryFiles()
    await files.write("report.md", OLD_REPORT.encode())
    write = Commands.of(*FILE_COMMANDS).get("write_to_file")
    preview = await write.preview(arguments, CommandContext(agent=agent, files=files))
    said = "Without coal two candidates are left. I put them side by side in place of the old conclusion."
    thoughts = Thoughts(
        text=said,
        plan="- replace the conclusion\n- finish with a short summary",
        reasoning="A line for each says price and risk at a glance.",
        criticism="Two figures each are few to judge a company by.",
    )
    turn = _turn(agent, now, "write_to_file", arguments, said)
    proposal = replace(turn.proposal, thoughts=thoughts, preview=preview)
    return _placed("asks", agent, replace(turn, proposal=proposal), Awaiting())


def _turn(agent: Agent, now: datetime, command: str, arguments: Mapping[str, object], said: str) -> Turn:
    return Turn(
        id=TurnId("turn"),
        agent_id=agent.id,
        channel=agent.channel,
        number=3,
        proposal=Proposal(thoughts=Thoughts(text=said), call=CommandCall(command, arguments)),
        risks=RISKS.get(command, ("write",)),
        usage=Usage(prompt=900, completion=60, cost=COST),
        proposed_at=now - timedelta(minutes=1),
    )


def _placed(name: str, agent: Agent, turn: Turn, status: AgentStatus) -> Scene:
    """The scene in a channel of its own, so that every agent may have the same name."""
    channel = ChannelScope("web", "local", name)
    placed = replace(agent, id=AgentId(f"agent-{name}"), channel=channel, status=status)
    return Scene(
        name=name,
        agent=placed,
        turn=replace(turn, id=TurnId(new_id(turn.proposed_at)), agent_id=placed.id, channel=channel),
    )
