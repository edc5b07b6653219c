"""One worker process of one plugin: its start in the sandbox, questions with a time limit, its proxy, and its end."""

import asyncio
import json
import socket
import struct
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic_core import from_json

from agent_core.capabilities.autogpt.discovery import FoundPlugin
from agent_core.capabilities.autogpt.plugin_python import PluginPython
from agent_core.capabilities.autogpt.standstill import go_on, stop
from agent_core.capabilities.files.folder_workspace import FolderFiles
from agent_core.capabilities.files.workspace_quota import WorkspaceQuota
from agent_core.capabilities.programs.bubblewrap import Additions, BubblewrapBackend
from agent_core.capabilities.programs.supervisor import ProcessSupervisor
from agent_core.errors import CommandError
from agent_core.model.channel_settings import Sites
from agent_core.ports.clock import Clock
from agent_core.ports.database import finish_uncancelled
from agent_core.providers.confinement.bwrap_process import BwrapProcess, wait_readable
from agent_core.providers.confinement.limits import LIMITS, ProgramLimits, user_for
from agent_core.providers.egress.gateway import EgressGateway
from agent_core.providers.egress.proxy import MAX_HEADER_BYTES, EgressProxy

PROGRAM, TEMPLATE = (Path(__file__).with_name(name) for name in ("worker_program.py", "template_stand_in.py"))
LIFE_SECONDS = 24 * 3600.0
LOAD_SECONDS = 30.0  # of the start and the imports; a hook or call has the operator's limit
REST_SECONDS = 0.5  # after which a worker is stopped until it is asked again
END_SECONDS = 2.0  # of a worker whose connection has ended
MAX_ANSWER_BYTES, MAX_RECEIVED_BYTES = 2_000_000, 50_000_000
MAX_PARTS = 40_000  # brackets of an answer, also those in its texts: parsing lists holds up everything else
MAX_WORD_CHARACTERS = 300
CERTIFICATES = ("/etc/ssl/certs", "/etc/pki/tls/certs", "/etc/pki/ca-trust/extracted")
RESOLVING = ("/etc/resolv.conf", "/etc/nsswitch.conf", "/etc/gai.conf")
HEADER = struct.Struct(">I")


class PluginRaised(CommandError):
    """What the plugin raised. `missing`: the module that is not there, or ""."""

    def __init__(self, text: str, missing: str = "") -> None:
        self.missing = missing
        super().__init__(text)


