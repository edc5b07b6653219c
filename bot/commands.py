"""The commands of the command line, such as run, mcp and serve: serve pages, advance agents, offer the browser."""

import asyncio
import os
import sys
import webbrowser
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from dataclasses import replace
from functools import partial
from html import escape
from pathlib import Path
from typing import TextIO

from aiohttp import web

from adapters.web.guard import USER, Guard
from adapters.web.page_context import ModelLabel, WebContext
from adapters.web.surface import WebSurface
from agent_core.ports.database import Database
from agent_core.service.housekeeping.sign_outs import SignOuts
from agent_core.text.lines import counted
from agent_core.text.own_commands import command_text
from bot.bootstrap import Signoff, assemble, make_home, migrate_database, probes, system_clock
from bot.capabilities import make_renderer
from bot.findings.doctor import findings, report
from bot.findings.mcp_clients import how_to_connect
from bot.logs import say
from bot.private_files import PAGE_LINK, as_served, note_place, page_key
from bot.settings import Settings
from bot.startup import (
    StartedProcess,
    engine_locked,
    engine_of_home_if_free,
    is_stopping,
    only_engine_of_home,
    require_postgres,
    start_process,
)
from bot.transfer_commands import export_data, import_data
from bot.web import application, serve_app, waiting_application
from bot.wiring.mcp_clients import (
    Pipes,
    mcp_routes,
    missing_package,
    serve_client,
    take_pipes,
    told_by_engine,
    told_by_nobody,
)
from bot.wiring.metrics import METRICS, Metrics, PrometheusMeters, metrics_guard
from bot.wiring.models import Models, choose_templates
from bot.wiring.page_accounts import make_sign_in
from bot.wiring.probes import probe_application, probe_routes, waiting_probe_routes
from bot.worker import until_one_ends, until_told, work

OFFER = "Press Enter to open it in your browser."


async def offer_browser(address: str, home: Path, keys: TextIO = sys.stdin) -> None:
    """Say that Enter opens the page, and do so at the first Enter. Then wait until cancelled.

    Without a terminal, or where no browser with a window of its own is known, nothing is offered.
    """
    if _has_person(keys) and _has_browser():
        say(OFFER)
        await _enter(keys)
        await asyncio.to_thread(webbrowser.open, link_file(address, home).resolve().as_uri())
    await asyncio.Event().wait()


def link_file(address: str, home: Path) -> Path:
    """A private file that leads to the address: other accounts can read the arguments of the browser's process."""
    file = home / PAGE_LINK
    file.touch(mode=0o600)
    file.write_text(f'<!doctype html><meta http-equiv="refresh" content="0; url={escape(address)}">\n')
    return file


async def _enter(keys: TextIO) -> None:
    """Wait for a line from the terminal, while this process is in its foreground."""
    pressed, loop = asyncio.Event(), asyncio.get_running_loop()

    def read() -> None:
        if _has_person(keys):  # a process in the background that reads is stopped by its terminal
            os.read(keys.fileno(), 1024)
            pressed.set()

    loop.add_reader(keys, read)
    try:
        await pressed.wait()
    finally:
        loop.remove_reader(keys)


def _has_person(keys: TextIO) -> bool:
    """Whether lines typed at a terminal come to this process."""
    try:
        return keys.isatty() and os.tcgetpgrp(keys.fileno()) == os.getpgrp()
    except (OSError, ValueError):
        return False


def _has_browser() -> bool:
    """Whether there is a browser that does not take over the terminal, or one that the person named."""
    try:
        found = webbrowser.get()
    except webbrowser.Error:
        return False
    return "BROWSER" in os.environ or type(found) is not webbrowser.GenericBrowser


Command = Callable[[Settings, Sequence[str]], Awaitable[int]]


async def run(settings: Settings, _rest: Sequence[str]) -> int:
    """Run everything in one process."""
    with only_engine_of_home(settings):
        await _run_all(settings, WebSurface(), lambda _process: offer_browser(page_address(settings), settings.home))
    return 0


async def _run_all(settings: Settings, surface: WebSurface, job: Callable[[StartedProcess], Awaitable[None]]) -> None:
    """Serve the pages and the chat platforms, advance the agents, and do this job, until one of these ends."""
    async with (
        start_process(settings, surface, meanwhile=partial(_serve_waiting, settings)) as process,
        _serve_pages(process, surface) as workspace,
    ):
        await _work_until_told(process, _tell(process.signoff, workspace), job(process), *process.listen())


