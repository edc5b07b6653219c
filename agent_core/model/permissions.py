"""Permissions to run without asking: leases (Approve ×N) and standing rules, with what each covers."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from decimal import Decimal
from fnmatch import fnmatchcase
from functools import lru_cache
from posixpath import normpath
from typing import Any, Literal, Self, TypeAlias, get_args

from agent_core.model.channel_policy import stored_actor
from agent_core.model.command import GUARDED_CLASSES, RISK_CLASSES, RiskClass
from agent_core.model.decision import NO_LIMITS, Approve, LeaseLimits
from agent_core.model.ids import AgentId
from agent_core.model.model_calls import FREE
from agent_core.model.origin import Actor
from agent_core.model.turn import Turn
from agent_core.text.lines import counted, listed

QUIETER: dict[RiskClass, tuple[RiskClass, ...]] = {"network": ("read", "write"), "read": ()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """`left` of `total` commands of these classes may run. Each command counts, whether it succeeds or fails.

    `source`: name and version of the plugin or server whose commands it covers besides Signoff's own; "" for none.
    `is_unattended`: granted where nobody is asked (`--continuous`), so it covers every source and the end of the work.
    `paused_by`: who wrote a note since; the next command then asks people.
    `spent_before`: what the agent had spent when it was granted, in US dollars.
    """

    granted_by: Actor
    granted_at: datetime
    total: int
    left: int
    classes: tuple[RiskClass, ...]
    source: str = ""
    is_unattended: bool = False
    paused_by: Actor | None = None
    limits: LeaseLimits = NO_LIMITS
    spent_before: Decimal = FREE

    def __str__(self) -> str:
        """Whose it is and how many commands it was for, as notices name it: `@Ana’s ×5`. Cards have the whole name."""
        return f"{self.granted_by}’s ×{self.total}"

    def covers(self, turn: Turn) -> bool:
        """Whether it covers the turn's classes and source. Only an unattended one covers the end of the work."""
        if not set(turn.risks) <= set(self.classes) or turn.always_asks:
            return False
        return self.is_unattended or (turn.source in ("", self.source) and not turn.finishes)

    def counts(self, turn: Turn) -> bool:
        """Whether the turn uses it up: it let the command run, or was granted with it."""
        last = turn.approvals[-1].decision if turn.approvals else None
        is_under = isinstance(last, Approve) and (last.under == "lease" or last.times > 1)
        return self.is_unattended or is_under

    def without_guarded(self) -> Self:
        """The lease without execute and publish."""
        return replace(self, classes=tuple(risk for risk in self.classes if risk not in GUARDED_CLASSES))

    def spend(self) -> Self | None:
        """The lease after one command ran, or None after the last."""
        return replace(self, left=self.left - 1) if self.left > 1 else None


def covered_classes(risks: Sequence[RiskClass]) -> tuple[RiskClass, ...]:
    """The classes that Approve ×N covers: those of the approved command and the quieter ones.

    `read` is quieter than `write`, and both are quieter than all others; none of the others covers another one.
    """
    covered = {*risks, "read", *(quiet for risk in risks for quiet in QUIETER.get(risk, ("read", "write")))}
    return tuple(risk for risk in RISK_CLASSES if risk in covered)


RULES_KEY = "rules"  # the channel's preference that holds its rules
MAX_RULES, MAX_CONDITIONS, MAX_VALUE_CHARACTERS, MAX_USES, MAX_PARTS, MAX_FOLDERS = 50, 10, 500, 1_000, 20, 50
READ_OTHERWISE = ("filename", "directory", "clone_path", "url", "command_line", "args")  # than letter by letter
Kind: TypeAlias = Literal["is", "begins", "in", "on", "runs"]
Effect: TypeAlias = Literal["allow", "never"]
# Only what can be read in one way: no user name, no backslash, no quoting, nothing that a shell would expand.
PLAIN_URL = re.compile(
    r"https?://(?P<host>[a-z0-9-]+(?:\.[a-z0-9-]+)*)\.?(?::\d{1,5})?(?:[/?#][^\s\\]*)?", re.IGNORECASE | re.ASCII
)
DEFAULT_PORT = re.compile(r"^:(?:80|443)(?=/|\?|$)")
PLAIN_WORD = re.compile(r"[\w./:@%+,=-]+", re.ASCII)


