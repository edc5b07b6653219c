"""What people ask of an agent besides decisions, and what they are answered."""

import json
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from functools import partial
from typing import Any

import pytest

from adapters.typed.actions import takes_long
from adapters.typed.answers import Answer
from adapters.typed.command_lines import ThreadVerb, is_thread_command
from adapters.typed.management_commands import ManagementCommands
from adapters.typed.tool_settings import set_sites, sites_text
from adapters.typed.typed_text import typed
from agent_core.capabilities.demo.rehearsal import RehearsalModel
from agent_core.errors import InvalidInput, MemoryAway, NotAllowed, NotFound, NotPossible
from agent_core.model.agent import Agent
from agent_core.model.channel_settings import SITES_KEY, Sites
from agent_core.model.decision import Approve
from agent_core.model.model_calls import Usage
from agent_core.model.origin import Actor
from agent_core.model.records.reservation import Account
from agent_core.model.turn import SeenProposal
from agent_core.service.reading.decision_log import LogFilter
from agent_core.spending.budget_ledger import charge_account
from agent_core.testing.examples import ANA, BEN, CHANNEL
from agent_core.testing.language_model import ScriptedModel, reply_text
from agent_core.testing.stage import Stage
from tests.wiring import actions_of

GUEST = Actor(id="eve", display="eve", kind="guest")
HIDDEN = "tea\u202e four " + "x" * 150


async def a_stage(*replies: Any) -> tuple[Stage, Agent]:
    """A clerk who asks."""
    stage = Stage(model=ScriptedModel(reply_text("do_nothing"), *replies))
    return stage, await stage.create("Write", "Check")


async def granted(stage: Stage, verb: ThreadVerb, said: str, by: Actor = ANA) -> Answer:
    """What the clerk's wish is answered."""
    wishes: ManagementCommands = actions_of(stage).management_commands
    agent = (await stage.views.agents(stage.origin().channel))[0]
    answer = await wishes.run(verb, agent, said, stage.origin(by))
    assert answer.is_wanted
    return answer


# Goals


async def test_goals_are_shown_by_number() -> None:
    stage, _ = await a_stage()
    assert (await granted(stage, "goals", "")).text == "Goals of Clerk:\n1. Write\n2. Check"


@pytest.mark.parametrize(
    ("said", "goals"),
    [
        ("set a; b ;c;", ("a", "b", "c")),
        ("a; b", ("a", "b")),
        ("SET\n1. read: this\n- write that\n", ("read: this", "write that")),
        ("settle accounts", ("settle accounts",)),
        ("2024 was good", ("2024 was good",)),
    ],
)
async def test_goals_are_set_between_semicolons_or_on_lines_of_their_own(said: str, goals: tuple[str, ...]) -> None:
    stage, agent = await a_stage()
    assert f"1. {goals[0]}" in (await granted(stage, "goals", said)).text
    assert (await stage.views.agent(agent.channel, agent.id)).goals == goals


@pytest.mark.parametrize("said", ["set", ";;", "a;b;c;d;e;f", "x" * 2001])
async def test_goals_that_cannot_be_used_change_nothing(said: str) -> None:
    stage, agent = await a_stage()
    with pytest.raises(InvalidInput, match="Goals:"):
        await granted(stage, "goals", said)
    assert (await stage.views.agent(agent.channel, agent.id)).goals == agent.goals


# Model


async def test_the_model_is_shown_set_and_given_back_to_the_operator() -> None:
    stage, agent = await a_stage()
    assert (await granted(stage, "model", "")).text == "Model of Clerk: the default"
    assert (await granted(stage, "model", "gpt-5.4-mini")).text == "Model of Clerk: gpt-5.4-mini"
    assert (await stage.views.agent(agent.channel, agent.id)).model == "gpt-5.4-mini"
    assert (await granted(stage, "model", "Default")).text == "Model of Clerk: the default"
    assert (await stage.views.agent(agent.channel, agent.id)).model == ""


async def test_a_set_model_is_announced_logged_and_asked() -> None:
    stage, agent = await a_stage(reply_text("do_nothing"))
    await granted(stage, "model", "other-2")
    await stage.decide(agent, Approve())
    await stage.wait_until_settled(agent)
    assert "@ana set the model: other-2." in [notice.text for notice in stage.shown.notices]
    rows = [(row.act, row.detail) async for row in stage.views.log.rows(stage.origin(), LogFilter())]
    assert ("set the model", "other-2") in rows
    assert stage.script.models[-1] == "other-2"


