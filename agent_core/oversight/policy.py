"""Permissions: who may approve, create agents and talk to them, and which risk classes run without approval."""

from agent_core.errors import NotAllowed
from agent_core.model.agent import Agent
from agent_core.model.command import RiskClass
from agent_core.model.decision import Policy
from agent_core.model.origin import Actor

AFTER_THE_OWNER = "Once their account is deactivated, or a guest's, the next full member who acts takes over."
WITHOUT_ACCOUNTS = "If they cannot come back in the browser where they made it, duplicate the agent."


class OwnerDecides(NotAllowed):
    """A full member was refused because only the agent's owner decides."""

    def __init__(self, agent: Agent, actor: Actor, why: str) -> None:
        self.agent, self.actor = agent, actor
        super().__init__(why)


def require_may_decide(agent: Agent, actor: Actor, what: str = "approve here") -> None:
    """Raise NotAllowed unless `actor` is one of the agent's approvers; `what` completes "you may not …"."""
    if why := _why_not(agent, actor):
        raise OwnerDecides(agent, actor, f"{what}: {why}") if actor.kind == "member" else NotAllowed(f"{what}: {why}")


def may_decide(agent: Agent, actor: Actor) -> bool:
    return not _why_not(agent, actor)


def require_may_speak(actor: Actor, what: str) -> None:
    """Raise NotAllowed for bots, because agents neither answer nor obey bots."""
    if actor.kind == "bot":
        raise NotAllowed(f"{what}: bots are not listened to.")


def require_may_create(actor: Actor, *, guests_may: bool = False) -> None:
    """Raise NotAllowed unless `actor` is a full member, or a guest where the operator allows guests."""
    match actor.kind:
        case "member":
            return
        case "guest" if guests_may:
            return
        case "guest":
            raise NotAllowed("make agents here: a full member of the channel does.")
        case "external":
            raise NotAllowed(
                "make agents here: people from other organisations do not; a full member of the channel does."
            )
        case "bot":
            raise NotAllowed("make agents here: bots are not listened to.")


def is_preapproved(policy: Policy, risks: tuple[RiskClass, ...]) -> bool:
    """Whether the policy lets all these risk classes run without approval."""
    return set(risks) <= set(policy.free)


def _why_not(agent: Agent, actor: Actor) -> str:
    match actor.kind:
        case "guest":
            return "guests may read and reply; a full member of the channel decides."
        case "external":
            return "people from other organisations may read and reply; a full member of the channel decides."
        case "bot":
            return "bots are not listened to."
        case "member":
            is_owners = agent.policy.approvers == "owner" and agent.owner.kind == "member"
            if not is_owners or actor.id == agent.owner.id:
                return ""
            way = WITHOUT_ACCOUNTS if agent.channel.surface == "web" else AFTER_THE_OWNER
            return f"only {agent.owner} decides for {agent.name}. {way}"