@dataclass(frozen=True, slots=True)
class Condition:
    """What one argument has to be: a text (`is`), or its beginning (`begins`).

    A file is `in` a pattern, an address `on` a host, and a shell line `runs` a program with these first words.
    """

    argument: str
    kind: Kind
    value: str

    def __str__(self) -> str:
        more = {"on": " or its subdomains, wherever they lead", "runs": " and whatever follows"}.get(self.kind, "")
        shown = self.value if self.kind in ("in", "on") else _shown(self.value)
        return f"{self.argument} {self.kind} {shown}{more}"

    def fits(self, arguments: Mapping[str, object]) -> bool | None:
        """Whether the argument was given, and is so; None for what can be read in more than one way."""
        value = arguments.get(self.argument)
        if self.kind == "in" and value is None:
            return None  # commands that take a folder then take the whole one
        if not isinstance(value, str):
            return self.kind == "is" and value is not None and json.dumps(value) == self.value
        match self.kind:
            case "is":
                return value == self.value or (None if _may_mean(self.argument, value, self.value) else False)
            case "begins":
                return value.startswith(self.value)
            case "in":
                return _is_in(value, self.value)
            case "on":
                found = PLAIN_URL.fullmatch(value)
                host = found["host"].lower() if found else ""
                return host == self.value or host.endswith(f".{self.value}") if found else None
            case "runs":
                return _begins_with(value, self.value.split(" "))


@dataclass(frozen=True, slots=True, kw_only=True)
class StandingRule:
    """A rule of a channel, for one of its agents or for all.

    `risks`, `source`: the classes of the command, and the plugin or server that adds it, when the rule was made: a
    command that has another class or source since is not covered. `left`: how many more commands run by it, None for
    any number. `uses`: how many ran. `others`: the arguments that the command has besides, which may be anything.
    """

    id: str
    effect: Effect
    command: str
    by: Actor
    at: datetime
    risks: tuple[RiskClass, ...] = ()
    source: str = ""
    conditions: tuple[Condition, ...] = ()
    others: tuple[str, ...] = ()
    agent_id: AgentId | None = None
    agent_name: str = ""
    until: datetime | None = None
    left: int | None = None
    uses: int = 0

    @property
    def short_id(self) -> str:
        """What people type to name the rule."""
        return self.id[-6:]

    @property
    def words(self) -> str:
        """The rule in words, without who made it."""
        verb = "Always allow" if self.effect == "allow" else "Never run"
        others = f" (any {listed(self.others)})" if self.others and self.conditions else ""
        which = f" with {listed(map(str, self.conditions))}{others}" if self.conditions else " with any arguments"
        whom = f" for {self.agent_name}" if self.agent_id else " for all agents here"
        until = f" until {self.until:%d %B %Y %H:%M} UTC" if self.until else ""
        times = f", {counted(self.left, 'more time')}" if self.left else ", ended" if self.left == 0 else ""
        return f"{verb} {self.command}{which}{whom}{until}{times}"

    def applies(self, turn: Turn, now: datetime, home: AgentId | None = None) -> bool:
        """Whether the rule is about this turn and still holds; its maker's right is another question.

        One that allows covers only what can be read in one way, and no argument that its words do not name. One that
        denies holds for what may be meant too, and for the helpers of its agent (`home`: the root agent of the turn's).
        """
        is_about = self.command == turn.call.name and self.agent_id in (None, turn.agent_id, home)
        if not is_about or (self.until is not None and now >= self.until):
            return False
        given = turn.call.arguments
        fits = [condition.fits(given) for condition in self.conditions]
        if self.effect == "never":
            return False not in fits
        named = {*self.others, *(condition.argument for condition in self.conditions)}
        is_same = set(turn.risks) <= set(self.risks) and self.source == turn.source
        return is_same and set(given) <= named and all(fits)

    def use(self) -> "StandingRule":
        """The rule after it let one more command run."""
        return replace(self, uses=self.uses + 1, left=None if self.left is None else self.left - 1)