@pytest.mark.parametrize("said", ["two words", "x" * 201, "gpt\u202e4-tpg", "\u200b", "\x1b]0;x\x07gpt-4", "\ud800"])
async def test_a_model_that_is_no_name_changes_nothing(said: str) -> None:
    stage, agent = await a_stage()
    with pytest.raises(InvalidInput, match="Model:"):
        await granted(stage, "model", said)
    assert (await stage.views.agent(agent.channel, agent.id)).model == ""


async def test_a_guest_sets_no_model() -> None:
    stage, _ = await a_stage()
    with pytest.raises(NotAllowed):
        await granted(stage, "model", "gpt-5.4-mini", GUEST)


# Budget


async def test_a_budget_is_shown_with_what_each_kind_of_call_cost() -> None:
    stage, agent = await a_stage()
    calls: Any = {"chat": Usage(prompt=1200, completion=80, cost=Decimal("0.01")), "review": Usage(cost=Decimal("0.2"))}
    async with stage.database.begin() as work:
        present = await work.agents.get(agent.channel, agent.id)
        work.agents.save(replace(present, calls={}).pay(calls))
        await work.commit()
    assert (await granted(stage, "budget", "")).text.splitlines() == [
        "Clerk: $0.21 spent, no limit",
        "• self-reviews: $0.20, 0 tokens read, 0 written",
        "• turns: $0.010, 1,200 tokens read, 80 written",
        "All agents in this channel: $0 spent, no limit",
    ]


async def test_a_budget_in_demo_mode_tells_no_tokens_of_the_script_but_what_an_earlier_model_cost() -> None:
    stage = Stage(model=RehearsalModel(), rehearsal=RehearsalModel())
    agent = await stage.create("Write hello to hello.txt")
    assert (await granted(stage, "budget", "")).text.splitlines() == [
        "Clerk: $0 spent, no limit",
        "In demo mode a script leads the agents: nothing is spent. A limit counts once a model is connected.",
        "All agents in this channel: $0 spent, no limit",
    ]
    async with stage.database.begin() as work:
        present = await work.agents.get(agent.channel, agent.id)
        work.agents.save(present.pay({"review": Usage(prompt=1200, completion=80, cost=Decimal("0.2"))}))
        await work.commit()
    assert (await granted(stage, "budget", "")).text.splitlines()[1] == (
        "• self-reviews: $0.20, 1,200 tokens read, 80 written"
    )


async def test_a_budget_says_how_much_of_it_is_an_estimate_and_why() -> None:
    stage, agent = await a_stage()
    cost = Decimal("0.2")
    async with stage.database.begin() as work:
        await charge_account(work, Account.of(agent), {"chat": Usage(cost=cost + cost)}, cost)
        await work.commit()
    why = "(about $0.20 of it estimated, because a process ended during a call)"
    own, _, shared = (await granted(stage, "budget", "")).text.splitlines()
    assert (own, shared) == (
        f"Clerk: $0.40 spent, no limit {why}",
        f"All agents in this channel: $0.40 spent, no limit {why}",
    )
    assert (await granted(stage, "budget", "9")).text == f"Clerk: $0.40 of $9.00 spent {why}"


@pytest.mark.parametrize(
    ("said", "limit", "told"),
    [
        ("5", Decimal(5), "$0 of $5.00 spent"),
        ("$5", Decimal(5), "$0 of $5.00 spent"),
        ("2,50", Decimal("2.50"), "$0 of $2.50 spent"),
        ("none", None, "$0 spent, no limit"),
        ("No limit", None, "$0 spent, no limit"),
    ],
)
async def test_a_budget_is_set(said: str, limit: Decimal | None, told: str) -> None:
    stage, agent = await a_stage()
    await granted(stage, "budget", "9")
    assert (await granted(stage, "budget", said)).text == f"Clerk: {told}"
    assert (await stage.views.agent(agent.channel, agent.id)).budget.limit == limit


async def test_the_channels_budget_is_set_and_shown_and_lifted() -> None:
    stage, _ = await a_stage()
    said = "All agents in this channel: $0"
    assert (await granted(stage, "budget", "channel 20")).text == f"{said} of $20.00 spent"
    assert (await granted(stage, "budget", "CHANNEL")).text == f"{said} of $20.00 spent"
    assert (await granted(stage, "budget", "channel none")).text == f"{said} spent, no limit"


@pytest.mark.parametrize("said", ["0", "-1", "lots", "nan", "inf", "1e999999", "9" * 200, "channel 0", "channel lots"])
async def test_what_is_no_budget_is_told_in_a_short_sentence(said: str) -> None:
    stage, agent = await a_stage()
    with pytest.raises(InvalidInput, match="Budget:") as raised:
        await granted(stage, "budget", said)
    assert len(str(raised.value)) < 200
    assert (await stage.views.agent(agent.channel, agent.id)).budget.limit is None


