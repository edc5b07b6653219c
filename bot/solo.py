"""The command `solo`: parses its options, creates or resumes one agent, and talks with one person in a terminal."""

import argparse
import asyncio
import math
import signal
import sys
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

from adapters.screens.cards import status_text
from adapters.screens.ui_text import effort_text, fault_text, model_text
from adapters.screens.visible_text import one_line
from adapters.terminal.console import DONE, Console
from adapters.terminal.input_prompts import ask_name, ask_role_and_goals, create_from, is_complete
from adapters.terminal.streams import Streams, standard
from adapters.terminal.surface import CHANNEL, TerminalSurface, person
from adapters.typed.actions import ActionDispatcher
from adapters.typed.agent_templates import NO_TEMPLATES, AgentTemplates
from adapters.typed.settings_file import read_settings, write_settings
from agent_core.assembly import Core
from agent_core.errors import DatabaseAway, EngineTaken, InvalidInput, NotFound, NotPossible, PersonError
from agent_core.model.agent import Agent
from agent_core.model.draft import EFFORTS, AgentDraft
from agent_core.model.ids import AgentId
from agent_core.model.origin import Origin
from agent_core.ports.clock import Clock
from agent_core.ports.engine import EngineLock
from agent_core.service.reading.views import AgentViews
from bot.bootstrap import assemble
from bot.settings import Settings
from bot.startup import RETRY_SECONDS, engine_locked
from bot.wiring.models import choose_templates
from bot.worker import Advancing, until_one_ends, work

