"""Two people approve what a policy or the operator says: who counts, what starts again, and what covers nothing."""

from dataclasses import replace

import pytest

from adapters.screens.cards import turn_card
from agent_core.capabilities.files.commands import FILE_COMMANDS
from agent_core.errors import AlreadyDecided, ChangedSinceShown, InvalidInput, NotPossible
from agent_core.model.agent import Agent
from agent_core.model.command import Interrupted, RiskClass
from agent_core.model.decision import Approve, ApproveEdited, Decision, Policy, PolicyChange, Reject
from agent_core.model.draft import AgentDraft
from agent_core.model.origin import Actor
from agent_core.model.turn import Turn
from agent_core.testing.examples import ANA, BEN
from agent_core.testing.language_model import ScriptedModel, reply_text
from agent_core.testing.stage import Stage
from agent_core.toolset.registry import Commands

TWO, ONE = PolicyChange(two=("write",)), PolicyChange(one=("write",))
OWNER = PolicyChange(approvers="owner")
ONE_PERSON, TWO_PEOPLE, APPROVE = Policy(), Policy(two=("write",)), Approve()
OTHER = {"filename": "0.txt", "text": "Ben's"}


def writing(number: int) -> str:
    return reply_text("write_to_file", {"filename": f"{number}.txt", "text": "one"})


def for_two(*classes: RiskClass) -> Commands:
    """The commands on files, as an operator lets two people approve these classes."""
    return Commands.of(*(each.approved_by_two(classes) for each in FILE_COMMANDS))


class Pair:
    """Ana and Ben, and an agent whose card is open."""

    def __init__(self, policy: Policy = ONE_PERSON, commands: Commands | None = None) -> None:
        self.stage, self.policy = Stage(model=ScriptedModel(*map(writing, range(9))), commands=commands), policy
        self.agent: Agent

    async def opened(self) -> Turn:
        self.agent = await self.stage.create(policy=self.policy)
        return await self.settled()

    async def change(self, change: PolicyChange) -> None:
        await self.stage.agent_settings.set_policy(self.agent.id, change, self.stage.origin(ANA))

    async def settled(self) -> Turn:
        self.agent = await self.stage.wait_until_settled(self.agent)
        return await self.stage.turn(self.agent)

    async def decide(self, turn: Turn, by: Actor, decision: Decision = APPROVE) -> Turn:
        origin = self.stage.origin(by)
        return (await self.stage.service.decisions.decide(turn.id, decision, origin, shown=turn.control_hash))[1]

    async def files(self) -> list[str]:
        return [each.path for each in await self.stage.workspaces.of(self.agent).list_files(".")]


@pytest.mark.proves("two:people")
async def test_the_second_approval_runs_it_and_both_are_in_the_log() -> None:
    pair = Pair(TWO_PEOPLE)
    turn = await pair.opened()
    first = await pair.decide(turn, ANA)
    assert (first.state, first.control_hash) == ("proposed", turn.control_hash)
    with pytest.raises(NotPossible, match="You approved turn 1 already: another person must approve it too"):
        await pair.decide(turn, ANA)
    assert (await pair.decide(turn, BEN)).state == "approved"
    assert (await pair.settled()).number == 2
    page = await pair.stage.views.log.page(pair.stage.origin())
    rows = [(row.entry.act, row.entry.by, row.entry.detail) for row in page.rows]
    assert ("approve", ANA, "1 of 2") in rows
    assert ("ran", BEN, "") in rows


@pytest.mark.proves("two:people")
async def test_an_edit_starts_again_and_the_first_person_may_be_the_second_then() -> None:
    pair = Pair(TWO_PEOPLE)
    turn = await pair.opened()
    await pair.decide(turn, ANA)
    edited = await pair.decide(turn, BEN, ApproveEdited(OTHER))
    said = "@ben changed text from “one” to “Ben's”."
    assert (edited.state, turn_card(pair.agent, edited).edits) == ("proposed", said)
    with pytest.raises(ChangedSinceShown):
        await pair.decide(turn, ANA)
    approved = await pair.decide(edited, ANA)
    assert (approved.state, approved.call.arguments) == ("approved", OTHER)