# Memory


async def test_memories_are_listed_newest_first_with_source_age_and_id() -> None:
    stage, agent = await a_stage()
    assert (await granted(stage, "memory", "")).text == "Clerk has no memories yet."
    await granted(stage, "memory", "add The code is 7")
    stage.fake_clock.advance(7_200)
    await granted(stage, "memory", f"add\n{HIDDEN}")
    newest, oldest = (await stage.memories.page(agent.channel, agent.id)).memories
    head, first, second = (await granted(stage, "memory", "list")).text.splitlines()
    assert head == "Memory of Clerk: 2 memories, newest first:"
    assert second == f"• The code is 7 · @ana · 2 h ago · {oldest.id}"
    assert first.startswith("• tea⟨U+202E⟩ four xxx")
    assert first.endswith(f"x… · @ana · just now · {newest.id}")
    assert len(first) < 200


@pytest.mark.slow
async def test_a_long_list_says_how_much_more_there_is() -> None:
    stage, _ = await a_stage()
    for number in range(23):
        await granted(stage, "memory", f"add fact {number}")
    assert (await granted(stage, "memory", "")).text.endswith("and 3 more: search finds them, export gives them all.")


async def test_a_search_tells_what_is_like_the_words_and_where_it_is_not_by_likeness() -> None:
    stage, _ = await a_stage()
    await granted(stage, "memory", "add Tea is served at four")
    await granted(stage, "memory", "add Coffee comes at nine")
    assert "best match first:\n• Tea is served" in (await granted(stage, "memory", "search when is tea served")).text
    stage.embedder.faults.append(MemoryAway("It is away."))  # type: ignore[attr-defined]
    told = (await granted(stage, "memory", "search coffee")).text
    assert told.startswith("Search by meaning is not available now")
    assert "• Coffee comes" in told
    assert "Tea" not in told


async def test_a_memory_is_forgotten_by_its_id_and_all_only_by_the_agents_name() -> None:
    stage, agent = await a_stage()
    for text in ("one", "two", "three"):
        await granted(stage, "memory", f"add {text}")
    first = (await stage.memories.page(agent.channel, agent.id)).memories[-1]
    assert (await granted(stage, "memory", f"forget {first.id.upper()}")).text == "Forgotten: one"
    with pytest.raises(NotFound):
        await granted(stage, "memory", f"forget {first.id}")
    for unsure in ("forget all", "forget all Clark"):
        assert "(2) for good" in (await granted(stage, "memory", unsure)).text
    assert (await stage.memories.page(agent.channel, agent.id)).total == 2
    assert (await granted(stage, "memory", "forget ALL clerk")).text == "Clerk has forgotten 2 memories."
    assert (await stage.memories.page(agent.channel, agent.id)).total == 0


async def test_memories_are_exported_as_a_file() -> None:
    stage, _ = await a_stage()
    assert (await granted(stage, "memory", "export")).files == ()
    await granted(stage, "memory", "add Tea ☕")
    answer = await granted(stage, "memory", "export")
    assert answer.files[0].name == "memory.jsonl"
    assert json.loads(answer.files[0].data)["text"] == "Tea ☕"


@pytest.mark.parametrize("said", ["forget", "tea", "list all", "export all"])
async def test_what_is_no_wish_about_memory_is_answered_with_those_there_are(said: str) -> None:
    stage, _ = await a_stage()
    with pytest.raises(InvalidInput, match="search WORDS, add TEXT, forget ID"):
        await granted(stage, "memory", said)


@pytest.mark.parametrize(
    ("verb", "said"),
    [
        ("goals", "set rest"),
        ("budget", "5"),
        ("budget", "channel 5"),
        ("memory", "add x"),
        ("memory", "forget all Clerk"),
    ],
)
async def test_who_may_not_decide_looks_and_changes_nothing(verb: ThreadVerb, said: str) -> None:
    stage, _ = await a_stage()
    with pytest.raises(NotAllowed):
        await granted(stage, verb, said, GUEST)
    assert (await granted(stage, verb, "", GUEST)).text


# In a thread


async def test_the_thread_takes_wishes_and_reviews() -> None:
    stage, agent = await a_stage("It is pointless.")
    actions = actions_of(stage)
    assert "2. Check" in (await actions.say(agent.id, typed("!goals"), stage.origin())).text
    assert "1. Rest" in (await actions.say(agent.id, typed("!Goals Rest"), stage.origin())).text
    told = await actions.say(agent.id, typed("!review"), stage.origin(), SeenProposal(written_at=stage.clock.now()))
    assert told == Answer("The self-review is on the card of turn 1.", is_wanted=True)
    assert (await stage.turn(agent)).review == "It is pointless."
    assert "ai_name: Clerk" in (await actions.say(agent.id, typed("!export"), stage.origin())).text


