"""Having people approve something else than their card says: shared cards, late cards, and cards about helpers."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from adapters.chat.background import BackgroundTasks
from adapters.chat.joined_cards import MAX_JOINED, JoinedCards
from adapters.chat.refusals import redraw_if_outdated
from adapters.chat.services import ChatServices
from adapters.screens.buttons import Button
from adapters.slack.outbound.surface import SlackSurface
from agent_core.errors import CommandError, NotPossible, SurfaceBusy
from agent_core.model.agent import Acting, Agent, Paused
from agent_core.model.command import Interrupted, Succeeded
from agent_core.model.decision import Approval, Approve, ApproveEdited
from agent_core.model.turn import Turn
from agent_core.service.housekeeping.inbound_log import InboundLog
from agent_core.service.reading.thread_turns import ThreadTurns
from agent_core.testing.database import TemporaryDatabase
from agent_core.testing.examples import ANA, BEN, CHANNEL, NOON, a_turn, an_agent, keep
from agent_core.testing.files import InMemoryFiles
from agent_core.testing.language_model import ScriptedModel, reply_text
from agent_core.testing.stage import Stage
from agent_core.toolset.registry import Command, CommandContext, NoArguments, declare
from tests.attacks.rows import attack
from tests.attacks.test_rights import NOTHING, with_helpers
from tests.patience import PATIENCE_SECONDS
from tests.scenario.chat import writing
from tests.scenario.discord_app import Guild
from tests.scenario.discord_app import at_work as in_guild
from tests.scenario.discord_app import text_of as guild_text
from tests.scenario.member import GuildChat
from tests.scenario.slack_app import Office, at_work, text_of
from tests.scenario.team import SlackChat
from tests.slack_messages import folded_message
from tests.unit.agent_core.oversight.test_untrusted_content import FORGED, approve
from tests.wiring import actions_of

# Attacks on cards that several turns share, and on cards that are folded
AGENT = an_agent(turns=200)
GRANT = Approval(ANA, NOON, Approve(times=5))
COVERED = Approval(ANA, NOON, Approve(under="lease", granted_at=NOON))
BY_POLICY = Approval(ANA, NOON, Approve(under="policy", granted_at=NOON))


def ended(number: int, address: str = "", approval: Approval = BY_POLICY, **changes: Any) -> Turn:
    turn = a_turn(AGENT, number=number, state="done", result=Succeeded("ok"), approvals=(approval,), shown_as=address)
    return replace(turn, **changes)


async def shown_in_order(cards: JoinedCards, first: int, last: int) -> list[list[int]]:
    """Show turns one after the other as a surface does; for each, the numbers of the lines that are folded with it."""
    folded = []
    for number in range(first, last + 1):
        turn = ended(number)
        place = await cards.place(AGENT, turn)
        folded.append([line.number for line in place.to_fold])
        cards.remember(AGENT, turn, place, place.address or f"t/{number}")
    return folded


async def test_the_card_before_is_folded_with_all_its_commands_while_the_next_one_fills() -> None:
    cards = JoinedCards(turns=ThreadTurns(TemporaryDatabase()))
    await keep(cards.turns.database, AGENT, ended(1, "t/1"))
    folded = await shown_in_order(cards, 2, 2 * MAX_JOINED)
    told = {(numbers[0], numbers[-1]) for numbers in folded if numbers}
    assert told == {(1, MAX_JOINED)}  # "50 commands under one decision: turns 1 to 50", each time


async def test_a_card_of_fifty_commands_is_never_folded_to_the_line_of_one() -> None:
    cards = JoinedCards(turns=ThreadTurns(TemporaryDatabase()))
    full = [ended(number, "t/1") for number in range(1, MAX_JOINED + 1)]
    more = [ended(number, f"t/{MAX_JOINED + 1}") for number in range(MAX_JOINED + 1, 2 * MAX_JOINED + 1)]
    await keep(cards.turns.database, AGENT, *full, *more)
    place = await cards.place(AGENT, ended(2 * MAX_JOINED + 1, approval=Approval(ANA, NOON, Approve())))
    assert [line.number for line in place.to_fold] == list(range(MAX_JOINED + 1, 2 * MAX_JOINED + 1))
    before = await cards.place(AGENT, ended(MAX_JOINED + 1, f"t/{MAX_JOINED + 1}"))
    said = folded_message(AGENT, before.to_fold).arguments["text"]
    assert "50 commands" in said, said


async def test_a_click_on_an_old_shared_card_does_not_hide_the_commands_that_ran_under_it() -> None:
    cards = JoinedCards(turns=ThreadTurns(TemporaryDatabase()))
    shared = [ended(number, "t/1") for number in range(1, 21)]
    once = Approval(ANA, NOON, Approve())
    later = [ended(number, f"t/{number}", once) for number in range(21, 81)]
    await keep(cards.turns.database, AGENT, *shared, *later)
    card = await cards.read_card(AGENT, shared[-1])
    assert (card.is_folded, [line.number for line in card.lines]) == (True, list(range(1, 21)))


async def test_a_click_on_an_old_card_of_one_command_leaves_it_folded() -> None:
    cards = JoinedCards(turns=ThreadTurns(TemporaryDatabase()))
    once = Approval(ANA, NOON, Approve())
    await keep(cards.turns.database, AGENT, *[ended(number, f"t/{number}", once) for number in range(1, 81)])
    assert (await cards.read_card(AGENT, ended(3, "t/3", once))).is_folded


async def test_a_click_on_an_outdated_button_does_not_fold_the_card_on_which_a_command_begins() -> None:
    """From the save of a covered command to the save of its start, its card's address is not recorded yet."""
    cards = JoinedCards(turns=ThreadTurns(TemporaryDatabase()))
    first = ended(1, "t/1", GRANT)
    begins = ended(2, approval=COVERED, state="approved", result=None)
    await keep(cards.turns.database, AGENT, first, begins)
    place = await cards.place(AGENT, begins)
    assert (place.address, [line.number for line in place.earlier]) == ("t/1", [1])
    cards.remember(AGENT, begins, place, place.address)  # the card t/1 now shows that turn 2 runs, with Stop
    card = await cards.read_card(AGENT, first)  # a click on a button of turn 1 that was decided
    assert (card.is_folded, card.newest.number) == (False, 2)


