"""Ends a process at each step of each kind of turn, lets the next one go on, and looks from outside at what happened.

`python -m tests.simulation.crash_points [KIND …]` does it at every point and prints how many there are.
"""

import asyncio
import itertools
import logging
import random
import sys
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, get_args

import pytest

from agent_core.model import ids
from agent_core.model.agent import Awaiting, Finished, Stopped
from agent_core.model.decision import Approve, ApproveEdited, Decision
from agent_core.model.draft import AgentDraft
from agent_core.testing.examples import ANA, CHANNEL
from agent_core.testing.language_model import reply_text
from tests.simulation.crash_world import LOOK_SECONDS, Ending, Mortal, Scene, SteppingLoop, SteppingSurface, by_ana
from tests.simulation.scheduler import CLOCK

STORY_SECONDS, SETTLING_SECONDS, ERASING_SECONDS = 300.0, 3.0, 11 * 60.0
LINES = ("compile everything", "count 7 errors", "mail Ben")
LINE, NOTE, QUESTION = "deploy the site", "Mind the gap.", "Why this one?"
DRAFT = AgentDraft(name="Clerk", goals=("Keep notes",))
SHELL = reply_text("execute_shell", {"command_line": LINE})


def writing(text: str, command: str = "write_to_file") -> str:
    return reply_text(command, {"filename": "a.txt", "text": text})


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A kind of turn: what the model proposes, what people do, and what is wrong afterwards.

    `begins`: whether the story begins with an agent that asks about its first turn; else it makes the agent.
    `on_page`: whether people see what the database holds, as on the page of the local workspace.
    """

    plan: tuple[str, ...]
    act: Callable[[Scene], Awaitable[None]]
    check: Callable[[Scene], Awaitable[list[str]]]
    begins: bool = True
    on_page: bool = False


async def decide(scene: Scene, decision: Decision, number: int = 1) -> None:
    turn = scene.card(number)
    assert turn
    click = f"click {number}"
    await scene.act(
        lambda core: core.service.decisions.decide(turn.id, decision, by_ana(click), shown=turn.control_hash)
    )


async def approve(scene: Scene) -> None:
    await decide(scene, Approve())
    await scene.until(lambda: scene.asks(2))


async def approve_three(scene: Scene) -> None:
    await decide(scene, Approve(3))
    await scene.until(lambda: scene.asks(4))


async def edit(scene: Scene) -> None:
    await decide(scene, ApproveEdited({"filename": "a.txt", "text": "two"}))
    await scene.until(lambda: scene.asks(2))


async def make(scene: Scene) -> None:
    await scene.act(lambda core: core.service.lifecycle.create(DRAFT, by_ana("form")))
    await scene.until(lambda: scene.asks(1))


async def ask(scene: Scene) -> None:
    agent = scene.agent
    assert agent
    await scene.act(lambda core: core.service.decisions.ask(agent.id, QUESTION, by_ana("question")))
    await scene.until(lambda: any(notice.kind == "answer" for notice in scene.notices))


async def write_note(scene: Scene) -> None:
    agent = scene.agent
    assert agent
    await decide(scene, Approve())
    await scene.act(lambda core: core.service.decisions.reply(agent.id, NOTE, by_ana("note")))
    await scene.until(lambda: scene.asks(2))
    if not is_read(scene):  # it was written while turn 2 asked
        await decide(scene, Approve(), 2)
        await scene.until(lambda: scene.asks(3))


async def stop(scene: Scene) -> None:
    agent = scene.agent
    assert agent
    await decide(scene, Approve())
    await scene.until(lambda: scene.programs[LINE] > 0)
    await scene.act(lambda core: core.service.lifecycle.stop(agent.id, by_ana("stop")))
    await scene.until(lambda: isinstance(scene.agents[0].status, Stopped))


async def finish(scene: Scene) -> None:
    await decide(scene, Approve())
    await scene.until(lambda: any(notice.kind == "finished" for notice in scene.notices))


async def delete(scene: Scene) -> None:
    agent = scene.agent
    assert agent
    await scene.act(lambda core: core.service.lifecycle.delete(agent.id, by_ana("delete")))
    await scene.until(lambda: not scene.workspaces.by_agent)


def is_read(scene: Scene) -> bool:
    return any(NOTE in message.content for prompt in scene.model.prompts for message in prompt)


def expecting(text: str, *, programs: int = 0, answers: int = 0) -> Callable[[Scene], Awaitable[list[str]]]:
    """A check that the file has this text, and that the programs and answers are as many."""

    async def check(scene: Scene) -> list[str]:
        found = [] if scene.file("a.txt") == text else [f"the file has {scene.file('a.txt')!r} and not {text!r}"]
        if scene.programs[LINE] != programs:
            found.append(f"the program ran {scene.programs[LINE]} times and not {programs}")
        said = len([notice for notice in scene.notices if notice.kind == "answer"])
        return [*found, *([f"{said} answers were posted and not {answers}"] if said != answers else [])]

    return check


async def check_chain(scene: Scene) -> list[str]:
    return [] if scene.programs == dict.fromkeys(LINES, 1) else [f"the programs ran: {scene.programs}"]


async def check_read(scene: Scene) -> list[str]:
    was_read = any("Roses are red" in message.content for message in scene.model.prompts[-1])
    return [] if was_read else ["the model was not told what the file says"]


async def check_note(scene: Scene) -> list[str]:
    async with scene.database.begin() as unit:
        (agent,) = await unit.agents.of(CHANNEL)
        notes, waiting = await unit.notes.of(agent), await unit.notes.list_waiting(agent)
        turns = await unit.turns.of(agent, last=9)
    reasons = [approval for turn in turns for approval in turn.approvals if NOTE in str(approval.decision)]
    found = [] if len(notes) + len(reasons) == 1 else [f"the note was saved as {len(notes)} notes and {reasons}"]
    found += [] if is_read(scene) and not waiting else ["the note was not read"]
    return [*found, *await expecting("one")(scene)]


async def check_stopped(scene: Scene) -> list[str]:
    open_cards = [card.number for card in scene.cards if card.is_open]
    found = [f"card {number} still asks" for number in open_cards]
    return [*found, *await expecting("", programs=1)(scene)]


async def check_finished(scene: Scene) -> list[str]:
    statuses = [agent.status for agent in scene.agents]
    return [] if all(isinstance(status, Finished) for status in statuses) else [f"not finished: {statuses}"]


async def check_deleted(scene: Scene) -> list[str]:
    await CLOCK.sleep(ERASING_SECONDS)
    await scene.make_core().eraser.erase_all()
    left = {table: scene.database.count(table) for table in ("agents", "turns", "notices", "deletions")}
    return [f"{rows} of {table} are left" for table, rows in left.items() if rows]


ONE_FILE = expecting("one")
KINDS = {
    "read": Kind(plan=(reply_text("read_file", {"filename": "poem.txt"}),), act=approve, check=check_read),
    "write": Kind(plan=(writing("one"),), act=approve, check=ONE_FILE),
    "shell command": Kind(plan=(SHELL,), act=approve, check=expecting("", programs=1)),
    "edit": Kind(plan=(writing("one"),), act=edit, check=expecting("two")),
    "chain ×3": Kind(
        plan=tuple(writing(text, "append_to_file") for text in ("one", "two", "three")),
        act=approve_three,
        check=expecting("onetwothree"),
    ),
    "shell chain ×3": Kind(
        plan=tuple(reply_text("execute_shell", {"command_line": line}) for line in (*LINES, "rest")),
        act=approve_three,
        check=check_chain,
    ),
    "note": Kind(plan=(writing("one"),), act=write_note, check=check_note),
    "question": Kind(plan=(writing("one"),), act=ask, check=expecting("", answers=1)),
    "form": Kind(plan=(writing("one"),), act=make, check=expecting(""), begins=False),
    "stop": Kind(plan=(SHELL,), act=stop, check=check_stopped),
    "finish": Kind(plan=(reply_text("task_complete", {"reason": "Done."}),), act=finish, check=check_finished),
    "delete": Kind(plan=(writing("one"),), act=delete, check=check_deleted),
}
KINDS |= {f"{name}, on a page": replace(KINDS[name], on_page=True) for name in ("shell command", "question", "finish")}


@dataclass(frozen=True, slots=True)
class Finding:
    """What went wrong after the process ended at one point, and where that was."""

    kind: str
    ending: Ending
    step: int
    place: str
    complaints: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.kind}, {self.ending} at step {self.step} ({self.place}): {'; '.join(self.complaints)}"


def count_points(name: str) -> int:
    """The steps of the process from its start until the story is told, if it does not end before."""
    process, complaints = _play(name, 0, "kill")
    assert not complaints, f"{name}: {complaints}"
    return process.steps


def findings(name: str, ending: Ending, steps: Sequence[int]) -> Iterator[Finding]:
    for step in steps:
        process, complaints = _play(name, step, ending)
        if complaints:
            yield Finding(name, ending, step, process.place, tuple(complaints))


def _play(name: str, ends_at: int, ending: Ending) -> tuple[Mortal, list[str]]:
    with _deterministic():
        loop = SteppingLoop()
        try:
            return loop.run_until_complete(_tell(KINDS[name], ends_at, ending))
        finally:
            loop.finish()


@contextmanager
def _deterministic() -> Iterator[None]:
    random.seed(0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ids, "RANDOM", random.Random(0))
        patch.setattr(ids, "COUNTER", itertools.count())
        logging.disable(logging.CRITICAL)
        try:
            yield
        finally:
            logging.disable(logging.NOTSET)


async def _tell(kind: Kind, ends_at: int, ending: Ending) -> tuple[Mortal, list[str]]:
    scene = Scene(kind.plan, surface=SteppingSurface(shows_what_is_saved=kind.on_page))
    if kind.begins:
        await _begin(scene)
    process = scene.start(ends_at, ending)
    story = asyncio.create_task(_act(scene, kind))
    either: list[asyncio.Future[Any]] = [story, process.told]
    await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
    if process.told.done():
        if ending != "kill":
            await scene.end_in_order(ending)
        scene.start()
    complaints = await story
    await scene.end_in_order()
    if not complaints:
        complaints = [*await kind.check(scene), *await _complaints(scene, process)]
    return process, complaints


async def _begin(scene: Scene) -> None:
    """Make the agent, which asks about its first turn, in a process before."""
    scene.start()
    scene.agent = await scene.act(lambda core: core.service.lifecycle.create(DRAFT, by_ana("form")))
    assert scene.agent
    await scene.workspaces.of(scene.agent).write("poem.txt", b"Roses are red")
    await scene.until(lambda: scene.asks(1))
    await CLOCK.sleep(LOOK_SECONDS)
    await scene.end_in_order()


async def _act(scene: Scene, kind: Kind) -> list[str]:
    try:
        async with asyncio.timeout(STORY_SECONDS):
            await kind.act(scene)
    except TimeoutError:
        return [f"stuck: {[(card.number, card.state) for card in scene.cards]}"]
    await CLOCK.sleep(SETTLING_SECONDS)
    return []


async def _complaints(scene: Scene, process: Mortal) -> list[str]:
    """What must hold after any kind of turn."""
    found = [f"{what} was posted {count} times" for what, count in scene.surface.posted.items() if count > 1]
    if scene.asked and not is_asked_rightly(scene, process.ending):
        found.append(f"people were asked for nothing whether {scene.asked} ran")
    log = await scene.log()
    clicks = [entry.act for entry in log if entry.by == ANA and entry.act not in ("ran", "ended", "approve")]
    clicks += [f"approve {entry.turn_number}" for entry in log if entry.act == "approve"]
    found += [f"{act!r} is in the log {clicks.count(act)} times" for act in {*clicks} if clicks.count(act) > 1]
    async with scene.database.begin() as unit:
        for agent in await unit.agents.of(CHANNEL):
            left = [*await unit.turns.list_unshown(agent), *await unit.notes.list_unposted(agent)]
            found += [f"not recorded as shown: {each.id}" for each in left]
            if not isinstance(agent.status, Awaiting | Stopped | Finished):
                found.append(f"the agent is {agent.status}")
    return [*found, *await scene.money_complaints()]


def is_asked_rightly(scene: Scene, ending: Ending) -> bool:
    """Whether people had to be asked: once, about a program after a kill, or about a command that was cut short."""
    is_about_program = bool(scene.programs)
    is_cut_short = ending == "SIGTERM without time" and not scene.needless
    return len(scene.asked) == 1 and ((ending == "kill" and is_about_program) or is_cut_short)


def main(names: Sequence[str]) -> int:
    total = 0
    for name in names or KINDS:
        points = count_points(name)
        bad = [found for ending in get_args(Ending) for found in findings(name, ending, range(1, points + 1))]
        sys.stdout.write(f"{name}: {points} points, each in {len(get_args(Ending))} ways: {len(bad)} findings\n")
        for found in bad:
            sys.stdout.write(f"  {found}\n")
        total += len(bad)
    return min(total, 1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