def rule_problem(rule: StandingRule, arguments: Sequence[str]) -> str:
    """Why a rule cannot be made, as a sentence; `arguments`: those that the command has. "" if it can."""
    unknown = [each.argument for each in rule.conditions if each.argument not in arguments]
    bad = [each.argument for each in rule.conditions if not _is_usable(each)]
    has = listed(arguments) if arguments else "none"
    is_wide = rule.effect == "allow" and not rule.conditions and set(rule.risks) - {"read"}
    problems = (
        f"{rule.command} has no argument {unknown[0][:60]}. Its arguments: {has}." if unknown else "",
        f"The condition on {bad[0]} would cover nothing or everything, or could be read in two ways." if bad else "",
        f"A rule has at most {MAX_CONDITIONS} conditions." if len(rule.conditions) > MAX_CONDITIONS else "",
        f"A rule for {rule.command} needs a condition: with any arguments it would allow everything."
        if is_wide
        else "",
        f"A number of commands from 1 to {MAX_USES:,}."
        if rule.left is not None and not 1 <= rule.left <= MAX_USES
        else "",
        "What never runs has no number: give it a time with until." if rule.effect == "never" and rule.left else "",
        "That time is past." if rule.until is not None and rule.until <= rule.at else "",
    )
    return next(filter(None, problems), "")


def is_open_to_rules(turn: Turn, *, is_exposed: bool) -> bool:
    """Whether a rule may let this command run, if the agent has read untrusted content or has not."""
    return not (turn.always_asks or turn.finishes or (is_exposed and is_closed_while_exposed(turn)))


def is_closed_while_exposed(turn: Turn) -> bool:
    """Whether no rule covers this command after untrusted content: it may send something out, or keep what it gets."""
    return bool(GUARDED_CLASSES.intersection(turn.risks)) or {"network", "write"} <= set(turn.risks)


@lru_cache(maxsize=1024)
def parse_rules(text: str | None) -> tuple[StandingRule, ...]:
    """Parse the stored rules of a channel; raise ValueError if this release cannot read them."""
    try:
        return tuple(map(_rule, [*json.loads(text)])) if text else ()
    except (TypeError, KeyError, AttributeError) as fault:
        raise ValueError("The rules of the channel cannot be read.") from fault


def serialise_rules(rules: Sequence[StandingRule]) -> str:
    """The rules to store."""
    return json.dumps([asdict(rule) for rule in rules], default=str)


def _rule(stored: Mapping[str, Any]) -> StandingRule:
    kinds = {each["kind"] for each in stored["conditions"]}
    if stored["effect"] not in get_args(Effect) or not isinstance(stored["command"], str) or kinds - {*get_args(Kind)}:
        raise ValueError("A rule of another release.")
    at, until = stored["at"], stored["until"]
    changed = {
        "by": stored_actor(stored["by"]),
        "at": datetime.fromisoformat(at),
        "until": datetime.fromisoformat(until) if until else None,
        "risks": tuple(stored["risks"]),
        "conditions": tuple(Condition(**each) for each in stored["conditions"]),
        "others": tuple(stored["others"]),
    }
    return StandingRule(**{**stored, **changed})


def _is_usable(condition: Condition) -> bool:
    if not condition.value.strip() or len(condition.value) > MAX_VALUE_CHARACTERS:
        return False
    match condition.kind:
        case "in":
            parts = condition.value.split("/")
            is_all = set(condition.value) <= set("*?/")
            return not is_all and _is_plain_path(condition.value) and len(parts) <= MAX_PARTS and parts.count("**") <= 2
        case "on":
            host, found = condition.value, PLAIN_URL.fullmatch(f"https://{condition.value}")
            is_name = "." in host and not host.rpartition(".")[2].isdecimal()
            return bool(found and found["host"] == host == host.lower() and is_name)
        case "runs":
            return _begins_with(condition.value, condition.value.split(" ")) is True
        case "begins":
            return condition.argument not in READ_OTHERWISE
        case _:
            return True


