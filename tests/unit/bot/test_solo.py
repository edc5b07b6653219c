"""One agent and one person in a terminal, from the first question to the exit code."""

import asyncio
import json
import re
import signal
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from rich.text import Text

from adapters.terminal.console import Console
from adapters.terminal.render import PLAIN, Look
from adapters.terminal.streams import Streams
from adapters.terminal.surface import CHANNEL, CardEvent, TerminalSurface, person
from agent_core.capabilities.agents.commands import AgentCommands
from agent_core.errors import EngineTaken, InvalidInput, ModelRefused, NotPossible
from agent_core.model.agent import Acting, Agent, Awaiting, Stopped
from agent_core.model.command import CommandCall, Proposal, RiskClass, Thoughts
from agent_core.model.decision import Approval, Approve
from agent_core.model.draft import DEFAULT_ROLE, AgentDraft
from agent_core.model.ids import AgentId
from agent_core.model.model_calls import Message, Reply, Usage
from agent_core.model.origin import Origin
from agent_core.ports.models import CallOptions
from agent_core.testing.examples import NOON, a_turn, an_agent, keep
from agent_core.testing.language_model import Scripted, ScriptedModel, reply_text
from agent_core.testing.stage import Stage
from agent_core.toolset.registry import CommandContext, NoArguments, declare
from bot.solo import LOCK_LOST, SoloOptions, Terminal, export, parse, run_while_locked, solo
from tests.free_lock import FreeLock
from tests.patience import PATIENCE_SECONDS
from tests.wiring import actions_of

WRITE = reply_text("write_to_file", {"filename": "a.txt", "text": "one\n"})
MORE = [reply_text("append_to_file", {"filename": "a.txt", "text": f"line {number}\n"}) for number in range(9)]
DONE = reply_text("task_complete", {"reason": "All is written."})
CLERK = SoloOptions(draft=AgentDraft(name="Clerk", goals=("Write a file",)))
WITH_ROLE = replace(CLERK, draft=replace(CLERK.draft, role="writes"))


@dataclass
class Desk:
    """A terminal with somebody at it who types these lines; what is written and emitted is kept."""

    stage: Stage
    model: ScriptedModel
    can_ask: bool = False
    look: Look = PLAIN
    lines: deque[str] = field(default_factory=deque)
    written: str = ""
    emitted: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.actions = actions_of(self.stage)

    async def sits(self, options: SoloOptions = CLERK, *lines: str) -> int:
        self.lines.extend(lines)
        streams = Streams(read=self.read, write=self.write, emit=self.emit, look=self.look, can_ask=self.can_ask)
        async with asyncio.timeout(PATIENCE_SECONDS):
            surface = self.stage.surface
            assert isinstance(surface, TerminalSurface)
            core = replace(self.stage.core, loop=self.stage.loop, service=self.stage.service)
            terminal = Terminal(core=core, actions=self.actions, surface=surface, lock=FreeLock)
            return await solo(terminal, options, replace(streams, is_live=True))

    async def read(self) -> str | None:
        return self.lines.popleft() if self.lines else None

    def write(self, text: Text | str) -> None:
        self.written += str(text)

    def emit(self, text: Text | str) -> None:
        self.emitted.append(str(text))

    async def agent(self, name: str = "Clerk") -> Agent:
        agent = await self.stage.views.find_by_name(CHANNEL, name)
        assert agent is not None
        return agent

    async def file(self, path: str) -> bytes:
        return await self.stage.views.file(CHANNEL, (await self.agent()).id, path)

    @property
    def records(self) -> list[dict[str, object]]:
        return [json.loads(line) for line in self.emitted]


def desk_of(*replies: Scripted, can_ask: bool = False, **ports: Any) -> Desk:
    model = ScriptedModel(*replies)
    return Desk(Stage(model=model, surface=TerminalSurface(), **ports), model, can_ask)


async def asking(*replies: str) -> Stage:
    """Clerk, who asks to write a file, as another process left it."""
    stage = desk_of(*replies).stage
    origin = replace(stage.origin(person()), channel=CHANNEL)
    await stage.wait_until_settled(await stage.service.lifecycle.create(CLERK.draft, origin))
    return stage


