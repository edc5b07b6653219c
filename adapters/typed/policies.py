"""Shows and sets the policies of an agent and of a channel: by a typed line, and for a channel by a form."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from typing import cast, get_args

from adapters.screens.ui_text import approvers_text, first_word, free_text, two_text
from adapters.typed.form_values import FormValues
from adapters.typed.notification_commands import BETWEEN_MENTIONS
from agent_core.errors import InvalidInput
from agent_core.model.agent import Agent
from agent_core.model.channel_policy import (
    ANYONE,
    MAX_APPROVERS,
    NEEDS_TEXT,
    NO_POLICY,
    OWNER,
    Approver,
    ChannelPolicy,
    Need,
)
from agent_core.model.command import RISK_CLASSES, RiskClass
from agent_core.model.decision import CARDS_SHOW, Approvers, PolicyChange, Verbosity
from agent_core.model.origin import Origin, SurfaceName
from agent_core.ports.surface import Notifications
from agent_core.service.agent_settings import AgentSettings

HOW_POLICY = (
    "Policy: write approvers owner or approvers anyone, free CLASSES, ask CLASSES or ask all, two or one CLASSES "
    "(who approve), cards full or brief; policy channel is for all agents here. "
    f"Classes: {', '.join(RISK_CLASSES)}."
)


async def set_policy(settings: AgentSettings, agent: Agent, said: str, origin: Origin) -> str:
    """Change the policy as the text says, if there is one, and show it; raise InvalidInput, NotAllowed, NotPossible."""
    changed = await settings.set_policy(agent.id, parse_policy_change(said), origin) if said else agent
    return policy_text(changed)


def policy_text(agent: Agent) -> str:
    lines = (
        f"Policy of {agent.name}:",
        f"Who may approve: {approvers_text(agent)}",
        free_text(agent) or "Every command asks",
        *filter(None, [two_text(agent)]),
        f"Cards show {CARDS_SHOW[agent.policy_in_force.verbosity]}",
    )
    return "\n".join(lines)


def parse_policy_change(said: str) -> PolicyChange:
    """The change that a line such as `approvers owner` or `ask network execute` asks for; raise InvalidInput."""
    word, rest = first_word(said)
    words = rest.casefold().replace(",", " ").split()
    match word, words:
        case "approvers", [choice] if choice in get_args(Approvers):
            return PolicyChange(approvers=cast("Approvers", choice))
        case "cards", [choice] if choice in get_args(Verbosity):
            return PolicyChange(verbosity=cast("Verbosity", choice))
        case "ask", ["all"]:
            return PolicyChange(asked=RISK_CLASSES)
        case "ask", [_, *_]:
            return PolicyChange(asked=classes_of(words))
        case "two", [_, *_]:
            return PolicyChange(two=classes_of(words))
        case "one", [_, *_]:
            return PolicyChange(one=classes_of(words))
        case "free", [_, *_]:
            return PolicyChange(free=classes_of(words))
        case _:
            raise InvalidInput({"policy": HOW_POLICY})


def classes_of(words: Sequence[str], how: str = HOW_POLICY) -> tuple[RiskClass, ...]:
    """The classes that these words name; raise InvalidInput, which says `how` it is written, for any other word."""
    if unknown := [word for word in words if word not in RISK_CLASSES]:
        raise InvalidInput({"policy": f"{unknown[0][:40]} is no class. {how}"})
    return tuple(risk for risk in RISK_CLASSES if risk in words)


HOW_CHANNEL_POLICY = (
    "Policy of the channel: write policy channel, and then approvers anyone, owner or @PEOPLE; managers approvers or "
    "@PEOPLE; free, one, two, never or agents CLASSES; makers or heads on or off; cards full, brief or agents; "
    "times N (of Approve ×N) or off; or reset. "
    "Where a class is set here, an agent's own policy can only ask more people."
)
APPROVERS = "approvers"
ALONE = {ANYONE: Approver(ANYONE), "anybody": Approver(ANYONE), OWNER: Approver(OWNER)}
ON_OFF = {"on": True, "off": False}
SWITCHES = {"makers": "makers_approve", "heads": "posts_heads"}  # the words, and their fields
A_NUMBER = re.compile(r"[0-9]{1,4}")
MENTION = re.compile(r"<@!?(&?[0-9]{1,20}|[SUW][A-Z0-9]{1,20})>")
NOT_A_MENTION = (
    "Policy: {} does not say for certain who is meant. In an agent's thread on Slack or Discord, write "
    "!policy channel approvers and mention people, groups or roles with @; or write anyone, or owner."
)
NO_GROUP = (
    "Policy: {0} is a word of the policy, which means {1}, so no group is named by it. If you mean that, write {0} "
    "without @, or choose it under Who may approve. A group called {0} needs another name at the provider."
)

ChannelChange = Callable[[ChannelPolicy], ChannelPolicy]
AGENTS = "agents"  # leaves a class to the policy of each agent
CHOICES = {AGENTS: NEEDS_TEXT[None], **{need: NEEDS_TEXT[need] for need in get_args(Need)}}
MAX_GROUP_CHARACTERS = 200
NAMED = "named"  # the choice of a form that keeps the people who are named in the policy


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelPolicyCommands:
    """Runs `policy channel`. `surfaces`: those with accounts, which know people, groups and roles by their ids."""

    settings: AgentSettings
    surfaces: Mapping[SurfaceName, Notifications]

    async def run(self, said: str, origin: Origin) -> str:
        """Change the policy as the text says, if there is one, and show it; raise InvalidInput, NotAllowed."""
        if not said:
            return channel_policy_text(await self.settings.channel_policy(origin.channel))
        return await self.set(await self._change(said, origin), origin)

    async def set(self, change: ChannelChange, origin: Origin) -> str:
        """Change the policy and show it."""
        return channel_policy_text(await self.settings.set_channel_policy(change, origin))

    async def form_fields(self, origin: Origin) -> FormValues | None:
        """What the form shows to who may change the policy; None for others."""
        policy = await self.settings.channel_policy(origin.channel)
        return fields_of_channel(policy) if policy.may_change(origin.by) else None

    async def _change(self, said: str, origin: Origin) -> ChannelChange:
        word, rest = first_word(said)
        match word, rest.casefold():
            case "approvers", _ if rest:
                approvers = await self._people(rest, origin)
                return lambda present: replace(present, approvers=approvers)
            case "managers", "approvers":
                return lambda present: replace(present, managers=())
            case "managers", _ if rest:
                managers = await self._people(rest, origin)
                return lambda present: replace(present, managers=managers)
            case (("makers" | "heads" | "cards" | "times"), choice) if choice:
                return channel_change({word: choice})
            case "reset", "":
                return lambda present: replace(NO_POLICY, set_by=present.set_by)
            case ("free" | "one" | "two" | "never" | "agents") as need, _ if rest:
                return needing(need, classes_of(rest.casefold().replace(",", " ").split(), HOW_CHANNEL_POLICY))
            case _:
                wrong = f"{word[:40]!r} is none of these, or something is missing behind it. "
                raise InvalidInput({"policy": f"{wrong}{HOW_CHANNEL_POLICY}"})

    async def _people(self, said: str, origin: Origin) -> tuple[Approver, ...]:
        words = [word for word in BETWEEN_MENTIONS.split(said) if word]
        if len(words) > MAX_APPROVERS:
            raise InvalidInput({"policy": f"Policy: 1 to {MAX_APPROVERS} people, groups and roles."})
        return tuple(dict.fromkeys([await self._approver(word, origin) for word in words]))

    async def _approver(self, word: str, origin: Origin) -> Approver:
        """The person, group or role of a mention. A name is no proof: its bearer chose it."""
        surface, found = self.surfaces.get(origin.channel.surface), MENTION.fullmatch(word)
        has_groups = surface is None and origin.has_account
        if alone := ALONE.get(word.casefold().removeprefix("" if has_groups else "@")):
            return alone
        if has_groups:
            return group_approver(word)
        if surface is None:
            raise InvalidInput({"policy": "Here names are not accounts: approvers are anyone, or owner."})
        if found is None:
            raise InvalidInput({"policy": NOT_A_MENTION.format(repr(word[:60]))})
        return Approver(found[1], await surface.find_approver(origin.channel, found[1]))


def group_approver(name: str) -> Approver:
    """The members of a group of the provider where people sign in to the page.

    Raise InvalidInput for no name, and for a word of the policy: who reads `@owner` could take it for one or the other.
    """
    plain = " ".join(name.strip().removeprefix("@").split())
    if not 0 < len(plain) <= MAX_GROUP_CHARACTERS or not plain.isprintable():
        raise InvalidInput({"policy": f"Policy: the name of a group has 1 to {MAX_GROUP_CHARACTERS} characters."})
    if word := ALONE.get(plain.casefold()):
        raise InvalidInput({"policy": NO_GROUP.format(plain, word)})
    return Approver(f"&{plain}", f"@{plain}")


def needing(need: str, risks: Sequence[RiskClass]) -> ChannelChange:
    """The change that gives these classes a need; `agents` leaves them to the policy of each agent."""

    def change(present: ChannelPolicy) -> ChannelPolicy:
        kept = {risk: each for risk, each in present.needs.items() if risk not in risks}
        return replace(present, needs=kept if need == "agents" else kept | dict.fromkeys(risks, cast("Need", need)))

    return change


def fields_of_channel(policy: ChannelPolicy) -> dict[str, str]:
    """The fields of a form, named as in `!policy channel`, with a need for each class, as `need.read`."""
    managers = policy.managers or (Approver(APPROVERS),)
    people = (("approvers", policy.approvers), ("managers", managers))
    chosen = {
        name: each[0].id if each[0].id in (*ALONE, APPROVERS) and len(each) == 1 else NAMED for name, each in people
    }
    needs = {f"need.{risk}": policy.needs.get(risk, AGENTS) for risk in RISK_CLASSES}
    cards = {"cards": policy.verbosity or AGENTS, "times": str(policy.times or "")}
    return {
        **chosen,
        **needs,
        **cards,
        **{word: "on" if getattr(policy, name) else "off" for word, name in SWITCHES.items()},
    }


# The choices of each field of a form in chat, which lacks `heads`, `cards` and `times`; what the form carries has their
# places.
FIELD_CHOICES: Mapping[str, tuple[str, ...]] = {
    **{f"need.{risk}": tuple(CHOICES) for risk in RISK_CLASSES},
    "approvers": (ANYONE, OWNER, NAMED),
    "managers": (APPROVERS, ANYONE, NAMED),
    "makers": ("on", "off"),
}


def packed_fields(fields: FormValues) -> str:
    """The fields in ten characters, for a form that has to know what it showed."""
    return "".join(str(choices.index(fields[name])) for name, choices in FIELD_CHOICES.items())


def change_of_form(packed: str, sent: FormValues) -> ChannelChange:
    """What the person changed in a form with a menu of classes for each need, whatever others changed meanwhile.

    `packed`: what the form showed. `sent`: a field `two.read` for each class that is chosen, and the other fields.
    Raise InvalidInput for a class that is in two menus, and for another form.
    """
    try:
        shown = {name: choices[int(at)] for at, (name, choices) in zip(packed, FIELD_CHOICES.items(), strict=True)}
    except (ValueError, IndexError):
        raise InvalidInput({"policy": HOW_CHANNEL_POLICY}) from None
    wanted = {"approvers": ANYONE, "managers": APPROVERS, "makers": "on", **sent}
    for risk in RISK_CLASSES:
        chosen = [need for need in get_args(Need) if sent.get(f"{need}.{risk}")]
        if len(chosen) > 1:
            raise InvalidInput(
                {chosen[1]: f"{risk} is chosen twice: {NEEDS_TEXT[chosen[0]]}, {NEEDS_TEXT[chosen[1]]}."}
            )
        wanted[f"need.{risk}"] = chosen[0] if chosen else AGENTS
    return channel_change({name: wanted[name] for name in shown if wanted[name] != shown[name]})


def channel_change(fields: FormValues) -> ChannelChange:
    """The change that the changed fields of a form ask for; raise InvalidInput for a choice that the form lacks."""
    changes: list[ChannelChange] = []
    for name, value in fields.items():
        kind, _, risk = name.partition(".")
        match kind, value:
            case "approvers", _ if value in ALONE:
                changes.append(partial(replace, approvers=(ALONE[value],)))
            case "managers", "approvers" | "anyone":
                changes.append(partial(replace, managers=(ALONE[value],) if value in ALONE else ()))
            case (("makers" | "heads"), ("on" | "off")):
                changes.append(partial(replace, **{SWITCHES[name]: ON_OFF[value]}))
            case "cards", _ if value == AGENTS or value in get_args(Verbosity):
                changes.append(partial(replace, verbosity=None if value == AGENTS else cast("Verbosity", value)))
            case "times", _ if value in ("", "off") or A_NUMBER.fullmatch(value):
                changes.append(partial(replace, times=int(value) if A_NUMBER.fullmatch(value) else 0))
            case "need", _ if value in CHOICES and risk in RISK_CLASSES:
                changes.append(needing(value, classes_of([risk])))
            case _:
                raise InvalidInput({"policy": HOW_CHANNEL_POLICY})
    return lambda present: reduce(lambda policy, change: change(policy), changes, present)


def channel_policy_text(policy: ChannelPolicy) -> str:
    """The policy, a line for each rule that it has."""
    changers = ", ".join(map(str, policy.managers)) or "who may approve"
    last = policy.set_by if policy.set_by and not policy.is_left_to_groups(policy.set_by) else None
    lines = (
        "Policy of this channel, for all its agents:",
        f"Who may approve: {', '.join(map(str, policy.approvers))}",
        *(
            f"{NEEDS_TEXT[need].capitalize()}: {_named(policy, need)}"
            for need in get_args(Need)
            if policy.classes(need)
        ),
        "" if policy.makers_approve else "Who made an agent does not approve its execute and publish commands",
        "Once a day the head of the decision log is posted in a thread" if policy.posts_heads else "",
        f"Cards show {CARDS_SHOW[policy.verbosity]}" if policy.verbosity else "",
        f"Cards offer Approve ×{policy.times} first" if policy.times else "",
        f"Who may change this: {changers}{f', and {last}, who set it last' if last else ''}",
        "All else is as each agent's policy has it. See also !budget channel, !reminders and !rules.",
    )
    return "\n".join(filter(None, lines))


def _named(policy: ChannelPolicy, need: Need) -> str:
    if need != "free":
        return ", ".join(policy.classes(need))
    return ", ".join(f"{risk} (chosen by {by})" for risk, by in policy.free_by.items())