class WorkerEnded(CommandError):
    """The worker ended, or was ended, before it answered."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerHost:
    """What every worker is started with. `seconds`: the limit of a hook or call.

    `environment`: the variables that plugins may see. `gateway`: None for no network at all.
    `is_open`: whether workers have the machine's network instead of the gateway.
    """

    backend: BubblewrapBackend
    python: PluginPython
    clock: Clock
    seconds: float
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    gateway: EgressGateway | None = None
    is_open: bool = False
    limits: ProgramLimits = LIMITS

    async def start(self, found: FoundPlugin, files: FolderFiles, sites: Sites | None) -> "PluginWorker":
        """A worker that has loaded nothing yet, in this folder; `sites`: None for no network.

        Raise CommandError if it cannot be started.
        """
        quota = WorkspaceQuota(files.folder, files.limits)
        try:
            usage = await asyncio.to_thread(quota.hand_over, user_for(files.folder.name))
        except OSError as error:
            raise CommandError(f"The workspace cannot be used: {error.strerror}.") from None
        network = "none" if sites is None else "open" if self.is_open else "gateway" if self.gateway else "none"
        ours, theirs = socket.socketpair()
        with theirs:
            line = (self.python.program, "-I", "-S", "/sealed/worker_program.py", str(theirs.fileno()), network)
            more = Additions(
                mounts=(*self.python.mounts(), *_network_view(network)),
                fds=(theirs.fileno(),),
                has_network=network == "open",
            )
            try:
                process = await self.backend.start(line, files.folder, _sealed(found), more)
            except BaseException:
                ours.close()
                raise
        supervisor = ProcessSupervisor(
            process=process, quota=quota, limits=self.limits, clock=self.clock, allowed_usage=usage
        )
        worker = PluginWorker(host=self, found=found, channel=ours, process=process)
        worker.life = asyncio.create_task(supervisor.supervise(LIFE_SECONDS))
        try:
            await worker.connect(sites if network == "gateway" else None)
        except BaseException:
            await worker.end()
            raise
        return worker


@dataclass(slots=True, kw_only=True, eq=False)
class PluginWorker:
    """A worker in a process of its own. Its questions are answered one after the other.

    Between questions all its processes are stopped: what a plugin left running goes on at the next one. `resting`: the
    task that stops them. `is_stopped`: whether they were told to stop.
    """

    host: WorkerHost
    found: FoundPlugin
    channel: socket.socket
    process: BwrapProcess
    life: "asyncio.Task[Any] | None" = None
    proxy: EgressProxy | None = None
    server: asyncio.Server | None = None
    streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    is_over: bool = False
    is_stopped: bool = False
    resting: "asyncio.Task[None] | None" = None

    @property
    def is_running(self) -> bool:
        return not self.is_over and self.life is not None and not self.life.done()

    async def connect(self, sites: Sites | None) -> None:
        """Serve the gateway in the worker's network, if it has sites; then open the channel."""
        self.channel.setblocking(False)
        try:
            async with asyncio.timeout(LOAD_SECONDS):
                if sites is not None and self.host.gateway:
                    await self._serve_gateway(self.host.gateway, sites)
                self.streams = await asyncio.open_unix_connection(sock=self.channel, limit=2**16)
        except (TimeoutError, OSError, ValueError, struct.error) as fault:
            raise await self._end_because(f"it could not be started ({type(fault).__name__})") from None

    async def load(self, agent: tuple[str, str, tuple[str, ...]], seconds: float = LOAD_SECONDS) -> dict[str, Any]:
        """Import and make the plugin, and ask it what it adds; `agent`: name, role and goals."""
        kind = self.found.kind
        dotted = kind.module if self.found.source.archive else kind.module.replace("/", ".")
        request = {
            "do": "load",
            "root": kind.root,
            "module": dotted,
            "class": kind.name,
            "packages": self.host.python.shown_packages,
            "environment": {**self.host.environment, **self._proxy_variables()},
            "agent": [agent[0], agent[1], list(agent[2])],
        }
        return await self.ask(request, max(seconds, self.host.seconds))

    async def ask(self, request: Mapping[str, Any], seconds: float, sites: Sites | None = None) -> dict[str, Any]:
        """The answer; raise PluginRaised, or WorkerEnded if the worker died or took longer than `seconds`.

        If the caller is cancelled meanwhile, the worker is ended.
        """
        async with self.lock:
            if not self.is_running or self.streams is None:
                raise WorkerEnded(f"The plugin {self.found.kind.name} is not running any more.")
            if self.proxy:
                self.proxy.received_bytes = 0
                self.proxy.sites = sites or self.proxy.sites
            try:
                await self._go_on()
                async with asyncio.timeout(seconds):
                    answer = await _exchange(*self.streams, request)
            except TimeoutError:
                raise await self._end_because(f"it did not answer within {seconds:g} seconds") from None
            except (OSError, asyncio.IncompleteReadError):
                raise await self._end_because("its process ended") from None
            except (ValueError, TypeError, RecursionError) as fault:
                raise await self._end_because(f"its answer cannot be used ({fault})") from None
            except BaseException:
                await self.end()
                raise
            self.resting = asyncio.create_task(self._rest())
        if "error" in answer:
            raise PluginRaised(_text(answer["error"])[:MAX_WORD_CHARACTERS], _text(answer.get("missing"))[:80])
        return answer

    async def end(self) -> None:
        """End the whole process tree, also if this is cancelled meanwhile."""
        self.is_over = True
        if self.resting and self.resting is not asyncio.current_task():
            self.resting.cancel()
        await finish_uncancelled(self._end())

    async def _end(self) -> None:
        if self.life and not self.life.done():
            self.life.cancel()
        if self.server:
            self.server.close()
        if self.proxy:
            await self.proxy.close()
        if self.streams:
            self.streams[1].transport.abort()
            with suppress(OSError):
                await self.streams[1].wait_closed()
        else:
            self.channel.close()
        if self.life:
            await asyncio.wait([self.life])

    async def _rest(self) -> None:
        """Stop all processes after REST_SECONDS without a question; end the worker if they cannot be stopped."""
        await self.host.clock.sleep(REST_SECONDS)
        async with self.lock:
            if self.is_running:
                self.is_stopped = True
                with suppress(OSError):  # it ended
                    if not await stop(self.process):
                        await self.end()

    async def _go_on(self) -> None:
        if self.resting:
            self.resting.cancel()
        if self.is_stopped:
            self.is_stopped = False
            await go_on(self.process)

    async def _end_because(self, why: str) -> WorkerEnded:
        """End the worker; the error that says why, also if the sandbox ended it."""
        if self.life:
            await asyncio.wait([self.life], timeout=END_SECONDS if "ended" in why else 0)
        if self.life and self.life.done() and not self.life.cancelled() and not self.life.exception():
            why = self.life.result().ended_because or why
        await self.end()
        return WorkerEnded(f"The plugin {self.found.kind.name} was ended: {why}.")

    async def _serve_gateway(self, gateway: EgressGateway, sites: Sites) -> None:
        await wait_readable(self.channel.fileno())
        data, descriptors, _, _ = socket.recv_fds(self.channel, HEADER.size, 1)
        if not descriptors:
            raise ValueError("the worker handed over no socket")
        listener = socket.socket(fileno=descriptors[0])
        (port,) = HEADER.unpack(data)
        self.proxy = EgressProxy(gateway=gateway, sites=sites, max_bytes=MAX_RECEIVED_BYTES, port=port)
        self.server = await asyncio.start_server(self.proxy.accept, sock=listener, limit=MAX_HEADER_BYTES)

    def _proxy_variables(self) -> dict[str, str]:
        if self.proxy is None:
            return {}
        names = ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
        return {**dict.fromkeys(names, self.proxy.url_with_credentials), "no_proxy": "", "NO_PROXY": ""}


