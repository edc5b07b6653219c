"""A Signoff that serves its pages on a free port: real sockets, real SQLite, real files; only the model is scripted."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import TypeAlias

from aiohttp import web

from adapters.http_body import BODY_TIMEOUT, BODY_TIMEOUT_SECONDS
from adapters.web.guard import Guard
from adapters.web.page_context import ModelLabel, WebContext
from adapters.web.sign_in.sessions import AccountSignIn
from adapters.web.surface import WebSurface
from agent_core.capabilities.demo.rehearsal import RehearsalModel
from agent_core.capabilities.documents.html_renderer import IsolatedHtmlRenderer
from agent_core.capabilities.files.folder_workspace import FolderWorkspaces
from agent_core.persistence.database import SqlDatabase
from agent_core.ports.clock import Clock
from agent_core.ports.models import LanguageModel, MemoryIndex
from agent_core.providers.clock import SystemClock
from agent_core.service.housekeeping.sign_outs import SignOuts
from agent_core.testing.memory_index import InMemoryIndex
from agent_core.testing.stage import Stage
from bot.web import application, serve_app
from bot.worker import work
from tests.tables import make_tables
from tests.wiring import actions_of

MoreRoutes: TypeAlias = Callable[[Stage, WebSurface], AbstractAsyncContextManager[Sequence[web.RouteDef]]]


@asynccontextmanager
async def no_routes(_stage: Stage, _surface: WebSurface) -> AsyncIterator[Sequence[web.RouteDef]]:
    """The pages alone."""
    yield ()


@asynccontextmanager
async def served(
    model: LanguageModel,
    folder: Path,
    *,
    token: str = "",
    key: str = "",
    guard_clock: Clock | None = None,
    public_url: str = "",
    model_label: ModelLabel | None = None,
    index: MemoryIndex | None = None,
    body_seconds: float = BODY_TIMEOUT_SECONDS,
    prepared: Callable[[Stage], None] = lambda _stage: None,
    open_database: Callable[[str], SqlDatabase] = SqlDatabase,
    more_routes: MoreRoutes = no_routes,
    undo_window: timedelta = timedelta(),
    sign_in: Callable[[SqlDatabase], AccountSignIn] | None = None,
    pages: Callable[[WebContext], Sequence[web.RouteDef]] = lambda _workspace: (),
) -> AsyncIterator[str]:
    """The address of a running local workspace; everything ends with the block. `prepared` is given its stage.

    `sign_in`: makes the sign-in with accounts.

    `more_routes`: those of another surface on the same server, as long as that serves. `pages`: pages beside its own.
    """
    url = f"sqlite:///{folder / 'signoff.db'}"
    await make_tables(url)
    database = open_database(url)
    surface = WebSurface(accounts=sign_in(database).accounts if sign_in else None)
    stage = Stage(
        model=model,
        database=database,
        surface=surface,
        workspaces=FolderWorkspaces(folder / "workspaces"),
        clock=SystemClock(),
        index=index or InMemoryIndex(),
        rehearsal=model if isinstance(model, RehearsalModel) else None,
        undo_window=undo_window,
    )
    prepared(stage)
    workspace = WebContext(
        actions=actions_of(stage),
        service=stage.service,
        views=stage.views,
        agent_settings=stage.agent_settings,
        rules=stage.rules,
        memories=stage.memories,
        drafting=stage.drafting,
        uploads=stage.uploads,
        tour=stage.tour,
        hub=surface.hub,
        guard=Guard(
            token=token,
            key=key,
            public_url=public_url,
            clock=guard_clock,
            sign_outs=SignOuts(database),
            sign_in=sign_in(database) if sign_in else None,
        ),
        clock=stage.clock,
        renderer=IsolatedHtmlRenderer(),
        model_label=model_label or ModelLabel(model),
    )
    async with more_routes(stage, surface) as routes:
        app = application(workspace, [*routes, *pages(workspace)])
        app[BODY_TIMEOUT] = body_seconds
        try:
            async with serve_app(app, "127.0.0.1", 0) as runner:
                engine = asyncio.create_task(work(stage.engine, stage.loop))
                try:
                    yield f"http://127.0.0.1:{runner.addresses[0][1]}"
                finally:
                    engine.cancel()
                    await asyncio.gather(engine, return_exceptions=True)
        finally:
            await database.close()
