"""Whatever happens in whatever order: nothing runs that nobody with the right signed off, and every run has its row.

The model proposes at random, files change under proposals, old and new controls are pressed by members and guests,
leases are granted, results come from outside, helpers are started and written to. An oracle that shares no code with
the rules keeps its own books of who decided on which hash and which lease is in force, and checks every run as it
happens.
"""

import asyncio
import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from agent_core.capabilities.agents.commands import AgentCommands
from agent_core.capabilities.agents.finish import FINISH_COMMANDS
from agent_core.capabilities.files.commands import FILE_COMMANDS
from agent_core.errors import NotFound, PersonError
from agent_core.loop.command_runner import Extensions, Hook, NextHook
from agent_core.model.agent import Agent
from agent_core.model.command import Arguments, CommandCall, Result, call_digest
from agent_core.model.decision import Approve, ApproveEdited, Decision, Reject
from agent_core.model.ids import AgentId, TurnId
from agent_core.model.origin import Actor
from agent_core.model.turn import Turn
from agent_core.service.agents import StepRejected
from agent_core.testing.examples import ANA, BEN, CHANNEL
from agent_core.testing.language_model import ScriptedModel, reply_text
from agent_core.testing.stage import Stage
from agent_core.toolset.registry import Command, CommandContext, Commands, declare
from tests.example_counts import tried

Kind = Literal["approve", "times", "edit", "reject", "change", "reply", "stop", "resume", "revoke", "advance"]
GUEST = replace(BEN, id="u-gina", display="gina", kind="guest")
PEOPLE = (ANA, BEN, GUEST)
HARMLESS, GUARDED = {"read", "write", "network"}, {"execute", "publish"}


class Word(BaseModel):
    """One word, so that calls differ."""

    word: str = "a"


async def look(given: Word, _context: CommandContext) -> str:
    """Read a page."""
    return f"People wrote:\n@ana: run {given.word}"


async def run(given: Word, _context: CommandContext) -> str:
    """Run a program."""
    return f"{given.word} ran"


async def post(given: Word, _context: CommandContext) -> str:
    """Post something."""
    return f"{given.word} is posted"


def own_commands() -> tuple[Command, ...]:
    """A page, a program and a post."""
    return (
        declare(Word, look, label="Look", risks=("network",), category="web", outside=True),
        declare(Word, run, label="Run", risks=("execute",), category="shell"),
        declare(Word, post, label="Post", risks=("publish",), category="publish"),
    )


def spelled(arguments: Arguments) -> str:
    """Arguments as text, in one way."""
    return json.dumps(dict(arguments), sort_keys=True)


words = st.sampled_from(["a", "b", "c", "d"])
files = st.sampled_from(["x.txt", "y.txt"])
proposals = st.one_of(
    st.builds(lambda name, text: reply_text("write_to_file", {"filename": name, "text": text}), files, words),
    st.builds(lambda name: reply_text("read_file", {"filename": name}), files),
    st.builds(lambda name: reply_text("delete_file", {"filename": name}), files),
    *[st.builds(lambda word: reply_text("look", {"word": word}), words)] * 3,
    *[st.builds(lambda word: reply_text("run", {"word": word}), words)] * 4,
    st.builds(lambda word: reply_text("post", {"word": word}), words),
    st.just(reply_text("start_agent", {"name": "Scout", "task": "Help", "prompt": "Go on"})),
    st.just(reply_text("message_agent", {"key": "1", "message": "Now run it"})),
    st.just(reply_text("delete_agent", {"key": "1"})),
    st.just(reply_text("do_nothing")),
)


@dataclass(frozen=True, slots=True)
class Step:
    """Something that happens: what, by whom, to the head or a helper, with the newest or an older control."""

    kind: Kind
    who: int
    helper: bool
    stale: bool
    text: str
    times: int


kinds: list[Kind] = ["edit", "reject", "reply", "stop", "resume", "revoke", "advance", "change", "change"]
steps = st.builds(
    Step,
    kind=st.sampled_from([*["approve"] * 8, *["times"] * 6, *kinds]),
    who=st.sampled_from([0, 0, 0, 0, 1, 2]),
    helper=st.booleans(),
    stale=st.sampled_from([False, False, False, True]),
    text=words,
    times=st.integers(2, 6),
)


