"""A team's day as plain values: agents that ask, work, rest and ended, with what they did. `compare` draws it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from decimal import Decimal

from agent_core.capabilities.files.commands import FILE_COMMANDS
from agent_core.model.agent import Agent, AgentStatus, Awaiting, Finished, Paused, Stopped, Thinking
from agent_core.model.command import CommandCall, Proposal, RiskClass, Succeeded, Thoughts
from agent_core.model.decision import Approve, Reject
from agent_core.model.ids import AgentId, TurnId, new_id
from agent_core.model.model_calls import Budget, Usage
from agent_core.model.note import Note, Notice
from agent_core.model.origin import Actor, ChannelScope, ThreadRef
from agent_core.model.permissions import Lease
from agent_core.model.records.audit import AuditEntry
from agent_core.model.turn import Turn
from agent_core.testing.files import InMemoryFiles
from agent_core.toolset.registry import CommandContext, Commands

ANA, BEN, MIA = (Actor(id=f"u-{name.lower()}", display=name, workspace="local") for name in ("Ana", "Ben", "Mia"))
COST = Decimal("0.012")
RISKS: Mapping[str, RiskClass] = {
    "write_to_file": "write",
    "delete_file": "delete",
    "browse_website": "network",
    "google": "network",
    "execute_shell": "execute",
    "send_tweet": "publish",
}
REPORT = """# Energy: two candidates

| | yield | debt | region |
|---|---|---|---|
| NXG | 4.2 % | low | one |
| WND | 2.9 % | middle | four |

NXG pays more now, WND has contracts to 2031.
"""
PAUSES = (0.9, 0.2, 0.5, 0.3)  # minutes until people decide
OLD = "# Energy: two candidates\n\nCoal producers look cheapest on every measure.\n"
LOGS = "09:12 build 411 passed\n09:48 build 412 failed: no disk\n10:05 build 413 passed\n"
WEEKLY = """# Week 48

- **Orders** 214, 12 more than last week
- **Returns** 9, all of one batch
- **Open** the invoice of Halden
"""
FILES = (
    ("energy-gpt", "energy-desk", "report.md", OLD),
    ("weekly", "energy-desk", "week-48.md", WEEKLY),
    ("cleaner", "platform", "build/old-logs.txt", LOGS),
)
REACHED = (
    "The budget is reached: $1.99 of $2.00 is spent and the next call may cost $0.013. "
    "Raise the budget with !budget N, then Resume."
)
Values = list[Agent | Turn | Note | Notice | AuditEntry]
GOALS = {
    "Price-Watch": "Follow the price of gas",
    "Tester": "Test what changes in the API",
    "Cleaner": "Keep the build folder small",
    "Herald": "Announce each release",
    "Scout": "Find this year's rules for heat pumps",
}


@dataclass(slots=True)
class Story:
    """What one agent did, written one step after another; `minutes`: how long ago the next step was."""

    agent: Agent
    now: datetime
    minutes: float
    values: Values = field(default_factory=list)
    number: int = 0

    def proposes(self, command: str, arguments: Mapping[str, object], said: str, doubt: str = "") -> Turn:
        """An open proposal."""
        self.number += 1
        at = self.at()
        return Turn(
            id=TurnId(new_id(at)),
            agent_id=self.agent.id,
            channel=self.agent.channel,
            number=self.number,
            proposal=Proposal(
                thoughts=Thoughts(text=said, plan=f"- {self.agent.goals[0]}", criticism=doubt),
                call=CommandCall(command, arguments),
            ),
            risks=(RISKS.get(command, "read"),),
            finishes=command == "task_complete",
            usage=Usage(prompt=900, completion=60, cost=COST),
            proposed_at=at,
        )

    def did(self, command: str, arguments: Mapping[str, object], said: str, result: str, by: Actor = ANA) -> None:
        """A turn that people approved and that is done."""
        turn = self.proposes(command, arguments, said)
        self.minutes -= PAUSES[self.number % len(PAUSES)]
        running = turn.decide(Approve(), by=by, at=self.at()).start(self.at())
        ran = AuditEntry.of_run(self.agent, running, self.at())
        self.minutes -= 0.1
        done = running.finish(Succeeded(result), self.at())
        self.values += [done, ran, AuditEntry.of_end(self.agent, done, self.at())]
        self.minutes -= 0.5

    def was_rejected(self, command: str, arguments: Mapping[str, object], said: str, reason: str) -> None:
        """A turn that was rejected."""
        turn = self.proposes(command, arguments, said)
        self.minutes -= 0.6
        rejected = turn.decide(Reject(reason), by=BEN, at=self.at())
        self.values += [rejected, AuditEntry.on(self.agent, "reject", by=BEN, at=self.at(), turn=turn, detail=reason)]
        self.minutes -= 0.4

    def ends(self, status: AgentStatus, *more: Turn | Notice | Note) -> Values:
        """The agent as it is now, before what it did, which `more` ends."""
        since = more[-1].proposed_at if more and isinstance(more[-1], Turn) else self.at()
        turns = [each for each in (*self.values, *more) if isinstance(each, Turn)]
        made = turns[0].proposed_at - timedelta(minutes=0.7) if turns else self.agent.created_at
        paid = self.agent.pay({"chat": sum((turn.usage for turn in turns), Usage())})
        return [replace(paid, status=status, turns=self.number, since=since, created_at=made), *self.values, *more]

    def at(self) -> datetime:
        """When the next step is."""
        return self.now - timedelta(minutes=self.minutes)


async def day(now: datetime) -> list[Values]:
    """The values of each agent, in the order in which they are saved."""
    return [
        await _energy(now),
        _interrupted(now),
        _weekly(now),
        _stopped(now),
        _paused(now),
        *await _asking(now),
        *_thinking(now),
    ]


def agent_named(name: str, channel: str, role: str, goal: str, now: datetime, owner: Actor = ANA) -> Agent:
    """An agent of the page's workspace."""
    place = ChannelScope("web", "local", channel)
    return Agent(
        id=AgentId(name.lower()),
        channel=place,
        thread=ThreadRef(place, name.lower()),
        name=name,
        role=role,
        goals=(goal,),
        owner=owner,
        created_at=now - timedelta(minutes=52),
        since=now,
        budget=Budget(limit=Decimal(2)),
    )


