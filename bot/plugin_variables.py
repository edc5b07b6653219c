"""The documentation of the environment variables for plugins."""

from functools import partial

from bot.variable_doc import FOLDER, Variable

plugin = partial(Variable, section="Plugins")
NAMES = "names, separated by commas"
PLUGINS = (
    plugin(
        name="PLUGIN_PACKAGES",
        meaning="Installed Python packages with plugins, by import name. Their code runs in Signoff's own process "
        "with all its rights: name only what you trust. `doctor` names those that fail to load.",
        rule="import names, separated by commas",
        default="none",
        example="word_counter",
    ),
    plugin(
        name="PLUGINS_DIR",
        meaning="A folder of plugins: Python files, or folders with an `__init__.py`. Their code is trusted too. "
        "Files that import nothing of Signoff's plugins do not run. Zips and folders with AutoGPT's plugins may be "
        "there as well.",
        rule=FOLDER,
        default="none",
        example="/etc/signoff/plugins",
    ),
    plugin(
        name="ALLOWLISTED_PLUGINS",
        meaning="AutoGPT's plugins in PLUGINS_DIR that may run, by the name of class, folder or zip. No code of any "
        "other runs.",
        rule=NAMES,
        default="none of them",
        example="AutoGPTWikipediaSearch,AutoGPTEmailPlugin",
    ),
    plugin(
        name="DENYLISTED_PLUGINS",
        meaning="AutoGPT's plugins that never run, by the name of class, folder, zip or package, even if another "
        "variable allows them.",
        rule=NAMES,
        default="none",
        example="AutoGPTTwitter",
    ),
    plugin(
        name="PLUGIN_CLASSES",
        meaning="Risk classes of plugins' commands, by the name of a plugin or of one command (Plugin.command), which "
        "wins. They replace the class publish of AutoGPT's plugins, and are added to those of Signoff's own plugins. "
        "A command that only reads runs again after a crash without asking.",
        rule="names with = and some of read, write, delete, network, execute, publish and spend joined by +, separated "
        "by commas",
        default="none",
        example="AutoGPTWikipediaSearch=read+network,AutoGPTEmailPlugin.send_email=network+publish",
    ),
    plugin(
        name="PLUGIN_PYTHON",
        meaning="The Python whose packages AutoGPT's plugins may import, such as that of a virtual environment. They "
        "see these packages read-only.",
        rule="the path of a Python 3.10 or newer",
        default="the Python that runs Signoff",
        example="/opt/plugins/bin/python",
    ),
    plugin(
        name="PLUGIN_ENV",
        meaning="The only variables that AutoGPT's plugins see. Their values come from the environment or `.env`. "
        "Signoff hides them in what the plugins return.",
        rule="names of variables, separated by commas",
        default="none",
        example="WIKIPEDIA_TOKEN,EMAIL_ADDRESS",
    ),
    plugin(
        name="PLUGIN_SECONDS",
        meaning="The most seconds that a hook, a command or the start of an AutoGPT plugin may take. Then Signoff "
        "ends its process and leaves out the hook, or the plugin until the next start.",
        rule="a number from 1 to 600",
        default="10",
        example="30",
    ),
    plugin(
        name="PLUGIN_NETWORK",
        meaning="What AutoGPT's plugins can reach. `gateway`: the same as agents' commands, over http and https. "
        "`open`: everything that this machine can reach, including your own network.",
        rule="gateway or open",
        default="gateway",
        example="open",
    ),
)
