"""A storm: people, a model and faults on real processes; what went wrong is told by what the outside saw alone."""

import asyncio
import random
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from agent_core.providers.clock import SystemClock
from tests.faults.machines import Machines, StormEnd, machines
from tests.faults.model import CALL_COST, Model, serving_model
from tests.faults.people import BUDGET, BUDGET_EVERY, WORD, Person, Seen
from tests.standins.postgres import PostgresServer

CLOCK = SystemClock()
PEOPLE = 24
TURNS = 25  # of one agent: more than its budget pays for
COUNT_SECONDS = 5.0  # between two counts of the turns
LOST_BY_A_FAULT = PEOPLE  # calls: at most one of each agent that works


@dataclass(slots=True)
class Storm:
    """A storm, and what came of it."""

    seen: Seen
    model: Model
    machines: Machines
    files: Path

    @property
    def written(self) -> Counter[str]:
        """How often each word stands in the files."""
        every: Counter[str] = Counter()
        for agent in self.seen.agents.values():
            for path in (self.files / agent).glob("*.txt"):
                every.update(WORD.findall(path.read_text()))
        return every

    @property
    def turns(self) -> int:
        return len(self.written) + len(self.seen.finished)

    def complaints(self) -> list[str]:
        """What was promised and not kept."""
        seen, written = self.seen, self.written
        calls, faults = sum(self.model.calls.values()), sum(self.machines.befallen.values())
        most = self.turns + len(seen.notes) + (faults + 1) * LOST_BY_A_FAULT
        found = [f"{word} is written {times} times" for word, times in written.items() if times > 1]
        found += [
            f"{word} was approved for {agent} and is not written"
            for word, agent in seen.approved.items()
            if word and word not in written and word not in seen.asked | seen.stops and self._is_file(word)
        ]
        found += [f"asked: {question}" for question in seen.questions]
        found += [f"{agent}: {note} was lost" for note, agent in seen.notes.items() if note not in self.model.notes]
        found += [
            f"Agent{agent} did not end: {' '.join(seen.pages.get(agent, '').split())[-1500:]}"
            for agent in seen.agents
            if agent not in seen.finished
        ]
        found += [
            f"Agent{agent} made {calls} calls of ${CALL_COST} with ${BUDGET}"
            for agent, calls in seen.reached.items()
            if (calls - 1) * CALL_COST > BUDGET
        ]
        found += [
            f"Agent{agent} ended, and its budget was never reached"
            for agent in seen.finished
            if agent % BUDGET_EVERY == 0 and agent not in seen.reached
        ]
        if calls > most:
            found.append(f"{calls} calls of the model for {self.turns} turns and {faults} faults")
        return found + seen.troubles + self.machines.complaints + self.model.strange

    def report(self) -> str:
        """Figures in a few lines."""
        calls = sum(self.model.calls.values())
        return (
            f"{self.turns} turns, {calls} calls, {len(self.seen.approved)} approvals, {len(self.seen.notes)} notes, "
            f"{len(self.seen.finished)} of {len(self.seen.agents)} agents ended, "
            f"{len(self.seen.stops)} Stops, {len(self.seen.reached)} budgets reached\n"
            f"faults: {dict(self.machines.befallen)}\nanswers: {dict(self.seen.answers)}\n"
            f"refusals: {dict(self.seen.refusals)}"
        )

    def _is_file(self, word: str) -> bool:
        return int(word.partition("x")[2]) <= self.model.turns


async def run_storm(
    folder: Path,
    database: PostgresServer | None,
    seed: int,
    seconds: float,
    most_pause: float = 3,
    *,
    people: int = PEOPLE,
    turns: int = TURNS,
    enough: int | None = None,
) -> Storm:
    """Let it rage so long, with a fault every `most_pause` seconds or sooner; see every agent through to its end.

    Without a database, there is one process on SQLite. The storm ends earlier after `enough` turns.
    """
    async with (
        serving_model(seed, turns) as model,
        machines(folder, database, model.base_url, seed) as processes,
    ):
        end = StormEnd(CLOCK.elapsed() + seconds)
        storm = Storm(Seen(), model, processes, folder / "files")
        async with asyncio.TaskGroup() as group:
            for number in range(people):
                chance = random.Random(f"{seed} {number}")
                person = Person(
                    name=f"person{number}",
                    files=folder / "files",
                    calls=model.calls,
                    befallen=processes.befallen,
                    webs=processes.webs,
                    seen=storm.seen,
                    chance=chance,
                    end=end,
                )
                group.create_task(person.live(number, people))
            group.create_task(processes.storm(end, most_pause))
            while not end.is_over:
                if enough is not None and storm.turns >= enough:
                    end.at = CLOCK.elapsed()
                await CLOCK.sleep(COUNT_SECONDS)
        return storm
