"""The risk classes that the operator gives to commands of plugins, applied in place of those they declare."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from agent_core.model.command import RISK_CLASSES, RiskClass
from agent_core.plugins.loaded import LoadedPlugin
from agent_core.toolset.registry import Command


@dataclass(frozen=True, slots=True)
class RiskOverrides:
    """Classes by the name of a plugin, or of one command of it (`Plugin.command`), which wins. Case does not count.

    They stand in the place of the cautious default of AutoGPT's plugins. To those that one of Signoff's own plugins
    declares they are added: its author knows what the command does, so settings make it stricter only.
    """

    by_name: Mapping[str, tuple[RiskClass, ...]] = field(default_factory=dict)

    def apply(self, loaded: LoadedPlugin, command: Command) -> Command:
        """The command of this plugin with the classes that it has now."""
        given = {name.casefold(): risks for name, risks in self.by_name.items()}
        found = next((given[name] for name in _names_of(loaded, command) if name in given), ())
        if not found:
            return command
        kept = command.spec.risks if loaded.declares_classes else ()
        risks = tuple(risk for risk in RISK_CLASSES if risk in found or risk in kept)
        return replace(command, spec=replace(command.spec, risks=risks))

    def unmatched(self, plugins: Iterable[LoadedPlugin]) -> tuple[str, ...]:
        """The names that no plugin and no command of one has."""
        known = {name for each in plugins for command in each.commands for name in _names_of(each, command)}
        return tuple(name for name in self.by_name if name.casefold() not in known)


def _names_of(loaded: LoadedPlugin, command: Command) -> tuple[str, str]:
    """The names under which the command's classes may be given, the closest first."""
    return f"{loaded.name}.{command.spec.name}".casefold(), loaded.name.casefold()
