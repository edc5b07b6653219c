"""The documentation of the environment variables for plugins."""

from functools import partial

from bot.variable_doc import FOLDER, Variable

plugin = partial(Variable, section="Plugins")
NAMES = "names, separated by commas"
PLUGINS = (
    plugin(
        name="PLUGIN_PACKAGES",
        meaning="Installed Python packages with plugins, by their import names. Their code runs in Signoff's own "
        "process, with all its rights: name only what you trust. Plugins of AutoGPT run in the sandbox instead. "
        "`doctor` names what could not be loaded.",
        rule="import names, separated by commas",
        default="none",
        example="word_counter",
    ),
    plugin(
        name="PLUGINS_DIR",
        meaning="A folder of plugins, each one Python file or one folder with an `__init__.py`. As with "
        "PLUGIN_PACKAGES, their code is trusted. Files that import nothing of Signoff's plugins are not run. Zips and "
        "folders with plugins of AutoGPT may lie there too.",
        rule=FOLDER,
        default="none",
        example="/etc/signoff/plugins",
    ),
    plugin(
        name="ALLOWLISTED_PLUGINS",
        meaning="The plugins of AutoGPT in PLUGINS_DIR that may run, by the name of class, folder or zip. Nothing of "
        "any other one is run.",
        rule=NAMES,
        default="none of them",
        example="AutoGPTWikipediaSearch,AutoGPTEmailPlugin",
    ),
    plugin(
        name="DENYLISTED_PLUGINS",
        meaning="The plugins of AutoGPT that never run, by the name of class, folder, zip or package, also if another "
        "variable allows them.",
        rule=NAMES,
        default="none",
        example="AutoGPTTwitter",
    ),
    plugin(
        name="PLUGIN_CLASSES",
        meaning="Risk classes of plugins' commands, by the name of a plugin or of one command (Plugin.command), which "
        "wins. They replace the class publish of AutoGPT's plugins; commands of Signoff's own plugins keep "
        "theirs and get these as well. What only reads is run again after a crash without asking.",
        rule="names with = and some of read, write, delete, network, execute, publish and spend joined by +, separated "
        "by commas",
        default="none",
        example="AutoGPTWikipediaSearch=read+network,AutoGPTEmailPlugin.send_email=network+publish",
    ),
    plugin(
        name="PLUGIN_PYTHON",
        meaning="The Python whose installed packages plugins of AutoGPT may import, such as that of a virtual "
        "environment. They see these packages read-only.",
        rule="the path of a Python 3.10 or newer",
        default="the Python that runs Signoff",
        example="/opt/plugins/bin/python",
    ),
    plugin(
        name="PLUGIN_ENV",
        meaning="The variables that all plugins of AutoGPT see, and no others. Their values are taken from the "
        "environment or from `.env`, and are hidden in what plugins give.",
        rule="names of variables, separated by commas",
        default="none",
        example="WIKIPEDIA_TOKEN,EMAIL_ADDRESS",
    ),
    plugin(
        name="PLUGIN_SECONDS",
        meaning="How long a hook or a command of a plugin of AutoGPT may take, and at the start its import and its "
        "constructor. Then its process is ended; a hook is left out from then on, a plugin until the next start.",
        rule="a number from 1 to 600",
        default="10",
        example="30",
    ),
    plugin(
        name="PLUGIN_NETWORK",
        meaning="What plugins of AutoGPT reach: with `gateway`, what commands of agents may reach, by http and https; "
        "with `open`, all that this machine can reach, your own network included.",
        rule="gateway or open",
        default="gateway",
        example="open",
    ),
)