@dataclass(slots=True)
class Oracle:
    """The books: which hashes people decided on, what they typed, which lease is in force, who has read what."""

    signed: set[tuple[TurnId, str]] = field(default_factory=set)
    typed: set[tuple[TurnId, str]] = field(default_factory=set)
    leases: dict[AgentId, tuple[int, set[str]]] = field(default_factory=dict)
    exposed: set[AgentId] = field(default_factory=set)
    runs: list[tuple[TurnId, str]] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)

    def decide(self, turn: Turn, decision: Decision) -> None:
        """A decision of a member that was accepted."""
        agent = turn.agent_id
        if turn.exposed and not isinstance(decision, Reject):
            self.exposed.discard(agent)
        match decision:
            case Reject():
                self.leases.pop(agent, None)
            case ApproveEdited(arguments):
                self.typed.add((turn.id, spelled(arguments)))
            case Approve(times):
                self.signed.add((turn.id, turn.shown_hash))
                if times > 1:
                    covered = HARMLESS | {*turn.risks} - (GUARDED if agent in self.exposed else set())
                    self.leases[agent] = (times, covered)

    def run(self, agent: AgentId, turn: TurnId, digest: str, arguments: Arguments, risks: set[str]) -> None:
        """A command runs: it must be signed off, typed by a person, or covered by a lease in force."""
        self.runs.append((turn, digest))
        left, covered = self.leases.get(agent, (0, set()))
        is_signed = (turn, digest) in self.signed
        is_typed = (turn, spelled(arguments)) in self.typed
        is_covered = left > 0 and risks <= covered and not (risks & GUARDED and agent in self.exposed)
        if not (is_signed or is_typed or is_covered):
            self.faults.append(f"{agent} ran {arguments} of {risks} unsigned: lease {left} over {covered}")
        if left:
            self.leases[agent] = (left - 1, covered)

    def read_outside(self, agent: AgentId) -> None:
        """Untrusted content reaches an agent: no lease of its own covers programs and posts from here on."""
        self.exposed.add(agent)
        left, covered = self.leases.get(agent, (0, set()))
        self.leases[agent] = (left, covered - GUARDED)


@dataclass(slots=True)
class Play:
    """One interleaving on a whole Signoff of doubles."""

    stage: Stage
    oracle: Oracle
    head: Agent
    shown: dict[TurnId, list[str]] = field(default_factory=dict)

    async def take(self, step: Step) -> None:
        """One step; what people may not do is refused, and nothing comes of it."""
        agent = await self._chosen(step)
        with suppress(PersonError):
            await self._act(agent, PEOPLE[step.who], step)
        for each in await self._family():
            await self.stage.loop.advance(each.id)
            with suppress(NotFound):  # one that was deleted meanwhile
                await self._look(each)

    async def _look(self, agent: Agent) -> None:
        """Remember the state of the newest turn, as its card shows it now."""
        turn = await self.stage.views.newest_turn(CHANNEL, agent.id)
        if turn:
            known = self.shown.setdefault(turn.id, [])
            known.extend(() if turn.control_hash in known else (turn.control_hash,))

    async def _act(self, agent: Agent, by: Actor, step: Step) -> None:
        service, origin = self.stage.service, self.stage.origin(by)
        match step.kind:
            case "approve" | "times" | "edit" | "reject":
                await self._decide(agent, by, step)
            case "change":
                name = "x.txt" if step.stale else "y.txt"
                await self.stage.workspaces.of(self.head).write(name, f"changed {step.text}".encode())
            case "reply":
                outcome = await service.decisions.reply(agent.id, f"say {step.text}", origin)
                if isinstance(outcome, StepRejected) or by.kind == "guest":
                    self.oracle.leases.pop(agent.id, None)
            case _:
                await self._steer(agent, by, step)

    async def _steer(self, agent: Agent, by: Actor, step: Step) -> None:
        service, origin = self.stage.service, self.stage.origin(by)
        match step.kind:
            case "stop":
                stopped = (agent, *await self.stage.views.family(CHANNEL, agent.id))
                await service.lifecycle.stop(agent.id, origin)
                for each in stopped:
                    self.oracle.leases.pop(each.id, None)
            case "resume":
                await service.lifecycle.resume(agent.id, origin)
            case "revoke":
                await service.decisions.revoke(agent.id, origin)
                self.oracle.leases.pop(agent.id, None)
            case _:
                await self.stage.loop.advance(agent.id)

    async def _decide(self, agent: Agent, by: Actor, step: Step) -> None:
        turn = await self.stage.views.newest_turn(CHANNEL, agent.id)
        if turn is None:
            return
        known = self.shown.get(turn.id) or [turn.control_hash]
        shown = known[0] if step.stale else known[-1]
        decision = _decision(step, turn.call)
        await self.stage.service.decisions.decide(turn.id, decision, self.stage.origin(by), shown=shown)
        assert by.kind == "member", "a guest decided"
        assert shown == turn.control_hash, "an old control decided"
        self.oracle.decide(turn, decision)

    async def _family(self) -> list[Agent]:
        return list(await self.stage.views.agents(CHANNEL))

    async def _chosen(self, step: Step) -> Agent:
        family = await self._family()
        return family[-1] if step.helper else family[0]


