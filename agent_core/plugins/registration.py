"""Registers the contributions of plugins, and keeps what fails in one from everything else."""

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable, Iterable, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from agent_core.commands.registry import Command, CommandContext
from agent_core.model.agent import Agent
from agent_core.model.command import RISK_CLASSES, CommandCall
from agent_core.model.result import Result
from agent_core.model.turn import Turn
from agent_core.plugins.plugin import Plugin, PluginTools, RunOnce

logger = logging.getLogger(__name__)
COMMAND_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,63}", re.ASCII)
MAX_DESCRIPTION_CHARACTERS, MAX_GUIDANCE_CHARACTERS, MAX_GUIDANCE_LINES = 300, 300, 5
MAX_COMMANDS = 100
PLUGIN_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,39}", re.ASCII)
OBSERVE_SECONDS = 5.0
FAILURES = (Exception, SystemExit)  # a plugin must not be able to end the process


@dataclass(slots=True, kw_only=True)
class LoadedPlugin:
    """A plugin that is part of this process. `source`: from where it came, such as `package word_counter`.

    `fault`: why it was put aside, or "". `remarks`: what of its contributions is left out, and why.
    """

    name: str
    version: str
    source: str
    plugin: Plugin
    fault: str = ""
    remarks: list[str] = field(default_factory=list)
    commands: tuple[Command, ...] = ()

    @property
    def title(self) -> str:
        """Name and version, as the decision log has them."""
        return f"{self.name} {self.version}".strip()

    def put_aside(self, while_doing: str, failure: BaseException) -> None:
        """Leave the plugin out from now on, and say so once."""
        if self.fault:
            return
        self.fault = f"{type(failure).__name__} while {while_doing}: {_one_line(str(failure), 200) or 'no text'}"
        logger.error("a plugin is put aside", extra={"plugin": self.title, "why": self.fault})


class CommandFamily(Plugin):
    """Commands of Signoff itself, registered as those of any other plugin."""

    def __init__(self, name: str, commands: Iterable[Command]) -> None:
        self.name, self.family = name, tuple(commands)

    def commands(self, tools: PluginTools) -> Sequence[Command]:
        """The family."""
        return self.family


