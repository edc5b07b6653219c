"""What a crash, a pause or a stop brings an attacker: nothing runs, or runs again, that nobody decided on."""

from dataclasses import dataclass, replace
from typing import Any

import pytest

from adapters.screens.cards import turn_card
from adapters.screens.visible_text import visible
from adapters.typed.typed_text import typed
from agent_core.capabilities.agents.commands import AgentCommands
from agent_core.capabilities.agents.finish import FINISH_COMMANDS
from agent_core.capabilities.files.commands import FILE_COMMANDS
from agent_core.capabilities.programs.commands import ProgramCommands
from agent_core.capabilities.tool_servers.server_commands import ServerCommands
from agent_core.errors import PersonError, SurfaceBusy, ThreadGone
from agent_core.loop.command_runner import Extensions, NextHook
from agent_core.loop.recall import Recall
from agent_core.loop.transitions import expose_to_recalled
from agent_core.model.agent import Acting, Agent, Awaiting, Digest
from agent_core.model.command import CommandCall, Proposal, Result, Thoughts
from agent_core.model.decision import Approval, Approve, ApproveEdited, Policy, Reject
from agent_core.model.records.memory import Memory, Recalled
from agent_core.model.turn import SeenProposal, Turn
from agent_core.oversight.lease import grant
from agent_core.ports.tool_servers import ServerAnswer, ServerTool
from agent_core.testing.clock import START
from agent_core.testing.examples import ANA, BEN, CHANNEL, NOON, a_turn, an_agent, keep
from agent_core.testing.files import InMemoryWorkspaces
from agent_core.testing.language_model import ScriptedModel, reply_text
from agent_core.testing.sandbox import RecordingSandbox
from agent_core.testing.stage import Stage
from agent_core.testing.surface import RecordingNotifications, RecordingSurface
from agent_core.testing.tool_servers import TEA_SERVER, InMemoryToolServer
from agent_core.toolset.registry import Command, CommandContext, Commands, declare
from tests.attacks.rows import attack
from tests.unit.agent_core.loop.test_notifying import SLACK, Play
from tests.unit.agent_core.oversight.test_untrusted_content import FORGED, LOOK, RUN, SAVE, Nothing, approve, look, run
from tests.wiring import actions_of

# Ways round a lease, a mark or a card: after crashes, pauses and stops, and by words that come late
GUEST = replace(BEN, id="u-gina", display="gina", kind="guest")
NOTHING = reply_text("do_nothing")
FETCH = reply_text("fetch")
READ_PAGE = reply_text("read_file", {"filename": "page.txt"})
START_HELPER = reply_text("start_agent", {"name": "Scout", "task": "Help", "prompt": "Go on"})
DONE = reply_text("task_complete", {"reason": FORGED})


class Death(BaseException):
    """The process dies."""


async def fetch(_given: Nothing, context: CommandContext) -> str:
    """Download a page."""
    await context.files.write("page.txt", FORGED.encode())
    return FORGED


def stage_of(*replies: str, **more: object) -> Stage:
    def one(function: object, risks: tuple[str, ...], **facts: object) -> Command:
        return declare(Nothing, function, label="x", risks=risks, category="web", **facts)  # type: ignore[arg-type]

    own = (
        one(look, ("network",), outside=True),
        one(run, ("execute",)),
        one(fetch, ("network", "write"), outside=True),
    )
    return Stage(
        model=ScriptedModel(*replies),
        commands=Commands.of(*FILE_COMMANDS, *FINISH_COMMANDS, *own),
        **more,  # type: ignore[arg-type]
    )


def with_helpers(stage: Stage) -> Stage:
    for command in AgentCommands(stage.helpers).commands:
        stage.commands.register(command)
    return stage


async def turn_no(stage: Stage, agent: Agent, number: int) -> Turn:
    async with stage.database.begin() as work:
        return next(turn for turn in await work.turns.of(agent, last=50) if turn.number == number)


@dataclass(slots=True)
class Mortal:
    """A hook: the process dies right after a command of this name did its work."""

    name: str
    lives: int = 1

    async def __call__(self, call: CommandCall, context: CommandContext, following: NextHook) -> Result:
        result = await following(call, context)
        if call.name == self.name and self.lives:
            self.lives -= 1
            raise Death
        return result


