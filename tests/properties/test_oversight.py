"""Policies, rules, leases and two people in any order, against a model of a hundred lines that knows only the words."""

from dataclasses import dataclass, field, replace

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from agent_core.model.agent import Agent
from agent_core.model.channel_policy import Approver, ChannelPolicy
from agent_core.model.command import RISK_CLASSES, RiskClass
from agent_core.model.decision import Approve
from agent_core.model.origin import Actor
from agent_core.model.permissions import StandingRule
from agent_core.model.turn import Turn
from agent_core.oversight.evaluation import Allowed, Asks, Denied, Granters, evaluate, why_not_allowed_now
from agent_core.oversight.lease import grant
from agent_core.oversight.policy_change import follow_channel_policy
from agent_core.testing.examples import ANA, BEN, NOON, a_turn, an_agent
from tests.example_counts import tried

CARL = Actor(id="u-carl", display="carl", workspace="local")
PEOPLE = {"ana": ANA, "ben": BEN, "carl": CARL}
NEEDS = ("free", "one", "two", "never")
GUARDED = ("execute", "publish")
QUIET = {"read": ("read",), "network": ("read", "write", "network")}
people, risks = st.sampled_from(sorted(PEOPLE)), st.sampled_from(RISK_CLASSES)


@dataclass
class Model:
    """What a person would say who read the page: names, numbers and sets, none of the program's values."""

    approvers: set[str] = field(default_factory=lambda: set(PEOPLE))
    needs: dict[str, tuple[str, str]] = field(default_factory=dict)  # by class: the need, and who chose it
    makers_approve: bool = True
    exposed: bool = False
    lease: tuple[str, int, set[str]] | None = None
    rules: list[tuple[str, str, str, int]] = field(default_factory=list)  # maker, effect, class, how many are left

    def may(self, name: str, risk: str) -> bool:
        """Whether this person's word counts for a command of the class."""
        return name in self.approvers and (self.makers_approve or name != "ana" or risk not in GUARDED)

    def verdict(self, risk: str) -> str:
        """What happens to a proposal before anybody is asked."""
        need, chooser = self.needs.get(risk, ("", ""))
        if need == "never" or any(each[1:3] == ("never", risk) for each in self.rules):
            return "denied"
        if need == "two":
            return "2"
        if self.exposed and risk in GUARDED:
            return "1"
        if self.allowing(risk) is not None:
            return "rule"
        if need == "free" and self.may(chooser, risk):
            return "policy"
        is_leased = self.lease and risk in self.lease[2] and self.may(self.lease[0], risk)
        return "lease" if is_leased else "1"

    def allowing(self, risk: str) -> int | None:
        """The place of the first rule that lets the command run."""
        for at, (maker, effect, of, left) in enumerate(self.rules):
            if (effect, of) == ("allow", risk) and left and self.may(maker, risk):
                return at
        return None

    def after(self, verdict: str, risk: str) -> None:
        """Count it, and let the lease end with what it does not cover."""
        if verdict == "rule":
            at = self.allowing(risk)
            assert at is not None
            maker, effect, of, left = self.rules[at]
            self.rules[at] = (maker, effect, of, left - 1)
        if verdict == "lease" and self.lease:
            by, left, classes = self.lease
            self.lease = (by, left - 1, classes) if left > 1 else None
        elif verdict in ("1", "2"):
            self.lease = None


