"""Standing rules at work: what they let run and deny, how they are counted, and when they sleep or end."""

from dataclasses import replace
from typing import Any

import pytest

from adapters.typed.standing_rules import parse_rule
from agent_core.errors import InvalidInput, NotAllowed, NotFound, NotPossible
from agent_core.model.agent import Acting, Agent
from agent_core.model.channel_policy import Approver
from agent_core.model.decision import Approval, Approve, ApproveEdited, Reject
from agent_core.model.origin import Actor
from agent_core.model.permissions import RULES_KEY, Effect, StandingRule
from agent_core.model.turn import Turn
from agent_core.service.standing_rules import MadeRule, was_approved
from agent_core.testing.examples import ANA, BEN, CHANNEL, NOON, a_turn, an_agent
from tests.unit.agent_core.service.test_channel_policy import LEAD, LEADS, Directory, Team, approvers, of_class


class Ruled(Team):
    """A team that makes rules by typed lines."""

    agent: Agent

    async def begin(self) -> Turn:
        self.agent, turn = await self.opened()
        return turn

    async def rule(self, said: str, by: Actor = ANA, effect: Effect = "allow") -> MadeRule:
        return await self.stage.rules.make(self.agent.id, parse_rule(f"{effect} {said}"), self.stage.origin(by))

    async def rules(self) -> tuple[StandingRule, ...]:
        return await self.stage.rules.list_rules(CHANNEL)

    async def next(self) -> Turn:
        self.agent, turn = await self.settled(self.agent)
        return turn


@pytest.mark.proves("rules:allow")
async def test_what_a_rule_covers_runs_is_counted_and_logged_and_the_last_one_is_told() -> None:
    team = Ruled()
    turn = await team.begin()
    made = await team.rule("write_to_file filename in *.txt; for 3")
    assert made.rule.words == "Always allow write_to_file with filename in *.txt (any text) for Clerk, 3 more times"
    assert turn.state == "proposed"  # an open card still waits for people
    await team.decide(turn, BEN)
    assert (await team.next()).number == 5
    (rule,) = await team.rules()
    assert (rule.uses, rule.left) == (3, 0)
    page = await team.stage.views.log.page(team.stage.origin())
    assert [row.entry.by for row in page.rows if row.entry.grant == "rule"] == [ANA] * 3
    async with team.stage.database.begin() as work:
        told = [notice.text for notice in await work.notes.notices(team.agent)]
    assert any(text.startswith("A rule of @ana ended, after it let 3 commands run") for text in told)
    assert ("made a rule", made.rule.words) in await team.log()


@pytest.mark.slow
@pytest.mark.proves("rules:allow")
async def test_past_turns_that_it_would_have_covered_are_named_before_and_nothing_is_saved() -> None:
    team = Ruled()
    await team.decide(await team.begin(), BEN)
    await team.next()
    draft = parse_rule("allow write_to_file filename is 0.txt")
    tried = await team.stage.rules.try_out(team.agent.id, draft, team.stage.origin())
    assert [turn.number for turn in tried.covered] == [1]
    assert await team.rules() == ()


@pytest.mark.proves("rules:never")
async def test_what_a_rule_denies_is_withdrawn_and_the_model_is_told() -> None:
    team = Ruled()
    turn = await team.begin()
    await team.rule("write_to_file filename is 0.txt; all agents", effect="never")
    with pytest.raises(NotPossible, match="A rule of @ana says: Never run write_to_file with filename is"):
        await team.decide(turn, BEN)
    turn = await team.next()
    assert turn.remark.startswith("A rule of @ana says: Never run write_to_file")
    (rule,) = await team.rules()
    await team.stage.rules.revoke(team.agent.id, rule.short_id, team.stage.origin(BEN))
    assert (await team.next()).remark.startswith("Nothing in this channel denies write_to_file any more")