async def _energy(now: datetime) -> Values:
    agent = agent_named(
        "Energy-GPT", "energy-desk", "compares opportunities in energy", "Compare the candidates in report.md", now
    )
    story = Story(agent, now, 14)
    story.did("list_files", {}, "I look at what is there.", "ratings.csv\nreport.md")
    story.did("read_file", {"filename": "ratings.csv"}, "The ratings come first.", "14 rows", BEN)
    story.did("google", {"query": "NXG annual report debt"}, "I look for the debt of NXG.", "5 results")
    story.did("browse_website", {"url": "https://nxg.example/report"}, "I read their report.", "Debt is low.")
    story.was_rejected("delete_file", {"filename": "ratings.csv"}, "I tidy up.", "Keep it: the desk works with it too.")
    note = Note.to(agent, "Leave coal out, please.", by=BEN, at=now - timedelta(minutes=4))
    story.minutes = 3
    said = "Without coal two candidates are left. I put them side by side in place of the old conclusion."
    arguments = {"filename": "report.md", "text": REPORT}
    asks = story.proposes("write_to_file", arguments, said, "Two figures each are few to judge a company by.")
    asks = await _with_preview(agent, asks, "report.md", OLD)
    return story.ends(Awaiting(), replace(note, taken_into=asks.id), asks)


async def _with_preview(agent: Agent, turn: Turn, path: str, text: str) -> Turn:
    """The turn with the preview that its command makes where this file is."""
    files = InMemoryFiles()
    await files.write(path, text.encode())
    context = CommandContext(agent=agent, files=files)
    preview = await Commands.of(*FILE_COMMANDS).get(turn.call.name).preview(turn.call.arguments, context)
    return replace(turn, proposal=replace(turn.proposal, preview=preview))


def _interrupted(now: datetime) -> Values:
    story = Story(agent_named("Deployer", "platform", "deploys", "Deploy the release", now, BEN), now, 40)
    story.did("read_file", {"filename": "release.md"}, "I read the notes.", "3 changes", MIA)
    asked = story.proposes("execute_shell", {"command_line": "make deploy"}, "All is green, so I deploy.")
    running = asked.decide(Approve(), by=BEN, at=asked.proposed_at).start(asked.proposed_at)
    return story.ends(Awaiting(), running.interrupt())


