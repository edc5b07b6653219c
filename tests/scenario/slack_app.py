"""A team's Slack and Signoff at work in it: the real SDK over real sockets, real SQLite; the model is scripted."""

import asyncio
import re
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from aiohttp import web

from adapters.slack.connection import SlackConnection
from agent_core.capabilities.demo.rehearsal import RehearsalModel
from agent_core.capabilities.files.folder_workspace import FolderWorkspaces
from agent_core.model.agent import Agent
from agent_core.model.origin import ChannelScope
from agent_core.persistence.database import SqlDatabase
from agent_core.ports.clock import Clock
from agent_core.ports.models import LanguageModel
from agent_core.providers.clock import SystemClock
from agent_core.testing.stage import Stage
from bot.platforms.platform import PlatformParts
from bot.platforms.slack.wiring import WiredSlack
from bot.settings import Settings, load
from bot.worker import work
from tests.standins.slack.people import Person
from tests.standins.slack.server import SlackStandin
from tests.standins.slack.teams import Channel, Team
from tests.standins.slack.values import Json, Mention
from tests.tables import make_tables
from tests.wiring import actions_of

Transport = Literal["socket", "http"]
SIGNING_SECRET = "s3cret"
GENERAL = ChannelScope("slack", "T1", "C1")


@dataclass(frozen=True, slots=True)
class Office:
    """A workspace with a channel and two people."""

    slack: SlackStandin
    team: Team
    general: Channel
    ana: Person
    ben: Person

    @classmethod
    @asynccontextmanager
    async def opened(cls) -> AsyncIterator["Office"]:
        """Open it; whatever Slack would refuse or warn of fails the test at the end."""
        async with SlackStandin.started(signing_secret=SIGNING_SECRET, app_token="xapp-1-A1") as slack:
            team = slack.team("T1", bot_token="xoxb-1")
            general = team.channel("C1", "general")
            yield cls(slack, team, general, team.person("U1", "ana"), team.person("U2", "ben"))
            assert slack.warnings == []
            assert [each for each in slack.notified if not is_meant(each)] == []

    def cards(self, channel: Channel | None = None) -> list[Json]:
        """Every turn's card in the channel, as it stands."""
        return [message for message in (channel or self.general).messages if kind_of(message) == "signoff_turn"]

    async def card(self, turn: int, *texts: str) -> Json:
        """The card of a turn, whole or folded, once it says all of this."""
        named = re.compile(rf"(?:^|· )turn {turn} ·|^[✓✗–] {turn} ", re.MULTILINE)

        def found() -> Json | None:
            there = [card for card in self.cards() if named.search(text_of(card))]
            return there[0] if there and all(text in text_of(there[0]) for text in texts) else None

        await self.slack.until(lambda: found() is not None)
        card = found()
        assert card
        return card

    async def said(self, text: str) -> Json:
        """A message of the channel that says this, once there is one."""
        await self.slack.until(lambda: any(text in text_of(message) for message in self.general.messages))
        return next(message for message in self.general.messages if text in text_of(message))

    async def told(self, person: Person, text: str) -> Json:
        """What only this person sees, once it says this."""
        await self.slack.until(lambda: any(text in text_of(message) for message in person.ephemerals))
        return next(message for message in person.ephemerals if text in text_of(message))

    async def form(self, person: Person, title: str) -> Json:
        """The form that is open before a person, once it has this title."""
        await self.slack.until(lambda: bool(person.view) and title in text_of((person.view or {})["title"]))
        assert person.view
        return person.view

    async def changed(self, person: Person, view: Json) -> Json:
        """What stands in place of a view, once it does."""
        await self.slack.until(lambda: bool(person.view) and (person.view or {})["hash"] != view["hash"])
        assert person.view
        return person.view


def is_meant(mention: Mention) -> bool:
    """Whether our own code mentions: the owner in the root message, and people and groups in a reminder."""
    is_of_ours = mention.kind in ("signoff_agent", "signoff_reminder")
    return is_of_ours and mention.who.startswith(("<@", "<!subteam^"))


@dataclass(frozen=True, slots=True)
class Running:
    """Signoff at work."""

    stage: Stage
    connection: SlackConnection
    address: str

    async def agent(self, name: str = "Clerk") -> Agent:
        """An agent of the general channel by its name."""
        agent = await self.stage.views.find_by_name(GENERAL, name)
        assert agent
        return agent


def settings_for(office: Office, folder: Path, transport: Transport) -> Settings:
    """The settings of an operator for this Slack."""
    way_in = {"SLACK_APP_TOKEN": "xapp-1-A1"} if transport == "socket" else {"SLACK_SIGNING_SECRET": SIGNING_SECRET}
    home = {"SIGNOFF_HOME": str(folder), "SLACK_API_URL": office.slack.api_url.rstrip("/")}
    return load({**home, "SLACK_BOT_TOKEN": "xoxb-1", **way_in}, None)


@asynccontextmanager
async def at_work(
    office: Office,
    model: LanguageModel,
    folder: Path,
    *,
    transport: Transport = "http",
    settings: Settings | None = None,
    clock: Clock | None = None,
    **stage_options: Any,
) -> AsyncIterator[Running]:
    """One process of Signoff; leave the block and enter another to restart it."""
    chosen = settings or settings_for(office, folder, transport)
    time = clock or SystemClock()
    await make_tables(chosen.database_url)
    database = SqlDatabase(chosen.database_url)
    workspaces = FolderWorkspaces(folder / "workspaces")
    parts = PlatformParts(database=database, workspaces=workspaces, clock=time, model=model)
    side = WiredSlack.of(chosen, parts)
    stage = Stage(
        model=model,
        database=database,
        surface=side.surface,
        rehearsal=model if isinstance(model, RehearsalModel) else None,
        workspaces=workspaces,
        clock=time,
        **stage_options,
    )
    connection = _connected(side, stage, model)
    runner, address = await _served(connection)
    if not chosen.slack_app_token:
        office.slack.deliver_to(f"{address}/slack/events")
    await connection.prepare()
    tasks = [asyncio.create_task(work(stage.engine, stage.loop)), asyncio.create_task(connection.run())]
    try:
        if chosen.slack_app_token:
            await office.slack.connected()
        yield Running(stage, connection, address)
    finally:
        await _ended(tasks)
        await runner.cleanup()
        await side.close()
        await database.close()


def _connected(side: WiredSlack, stage: Stage, model: LanguageModel) -> SlackConnection:
    connection = side.connect(actions_of(stage), stage.core)
    connection.ping_interval = 0.2
    return connection


async def _served(connection: SlackConnection) -> tuple[web.AppRunner, str]:
    app = web.Application()
    app.add_routes(connection.routes)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    return runner, f"http://127.0.0.1:{runner.addresses[0][1]}"


async def _ended(tasks: Sequence[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def kind_of(message: Json) -> str:
    """Which of our messages this is, by its metadata."""
    return str((message.get("metadata") or {}).get("event_type") or "")


def text_of(value: Any) -> str:
    """Everything that can be read in a message or view."""
    if isinstance(value, dict):
        shown = [item for name, item in value.items() if name not in ("value", "private_metadata", "metadata")]
        return "\n".join(filter(None, map(text_of, shown)))
    if isinstance(value, list):
        return "\n".join(filter(None, map(text_of, value)))
    return value if isinstance(value, str) else ""