def _shown(value: str) -> str:
    """A text in quotation marks, on one line, with every character that cannot be seen as its code."""
    quoted = json.dumps(value, ensure_ascii=False)
    return "".join(each if each.isprintable() else f"\\u{ord(each):04x}" for each in quoted)


def _may_mean(argument: str, given: str, wanted: str) -> bool:
    """Whether what reads the argument may take this text for the other one."""
    match argument:
        case "url":
            return _plain_address(given) in ("", _plain_address(wanted))
        case "command_line" | "args":
            return re.sub(r"[\\'\"\s]", "", given) == re.sub(r"[\\'\"\s]", "", wanted)
        case _:
            return normpath(f"/{given.lstrip('/')}") == normpath(f"/{wanted}")


def _plain_address(url: str) -> str:
    """The address without what means nothing in it; "" if it can be read in more than one way."""
    found = PLAIN_URL.fullmatch(url)
    rest = url[found.end("host") :].removeprefix(".").partition("#")[0] if found else "%"
    is_plain = "%" not in rest and "/." not in rest and "//" not in rest
    return f"{found['host'].lower()}{DEFAULT_PORT.sub('', rest) or '/'}" if found and is_plain else ""


def _without_dots(path: str) -> str:
    """The path without what means nothing in it."""
    return "/".join(part for part in path.split("/") if part not in ("", "."))


def _is_plain_path(path: str) -> bool:
    """Whether it is relative, in its normal form, and does not leave the folder."""
    is_normal = bool(path) and path == normpath(path) and path.isprintable()
    return is_normal and not path.startswith(("/", "..")) and "\\" not in path


def _is_in(path: str, pattern: str) -> bool | None:
    """Whether the path fits the pattern, part by part: `*` within a name, `**` for any number of folders.

    None for a path that can be read in two ways, and for a folder that may hold what fits.
    """
    plain, patterns = _without_dots(path), pattern.split("/")
    if path.count("/") > MAX_FOLDERS or not (_is_plain_path(plain) or not plain):
        return None
    parts = plain.split("/") if plain else []
    if _parts_fit(parts, patterns):
        return True if path == plain else None
    return None if _may_hold(parts, patterns) else False


def _parts_fit(parts: Sequence[str], patterns: Sequence[str]) -> bool:
    if not patterns:
        return not parts
    first, *rest = patterns
    if first == "**":
        return bool(parts) and (not rest or any(_parts_fit(parts[at:], rest) for at in range(len(parts))))
    return bool(parts) and fnmatchcase(parts[0], first) and _parts_fit(parts[1:], rest)


def _may_hold(folder: Sequence[str], patterns: Sequence[str]) -> bool:
    """Whether the folder is above what fits, as far as the patterns name each part of it."""
    if not folder:
        return True
    first, *rest = patterns or [""]
    return not rest if first == "**" else fnmatchcase(folder[0], first) and _may_hold(folder[1:], rest)


def _are_in_order(words: Sequence[str], given: Sequence[str]) -> bool:
    """Whether all the words are given in this order, with others between them or not."""
    rest = iter(given)
    return all(word in rest for word in words)


def _begins_with(line: str, words: Sequence[str]) -> bool | None:
    """Whether a shell line consists of plain words, of which these are the first; the program is no assignment.

    None for another line that may run the program: behind another one, by its path, with other words between, or in
    words that are not plain, of which one is a pattern of its name. A name that is put together from variables is not
    recognised.
    """
    given, first = line.split(" "), words[0].rpartition("/")[2]
    if all(PLAIN_WORD.fullmatch(word) for word in given) and "=" not in given[0]:
        if given[: len(words)] == list(words):
            return True
        programs = (at for at, word in enumerate(given, start=1) if word.rpartition("/")[2] == first)
        return None if any(_are_in_order(words[1:], given[at:]) for at in programs) else False
    named = re.split(r"[\s;|&(){}<>=]+", re.sub(r"\\\n|[\\'\"`]|\$[@*]", "", line))
    names = (word.rpartition("/")[2][:MAX_VALUE_CHARACTERS] for word in named)
    return None if any(re.search(r"\w", name) and fnmatchcase(first, name) for name in names) else False
