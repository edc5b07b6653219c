"""Having an approved act on a helper fall on another helper, and a helper's words pass for Signoff's."""

from dataclasses import replace

import pytest

from agent_core.errors import CommandError
from agent_core.model.agent import Agent, Paused
from agent_core.model.decision import Approve, ApproveEdited
from agent_core.testing.examples import BEN, CHANNEL
from agent_core.testing.files import InMemoryFiles
from agent_core.testing.language_model import reply_text
from agent_core.testing.stage import Stage
from agent_core.toolset.registry import CommandContext
from tests.attacks.rows import attack
from tests.attacks.test_rights import NOTHING, with_helpers
from tests.unit.agent_core.oversight.test_untrusted_content import FORGED, approve

ONE, TWO = (reply_text("start_agent", {"name": name, "task": "Help"}) for name in ("One", "Two"))
MESSAGE = reply_text("message_agent", {"key": "1", "message": "For One alone"})
ANOTHER = "1 is another helper than the one that was approved, so nothing was done."


async def asking(*replies: str) -> tuple[Stage, Agent, tuple[Agent, ...]]:
    """An agent with two helpers that asks to do something with the first."""
    stage = with_helpers(ONE, TWO, *replies, NOTHING, NOTHING, NOTHING)
    head = await approve(stage, await approve(stage, await stage.create()))
    return stage, head, await stage.helpers.of(head)


async def told(stage: Stage, helper: Agent) -> list[str]:
    async with stage.database.begin() as work:
        return [note.text for note in await work.notes.list_waiting(helper)]


@pytest.mark.proves("helper:same")
@pytest.mark.parametrize(
    "decision",
    [
        pytest.param(decision, marks=attack("approval", tries, "the message reaches no helper"))
        for tries, decision in {
            "Approving a message to helper 1 after helper 1 was deleted and helper 2 became 1": Approve(),
            "The same with an edited message": ApproveEdited({"key": "1", "message": "Edited"}),
        }.items()
    ],
)
async def test_a_message_goes_to_the_helper_that_people_approved(
    decision: Approve | ApproveEdited, answer: str
) -> None:
    stage, head, (one, two) = await asking(MESSAGE)
    turn = await stage.turn(head)
    preview = turn.proposal.preview
    assert preview is not None
    assert (preview.title, preview.basis) == ("To One", one.id)
    await stage.service.lifecycle.delete(one.id, stage.origin(BEN))
    await stage.decide(head, decision)
    await stage.wait_until_settled(head)
    assert await told(stage, two) == [], answer


@pytest.mark.proves("helper:same")
@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        pytest.param(name, arguments, marks=attack("approval", tries, f"refused: {ANOTHER}"))
        for tries, name, arguments in (
            (
                "Helper 1 is deleted between the last check and the message",
                "message_agent",
                {"message": "For One alone"},
            ),
            ("Helper 1 is replaced between the last check and its deletion", "delete_agent", {}),
        )
    ],
)
async def test_a_helper_that_took_anothers_place_is_left_alone(
    name: str, arguments: dict[str, str], answer: str
) -> None:
    stage, head, (one, two) = await asking()
    context, given = CommandContext(agent=head, files=InMemoryFiles()), {"key": "1", **arguments}
    command = stage.commands.get(name)
    context = replace(context, approved=await command.preview(given, context))
    await stage.service.lifecycle.delete(one.id, stage.origin(BEN))
    with pytest.raises(CommandError) as refused:
        await command.run(given, context)
    assert (f"refused: {refused.value}", await told(stage, two)) == (answer, [])
    assert [helper.id for helper in await stage.helpers.of(head)] == [two.id]


@attack(
    "approval",
    "A paused helper's reason, returned by message_agent, imitates a line of Signoff",
    "on one line and marked",
)
@pytest.mark.proves("taint:helpers")
async def test_why_a_helper_stands_still_is_marked_where_it_comes_back(answer: str) -> None:
    stage, head, (one, _) = await asking()
    paused = replace(one.become(Paused(FORGED), stage.clock.now()), tainted=True)
    async with stage.database.begin() as work:
        await work.agents.get(CHANNEL, one.id)
        work.agents.save(paused)
        await work.commit()
    context = CommandContext(agent=head, files=InMemoryFiles())
    produced = await stage.commands.get("message_agent").run({"key": "One", "message": "Go on"}, context)
    assert (produced.outside, len(produced.text.splitlines())) == (True, 1), answer


async def test_a_helper_is_found_by_its_id_before_its_name() -> None:
    stage, head, (one, two) = await asking()
    context = CommandContext(agent=head, files=InMemoryFiles())
    async with stage.database.begin() as work:
        await work.agents.get(CHANNEL, two.id)
        work.agents.save(replace(two, name=one.id))
        await work.commit()
    await stage.helpers.message(context.agent, one.id, "Hello")
    assert await told(stage, one) == ["Hello"]
    with pytest.raises(CommandError, match="You have no helper 3"):
        await stage.helpers.message(context.agent, "3", "Hello")
