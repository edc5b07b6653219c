"""Lists, makes and revokes a channel's standing rules by a typed line, and offers those that a proposal suggests."""

import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import TypeAlias, cast

from adapters.screens.buttons import ViewButton
from adapters.screens.text_fit import units
from adapters.screens.turn_lines import target_text
from adapters.screens.ui_text import first_word
from adapters.screens.visible_text import visible
from adapters.typed.form_values import FormValues
from agent_core.errors import InvalidInput, NotPossible
from agent_core.model.agent import Agent
from agent_core.model.command import text_digest
from agent_core.model.ids import AgentId, TurnId
from agent_core.model.origin import Origin
from agent_core.model.permissions import (
    MAX_VALUE_CHARACTERS,
    PLAIN_URL,
    Condition,
    Effect,
    Kind,
    StandingRule,
    is_open_to_rules,
)
from agent_core.model.turn import Turn
from agent_core.service.reading.views import AgentViews
from agent_core.service.standing_rules import Habit, MadeRule, RuleDraft, StandingRules, sleeping_text
from agent_core.text.lines import counted, listed

HOW_RULES = (
    "Rules: write !rules allow COMMAND or !rules never COMMAND, then conditions as ARGUMENT is TEXT, begins TEXT, "
    "in docs/**, on example.org or runs git status; further parts after a ; such as for 10, until 2026-12-24, or "
    "all agents. !rules revoke ID ends one. Example: !rules allow read_file filename in docs/**; for 10"
)
CONDITION = re.compile(r"(?P<argument>[\w.-]{1,64}) (?P<kind>is|begins|in|on|runs) (?P<value>.+)", re.DOTALL)
EFFECTS: Mapping[str, Effect] = {"allow": "allow", "never": "never"}
PATHS = ("filename", "directory", "clone_path")
TIMES, UNTIL = re.compile(r"for (\d{1,4})(?: times)?"), re.compile(r"until (\d{4}-\d\d-\d\d)(?: (\d\d:\d\d))?")
# The fields of a form with limits: how each begins in a typed line, and what is right.
LIMITS = {
    "times": ("for", TIMES, "A whole number such as 10, or nothing."),
    "until": ("until", UNTIL, "A day such as 2026-12-24, or 2026-12-24 18:00 in UTC, or nothing."),
}
NOT_OFFERED = "Nothing was saved: these are the rules that fit the command as it is now."
NO_OFFER = "No rule can be offered for this command. Write one with !rules allow, or decide on the command alone."
STILL_WAITS = "The open card still waits. After content from outside, programs, posts and downloads ask all the same."
# Of all offers in a form, in UTF-16 units: Discord shows 4,000 in a form, and needs two for each mark.
MAX_OFFERED_TEXT, MAX_PAST_TARGET = 1_400, 40
Offered: TypeAlias = Sequence[tuple[RuleDraft, MadeRule]]


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleCommands:
    """Runs `rules`. A rule is about the agent in whose thread it is made, unless it says all agents."""

    rules: StandingRules
    views: AgentViews

    async def run(self, agent: Agent, said: str, origin: Origin) -> str:
        """Make or revoke a rule, or list the channel's; raise InvalidInput, NotAllowed, NotFound."""
        word, rest = first_word(said)
        match word:
            case "":
                return await self._list(agent, origin)
            case "revoke" if rest:
                return f"Revoked: {(await self.rules.revoke(agent.id, rest, origin)).words}."
            case "allow" | "never" if rest:
                made = await self.rules.make(agent.id, parse_rule(said), origin)
                return made_text(made.rule, made.covered)
            case _:
                raise InvalidInput({"rules": HOW_RULES})

    async def find_offers(self, button: ViewButton, origin: Origin) -> tuple[Turn, Offered]:
        """The open proposal of a card, and the rules that its form offers this person.

        Raise NotAllowed, AlreadyDecided, ChangedSinceShown, or NotPossible if there are none.
        """
        agent, turn = await self.views.open_to(origin.by, origin.channel, TurnId(button.subject), button.shown)
        found = await try_offers(self.rules, agent.id, turn, origin) if suggests_rules(agent, turn) else []
        offered = [each for each in found if units(offer_text(9, each[1])) <= MAX_OFFERED_TEXT // len(found)]
        if not offered:
            raise NotPossible(NO_OFFER)
        return turn, offered

    async def make_offered(self, button: ViewButton, fields: FormValues, origin: Origin) -> str:
        """Save the rule that the form of a card chose, and say so; raise as `find_offers`, or InvalidInput."""
        turn, offered = await self.find_offers(button, origin)
        made = await self.rules.make(turn.agent_id, chosen_offer(offered, fields), origin)
        return f"{made_text(made.rule, made.covered)} {STILL_WAITS}"

    async def _list(self, agent: Agent, origin: Origin) -> str:
        rules, agents = await self.rules.list_rules(agent.channel), await self.views.agents(agent.channel)
        lines = [f"• {rule.short_id} · {rule_line(rule, agents)}" for rule in rules]
        may = self.views.may_decide(agent, origin.by)
        suggested = map(_suggestion, await self.rules.list_habits(agent.channel, agent.id) if may else ())
        head = ("Standing rules of this channel:", *lines) if lines else (f"No standing rules. {HOW_RULES}",)
        return "\n".join((*head, *suggested))


def _suggestion(habit: Habit) -> str:
    """What people approved each time, with a rule of one condition that its newest turn suggests, if it fits a line."""
    single = [draft.conditions[0] for draft in offers(habit.turn) if len(draft.conditions) == 1]
    plain = [each for each in single if each.value.isprintable() and ";" not in each.value]
    rule = " ".join((habit.command, *(f"{each.argument} {each.kind} {each.value}" for each in plain[-1:])))
    times = f"{habit.times} of {habit.times} times"
    return f"{habit.command} was approved {times} here. Make it a rule? !rules allow {rule}"


def rule_line(rule: StandingRule, agents: Sequence[Agent]) -> str:
    """A rule with who made it, how often it let a command run, and why it covers nothing now."""
    ran = f"ran {counted(rule.uses, 'time')} since {rule.at:%d %B}" if rule.effect == "allow" else ""
    return " · ".join(filter(None, (rule.words, f"by {rule.by}", ran, sleeping_text(rule, agents))))


def made_text(rule: StandingRule, covered: Sequence[Turn]) -> str:
    """A rule that was saved, with the past turns that it would have covered."""
    return f"Saved: {rule.words}. {past_text(covered)} !rules revoke {rule.short_id} ends it."


def past_text(covered: Sequence[Turn]) -> str:
    """The past turns that a rule would have covered, with what each was about."""
    if not covered:
        return "It would have covered no past turn."
    named = ((str(turn.number), target_text(turn, MAX_PAST_TARGET)) for turn in covered)
    turns = listed(f"{number} ({about})" if about else number for number, about in named)
    return f"It would have covered {'turns' if len(covered) > 1 else 'turn'} {turns}."


def parse_rule(said: str) -> RuleDraft:
    """The rule that a line such as `allow read_file filename in docs/**; for 10` asks for; raise InvalidInput."""
    effect, described = first_word(said)
    if effect not in EFFECTS:
        raise InvalidInput({"rules": HOW_RULES})
    command, _, rest = described.partition(";")[0].strip().partition(" ")
    draft = RuleDraft(effect=EFFECTS[effect], command=command)
    for part in (rest, *described.split(";")[1:]):
        draft = _with_part(draft, part.strip())
    return draft


def _with_part(draft: RuleDraft, part: str) -> RuleDraft:
    if not part:
        return draft
    if part.casefold() == "all agents":
        return replace(draft, is_for_all=True)
    if times := TIMES.fullmatch(part):
        return replace(draft, left=int(times[1]))
    if until := UNTIL.fullmatch(part):
        return replace(draft, until=_time(until[1], until[2]))
    if condition := CONDITION.fullmatch(part):
        kind = cast("Kind", condition["kind"])
        made = Condition(condition["argument"], kind, condition["value"].strip())
        return replace(draft, conditions=(*draft.conditions, made))
    raise InvalidInput({"rules": HOW_RULES})


def _time(day: str, time: str | None) -> datetime:
    """The time in UTC; without an hour the end of the day."""
    try:
        found = datetime.fromisoformat(f"{day} {time or '00:00'}").replace(tzinfo=UTC)
        return found if time else found + timedelta(days=1)
    except (ValueError, OverflowError):
        raise InvalidInput({"rules": HOW_RULES}) from None


def suggests_rules(agent: Agent, turn: Turn) -> bool:
    """Whether the card of a proposal leads to rules: some rule could let such a command run."""
    is_withdrawn = turn.proposal.preview is not None and turn.proposal.preview.basis == "withdrawn"
    is_open = turn.state == "proposed" and is_open_to_rules(turn, is_exposed=turn.exposed) and not is_withdrawn
    return is_open and not turn.requires_two(agent.policy_in_force) and bool(offers(turn))


async def try_offers(rules: StandingRules, agent_id: AgentId, turn: Turn, origin: Origin) -> Offered:
    """What the turn suggests and may be made, each with past turns that it would have covered; raise NotAllowed."""
    found = []
    for draft in offers(turn):
        with suppress(InvalidInput):
            found.append((draft, await rules.try_out(agent_id, draft, origin)))
    return found


def chosen_offer(offered: Offered, fields: FormValues) -> RuleDraft:
    """The offer that a form chose, with the limits beside it; raise InvalidInput, also for what was not offered."""
    draft = next((draft for draft, made in offered if digest_of(made) == fields.get("suggested")), None)
    if draft is None:
        raise InvalidInput({"rules": NOT_OFFERED})
    for name in LIMITS:
        if said := fields.get(name, "").strip():
            draft = _limited(draft, name, said)
    return draft


def digest_of(made: MadeRule) -> str:
    """What a form sends for an offered rule, so that no other one is saved than was shown."""
    return text_digest(made.rule.words)


def _limited(draft: RuleDraft, name: str, said: str) -> RuleDraft:
    word, pattern, how = LIMITS[name]
    with suppress(InvalidInput):
        if pattern.fullmatch(part := f"{word} {said}"):
            return _with_part(draft, part)
    raise InvalidInput({name: how})


def offer_text(number: int, made: MadeRule) -> str:
    """An offered rule as a form shows it."""
    return visible(f"{number}. {made.rule.words}.\n{past_text(made.covered)}")


def offers(turn: Turn) -> tuple[RuleDraft, ...]:
    """Rules that a turn suggests, the narrowest first: its own arguments, then its folder, host or program."""
    given = {name: value for name, value in turn.call.arguments.items() if isinstance(value, str) and value.strip()}
    long = {name for name, value in given.items() if len(value) > MAX_VALUE_CHARACTERS}
    exact = tuple(Condition(name, "is", value) for name, value in given.items() if name not in long)
    wider = (condition for name, value in given.items() for condition in _wider(name, value))
    is_exact = exact and long.isdisjoint((*PATHS, "url", "command_line"))  # of a long text alone any other will do
    drafts = [RuleDraft(effect="allow", command=turn.call.name, conditions=exact)] if is_exact else []
    fitting = (each for each in wider if len(each.value) <= MAX_VALUE_CHARACTERS and each.fits(turn.call.arguments))
    drafts += [RuleDraft(effect="allow", command=turn.call.name, conditions=(each,)) for each in fitting]
    if turn.only_reads:
        drafts.append(RuleDraft(effect="allow", command=turn.call.name))
    return tuple(drafts)


def _wider(name: str, value: str) -> Iterator[Condition]:
    if name in PATHS:
        folder, ending = posixpath.dirname(value), posixpath.splitext(value)[1]
        if set(value) & set("*?["):
            return
        yield Condition(name, "in", f"{folder}/**" if folder else f"*{ending}")
    elif name == "url" and (found := PLAIN_URL.fullmatch(value)):
        yield Condition(name, "on", found["host"].lower())
    elif name == "command_line":
        words = value.split(" ")
        if len(words) > 2:
            yield Condition(name, "runs", " ".join(words[:2]))
