"""Loads the allowed plugins of AutoGPT: each is asked in the sandbox what it adds; one that fails gets a line."""

import asyncio
import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from agent_core.capabilities.autogpt.autogpt_plugin import AutoGptPlugin
from agent_core.capabilities.autogpt.declared import PluginAdditions
from agent_core.capabilities.autogpt.discovery import FoundPlugin
from agent_core.capabilities.autogpt.embedding import TEXT_EMBEDDING, AutoGptEmbedders
from agent_core.capabilities.autogpt.thoughts import AutoGptThoughts
from agent_core.capabilities.autogpt.worker import PluginRaised
from agent_core.capabilities.autogpt.worker_pool import WorkerPool
from agent_core.errors import CommandError
from agent_core.oversight.secrets import NO_SECRETS, Secrets
from agent_core.plugins.loaded import LoadedPlugin, one_line
from agent_core.plugins.plugin_set import is_plugin_name

logger = logging.getLogger(__name__)
AT_ONCE = 4  # workers that are asked at the start
AUTOGPT = "autogpt"


@dataclass(frozen=True, slots=True)
class LoadedPlugins:
    """The plugins that can take part, and a line on each one that cannot."""

    loaded: tuple[LoadedPlugin, ...]
    faults: tuple[str, ...]


def thoughts_of(loaded: Iterable[LoadedPlugin], keys: Secrets = NO_SECRETS) -> AutoGptThoughts | None:
    """The hooks of these plugins, in their order; None if no plugin has any. `keys`: what they are not told."""
    plugins = [each.plugin for each in loaded if isinstance(each.plugin, AutoGptPlugin)]
    hooked = tuple(each for each in plugins if each.has_hooks)
    return AutoGptThoughts(hooked, keys) if hooked else None


def embedders_of(loaded: Iterable[LoadedPlugin], keys: Secrets = NO_SECRETS) -> AutoGptEmbedders | None:
    """What embeds texts, in the order of the plugins; None if none does. `keys`: what they are not told."""
    plugins = [each.plugin for each in loaded if isinstance(each.plugin, AutoGptPlugin)]
    embedding = tuple(each for each in plugins if each.has(TEXT_EMBEDDING))
    return AutoGptEmbedders(embedding, keys) if embedding else None


async def load_autogpt_plugins(
    found: Sequence[FoundPlugin], pool: WorkerPool, python_setting: str = "their Python"
) -> LoadedPlugins:
    """Ask each plugin what it adds, some at a time. One that fails stops no other; never raises.

    `python_setting`: the operator's setting of the Python that holds what plugins need, for messages.
    """
    turns = asyncio.Semaphore(AT_ONCE)
    secrets = Secrets.of(pool.host.environment.values())

    async def load(each: FoundPlugin) -> LoadedPlugin | str:
        async with turns:
            try:
                return _loaded(each, PluginAdditions.of(await pool.look(each)), pool, secrets)
            except CommandError as fault:
                return secrets.redact(f"{each.title}: {_why(fault, python_setting)}")
            except OSError as fault:
                return f"{each.title}: it could not be tried ({fault.strerror})"

    asked = await asyncio.gather(*map(load, found))
    faults = tuple(each for each in asked if isinstance(each, str))
    for fault in faults:
        logger.error("a plugin could not be loaded", extra={"why": fault})
    return LoadedPlugins(tuple(each for each in asked if isinstance(each, LoadedPlugin)), faults)


def _loaded(found: FoundPlugin, additions: PluginAdditions, pool: WorkerPool, secrets: Secrets) -> LoadedPlugin | str:
    if not is_plugin_name(found.kind.name):
        return f"{found.source.title}: {found.kind.name[:40]!a} is no name of a plugin"
    plugin = AutoGptPlugin(found=found, additions=additions, pool=pool, secrets=secrets)
    plugin.loaded = LoadedPlugin(
        name=found.kind.name,
        version=one_line(found.source.version, 60),
        source=found.source.title,
        plugin=plugin,
        declares_classes=False,
    )
    return plugin.loaded


def _why(fault: CommandError, python_setting: str) -> str:
    """What keeps a plugin from loading; a missing module is named, with where it has to be."""
    missing = fault.missing if isinstance(fault, PluginRaised) else ""
    if not missing:
        return one_line(str(fault), 200)
    if missing.partition(".")[0] == AUTOGPT:
        return f"it needs {missing}, a part of AutoGPT itself, which is not here"
    return f"it needs {one_line(missing, 60)}, which {python_setting} does not have"