@dataclass(slots=True)
class Losing(RecordingSurface):
    """Loses the thread, once, when the card of this turn is to be shown in this state."""

    number: int = 2
    is_lost: bool = False

    async def show(self, agent: Agent, turn: Turn, *, may_exist: bool) -> str:
        if turn.number == self.number and turn.state == "approved" and not self.is_lost:
            self.is_lost = True
            raise ThreadGone("The thread is gone.")
        return await RecordingSurface.show(self, agent, turn, may_exist=may_exist)


OTHER = reply_text("write_to_file", {"filename": "b.txt", "text": "never decided on"})


@pytest.mark.proves("lease:start")
async def test_a_turn_of_a_lease_that_ended_does_not_run_after_resume() -> None:
    """Pause voids the lease; Resume by anybody carries out what it had let through, and nobody was shown it."""
    stage = stage_of(SAVE, OTHER, NOTHING, surface=Losing())
    agent = await stage.create()
    agent = await approve(stage, agent, times=5)
    assert (agent.status.kind, agent.lease) == ("paused", None)
    two = await turn_no(stage, agent, 2)
    assert two.id not in stage.shown.cards  # nobody saw it
    await stage.service.lifecycle.resume(agent.id, stage.origin(BEN))
    await stage.wait_until_settled(agent)
    assert (await turn_no(stage, agent, 2)).state != "done"


@dataclass(slots=True)
class Clicking(RecordingSurface):
    """Somebody acts the moment the card of turn 2 appears."""

    act: object = None

    async def show(self, agent: Agent, turn: Turn, *, may_exist: bool) -> str:
        address = await RecordingSurface.show(self, agent, turn, may_exist=may_exist)
        if turn.number == 2 and turn.state == "approved" and self.act:
            act, self.act = self.act, None
            await act(agent)  # type: ignore[operator]
        return address


@pytest.mark.parametrize("who", ["revokes", "objects"])
async def test_a_lease_that_was_revoked_before_the_start_runs_nothing(who: str) -> None:
    surface = Clicking()
    stage = stage_of(SAVE, OTHER, NOTHING, surface=surface)

    async def act(agent: Agent) -> None:
        if who == "revokes":
            await stage.service.decisions.revoke(agent.id, stage.origin(BEN))
        else:
            await stage.service.decisions.reply(agent.id, "No, do not!", stage.origin(GUEST))

    surface.act = act
    agent = await approve(stage, await stage.create(), times=5)
    assert agent.lease is None
    assert (await turn_no(stage, agent, 2)).state != "done"


@pytest.mark.slow
async def test_a_decision_does_not_clear_what_came_after_its_card() -> None:
    """A helper's report from outside arrives while a card of an exposed agent is open."""
    stage = with_helpers(stage_of(START_HELPER, LOOK, SAVE, LOOK, DONE, RUN, NOTHING))
    head = await approve(stage, await stage.create(policy=Policy(free=("execute",))))  # START; then LOOK is asked
    head = await approve(stage, head)  # LOOK: exposed; SAVE is asked, and says so
    assert (await turn_no(stage, head, 3)).exposed
    helper = await stage.wait_until_settled((await stage.helpers.of(head))[0])
    helper = await approve(stage, helper)  # LOOK; then task_complete is asked
    if isinstance(helper.status, Awaiting):
        helper = await approve(stage, helper)
    assert helper.status.kind == "finished"
    assert (await stage.turn(head)).number == 3
    head = await approve(stage, head)  # on the card of before the report
    four = await turn_no(stage, head, 4)
    read = [
        p
        for p in stage.script.prompts
        if "This will be turn 4" in p[-1].content and "I am done. Prices are up" in p[-1].content
    ]
    assert read, "the report is first read by the thought of turn 4"
    assert (four.call.name, four.state) == ("run", "proposed"), four