async def crashed(desk: Desk) -> None:
    """Clerk, whose process died in the middle of writing a file."""
    me = person()
    agent = an_agent(channel=CHANNEL, name="Clerk", owner=me, status=Acting(), turns=1)
    call = CommandCall("write_to_file", {"filename": "a.txt", "text": "one\n"})
    proposal = Proposal(thoughts=Thoughts(), call=call, preview=await desk.stage.loop.runner.preview_call(agent, call))
    turn = a_turn(agent, proposal=proposal, state="running", started_at=NOON)
    await keep(desk.stage.database, agent, replace(turn, approvals=(Approval(me, NOON, Approve()),)))
    await desk.stage.workspaces.of(agent).write("a.txt", b"on")


async def test_approving_to_the_end_reaches_the_goal_and_exits_with_0() -> None:
    desk = desk_of(WRITE, DONE)
    assert await desk.sits(CLERK, "y", "y") == 0
    assert await desk.file("a.txt") == b"one\n"
    assert desk.written.count("Clerk is thinking…") == 2
    assert "Clerk is done: “All is written.”" in desk.written


KEY = "paused: The model did not answer: the key is wrong"
TYPED: dict[str, tuple[list[Scripted], list[str], int, str, list[str]]] = {
    "three are approved": ([WRITE, *MORE], ["y -3", "x"], 3, "’s ×3 · 1 of 3 left", ["done"] * 3 + ["withdrawn"]),
    "an odd number": ([WRITE], ["", "y -51", "x"], 3, "a number from 2 to 50, not 51.", ["withdrawn"]),
    "an edit of nothing": ([WRITE], ["e", "", "", "x"], 3, "Nothing was changed.", ["withdrawn"]),
    "an edit that does not fit": ([WRITE], ["e", "x" * 500, "", "x"], 3, "is too long", ["withdrawn"]),
    "a pause": ([ModelRefused("the key is wrong")], [], 3, KEY, []),
    "no review": ([WRITE, ModelRefused("None."), DONE], ["s", "y", "y"], 0, "No self-review: None.", ["done", "done"]),
}


@pytest.mark.parametrize(("replies", "lines", "code", "told", "states"), TYPED.values(), ids=TYPED)
async def test_what_is_typed_is_answered_and_decides_what_it_says(
    replies: list[Scripted], lines: list[str], code: int, told: str, states: list[str]
) -> None:
    desk = desk_of(*replies)
    assert await desk.sits(CLERK, *lines) == code
    assert told in desk.written
    assert [turn["state"] for turn in desk.records] == states


async def test_an_edit_asks_each_argument_and_runs_what_was_typed() -> None:
    desk = desk_of(WRITE, DONE)
    assert await desk.sits(CLERK, "e", "b.txt", "<", "one", "two", "", ".", "y") == 0
    assert await desk.file("b.txt") == b"one\ntwo\n"
    assert desk.records[0]["arguments"] == {"filename": "b.txt", "text": "one\ntwo\n"}


async def test_an_argument_that_was_not_given_can_be_added_as_json() -> None:
    desk = desk_of(WRITE, reply_text("read_file", {"filename": "a.txt"}), DONE)
    assert await desk.sits(CLERK, "y", "e", "", "two", "2", "y") == 0
    assert "start (not given): " in desk.written
    assert "This is not JSON" in desk.written
    assert desk.records[1]["arguments"] == {"filename": "a.txt", "start": 2}


async def test_free_text_rejects_with_that_reason() -> None:
    desk = desk_of(WRITE, DONE)
    assert await desk.sits(CLERK, "Use b.txt", "y") == 0
    assert desk.records[0]["result"] == {"kind": "rejected", "text": "Use b.txt"}
    assert "rejected it: Use b.txt" in desk.model.prompts[-1][-2].content


@pytest.mark.parametrize(("can_ask", "lines", "reason"), [(False, ["n", "y"], ""), (True, ["no", "y", "y"], "y")])
async def test_n_rejects_and_somebody_at_the_keyboard_is_asked_why(
    can_ask: bool, lines: list[str], reason: str
) -> None:
    desk = desk_of(WRITE, DONE, can_ask=can_ask)
    assert await desk.sits(WITH_ROLE, *lines) == 0
    assert desk.records[0]["result"] == {"kind": "rejected", "text": reason}
    assert ("Type the reason, or press Enter to give none." in desk.written) == can_ask