@pytest.mark.proves("rules:never")
async def test_a_proposal_that_a_rule_denies_never_becomes_a_card() -> None:
    team = Ruled()
    turn = await team.begin()
    await team.rule("write_to_file filename is 1.txt", effect="never")
    await team.decide(turn, BEN)
    turn = await team.next()
    assert (turn.number, turn.call.arguments["filename"]) == (2, "2.txt")
    told = "\n".join(message.content for message in team.stage.script.prompts[-1])
    assert "A rule of @ana says: Never run write_to_file" in told


@pytest.mark.proves("rules:sleep")
async def test_a_rule_sleeps_while_its_maker_may_not_approve_and_the_card_says_so() -> None:
    team = Ruled()
    turn = await team.begin()
    await team.rule("write_to_file filename in *.txt")
    await team.set(approvers(LEADS, Approver("u-ben", "@ben")))
    await team.decide(turn, BEN)
    turn = await team.next()
    why = "A rule covers this and sleeps, because @ana may not approve here any more."
    assert (turn.number, turn.state, turn.remark) == (2, "proposed", why)


@pytest.mark.proves("rules:exposed")
@pytest.mark.parametrize("risk", ["execute", "publish"])
async def test_no_rule_covers_programs_and_posts_after_untrusted_content(risk: str) -> None:
    team = Ruled(of_class(risk))  # type: ignore[arg-type]
    turn = await team.begin()
    await team.rule("write_to_file filename in *.txt")
    async with team.stage.database.begin() as work:
        agent = await work.agents.get(CHANNEL, team.agent.id)
        work.agents.save(agent.expose())
        await work.commit()
    await team.decide(turn, BEN)
    assert (await team.next()).number == 2


@pytest.mark.slow
async def test_a_rule_that_was_revoked_before_the_start_covers_nothing() -> None:
    team = Ruled()
    turn = await team.begin()
    made = await team.rule("write_to_file filename in *.txt; for 2")
    await team.stage.rules.revoke(team.agent.id, made.rule.short_id, team.stage.origin())
    await team.decide(turn, BEN)
    assert (await team.next()).number == 2
    with pytest.raises(NotFound):
        await team.stage.rules.revoke(team.agent.id, "nothing", team.stage.origin())


@pytest.mark.parametrize(
    ("said", "problem"),
    [
        ("nothing filename is a", "there is no command 'nothing'"),
        ("write_to_file path is a", "write_to_file has no argument path"),
        ("write_to_file", "needs a condition"),
        ("task_complete", "task_complete ends the work, which no rule allows"),
        ("write_to_file filename in *.txt; for 0", "A number of commands"),
        ("write_to_file filename in *.txt; until 2020-01-01", "That time is past"),
        ("write_to_file filename in *.txt; until 2026-13-01", "Rules: write"),
        ("write_to_file filename matches .*", "Rules: write"),
    ],
)
async def test_bad_rules_are_refused_with_a_sentence(said: str, problem: str) -> None:
    team = Ruled()
    await team.begin()
    with pytest.raises(InvalidInput, match=problem):
        await team.rule(said)
    assert await team.rules() == ()


async def test_who_may_not_decide_makes_and_revokes_no_rule_and_makers_none_for_their_own_programs() -> None:
    team = Ruled(of_class("execute"))
    await team.begin()
    guest = replace(BEN, id="u-gus", kind="guest")
    with pytest.raises(NotAllowed, match="make rules here"):
        await team.rule("write_to_file filename in *.txt", guest)
    await team.set(lambda present: replace(present, makers_approve=False))
    with pytest.raises(NotAllowed, match="allow this: you made Clerk"):
        await team.rule("write_to_file filename in *.txt", ANA)
    made = await team.rule("write_to_file filename in *.txt", BEN)
    with pytest.raises(NotAllowed, match="revoke rules here"):
        await team.stage.rules.revoke(team.agent.id, made.rule.short_id, team.stage.origin(guest))


