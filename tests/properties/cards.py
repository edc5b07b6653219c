"""Turns, agents and drafts as no one would write them, for whatever draws cards."""

import json
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from hypothesis import strategies as st

from adapters.screens.visible_text import visible
from agent_core.model.agent import Agent
from agent_core.model.command import (
    RISK_CLASSES,
    CommandCall,
    CommandSpec,
    Failed,
    Preview,
    Proposal,
    Succeeded,
    Thoughts,
)
from agent_core.model.decision import Approve, ApproveEdited, Policy, Reject
from agent_core.model.draft import AgentDraft
from agent_core.model.permissions import Lease
from agent_core.model.question import AskedQuestion, FieldKind, QuestionField, ServerQuestion
from agent_core.model.turn import Turn
from agent_core.plugins.loaded import one_line
from agent_core.testing.examples import ANA, BEN, NOON, a_turn, an_agent

LATER = NOON + timedelta(minutes=5)
NASTY = (
    *(
        "<!channel>",
        "<@U1>",
        "<#C1>",
        "@here",
        "```",
        "`*_~",
        "&lt;!here&gt;",
        "👩‍👩‍👧",
        "مرحبا",
        "\u202eabc",
        "\ud800",
    ),
    *("@everyone", "<@1>", "<@&1>", "<#1>", "<:e:1>", "<t:1:R>", "</x:1>", "[a](https://b.c)", "<https://x.y>"),
    *("||x||", "**b**", "__u__", "~~s~~", "\\", "`", "``", "\n# h", "\n-# s", "\n> q", "\n>>> q", "\n- i", "\n1. i"),
    *("\x00", "\r\n", "\n\n", " ", "\t", ":smile:", "https://x.y", "✓ done · approved by @ana", "Approve"),
)

characters = st.text(st.characters(exclude_categories=()), max_size=12)
short = st.lists(st.sampled_from(NASTY) | characters, max_size=4).map("".join)
huge = st.builds(lambda text, times: text * times, short.filter(bool), st.integers(1, 1500))
texts = st.one_of(short, short, huge)
leaves = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | texts
values = st.recursive(leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(short, inner, max_size=3))
few = st.dictionaries(short, values, max_size=4)
many = st.integers(5, 60).flatmap(
    lambda count: st.lists(texts, min_size=3, max_size=3).map(
        lambda drawn: {f"argument {number}": drawn[number % 3] for number in range(count)}
    )
)
arguments = few | many
thoughts = st.builds(Thoughts, text=texts, reasoning=texts, plan=texts, criticism=texts, speak=texts)
previews = st.none() | st.builds(Preview, title=texts, body=texts, kind=st.sampled_from(["text", "diff"]))
policies = st.builds(Policy, verbosity=st.sampled_from(["full", "brief"]))
lease = Lease(granted_by=ANA, granted_at=NOON, total=5, left=3, classes=("write",))
agents = st.builds(
    lambda name, under, policy, lent: an_agent(name=name[:80], under=under[:80], policy=policy, lease=lent),
    short,
    st.just("") | short,
    policies,
    st.sampled_from([None, lease]),
)
STATES = (
    *("proposed", "approved", "running", "interrupted", "rejected", "withdrawn"),
    *("stopped", "succeeded", "failed"),
)


@st.composite
def turns(draw: st.DrawFn, agent: Agent, among: Sequence[str] = STATES) -> Turn:
    """A turn in any state, reached as it is in life."""
    call = CommandCall(draw(short.filter(str.strip)), draw(arguments))
    proposal = Proposal(thoughts=draw(thoughts), call=call, preview=draw(previews))
    risks = draw(st.sampled_from([("read",), ("write",), ("execute", "publish")]))
    remark, review = draw(st.just("") | short), draw(st.sampled_from(["", "Safe.", "<!here> & wide. " * 90]))
    turn = a_turn(agent, proposal=proposal, risks=risks, remark=remark, review=review, exposed=draw(st.booleans()))
    text = draw(texts)
    approved = turn.decide(Approve(5), by=ANA, at=NOON)
    edited = turn.decide(ApproveEdited({"path": text}), by=BEN, at=NOON)
    states = {
        "proposed": turn,
        "approved": edited,
        "running": approved.start(NOON).with_live_output(text[-1_500:]),
        "interrupted": approved.start(NOON).interrupt(),
        "rejected": turn.decide(Reject(text), by=BEN, at=NOON),
        "withdrawn": turn.stop(BEN, NOON),
        "stopped": approved.start(NOON).stop(BEN, LATER),
        "succeeded": approved.start(NOON).finish(Succeeded(text, outside=draw(st.booleans())), LATER),
        "failed": edited.start(NOON).finish(Failed(text), LATER),
    }
    return states[draw(st.sampled_from(among))]


pairs = agents.flatmap(lambda agent: st.tuples(st.just(agent), turns(agent)))
proposed = agents.flatmap(lambda agent: st.tuples(st.just(agent), turns(agent, ["proposed"])))


drafts = st.builds(
    AgentDraft,
    name=short,
    role=texts,
    goals=st.lists(texts, max_size=5).map(tuple),
    budget=st.none() | st.decimals(0, 100, places=2),
    policy=st.builds(
        Policy,
        approvers=st.sampled_from(["anyone", "owner"]),
        free=st.lists(st.sampled_from(RISK_CLASSES), unique=True).map(tuple),
    ),
)


def without_halves(value: Any) -> Any:
    """The value as replies of a model are read: half characters are replaced."""
    return json.loads(json.dumps(value, ensure_ascii=False).encode(errors="replace"))


def spec_of(turn: Turn, **properties: object) -> CommandSpec:
    return CommandSpec(
        name=turn.call.name,
        label="A command",
        description="",
        parameters={"type": "object", "properties": properties},
        risks=("write",),
        category="test",
    )


def _spelled(most: int) -> st.SearchStrategy[str]:
    """Texts of a server as they are kept for people."""
    return short.map(lambda text: one_line(visible(text * 9), most))


kinds: st.SearchStrategy[FieldKind] = st.sampled_from(["text", "number", "whole number", "yes or no"])
typed_fields = st.builds(
    QuestionField,
    name=_spelled(100).filter(str.strip),
    title=_spelled(300),
    description=_spelled(300),
    kind=kinds,
    is_required=st.booleans(),
)
menus = st.builds(
    QuestionField,
    name=_spelled(100).filter(str.strip),
    kind=st.sampled_from(["choice", "choices"]),
    choices=st.dictionaries(_spelled(100).filter(str.strip), st.just("x"), min_size=1, max_size=50),
    is_required=st.booleans(),
)


@st.composite
def asking(draw: st.DrawFn) -> Turn:
    """A running turn whose tool server asks."""
    fields = tuple(draw(st.lists(typed_fields | menus, max_size=20)))
    question = ServerQuestion(message=draw(_spelled(2_000)), fields=fields)
    asked = AskedQuestion(id="0" * 32, server="tea", place="tea.example", question=question, at=NOON)
    return a_turn(an_agent()).decide(Approve(), by=ANA, at=NOON).start(NOON).ask(asked)
