"""The policy of a channel: who may approve and change it, and what a change does to open cards and permissions."""

import asyncio
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from decimal import Decimal

import pytest

from adapters.typed.policies import channel_policy_text, needing
from agent_core.capabilities.files.commands import FILE_COMMANDS
from agent_core.errors import InvalidInput, NotAllowed, NotFound, NotPossible
from agent_core.model.agent import Agent, Awaiting
from agent_core.model.channel_policy import (
    ANYONE,
    OWNER,
    POLICY_KEY,
    Approver,
    ChannelPolicy,
    parse_channel_policy,
    serialise_channel_policy,
)
from agent_core.model.channel_settings import Sites
from agent_core.model.command import RiskClass
from agent_core.model.decision import Approve, ApproveEdited, Decision, Policy, Reject, Settlement
from agent_core.model.origin import Actor, ChannelScope, account_id
from agent_core.model.turn import Turn
from agent_core.service.decisions import record_decision
from agent_core.testing.examples import ANA, BEN, CHANNEL
from agent_core.testing.language_model import ScriptedModel, reply_text
from agent_core.testing.stage import Stage
from agent_core.testing.surface import RecordingSurface
from agent_core.toolset.registry import Commands

CARL = Actor(id="u-carl", display="carl", workspace="local")
LEADS, LEAD = Approver("S1", "@leads"), replace(CARL, groups=("S1",))
NOT_GRANTED = "it does not include changes to its own files (write_to_file)"
Change = Callable[[ChannelPolicy], ChannelPolicy]


def approvers(*people: Approver) -> Change:
    return lambda present: replace(present, approvers=people)


def of_class(risk: RiskClass) -> Commands:
    """The commands on files as if all of them were of one class."""
    return Commands.of(*(replace(each, spec=replace(each.spec, risks=(risk,))) for each in FILE_COMMANDS))


class Team:
    """Ana, who made the agent, Ben, and a stage whose model writes one file after the other."""

    def __init__(self, commands: Commands | None = None, surface: RecordingSurface | None = None) -> None:
        writes = (reply_text("write_to_file", {"filename": f"{n}.txt", "text": "one"}) for n in range(9))
        self.stage = Stage(model=ScriptedModel(*writes), commands=commands, surface=surface)

    async def opened(self, policy: Policy | None = None) -> tuple[Agent, Turn]:
        agent = await self.stage.create(**({"policy": policy} if policy else {}))
        return await self.settled(agent)

    async def settled(self, agent: Agent) -> tuple[Agent, Turn]:
        agent = await self.stage.wait_until_settled(agent)
        return agent, await self.stage.turn(agent)

    async def set(
        self, change: Change, by: Actor = ANA, delivery: str | None = None, channel: ChannelScope = CHANNEL
    ) -> ChannelPolicy:
        origin = replace(self.stage.origin(by, delivery), channel=channel)
        return await self.stage.agent_settings.set_channel_policy(change, origin)

    async def decide(self, turn: Turn, by: Actor, decision: Decision | None = None) -> Turn:
        origin, decision = self.stage.origin(by), decision or Approve()
        return (await self.stage.service.decisions.decide(turn.id, decision, origin, shown=turn.control_hash))[1]

    async def log(self) -> list[tuple[str, str]]:
        page = await self.stage.views.log.page(self.stage.origin())
        return [(row.entry.act, row.entry.detail) for row in page.rows]


@pytest.mark.proves("channel-policy:approvers")
async def test_only_approvers_decide_and_the_refusal_names_them() -> None:
    team = Team()
    _, turn = await team.opened()
    await team.set(approvers(Approver("u-ben", "@ben"), LEADS))
    with pytest.raises(NotAllowed, match="approve here: in this channel @ben and @leads may"):
        await team.decide(turn, ANA)
    with pytest.raises(NotAllowed, match="guests"):
        await team.decide(turn, replace(LEAD, kind="guest"))
    assert (await team.decide(turn, LEAD)).state == "approved"
    assert ("set the channel's policy", "who may approve: any full member → @ben, @leads") in await team.log()


