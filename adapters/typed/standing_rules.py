"""Lists, makes and revokes a channel's standing rules by a typed line."""

import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import cast

from adapters.screens.ui_text import first_word
from agent_core.errors import InvalidInput
from agent_core.model.agent import Agent
from agent_core.model.origin import Origin
from agent_core.model.permissions import MAX_VALUE_CHARACTERS, PLAIN_URL, Condition, Effect, Kind, StandingRule
from agent_core.model.turn import Turn
from agent_core.service.reading.views import AgentViews
from agent_core.service.standing_rules import RuleDraft, StandingRules, sleeping_text
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
                return await self._list(agent)
            case "revoke" if rest:
                return f"Revoked: {(await self.rules.revoke(agent.id, rest, origin)).words}."
            case "allow" | "never" if rest:
                made = await self.rules.make(agent.id, parse_rule(said), origin)
                return made_text(made.rule, made.covered)
            case _:
                raise InvalidInput({"rules": HOW_RULES})

    async def _list(self, agent: Agent) -> str:
        rules, agents = await self.rules.list_rules(agent.channel), await self.views.agents(agent.channel)
        lines = [f"• {rule.short_id} · {rule_line(rule, agents)}" for rule in rules]
        return "\n".join(("Standing rules of this channel:", *lines)) if lines else f"No standing rules. {HOW_RULES}"


def rule_line(rule: StandingRule, agents: Sequence[Agent]) -> str:
    """A rule with who made it, how often it let a command run, and why it covers nothing now."""
    ran = f"ran {counted(rule.uses, 'time')} since {rule.at:%d %B}" if rule.effect == "allow" else ""
    return " · ".join(filter(None, (rule.words, f"by {rule.by}", ran, sleeping_text(rule, agents))))


def made_text(rule: StandingRule, covered: Sequence[Turn]) -> str:
    """A rule that was saved, with the past turns that it would have covered."""
    numbers = [str(turn.number) for turn in covered]
    past = f"It would have covered {'turns' if len(numbers) > 1 else 'turn'} {listed(numbers)}." if numbers else ""
    return (
        f"Saved: {rule.words}. {past or 'It would have covered no past turn.'} !rules revoke {rule.short_id} ends it."
    )


def parse_rule(said: str) -> RuleDraft:
    """The rule that a line such as `allow read_file filename in docs/**; for 10` asks for; raise InvalidInput."""
    effect, described = first_word(said)
    if effect not in EFFECTS:
        raise InvalidInput({"rules": HOW_RULES})
    command, _, rest = described.partition(";")[0].strip().partition(" ")
    draft = RuleDraft(effect=EFFECTS[effect], command=command)
    return with_limits(draft, "; ".join((rest, *described.split(";")[1:])))


def with_limits(draft: RuleDraft, said: str) -> RuleDraft:
    """The rule with further parts, such as `for 10; until 2026-12-24`; raise InvalidInput."""
    for part in said.split(";"):
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


def offers(turn: Turn) -> tuple[RuleDraft, ...]:
    """Rules that a turn suggests, the narrowest first: its own arguments, then its folder, host or program."""
    given = {name: value for name, value in turn.call.arguments.items() if isinstance(value, str) and value.strip()}
    exact = tuple(Condition(name, "is", value) for name, value in given.items() if len(value) <= MAX_VALUE_CHARACTERS)
    wider = (condition for name, value in given.items() for condition in _wider(name, value))
    drafts = [RuleDraft(effect="allow", command=turn.call.name, conditions=exact)] if exact else []
    fitting = (condition for condition in wider if condition.fits(turn.call.arguments))
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