@dataclass(slots=True)
class PluginSet:
    """The plugins of a process. `faults`: what could not be loaded, a line each.

    `observe_seconds`: how long a plugin may take to observe a turn.
    """

    loaded: list[LoadedPlugin] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    observe_seconds: float = OBSERVE_SECONDS

    @property
    def working(self) -> list[LoadedPlugin]:
        return [each for each in self.loaded if not each.fault]

    def commands(self, tools: PluginTools, families: Iterable[CommandFamily] = ()) -> tuple[Command, ...]:
        """All commands, those of Signoff first: a name that is taken stays with its first owner."""
        taken: dict[str, str] = {}
        own = [LoadedPlugin(name=each.name, version="", source="Signoff", plugin=each) for each in families]
        for each in own:
            each.commands = tuple(self._kept(each, each.plugin.commands(tools), taken))
        for each in self.working:
            offered = self._ask(each, "naming its commands", partial(each.plugin.commands, tools))
            each.commands = tuple(self._kept(each, _listed(offered), taken))
        return tuple(command for each in (*own, *self.loaded) for command in each.commands)

    def guidance(self) -> tuple[str, ...]:
        """The lines that plugins add to every standing prompt, each on one line and bounded."""
        lines = []
        for each in self.working:
            given = self._ask(each, "naming its guidance", each.plugin.guidance)
            texts = [given] if isinstance(given, str) else _listed(given)
            lines += [_one_line(str(text), MAX_GUIDANCE_CHARACTERS) for text in texts[:MAX_GUIDANCE_LINES]]
        return tuple(filter(None, lines))

    async def wrap_run(
        self,
        call: CommandCall,
        context: CommandContext,
        following: Callable[[CommandCall, CommandContext], Awaitable[Result]],
    ) -> Result:
        """Run the command inside all wrappers; the first plugin is the outermost. A hook of `CommandRunner`."""
        run: RunOnce = partial(following, call, context)
        copied = deepcopy(call)  # plugins may change what they are given, and what runs is what was approved
        for each in reversed(self.working):
            if type(each.plugin).wrap_run is not Plugin.wrap_run:
                run = partial(self._wrap, each, copied, context, run)
        return await run()

    async def observe_turn(self, agent: Agent, turn: Turn) -> None:
        """Tell every plugin of a turn whose result is saved."""
        copied = deepcopy(turn)
        for each in self.working:
            if type(each.plugin).observe_turn is Plugin.observe_turn:
                continue
            try:
                async with asyncio.timeout(self.observe_seconds):
                    await each.plugin.observe_turn(agent, copied)
            except FAILURES as failure:
                each.put_aside("observing a turn", failure)

    async def _wrap(
        self, loaded: LoadedPlugin, call: CommandCall, context: CommandContext, following: RunOnce
    ) -> Result:
        """Run a command inside one wrapper. It runs once, and if the wrapper fails, as if it were not there."""
        results: list[Result] = []
        begun = False

        async def run() -> Result:
            nonlocal begun
            if begun:
                raise RuntimeError("run() was called twice; the command ran once")
            begun = True
            results.append(await following())
            return results[-1]

        try:
            return await loaded.plugin.wrap_run(call, context, run)
        except FAILURES as failure:
            loaded.put_aside(f"wrapping {call.name}", failure)
        if begun and not results:
            raise RuntimeError(f"{call.name} failed inside the plugin {loaded.title}")
        return results[-1] if results else await following()

    def _kept(self, loaded: LoadedPlugin, offered: Sequence[Any], taken: dict[str, str]) -> Iterable[Command]:
        """The usable commands of those offered; for each other one a remark."""
        for command in offered[:MAX_COMMANDS]:
            if fault := _fault_of(command):
                loaded.remarks.append(fault)
                continue
            names = [command.spec.name, *command.spec.synonyms]
            if owner := next((taken[name.casefold()] for name in names if name.casefold() in taken), ""):
                loaded.remarks.append(f"{command.spec.name} is left out: {owner} has a command of that name")
                continue
            taken |= dict.fromkeys((name.casefold() for name in names), loaded.name)
            yield command if loaded.source == "Signoff" else _bounded(command, loaded.title)
        if len(offered) > MAX_COMMANDS:
            loaded.remarks.append(
                f"{len(offered) - MAX_COMMANDS:,} commands beyond the first {MAX_COMMANDS} are left out"
            )

    def _ask(self, loaded: LoadedPlugin, what: str, ask: Callable[[], object]) -> object:
        """What the plugin answers, whatever it is; nothing if it raises."""
        try:
            return ask()
        except FAILURES as failure:
            loaded.put_aside(what, failure)
            return ()


def is_plugin_name(name: str) -> bool:
    """Whether people can read the name in a list, a card and the decision log."""
    return PLUGIN_NAME.fullmatch(name) is not None


def _listed(offered: object) -> Sequence[Any]:
    return tuple(offered) if isinstance(offered, list | tuple) else ()


def _fault_of(command: object) -> str:
    """Why something that a plugin offers is no usable command, or ""."""
    if not isinstance(command, Command):
        return f"{type(command).__name__} is left out: it is no Command (declare makes one)"
    spec = command.spec
    if not COMMAND_NAME.fullmatch(spec.name):
        return f"{_one_line(spec.name, 40)!a} is left out: a command's name has letters, digits, _ . - and at most 64"
    if not spec.risks or not {*spec.risks} <= {*RISK_CLASSES}:
        return f"{spec.name} is left out: its classes must be some of {', '.join(RISK_CLASSES)}"
    return ""


def _bounded(command: Command, source: str) -> Command:
    """The command with a description that cannot pass for other parts of the prompt, and with its source."""
    described = _one_line(command.spec.description, MAX_DESCRIPTION_CHARACTERS)
    return replace(command, spec=replace(command.spec, description=described, source=source))


def _one_line(text: str, most: int) -> str:
    """The text on one line, without invisible characters, cut to `most` characters."""
    plain = " ".join("".join(character if character.isprintable() else " " for character in text).split())
    return plain if len(plain) <= most else f"{plain[: most - 1]}…"
