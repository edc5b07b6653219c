"""Plugins of AutoGPT as tests write them, and real workers for them."""

import zipfile
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from textwrap import dedent, indent
from typing import Any

from agent_core.capabilities.autogpt.discovery import Choice, Discovery
from agent_core.capabilities.autogpt.loading import embedders_of, load_autogpt_plugins, thoughts_of
from agent_core.capabilities.autogpt.plugin_python import PluginPython
from agent_core.capabilities.autogpt.worker import WorkerHost
from agent_core.capabilities.autogpt.worker_pool import WorkerPool
from agent_core.capabilities.files.folder_workspace import FolderWorkspaces
from agent_core.capabilities.programs.bubblewrap import BubblewrapBackend
from agent_core.capabilities.web.pages import load_sites
from agent_core.model.agent import Agent
from agent_core.model.ids import AgentId
from agent_core.plugins.loaded import LoadedPlugin
from agent_core.plugins.plugin_set import PluginSet
from agent_core.ports.clock import Clock
from agent_core.providers.clock import SystemClock
from agent_core.testing.database import TemporaryDatabase
from agent_core.testing.examples import an_agent
from agent_core.toolset.registry import CommandContext
from tests.packages import SANDBOX, need
from tests.patience import PATIENCE_SECONDS

AGENT = an_agent(id=AgentId("0agent"))


def plugin_source(name: str = "TeaPlugin", command: str = "return 'tea'", rest: str = "", imports: str = "") -> str:
    """A plugin with one command `tea`, whose body is `command`; `rest`: more methods of the class."""
    body = indent(dedent(command).strip(), "    ")
    return "\n".join(
        [
            "import os, sys, time, socket, json",
            "from auto_gpt_plugin_template import AutoGPTPluginTemplate",
            dedent(imports).strip(),
            "def tea(*given, **named):",
            body,
            f"class {name}(AutoGPTPluginTemplate):",
            "    def __init__(self):",
            "        super().__init__()",
            "    def can_handle_post_prompt(self):",
            "        return True",
            "    def post_prompt(self, prompt):",
            "        prompt.add_command('Make tea', 'tea', {'kind': '<kind of tea>'}, tea)",
            "        return prompt",
            indent(dedent(rest).strip(), "    "),
            "",
        ]
    )


def zipped(path: Path, files: Mapping[str, str]) -> Path:
    """A zip at this path with these texts."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return path


def host_at(data: Path, **facts: Any) -> WorkerHost:
    """What starts real workers; raise NotInstalled."""
    need(*SANDBOX)
    python = facts.pop("python", None) or PluginPython.of(None)
    clock: Clock = facts.pop("clock", None) or SystemClock()
    backend = BubblewrapBackend(data=data / "data", file_bytes=1_000_000, interpreter=python.interpreter)
    return WorkerHost(backend=backend, python=python, clock=clock, seconds=facts.pop("seconds", 20), **facts)


class Plugins:
    """Plugins of AutoGPT that were found in a folder, with a pool of workers for them."""

    def __init__(self, data: Path, **facts: Any) -> None:
        self.folder, self.host = data / "plugins", host_at(data, **facts)
        self.folder.mkdir(exist_ok=True)
        self.pool = WorkerPool(host=self.host, workspaces=FolderWorkspaces(data / "workspaces"))
        self.pool.load_sites = partial(load_sites, TemporaryDatabase())

    def found(self, *allowed: str, denied: tuple[str, ...] = (), packages: tuple[str, ...] = ()) -> Discovery:
        discovery = Discovery(choice=Choice.of(allowed, denied))
        discovery.look_into(self.folder)
        discovery.look_at(packages, [*map(str, self.host.python.packages)])
        return discovery

    async def loaded(self, *allowed: str, packages: tuple[str, ...] = ()) -> PluginSet:
        """The plugins, each asked in its worker what it adds."""
        discovery = self.found(*allowed, packages=packages)
        asked = await load_autogpt_plugins(discovery.plugins, self.pool)
        faults = [*discovery.faults, *asked.faults]
        hooked, embedding = thoughts_of(asked.loaded), embedders_of(asked.loaded)
        return PluginSet(loaded=[*asked.loaded], faults=faults, thoughts=hooked, embedders=embedding)

    async def one(self, source: str) -> LoadedPlugin:
        """The one plugin of a zip with this source."""
        zipped(self.folder / "tea.zip", {"tea_plugin/__init__.py": source})
        plugins = await self.loaded("tea")
        assert plugins.faults == []
        return plugins.loaded[0]

    def context(self, agent: Agent = AGENT) -> CommandContext:
        return CommandContext(agent=agent, files=self.pool.workspaces.of(agent))

    async def close(self) -> None:
        await self.pool.close()


LONG = PATIENCE_SECONDS
