"""A persistent worker with a name, a role, goals, a budget and a thread."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Literal, Self, TypeAlias

from agent_core.model.actors import Actor
from agent_core.model.agent_policy import Policy
from agent_core.model.channels import ChannelScope, ThreadRef
from agent_core.model.ids import AgentId, MemoryId
from agent_core.model.lease import Lease
from agent_core.model.usage import Budget, CallKind, Usage


@dataclass(frozen=True, slots=True)
class Thinking:
    """The model is asked, or will be when `wake_at` comes: `held_up` says why not yet, after how many `tries`.

    `waits_for` are the names of helpers whose work it waits for.
    """

    held_up: str = ""
    tries: int = 0
    waits_for: tuple[str, ...] = ()
    kind: Literal["thinking"] = "thinking"


@dataclass(frozen=True, slots=True)
class Awaiting:
    """People are asked."""

    kind: Literal["awaiting"] = "awaiting"


@dataclass(frozen=True, slots=True)
class Acting:
    """An approved command runs, or is about to."""

    kind: Literal["acting"] = "acting"


@dataclass(frozen=True, slots=True)
class Paused:
    """Signoff stopped it; `reason` is a sentence with what to do next."""

    reason: str
    kind: Literal["paused"] = "paused"


@dataclass(frozen=True, slots=True)
class Stopped:
    """A person stopped it."""

    by: Actor
    kind: Literal["stopped"] = "stopped"


@dataclass(frozen=True, slots=True)
class Finished:
    """Its goals are reached, as it says."""

    reason: str = ""
    kind: Literal["finished"] = "finished"


@dataclass(frozen=True, slots=True, kw_only=True)
class Digest:
    """What stands in the prompt for the turns up to number `upto`: a summary, and what was recalled with it."""

    upto: int = 0
    summary: str = ""
    recalled: tuple[str, ...] = ()


AgentStatus: TypeAlias = Thinking | Awaiting | Acting | Paused | Stopped | Finished


@dataclass(frozen=True, slots=True, kw_only=True)
class Agent:
    """An agent as it stands.

    `turns` is the number of its last turn, `unusable` how many replies in a row could not be used, `complaint` what
    was wrong with the last, and `unbilled` what calls took that belong to no turn yet. `fence` grows whenever a worker
    takes the agent. `wake_at` is when it has work although nobody does anything. `usage` counts every call, `calls` by
    their kind; the budget what they cost. `remembered` is the number of the last turn that went into long-term memory,
    `recalled` what of it was shown since the last digest, `forgetful` why it cannot be reached now. `parent` is the
    agent that started this one, `head` the one that people made, whose budget and files are its too, and `under` that
    one's name.

    `exposed` says that it was given untrusted content, and that no person who was told of it approved anything since;
    `exposures` counts how often it was given any. `tainted` says that it ever was, so that its memory may hold some,
    and `folder_tainted` that its folder may.
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
    budget: Budget = Budget()
    usage: Usage = Usage()
    unbilled: Usage = Usage()
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
    fence: int = 0
    wake_at: datetime | None = None
    parent: AgentId | None = None
    head: AgentId | None = None
    under: str = ""
    exposed: bool = False
    exposures: int = 0
    tainted: bool = False
    folder_tainted: bool = False

    @property
    def title(self) -> str:
        """Its name, after that of the agent it helps."""
        return f"{self.under} › {self.name}" if self.under else self.name

    @property
    def home(self) -> AgentId:
        """Whose folder of files it works in: helpers share that of the agent they help."""
        return self.head or self.id

    @property
    def is_at_rest(self) -> bool:
        """Whether it stands still until somebody resumes it."""
        return isinstance(self.status, Paused | Stopped | Finished)

    @property
    def is_tainted(self) -> bool:
        """Whether it was ever given untrusted content. Agents saved before 0.1 have only `exposed`."""
        return self.tainted or self.exposed

    def expose(self) -> Self:
        """The agent after it was given untrusted content: its lease covers no execute and publish any more."""
        lease = self.lease.without_guarded() if self.lease else None
        return replace(self, exposed=True, exposures=self.exposures + 1, tainted=True, lease=lease)

    def clear_exposure(self, known: int) -> Self:
        """The agent after a person approved who was told of the first `known` exposures; a later one stays.

        Its memory and folder stay tainted.
        """
        return replace(self, exposed=False, tainted=self.is_tainted) if known == self.exposures else self

    def become(self, status: AgentStatus, at: datetime) -> Self:
        """The agent in another state, with no timer; at rest it holds no lease."""
        changed = replace(self, status=status, since=at, wake_at=None)
        return replace(changed, lease=None) if changed.is_at_rest else changed

    def pay(self, spent: Mapping[CallKind, Usage]) -> Self:
        """The agent after calls to models. The tokens of embeddings are counted apart, under their kind."""
        said = (usage for kind, usage in spent.items() if kind != "embedding")
        usage = sum(said, Usage(cost=spent["embedding"].cost) if "embedding" in spent else Usage())
        calls = {kind: self.calls.get(kind, Usage()) + spent.get(kind, Usage()) for kind in {**self.calls, **spent}}
        return replace(
            self,
            usage=self.usage + usage,
            unbilled=self.unbilled + usage,
            calls=calls,
            budget=self.budget.spend(usage.cost),
        )


@dataclass(frozen=True, slots=True)
class Headcount:
    """How many agents of a channel are in a status, by the status's `kind`."""

    channel: ChannelScope
    status: str
    number: int