async def test_the_end_of_input_instead_of_a_reason_stops_the_agent() -> None:
    desk = desk_of(WRITE, can_ask=True)
    assert await desk.sits(WITH_ROLE, "n") == 3
    assert [turn["state"] for turn in desk.records] == ["withdrawn"]


@pytest.mark.proves("terminal:no-accident")
async def test_a_word_that_only_looks_like_a_key_is_asked_back() -> None:
    desk = desk_of(WRITE)
    assert await desk.sits(CLERK, "nope", "quit", "ok", "x") == 3
    assert "Nothing was decided: “quit” is not a key here." in desk.written
    assert [turn["state"] for turn in desk.records] == ["withdrawn"]


@pytest.mark.proves("terminal:no-accident")
async def test_somebody_at_the_keyboard_is_told_what_words_will_do_before_they_are_sent() -> None:
    desk = desk_of(WRITE, DONE, can_ask=True)
    assert await desk.sits(WITH_ROLE, "Use b.txt", "Use c.txt", "", "y") == 0
    assert desk.written.count("This rejects turn 1 with these words. Press Enter to send it") == 2
    assert desk.records[0]["result"] == {"kind": "rejected", "text": "Use c.txt"}


@pytest.mark.parametrize(("typed", "code"), [(["Use b.txt", "x"], 3), (["Use b.txt"], 3), (["Use b.txt", "y", "y"], 0)])
async def test_another_key_takes_the_place_of_words_that_were_not_sent(typed: list[str], code: int) -> None:
    desk = desk_of(WRITE, DONE, can_ask=True)
    assert await desk.sits(WITH_ROLE, *typed) == code
    assert "This rejects turn 1" in desk.written
    assert "rejected" not in [turn["state"] for turn in desk.records]


async def test_a_question_says_that_it_asks_and_a_verb_needs_no_second_line() -> None:
    desk = desk_of(WRITE, can_ask=True)
    assert await desk.sits(WITH_ROLE, "Why this file, please?", "!status", "?", "x") == 3
    assert "This asks about turn 1 with these words." in desk.written
    assert "Clerk: needs approval" in desk.written
    assert "│ y -N, y N  approves this command and the next ones" in desk.written


@pytest.mark.parametrize("lines", [["x"], [], ["e", "b.txt", "<", "one"]])
async def test_x_and_the_end_of_input_stop_the_agent(lines: list[str]) -> None:
    desk = desk_of(WRITE)
    assert await desk.sits(CLERK, *lines) == 3
    assert isinstance((await desk.agent()).status, Stopped)
    assert "stopped by" in desk.written


async def test_ctrl_c_at_a_question_stops_the_agent(monkeypatch: pytest.MonkeyPatch) -> None:
    desk = desk_of(WRITE)

    async def read() -> str | None:
        signal.raise_signal(signal.SIGINT)
        await asyncio.Event().wait()
        return None

    monkeypatch.setattr(desk, "read", read)
    assert await desk.sits() == 3
    assert isinstance((await desk.agent()).status, Stopped)


async def test_ctrl_c_while_the_agent_thinks_stops_it(monkeypatch: pytest.MonkeyPatch) -> None:
    desk = desk_of()
    monkeypatch.setattr(desk.model, "waits", True)
    asked = asyncio.create_task(desk.sits())
    while not desk.model.prompts:
        await asyncio.wait({asked}, timeout=0)
    signal.raise_signal(signal.SIGINT)
    assert await asked == 3
    assert isinstance((await desk.agent()).status, Stopped)


async def test_an_agent_that_is_deleted_elsewhere_ends_the_conversation(monkeypatch: pytest.MonkeyPatch) -> None:
    desk = desk_of(WRITE)

    async def read() -> str | None:
        await desk.stage.service.lifecycle.delete(
            (await desk.agent()).id, replace(desk.stage.origin(), channel=CHANNEL)
        )
        return "y"

    monkeypatch.setattr(desk, "read", read)
    assert await desk.sits() == 3
    assert "There is no turn" in desk.written


async def test_continuous_2_runs_two_commands_unasked_and_stops() -> None:
    desk = desk_of(WRITE, *MORE)
    assert await desk.sits(replace(CLERK, continuous=2), "never read") == 3
    assert [turn["state"] for turn in desk.records] == ["done", "done", "withdrawn"]
    assert "approved its next 2 commands, of every class." in desk.written
    assert desk.lines


