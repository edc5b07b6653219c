"""The record of an agent: its fields and its changes (expose, claim, pay, become), its statuses, summary and model."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from decimal import Decimal
from typing import Literal, Self, TypeAlias

from agent_core.model.channel_policy import NO_POLICY, ChannelPolicy
from agent_core.model.channel_settings import FIRST_REMINDER, MAX_REMINDERS
from agent_core.model.command import Judged
from agent_core.model.decision import Policy
from agent_core.model.ids import AgentId, MemoryId
from agent_core.model.model_calls import FREE, NO_USAGE, Budget, CallKind, Usage
from agent_core.model.origin import Actor, ChannelScope, ThreadRef
from agent_core.model.permissions import Lease, StandingRule
from agent_core.model.records.notification import Notification
from agent_core.model.schedule import Schedule


@dataclass(frozen=True, slots=True)
class Thinking:
    """The model is to be asked: now, or at the agent's `wake_at`.

    `held_up`: why the agent waits after `tries` failed calls, the first of which was at `held_since`.
    `waits_for`: names of the helpers that the agent waits for.
    `activity`: for how long the model has been thinking and what it writes, if that takes more than a few seconds.
    """

    held_up: str = ""
    tries: int = 0
    waits_for: tuple[str, ...] = ()
    activity: str = ""
    held_since: datetime | None = None
    kind: Literal["thinking"] = "thinking"


@dataclass(frozen=True, slots=True)
class Awaiting:
    """The agent waits for people to decide."""

    kind: Literal["awaiting"] = "awaiting"


@dataclass(frozen=True, slots=True)
class Acting:
    """An approved command runs or is about to run. `asks`: its tool server waits for an answer of people."""

    asks: bool = False
    kind: Literal["acting"] = "acting"


@dataclass(frozen=True, slots=True)
class Paused:
    """Signoff paused the agent; `reason` is a sentence that says what to do next."""

    reason: str
    kind: Literal["paused"] = "paused"


@dataclass(frozen=True, slots=True)
class Stopped:
    """A person stopped the agent."""

    by: Actor
    kind: Literal["stopped"] = "stopped"


@dataclass(frozen=True, slots=True)
class Finished:
    """The agent says that its goals are reached."""

    reason: str = ""
    kind: Literal["finished"] = "finished"


@dataclass(frozen=True, slots=True, kw_only=True)
class Digest:
    """The summary that replaces the turns up to number `upto` in the prompt, with memories found when it was made."""

    upto: int = 0
    summary: str = ""
    recalled: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Forked:
    """From which agent, after which of its turns, an agent was forked."""

    agent_id: AgentId
    name: str
    turn: int


SIMULATED = "dry run: only simulated"
ARCHIVED = "archived"  # what a Headcount calls agents that lists leave out
AgentStatus: TypeAlias = Thinking | Awaiting | Acting | Paused | Stopped | Finished


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelChoice:
    """The model and reasoning effort that an agent uses; "" stands for the operator's choice.

    `cache_key`: the same in all calls of one agent, so that the provider finds its cached prompt.
    """

    model: str = ""
    effort: str = ""
    cache_key: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Agent:
    """An agent's state.

    `turns`: the number of its last turn.
    `unusable`, `complaint`: how many replies in a row were unusable, and what was wrong with the last.
    `usage`, `calls`: usage of all calls, in total and by kind. `budget` sums their cost.
    `unbilled`: the part of the usage that belongs to no turn yet.
    `wake_at`: the time at which it has work even if no event arrives; while it waits for people, that of a reminder;
        also that of the next try for a notification for which the platform was too busy.
    `reminded`: how many reminders of the present wait are no longer due.
    `notifications`: the messages about waits that were sent and not yet taken back.
    `fence`: a number that is raised whenever a worker takes the agent.
    `save_id`: identifies the loop's last save, to find out whether a commit took effect whose answer was lost.

    `remembered`: the number of the last turn in long-term memory.
    `recalled`: memories offered in prompts since the last summary.
    `forgetful`: why long-term memory cannot be reached, or "".
    `fallback`: the label of the fallback model if that gave the last reply, or "".

    `parent`, `under`: the id and the name of the agent that started this one.
    `head`: the root agent, which people created and whose budget and files a helper uses.

    `exposed`: it read untrusted content, and nobody who was shown this has approved anything since.
    `exposures`: how often it read untrusted content.
    `tainted`: it read untrusted content at some time, so its memory may contain some.
    `folder_tainted`: its folder may contain untrusted content.

    `free_by`, `free_at`: who chose the classes of its policy that run without asking, and when, if they were chosen
        after it was made; see `free_chooser`.
    `dry_run`: commands that would change or send something are simulated; see `simulates`.
    `forked`: from where it was forked, or None.
    `archived_at`: when a person archived it, with all agents of its tree; see `is_archived`.
    `schedule`: when it works by itself, or None.
    `read_policy`, `read_rules`: those of its channel, which are read with the agent and never saved with it.
    """

    id: AgentId
    channel: ChannelScope
    thread: ThreadRef | None = None
    name: str
    role: str
    goals: tuple[str, ...]
    owner: Actor
    created_at: datetime
    model: str = ""
    effort: str = ""
    budget: Budget = Budget()
    usage: Usage = NO_USAGE
    unbilled: Usage = NO_USAGE
    calls: Mapping[CallKind, Usage] = field(default_factory=dict)
    policy: Policy = Policy()
    status: AgentStatus = Thinking()
    since: datetime
    lease: Lease | None = None
    turns: int = 0
    unusable: int = 0
    complaint: str = ""
    digest: Digest = Digest()
    remembered: int = 0
    recalled: tuple[MemoryId, ...] = ()
    forgetful: str = ""
    fallback: str = ""
    fence: int = 0
    save_id: str = ""
    wake_at: datetime | None = None
    reminded: int = 0
    notifications: tuple[Notification, ...] = ()
    parent: AgentId | None = None
    head: AgentId | None = None
    under: str = ""
    exposed: bool = False
    exposures: int = 0
    tainted: bool = False
    folder_tainted: bool = False
    free_by: Actor | None = None
    free_at: datetime | None = None
    dry_run: bool = False
    forked: Forked | None = None
    archived_at: datetime | None = None
    schedule: Schedule | None = None
    read_policy: ChannelPolicy | None = None
    read_rules: tuple[StandingRule, ...] = ()

    @property
    def channel_policy(self) -> ChannelPolicy:
        """The policy of its channel."""
        return self.read_policy or NO_POLICY

    @property
    def policy_in_force(self) -> Policy:
        """Its own policy, as far as that of the channel leaves it."""
        return self.channel_policy.narrow(self.policy)

    @property
    def title(self) -> str:
        """The name to show. A helper's name follows the name of the agent that started it: "Ada › Bob"."""
        return f"{self.under} › {self.name}" if self.under else self.name

    @property
    def choice(self) -> ModelChoice:
        """The agent's model, effort and cache key for a call."""
        return ModelChoice(model=self.model, effort=self.effort, cache_key=str(self.id))

    @property
    def home(self) -> AgentId:
        """The agent whose workspace folder this one uses: helpers share the root agent's."""
        return self.head or self.id

    @property
    def free_chooser(self) -> Actor:
        """Who chose the classes that run without asking: the owner, unless somebody chose later."""
        return self.free_by or self.owner

    def simulates(self, command: Judged) -> bool:
        """Whether it only says what the command would do: it is a dry run, and the command may do more than read.

        Of the commands of plugins and tool servers only those of the class read run, and none that always asks.
        """
        risks, is_own = command.risks, not command.source
        only_reads = set(risks) <= {"read", "network"} and ("read" in risks or is_own)
        return self.dry_run and (command.always_asks or not only_reads)

    @property
    def is_at_rest(self) -> bool:
        """Whether the agent does nothing until a person resumes it."""
        return isinstance(self.status, Paused | Stopped | Finished)

    @property
    def needs_people(self) -> bool:
        """Whether the agent waits until a person decides, answers a server or resumes it, and is not archived."""
        return (isinstance(self.status, Awaiting | Paused) or self.asks) and not self.is_archived

    @property
    def calls_people(self) -> bool:
        """Whether people are told of its state where they look elsewhere: it needs them, or people's agent is done."""
        is_done = isinstance(self.status, Finished) and self.parent is None and not self.is_archived
        return self.needs_people or is_done

    @property
    def asks(self) -> bool:
        """Whether the tool server of its running command waits for an answer of people."""
        return isinstance(self.status, Acting) and self.status.asks

    @property
    def is_archived(self) -> bool:
        """Whether lists leave the agent out. The release before keeps `archived_at` when it resumes an agent."""
        return self.archived_at is not None and self.archived_at >= self.since

    @property
    def scheduled_at(self) -> datetime | None:
        """When its next run is due, if one is."""
        return self.schedule.next_at if self.schedule else None

    @property
    def is_between_runs(self) -> bool:
        """Whether it is done, and goes on by itself when its next run is due."""
        return self.scheduled_at is not None and isinstance(self.status, Finished) and not self.is_archived

    @property
    def is_tainted(self) -> bool:
        """Whether the agent ever read untrusted content. Agents saved before 0.1 have only `exposed`."""
        return self.tainted or self.exposed

    def expose(self) -> Self:
        """The agent after it read untrusted content: its lease no longer covers execute and publish."""
        lease = self.lease.without_guarded() if self.lease else None
        return replace(self, exposed=True, exposures=self.exposures + 1, tainted=True, lease=lease)

    def clear_exposure(self, known: int) -> Self:
        """The agent after an approval by a person who was shown the first `known` exposures. Later exposures remain.

        Memory and folder remain tainted.
        """
        is_cleared = self.exposed and known == self.exposures
        return replace(self, exposed=False, tainted=True) if is_cleared else self

    def claim(self) -> Self:
        """The agent as a worker takes it: with the next fence, and without what a crash left: `activity`, `asks`."""
        status = self.status
        idle = replace(status, activity="") if isinstance(status, Thinking) and status.activity else status
        idle = Acting() if self.asks else idle
        return replace(self, fence=self.fence + 1, status=idle)

    def archive(self, at: datetime) -> Self:
        """The agent at rest, archived at that time, its schedule paused. No reminder of its wait is due any more."""
        schedule = replace(self.schedule, next_at=None) if self.schedule else None
        return replace(self, archived_at=at, wake_at=None, reminded=MAX_REMINDERS, schedule=schedule)

    def is_in_run(self, turn: int) -> bool:
        """Whether the turn of this number is of the open run: each run may well repeat the one before. True without."""
        run = self.schedule.open if self.schedule else None
        return run is None or turn > run.after_turn

    def begin_run(self, due: datetime, now: datetime) -> tuple[Self, str]:
        """The finished agent as it thinks again, in the next run of its schedule, and the title of that run."""
        if self.schedule is None:
            raise ValueError("It has no schedule.")
        schedule = self.schedule.begin(due, now, after_turn=self.turns, spent=self.budget.spent)
        begun = replace(self.become(Thinking(), now), schedule=schedule, unusable=0, complaint="")
        return begun, f"Run {schedule.runs} · {schedule.title(due)}"

    def when_called(self, notification: Notification) -> "Agent":
        """The agent in the wait that a notification is about, when that was sent."""
        return replace(self, since=notification.since, reminded=notification.reminded)

    def become(self, status: AgentStatus, at: datetime) -> Self:
        """The agent in `status` since `at`, not archived; an agent at rest loses its lease.

        It has no `wake_at`, except for the first reminder where there are reminders. What is finished ends its run.
        """
        changed = replace(self, status=status, since=at, wake_at=None, reminded=0, archived_at=None)
        if changed.calls_people and not changed.asks and changed.channel.has_notifications:
            changed = replace(changed, wake_at=at + FIRST_REMINDER)
        if changed.schedule and isinstance(status, Finished):
            changed = replace(changed, schedule=replace(changed.schedule, open=None))
        return replace(changed, lease=None) if changed.is_at_rest else changed

    def pay(self, spent: Mapping[CallKind, Usage], estimated: Decimal = FREE) -> Self:
        """The agent, charged for model calls. `usage` includes the cost of embeddings, but not their tokens.

        `estimated`: the part of the cost that is an estimate.
        """
        if not spent:
            return self
        said = (usage for kind, usage in spent.items() if kind != "embedding")
        usage = sum(said, Usage(cost=spent["embedding"].cost) if "embedding" in spent else NO_USAGE)
        calls = {kind: self.calls.get(kind, NO_USAGE) + usage for kind, usage in spent.items()}
        return replace(
            self,
            usage=self.usage + usage,
            unbilled=self.unbilled + usage,
            calls={**self.calls, **calls},
            budget=self.budget.spend(usage.cost, estimated),
        )


@dataclass(frozen=True, slots=True)
class Headcount:
    """The number of agents of a channel in one status, named by the status's `kind`, or ARCHIVED for archived ones."""

    channel: ChannelScope
    status: str
    number: int