async def mcp(settings: Settings, _rest: Sequence[str]) -> int:
    """Serve the MCP client that started this process, until it closes its end.

    If no other process works on the data folder, this one does meanwhile, and serves the pages too.
    """
    if missing := missing_package():
        sys.stderr.write(f"signoff mcp {missing}\n")
        return 2
    pipes = take_pipes()
    if pipes is None:
        say(how_to_connect())
        return 2
    surface = WebSurface()

    async def serve_and_drain(process: StartedProcess) -> None:
        await serve_client(process.signoff, told_by_engine(process.signoff.core, surface.hub), pipes)
        await _drain(process.signoff)

    with engine_of_home_if_free(settings) as is_engine:
        if is_engine:
            await _run_all(settings, surface, serve_and_drain)
        else:
            await _serve_beside_engine(settings, surface, pipes)
    return 0


async def _serve_beside_engine(settings: Settings, surface: WebSurface, pipes: Pipes) -> None:
    """Serve the client; other processes advance the agents and serve the pages."""
    async with assemble(settings, surface) as signoff:
        if settings.sqlite_file:
            await serve_client(signoff, told_by_nobody(settings, signoff.core.clock), pipes)
            return
        surface.hub.join(signoff.broadcast)
        async with engine_locked(signoff) as lock:
            serving = serve_client(signoff, told_by_engine(signoff.core, surface.hub), pipes)
            await until_one_ends(serving, lock.watch(), signoff.broadcast.run(), signoff.core.engine.stand_by())


async def serve(settings: Settings, _rest: Sequence[str]) -> int:
    """Serve the web pages and receive the chat platforms' events; workers in other processes advance the agents."""
    require_postgres("web", settings)
    surface = WebSurface()
    async with (
        start_process(settings, surface, meanwhile=partial(_serve_waiting, settings)) as process,
        _serve_pages(process, surface) as workspace,
    ):
        signoff = process.signoff
        jobs = (*process.jobs, signoff.core.engine.stand_by(), _tell(signoff, workspace), *process.listen())
        await until_told(*jobs)
    return 0


async def advance(settings: Settings, _rest: Sequence[str]) -> int:
    """Run a worker only; other processes serve the web pages, and there may be more workers."""
    require_postgres("worker", settings)
    waiting = partial(_serve_probes, settings, waiting_probe_routes())
    async with start_process(settings, WebSurface(), meanwhile=waiting) as process:
        core = process.signoff.core
        routes = probe_routes(core.views.check_database, core.metered_model.newest)
        async with _serve_probes(settings, (*routes, *_worker_metrics(process.signoff))):
            await _work_until_told(process, _announce_worker(process.signoff.models))
    return 0


def _serve_probes(settings: Settings, routes: Sequence[web.RouteDef]) -> AbstractAsyncContextManager[object]:
    """Answer the probes of a worker, if it was given a port."""
    if settings.probe_port is None:
        return nullcontext()
    return serve_app(probe_application(routes), settings.host, settings.probe_port)


def _worker_metrics(signoff: Signoff) -> Sequence[web.RouteDef]:
    """What Prometheus scrapes of a worker, which has no page and so no other token."""
    guard = metrics_guard(signoff.settings, signoff.core.clock)
    if guard is None or signoff.meters is None:
        return ()
    return (web.get(METRICS, Metrics(guard=guard, meters=signoff.meters).answer),)


async def _announce_worker(models: Models) -> None:
    """Say that the worker runs, once it can be told to end, and load what thoughts need. Then wait until cancelled."""
    say("The worker runs. Ctrl-C stops it.")
    await models.prepare()
    await models.prepare_memory()
    await asyncio.Event().wait()


async def migrate(settings: Settings, _rest: Sequence[str]) -> int:
    """Migrate the database and print the result."""
    is_newer = await migrate_database(settings)
    newer = "The tables are of a newer release, and this one can work on them: nothing was changed."
    say(newer if is_newer else "The database is up to date.")
    return 0


async def doctor(settings: Settings, _rest: Sequence[str]) -> int:
    """Print which features are on, which are off, and how to change that; return 1 if something is misconfigured."""
    found = await findings(settings, probes(settings))
    say(report(found))
    return int(any(finding.state == "fault" for finding in found))


async def solo(settings: Settings, rest: Sequence[str]) -> int:
    """Run one agent in this terminal."""
    from bot import solo as terminal  # only this command needs it

    return await terminal.run(settings, rest)


async def sign_in(settings: Settings, rest: Sequence[str]) -> int:
    """Let somebody sign in at a tool server."""
    from bot import sign_in as signing  # only this command and the next need it

    return await signing.sign_in(settings, rest)


async def sign_out(settings: Settings, rest: Sequence[str]) -> int:
    """Forget the sign-in at a tool server."""
    from bot import sign_in as signing

    return await signing.sign_out(settings, rest)


async def audit(settings: Settings, rest: Sequence[str]) -> int:
    """Check or export the decision log."""
    from bot.wiring import audit_commands  # only this command needs it

    return await audit_commands.run(settings, rest)