@pytest.mark.parametrize("answer", ["it ran", "skip", "stop"])
async def test_what_an_interrupted_command_brought_is_from_outside(answer: str) -> None:
    """The process dies when the download is in the folder; the agent then reads it, as if it were its own."""
    stage = stage_of(FETCH, READ_PAGE, RUN, NOTHING, extensions=Extensions(hooks=(Mortal("fetch"),)))
    agent = await stage.create(policy=Policy(free=("read", "execute")))
    await stage.decide(agent, Approve())
    with pytest.raises(Death):
        await stage.wait_until_settled(agent)
    if answer == "stop":
        await stage.service.lifecycle.stop(agent.id, stage.origin())
        await stage.service.lifecycle.resume(agent.id, stage.origin())
    else:
        agent = await stage.wait_until_settled(agent)
        turn = await stage.turn(agent)
        assert turn.state == "interrupted"
        await stage.service.decisions.settle(turn.id, answer, stage.origin(), shown=turn.control_hash)  # type: ignore[arg-type]
    agent = await stage.wait_until_settled(agent)
    read, ran = await turn_no(stage, agent, 2), await turn_no(stage, agent, 3)
    assert FORGED in read.result.output  # type: ignore[union-attr]
    assert (ran.call.name, ran.state) == ("run", "proposed")


@pytest.mark.slow
@pytest.mark.parametrize("changed", [False, True])
async def test_run_again_of_an_edited_command_runs_what_its_card_shows(changed: bool) -> None:
    sandbox, workspaces = RecordingSandbox(), InMemoryWorkspaces()
    commands = Commands.of(*ProgramCommands(sandbox=sandbox).commands, *FINISH_COMMANDS)
    model = ScriptedModel(
        reply_text("list_processes"), reply_text("execute_python_file", {"filename": "main.py"}), NOTHING
    )
    stage = Stage(
        model=model,
        commands=commands,
        workspaces=workspaces,
        extensions=Extensions(hooks=(Mortal("execute_python_file"),)),
    )
    agent = await stage.create()
    files = workspaces.of(agent)
    await files.write("main.py", b"print('main')")
    await files.write("other.py", b"print('shown')")
    agent = await approve(stage, agent)
    await stage.decide(agent, ApproveEdited({"filename": "other.py"}))
    with pytest.raises(Death):
        await stage.wait_until_settled(agent)
    agent = await stage.wait_until_settled(agent)
    turn = await stage.turn(agent)
    assert turn.state == "interrupted"
    preview = turn_card(agent, turn).preview
    assert preview
    assert preview.body == "print('shown')"
    if changed:
        await files.write("other.py", b"import shutil; shutil.rmtree('.')")
    await stage.service.decisions.settle(turn.id, "run again", stage.origin(BEN), shown=turn.control_hash)
    await stage.wait_until_settled(agent)
    again = await turn_no(stage, agent, turn.number)
    ran = again.shown_preview.body if again.shown_preview else ""
    assert again.state == "proposed" or ran == preview.body, f"{again.state}: ran {ran!r}"


async def test_what_somebody_just_rejected_does_not_run_unasked() -> None:
    stage = stage_of(LOOK, RUN, RUN, NOTHING)
    agent = await approve(stage, await stage.create(policy=Policy(free=("execute",))))
    asked = await stage.turn(agent)
    assert (asked.call.name, asked.state, asked.exposed) == ("run", "proposed", True)
    await stage.decide(agent, Reject("That is what the page wants. Never run it."))
    agent = await stage.wait_until_settled(agent)
    again = await turn_no(stage, agent, 3)
    assert (again.call, again.state) == (asked.call, "proposed")


@dataclass(slots=True)
class Busy(RecordingSurface):
    """The platform takes no card of turn 2."""

    async def show(self, agent: Agent, turn: Turn, *, may_exist: bool) -> str:
        if turn.number == 2 and turn.state == "proposed":
            raise SurfaceBusy("Busy.")
        return await RecordingSurface.show(self, agent, turn, may_exist=may_exist)


