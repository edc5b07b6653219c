"""The processes of a storm over one PostgreSQL server, and the faults that befall them."""

import asyncio
import os
import random
import signal
import sys
from asyncio.subprocess import STDOUT, Process
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path

from agent_core.providers.clock import SystemClock
from tests.e2e.process import LONGEST_STOP, clean, free_port, keyed
from tests.faults.model import PRICES
from tests.patience import PATIENCE_SECONDS
from tests.standins.postgres import PostgresServer
from tests.standins.postgres_gate import PostgresGate, postgres_gate

CLOCK = SystemClock()
SETTLE_SECONDS = 180.0  # after the last fault every agent comes to its end
LOOK_SECONDS = 0.05
READY = {"web": "Signoff is at ", "worker": "The worker runs", "run": "Signoff is at "}
MANY = (("web", 0), ("web", 1), ("worker", 0), ("worker", 1), ("worker", 2))
ALONE = (("run", 0),)
AWAY_SECONDS = 10.0
FAULTS = (
    *("kill",) * 6,
    *("suspend",) * 4,
    *("stop",) * 4,
    *("answer lost",) * 2,
    "database fast",
    "database immediate",
    "database away",
)


@dataclass(slots=True, kw_only=True)
class Machine:
    """A process with a home and, for a web, a port of its own. Its output is appended to `log`."""

    name: str
    command: str
    home: Path
    environ: Mapping[str, str]
    port: int = field(default_factory=free_port)
    is_handled: bool = False
    process: Process | None = None

    @property
    def log(self) -> Path:
        return self.home / f"{self.name}.log"

    @property
    def address(self) -> str:
        return keyed(self.home, self.port)

    @property
    def is_gone(self) -> bool:
        return self.process is None or self.process.returncode is not None

    async def start(self) -> None:
        """Start it, and wait until it says that it is ready or ends. Raise TimeoutError if it does neither."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            await self._start()

    async def _start(self) -> None:
        begins = self.log.stat().st_size if self.log.exists() else 0
        environ = clean(self.home, {**self.environ, "PORT": str(self.port)})
        with self.log.open("ab") as output:
            self.process = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "bot", self.command, cwd=self.home, env=environ, stdout=output, stderr=STDOUT
            )
        while READY[self.command] not in self.log.read_bytes()[begins:].decode(errors="replace") and not self.is_gone:
            await CLOCK.sleep(LOOK_SECONDS)

    def send(self, number: signal.Signals) -> None:
        if self.process and self.process.returncode is None:
            os.kill(self.process.pid, number)

    async def ended(self, seconds: float) -> int | None:
        """Its exit code, or None if it does not end in time."""
        assert self.process
        try:
            return await asyncio.wait_for(self.process.wait(), seconds)
        except TimeoutError:
            return None

    async def end(self) -> None:
        """End it as a power cut would."""
        self.send(signal.SIGKILL)
        if self.process:
            await self.process.wait()


@dataclass(slots=True)
class StormEnd:
    """When a storm ends (`Clock.elapsed`); it may be moved forward while the storm rages."""

    at: float

    @property
    def is_over(self) -> bool:
        return CLOCK.elapsed() >= self.at

    @property
    def is_given_up(self) -> bool:
        """Whether agents that still work had enough time to come to their end."""
        return CLOCK.elapsed() >= self.at + SETTLE_SECONDS


@dataclass(slots=True)
class Machines:
    """Webs, workers and their database. `befallen` counts the faults, `complaints` are ends that were not asked for.

    Without a `database`, there is one process on SQLite.
    """

    each: tuple[Machine, ...]
    database: PostgresServer | None
    gate: PostgresGate | None
    chance: random.Random
    befallen: Counter[str] = field(default_factory=Counter)
    complaints: list[str] = field(default_factory=list)
    history: list[str] = field(default_factory=list)

    @property
    def webs(self) -> tuple[Machine, ...]:
        return tuple(each for each in self.each if each.command != "worker")

    @property
    def spared(self) -> int:
        """How many processes are left alone at any time."""
        return 2 if self.database else 0

    async def storm(self, end: StormEnd, most_pause: float) -> None:
        """Let faults befall them, at most `most_pause` seconds apart, until the end; then wait until all run again."""
        async with asyncio.TaskGroup() as group:
            while not end.is_over:
                await CLOCK.sleep(self.chance.uniform(0.5, most_pause))
                fault = self.chance.choice(FAULTS)
                idle = [each for each in self.each if not each.is_handled]
                if fault == "answer lost":
                    self._lose_answer()
                elif fault.startswith("database"):
                    await self._restart_database(fault.partition(" ")[2])
                elif len(idle) > self.spared:
                    machine = self.chance.choice(idle)
                    machine.is_handled = True
                    group.create_task(self._befall(fault, machine, self.chance.uniform(0, 3)))
                for each in self.each:
                    await self._look_after(each)
        for each in self.each:
            await self._look_after(each)

    async def _restart_database(self, mode: str) -> None:
        if self.database is None:
            return
        self._note(f"database {mode}")
        await self.database.stop("immediate" if mode == "immediate" else "fast")
        if mode == "away":
            await CLOCK.sleep(AWAY_SECONDS)
        await self.database.start()

    def _lose_answer(self) -> None:
        """Lose the next answer of the database to a worker that fetches a job or ends one."""
        if self.gate and not self.gate.loses_fetch:
            self.gate.loses_fetch = True
            self._note("answer lost")

    async def _befall(self, fault: str, machine: Machine, pause: float) -> None:
        self._note(f"{fault} {machine.command}", machine.name)
        if fault == "suspend":
            machine.send(signal.SIGSTOP)
            await CLOCK.sleep(1 + pause * 7 / 3)
            machine.send(signal.SIGCONT)
        elif fault == "stop":
            machine.send(signal.SIGTERM)
            if (code := await machine.ended(LONGEST_STOP + 10)) != 0:
                self.complaints.append(f"{machine.name} was told to end: exit code {code} (log {machine.log})")
                await machine.end()
            await machine.start()
        else:
            await machine.end()
            await CLOCK.sleep(pause)
            await machine.start()
        machine.is_handled = False

    async def _look_after(self, machine: Machine) -> None:
        """Complain about a process that ended by itself, and start it again."""
        if machine.is_gone and not machine.is_handled:
            code = machine.process.returncode if machine.process else None
            last = "\n".join(machine.log.read_text().splitlines()[-6:])
            self.complaints.append(f"{machine.name} ended by itself, exit code {code}: {last}")
            await machine.start()

    def _note(self, fault: str, name: str = "") -> None:
        self.befallen[fault] += 1
        self.history.append(f"{CLOCK.now():%H:%M:%S.%f} {fault} {name}")


@asynccontextmanager
async def machines(folder: Path, database: PostgresServer | None, model: str, seed: int) -> AsyncIterator[Machines]:
    """Two webs and three workers in three homes, which share a folder of files. None of them is left at the end.

    Without a database, it is one process on SQLite.
    """
    environ = {
        "WORKSPACE_URL": f"file://{folder / 'files'}",
        "OPENAI_BASE_URL": model,
        "OPENAI_API_KEY": "k",
        "MODEL_PRICES": PRICES,
        "EXECUTE_LOCAL_COMMANDS": "true",
        "MAX_AGENTS_PER_CHANNEL": "2000",
        "MAX_AGENTS_PER_PERSON": "2000",
    }
    async with postgres_gate(database.url) if database else nullcontext() as gate:
        each = []
        for command, number in MANY if database else ALONE:
            home = folder / f"home{number}"
            home.mkdir(parents=True, exist_ok=True)
            way = gate if command == "worker" else database
            address = {"DATABASE_URL": way.url} if way else {}
            each.append(Machine(name=f"{command}{number}", command=command, home=home, environ=environ | address))
        found = Machines(tuple(each), database, gate, random.Random(seed))
        try:
            for machine in each:
                await machine.start()
            yield found
        finally:
            for machine in each:
                await machine.end()
