"""The findings of `signoff doctor` on plugins, and on names in DISABLED_COMMANDS that stop the start."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, cast

from agent_core.capabilities.capability import CommandParts, Finding
from agent_core.errors import SettingsError
from agent_core.oversight.secrets import Secrets
from agent_core.plugins.loaded import LoadedPlugin, one_line
from agent_core.plugins.plugin_set import PluginSet
from agent_core.text.lines import counted
from bot.capabilities import Capabilities
from bot.settings import Settings
from bot.wiring.plugins import plugin_environment, try_plugins

MAX_NAME_CHARACTERS = 60
NOTHING = cast("Any", None)  # commands are declared here, and none of them runs
NO_PARTS = CommandParts(database=NOTHING, clock=NOTHING, memory=NOTHING, helpers=NOTHING, metered_model=NOTHING)


async def plugins_finding(capabilities: Capabilities) -> Finding | None:
    """The finding on plugins, or None where none is named: each with its commands, and what is left out. No secrets."""
    settings = capabilities.settings
    if not settings.has_plugins:
        return _without_plugins(settings)
    try:
        found = _registered(capabilities, await try_plugins(settings))
    except SettingsError as fault:
        return Finding(name="plugins", state="fault", why=str(fault), variable=fault.variable)
    titles = ", ".join(f"{each.title} ({counted(len(each.commands), 'command')})" for each in found.working) or "none"
    left_out = [*found.faults, *(fault for each in found.loaded for fault in _left_out(each))]
    unmatched = _unmatched_names(settings, found)
    parts = (f"Left out: {'; '.join(left_out)}" if left_out else "", *unmatched)
    why = ". ".join((titles, *filter(None, parts)))
    return Finding(
        name="plugins",
        state="warn" if left_out or unmatched else "on",
        why=Secrets.of(settings.secrets).redact(why),
        variable="PLUGINS_DIR" if settings.plugins_dir else "PLUGIN_PACKAGES",
    )


def disabled_finding(capabilities: Capabilities) -> Finding | None:
    """The finding on DISABLED_COMMANDS and DISABLED_CATEGORIES if `run` would not start for a name in them."""
    try:
        capabilities.commands(NO_PARTS)
    except SettingsError as fault:
        return Finding(
            name="commands", state="fault", why=f"run does not start: {fault.fault}", variable=fault.variable
        )
    return None


def _without_plugins(settings: Settings) -> Finding | None:
    """The finding where no plugin is named, but something about plugins is."""
    given = {
        "ALLOWLISTED_PLUGINS": settings.allowlisted_plugins,
        "DENYLISTED_PLUGINS": settings.denylisted_plugins,
        "PLUGIN_CLASSES": settings.plugin_classes,
        "PLUGIN_ENV": settings.plugin_env,
    }
    if not (set_names := [name for name, value in given.items() if value]):
        return None
    why = f"none: {', '.join(set_names)} changes nothing without PLUGINS_DIR or PLUGIN_PACKAGES"
    return Finding(name="plugins", state="warn", why=why, variable="PLUGINS_DIR")


def _unmatched_names(settings: Settings, found: PluginSet) -> list[str]:
    """A sentence on each variable that names what is not there."""
    unset = [name for name in settings.plugin_env if name not in plugin_environment(settings)]
    unmatched = {
        **found.unmatched,
        "PLUGIN_CLASSES": found.overrides.unmatched(found.loaded),
    }
    lines = [f"{name} names {_quoted(names)}, which no plugin has" for name, names in unmatched.items() if names]
    return [*lines, *([f"PLUGIN_ENV names {_quoted(unset)}, which is not set"] if unset else [])]


def _quoted(names: Iterable[str]) -> str:
    return ", ".join(one_line(name, MAX_NAME_CHARACTERS) for name in names)


def _registered(capabilities: Capabilities, found: PluginSet) -> PluginSet:
    """The plugins after they were asked for all that they add, beside the commands of Signoff."""
    replace(capabilities, plugins=found).every_command(NO_PARTS)
    found.guidance()
    return found


def _left_out(loaded: LoadedPlugin) -> list[str]:
    faults = [loaded.fault] if loaded.fault else loaded.remarks
    return [f"{loaded.title}: {fault}" for fault in faults]