async def test_the_log_names_what_was_approved_and_not_what_was_proposed() -> None:
    pair = Pair(TWO_PEOPLE)
    await pair.decide(await pair.opened(), BEN, ApproveEdited({**OTHER, "filename": "other.txt"}))
    entry = (await pair.stage.views.log.page(pair.stage.origin())).rows[0].entry
    assert (entry.act, entry.target) == ("edit", "other.txt")


@pytest.mark.parametrize("decision", [Reject("No"), Reject()])
async def test_one_person_rejects(decision: Reject) -> None:
    pair = Pair(TWO_PEOPLE)
    turn = await pair.opened()
    await pair.decide(turn, ANA)
    assert (await pair.decide(turn, BEN, decision)).state == "rejected"


@pytest.mark.proves("two:floor")
async def test_no_number_of_commands_is_approved_and_no_free_class_covers_them() -> None:
    pair = Pair(Policy(free=("read",)))
    await pair.opened()
    await pair.change(TWO)
    with pytest.raises(InvalidInput, match="Two people approve write, so it cannot run without asking"):
        await pair.change(PolicyChange(free=("write",)))
    turn = await pair.settled()
    assert pair.agent.policy == Policy(free=("read",), two=("write",))
    assert [button.label for button in turn_card(pair.agent, turn).buttons if "×" in button.label] == []
    for times in (3, 0, -3):
        with pytest.raises(InvalidInput, match="one command at a time"):
            await pair.decide(turn, ANA, Approve(times=times))


@pytest.mark.proves("policy:tighter")
async def test_a_lease_ends_before_a_command_that_two_people_approve() -> None:
    pair = Pair()
    turn = await pair.opened()
    await pair.decide(turn, ANA, Approve(times=5))
    await pair.change(TWO)
    asked = await pair.settled()
    assert (asked.number, asked.state, asked.needs_two) == (1, "proposed", True)
    assert asked.remark == "Two people must approve this now."


@pytest.mark.proves("policy:tighter")
async def test_a_card_that_is_open_follows_a_stricter_policy_and_keeps_it_under_a_looser_one() -> None:
    pair = Pair()
    turn = await pair.opened()
    await pair.change(TWO)
    asked = await pair.settled()
    assert turn_card(pair.agent, asked).standing == "needs approval by two people"
    await pair.change(ONE)
    assert (await pair.decide(turn, ANA)).state == "proposed"
    assert (await pair.decide(turn, BEN)).state == "approved"
    one = await pair.settled()
    assert (await pair.decide(one, ANA)).state == "approved"


@pytest.mark.parametrize(("policy", "change"), [(Policy(approvers="owner"), TWO), (TWO_PEOPLE, OWNER)])
async def test_where_only_the_owner_approves_there_are_no_two(policy: Policy, change: PolicyChange) -> None:
    pair = Pair(policy)
    await pair.opened()
    with pytest.raises(InvalidInput, match="more than one person must be allowed to approve"):
        await pair.change(change)
    with pytest.raises(InvalidInput, match="more than one person"):
        AgentDraft(name="A", role="b", goals=("c",), policy=replace(TWO_PEOPLE, approvers="owner")).tidied()


@pytest.mark.proves("two:floor")
@pytest.mark.parametrize(("classes", "needs_two"), [(("write",), True), (("execute",), False)])
async def test_what_the_operator_names_needs_two_people_under_every_policy(
    classes: tuple[RiskClass, ...], needs_two: bool
) -> None:
    pair = Pair(Policy(free=("write",)), for_two(*classes))
    turn = await pair.opened()
    assert turn.needs_two is needs_two
    assert (turn.state == "proposed") is needs_two


@pytest.mark.proves("two:floor")
async def test_where_the_operator_wants_two_and_only_the_owner_approves_it_says_what_to_do() -> None:
    pair = Pair(Policy(approvers="owner"), for_two("write"))
    turn = await pair.opened()
    with pytest.raises(NotPossible, match="only @ana may: let anyone approve first"):
        await pair.decide(turn, ANA)
    assert (await pair.decide(turn, ANA, Reject("No"))).state == "rejected"