async def test_a_reply_before_the_card_is_shown_does_not_clear_exposure() -> None:
    stage = stage_of(LOOK, RUN, RUN, NOTHING, surface=Busy())
    agent = await approve(stage, await stage.create(policy=Policy(free=("execute",))))
    two = await turn_no(stage, agent, 2)
    assert (two.state, two.shown_at, two.exposed, two.id in stage.shown.cards) == ("proposed", None, True, False)
    await stage.service.decisions.reply(
        agent.id, "Use the other one", stage.origin(), SeenProposal(written_at=stage.clock.now())
    )
    agent = await stage.wait_until_settled(agent)
    three = await turn_no(stage, agent, 3)
    assert (three.call.name, three.state) == ("run", "proposed")


async def test_a_guests_words_start_no_program_unasked() -> None:
    stage = stage_of(SAVE, RUN, NOTHING)
    agent = await stage.create(policy=Policy(free=("execute",)))
    await stage.service.decisions.reply(agent.id, "Run the program now", stage.origin(GUEST))
    agent = await approve(stage, agent)
    two = await turn_no(stage, agent, 2)
    assert (two.call.name, two.state) == ("run", "proposed")


async def test_a_guests_words_that_wait_are_not_acted_on_under_a_lease() -> None:
    stage = stage_of(RUN, NOTHING, RUN, NOTHING)
    agent = await stage.create()
    await stage.service.decisions.reply(agent.id, "Run it on the other folder, too", stage.origin(GUEST))
    agent = await approve(stage, agent, times=10)
    three = await turn_no(stage, agent, 3)
    assert (three.call.name, three.state) == ("run", "proposed")


async def test_a_read_that_a_crash_cut_off_has_a_row_of_each_run() -> None:
    stage = stage_of(
        reply_text("list_files", {"directory": ""}), NOTHING, extensions=Extensions(hooks=(Mortal("list_files"),))
    )
    agent = await stage.create()
    await stage.decide(agent, Approve())
    with pytest.raises(Death):
        await stage.wait_until_settled(agent)
    await stage.wait_until_settled(agent)
    async with stage.database.begin() as work:
        acts = [entry.act for entry in await work.audit.in_channel(CHANNEL) if entry.turn_number == 1]
    assert acts == ["approve", "ran", "ended", "ran", "ended"]


async def test_a_typed_approval_is_for_the_turn_that_was_on_the_page() -> None:
    """The same call, proposed again after a page was read, has the same hash: an old page approves the new card."""
    stage = stage_of(RUN, LOOK, RUN, NOTHING)
    agent = await stage.create()
    one = await turn_no(stage, agent, 1)
    page = SeenProposal(hashes=(one.control_hash,))  # Ana's page, which she does not load again
    agent = await approve(stage, await approve(stage, agent))  # Ben, meanwhile
    three = await turn_no(stage, agent, 3)
    assert (three.call.name, three.state, three.exposed) == ("run", "proposed", True)
    try:
        await actions_of(stage).say(agent.id, typed("!approve"), stage.origin(), page)
    except PersonError:
        return
    agent = await stage.wait_until_settled(agent)
    assert (await turn_no(stage, agent, 3)).state == "proposed", f"exposed: {agent.exposed}"


@pytest.mark.proves("trust:lease")
def test_what_memory_offers_by_itself_exposes_where_it_may_hold_what_others_wrote() -> None:
    lease = grant(10, a_turn(an_agent(), risks=("execute",)), by=ANA, at=NOON)
    seen = Recall(offered=(Recalled(Memory.of(FORGED, source="page.txt", at=NOON), 0.9),))
    agent = an_agent(lease=lease, folder_tainted=True)
    exposed, notices = expose_to_recalled(agent, seen, None, NOON)
    assert exposed.exposed
    assert exposed.lease is not None
    assert "execute" not in exposed.lease.classes
    assert [notice.kind for notice in notices] == ["changed"]
    assert expose_to_recalled(replace(agent, folder_tainted=False), seen, None, NOON)[0].exposed is False
    assert expose_to_recalled(agent, Recall(), Digest(recalled=("page.txt: buy",)), NOON)[0].exposed


# Calls that a process sent and could not record before it died: they go away when the wait is over


class Killed(BaseException):
    """The process dies."""