async def _exchange(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, request: Mapping[str, Any]
) -> dict[str, Any]:
    data = json.dumps(request).encode("utf-8", "replace")
    writer.write(HEADER.pack(len(data)) + data)
    await writer.drain()
    (length,) = HEADER.unpack(await reader.readexactly(HEADER.size))
    if length > MAX_ANSWER_BYTES:
        raise ValueError(f"it has {length:,} bytes, of {MAX_ANSWER_BYTES:,}")
    return await asyncio.to_thread(_read_answer, await reader.readexactly(length))


def _read_answer(data: bytes) -> dict[str, Any]:
    if (parts := data.count(b"[") + data.count(b"{")) > MAX_PARTS:
        raise ValueError(f"it has {parts:,} lists and objects, of {MAX_PARTS:,}")
    answer = from_json(data)  # which refuses what is nested more than 200 deep
    if not isinstance(answer, dict):
        raise TypeError("it is no object")
    return answer


def _text(given: object) -> str:
    return given if isinstance(given, str) else ""


def _sealed(found: FoundPlugin) -> dict[str, bytes]:
    files = {
        "worker_program.py": PROGRAM.read_bytes(),
        "library/auto_gpt_plugin_template.py": TEMPLATE.read_bytes(),
    }
    return {**files, "plugin.zip": found.source.archive} if found.source.archive else files


def _network_view(network: str) -> list[str]:
    """Options of bubblewrap that show the certificates of the system, and with its network how names are resolved."""
    shown = {"none": (), "gateway": CERTIFICATES, "open": (*CERTIFICATES, *RESOLVING)}[network]
    return [part for path in shown for part in ("--ro-bind-try", path, path)]