async def address(settings: Settings, _rest: Sequence[str]) -> int:
    """Print the address of the page, with its key: where a process serves it, else where the settings say."""
    make_home(settings)
    say(page_address(as_served(settings)))
    return 0


BY_NAME: dict[str, Command] = {
    "run": run,
    "web": serve,
    "worker": advance,
    "solo": solo,
    "mcp": mcp,
    "sign-in": sign_in,
    "sign-out": sign_out,
    "migrate": migrate,
    "export": export_data,
    "backup": partial(export_data, name="backup"),
    "import": import_data,
    "doctor": doctor,
    "audit": audit,
    "address": address,
}


def page_address(settings: Settings, *, for_log: bool = False) -> str:
    """The address that opens the page. Where there is no token, it carries the key, except `for_log`."""
    if settings.web_token or settings.oidc_issuer:
        return settings.address
    if for_log:
        return f"{settings.address} (`{command_text('address')}` prints it with its key)"
    return f"{settings.address.replace('://', f'://{USER}:{page_key(settings.home)}@', 1)}/enter"


def _guard(settings: Settings, database: Database | None = None) -> Guard:
    token = settings.web_token.get_secret_value()
    return Guard(
        token=token,
        key="" if token else page_key(settings.home),
        public_url=settings.public_url,
        clock=system_clock(),
        sign_outs=SignOuts(database) if database else None,
        sign_in=make_sign_in(settings, database) if settings.oidc_issuer else None,
    )


def _serve_waiting(settings: Settings) -> AbstractAsyncContextManager[object]:
    """Answer 503 while the start waits for the database."""
    return serve_app(waiting_application(_guard(settings)), settings.host, settings.port)


@asynccontextmanager
async def _serve_pages(process: StartedProcess, surface: WebSurface) -> AsyncIterator[WebContext]:
    """Serve the pages inside the `with` block; raise SettingsError if the port is in use."""
    signoff = process.signoff
    settings, core = signoff.settings, signoff.core
    workspace = WebContext(
        actions=signoff.actions,
        service=core.service,
        views=core.views,
        agent_settings=core.agent_settings,
        rules=core.rules,
        memories=core.memories,
        drafting=core.drafting,
        uploads=core.uploads,
        tour=core.tour,
        hub=surface.hub,
        guard=_guard(settings, core.database),
        clock=core.clock,
        model_label=ModelLabel(signoff.model, newest=core.metered_model.newest),
        renderer=make_renderer(),
        count_workers=lambda: core.engine.workers,
        is_stopping=partial(is_stopping, core),
        templates=choose_templates(settings),
    )
    async with mcp_routes(signoff, surface.hub) as routes:
        metrics = Metrics(
            guard=metrics_guard(settings, core.clock) or workspace.guard,
            meters=signoff.meters or PrometheusMeters(),
            page=workspace,
            heard=process.heard,
        )
        app = application(workspace, (*process.routes, *routes), process.heard, metrics)
        async with serve_app(app, settings.host, settings.port):
            note_place(settings)
            yield workspace


async def _tell(signoff: Signoff, workspace: WebContext) -> None:
    """Print the page's address and the doctor's findings; show hints on the page. Then wait until cancelled."""
    say(f"Signoff is at {page_address(signoff.settings, for_log=not sys.stdout.isatty())}")
    await signoff.models.prepare()
    found = await findings(signoff.settings, probes(signoff.settings))
    workspace.model_label = replace(
        workspace.model_label,
        setup=tuple(each.why for each in found if each.name == "local model"),
        checked=tuple(each.why for each in found if each.name == "model" and each.state in ("warn", "fault")),
        memory=memory_hints(signoff.models),
    )
    say(report(found))
    await asyncio.Event().wait()


async def _work_until_told(process: StartedProcess, *jobs: Awaitable[None]) -> None:
    """Advance the agents beside these jobs, until the process is told to end; then drain."""
    core = process.signoff.core
    engine = work(core.engine, core.loop)
    await until_told(engine, *process.jobs, *core.background_jobs, *jobs, drain=partial(_drain, process.signoff))


async def _drain(signoff: Signoff) -> None:
    """Bring the agents' work to an end, and say so."""
    seconds = signoff.settings.shutdown_seconds
    if number := signoff.core.engine.in_progress:
        say(
            f"Signoff stops: {counted(number, 'agent')} at work; running commands have {seconds} s. "
            "Ctrl-C ends them now."
        )
    else:
        say("Signoff stops: no agent is at work.")
    late = await signoff.core.drain(seconds)
    if late:
        say(f"Ended after {seconds} s: the command of {counted(late, 'agent')}. Each card asks what became of it.")


def memory_hints(models: Models) -> tuple[str, ...]:
    """Hints for the memory page: how memories are searched."""
    meaning = "Found by words, not by meaning: nothing here embeds texts. EMBEDDING_MODEL changes that."
    return () if models.embedder.is_semantic else (meaning,)