@pytest.mark.slow
@pytest.mark.proves("channel-policy:changes")
async def test_approvers_and_who_set_it_last_change_it_and_nobody_else() -> None:
    team, slack = Team(), ChannelScope("slack", "T1", "C1")
    await team.set(approvers(LEADS), channel=slack)
    with pytest.raises(NotAllowed, match="set the policy of this channel: @leads and @ana may"):
        await team.set(approvers(Approver(ANYONE)), BEN, channel=slack)
    await team.set(lambda present: replace(present, managers=(Approver("u-ben", "@ben"),)), channel=slack)
    with pytest.raises(NotAllowed):
        await team.set(needing("free", ("publish",)), LEAD, channel=slack)
    policy = await team.set(needing("two", ("publish",)), BEN, channel=slack)
    assert (policy.set_by, policy.needs) == (BEN, {"publish": "two"})


@pytest.mark.proves("channel-policy:changes")
async def test_who_signed_in_changes_it_by_their_groups_alone_also_once_who_set_it_last_has_left() -> None:
    team, leads = Team(surface=Deserted()), Approver("&leads", "@leads")
    lead = Actor(id=account_id("https://id.example", "ana"), display="ana", workspace="local", groups=("&leads",))
    other = replace(lead, id=account_id("https://id.example", "ben"), display="ben", groups=("&staff",))
    with pytest.raises(InvalidInput, match="in none of these groups: @leads"):
        await team.set(approvers(leads), other)
    policy = await team.set(approvers(leads), lead)
    assert "Who may change this: who may approve" in channel_policy_text(policy).splitlines()
    for person in (other, replace(lead, groups=())):
        with pytest.raises(NotAllowed, match=r"channel: @leads may\."):
            await team.set(approvers(Approver(ANYONE)), person)
    await team.set(approvers(Approver(OWNER)), lead)
    assert (await team.set(needing("never", ("spend",)), other)).set_by == other, "without groups, who set it has left"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (approvers(), "Name 1 to 20"),
        (approvers(*(Approver(f"U{n}") for n in range(21))), "Name 1 to 20"),
        (lambda present: replace(present, approvers=(Approver(OWNER),), makers_approve=False), "they must be allowed"),
        (
            lambda present: replace(present, approvers=(Approver(OWNER),), needs={"write": "two"}),
            "than one person",
        ),
        (lambda present: replace(present, managers=(Approver(OWNER),)), "another maker"),
    ],
)
async def test_a_policy_under_which_nobody_could_approve_is_refused(change: Change, said: str) -> None:
    team = Team()
    with pytest.raises(InvalidInput, match=f"Nothing was changed. .*{said}"):
        await team.set(change)
    assert await team.stage.agent_settings.channel_policy(CHANNEL) == ChannelPolicy()


@pytest.mark.slow
@pytest.mark.proves("channel-policy:never")
async def test_what_never_runs_is_not_offered_and_an_open_card_is_withdrawn_until_it_may_run_again() -> None:
    team = Team()
    agent, turn = await team.opened()
    await team.set(needing("never", ("write",)))
    with pytest.raises(NotPossible, match="write_to_file never runs in this channel: its policy denies write"):
        await team.decide(turn, ANA)
    agent, withdrawn = await team.settled(agent)
    assert "never runs in this channel" in withdrawn.remark
    with pytest.raises(NotPossible):
        await team.decide(withdrawn, ANA)
    await team.set(needing("agents", ("write",)))
    agent, again = await team.settled(agent)
    assert again.remark.startswith("Nothing in this channel denies write_to_file any more")
    await team.decide(again, ANA)
    await team.settled(agent)
    assert [each.path for each in await team.stage.workspaces.of(agent).list_files(".")] == ["0.txt"]


@pytest.mark.slow
@pytest.mark.proves("channel-policy:never")
async def test_the_model_does_not_see_what_never_runs_but_can_end_its_work() -> None:
    team = Team()
    await team.set(lambda present: replace(present, needs={"write": "never", "read": "never"}))
    await team.stage.wait_until_settled(await team.stage.create())
    asked = "\n".join(message.content for message in team.stage.script.prompts[-1])
    assert "write_to_file" not in asked.partition("Goals")[0]
    assert "task_complete" in asked


