"""Sends traces and metrics by OTLP with OpenTelemetry's SDK, which reads its own variables (OTEL_…).

A turn takes days and several processes, and none of them is there from its begin to its end. Its trace and its span are
therefore named by the agent's id and the turn's number: each process derives the same ids from what is saved, nothing
about traces is stored or sent along, and a sampler by trace id decides the same everywhere. Spans have numbers, names
and ids as attributes. What people, models and programs wrote is not among them, nor are the messages of errors.
"""

import asyncio
import hashlib
import logging
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from threading import Thread
from urllib.parse import urlsplit
from uuid import uuid4

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.metrics import Counter, Histogram, Meter
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.trace.id_generator import RandomIdGenerator
from opentelemetry.trace import NonRecordingSpan, SpanContext, SpanKind, Status, StatusCode, TraceFlags

from agent_core.capabilities.setting_types import without_secrets
from agent_core.errors import SettingsError
from agent_core.oversight.secrets import Secrets
from agent_core.ports.telemetry import Activity, Facts, TurnRef
from bot.wiring.instruments import Instrument

EXPORTERS = {"traces": OTLPSpanExporter.__module__, "metrics": OTLPMetricExporter.__module__}  # the loggers' names
CLOSE_SECONDS = 3.0  # for the last spans; a collector that is away must not hold up the end of the process
OPERATIONS: Mapping[Activity, str] = {"model call": "chat", "command": "execute_tool"}
# https://opentelemetry.io/docs/specs/semconv/gen-ai/, for facts that have a name there
GEN_AI = {
    "model": "gen_ai.request.model",
    "input": "gen_ai.usage.input_tokens",
    "cached": "gen_ai.usage.cache_read.input_tokens",
    "cache_written": "gen_ai.usage.cache_creation.input_tokens",
    "output": "gen_ai.usage.output_tokens",
    "reasoning": "gen_ai.usage.reasoning.output_tokens",
}
_OWN_IDS: ContextVar[SpanContext | None] = ContextVar("own_ids", default=None)


def turn_span(turn: TurnRef) -> SpanContext:
    """The trace of a turn and its outermost span, the same in every process."""
    digest = hashlib.sha256(f"signoff/{turn.agent_id}/{turn.number}".encode()).digest()
    trace_id, span_id = int.from_bytes(digest[:16], "big"), int.from_bytes(digest[16:24], "big")
    return SpanContext(trace_id, span_id, is_remote=True, trace_flags=TraceFlags(TraceFlags.SAMPLED))


class TurnIds(RandomIdGenerator):
    """Gives the span of a turn its own ids, and random ones to all others."""

    def generate_span_id(self) -> int:
        own = _OWN_IDS.get()
        return own.span_id if own else super().generate_span_id()

    def generate_trace_id(self) -> int:
        own = _OWN_IDS.get()
        return own.trace_id if own else super().generate_trace_id()


