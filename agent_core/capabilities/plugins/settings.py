"""The settings of plugins, Signoff's own and AutoGPT's: where they are, which may run, what they see and reach."""

from pathlib import Path
from typing import Annotated, ClassVar, Literal

from agent_core.capabilities.declaring import SettingsGroup, setting
from agent_core.capabilities.setting_types import LOWER_CASE, ClassesByName, Folder, Names, Seconds


class PluginSettings(SettingsGroup):
    """Where plugins are, which of them may run, and what they may see and reach."""

    title: ClassVar[str] = "Plugins"

    plugin_packages: Names = setting(
        (),
        "Installed Python packages with plugins, by import name. Their code runs in Signoff's own process with all "
        "its rights: name only what you trust. `doctor` names those that fail to load.",
        rule="import names, separated by commas",
        example="word_counter",
    )
    plugins_dir: Folder | None = setting(
        None,
        "A folder of plugins: Python files, or folders with an `__init__.py`. Their code is trusted too. Files that "
        "import nothing of Signoff's plugins do not run. Zips and folders with AutoGPT's plugins may be there as well.",
        example="/etc/signoff/plugins",
    )
    allowlisted_plugins: Names = setting(
        (),
        "AutoGPT's plugins in PLUGINS_DIR that may run, by the name of class, folder or zip. No code of any other "
        "runs.",
        unset="none of them",
        example="AutoGPTWikipediaSearch,AutoGPTEmailPlugin",
    )
    denylisted_plugins: Names = setting(
        (),
        "AutoGPT's plugins that never run, by the name of class, folder, zip or package, even if another variable "
        "allows them.",
        example="AutoGPTTwitter",
    )
    plugin_classes: ClassesByName = setting(
        {},
        "Risk classes of plugins' commands, by the name of a plugin or of one command (Plugin.command), which wins. "
        "They replace the class publish of AutoGPT's plugins, and are added to those of Signoff's own plugins. A "
        "command that only reads runs again after a crash without asking.",
        example="AutoGPTWikipediaSearch=read+network,AutoGPTEmailPlugin.send_email=network+publish",
    )
    plugin_python: Path | None = setting(
        None,
        "The Python whose packages AutoGPT's plugins may import, such as that of a virtual environment. They see "
        "these packages read-only.",
        rule="the path of a Python 3.10 or newer",
        unset="the Python that runs Signoff",
        example="/opt/plugins/bin/python",
    )
    plugin_env: Names = setting(
        (),
        "The only variables that AutoGPT's plugins see. Their values come from the environment or `.env`. Signoff "
        "hides them in what the plugins return.",
        rule="names of variables, separated by commas",
        example="WIKIPEDIA_TOKEN,EMAIL_ADDRESS",
    )
    plugin_seconds: Seconds = setting(
        10,
        "The most seconds that a hook, a command or the start of an AutoGPT plugin may take. Then Signoff ends its "
        "process and leaves out the hook, or the plugin until the next start.",
        example="30",
    )
    plugin_network: Annotated[Literal["gateway", "open"], LOWER_CASE] = setting(
        "gateway",
        "What AutoGPT's plugins can reach. `gateway`: the same as agents' commands, over http and https. `open`: "
        "everything that this machine can reach, including your own network.",
        example="open",
    )

    @property
    def has_plugins(self) -> bool:
        """Whether any plugin is configured, also one that cannot be loaded."""
        return bool(self.plugin_packages) or self.plugins_dir is not None