async def test_a_shared_card_whose_newest_turn_ends_while_it_is_redrawn_is_drawn_as_it_is_then() -> None:
    """As `test_refusals` shows for the clicked turn; but a shared card shows another, which changes."""
    stage = Stage(model=ScriptedModel(waits=True))
    agent = an_agent(turns=2, status=Acting())
    runs = ended(2, "t/1", COVERED, state="running", result=None)
    await keep(stage.database, agent, ended(1, "t/1", GRANT), runs)
    context = ChatServices(
        actions=actions_of(stage),
        service=stage.service,
        views=stage.views,
        drafting=stage.drafting,
        uploads=stage.uploads,
        tour=stage.tour,
        inbound_log=InboundLog(stage.database, stage.clock),
        soon=BackgroundTasks(),
        clock=stage.clock,
    )
    cards, drawn = JoinedCards(turns=ThreadTurns(stage.database)), list[str]()

    async def draw(agent: Agent, turn: Turn) -> None:
        shown = (await cards.read_card(agent, turn)).newest
        if not drawn:  # the command ends, and the loop shows that, before this older state arrives
            async with stage.database.begin() as work:
                present = await work.turns.get(agent.channel, runs.id)
                work.turns.save(replace(present, state="done", result=Succeeded("ok")))
                await work.commit()
        drawn.append(shown.state)

    with pytest.raises(NotPossible):
        async with redraw_if_outdated(Button("approve", ended(1).id), stage.origin(), context, draw):
            raise NotPossible("already approved")
    await context.soon.close()
    assert drawn == ["running", "done"]


# A turn whose card could not be edited in time, shown later: the newer turns on its card stay there


async def soon(holds: Callable[[], bool]) -> None:
    """Wait until this holds."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not holds():
            await asyncio.to_thread(bool)


async def busy_once(surface: SlackSurface) -> None:
    """Wait until Slack has told that it is busy, and is so no longer."""
    gates = surface.calls.gates
    await soon(lambda: bool(gates))
    await soon(lambda: all(gate.until <= surface.calls.clock.now() for gate in gates.values()))


async def all_shown(stage: Stage, agent: Agent) -> None:
    """Wait until the sweep has shown every turn as it is."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while True:
            async with stage.database.begin() as work:
                if not await work.turns.list_unshown(agent):
                    return
            await asyncio.to_thread(bool)


