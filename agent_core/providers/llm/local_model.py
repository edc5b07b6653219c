"""A model in a file, served on this machine for as long as Signoff runs. Free of charge."""

import asyncio
import logging
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from importlib.util import find_spec
from pathlib import Path

from agent_core.errors import ModelError, ModelRefused, ModelUnavailable
from agent_core.model.messages import Message, Reply
from agent_core.model.usage import FREE, Usage
from agent_core.providers.llm.model_process import SERVER, ModelProcess, ServedModel
from agent_core.providers.llm.openai_model import OpenAIModel

logger = logging.getLogger(__name__)

MAGIC = b"GGUF"
USUAL_CONTEXT = 4_096
LONGEST_CALL = 1_200.0  # a long prompt to a large file on few cores takes minutes
MOMENT = 1.0  # from a broken connection to the news that the process has ended
INSTALL = "pip install 'signoff[local]'"


@dataclass(frozen=True, slots=True)
class RunningModel:
    """A process with what asks it."""

    process: ModelProcess
    model: OpenAIModel


@dataclass(slots=True, kw_only=True)
class LocalModel:
    """Loaded by `prepare` or the first call, and again by a call that finds its process ended.

    `context` is the operator's word on the window. One call is made at a time, as the model's window is one.
    """

    path: Path
    context: int | None = None
    temperature: float | None = None
    seconds: float = LONGEST_CALL
    server: Path = SERVER
    _starting: "asyncio.Task[RunningModel] | None" = field(default=None, init=False, repr=False)
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock, init=False, repr=False)

    @property
    def label(self) -> str:
        """The file and where it runs."""
        return f"{self.path.name} · on this machine"

    @property
    def default_model(self) -> str:
        """The file's name, by which it is asked."""
        return self.path.stem

    async def prepare(self) -> None:
        """Load the model; what goes wrong is met again at the first call."""
        try:
            await self._ensure_running()
        except ModelError as fault:
            logger.warning("the model in a file was not loaded", extra={"why": str(fault)})

    async def close(self) -> None:
        """End what serves it."""
        starting, self._starting = self._starting, None
        if starting is None:
            return
        starting.cancel()
        await asyncio.wait([starting])
        if running := _result(starting):
            await running.model.close()
            await running.process.end()

    async def complete(
        self,
        messages: Sequence[Message],
        *,
        schema: Mapping[str, object] | None,
        model: str,
        max_tokens: int,
        temperature: float | None = None,
    ) -> Reply:
        """Ask it, after those who asked before."""
        if model not in ("", self.default_model):
            raise ModelRefused(f"there is no model {model}: LOCAL_MODEL serves {self.default_model} and no other.")
        async with self._turn:
            running = await self._ensure_running()
            try:
                return await running.model.complete(
                    messages, schema=schema, model=model, max_tokens=max_tokens, temperature=temperature
                )
            except ModelUnavailable:
                if await running.process.ends_within(MOMENT):
                    raise ModelUnavailable(f"{self.path.name} broke down, and is loaded again.") from None
                raise

    def window(self, model: str) -> int:
        """Tokens of one call: the operator's word, else what the model was trained for, up to 4,096."""
        running = _result(self._starting)
        return running.model.window(self.default_model) if running else self._context

    def price(self, usage: Usage, model: str) -> Decimal | None:
        """Nothing."""
        return FREE

    @property
    def _context(self) -> int:
        return self.context or USUAL_CONTEXT

    async def _ensure_running(self) -> RunningModel:
        """The running model. Who waits for it may be cancelled; loading goes on for the others."""
        starting, there = self._starting, _result(self._starting)
        if starting is None or (starting.done() and (there is None or there.process.has_ended)):
            starting = self._starting = asyncio.create_task(self._start(there))
            starting.add_done_callback(_result)  # what nobody waited for is no fault that nobody looked at
        return await asyncio.shield(starting)

    async def _start(self, before: RunningModel | None) -> RunningModel:
        if before:
            await before.model.close()
        if fault := fault_of(self.path):
            raise ModelRefused(f"LOCAL_MODEL: {fault}")
        served = ServedModel(path=self.path, name=self.default_model, context=self._context, threads=threads())
        process = ModelProcess(served=served, server=self.server)
        try:
            model = OpenAIModel(
                base_url=await process.start(),
                api_key=served.key,
                model=self.default_model,
                temperature=self.temperature,
                context=self.context,
                seconds=self.seconds,
            )
            await model.prepare()
        except asyncio.CancelledError:
            await process.end()
            raise
        return RunningModel(process, model)


def fault_of(path: Path) -> str:
    """Why a file cannot be served, as a sentence, or ""."""
    if find_spec("xllamacpp") is None:
        return f"what serves a model's file is not installed: {INSTALL}"
    try:
        with path.open("rb") as file:
            beginning = file.read(len(MAGIC))
    except OSError as fault:
        return f"{path.name} cannot be read ({fault.strerror})."
    return "" if beginning == MAGIC else f"{path.name} is no model in GGUF, the format of llama.cpp."


def threads() -> int:
    """All cores this process may use but one, which is for everything else."""
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(usable - 1, 1)


def _result(starting: "asyncio.Task[RunningModel] | None") -> RunningModel | None:
    """What was started, where that is over and went well."""
    if starting is None or not starting.done() or starting.cancelled() or starting.exception():
        return None
    return starting.result()