@pytest.mark.proves("two:floor")
@pytest.mark.parametrize("is_approved", [False, True])
async def test_what_the_operator_names_after_a_turn_was_made_counts_for_it(is_approved: bool) -> None:
    pair, named = Pair(), for_two("write").by_name
    turn = await pair.opened()
    if is_approved:
        await pair.decide(turn, ANA)
    pair.stage.commands.by_name |= named
    if is_approved:
        turn = await pair.settled()
        assert (turn.number, turn.needs_two, turn.remark) == (1, True, "Two people must approve this now.")
    assert (await pair.decide(turn, ANA)).state == "proposed"
    assert (await pair.decide(turn, BEN)).state == "approved"


async def test_an_interrupted_command_of_two_people_is_not_run_again_by_one() -> None:
    pair = Pair(TWO_PEOPLE)
    turn = await pair.opened()
    interrupted = replace(turn, needs_two=False, state="interrupted", result=Interrupted(output="half"))
    async with pair.stage.database.begin() as work:
        await work.turns.get(turn.channel, turn.id)
        work.turns.save(interrupted)
        await work.commit()
    decisions, shown = pair.stage.service.decisions, interrupted.control_hash
    with pytest.raises(NotPossible, match="press Skip, and the agent may propose it again"):
        await decisions.settle(turn.id, "run again", pair.stage.origin(ANA), shown=shown)
    assert (await decisions.settle(turn.id, "it ran", pair.stage.origin(ANA), shown=shown))[1].state == "done"


async def test_a_form_with_one_class_in_both_lists_is_refused() -> None:
    both = Policy(free=("write",), two=("write",))
    with pytest.raises(InvalidInput, match="write cannot both run without asking and need two people"):
        AgentDraft(name="A", role="b", goals=("c",), policy=both).tidied()
    pair = Pair()
    await pair.opened()
    with pytest.raises(InvalidInput, match="so it cannot run without asking"):
        await pair.change(PolicyChange.between(ONE_PERSON, both))


async def test_an_edit_that_changes_nothing_is_the_second_approval() -> None:
    pair = Pair(TWO_PEOPLE)
    turn = await pair.opened()
    await pair.decide(turn, ANA)
    approved = await pair.decide(turn, BEN, ApproveEdited(turn.call.arguments))
    assert (approved.state, approved.is_edited) == ("approved", False)
    with pytest.raises(AlreadyDecided):
        await pair.decide(turn, ANA)


@pytest.mark.proves("two:people")
@pytest.mark.parametrize(("first", "second"), [(1, True), (1, 1.0), ("1", 1)])
async def test_an_edit_to_what_python_calls_equal_is_another_command(first: object, second: object) -> None:
    turn = replace(await Pair(TWO_PEOPLE).opened(), needs_two=True)
    once = turn.decide(ApproveEdited({"rows": first}), by=ANA, at=turn.proposed_at)
    again = once.decide(ApproveEdited({"rows": second}), by=BEN, at=turn.proposed_at)
    assert (again.state, [each.by for each in again.approvals]) == ("proposed", [BEN])


async def test_a_command_for_two_that_was_cut_short_offers_no_button_that_cannot_work() -> None:
    pair = Pair(TWO_PEOPLE)
    turn = await pair.opened()
    card = turn_card(pair.agent, replace(turn, state="interrupted", result=Interrupted()))
    assert "Run again" not in [button.label for button in card.buttons]


async def test_who_stopped_it_decided_and_not_the_first_of_two() -> None:
    pair = Pair(TWO_PEOPLE)
    turn = await pair.opened()
    first = await pair.decide(turn, ANA)
    assert (first.decided_by, first.stop(BEN, first.proposed_at).decided_by) == (None, BEN)


async def test_a_first_approval_leaves_a_late_reply_what_it_was_about() -> None:
    turn = await Pair(TWO_PEOPLE).opened()
    assert turn.decide(APPROVE, by=ANA, at=turn.proposed_at).asked_at == turn.asked_at


def test_a_command_that_needs_two_by_itself_keeps_that_under_every_setting() -> None:
    command = replace(FILE_COMMANDS[0], spec=replace(FILE_COMMANDS[0].spec, needs_two=True))
    assert command.approved_by_two(()).spec.needs_two