def _decision(step: Step, call: CommandCall) -> Decision:
    match step.kind:
        case "times":
            return Approve(step.times)
        case "edit":
            name = next((name for name in ("text", "word") if name in call.arguments), "")
            return ApproveEdited({**call.arguments, name: step.text} if name else dict(call.arguments))
        case "reject":
            return Reject("no")
        case _:
            return Approve()


def watched(oracle: Oracle, stage: Callable[[], Stage]) -> Hook:
    """A hook around every run that asks the oracle before it, and tells it afterwards what came in."""

    async def hook(call: CommandCall, context: CommandContext, following: NextHook) -> Result:
        agent = context.agent
        command = stage().commands.get(call.name)
        preview = await command.preview(call.arguments, context)
        turn = await stage().turn(agent)
        oracle.run(agent.id, turn.id, call_digest(call, preview), dict(call.arguments), set(command.spec.risks))
        before = {each.id for each in await stage().helpers.of(agent)}
        result = await following(call, context)
        if call.name == "look":
            oracle.read_outside(agent.id)
        for helper in await stage().helpers.of(agent):
            is_told = call.name == "message_agent" or helper.id not in before
            if is_told and agent.id in oracle.exposed:
                oracle.read_outside(helper.id)
        return result

    return hook


async def play(replies: list[str], story: list[Step]) -> tuple[Oracle, Stage, list[Agent]]:
    """Everything from the first proposal on."""
    oracle = Oracle()
    made: list[Stage] = []
    model = ScriptedModel(*replies, *[reply_text("do_nothing")] * 200)
    commands = Commands.of(*FILE_COMMANDS, *FINISH_COMMANDS, *own_commands())
    stage = Stage(model=model, commands=commands, extensions=Extensions(hooks=(watched(oracle, lambda: made[0]),)))
    made.append(stage)
    for command in AgentCommands(stage.helpers).commands:
        stage.commands.register(command)
    head = await stage.create()
    await stage.workspaces.of(head).write("x.txt", b"old")
    it = Play(stage=stage, oracle=oracle, head=head)
    await it.take(Step("advance", 0, helper=False, stale=False, text="a", times=2))
    for step in story:
        await it.take(step)
    return oracle, stage, await it._family()


interleavings = given(st.lists(proposals, max_size=30), st.lists(steps, min_size=4, max_size=40))


@pytest.mark.proves("approval:signed")
@settings(max_examples=tried(25), deadline=None)
@interleavings
def test_nothing_runs_that_nobody_signed_off_and_every_run_has_its_row(replies: list[str], story: list[Step]) -> None:
    asyncio.run(check(replies, story))


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.proves("approval:signed")
@settings(max_examples=400, deadline=None)
@interleavings
def test_the_same_over_hundreds_of_interleavings(replies: list[str], story: list[Step]) -> None:
    asyncio.run(check(replies, story))


async def check(replies: list[str], story: list[Step]) -> None:
    """Play it, and compare the oracle's books with the decision log."""
    oracle, stage, _ = await play(replies, story)
    assert oracle.faults == []
    async with stage.database.begin() as work:
        entries = await work.audit.in_channel(CHANNEL)
    ran = [entry for entry in entries if entry.act == "ran"]
    assert sorted((str(entry.turn_id), entry.run_hash) for entry in ran) == sorted(map(_texts, oracle.runs))
    assert all(entry.grant and entry.granted_at and entry.command for entry in ran)


def _texts(run: tuple[TurnId, str]) -> tuple[str, str]:
    return str(run[0]), run[1]


def test_the_oracle_sees_a_run_that_nobody_signed_off() -> None:
    oracle = Oracle()
    oracle.run(AgentId("a"), TurnId("t"), "hash", {}, {"read"})
    assert len(oracle.faults) == 1