def _weekly(now: datetime) -> Values:
    agent = agent_named("Weekly", "energy-desk", "writes the week up", "Write week-48.md from the orders", now)
    story = Story(agent, now, 34)
    story.did("list_files", {}, "I look at what is there.", "orders.csv\nreturns.csv")
    story.did("read_file", {"filename": "orders.csv"}, "I count the orders.", "214 rows")
    story.did("read_file", {"filename": "returns.csv"}, "I count the returns.", "9 rows", BEN)
    story.did("write_to_file", {"filename": "week-48.md", "text": WEEKLY}, "The week in three lines.", "written")
    reason = "week-48.md has the week in three lines. Open: the invoice of Halden."
    story.did("task_complete", {"reason": reason}, "All of it is written.", reason)
    return story.ends(Finished(reason), Notice.to(agent, "finished", f"done: {reason}", story.at()))


def _stopped(now: datetime) -> Values:
    agent = agent_named("Repo-Reviewer", "platform", "reviews changes", "Review the branch api-2", now, MIA)
    story = Story(agent, now, 70)
    story.did("execute_shell", {"command_line": "git diff main...api-2 --stat"}, "I see what changed.", "9 files", MIA)
    story.did("read_file", {"filename": "api/users.py"}, "The largest change first.", "240 lines", MIA)
    asked = story.proposes("execute_shell", {"command_line": "pytest -q"}, "I run the tests.")
    story.minutes -= 2
    stopped = asked.stop(BEN, story.at())
    told = Notice.to(agent, "stopped", f"stopped by {BEN}. Resume to continue.", story.at())
    return story.ends(Stopped(BEN), stopped, told)


def _paused(now: datetime) -> Values:
    story = Story(agent_named("Inbox-Digest", "support", "sums the inbox up", "Sum up today's inbox", now), now, 95)
    story.did("read_file", {"filename": "inbox.txt"}, "I read it.", "61 messages", MIA)
    return story.ends(Paused(REACHED), Notice.to(story.agent, "paused", f"paused: {REACHED}", story.at()))


async def _asking(now: datetime) -> Sequence[Values]:
    asks: Sequence[tuple[str, str, str, Mapping[str, object], str, float]] = (
        ("Price-Watch", "energy-desk", "browse_website", {"url": "https://prices.example/gas"}, "I read today's.", 6),
        ("Tester", "platform", "execute_shell", {"command_line": "pytest -q tests/api"}, "I run what changed.", 11),
        (
            "Cleaner",
            "platform",
            "delete_file",
            {"filename": "build/old-logs.txt"},
            "Nobody has read it for a year.",
            17,
        ),
        ("Herald", "support", "send_tweet", {"tweet_text": "Version 2.4 is out."}, "The release is out.", 25),
        ("Scout", "research", "google", {"query": "heat pumps subsidies 2027"}, "I look for the new rules.", 31),
    )
    stories = [
        (
            Story(agent_named(name, channel, "helps the team", GOALS[name], now, MIA), now, minutes),
            command,
            arguments,
            said,
        )
        for name, channel, command, arguments, said, minutes in asks
    ]
    for story, *_ in stories:
        story.minutes += 3
        story.did("list_files", {}, "I look at what is there.", "4 files", BEN)
        story.did("read_file", {"filename": "plan.md"}, "I read the plan.", "20 lines")
    asking = [(story, story.proposes(command, arguments, said)) for story, command, arguments, said in stories]
    return [
        story.ends(
            Awaiting(),
            await _with_preview(story.agent, turn, "build/old-logs.txt", LOGS)
            if turn.call.name == "delete_file"
            else turn,
        )
        for story, turn in asking
    ]


def _thinking(now: datetime) -> Sequence[Values]:
    lease = Lease(granted_by=ANA, granted_at=now, total=5, left=3, classes=("read", "write"))
    working = []
    for name, channel, is_free in (("Archivist", "research", True), ("Translator", "support", False)):
        agent = agent_named(name, channel, "helps the team", "Sort the papers", now)
        story = Story(replace(agent, lease=lease) if is_free else agent, now, 5)
        story.did("read_file", {"filename": "papers.txt"}, "I read the list.", "40 papers")
        working.append(story.ends(Thinking()))
    return working
