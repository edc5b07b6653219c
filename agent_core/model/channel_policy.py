"""The policy of a channel: who approves the commands of its agents, and how many people approve each class."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from functools import lru_cache
from typing import Any, Literal, TypeAlias, get_args

from agent_core.model.command import GUARDED_CLASSES, RISK_CLASSES, RiskClass
from agent_core.model.decision import MAX_LEASE_COMMANDS, MIN_LEASE_COMMANDS, Policy, Verbosity
from agent_core.model.origin import Actor

POLICY_KEY = "policy"  # the channel's preference that holds the policy
ANYONE, OWNER = "anyone", "owner"
MAX_APPROVERS = 20
Need: TypeAlias = Literal["free", "one", "two", "never"]  # who approves a command of a class
NEEDS_TEXT: dict[Need | None, str] = {
    "free": "runs without asking",
    "one": "one person approves",
    "two": "two people approve",
    "never": "never runs",
    None: "as each agent has it",
}


@dataclass(frozen=True, slots=True)
class Approver:
    """A person, group or role by the platform's id; or ANYONE, or OWNER, who made the agent. `name`: as it is shown."""

    id: str
    name: str = ""

    def __str__(self) -> str:
        return {ANYONE: "any full member", OWNER: "who made the agent"}.get(self.id, self.name or self.id)

    @property
    def is_group(self) -> bool:
        """Whether this is a group of Slack, a role of Discord or a group of the page's provider."""
        return self.id.startswith(("S", "&"))

    def includes(self, actor: Actor, owner: Actor | None = None) -> bool:
        """Whether this is the person or a group of theirs. `owner`: who made the agent, None if it is about none."""
        if self.id == OWNER:
            return owner is not None and actor.id == owner.id
        return self.id == ANYONE or self.id == actor.id or self.id in actor.groups


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelPolicy:
    """What holds for all agents of a channel; where an agent's own policy is stricter, that holds.

    `approvers`: who may approve, always full members. `needs`: who approves each class; a class that is not in it is
    left to the policy of each agent. `makers_approve`: whether who made an agent may approve its `execute` and
    `publish` commands. `managers`: who may change this policy besides `set_by`; empty for the approvers.
    `posts_heads`: whether the head of the channel's decision log is posted in a thread once a day.
    `verbosity`: what cards show, None for as each agent's policy has it. `times`: the N of Approve ×N that cards offer
    first, 0 for the usual ones.
    `free_by`, `free_at`: who set each free class free, and when one was set free last.
    """

    approvers: tuple[Approver, ...] = (Approver(ANYONE),)
    needs: Mapping[RiskClass, Need] = field(default_factory=dict)
    makers_approve: bool = True
    managers: tuple[Approver, ...] = ()
    posts_heads: bool = False
    verbosity: Verbosity | None = None
    times: int = 0
    set_by: Actor | None = None
    free_by: Mapping[RiskClass, Actor] = field(default_factory=dict)
    free_at: datetime | None = None

    def classes(self, need: Need) -> tuple[RiskClass, ...]:
        """The classes with this need, in their order."""
        return tuple(risk for risk in RISK_CLASSES if self.needs.get(risk) == need)

    def narrow(self, policy: Policy) -> Policy:
        """An agent's own policy as it holds in this channel."""
        two = {*policy.two, *self.classes("two")}
        kept = (risk for risk in policy.free if risk not in two and self.needs.get(risk, "free") == "free")
        both = tuple(risk for risk in RISK_CLASSES if risk in two)
        return replace(policy, free=tuple(kept), two=both, verbosity=self.verbosity or policy.verbosity)

    def denied(self, risks: Iterable[RiskClass]) -> tuple[RiskClass, ...]:
        """Those of the classes that never run here."""
        return tuple(risk for risk in risks if self.needs.get(risk) == "never")

    def is_approver(self, actor: Actor, owner: Actor) -> bool:
        return any(approver.includes(actor, owner) for approver in self.approvers)

    def bars_maker(self, actor: Actor, owner: Actor, risks: Iterable[RiskClass]) -> bool:
        """Whether the person made the agent, and another one approves its commands of these classes."""
        return not self.makers_approve and actor.id == owner.id and not GUARDED_CLASSES.isdisjoint(risks)

    def may_change(self, actor: Actor) -> bool:
        """Whether the person may change this policy; only full members may."""
        if actor.kind != "member":
            return False
        is_last = self.set_by is not None and self.set_by.id == actor.id and not self.is_left_to_groups(actor)
        return is_last or any(each.includes(actor) for each in self.managers or self.approvers)

    def is_left_to_groups(self, actor: Actor) -> bool:
        """Whether only those who are named may change it, and not who set it last: for who signed in to the page.

        They can lose a group, and would take the right back by the policy.
        """
        return actor.signed_in and any(each.id not in (ANYONE, OWNER) for each in self.managers or self.approvers)

    @property
    def may_be_two(self) -> bool:
        """Whether more than one person may approve the same command."""
        ids = {each.id for each in self.approvers}
        return len(ids) > 1 or ANYONE in ids or any(each.is_group for each in self.approvers)

    @property
    def problem(self) -> str:
        """Why nobody could approve under this policy, as a sentence; "" if somebody can."""
        ids = {each.id for each in self.approvers}
        if not 0 < len(self.approvers) <= MAX_APPROVERS or len(self.managers) > MAX_APPROVERS:
            return f"Name 1 to {MAX_APPROVERS} people, groups or roles."
        if OWNER in {each.id for each in self.managers}:
            return "Who may change the policy: people, groups, roles or anyone. Each agent has another maker."
        if ids == {OWNER} and not self.makers_approve:
            return "If only who made an agent may approve, they must be allowed to approve its execute and publish."
        if (two := self.classes("two")) and not self.may_be_two:
            return f"Two people approve {', '.join(two)}, so more than one person must be allowed to approve."
        if self.times and not MIN_LEASE_COMMANDS <= self.times <= MAX_LEASE_COMMANDS:
            return f"Approve ×N: a number from {MIN_LEASE_COMMANDS} to {MAX_LEASE_COMMANDS}, not {self.times}."
        return ""

    @property
    def groups(self) -> frozenset[str]:
        """The ids that may be groups or roles."""
        ids = (each.id for each in (*self.approvers, *self.managers))
        return frozenset(each for each in ids if each not in (ANYONE, OWNER))