@pytest.mark.slow
@pytest.mark.proves("rules:habits")
async def test_what_people_approved_each_time_is_suggested_until_a_rule_covers_it_or_somebody_refuses() -> None:
    team, suggested = Ruled(), []
    turn = await team.begin()
    for _ in range(5):
        suggested.append(await team.stage.rules.list_habits(CHANNEL, team.agent.id))
        await team.decide(turn, BEN)
        turn = await team.next()
    (habit,) = await team.stage.rules.list_habits(CHANNEL, team.agent.id)
    assert (suggested, habit.command, habit.times, habit.turn.number) == ([()] * 5, "write_to_file", 5, 5)
    made = await team.rule("write_to_file filename in *.txt")
    assert await team.stage.rules.list_habits(CHANNEL, team.agent.id) == ()
    await team.stage.rules.revoke(team.agent.id, made.rule.short_id, team.stage.origin())
    await team.decide(turn, BEN, Reject("No"))
    await team.next()
    assert await team.stage.rules.list_habits(CHANNEL, team.agent.id) == ()


@pytest.mark.proves("rules:habits")
async def test_programs_and_what_came_after_outside_content_is_never_suggested() -> None:
    agent = an_agent()
    approved = a_turn(agent, state="done", approvals=(Approval(BEN, NOON, Approve()),))
    fields: list[dict[str, Any]] = [
        {"exposed": True},
        {"risks": ("execute",)},
        {"risks": ("publish",)},
        {"state": "rejected"},
    ]
    assert was_approved(approved)
    assert not any(was_approved(replace(approved, **each)) for each in fields)
    by_rule = Approve(under="rule")
    assert not was_approved(replace(approved, approvals=(Approval(BEN, NOON, by_rule),)))


@pytest.mark.proves("rules:never")
async def test_nobody_edits_a_command_into_one_that_a_rule_denies() -> None:
    team = Ruled()
    turn = await team.begin()
    await team.rule("write_to_file filename is secret.txt", effect="never")
    edit = ApproveEdited({"filename": "./secret.txt", "text": "one"})
    with pytest.raises(NotPossible, match="A rule of @ana says"):
        await team.decide(turn, BEN, edit)


@pytest.mark.proves("rules:sleep")
async def test_a_maker_who_lost_the_group_before_the_start_is_asked_of_the_platform() -> None:
    directory = Directory(carl="S1")
    team = Ruled(surface=directory)
    turn = await team.begin()
    await team.set(approvers(LEADS, Approver("u-ben", "@ben")))
    await team.rule("write_to_file filename in *.txt", LEAD)
    async with team.stage.database.begin() as work:
        turn, agent = await work.turns.get(CHANNEL, turn.id), await work.agents.get(CHANNEL, team.agent.id)
        by_rule = Approve(under="rule", granted_at=team.stage.clock.now(), rule_id=agent.read_rules[0].id)
        work.turns.save(turn.decide(by_rule, by=LEAD, at=team.stage.clock.now()))
        work.agents.save(agent.become(Acting(), team.stage.clock.now()))
        team.stage.service.decisions.waker.wake(work, agent.id)
        directory.groups.clear()
        await work.commit()
    turn = await team.next()
    assert (turn.state, turn.number) == ("proposed", 1)


async def test_rules_for_all_are_made_and_never_rules_lifted_by_who_may_change_the_policy() -> None:
    team = Ruled()
    await team.begin()
    made = await team.rule("write_to_file filename is 9.txt", effect="never")
    guest = replace(ANA, kind="guest")
    with pytest.raises(NotAllowed, match="revoke rules here"):
        await team.stage.rules.revoke(team.agent.id, made.rule.short_id, team.stage.origin(guest))
    with pytest.raises(InvalidInput, match="ends the work, which no rule denies"):
        await team.rule("task_complete", effect="never")


async def test_rules_that_cannot_be_read_let_nothing_run_and_the_next_one_replaces_them() -> None:
    team = Ruled()
    turn = await team.begin()
    async with team.stage.database.begin() as work:
        work.preferences.put(CHANNEL, RULES_KEY, "[{}]")
        await work.commit()
    with pytest.raises(NotPossible, match="never runs in this channel"):
        await team.decide(turn, BEN)
    assert await team.rules() == ()
    await team.rule("write_to_file filename is 9.txt", effect="never")
    assert (await team.decide((await team.next()), BEN)).state == "approved"