@dataclass(frozen=True, slots=True, kw_only=True)
class Exporting:
    """Implements `Tracer` and `Meters`. The SDK's global providers are left alone: libraries would send texts."""

    traces: TracerProvider
    metrics: MeterProvider
    tracer: trace.Tracer
    instruments: Mapping[str, Counter | Histogram]
    provider: str

    @classmethod
    def started(
        cls, instruments: Sequence[Instrument], version: str, provider: str, collectors: Mapping[str, str]
    ) -> "Exporting":
        """Begin to send. `provider`: who serves the model. Raise SettingsError for what the SDK refuses.

        `collectors`: the address for each signal that is sent, "traces" or "metrics".
        """
        resource = Resource.create({"service.version": version, "service.instance.id": uuid4().hex, **_own_name()})
        try:
            traces = TracerProvider(resource=resource, id_generator=TurnIds(), shutdown_on_exit=False)
            if address := collectors.get("traces"):
                traces.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(address)))
            address = collectors.get("metrics")
            readers = [PeriodicExportingMetricReader(OTLPMetricExporter(address))] if address else []
            metrics = MeterProvider(readers, resource=resource, shutdown_on_exit=False)
        except (ValueError, RuntimeError) as fault:
            why = " ".join(str(fault).split()).rstrip(".")
            raise SettingsError("OTEL_…", f"OpenTelemetry refuses the value of a setting: {why}.") from fault
        for signal, address in collectors.items():
            logging.getLogger(EXPORTERS[signal]).filters = [LostBatches(address)]
        meter = metrics.get_meter("signoff", version)
        return cls(
            traces=traces,
            metrics=metrics,
            tracer=traces.get_tracer("signoff", version),
            instruments={each.name: _instrument(meter, each) for each in instruments},
            provider=provider,
        )

    async def close(self) -> None:
        """Send what is left, within some seconds.

        A request that a collector does not answer cannot be given up, and asyncio's own threads hold up the end of the
        process until they have ended: so these are others, which end with it.
        """
        ends = (self.traces.shutdown, partial(self.metrics.shutdown, timeout_millis=CLOSE_SECONDS * 1_000))
        with suppress(TimeoutError):
            async with asyncio.timeout(CLOSE_SECONDS):
                await asyncio.gather(*(_in_thread(end) for end in ends))

    def observe(self, instrument: Instrument, amount: float, labels: Mapping[str, str]) -> None:
        match self.instruments[instrument.name]:
            case Histogram() as histogram:
                histogram.record(amount, dict(labels))
            case counter:
                counter.add(amount, dict(labels))

    @contextmanager
    def span(self, activity: Activity, turn: TurnRef | None, facts: Facts) -> Iterator[None]:
        with self.tracer.start_as_current_span(
            activity, _inside(turn), _kind(activity), record_exception=False, set_status_on_exception=False
        ) as span:
            try:
                yield
            except BaseException as fault:
                span.set_status(Status(StatusCode.ERROR))
                span.set_attribute("error.type", type(fault).__name__)
                raise
            finally:
                self._describe(span, activity, turn, facts)

    def record(self, activity: Activity, turn: TurnRef, began: datetime, ended: datetime, facts: Facts) -> None:
        chosen = _OWN_IDS.set(turn_span(turn) if activity == "turn" else None)
        try:
            context = Context() if activity == "turn" else _inside(turn)
            span = self.tracer.start_span(activity, context, _kind(activity), start_time=_nanoseconds(began))
        finally:
            _OWN_IDS.reset(chosen)
        self._describe(span, activity, turn, facts)
        span.end(_nanoseconds(max(began, ended)))  # by the clocks of two machines

    def _describe(self, span: trace.Span, activity: Activity, turn: TurnRef | None, facts: Facts) -> None:
        """Set name and attributes, which are known at the end."""
        if turn:
            span.set_attributes({"gen_ai.agent.id": turn.agent_id, "signoff.turn.number": turn.number})
        if operation := OPERATIONS.get(activity):
            subject = str(facts.get("model") or facts.get("command", ""))
            span.update_name(f"{operation} {subject}".strip())
            span.set_attribute("gen_ai.operation.name", operation)
        if activity == "model call":
            span.set_attribute("gen_ai.provider.name", self.provider)
        if activity == "command":
            span.set_attribute("gen_ai.tool.name", facts["command"])
        if finish := facts.get("finish"):
            span.set_attribute("gen_ai.response.finish_reasons", [str(finish)])
        for name, value in facts.items():
            if name != "finish" and value != "":
                span.set_attribute(GEN_AI.get(name, f"signoff.{name}"), value)


class LostBatches(logging.Filter):
    """Adds the collector's address and the last reason to the line about a lost batch; hides the lines of retries."""

    def __init__(self, address: str) -> None:
        super().__init__()
        self.why, self.address = "", without_secrets(address)
        found = urlsplit(address)
        self.secrets = Secrets.of(filter(None, (found.password, found.query)))

    def filter(self, record: logging.LogRecord) -> bool:
        if record.levelno < logging.ERROR:
            self.why = self.secrets.redact(record.getMessage())
            return False
        vars(record).update(collector=self.address, **({"why": self.why} if self.why else {}))
        self.why = ""
        return True


async def _in_thread(end: Callable[[], object]) -> None:
    """Run it in a thread that does not hold up the end of the process, and wait for it."""
    ended, loop = asyncio.Event(), asyncio.get_running_loop()

    def run() -> None:
        try:
            end()
        finally:
            with suppress(RuntimeError):  # nobody waits any more, and the loop is closed
                loop.call_soon_threadsafe(ended.set)

    Thread(target=run, daemon=True).start()
    await ended.wait()


def _own_name() -> dict[str, str]:
    """The service's name, unless the operator chose one: what is given in the code would go before that."""
    attributes = os.environ.get("OTEL_RESOURCE_ATTRIBUTES", "").split(",")
    is_named = "OTEL_SERVICE_NAME" in os.environ or any(each.strip().startswith("service.name=") for each in attributes)
    return {} if is_named else {"service.name": "signoff"}


def _instrument(meter: Meter, each: Instrument) -> Counter | Histogram:
    if not each.buckets:
        return meter.create_counter(each.name, each.unit, each.said)
    bounds = list(each.buckets)
    return meter.create_histogram(each.name, each.unit, each.said, explicit_bucket_boundaries_advisory=bounds)


def _inside(turn: TurnRef | None) -> Context | None:
    """The context of the turn's span, which ends later and perhaps elsewhere; None is the present context."""
    return trace.set_span_in_context(NonRecordingSpan(turn_span(turn)), Context()) if turn else None


def _kind(activity: Activity) -> SpanKind:
    return SpanKind.CLIENT if activity in ("model call", "card") else SpanKind.INTERNAL


def _nanoseconds(at: datetime) -> int:
    return int(at.timestamp() * 1e6) * 1_000