async def test_continuous_runs_what_it_finds_open_and_counts_it() -> None:
    before = await asking(WRITE)
    desk = desk_of(*MORE, database=before.database, workspaces=before.workspaces)
    assert await desk.sits(replace(CLERK, continuous=2)) == 3
    assert [turn["state"] for turn in desk.records] == ["done", "done", "withdrawn"]


@pytest.mark.slow
async def test_continuous_50_shows_every_one_of_its_turns() -> None:
    many = [reply_text("append_to_file", {"filename": "a.txt", "text": f"{number}\n"}) for number in range(60)]
    desk = desk_of(*many)
    assert await desk.sits(replace(CLERK, continuous=50)) == 3
    assert [turn["number"] for turn in desk.records] == list(range(1, 52))


@pytest.mark.slow
async def test_continuous_runs_more_commands_than_an_answer_may_approve() -> None:
    many = [reply_text("append_to_file", {"filename": "a.txt", "text": f"{number}\n"}) for number in range(70)]
    desk = desk_of(*many)
    assert await desk.sits(replace(CLERK, continuous=60)) == 3
    assert [turn["state"] for turn in desk.records] == ["done"] * 60 + ["withdrawn"]


async def test_a_folded_card_is_shown_whole_by_a_key_that_decides_nothing() -> None:
    desk = desk_of(reply_text("write_to_file", {"filename": "a.txt", "text": "line\n" * 900}), DONE)
    desk.look = Look(height=24)
    await desk.sits(CLERK, "v", "x")
    first, _, whole = desk.written.partition("\n> ")
    assert (first.count("│ +line"), whole.count("│ +line")) == (12, 900)
    assert "… 888 lines left out; v shows them." in first
    assert [turn["state"] for turn in desk.records] == ["withdrawn"]


@pytest.mark.proves("lease:limit")
async def test_continuous_above_the_operators_limit_is_refused_before_an_agent_is_made() -> None:
    desk = desk_of(WRITE)
    service = desk.stage.service
    desk.stage.service = replace(service, decisions=replace(service.decisions, continuous_limit=1))
    desk.actions = actions_of(desk.stage)
    with pytest.raises(InvalidInput, match="At most 1 command may run without asking here, not 2"):
        await desk.sits(replace(CLERK, continuous=2))
    assert await desk.stage.views.agents(CHANNEL) == ()


@pytest.mark.proves("lease:limit")
async def test_the_terminal_offers_no_further_commands_where_the_operators_limit_is_one() -> None:
    desk = desk_of(WRITE)
    service = desk.stage.service
    desk.stage.service = replace(service, decisions=replace(service.decisions, continuous_limit=1))
    desk.actions = actions_of(desk.stage)
    await desk.sits(CLERK, "?", "x")
    assert "y approve · n reject · e edit" in desk.written
    assert "the command runs as shown" in desk.written
    assert "-N" not in desk.written


async def test_control_sequences_of_the_model_reach_the_terminal_spelled() -> None:
    evil = reply_text("write_to_file", {"filename": "a.txt", "text": "\x1b[2J"}, text="\x1b]0;owned\x07")
    desk = desk_of(evil)
    await desk.sits(CLERK, "x")
    assert "⟨U+001B⟩[2J" in desk.written
    assert "\x1b" not in desk.written


async def test_a_resumed_agent_names_the_fallback_while_it_answers() -> None:
    desk = desk_of(Reply(text=WRITE, usage=Usage(), answered_by="small · two.test"))
    await desk.sits(CLERK)
    assert "Model: Scripted\n" in desk.written
    await desk.sits(CLERK)
    assert "Model: small · two.test (while Scripted is away)" in desk.written


async def test_an_agent_of_that_name_is_resumed_where_it_was() -> None:
    desk = desk_of(WRITE, *MORE[:1], DONE)
    assert await desk.sits(CLERK, "y") == 3
    desk.written = ""
    assert await desk.sits(SoloOptions(draft=AgentDraft(name=" clerk ")), "y") == 0
    assert "Clerk is there already and goes on where it was: turn 2, stopped by" in desk.written
    assert [turn["number"] for turn in desk.records] == [1, 2, 3]