NO_POLICY = ChannelPolicy()


UNREADABLE = ChannelPolicy(needs=dict.fromkeys(RISK_CLASSES, "never"))


@lru_cache(maxsize=1024)
def parse_channel_policy(text: str | None) -> ChannelPolicy:
    """Parse the stored policy; nothing stored leaves everything to the agents' own policies.

    A need that this release does not know is taken for never. Under a policy that it cannot read nothing runs, and any
    full member may set another one.
    """
    if not text:
        return NO_POLICY
    try:
        stored = json.loads(text)
        return ChannelPolicy(
            approvers=tuple(_approver(each) for each in stored["approvers"]),
            needs={risk: need if need in NEEDS_TEXT else "never" for risk, need in stored["needs"].items()},
            makers_approve=stored["makers_approve"] is True,
            managers=tuple(_approver(each) for each in stored["managers"]),
            posts_heads=stored.get("posts_heads") is True,
            verbosity=shows if (shows := stored.get("verbosity")) in get_args(Verbosity) else None,
            times=int(stored.get("times") or 0),
            set_by=stored_actor(stored["set_by"]) if stored["set_by"] else None,
            free_by={risk: stored_actor(actor) for risk, actor in stored["free_by"].items()},
            free_at=datetime.fromisoformat(stored["free_at"]) if stored["free_at"] else None,
        )
    except (ValueError, TypeError, KeyError, AttributeError):
        return UNREADABLE


def serialise_channel_policy(policy: ChannelPolicy, before: str | None = None) -> str:
    """The policy to store. What a newer release keeps beside it in `before`, the text stored so far, stays."""
    kept = json.loads(before) if before and parse_channel_policy(before) is not UNREADABLE else {}
    return json.dumps({**kept, **asdict(policy)}, default=str)


def stored_actor(stored: Mapping[str, Any]) -> Actor:
    """A person as they were stored; raise KeyError or TypeError for anything else."""
    known = {name: stored[name] for name in ("id", "display", "kind", "workspace")}
    return Actor(**known, groups=tuple(stored.get("groups", ())))


def _approver(stored: Mapping[str, Any]) -> Approver:
    return Approver(stored["id"], stored["name"])
