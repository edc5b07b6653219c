"""Connects the servers of MCP_SERVERS, registers their tools, hides secrets in what they say, tells the doctor.

Part of the composition root, like `bot.bootstrap`. The SDK is imported only if a server is configured.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

from adapters.screens.visible_text import visible
from agent_core.assembly import Core
from agent_core.capabilities.capability import Finding
from agent_core.capabilities.tool_servers.server_commands import ServerCommands
from agent_core.errors import CommandError
from agent_core.loop.card_checks import ChangedTools
from agent_core.loop.command_runner import Extensions
from agent_core.oversight.secrets import NO_SECRETS, Secrets
from agent_core.plugins.loaded import LoadedPlugin
from agent_core.ports.clock import Clock
from agent_core.ports.tool_servers import ServerTool, SourcePrompt, ToolServer, ToolSource
from agent_core.providers.clock import SystemClock
from agent_core.text.lines import counted
from agent_core.toolset.redaction import redact_output, redact_schema
from agent_core.toolset.registry import Commands
from bot.settings import Settings
from bot.wiring.sign_ins import find_sign_ins, open_database

if TYPE_CHECKING:
    from agent_core.capabilities.tool_servers.mcp_server import McpServer


logger = logging.getLogger(__name__)
DOCTOR_SECONDS, FIRST_LIST_SECONDS = 20.0, 10.0
FIRST_TRY_SECONDS, POLL_SECONDS = 5.0, 0.02
MAX_TOKENS = 12  # of a server, the newest ones


@dataclass(slots=True, kw_only=True)
class ToolServerSet:
    """The servers of a process. `loaded`: what became of the tools of each; `listed`: which have listed theirs once.

    `tried_until`: when nobody waits for the first try of a server any more, on `clock`.
    `secrets`: of the settings; `with_tokens`: these, and what each server got at sign-ins.
    """

    servers: Sequence[ToolServer] = ()
    loaded: dict[str, LoadedPlugin] = field(default_factory=dict)
    listed: dict[str, asyncio.Event] = field(default_factory=dict)
    secrets: Secrets = NO_SECRETS
    clock: Clock = field(default_factory=SystemClock)
    tried_until: float = 0.0
    tokens: dict[str, tuple[str, ...]] = field(default_factory=dict, repr=False)
    with_tokens: dict[str, Secrets] = field(default_factory=dict)
    prompts: dict[str, tuple[Sequence[SourcePrompt], Secrets, tuple[SourcePrompt, ...]]] = field(default_factory=dict)

    def use_tokens(self, settings: Settings, server: str, tokens: tuple[str, ...]) -> None:
        """Keep the tokens that a server gets, and those that it got before, out of what it says, from now on.

        Not out of what others say: who gives a token could choose what is hidden there.
        """
        kept = (*dict.fromkeys((*tokens, *self.tokens.get(server, ()))),)[:MAX_TOKENS]
        self.tokens[server], self.with_tokens[server] = kept, Secrets.of((*settings.secrets, *kept))

    def redact(self, server: str, text: str) -> str:
        """What a server says, without secrets."""
        return self.with_tokens.get(server, self.secrets).redact(text)

    def list_sources(self) -> tuple[ToolSource, ...]:
        """The servers for people, also those that are away."""
        return tuple(map(self._as_source, self.servers))

    async def wait_until_tried(self) -> None:
        """Wait until each server has listed its tools once, or failed; five seconds at most after the start.

        So the first thought after a start has the tools of servers that are quick, and its prompt stays the same later.
        """
        while self.clock.elapsed() < self.tried_until and any(map(self._is_new, self.servers)):
            await self.clock.sleep(POLL_SECONDS)

    def _is_new(self, server: ToolServer) -> bool:
        return server.state.condition == "connecting" and not self.listed[server.entry.name].is_set()

    async def wait_for(self, command: str) -> None:
        """Wait until the server of a command has listed its tools once, at most ten seconds; for others not at all.

        So a command that was approved before a restart does not meet a server that is just being started. A server
        that does not tell of changes is asked for its list again.
        """
        name = command.partition(".")[0]
        listed = self.listed.get(name)
        if listed and not listed.is_set():
            with suppress(TimeoutError):
                async with asyncio.timeout(FIRST_LIST_SECONDS):
                    await listed.wait()
        for server in self.servers:
            if server.entry.name == name:
                await server.look_again()

    def _prompts_of(self, server: ToolServer) -> tuple[SourcePrompt, ...]:
        """The prompts of a server without secrets, made anew only when it lists others or has other tokens."""
        name = server.entry.name
        made, secrets = self.prompts.get(name), self.with_tokens.get(name, self.secrets)
        if made is None or made[0] is not server.prompts or made[1] is not secrets:
            shown = tuple(_prompt_without_secrets(each, secrets.redact) for each in server.prompts)
            made = self.prompts[name] = (server.prompts, secrets, shown)
        return made[2]

    async def _read_prompt(self, server: ToolServer, name: str, arguments: Mapping[str, str]) -> str:
        try:
            return self.redact(server.entry.name, await server.read_prompt(name, arguments))
        except CommandError as refused:
            raise CommandError(self.redact(server.entry.name, str(refused))) from None

    def _as_source(self, server: ToolServer) -> ToolSource:
        name, state, loaded = server.entry.name, server.state, self.loaded.get(server.entry.name)
        fault = "" if state.condition == "connected" else f"{state.condition}{state.why and f': it {state.why}'}"
        redact = partial(self.redact, name)
        return ToolSource(
            name=name,
            kind="tool server",
            place=server.entry.place,
            fault=redact(fault),
            commands=tuple(each.spec.name for each in loaded.commands) if loaded else (),
            remarks=tuple(map(redact, loaded.remarks)) if loaded else (),
            prompts=self._prompts_of(server) if state.condition == "connected" else (),
            read_prompt=partial(self._read_prompt, server),
        )


def changed_tools(core: Core) -> ChangedTools:
    """What has open cards looked at when a server offers something else than before."""
    return ChangedTools(database=core.database, waker=core.engine, clock=core.clock, surfaces=tuple(core.loop.surfaces))


def with_tool_servers(extensions: Extensions, found: ToolServerSet, settings: Settings) -> Extensions:
    """What a host adds to the loop, with its tool servers; the same without a server."""
    if not settings.mcp_servers:
        return extensions

    def list_sources() -> tuple[ToolSource, ...]:
        return (*extensions.list_sources(), *found.list_sources())

    return replace(extensions, list_sources=list_sources, wait_for=found.wait_for, ready=found.wait_until_tried)


def serve_core(
    settings: Settings, found: ToolServerSet, core: Core, clock: Clock
) -> AbstractAsyncContextManager[ToolServerSet]:
    """Connect the servers for this core, as `serve_tools`."""
    return serve_tools(settings, found, core.commands, clock, changed_tools(core))


@asynccontextmanager
async def serve_tools(
    settings: Settings, found: ToolServerSet, commands: Commands, clock: Clock, changes: ChangedTools | None = None
) -> AsyncIterator[ToolServerSet]:
    """Connect the servers in the background, and end them afterwards. Without servers this does nothing.

    `changes`: has open cards looked at when a server offers something else than before.
    """
    if not settings.mcp_servers:
        yield found
        return
    found.secrets, found.clock = Secrets.of(settings.secrets), clock
    found.tried_until = clock.elapsed() + FIRST_TRY_SECONDS
    servers = _make_servers(settings, found, commands, changes)
    found.servers, found.listed = servers, {each.entry.name: asyncio.Event() for each in servers}
    before = [*commands.by_name]
    for each in servers:
        commands.replace_from(each.entry.name, ())  # so that prompts list them in the order of the file
    if lost := [name for name in before if name not in commands.by_name]:
        logger.warning("plugins took names of tool servers, and lost them", extra={"commands": ", ".join(lost)})
    tasks = [asyncio.create_task(each.run(), name=f"tool server {each.entry.name}") for each in servers]
    if changes:
        tasks.append(asyncio.create_task(changes.run(), name="cards of changed tools"))
    try:
        yield found
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _make_servers(
    settings: Settings, found: ToolServerSet, commands: Commands, changes: ChangedTools | None
) -> "list[McpServer]":
    from agent_core.capabilities.tool_servers.mcp_server import McpServer

    entries = settings.mcp_servers.entries if settings.mcp_servers else ()
    database = changes.database if changes else None
    return [
        McpServer(
            entry=each,
            clock=found.clock,
            seconds=settings.mcp_seconds,
            changed=_registering(settings, commands, found, changes),
            redact=partial(found.redact, each.name),
            sign_ins=find_sign_ins(settings, database, found.clock, partial(found.use_tokens, settings, each.name)),
        )
        for each in entries
    ]


def _registering(
    settings: Settings, commands: Commands, found: ToolServerSet, changes: ChangedTools | None
) -> Callable[[ToolServer], Awaitable[None]]:
    """What registers the tools of a server each time it lists them."""
    disabled = {*settings.disabled_commands, *settings.disabled_categories}
    offered: dict[str, tuple[ServerTool, ...]] = {}

    async def register(server: ToolServer) -> None:
        name, tools = server.entry.name, tuple(server.tools)
        redact = partial(found.redact, name)
        told = ServerCommands(
            server,
            lambda text: visible(redact(text)),
            changes.database if changes else None,
            found.clock,
        )
        loaded = await asyncio.to_thread(told.loaded, commands.taken_besides(name))
        asked = (each.approved_by_two(settings.two_people) for each in loaded.commands)
        kept = (each for each in asked if not disabled & {each.spec.name, each.spec.category})
        loaded.commands = tuple(redact_output(redact_schema(each, redact), redact) for each in kept)
        commands.replace_from(name, loaded.commands)
        found.loaded[name] = loaded
        found.listed[name].set()
        if changes and offered.get(name) != tools:  # a reconnection alone changes nothing
            changes.note(name)
        offered[name] = tools
        number, remarks = len(loaded.commands), redact("; ".join(loaded.remarks))
        logger.debug("a tool server listed its tools", extra={"server": name, "tools": number, "left_out": remarks})

    return register


def _prompt_without_secrets(prompt: SourcePrompt, redact: Callable[[str], str]) -> SourcePrompt:
    """The prompt with no secret in it; one whose names hold a secret cannot be asked for."""
    names = (prompt.name, *(each.name for each in prompt.arguments))
    title, description = redact(prompt.title), redact(prompt.description)
    shown = replace(prompt, name=redact(prompt.name), title=title, description=description)
    if any(redact(name) != name for name in names):
        return replace(shown, arguments=(), fault="has a secret of Signoff's in a name")
    about = (replace(each, description=redact(each.description)) for each in prompt.arguments)
    return replace(shown, arguments=tuple(about))


async def tool_servers_finding(settings: Settings) -> Finding | None:
    """The finding on tool servers, each of which is connected once; None if none is configured. No secrets."""
    if not settings.mcp_servers:
        return None
    from agent_core.capabilities.tool_servers.mcp_server import McpServer

    clock, seconds = SystemClock(), min(DOCTOR_SECONDS, settings.mcp_seconds)
    found = ToolServerSet(secrets=Secrets.of(settings.secrets))
    async with open_database(settings) as database:
        servers = [
            McpServer(
                entry=each,
                clock=clock,
                seconds=seconds,
                sign_ins=find_sign_ins(settings, database, clock, partial(found.use_tokens, settings, each.name)),
                redact=partial(found.redact, each.name),
            )
            for each in settings.mcp_servers.entries
        ]
        faults = await asyncio.gather(*(each.connect_once(until_listed=True) for each in servers))
    told = [_told(server, fault, found) for server, fault in zip(servers, faults, strict=True)]
    is_well = not any(faults) and all(is_whole for _, is_whole in told)
    why = "; ".join(line for line, _ in told) or f"{settings.mcp_servers.path} names no server"
    return Finding(name="tool servers", state="on" if is_well else "warn", why=why, variable="MCP_SERVERS")


def _told(server: ToolServer, fault: str, found: ToolServerSet) -> tuple[str, bool]:
    """A line on one server without secrets, and whether nothing of it is left out."""
    name, place = server.entry.name, server.entry.place
    redact = partial(found.redact, name)
    if fault:
        return redact(f"{name} ({place}) {fault}: check its entry, and try it by hand"), False
    loaded = ServerCommands(server, lambda text: visible(redact(text))).loaded({})
    remarks = f", {', '.join(loaded.remarks)}" if loaded.remarks else ""
    return redact(f"{name} ({counted(len(loaded.commands), 'command')}{remarks})"), not loaded.remarks