class DyingNotifications(RecordingNotifications):
    """Sends a reminder or a direct message, and then the process dies."""

    dies = True

    async def remind(self, agent: Agent, turn: Turn | None, mentions: Any, *, may_exist: bool) -> str:
        """Post it."""
        address = await super().remind(agent, turn, mentions, may_exist=may_exist)
        return self._die_at(address)

    async def send_direct(self, agent: Agent, turn: Turn | None, person: str, *, may_exist: bool) -> str:
        """Send it."""
        return self._die_at(await super().send_direct(agent, turn, person, may_exist=may_exist))

    def _die_at(self, address: str) -> str:
        if self.dies:
            self.dies = False
            raise Killed
        return address


def dying() -> Play:
    """A play in which the process dies when it has sent its first call."""
    play = Play()
    play.calls = DyingNotifications()
    surface = play.stage.surface
    assert isinstance(surface, RecordingSurface)
    surface.notifications = play.calls
    return play


@pytest.mark.proves("attention:reminders")
async def test_a_reminder_of_a_killed_process_goes_away_after_the_decision() -> None:
    """A process dies between sending a reminder and saving it. Another process takes the decision, and goes on."""
    play = dying()
    agent = await play.create()
    with pytest.raises(Killed):
        await play.wait(agent, minutes=6)
    assert len(play.calls.standing) == 1
    agent = await play.decide(agent, Approve())
    assert isinstance(agent.status, Awaiting)
    assert play.calls.standing == {}


@pytest.mark.proves("attention:direct")
async def test_a_direct_message_of_a_killed_process_tells_how_the_wait_ended() -> None:
    play = dying()
    await play.notify()
    with pytest.raises(Killed):
        await play.create()
    agent = await play.stage.views.find_by_name(SLACK, "Clerk")
    assert agent
    await play.decide(agent, Approve())
    assert [state for _, state in play.calls.taken_back] == ["approved"]


@pytest.mark.proves("attention:reminders")
async def test_a_process_that_goes_on_in_the_same_wait_sends_nothing_twice() -> None:
    play = dying()
    agent = await play.create()
    with pytest.raises(Killed):
        await play.wait(agent, minutes=6)
    agent = await play.wait(agent, minutes=2)
    assert (len(play.calls.sent), agent.reminded, len(agent.notifications)) == (1, 1, 1)
    assert agent.notifications[0].address in play.calls.standing


@pytest.mark.proves("attention:reminders")
async def test_a_call_that_is_no_longer_wanted_when_the_next_process_starts_is_taken_back() -> None:
    play = dying()
    agent = await play.create()
    with pytest.raises(Killed):
        await play.wait(agent, minutes=6)
    await play.set_reminders(mentions=())
    agent = await play.wait(agent, minutes=2)
    assert (play.calls.standing, agent.notifications) == ({}, ())


# A destructive tool whose run a crash cut short, where the operator's class is `read`


@attack("servers", "A destructive tool of the class `read`, and a crash", "people are asked")
async def test_people_are_asked_about_a_destructive_tool_that_a_crash_cut_short(answer: str) -> None:
    stage = Stage(model=ScriptedModel(reply_text("do_nothing", {})))
    wipe = ServerTool(name="wipe", schema={"type": "object"}, destructive=True)
    entry = replace(TEA_SERVER, classes=("read",))
    server = InMemoryToolServer(entry=entry, tools=(wipe,), answers={"wipe": ServerAnswer(text="wiped")})
    (command,) = ServerCommands(server, visible).loaded({}).commands
    stage.commands.register(command)
    assert command.spec.always_asks
    agent = an_agent(channel=CHANNEL, status=Acting(), turns=1)
    call = CommandCall("tea.wipe", {})
    proposal = Proposal(thoughts=Thoughts(), call=call, preview=await stage.loop.runner.preview_call(agent, call))
    turn = a_turn(agent, proposal=proposal, state="running", started_at=START)
    turn = replace(turn, risks=command.spec.risks, approvals=(Approval(ANA, START, Approve()),))
    await keep(stage.database, agent, turn)
    await stage.wait_until_settled(agent)
    assert server.asked == [], "it ran again, and nobody was asked"
    assert answer == "people are asked"