async def test_a_review_of_what_was_asked_after_it_was_wanted_is_not_made() -> None:
    stage, agent = await a_stage("It is pointless.")
    turn = await stage.turn(agent)
    with pytest.raises(NotPossible, match="before turn 1 was shown"):
        await actions_of(stage).say(
            agent.id, typed("!review"), stage.origin(), SeenProposal(written_at=turn.proposed_at - timedelta(seconds=1))
        )
    assert stage.script.left == 1


@pytest.mark.parametrize(
    ("line", "is_meant"),
    [
        ("goals", True),
        ("goals set a; b", True),
        ("goals are unclear", False),
        ("Budget $5", True),
        ("budget channel none", True),
        ("budget is too small", False),
        ("model gpt-5.4-mini", True),
        ("model default", True),
        ("model trains", False),
        ("model it on 2024", False),
        ("model llama3:8b", True),
        ("model meta-llama/llama-3.1-8b ", True),
        ("model 3", False),
        ("Model T-1000", False),
        ("Model gpt-5.4-mini", False),
        ("model A/B", False),
        ("model state-of-the-art", False),
        ("model https://example.org/x1", False),
        ("model " + "-" * 1_000_000 + " x", False),
        ("model gpt-5" + "-" * 40_000, False),
        ("memory search tea", True),
        ("memory is full", False),
        ("export it", False),
        ("use b.txt", False),
        ("", False),
    ],
)
def test_a_line_without_a_mark_is_a_wish_only_where_it_goes_on_as_one(line: str, is_meant: bool) -> None:
    assert is_thread_command(line) == is_meant


@pytest.mark.parametrize(
    ("line", "is_slow"),
    [("!review", True), ("! Memory search x", True), ("!memories", False), ("!goals a", False), ("review", False)],
)
def test_lines_that_ask_a_model_are_told_from_those_that_do_not(line: str, is_slow: bool) -> None:
    assert takes_long(typed(line)) == is_slow


def test_the_sites_of_a_channel_are_told_and_a_host_is_on_one_list() -> None:
    assert sites_text(Sites()) == "Agents here may reach every public site."
    assert sites_text(Sites(allow=("a.org",), deny=("b.a.org",))) == (
        "Agents here may reach only these sites: a.org. Denied: b.a.org."
    )


async def test_sites_are_allowed_denied_and_cleared_in_words() -> None:
    stage = Stage()
    say = partial(set_sites, stage.agent_settings)
    assert await say("allow https://Docs.Example.org/page, *.münchen.de", stage.origin()) == (
        "Agents here may reach only these sites: docs.example.org, xn--mnchen-3ya.de."
    )
    assert await say("deny docs.example.org", stage.origin()) == (
        "Agents here may reach only these sites: xn--mnchen-3ya.de. Denied: docs.example.org."
    )
    assert await say("", stage.origin()) == await say("", stage.origin(BEN))
    assert await say("clear", stage.origin()) == "Agents here may reach every public site."


@pytest.mark.proves("upgrade:fields")
async def test_sites_keep_what_a_newer_release_saved_beside_them() -> None:
    stage = Stage()
    async with stage.database.begin() as work:
        work.preferences.put(CHANNEL, SITES_KEY, '{"allow": ["a.org"], "deny": [], "ask": ["b.org"]}')
        await work.commit()
    await set_sites(stage.agent_settings, "deny c.org", stage.origin())
    async with stage.database.begin() as work:
        kept = json.loads(await work.preferences.get(CHANNEL, SITES_KEY) or "")
    assert kept == {"allow": ["a.org"], "deny": ["c.org"], "ask": ["b.org"]}


@pytest.mark.parametrize("said", ["allow", "allow not a host!", "maybe example.org", "deny [::1]", "clear all"])
async def test_what_is_no_list_of_sites_changes_nothing(said: str) -> None:
    stage = Stage()
    with pytest.raises(InvalidInput, match="Sites:"):
        await set_sites(stage.agent_settings, said, stage.origin())
    assert await stage.agent_settings.sites(CHANNEL) == Sites()


async def test_guests_set_no_sites() -> None:
    stage = Stage()
    guest = replace(BEN, kind="guest")
    with pytest.raises(NotAllowed):
        await set_sites(stage.agent_settings, "allow example.org", stage.origin(guest))