async def test_two_people_of_the_channel_approve_what_was_open_and_a_lease_loses_the_class() -> None:
    team = Team()
    agent, turn = await team.opened()
    await team.set(needing("two", ("write",)))
    _, turn = await team.settled(agent)
    assert turn.needs_two
    assert (await team.decide(turn, ANA)).state == "proposed"
    assert (await team.decide(turn, BEN)).state == "approved"


@pytest.mark.slow
async def test_one_person_approves_what_the_agent_had_free_and_its_lease_covered() -> None:
    team = Team()
    agent, turn = await team.opened()
    await team.decide(turn, ANA, Approve(times=5))
    await team.set(needing("one", ("write",)))
    agent, turn = await team.settled(agent)
    assert turn.state == "proposed"
    async with team.stage.database.begin() as work:
        ends = [each.text for each in await work.notes.notices(agent) if each.kind == "lease ended"]
    assert ends == [f"@ana’s ×5 ended with {6 - turn.number} of 5 left: {NOT_GRANTED}."]


@pytest.mark.proves("channel-policy:free")
async def test_free_classes_of_the_channel_run_under_who_chose_them_and_end_with_their_right() -> None:
    team = Team()
    await team.set(needing("free", ("write",)), BEN)
    agent, _ = await team.opened()
    async with team.stage.database.begin() as work:
        first = (await work.turns.of(agent, last=40))[0]
    assert (first.approvals[-1].by, first.approvals[-1].decision.kind) == (BEN, "approve")
    after = Team()
    await after.set(needing("free", ("write",)), BEN)
    await after.set(approvers(LEADS), BEN)
    assert (await after.opened())[1].state == "proposed"


@pytest.mark.slow
@pytest.mark.proves("channel-policy:makers")
async def test_who_made_an_agent_does_not_approve_its_execute_commands_but_rejects_them() -> None:
    team = Team(of_class("execute"))
    await team.set(lambda present: replace(present, makers_approve=False))
    agent, turn = await team.opened(Policy(free=("execute",)))
    assert turn.state == "proposed"  # Ana chose it free for her own agent, and made it
    with pytest.raises(NotAllowed, match="approve this: you made Clerk, and another person approves its write_to_file"):
        await team.decide(turn, ANA)
    assert (await team.decide(turn, ANA, Reject("No"))).state == "rejected"
    agent, turn = await team.settled(agent)
    assert (await team.decide(turn, BEN)).state == "approved"


@pytest.mark.proves("channel-policy:at-once")
async def test_an_approval_of_who_lost_the_right_before_the_start_asks_again() -> None:
    team = Team()
    agent, turn = await team.opened()
    async with team.stage.database.begin() as work:
        turn, agent = await work.turns.get(CHANNEL, turn.id), await work.agents.get(CHANNEL, agent.id)
        await record_decision(work, agent, turn, Approve(), by=BEN, at=team.stage.clock.now())
        policy = replace(ChannelPolicy(), approvers=(LEADS,))
        work.preferences.put(CHANNEL, POLICY_KEY, serialise_channel_policy(policy))
        team.stage.service.decisions.waker.wake(work, agent.id)
        await work.commit()
    agent, turn = await team.settled(agent)
    assert (turn.state, turn.remark) == ("proposed", "@ben may not approve this any more.")
    assert (await team.decide(turn, LEAD)).state == "approved"


@pytest.mark.proves("channel-policy:changes")
async def test_two_changes_at_once_are_both_kept_and_a_repeated_one_counts_once() -> None:
    team = Team()
    await team.set(needing("one", ("read",)))
    classes: tuple[RiskClass, ...] = ("write", "delete", "network", "publish")
    await asyncio.gather(*(team.set(needing("two", (risk,)), BEN) for risk in classes))
    policy = await team.set(needing("never", ("spend",)), delivery="d1")
    assert policy.needs == {"read": "one", **dict.fromkeys(classes, "two"), "spend": "never"}
    assert await team.set(needing("free", ("spend",)), delivery="d1") == policy