class Oversight(RuleBasedStateMachine):
    """The program's values beside the model."""

    @initialize()
    def begin(self) -> None:
        self.model, self.agent, self.number = Model(), an_agent(), 0

    @rule(risk=risks, need=st.sampled_from(NEEDS), by=people)
    def set_need(self, risk: RiskClass, need: str, by: str) -> None:
        before = self.agent.channel_policy
        free = {each: who for each, who in before.free_by.items() if each != risk}
        free |= {risk: PEOPLE[by]} if need == "free" else {}
        self._set(replace(before, needs={**before.needs, risk: need}, free_by=free, free_at=NOON))  # type: ignore[dict-item]
        had = self.model.needs.get(risk, ("", ""))[0]
        self.model.needs[risk] = (need, by)
        is_tighter = (need != "free" and had in ("", "free")) or (need == "two" and had != "two")
        if self.model.lease and is_tighter:
            self._lose({risk})

    @rule(names=st.sets(people, min_size=1), makers=st.booleans())
    def set_approvers(self, names: set[str], makers: bool) -> None:
        approvers = tuple(Approver(PEOPLE[name].id) for name in sorted(names))
        self._set(replace(self.agent.channel_policy, approvers=approvers, makers_approve=makers))
        self.model.approvers, self.model.makers_approve = set(names), makers
        if self.model.lease and self.model.lease[0] not in names:
            self.model.lease = None

    @rule(risk=risks, effect=st.sampled_from(("allow", "never")), by=people, left=st.integers(1, 2))
    def make_rule(self, risk: RiskClass, effect: str, by: str, left: int) -> None:
        made = StandingRule(
            id=str(len(self.model.rules)),
            effect=effect,  # type: ignore[arg-type]
            command=risk,
            by=PEOPLE[by],
            at=NOON,
            risks=(risk,),
            others=("n",),
            left=left,
        )
        self.agent = replace(self.agent, read_rules=(*self.agent.read_rules, made))
        self.model.rules.append((by, effect, risk, left))

    @rule()
    def revoke_the_newest_rule(self) -> None:
        self.agent, self.model.rules = replace(self.agent, read_rules=self.agent.read_rules[:-1]), self.model.rules[:-1]

    @rule()
    def read_something_from_outside(self) -> None:
        self.agent, self.model.exposed = self.agent.expose(), True
        if self.model.lease:
            self._lose(set(GUARDED), ends=False)

    @rule(risk=risks, presses=st.lists(people, max_size=4), times=st.sampled_from((1, 1, 3)))
    def propose(self, risk: RiskClass, presses: list[str], times: int) -> None:
        self.number += 1
        turn = self._turn(risk)
        verdict = evaluate(self.agent, turn, NOON, self._granters())
        expected = self.model.verdict(risk)
        assert told(verdict) == expected
        if isinstance(verdict, Allowed):
            started = turn.decide(verdict.decision, by=verdict.by, at=NOON)
            assert why_not_allowed_now(self.agent, started, NOON) == ""
            self._count(verdict)
        if isinstance(verdict, Asks) and verdict.ends_lease:
            self.agent = replace(self.agent, lease=None)
        self.model.after(expected, risk)
        if isinstance(verdict, Asks):
            self._ask(turn, int(expected), presses, times)

    def _ask(self, turn: Turn, wanted: int, presses: list[str], times: int) -> None:
        """People press Approve one after the other until it runs."""
        approved: list[str] = []
        for name in presses:
            verdict = evaluate(self.agent, turn, NOON, person=PEOPLE[name])
            if not self.model.may(name, turn.risks[0]):
                assert isinstance(verdict, Denied)
                continue
            if name in approved:
                continue
            approved.append(name)
            assert isinstance(verdict, Allowed if len(approved) == wanted else Asks)
            turn = replace(turn, needs_two=wanted == 2).decide(Approve(), by=PEOPLE[name], at=NOON)
            if len(approved) == wanted:
                assert why_not_allowed_now(self.agent, turn, NOON) == ""
                self._approved(turn, name, times if wanted == 1 else 1)
                return
        assert turn.state == "proposed"

    def _approved(self, turn: Turn, name: str, times: int) -> None:
        if turn.exposed:
            self.agent, self.model.exposed = replace(self.agent, exposed=False), False
        if times > 1:
            lease = grant(times, turn, by=PEOPLE[name], at=NOON).spend()
            self.agent = replace(self.agent, lease=lease)
            self.model.lease = (name, times - 1, {*QUIET.get(turn.risks[0], ("read", "write", turn.risks[0]))})

    def _turn(self, risk: RiskClass) -> Turn:
        turn = a_turn(self.agent, number=self.number, risks=(risk,), exposed=self.agent.exposed)
        call = replace(turn.proposal.call, name=risk, arguments={"n": self.number})
        turn = replace(turn, proposal=replace(turn.proposal, call=call))
        return turn.marked_for_two(self.agent.policy_in_force)

    def _count(self, verdict: Allowed) -> None:
        if verdict.decision.under == "lease" and self.agent.lease:
            self.agent = replace(self.agent, lease=self.agent.lease.spend())
        used = (each.use() if each.id == verdict.decision.rule_id else each for each in self.agent.read_rules)
        self.agent = replace(self.agent, read_rules=tuple(used))

    def _granters(self) -> Granters:
        lease = self.agent.lease
        return Granters(people=(*PEOPLE.values(),), granter=lease.granted_by if lease else None, lease=lease)

    def _set(self, policy: ChannelPolicy) -> None:
        self.agent = follow_channel_policy(self.agent, policy)

    def _lose(self, lost: set[str], *, ends: bool = True) -> None:
        """The lease without these classes; a policy ends one that covers nothing any more."""
        assert self.model.lease
        by, left, classes = self.model.lease
        self.model.lease = (by, left, classes - lost) if classes - lost or not ends else None

    agent: Agent
    model: Model
    number: int


def told(verdict: Allowed | Asks | Denied) -> str:
    match verdict:
        case Allowed(_, decision):
            return decision.under
        case Asks(people=number):
            return str(number)
        case Denied():
            return "denied"


@pytest.mark.proves("oversight:model")
class TestOversight(Oversight.TestCase):  # type: ignore[misc, valid-type]
    """Plays them."""

    settings = settings(max_examples=tried(60), stateful_step_count=40, deadline=None)