async def test_a_session_that_ended_names_the_command_that_resumes() -> None:
    desk = desk_of(WRITE, DONE)
    options = replace(CLERK, draft=replace(CLERK.draft, name="Clerk's 2nd"))
    assert await desk.sits(options, "x") == 3
    assert desk.written.rstrip().endswith("""python -m bot solo --name 'Clerk'"'"'s 2nd' resumes it.""")
    assert "Resume to continue" not in desk.written
    desk.written = ""
    assert await desk.sits(options, "y") == 0
    assert "python -m bot solo" not in desk.written


async def test_a_resumed_agent_gets_the_model_of_the_command_line() -> None:
    desk = desk_of(WRITE, *MORE[:1], DONE)
    assert await desk.sits(CLERK, "x") == 3
    assert await desk.sits(SoloOptions(draft=AgentDraft(name="Clerk", model="other-2")), "x") == 3
    assert desk.model.models[-1] == "other-2"
    assert "Its own" not in desk.written


async def test_what_was_shown_before_a_resume_is_not_shown_again() -> None:
    desk = desk_of(WRITE, DONE)
    await desk.sits(CLERK, "x")
    desk.written = ""
    await desk.sits(CLERK, "y")
    assert "turn 1" not in desk.written.partition("\n\n")[2]
    assert "Its own goals stay" in desk.written


async def test_a_resumed_agent_gets_the_budget_that_is_given() -> None:
    desk = desk_of(*[WRITE] * 3)
    for options in (CLERK, replace(CLERK, draft=replace(CLERK.draft, budget=Decimal(2)))):
        await desk.sits(options, "x")
    assert (await desk.agent()).budget.limit == 2
    await desk.sits(replace(CLERK, is_unlimited=True), "x")
    assert (await desk.agent()).budget.limit is None


async def test_an_open_question_is_asked_again_in_a_new_process() -> None:
    before = await asking(WRITE)
    desk = desk_of(DONE, database=before.database, workspaces=before.workspaces)
    assert await desk.sits(CLERK, "y", "y") == 0
    assert "turn 1 · write_to_file\n│ needs approval" in desk.written


ANSWERS = [("r y", "a.txt now holds 4 characters."), ("i", "says that it ran."), ("s", "it may have run in part.")]


@pytest.mark.parametrize(("answer", "result"), ANSWERS)
async def test_a_command_that_may_have_run_is_put_to_the_person(answer: str, result: str) -> None:
    desk = desk_of(DONE)
    await crashed(desk)
    assert await desk.sits(CLERK, "y", *answer.split(), "y") == 0
    assert "Answer r (run again), i (it ran) or s (skip)" in desk.written
    assert result in str(desk.records[0]["result"])


async def test_continuous_does_not_answer_for_the_person_what_became_of_a_command() -> None:
    desk = desk_of(DONE)
    await crashed(desk)
    assert await desk.sits(replace(CLERK, continuous=2), "s") == 0
    assert "Signoff restarted while this ran" in desk.written


def risky(desk: Desk, risk: RiskClass, *, always_asks: bool = False) -> list[str]:
    """Give the agents of a desk the command `wipe`, and return the list that it writes to."""
    wiped: list[str] = []

    async def wipe(_given: NoArguments, _context: CommandContext) -> str:
        """Remove everything."""
        wiped.append("all")
        return "Gone."

    command = declare(NoArguments, wipe, label="x", risks=(risk,), category="agents", always_asks=always_asks)
    desk.stage.commands.register(command)
    return wiped


@pytest.mark.proves("solo:covered")
async def test_continuous_does_not_approve_a_command_that_always_asks() -> None:
    desk = desk_of(reply_text("wipe"))
    wiped = risky(desk, "write", always_asks=True)
    assert await desk.sits(replace(CLERK, continuous=10)) == 3
    assert (wiped, "--continuous covers this command no more" in desk.written) == ([], True)


