"""Runs a local model file (GGUF) in a server process on this machine."""

import asyncio
import logging
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from importlib.util import find_spec
from pathlib import Path

from agent_core.errors import ModelError, ModelRefused, ModelUnavailable
from agent_core.model.messages import Message, Reply
from agent_core.model.usage import FREE, Usage
from agent_core.ports.database import finish_uncancelled
from agent_core.ports.models import CallOptions
from agent_core.providers.llm.model_process import WORKER, ModelProcess, ServedModel
from agent_core.providers.llm.openai_model import OpenAIModel

logger = logging.getLogger(__name__)

MAGIC = b"GGUF"
DEFAULT_CONTEXT_TOKENS = 4_096
CALL_TIMEOUT_SECONDS = 1_200.0  # a long prompt to a large model on few cores takes minutes
CRASH_DETECTION_SECONDS = 1.0  # after a broken connection, until the exit of the process is seen
INSTALL_COMMAND = "make extras EXTRAS=local"


@dataclass(frozen=True, slots=True)
class RunningModel:
    """A server process and its client."""

    process: ModelProcess
    model: OpenAIModel


@dataclass(slots=True, kw_only=True)
class LocalModel:
    """Implements `LanguageModel`. `prepare` or the first call loads the model; the next call after a crash reloads it.

    Calls run one after the other, because they share one context window.
    `context`: the operator's setting for the context window, in tokens.
    `setting`: the name of the setting for the file, for error messages.
    """

    path: Path
    context: int | None = None
    temperature: float | None = None
    setting: str = "the model file"
    seconds: float = CALL_TIMEOUT_SECONDS
    worker: Path = WORKER
    _starting: "asyncio.Task[RunningModel] | None" = field(default=None, init=False, repr=False)
    _call_lock: asyncio.Lock = field(default_factory=asyncio.Lock, init=False, repr=False)

    @property
    def label(self) -> str:
        return f"{self.path.name} · on this machine"

    @property
    def default_model(self) -> str:
        return self.path.stem

    async def prepare(self) -> None:
        """Load the model. An error is only logged: the first call loads the model again, and raises."""
        try:
            await self._ensure_running()
        except ModelError as fault:
            logger.warning("local model not loaded", extra={"why": str(fault)})

    async def close(self) -> None:
        starting, self._starting = self._starting, None
        if starting is None:
            return
        starting.cancel()
        await asyncio.wait([starting])
        if running := _result(starting):
            await running.model.close()
            await running.process.end()

    async def complete(self, messages: Sequence[Message], options: CallOptions) -> Reply:
        if options.model not in ("", self.default_model):
            served = f"{self.setting} serves {self.default_model} and no other"
            raise ModelRefused(f"there is no model {options.model}: {served}.")
        async with self._call_lock:
            running = await self._ensure_running()
            try:
                return await running.model.complete(messages, options)
            except ModelUnavailable:
                if await running.process.ends_within(CRASH_DETECTION_SECONDS):
                    raise ModelUnavailable(f"{self.path.name} crashed and is loaded again.") from None
                raise

    def window(self, model: str) -> int:
        running = _result(self._starting)
        return running.model.window(self.default_model) if running else self._context

    def max_reply(self, model: str) -> int | None:
        return None

    def takes_images(self, model: str) -> bool:
        return False

    def price(self, usage: Usage, model: str) -> Decimal | None:
        return FREE

    @property
    def _context(self) -> int:
        return self.context or DEFAULT_CONTEXT_TOKENS

    async def _ensure_running(self) -> RunningModel:
        """The running model; load it if needed. Cancelling this call does not cancel the loading."""
        starting, running = self._starting, _result(self._starting)
        if starting is None or (starting.done() and (running is None or running.process.has_ended)):
            starting = self._starting = asyncio.create_task(self._start(running))
            starting.add_done_callback(_result)  # retrieves the exception, or asyncio would log it
        return await asyncio.shield(starting)

    async def _start(self, previous: RunningModel | None) -> RunningModel:
        if previous:
            await previous.model.close()
        if fault := model_file_fault(self.path):
            raise ModelRefused(f"{self.setting}: {fault}")
        served = ServedModel(path=self.path, name=self.default_model, context=self._context, threads=thread_count())
        process = ModelProcess(served=served, setting=self.setting, worker=self.worker)
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
        except BaseException:
            await finish_uncancelled(process.end())
            raise
        return RunningModel(process, model)


def model_file_fault(path: Path) -> str:
    """Why the file cannot be served, as a sentence. Return "" if it can be served."""
    if find_spec("xllamacpp") is None:
        return f"what serves a model's file is not installed: {INSTALL_COMMAND}"
    try:
        with path.open("rb") as file:
            beginning = file.read(len(MAGIC))
    except OSError as fault:
        return f"{path.name} cannot be read ({fault.strerror})."
    return "" if beginning == MAGIC else f"{path.name} is no model in GGUF, the format of llama.cpp."


def thread_count() -> int:
    """Number of usable cores minus one, at least 1."""
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(usable - 1, 1)


def _result(starting: "asyncio.Task[RunningModel] | None") -> RunningModel | None:
    """The loaded model, or None if loading has failed or is in progress."""
    if starting is None or not starting.done() or starting.cancelled() or starting.exception():
        return None
    return starting.result()
