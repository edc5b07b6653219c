"""Loads all plugins: Signoff's own into this process, those of AutoGPT into workers in the sandbox.

Part of the composition root. Modules for plugins of AutoGPT are imported only if there are any.
"""

import asyncio
import logging
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from agent_core.capabilities.files.folder_workspace import FolderWorkspaces
from agent_core.capabilities.programs.capability import IN_A_BUCKET, USE_A_FOLDER
from agent_core.capabilities.web.capability import internal_hosts
from agent_core.errors import SettingsError
from agent_core.oversight.secrets import Secrets
from agent_core.plugins.loading import load_plugins
from agent_core.plugins.plugin_set import PluginSet
from agent_core.plugins.risk_overrides import RiskOverrides
from agent_core.ports.clock import Clock
from agent_core.providers.clock import SystemClock
from bot.settings import VARIABLES, Settings, written_variables

if TYPE_CHECKING:
    from agent_core.capabilities.autogpt.discovery import Discovery, FoundPlugin
    from agent_core.capabilities.autogpt.plugin_python import PluginPython
    from agent_core.capabilities.autogpt.worker import WorkerHost


logger = logging.getLogger(__name__)
NEEDS_SANDBOX = "plugins of AutoGPT are off: they run in the sandbox bubblewrap only"


async def load_all_plugins(settings: Settings, clock: Clock, env_file: str = ".env") -> PluginSet:
    """The plugins that the settings name; raise SettingsError for an invalid PLUGIN_PYTHON or internal host.

    Plugins of AutoGPT are found by their names alone, and each one that is allowed is asked in the sandbox what it
    adds. If the sandbox does not hold, or the agents' files are in a bucket, none of them is.
    """
    if not settings.has_plugins:
        return PluginSet()
    python, discovery = await asyncio.to_thread(_discover, settings)
    own = [each for each in settings.plugin_packages if each not in discovery.packages]
    plugins = load_plugins(own, settings.plugins_dir)
    plugins.overrides = RiskOverrides(settings.plugin_classes)
    plugins.unmatched = {
        "ALLOWLISTED_PLUGINS": discovery.unmatched(settings.allowlisted_plugins),
        "DENYLISTED_PLUGINS": discovery.unmatched(settings.denylisted_plugins),
    }
    plugins.faults += discovery.faults
    if discovery.plugins and not settings.workspace_folder:
        plugins.faults.append(f"plugins of AutoGPT are off: {IN_A_BUCKET}. {USE_A_FOLDER}")
    elif discovery.plugins and settings.workspace_folder:
        from agent_core.capabilities.autogpt.loading import embedders_of, thoughts_of

        workspaces = FolderWorkspaces(settings.workspace_folder)
        host = _host(settings, python, workspaces, clock, env_file)
        await _add(plugins, discovery.plugins, host, workspaces)
        keys = Secrets.of(settings.secrets)
        plugins.thoughts, plugins.embedders = thoughts_of(plugins.loaded, keys), embedders_of(plugins.loaded, keys)
    return plugins


async def try_plugins(settings: Settings) -> PluginSet:
    """The plugins as the next start would load them, without any process of theirs; raise SettingsError."""
    plugins = await load_all_plugins(settings, SystemClock())
    await plugins.close()
    return plugins


def _discover(settings: Settings) -> "tuple[PluginPython, Discovery]":
    from agent_core.capabilities.autogpt.discovery import Choice, Discovery
    from agent_core.capabilities.autogpt.plugin_python import PluginPython

    try:
        python = PluginPython.of(settings.plugin_python)
    except ValueError as fault:
        raise SettingsError("PLUGIN_PYTHON", f"{fault}.", VARIABLES["PLUGIN_PYTHON"].example) from None
    found = Discovery(
        choice=Choice.of(settings.allowlisted_plugins, settings.denylisted_plugins, "ALLOWLISTED_PLUGINS")
    )
    if settings.plugins_dir:
        found.look_into(settings.plugins_dir)
    found.look_at(settings.plugin_packages, [*map(str, python.packages)], sys.path)
    return python, found


def _host(
    settings: Settings,
    python: "PluginPython",
    workspaces: FolderWorkspaces,
    clock: Clock,
    env_file: str,
) -> "WorkerHost":
    from agent_core.capabilities.autogpt.worker import WorkerHost
    from agent_core.capabilities.programs.bubblewrap import BubblewrapBackend
    from agent_core.providers.egress.gateway import EgressGateway

    backend = BubblewrapBackend(
        data=settings.home, file_bytes=workspaces.limits.file_bytes, interpreter=python.interpreter
    )
    return WorkerHost(
        backend=backend,
        python=python,
        clock=clock,
        seconds=settings.plugin_seconds,
        environment=plugin_environment(settings, env_file),
        gateway=EgressGateway(internal=internal_hosts(settings, settings.port)),
        is_open=settings.plugin_network == "open",
    )


async def _add(
    plugins: PluginSet,
    found: "list[FoundPlugin]",
    host: "WorkerHost",
    workspaces: FolderWorkspaces,
) -> None:
    from agent_core.capabilities.autogpt.loading import load_autogpt_plugins
    from agent_core.capabilities.autogpt.worker_pool import WorkerPool
    from agent_core.capabilities.programs.process_sandbox import bubblewrap_sandbox

    if fault := await bubblewrap_sandbox(workspaces, host.clock, host.backend.data).self_test():
        logger.error("no plugin of AutoGPT will run", extra={"why": fault})
        plugins.faults.append(f"{NEEDS_SANDBOX}. {fault.rstrip('.')}")
        return
    pool = WorkerPool(host=host, workspaces=workspaces)
    asked = await load_autogpt_plugins(found, pool, "PLUGIN_PYTHON")
    plugins.faults += asked.faults
    for each in asked.loaded:
        if any(each.name == other.name for other in plugins.loaded):
            plugins.faults.append(f"{each.source}: there is a plugin {each.name} already")
        else:
            plugins.loaded.append(each)
    plugins.closers.append(pool.close)


def plugin_environment(settings: Settings, env_file: str | Path = ".env") -> Mapping[str, str]:
    """The variables that PLUGIN_ENV names, from the environment or from `.env`; those that are not set are left out."""
    if not settings.plugin_env:
        return {}
    written = written_variables(env_file)
    given = {name: os.environ.get(name, written.get(name.upper(), "")) for name in settings.plugin_env}
    return {name: text for name, text in given.items() if text}