async def test_another_channel_has_a_policy_of_its_own() -> None:
    team = Team()
    await team.set(needing("never", ("write",)))
    other = replace(CHANNEL, channel="other")
    assert await team.stage.agent_settings.channel_policy(other) == ChannelPolicy()


class Deserted(RecordingSurface):
    """A platform that everybody has left."""

    async def actor(self, channel: ChannelScope, person: Actor) -> Actor:
        raise NotFound("person", person.id)


class Directory(RecordingSurface):
    """A platform on which people have the groups that it says they have."""

    def __init__(self, **groups: str) -> None:
        super().__init__()
        self.groups = groups

    async def actor(self, channel: ChannelScope, person: Actor) -> Actor:
        group = self.groups.get(person.display)
        return replace(person, groups=(group,) if group else ())


async def interrupted(team: Team, turn: Turn, by: Actor) -> Turn:
    """The turn as a crash leaves it after this person approved it."""
    now = team.stage.clock.now()
    async with team.stage.database.begin() as work:
        turn, agent = await work.turns.get(CHANNEL, turn.id), await work.agents.get(CHANNEL, turn.agent_id)
        agent, turn = await record_decision(work, agent, turn, Approve(), by=by, at=now)
        turn = turn.start(now).interrupt()
        work.turns.save(turn)
        work.agents.save(agent.become(Awaiting(), now))
        await work.commit()
    return turn


@pytest.mark.parametrize("settlement", ["run again", "it ran"])
@pytest.mark.proves("channel-policy:makers")
async def test_who_made_the_agent_does_not_settle_its_execute_commands(settlement: Settlement) -> None:
    team = Team(of_class("execute"))
    await team.set(lambda present: replace(present, makers_approve=False))
    _, turn = await team.opened()
    turn = await interrupted(team, turn, BEN)
    with pytest.raises(NotAllowed, match="another person approves"):
        await team.stage.service.decisions.settle(turn.id, settlement, team.stage.origin(ANA), shown=turn.control_hash)


@pytest.mark.proves("channel-policy:never")
async def test_run_again_is_refused_for_what_never_runs_so_that_it_stays_known_that_it_may_have_run() -> None:
    team = Team()
    _, turn = await team.opened()
    turn = await interrupted(team, turn, BEN)
    await team.set(needing("never", ("write",)))
    with pytest.raises(NotPossible, match=r"never runs in this channel: .* Press It ran or Skip"):
        await team.stage.service.decisions.settle(turn.id, "run again", team.stage.origin(), shown=turn.control_hash)


@pytest.mark.proves("channel-policy:free")
async def test_each_free_class_ends_with_the_right_of_who_chose_that_one() -> None:
    team = Team(of_class("execute"))
    await team.set(lambda present: replace(present, makers_approve=False))
    await team.set(needing("free", ("execute",)), ANA)
    policy = await team.set(needing("free", ("read",)), BEN)
    assert policy.free_by == {"execute": ANA, "read": BEN}
    assert (await team.opened())[1].state == "proposed"


@pytest.mark.proves("channel-policy:approvers")
async def test_goals_that_no_approver_wrote_are_untrusted() -> None:
    team = Team(of_class("execute"))
    await team.set(lambda present: replace(present, approvers=(Approver("u-ben"),), needs={"execute": "free"}), BEN)
    agent, turn = await team.opened()
    assert (agent.exposed, turn.state) == (True, "proposed")


@pytest.mark.proves("channel-policy:at-once")
async def test_who_lost_the_group_after_approving_is_asked_of_the_platform_before_the_start() -> None:
    directory = Directory(carl="S1", dee="S1")
    team, dee = Team(surface=directory), replace(LEAD, id="u-dee", display="dee")
    await team.set(lambda present: replace(present, approvers=(LEADS,), needs={"write": "two"}))
    agent, turn = await team.opened()
    turn = await team.decide(turn, LEAD)
    del directory.groups["carl"]
    await team.decide(turn, dee)
    agent, turn = await team.settled(agent)
    assert (turn.number, turn.state, turn.remark) == (1, "proposed", "@carl may not approve this any more.")


