"""What a changed policy does to an agent, its lease and its helpers, and the changes in words. Pure functions."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime

from agent_core.errors import InvalidInput
from agent_core.model.agent import Agent
from agent_core.model.channel_policy import NEEDS_TEXT, Approver, ChannelPolicy
from agent_core.model.command import RISK_CLASSES, RiskClass
from agent_core.model.decision import CARDS_SHOW, PolicyChange, two_problem
from agent_core.model.origin import Actor
from agent_core.oversight.policy import may_decide

YES_NO = {True: "yes", False: "no"}


def change_policy(agent: Agent, change: PolicyChange, by: Actor, at: datetime) -> Agent:
    """The agent with the changed policy. Who sets a class free is then who chose all its free classes.

    Raise InvalidInput if another person chose one of them and this person neither named it nor was shown it, and if two
    people were to approve where only the owner may.

    What is tightened holds at once: a class that asks leaves the lease too, and a lease or free classes of a person who
    may no longer decide end. What is loosened holds for later proposals: an open one waits for people as before.
    """
    changed = replace(agent, policy=change.apply(agent.policy))
    if dropped := [risk for risk in change.free if risk in changed.policy.two]:
        said = f"Nothing was changed. Two people approve {', '.join(dropped)}, so it cannot run without asking."
        raise InvalidInput({"free": said})
    if problem := two_problem(changed.policy):
        raise InvalidInput({"approvers": f"Nothing was changed. {problem}"})
    if set(changed.policy.free) - set(agent.policy.free):
        _require_shown(changed, change, by)
        changed = replace(changed, free_by=by, free_at=at)
    if not may_decide(changed, changed.free_chooser):
        changed = replace(changed, policy=replace(changed.policy, free=()))
    lost = set(agent.policy.free) - set(changed.policy.free)
    return _limit_lease(changed, lost.union(change.asked, change.two))


def follow_channel_policy(agent: Agent, changed: ChannelPolicy) -> Agent:
    """The agent as the channel's changed policy leaves it: its lease loses classes that ask now, or its granter."""
    before, after = agent.policy_in_force, replace(agent, read_policy=changed)
    asked = {risk for risk, need in changed.needs.items() if need != "free"} - {
        risk for risk, need in agent.channel_policy.needs.items() if need != "free"
    }
    return _limit_lease(after, asked.union(set(after.policy_in_force.two) - set(before.two)))


def with_choosers(before: ChannelPolicy, changed: ChannelPolicy, by: Actor, at: datetime) -> ChannelPolicy:
    """The changed policy, with who set each of its free classes free: for the new ones, this person."""
    free = changed.classes("free")
    if new := [risk for risk in free if risk not in before.classes("free")]:
        changed = replace(changed, free_at=at)
    kept = {risk: actor for risk, actor in before.free_by.items() if risk in free}
    return replace(changed, free_by=kept | dict.fromkeys(new, by))


def list_channel_changes(old: ChannelPolicy, new: ChannelPolicy) -> tuple[str, ...]:
    """What changed between two policies of a channel, one phrase each, as `what: before → after`."""
    needs = [(risk, old.needs.get(risk), new.needs.get(risk)) for risk in RISK_CLASSES]
    phrases = (
        *(f"{risk}: {NEEDS_TEXT[before]} → {NEEDS_TEXT[now]}" for risk, before, now in needs if before != now),
        _changed("who may approve", _people(old.approvers), _people(new.approvers)),
        _changed("who may change this", _people(old.managers), _people(new.managers)),
        _changed("makers approve their own execute and publish", *(YES_NO[p.makers_approve] for p in (old, new))),
        _changed("the log's head is posted once a day", *(YES_NO[p.posts_heads] for p in (old, new))),
        _changed("cards show", *(CARDS_SHOW[p.verbosity] if p.verbosity else NEEDS_TEXT[None] for p in (old, new))),
        _changed("Approve ×N is offered first for", *(str(p.times or "the usual number") for p in (old, new))),
    )
    return tuple(filter(None, phrases))


def _people(people: Iterable[Approver]) -> str:
    return ", ".join(map(str, people)) or "who may approve"


def _changed(what: str, before: str, now: str) -> str:
    return f"{what}: {before} → {now}" if before != now else ""


def follow_policy(helper: Agent, root: Agent) -> Agent:
    """The helper of an agent whose policy changed: it has the same approvers and verbosity, and no free classes."""
    return _limit_lease(replace(helper, policy=replace(root.policy, free=())), ())


def list_changes(before: Agent, after: Agent) -> tuple[str, ...]:
    """What changed between two policies of an agent, one phrase each; none if nothing did."""
    old, new = before.policy, after.policy
    approvers = f"only {after.owner}" if new.approvers == "owner" else "anyone here"
    phrases = (
        f"who may approve: {approvers}" if new.approvers != old.approvers else "",
        _listed("runs without asking: ", new.free, old.free),
        _listed("asks again: ", old.free, new.free),
        _listed("two people approve: ", new.two, old.two),
        _listed("one person approves: ", old.two, new.two),
        f"cards show {CARDS_SHOW[new.verbosity]}" if new.verbosity != old.verbosity else "",
        _lease_change(before, after),
    )
    return tuple(filter(None, phrases))


def _require_shown(changed: Agent, change: PolicyChange, by: Actor) -> None:
    chooser, unseen = changed.free_chooser, [risk for risk in changed.policy.free if not change.is_shown(risk)]
    if unseen and chooser.id != by.id:
        listed = ", ".join(unseen)
        said = f"Nothing was changed. Runs without asking already, as {chooser} chose: {listed}."
        raise InvalidInput(
            {"free": f"{said} Who sets another class free answers for all: choose {listed} too, or let it ask."}
        )


def _limit_lease(agent: Agent, asked: Iterable[RiskClass]) -> Agent:
    lease = agent.lease
    if lease is None:
        return agent
    left = tuple(risk for risk in lease.classes if risk not in set(asked))
    holds = left and may_decide(agent, lease.granted_by)
    return replace(agent, lease=replace(lease, classes=left) if holds else None)


def _listed(what: str, these: Iterable[RiskClass], those: Iterable[RiskClass]) -> str:
    added = [risk for risk in these if risk not in set(those)]
    return f"{what}{', '.join(added)}" if added else ""


def _lease_change(before: Agent, after: Agent) -> str:
    if before.lease is None or before.lease == after.lease:
        return ""
    if after.lease is None:
        return f"{before.lease} ended"
    lost = _listed("", before.lease.classes, after.lease.classes)
    return f"{before.lease} no longer covers {lost}"