@pytest.mark.proves("solo:covered")
@pytest.mark.parametrize(
    ("risk", "exposed", "ran"), [("write", False, ["all"]), ("write", True, []), ("execute", False, [])]
)
async def test_continuous_approves_of_what_it_finds_open_only_what_its_lease_covers(
    risk: RiskClass, exposed: bool, ran: list[str]
) -> None:
    desk, me = desk_of(), person()
    wiped = risky(desk, risk)
    agent = an_agent(channel=CHANNEL, name="Clerk", owner=me, status=Awaiting(), turns=1, exposed=True)
    proposal = Proposal(thoughts=Thoughts(), call=CommandCall("wipe", {}))
    await keep(desk.stage.database, agent, a_turn(agent, proposal=proposal, risks=(risk,), exposed=exposed))
    assert await desk.sits(replace(CLERK, continuous=5)) == 3
    assert wiped == ran


async def test_what_is_missing_is_asked_for_at_a_terminal() -> None:
    desk = desk_of(DONE, can_ask=True)
    assert await desk.sits(SoloOptions(draft=AgentDraft()), "Ada", "", "Write a poem\nRead it", "", "y") == 0
    agent = await desk.agent("Ada")
    assert (agent.goals, agent.role.startswith("an assistant")) == (("Write a poem", "Read it"), True)


async def test_a_role_is_asked_for_where_a_goal_alone_was_given() -> None:
    desk = desk_of(DONE, can_ask=True)
    assert await desk.sits(SoloOptions(draft=AgentDraft(goals=("Write a file",))), "Clerk", "a poet", "y") == 0
    assert (await desk.agent()).role == "a poet"


@pytest.mark.parametrize(
    ("draft", "fault"), [(AgentDraft(), "--name is missing"), (AgentDraft(name="Ada"), "--goal is missing")]
)
async def test_what_is_missing_is_named_where_nobody_can_be_asked(draft: AgentDraft, fault: str) -> None:
    with pytest.raises(InvalidInput, match=fault):
        await desk_of().sits(SoloOptions(draft=draft))


# The agent's mind


async def test_s_reviews_the_proposal_and_asks_again() -> None:
    desk = desk_of(WRITE, "Nobody asked for a.txt.", DONE)
    assert await desk.sits(CLERK, "s", "s", "y", "y") == 0
    assert desk.written.count("Self-review:\n│ Nobody asked for a.txt.") == 2
    assert desk.written.count("Command write_to_file") == 1
    assert len(desk.model.prompts) == 3


@pytest.mark.slow
async def test_wishes_are_granted_at_the_question_and_other_words_are_replies() -> None:
    desk = desk_of(WRITE, DONE)
    lines = ("goals set Rest; Sleep", "budget 5", "memory add Tea at four", "memory export", "!memory", "goals are odd")
    assert await desk.sits(CLERK, *lines, "y") == 0
    assert ((await desk.agent()).goals, (await desk.agent()).budget.limit) == (("Rest", "Sleep"), Decimal(5))
    assert '"text": "Tea at four"' in desk.written.replace("\n┊ ", "")
    assert "Memory of Clerk: 1 memory" in desk.written
    assert desk.records[0]["result"] == {"kind": "rejected", "text": "goals are odd"}


@pytest.mark.parametrize("name", ["", " clerk"])
async def test_export_writes_the_settings_and_leaves_the_agent_as_it_is(tmp_path: Path, name: str) -> None:
    stage, path = await asking(WRITE), tmp_path / "ai_settings.yaml"
    assert await export(stage.views, name, path) == 0
    assert parse(["--settings", str(path)]).draft == AgentDraft(
        name="Clerk", role=DEFAULT_ROLE, goals=("Write a file",)
    )
    (agent,) = await stage.views.agents(CHANNEL)
    assert isinstance(agent.status, Awaiting)


async def test_export_says_which_agents_there_are(tmp_path: Path) -> None:
    stage = await asking(WRITE)
    with pytest.raises(InvalidInput, match="--name says which: Clerk"):
        await export(stage.views, "Zoe", tmp_path / "x")
    assert not (tmp_path / "x").exists()


class OfEach(ScriptedModel):
    """A model that says to each agent what was written for it."""

    def __init__(self, **replies: tuple[str, ...]) -> None:
        super().__init__()
        self.by_name = {name: deque(said) for name, said in replies.items()}

    async def complete(self, messages: Sequence[Message], options: CallOptions) -> Reply:
        self.say(
            next(said for name, said in self.by_name.items() if f"You are {name}:" in messages[0].content).popleft()
        )
        return await super().complete(messages, options)