BAD_USAGE = 2
MOST_DIGITS = 18
GREETING = (
    "Signoff: one agent in this terminal. It asks before each command; nothing runs until you approve.\nModel: {}"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SoloOptions:
    """The parsed command line.

    `is_unlimited`: the budget option is 0, so the default limit does not apply either.
    `continuous`: the number of commands that run without approval, 0 for none.
    `tour`: take the tour of demo mode instead of creating an agent from the draft.
    `export`: the file to which an agent's settings are written instead of starting a conversation.
    """

    draft: AgentDraft
    is_unlimited: bool = False
    continuous: int = 0
    json: bool = False
    tour: bool = False
    export: Path | None = None


def parse(argv: Sequence[str], templates: AgentTemplates = NO_TEMPLATES) -> SoloOptions:
    """Parse the command line. If it is invalid or names no template, print one line and exit with code 2."""
    parser = options_parser()
    given = parser.parse_args(argv)
    if given.tour and given.dry_run:
        parser.error("the tour is no dry run: leave out one of --tour and --dry-run")
    try:
        draft = templates.get(given.template).draft if given.template else AgentDraft()
        draft = read_settings(given.settings) if given.settings else draft
    except InvalidInput as error:
        parser.error(str(error))
    said = {"name": given.name, "role": given.role, "goals": tuple(given.goal)}
    said |= {"model": given.model, "effort": given.effort, "dry_run": given.dry_run}
    draft = replace(draft, **{name: value for name, value in said.items() if value})
    budget = draft.budget if given.budget is None else given.budget
    return SoloOptions(
        draft=replace(draft, budget=budget or None),
        is_unlimited=budget == 0,
        continuous=given.continuous,
        json=given.json,
        tour=given.tour,
        export=given.export,
    )


class _Parser(argparse.ArgumentParser):
    """Reports an invalid command line in one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(BAD_USAGE, f"{self.prog}: {message}\n")


def options_parser() -> _Parser:
    parser = _Parser(prog="signoff solo", description="Run one agent in this terminal.", allow_abbrev=False)
    parser.add_argument("--name", default="", help="the agent's name; one that is there already is resumed")
    parser.add_argument("--role", default="", help="what it is")
    parser.add_argument("--goal", action="append", default=[], help="what it is to reach; repeat for up to five")
    given = parser.add_mutually_exclusive_group()
    given.add_argument("--template", default="", metavar="KEY", help="begin with a template, as the form offers them")
    given.add_argument("--settings", type=Path, metavar="FILE", help="an ai_settings.yaml of AutoGPT")
    parser.add_argument("--budget", type=_dollars, metavar="USD", help="what it may spend; 0 is no limit")
    parser.add_argument(
        "--model",
        default="",
        help="the language model it thinks with; also sets that of an agent that is there already",
    )
    parser.add_argument("--effort", default="", choices=EFFORTS, help="how long that model reasons")
    parser.add_argument(
        "--continuous", type=_count, default=0, metavar="N", help="run N commands of every class without asking"
    )
    parser.add_argument("--dry-run", action="store_true", help="only simulate what changes or sends something")
    parser.add_argument("--export", type=Path, metavar="FILE", help="write the agent's ai_settings.yaml, and end")
    parser.add_argument("--tour", action="store_true", help="take the tour of demo mode: seven steps on sample files")
    parser.add_argument("--json", action="store_true", help="one JSON object per finished turn on standard output")
    return parser


def _count(text: str) -> int:
    number = int(text) if text.isascii() and text.isdigit() and len(text) <= MOST_DIGITS else 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"a number of commands from 1, not {text!r}")
    return number


def _dollars(text: str) -> Decimal:
    try:
        amount = Decimal(text)
    except InvalidOperation:
        amount = Decimal(-1)
    if not amount.is_finite() or amount < 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not an amount in US dollars")
    return amount


OUTAGE_SECONDS = 10.0  # after so many seconds without a failure, the next one is of another outage
LOCK_LOST = (
    "The connection to the database was lost, and an import into it has begun since. "
    "Start again when the import is done: the agent goes on where it is."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Terminal:
    """The parts that a conversation in the terminal uses. `lock`: of an agent and its helpers, for one terminal."""

    core: Core
    actions: ActionDispatcher
    surface: TerminalSurface
    lock: Callable[[Agent], EngineLock]


async def run(settings: Settings, arguments: Sequence[str]) -> int:
    """Hold the conversation on standard input and output; return the exit code."""
    options = parse(arguments, choose_templates(settings))
    try:
        surface = TerminalSurface()
        async with assemble(settings, surface, is_alone=True) as signoff:
            if options.export:
                return await export(signoff.core.views, options.draft.name, options.export)
            await signoff.models.prepare()
            terminal = Terminal(
                core=signoff.core,
                actions=signoff.actions,
                surface=surface,
                lock=signoff.lock_of,
            )
            streams = standard(json=options.json, history=settings.home / "terminal_history")
            if settings.sqlite_file:  # `solo` may run beside the one engine, which holds the lock
                return await solo(terminal, options, streams)
            async with engine_locked(signoff) as lock:
                return await run_while_locked(solo(terminal, options, streams), lock)
    except (PersonError, DatabaseAway) as error:
        sys.stderr.write(f"signoff solo: {error!s}\n")
        return BAD_USAGE


async def run_while_locked(conversation: Coroutine[Any, Any, int], lock: EngineLock, lost: str = LOCK_LOST) -> int:
    """Run the conversation and keep the lock; raise NotPossible with `lost` if another process has taken it."""
    talking = asyncio.create_task(conversation)
    try:
        await until_one_ends(talking, lock.watch())
    except EngineTaken as taken:
        raise NotPossible(lost) from taken
    return talking.result()


async def solo(terminal: Terminal, options: SoloOptions, streams: Streams) -> int:
    """Create the agent or resume an existing one, and talk until it is at rest. Raise PersonError if neither works."""
    origin = Origin(by=person(), channel=CHANNEL)
    terminal.core.service.decisions.require_may_grant(options.continuous)
    agent = await _start(terminal, options, streams, origin)
    if (options.draft.budget or options.is_unlimited) and options.draft.budget != agent.budget.limit:
        agent = await terminal.core.agent_settings.set_budget(agent.id, options.draft.budget, origin)
    if options.continuous:
        agent = await terminal.core.service.decisions.grant_lease(agent.id, options.continuous, origin)
    console = Console(
        actions=terminal.actions,
        views=terminal.core.views,
        surface=terminal.surface,
        streams=streams,
        origin=origin,
        agent=agent,
        is_unasked=options.continuous > 0,
    )
    return await _conversation(terminal, console)


async def export(views: AgentViews, name: str, path: Path) -> int:
    """Write an agent's settings as YAML; raise InvalidInput if `name` selects none or the file cannot be written."""
    agents, wanted = await views.agents(CHANNEL), " ".join(name.split())
    named = await views.find_by_name(CHANNEL, wanted) if wanted else agents[0] if len(agents) == 1 else None
    if named is None:
        there = ", ".join(agent.name for agent in agents) or "none"
        raise InvalidInput({"name": f"--export writes an agent that is there, and --name says which: {there}."})
    write_settings(named, path)
    return DONE


@dataclass(frozen=True, slots=True)
class _Telling:
    """Wraps the loop: it advances only the console's agent and its helpers, and tells the console afterwards."""

    loop: Advancing
    console: Console
    views: AgentViews

    async def advance(self, agent_id: AgentId) -> None:
        with suppress(NotFound):
            if (await self.views.agent(CHANNEL, agent_id)).home != self.console.agent.home:
                return
        await self.loop.advance(agent_id)
        self.console.advanced()

    async def pause(self, agent_id: AgentId, reason: str) -> None:
        await self.loop.pause(agent_id, reason)


async def _conversation(terminal: Terminal, console: Console) -> int:
    lock = terminal.lock(console.agent)
    elsewhere = f"{console.agent.name} is at work in another terminal. Go on there, or end that one."
    try:
        await lock.acquire()
    except EngineTaken as taken:
        raise NotPossible(elsewhere) from taken
    try:
        return await run_while_locked(_work_and_talk(terminal, console), lock, elsewhere)
    finally:
        await lock.release()


async def _work_and_talk(terminal: Terminal, console: Console) -> int:
    await terminal.core.ledger.charge_left_by_others(console.agent.home)
    telling = _Telling(terminal.core.loop, console, terminal.core.views)
    with _interrupts(console.halt):
        async with asyncio.TaskGroup() as group:
            engine = group.create_task(work(terminal.core.engine, telling), name="engine")
            code = await _talk(console, terminal.core.clock)
            engine.cancel()
    return code


async def _talk(console: Console, clock: Clock) -> int:
    """Hold the dialogue, and go on with it after an outage of the database, which is told once."""
    failed_at = -math.inf
    while True:
        try:
            return await console.run()
        except DatabaseAway as away:
            if clock.elapsed() - failed_at > OUTAGE_SECONDS:
                console.streams.say(fault_text(away))
            failed_at = clock.elapsed()
            await clock.sleep(RETRY_SECONDS)


async def _start(terminal: Terminal, options: SoloOptions, streams: Streams, origin: Origin) -> Agent:
    core = terminal.core
    if options.tour:
        return _introduce(terminal, await core.tour.start(origin), streams)
    named = await ask_name(options.draft, streams, await _compose_greeting(core))
    if known := await core.views.find_by_name(origin.channel, " ".join(named.name.split())):
        return await _resume(terminal, known, named, streams, origin)
    whole = named if is_complete(options.draft) else await ask_role_and_goals(named, streams)
    return _introduce(
        terminal, await create_from(whole, partial(core.service.lifecycle.create, origin=origin), streams), streams
    )


async def _compose_greeting(core: Core) -> str:
    """Say what this is, which model thinks, and which agents are there."""
    there = ", ".join(one_line(agent.name) for agent in await core.views.agents(CHANNEL) if not agent.is_archived)
    return GREETING.format(core.metered_model.model.label) + (
        f"\nAgents here: {there}. A name of theirs goes on with it." if there else ""
    )


def _introduce(terminal: Terminal, agent: Agent, streams: Streams) -> Agent:
    goals = (f"{number}. {goal}" for number, goal in enumerate(agent.goals, 1))
    told = "\n".join((f"{agent.name}, {agent.role}", *goals, _model(terminal, agent)))
    streams.say(told)
    return agent


def _model(terminal: Terminal, agent: Agent) -> str:
    facts = (model_text(agent, terminal.core.metered_model.model.label), effort_text(agent))
    return f"Model: {' · '.join(filter(None, facts))}"


async def _resume(terminal: Terminal, known: Agent, draft: AgentDraft, streams: Streams, origin: Origin) -> Agent:
    if draft.dry_run and not known.dry_run:
        raise InvalidInput({"name": f"{known.name} is there already and is no dry run: choose another name."})
    if draft.model not in ("", known.model):
        known = await terminal.core.agent_settings.set_model(known.id, draft.model, origin)
    was = status_text(known)
    text = f"{known.name} is there already and goes on where it was: turn {known.turns}, {was}."
    given = [("role", draft.role), ("goals", draft.goals), ("effort", draft.effort)]
    ignored = [word for word, value in given if value]
    if ignored:
        text += f" Its own {', '.join(ignored)} stay; another name makes another agent."
    streams.say(f"{text}\n{_model(terminal, known)}")
    if known.status.kind == "finished" and known.schedule and known.schedule.is_due(terminal.core.clock.now()):
        return await terminal.core.service.schedules.act(known.id, "now", origin)
    return await terminal.core.service.lifecycle.resume(known.id, origin) if known.is_at_rest else known


@contextmanager
def _interrupts(halt: Callable[[], None]) -> Iterator[None]:
    """Call `halt` at the first Ctrl-C; the second one ends the process."""
    loop = asyncio.get_running_loop()

    def first() -> None:
        loop.remove_signal_handler(signal.SIGINT)
        halt()

    try:
        loop.add_signal_handler(signal.SIGINT, first)
    except (NotImplementedError, RuntimeError, ValueError):  # not supported on this system, or not in the main thread
        yield
        return
    try:
        yield
    finally:
        loop.remove_signal_handler(signal.SIGINT)
