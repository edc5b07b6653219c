"""Permissions of people: who may decide and approve, create agents, talk to them, and change a channel's policy."""

from collections.abc import Iterable

from agent_core.errors import InvalidInput, NotAllowed
from agent_core.model.agent import Agent
from agent_core.model.channel_policy import ChannelPolicy
from agent_core.model.command import CommandSpec, RiskClass
from agent_core.model.origin import Actor, Origin
from agent_core.model.turn import Turn
from agent_core.text.lines import listed

AFTER_THE_OWNER = "Once their account is deactivated, or a guest's, the next full member who acts takes over."
WITHOUT_ACCOUNTS = "If they cannot come back in the browser where they made it, duplicate the agent."
LOCKS_OUT = (
    "Nothing was changed. Your account is in none of these groups: {}. From then on only their members could change "
    "the policy, and you could not. Name one of your groups too, or first write in an agent's thread "
    "!policy channel managers @GROUP with a group of yours."
)
WITH_SIGN_IN = "If they cannot sign in any more, duplicate the agent."


class OwnerDecides(NotAllowed):
    """A full member was refused because only the agent's owner decides."""

    def __init__(self, agent: Agent, actor: Actor, why: str) -> None:
        self.agent, self.actor = agent, actor
        super().__init__(why)


def require_may_decide(agent: Agent, actor: Actor, what: str = "approve here") -> None:
    """Raise NotAllowed unless `actor` is one of the agent's approvers; `what` completes "you may not …"."""
    if why := _why_not_here(agent, actor):
        raise NotAllowed(f"{what}: {why}")
    if why := _why_owner_decides(agent, actor):
        raise OwnerDecides(agent, actor, f"{what}: {why}")


def may_decide(agent: Agent, actor: Actor) -> bool:
    return not (_why_not_here(agent, actor) or _why_owner_decides(agent, actor))


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


def require_may_change(policy: ChannelPolicy, origin: Origin, *, has_left: bool = False) -> None:
    """Raise NotAllowed unless the person may change the policy of their channel.

    Any full member may where nobody has an account, and once who set it last has left (`has_left`) and could change it.
    """
    is_left_to_groups = policy.is_left_to_groups(origin.by)
    is_anybodys = (has_left and not is_left_to_groups) or not origin.has_account
    if not policy.may_change(origin.by) and not (is_anybodys and origin.by.kind == "member"):
        last = [str(policy.set_by)] if policy.set_by and not is_left_to_groups else []
        who = [*map(str, policy.managers or policy.approvers), *last]
        raise NotAllowed(f"set the policy of this channel: {listed(dict.fromkeys(who))} may.")


def require_keeps(changed: ChannelPolicy, actor: Actor) -> None:
    """Raise InvalidInput for a policy that a person of the page, who sets it, could not change again."""
    if changed.is_left_to_groups(actor) and not changed.may_change(actor):
        named = listed(map(str, changed.managers or changed.approvers))
        raise InvalidInput({"policy": LOCKS_OUT.format(named)})


def require_may_approve(agent: Agent, turn: Turn, actor: Actor) -> None:
    """Raise NotAllowed unless `actor` is an approver, and may approve this command if they made the agent."""
    require_may_decide(agent, actor)
    if agent.channel_policy.bars_maker(actor, agent.owner, turn.risks):
        why = f"you made {agent.name}, and another person approves its {turn.call.name} here."
        raise NotAllowed(f"approve this: {why}")


def may_approve(agent: Agent, turn: Turn, actor: Actor) -> bool:
    """Whether this person's approval, given now or earlier, lets the turn run."""
    return may_decide(agent, actor) and not agent.channel_policy.bars_maker(actor, agent.owner, turn.risks)


def denied_classes(agent: Agent, command: Turn | CommandSpec) -> tuple[RiskClass, ...]:
    """The command's classes that never run in the channel; none for Signoff's own end of the work."""
    return () if command.finishes and not command.source else agent.channel_policy.denied(command.risks)


def never_text(command: str, denied: Iterable[RiskClass]) -> str:
    """That a command does not run in the channel, for people and for the model."""
    return f"{command} never runs in this channel: its policy denies {', '.join(denied)}."


def _why_not_here(agent: Agent, actor: Actor) -> str:
    """Why the person is no approver in the channel; "" if they are one."""
    match actor.kind:
        case "guest":
            return "guests may read and reply; a full member of the channel decides."
        case "external":
            return "people from other organisations may read and reply; a full member of the channel decides."
        case "bot":
            return "bots are not listened to."
        case "member" if agent.channel_policy.is_approver(actor, agent.owner):
            return ""
        case "member":
            return f"in this channel {listed(map(str, agent.channel_policy.approvers))} may."


def _why_owner_decides(agent: Agent, actor: Actor) -> str:
    """Why a full member may not decide because only the owner may; "" if that is not so."""
    if agent.policy.approvers != "owner" or agent.owner.kind != "member" or actor.id == agent.owner.id:
        return ""
    on_page = WITH_SIGN_IN if agent.owner.signed_in else WITHOUT_ACCOUNTS
    way = on_page if agent.channel.surface == "web" else AFTER_THE_OWNER
    return f"only {agent.owner} decides for {agent.name}. {way}"