def desk_with_helper(**replies: tuple[str, ...]) -> Desk:
    """A desk whose agent starts the helper Scout first; each says then what is given for it."""
    start = reply_text("start_agent", {"name": "Scout", "task": "Write the file"})
    model = OfEach(Clerk=(start, reply_text("do_nothing"), *replies.pop("Clerk", ())), **replies)
    stage = Stage(model=model, surface=TerminalSurface())
    for command in AgentCommands(stage.helpers).commands:
        stage.commands.register(command)
    return Desk(stage, model)


@pytest.mark.slow
async def test_a_helper_asks_at_the_same_terminal_and_its_agent_goes_on_after_it() -> None:
    desk = desk_with_helper(Clerk=(DONE,), Scout=(WRITE, DONE))
    assert await desk.sits(CLERK, "y", "y", "y", "y", "y") == 0
    assert await desk.file("a.txt") == b"one\n"
    assert "Clerk › Scout · turn 1 · write_to_file" in desk.written
    assert "Scout is done: “All is written.”" in desk.written
    assert [turn["state"] for turn in desk.records] == ["done"] * 5


@pytest.mark.slow
async def test_x_at_the_question_of_a_helper_stops_the_agent_with_it() -> None:
    desk = desk_with_helper(Scout=(WRITE,))
    assert await desk.sits(CLERK, "y", "y", "x") == 3
    assert [(await desk.agent(name)).status.kind for name in ("Clerk", "Scout")] == ["stopped", "stopped"]


@pytest.mark.slow
async def test_a_question_is_answered_before_anything_else_is_asked() -> None:
    desk = desk_of(WRITE, "The goal names it.", DONE)
    assert await desk.sits(CLERK, "why this file?", "y", "y") == 0
    asked, _, answered = desk.written.partition("asked: “why this file?”")
    assert asked.count("y approve ·") == 1
    assert answered.index("The goal names it.") < answered.index("y approve ·")


class EnoughError(Exception):
    """The test has seen what it wants."""


async def test_the_card_that_is_asked_about_stands_right_above_the_question() -> None:
    desk, me = desk_of(), person()
    agent = an_agent(channel=CHANNEL, name="Clerk", owner=me, status=Awaiting(), turns=1)
    helper = replace(agent, id=AgentId("agent-scout"), name="Scout", parent=agent.id, head=agent.id, under="Clerk")
    turns = [a_turn(agent), a_turn(helper)]
    await keep(desk.stage.database, agent, helper, *turns)
    surface = desk.stage.surface
    assert isinstance(surface, TerminalSurface)
    for event in (CardEvent(agent, turns[0]), CardEvent(helper, turns[1]), "advanced"):
        surface.events.put_nowait(event)

    async def read() -> str | None:
        raise EnoughError

    streams = Streams(read=read, write=desk.write)
    origin = Origin(by=me, channel=CHANNEL)
    console = Console(
        actions=desk.actions, views=desk.stage.views, surface=surface, streams=streams, origin=origin, agent=agent
    )
    with pytest.raises(EnoughError):
        await console.run()
    assert desk.written.rpartition("━━ ")[2].partition("\n")[0] == "Clerk · turn 1 · write_file"


async def test_after_an_edit_the_terminal_shows_what_ran() -> None:
    desk = desk_of(WRITE, DONE)
    await desk.sits(CLERK, "e", "b.txt", "two", "x")
    ran = desk.written.partition("edited and approved by")[2]
    assert "filename · changed by @" in ran
    assert "│ +b.txt" in ran
    assert "b.txt" in ran.partition("Preview:")[2]


class LostLock:
    """Implements `EngineLock`. An import has taken it while the server was away."""

    async def acquire(self) -> None:
        """Take it: it is free at first."""

    async def watch(self) -> None:
        raise EngineTaken

    async def release(self) -> None:
        """Release it."""


@pytest.mark.proves("engine:only-one")
async def test_a_conversation_ends_with_one_sentence_when_an_import_has_taken_the_database() -> None:
    ended = asyncio.Event()

    async def talk() -> int:
        try:
            return await asyncio.Event().wait()
        finally:
            ended.set()

    with pytest.raises(NotPossible, match=re.escape(LOCK_LOST)):
        await run_while_locked(talk(), LostLock())
    assert ended.is_set()