@pytest.mark.slow
@pytest.mark.proves("page:sign-in-groups")
async def test_where_groups_alone_change_the_policy_of_the_page_they_alone_set_what_holds_for_the_channel() -> None:
    team, leads = Team(), Approver("&leads", "@leads")
    lead = Actor(id=account_id("https://id.example", "ana"), display="ana", workspace="local", groups=("&leads",))
    await team.set(approvers(leads), lead)
    settings = team.stage.agent_settings
    for person, may in ((lead, True), (replace(lead, groups=()), False)):
        by = team.stage.origin(person)
        for act in (
            settings.set_channel_budget(Decimal(5), by),
            settings.set_sites(lambda _: Sites(allow=("good.example",)), by),
            settings.set_tools(lambda present: present, by, "nothing"),
        ):
            with nullcontext() if may else pytest.raises(NotAllowed, match=r"here: @leads may\."):
                await act


@pytest.mark.proves("page:sign-in-groups")
async def test_what_somebody_of_the_page_approved_who_was_barred_before_the_start_asks_again() -> None:
    team, person = Team(surface=Deserted()), replace(CARL, id=account_id("https://id.example", "carl"))
    agent, turn = await team.opened()
    await team.decide(turn, person)
    agent, turn = await team.settled(agent)
    assert (turn.number, turn.state, turn.remark) == (
        1,
        "proposed",
        "Whether @carl may still approve this cannot be found out now.",
    )


@pytest.mark.proves("two:people")
async def test_what_a_first_person_edited_who_may_not_approve_any_more_is_what_the_next_approves_as_the_first() -> None:
    team, edit = Team(), ApproveEdited({"filename": "shown.txt", "text": "one"})
    await team.set(needing("two", ("write",)))
    _, turn = await team.opened()
    turn = await team.decide(turn, BEN, edit)
    await team.set(approvers(Approver("u-ana"), Approver("u-carl")))
    after = await team.decide(turn, ANA)
    assert (after.state, [approval.by for approval in after.approvals]) == ("proposed", [ANA])
    assert after.call.arguments == edit.arguments


@pytest.mark.slow
@pytest.mark.parametrize(
    "text", ["{", "[]", "null", '{"approvers": []}', '{"approvers": [], "needs": {}, "managers": 1}']
)
async def test_under_a_policy_that_cannot_be_read_nothing_runs_and_anybody_may_set_another(text: str) -> None:
    team = Team()
    agent, turn = await team.opened()
    async with team.stage.database.begin() as work:
        work.preferences.put(CHANNEL, POLICY_KEY, text)
        await work.commit()
    with pytest.raises(NotPossible, match="never runs in this channel"):
        await team.decide(turn, ANA)
    assert (await team.set(lambda _present: ChannelPolicy(), BEN)).set_by == BEN
    assert (await team.decide((await team.settled(agent))[1], ANA)).state == "approved"


async def test_a_need_of_a_newer_release_is_never() -> None:
    stored = serialise_channel_policy(ChannelPolicy(needs={"write": "one"})).replace('"one"', '"three"')
    assert parse_channel_policy(stored).needs == {"write": "never"}


async def test_a_person_whose_id_is_a_word_of_the_policy_is_nobody_in_particular() -> None:
    assert not ChannelPolicy(approvers=(Approver(OWNER),)).is_approver(replace(BEN, id=OWNER), ANA)


@pytest.mark.slow
async def test_a_plugin_that_says_its_command_ends_the_work_is_denied_too() -> None:
    commands = (replace(each, spec=replace(each.spec, finishes=True, source="toy 1")) for each in FILE_COMMANDS)
    team = Team(Commands.of(*commands))
    await team.set(needing("never", ("write",)))
    agent = await team.stage.wait_until_settled(await team.stage.create())
    assert agent.turns == 0