@pytest.mark.slow
@pytest.mark.proves("attention:one-card")
async def test_a_busy_slack_does_not_take_the_newest_commands_off_a_shared_card(tmp_path: Path) -> None:
    """Slack is busy when turn 2 ends. Turns 3 to 5 run on the same card; then the sweep shows the end of turn 2."""
    built = asyncio.Event()

    async def build(_given: NoArguments, _context: CommandContext) -> str:
        """Build until the test says so."""
        await built.wait()
        return "built"

    async with Office.opened() as office:
        model = ScriptedModel(writing("a.md", "one\n"), reply_text("build"), waits=True)
        async with at_work(office, model, tmp_path) as running:
            command: Command = declare(NoArguments, build, label="Build", risks=("write",), category="files")
            running.stage.commands.register(command)
            chat = SlackChat(office, running, office.ana)
            await chat.new_agent("Clerk", "builds", "Build")
            await (await chat.asks("write_to_file")).press("Approve ×5")
            await office.card(2, "running")
            surface = running.stage.surface
            assert isinstance(surface, SlackSurface)
            office.slack.fails("chat.update", status=429, retry_after="0.5")
            built.set()
            await busy_once(surface)
            model.say(*(writing(f"{word}.md", f"{word} grows\n") for word in ("cedar", "elm", "fir", "ivy")))
            await office.card(6)
            await all_shown(running.stage, await running.agent())
            shared = text_of(office.cards()[0])
            assert [word for word in ("cedar", "elm", "fir") if word in shared] == ["cedar", "elm", "fir"], shared


@pytest.mark.slow
@pytest.mark.proves("attention:one-card")
async def test_on_discord_a_turn_shown_late_leaves_the_newest_commands_on_their_card(tmp_path: Path) -> None:
    async with Guild.opened() as guild:
        words = ("alder", "birch", "cedar", "dogwood")
        model = ScriptedModel(*(writing(f"{word}.md", f"{word} grows\n") for word in words))
        async with in_guild(guild, model, tmp_path) as running:
            chat = GuildChat(guild, running, guild.person("ana"))
            await chat.new_agent("Clerk", "keeps notes", "Write notes")
            await (await chat.asks("write_to_file")).press("Approve ×3")
            await chat.asks("write_to_file")
            agent, stage = await running.agent(), running.stage
            await all_shown(stage, agent)
            async with stage.database.begin() as work:
                late = (await work.turns.of(agent, last=4))[1]
            assert await stage.surface.show(agent, late, may_exist=True) == late.shown_as
            shared = guild_text(await guild.message("alder.md"))
            assert [word for word in words if f"{word}.md" in shared] == [*words[:3]], shared


# A command that leaves a shared card: what stays on that card does not depend on one edit that Slack refused


async def build(_given: NoArguments, _context: CommandContext) -> str:
    """Build for ever."""
    await asyncio.Event().wait()
    return "built"


def with_build(stage: Stage) -> None:
    command: Command = declare(NoArguments, build, label="Build", risks=("write",), category="files")
    stage.commands.register(command)


async def running_turn(stage: Stage, agent: Agent) -> Turn:
    """The agent's newest turn, once its start is saved, and with it the address of its card."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while True:
            turn = await stage.views.newest_turn(agent.channel, agent.id)
            if turn and turn.state == "running":
                return turn
            await asyncio.to_thread(bool)


@pytest.mark.slow
async def test_a_shared_card_does_not_say_for_ever_that_a_command_runs_whose_process_died(tmp_path: Path) -> None:
    async with Office.opened() as office:
        model = ScriptedModel(writing("a.md", "one\n"), reply_text("build"), waits=True)
        async with at_work(office, model, tmp_path) as running:
            with_build(running.stage)
            chat = SlackChat(office, running, office.ana)
            await chat.new_agent("Clerk", "builds", "Build")
            await (await chat.asks("write_to_file")).press("Approve ×5")
            await office.card(2, "running")
            agent = await running.agent()
            turn = await running_turn(running.stage, agent)
            surface = running.stage.surface
            assert isinstance(surface, SlackSurface)
            office.slack.fails("chat.update", status=429, retry_after="0.05")
            async with asyncio.timeout(PATIENCE_SECONDS):
                while True:  # as the sweep does
                    try:
                        await surface.show(agent, turn.interrupt(Interrupted()), may_exist=True)
                        break
                    except SurfaceBusy:
                        continue
            await office.slack.until(lambda: any("Run again" in str(card) for card in office.cards()))
            shared = text_of(office.cards()[0])
            assert "· running" not in shared, shared


# Having an approved act on a helper fall on another helper, and a helper's words pass for Signoff's
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


@pytest.mark.slow
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
