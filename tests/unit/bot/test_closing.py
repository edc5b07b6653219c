"""What holds several parts closes each of them at the end, also if one fails or the close is cancelled."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from agent_core.capabilities.capability import Capability
from agent_core.capabilities.files.folder_workspace import FolderWorkspaces
from agent_core.capabilities.media.capability import MediaCapability
from agent_core.capabilities.programs.process_sandbox import ProcessSandbox
from agent_core.errors import SettingsError
from agent_core.model.ids import AgentId
from agent_core.plugins.plugin_set import PluginSet
from agent_core.ports.sandbox import NOTHING_SEALED
from agent_core.providers.clock import SystemClock
from agent_core.testing.database import TemporaryDatabase
from agent_core.testing.examples import an_agent
from bot import bootstrap
from bot.bootstrap import assemble
from bot.capabilities import Capabilities
from bot.settings import load
from bot.wiring.models import Models
from tests.patience import PATIENCE_SECONDS


@dataclass
class Part(Capability):
    """Something to close, which may first do something that keeps it from being closed."""

    first: str = ""
    is_closed: bool = False
    begun: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def endpoint(self) -> "Part":
        return self

    async def close(self) -> None:
        self.begun.set()
        if self.first == "fails":
            raise OSError("could not be closed")
        if self.first == "waits":
            await asyncio.Event().wait()
        self.is_closed = True


Closes = Callable[[Any, Any, Any], Any]


def capabilities(one: Any, two: Any, three: Any) -> Capabilities:
    return replace(Capabilities.of(load({}, None)), every=(one, two, three))


def media(one: Any, two: Any, three: Any) -> MediaCapability:
    made = next(each for each in Capabilities.of(load({}, None)).every if isinstance(each, MediaCapability))
    return replace(made, images=one, transcriber=two, voice=three)


def models(one: Any, two: Any, three: Any) -> Models:
    return replace(Models.of(load({}, None), TemporaryDatabase()), model=one, embedder=two, index=three)


def plugins(*parts: Any) -> PluginSet:
    return PluginSet(closers=[each.close for each in parts])


EVERY_HOLDER = pytest.mark.parametrize("holding", [capabilities, media, models, plugins])


@EVERY_HOLDER
async def test_a_part_that_fails_to_close_leaves_no_other_open(holding: Closes) -> None:
    one, two, three = Part(), Part(first="fails"), Part()
    with pytest.raises(OSError, match="could not be closed"):
        await holding(one, two, three).close()
    assert (one.is_closed, three.is_closed) == (True, True)


@EVERY_HOLDER
async def test_a_close_that_is_cancelled_leaves_no_other_part_open(holding: Closes) -> None:
    one, two, three = Part(), Part(first="waits"), Part()
    closing = asyncio.create_task(holding(one, two, three).close())
    await asyncio.wait_for(two.begun.wait(), PATIENCE_SECONDS)
    closing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await closing
    assert (one.is_closed, three.is_closed) == (True, True)


class Program:
    """A program that runs until it is killed, and cannot be if it is called `stubborn`."""

    def __init__(self, name: str) -> None:
        self.name, self.output, self.is_killed = name, asyncio.StreamReader(), False
        self.output.feed_data(b"up\n")

    async def wait_ended(self) -> int:
        return 0

    async def kill(self) -> None:
        if self.name == "stubborn":
            raise OSError("could not be killed")
        if not self.is_killed:
            self.is_killed = True
            self.output.feed_eof()

    def end_reason(self) -> str:
        return ""

    def exceeded_limit(self) -> str:
        return ""


@dataclass
class Backend:
    """Starts these programs, and keeps them."""

    programs: list[Program] = field(default_factory=list)

    async def find_missing(self) -> str:
        return ""

    async def start(self, argv: Sequence[str], folder: Path, sealed: Mapping[str, bytes] = NOTHING_SEALED) -> Program:
        self.programs.append(Program(argv[0]))
        return self.programs[-1]


async def test_a_program_that_cannot_be_killed_leaves_no_other_running(tmp_path: Path) -> None:
    backend = Backend()
    sandbox = ProcessSandbox(backend=backend, workspaces=FolderWorkspaces(tmp_path), clock=SystemClock())
    for agent, name in (("0ada", "mild"), ("0bob", "mild"), ("0bob", "stubborn"), ("0bob", "mild"), ("0cy", "mild")):
        await sandbox.start((name,), an_agent(id=AgentId(agent)))
    with pytest.raises(OSError, match="could not be killed"):
        await sandbox.close()
    assert [each.name for each in backend.programs if not each.is_killed] == ["stubborn"]


@pytest.mark.slow
async def test_a_start_that_is_refused_after_plugins_were_loaded_closes_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plugin = Part()

    async def load_plugins(*_: object) -> PluginSet:
        return PluginSet(closers=[plugin.close])

    monkeypatch.setattr(bootstrap, "load_all_plugins", load_plugins)
    settings = load({"SIGNOFF_HOME": str(tmp_path), "ALLOW_INTERNAL_HOSTS": "bad host/!!"}, None)
    with pytest.raises(SettingsError, match="ALLOW_INTERNAL_HOSTS: 'bad host/!!' is no host name"):
        async with assemble(settings):
            pass
    assert plugin.is_closed
