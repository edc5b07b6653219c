"""Time from the command line to the first page, and memory once it is served."""

import asyncio
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from statistics import median

from aiohttp import encode_basic_auth

from adapters.web.guard import USER
from agent_core.model.agent import Agent, Awaiting
from agent_core.model.command import CommandCall, Proposal, Thoughts
from agent_core.model.draft import AgentDraft
from agent_core.model.ids import TurnId, new_id
from agent_core.model.model_calls import Usage
from agent_core.model.origin import Actor, ChannelScope, Origin, ThreadRef
from agent_core.model.turn import Turn
from agent_core.persistence.database import SqlDatabase
from agent_core.persistence.schema import upgrade
from agent_core.providers.clock import SystemClock
from bot.private_files import page_key

HERE = Path(__file__).parent
RESULTS = HERE / "results"
IMPORTS, STARTS, AGENTS = 10, 5, 1000
IMPORT_PROMISE, START_PROMISE = 0.6, 1.2
ENDPOINT_PROMISE = 180.0  # MB
PATIENCE, INTERVAL = 60.0, 0.005
IMPORT = "import time; before = time.perf_counter(); import bot.bootstrap; print(time.perf_counter() - before)"


def main() -> None:
    RESULTS.mkdir(exist_ok=True)
    imports = [measure_import() for _ in range(IMPORTS)]
    with tempfile.TemporaryDirectory(dir=RESULTS, prefix="start-") as folder:
        few, many = Path(folder, "few"), Path(folder, "many")
        many.mkdir()
        measure_start(few)  # makes the data folder, and leaves the caches warm
        starts = [measure_start(few) for _ in range(STARTS)]
        asyncio.run(fill(many, AGENTS))
        crowded = [measure_start(many) for _ in range(STARTS)]
        report(imports, starts, crowded)
        report_endpoint(Path(folder, "endpoint"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """Seconds to the first page, and the process's resident bytes before and after it made that page."""

    seconds: float
    idle: int
    resident: int


def measure_import() -> float:
    """Seconds that the import takes in a new interpreter."""
    done = subprocess.run(
        [sys.executable, "-c", IMPORT], cwd=HERE.parent, check=True, capture_output=True, timeout=PATIENCE
    )
    return float(done.stdout)


def measure_start(home: Path) -> Start:
    """Start Signoff on this data folder and fetch its page once."""
    port, before = free_port(), time.perf_counter()
    with start_process(home, port) as process:
        while not is_listening(port):
            with suppress(subprocess.TimeoutExpired):
                process.wait(INTERVAL)
                raise RuntimeError(f"Signoff ended with code {process.returncode}.")
            if time.perf_counter() - before > PATIENCE:
                raise TimeoutError(f"No page after {PATIENCE:.0f} seconds.")
        idle = resident_bytes(process.pid)
        fetch_page(home, port)
        return Start(seconds=time.perf_counter() - before, idle=idle, resident=resident_bytes(process.pid))


@contextmanager
def start_process(home: Path, port: int) -> Iterator[subprocess.Popen[bytes]]:
    """`python -m bot run` with no settings but these; ended with the block."""
    home.mkdir(parents=True, exist_ok=True)
    inherited = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    given = {"SIGNOFF_HOME": str(home), "PORT": str(port), "PYTHONPATH": str(HERE.parent)}
    process = subprocess.Popen(
        [sys.executable, "-m", "bot", "run"], cwd=home, env=inherited | given, stdout=subprocess.DEVNULL
    )
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def free_port() -> int:
    """A port that nothing listens at."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def is_listening(port: int) -> bool:
    """Whether anybody answers there."""
    try:
        socket.create_connection(("127.0.0.1", port), timeout=PATIENCE).close()
    except ConnectionError:
        return False
    return True


def fetch_page(home: Path, port: int) -> None:
    """Fetch the first page, to its end."""
    key = encode_basic_auth(USER, page_key(home))
    request = f"GET / HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: {key}\r\nConnection: close\r\n\r\n".encode()
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as connection:
        connection.sendall(request)
        answer = b"".join(iter(lambda: connection.recv(65536), b""))
    if not answer.startswith(b"HTTP/1.1 200"):
        raise RuntimeError(f"The page was refused: {answer[:80]!r}")


def resident_bytes(process: int) -> int:
    """Bytes of memory the process holds, or 0 where the system does not tell in /proc."""
    with suppress(OSError):
        lines = Path(f"/proc/{process}/status").read_text("utf-8").splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmRSS:"))
    return 0


async def fill(home: Path, agents: int) -> None:
    """Save agents that have asked and wait for people, as they are found after a restart."""
    url = f"sqlite:///{home / 'signoff.db'}"
    await upgrade(url)
    database, now = SqlDatabase(url), SystemClock().now()
    channel = ChannelScope("web", "local", "general")
    origin, thread = Origin(by=Actor(id="ada", display="ada"), channel=channel), ThreadRef(channel, "thread")
    async with database.begin() as work:
        for number in range(agents):
            draft = AgentDraft(name=f"Clerk {number}", goals=("Study the market",)).tidied()
            agent = replace(draft.made(origin, now).become(Awaiting(), now), thread=thread, turns=1)
            turn = a_proposed_turn(agent, now)
            work.agents.add(agent)
            work.turns.add(turn)
            work.turns.mark_shown(turn, turn.id, now)
        await work.commit()
    await database.close()


def a_proposed_turn(agent: Agent, at: datetime) -> Turn:
    """The agent's first proposal."""
    call = CommandCall("write_to_file", {"filename": "notes.md", "text": "The market is calm. " * 20})
    return Turn(
        id=TurnId(new_id(at)),
        agent_id=agent.id,
        channel=agent.channel,
        number=1,
        proposal=Proposal(thoughts=Thoughts(text="I begin with a note."), call=call),
        risks=("write",),
        usage=Usage(prompt=1000, completion=300),
        proposed_at=at,
    )


def report(imports: Sequence[float], starts: Sequence[Start], crowded: Sequence[Start]) -> None:
    """Print the table and what became of the promises."""
    _say(f"start · medians of {IMPORTS} imports and {STARTS} starts (fastest-slowest)")
    _say(f"{'import bot.bootstrap':<46}{_seconds(imports)}")
    for label, found in (("", starts), (f" · {AGENTS:,} idle agents", crowded)):
        _say(f"{f'run to first page{label}':<46}{_seconds([start.seconds for start in found])}")
        _say(f"{f'resident when it listens{label}':<46}{_megabytes([start.idle for start in found])}")
        _say(f"{f'resident after the page{label}':<46}{_megabytes([start.resident for start in found])}")
    _verdict("import in at most 0.6 s", median(imports), IMPORT_PROMISE)
    _verdict("first page in at most 1.2 s", median(start.seconds for start in starts), START_PROMISE)


def report_endpoint(home: Path) -> None:
    """Measure the memory with an endpoint, and print it."""
    from benchmarks.start_endpoint import measure_endpoint  # imports this module

    home.mkdir()
    asyncio.run(measure_endpoint(home))  # makes the data folder: with the migrations, memory is 12 MB higher
    found = [asyncio.run(measure_endpoint(home)) for _ in range(STARTS)]
    _say(f"{'resident after the page, with an endpoint':<46}{_megabytes([each.page for each in found])}")
    _say(f"{'resident with the SDK and the tokenizer':<46}{_megabytes([each.ready for each in found])}")
    _say(f"{'resident after the first streamed proposal':<46}{_megabytes([each.proposal for each in found])}")
    _verdict("with the SDK at most 180 MB", median(each.proposal for each in found) / 10**6, ENDPOINT_PROMISE)


def _seconds(measured: Sequence[float]) -> str:
    return f"{median(measured):6.2f} s ({min(measured):.2f}-{max(measured):.2f})"


def _megabytes(measured: Sequence[int]) -> str:
    return f"{median(measured) / 10**6:6.0f} MB" if all(measured) else "not told"


def _verdict(promise: str, found: float, limit: float) -> None:
    _say(f"promise: {promise}: {found:.2f} · {'met' if found <= limit else 'NOT MET'}")


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
