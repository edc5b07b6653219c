"""A plugin that takes part in this process: its name, version and commands, and how its faults are kept and worded."""

import asyncio
import logging
from dataclasses import dataclass, field
from itertools import islice

from agent_core.errors import CommandError
from agent_core.model.command import Arguments
from agent_core.plugins.plugin import Plugin
from agent_core.ports.tool_servers import ToolSource
from agent_core.text.lines import unseparated
from agent_core.toolset.registry import Command

logger = logging.getLogger(__name__)
NOT_OF_PLUGINS = (KeyboardInterrupt, GeneratorExit)  # any other failure is the plugin's, also one that ends a process
MAX_REASON_CHARACTERS = 200
MAX_TITLE_CHARACTERS, MAX_TITLE_ARGUMENTS = 100, 5


@dataclass(slots=True, kw_only=True)
class LoadedPlugin:
    """A plugin that is part of this process. `source`: from where it came, such as `package word_counter`.

    `fault`: why it was put aside, or "". `remarks`: what of its contributions is left out, and why.
    `is_told`: whether the log has said that a command of it failed.
    `declares_classes`: its author chose the risk classes of its commands.
    """

    name: str
    version: str
    source: str
    plugin: Plugin
    fault: str = ""
    remarks: list[str] = field(default_factory=list)
    commands: tuple[Command, ...] = ()
    is_told: bool = False
    declares_classes: bool = True

    @property
    def title(self) -> str:
        """Name and version, as the decision log has them."""
        return f"{self.name} {self.version}".strip()

    def as_source(self, kind: str = "plugin") -> ToolSource:
        """What people are shown of it."""
        return ToolSource(
            name=self.name,
            version=self.version,
            kind=kind,
            place=self.source,
            fault=self.fault,
            commands=tuple(each.spec.name for each in self.commands),
            remarks=tuple(self.remarks),
        )

    def put_aside(self, while_doing: str, failure: BaseException) -> None:
        """Leave the plugin out from now on, and say so once."""
        if self.fault:
            return
        self.fault = f"{type(failure).__name__} while {while_doing}: {reason_of(failure)}"
        logger.error("a plugin is put aside", extra={"plugin": self.title, "why": self.fault})

    def command_failed(self, name: str, failure: BaseException) -> CommandError:
        """The sentence for the model; the log has the plugin's first one."""
        why = f"{type(failure).__name__}: {reason_of(failure)}"
        if not self.is_told:
            self.is_told = True
            logger.error("a plugin's command failed", extra={"plugin": self.title, "command": name, "why": why})
        return CommandError(f"The plugin {self.name} failed: {why}.")


def reason_of(failure: BaseException) -> str:
    """What a failure says, on one line of 200 characters."""
    try:
        text = str(failure)
    except Exception:  # what a plugin raises may fail to say why
        text = ""
    return one_line(text, MAX_REASON_CHARACTERS) or "no text"


def one_line(text: str, most: int) -> str:
    """The text on one line, without invisible characters, cut to `most` characters."""
    plain = " ".join("".join(character if character.isprintable() else " " for character in text).split())
    return plain if len(plain) <= most else f"{plain[: most - 1]}…"


def title_of(label: str, arguments: Arguments) -> str:
    """The title of a preview that says no more than the call itself: `Count words: filename tea.txt`."""
    label = unseparated(label)
    given = " · ".join(unseparated(f"{name} {value}") for name, value in islice(arguments.items(), MAX_TITLE_ARGUMENTS))
    return one_line(f"{label}: {given[:MAX_REASON_CHARACTERS]}" if given else label, MAX_TITLE_CHARACTERS)


def require_not_cancelled(task: "asyncio.Task[object] | None") -> None:
    """Raise CancelledError if the task is being cancelled, whatever a plugin made of the first one."""
    if task and task.cancelling():
        raise asyncio.CancelledError
