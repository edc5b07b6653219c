"""Telemetry of one process: turns the core's activities into measurements, and into spans if traces are sent."""

import logging
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, AsyncExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from agent_core.ports.clock import Clock
from agent_core.ports.telemetry import NOT_WATCHED, Activity, Fact, Facts, Telemetry, TurnRef
from agent_core.text.own_commands import install_text
from bot.release import release
from bot.settings import Settings, written_variables
from bot.wiring.instruments import DOLLARS, DURATIONS, ERRORS, INSTRUMENTS, RATE_LIMITS, TOKENS, Instrument

logger = logging.getLogger(__name__)

ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT"
NO_ERROR = ("CancelledError", "GeneratorExit", "OverBudget")  # of a model call that was given up, or not made


class Meters(Protocol):
    """Instruments of one library."""

    def observe(self, instrument: Instrument, amount: float, labels: Mapping[str, str]) -> None:
        """Add the amount to a counter, or the seconds to a histogram."""


class Tracer(Protocol):
    """Makes spans. `facts` are read at the end of the span."""

    def span(self, activity: Activity, turn: TurnRef | None, facts: Facts) -> AbstractContextManager[None]:
        """A span for the with-block, inside the turn's span if a turn is given."""

    def record(self, activity: Activity, turn: TurnRef, began: datetime, ended: datetime, facts: Facts) -> None:
        """A span with these times."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessTelemetry:
    """Implements `Telemetry`."""

    clock: Clock
    meters: Sequence[Meters]
    tracer: Tracer | None = None

    @contextmanager
    def watch(self, activity: Activity, turn: TurnRef | None = None, **facts: Fact) -> Iterator[Facts]:
        began, error = self.clock.elapsed(), ""
        traced = self.tracer if activity != "sweep" else None  # a span each second would hide the others
        try:
            with traced.span(activity, turn, facts) if traced else nullcontext():
                yield facts
        except BaseException as fault:
            error = type(fault).__name__
            raise
        finally:
            self._measure(activity, self.clock.elapsed() - began, facts, error)

    def record(self, activity: Activity, turn: TurnRef, began: datetime, ended: datetime, **facts: Fact) -> None:
        self._measure(activity, max(0.0, (ended - began).total_seconds()), facts)
        if self.tracer:
            self.tracer.record(activity, turn, began, ended, facts)

    def count_rate_limit(self, source: str) -> None:
        self._observe(RATE_LIMITS, 1, {"source": source})

    def _measure(self, activity: Activity, seconds: float, facts: Facts, error: str = "") -> None:
        if not error:
            self._observe(DURATIONS[activity], seconds, facts)
        if activity != "model call":
            return
        if error and error not in NO_ERROR:
            self._observe(ERRORS, 1, {"error": error})
        elif not error:
            for kind in ("input", "cached", "output", "reasoning"):
                self._observe(TOKENS, float(facts[kind]), {**facts, "type": kind})
            self._observe(DOLLARS, float(facts["cost"]), facts)

    def _observe(self, instrument: Instrument, amount: float, facts: Mapping[str, Fact]) -> None:
        labels = {name: str(facts.get(name, "")) for name in instrument.labels}
        for each in self.meters:
            each.observe(instrument, amount, labels)


def make_telemetry(settings: Settings, clock: Clock, stack: AsyncExitStack, scraped: Meters | None) -> Telemetry:
    """What the process tells of itself: to Prometheus if it is `scraped`, and to OpenTelemetry if it has an endpoint.

    The names of OpenTelemetry's SDK may stand in `.env`, as those of Signoff do.
    """
    meters, tracer = [scraped] if scraped else [], None
    given = {name: text for name, text in written_variables(".env").items() if name.startswith("OTEL_") and text}
    os.environ.update({name: text for name, text in given.items() if name not in os.environ})
    if os.environ.get(ENDPOINT, "").strip():
        try:
            from bot.wiring.open_telemetry import Exporting  # an extra, imported only where it is wanted
        except ImportError:
            logger.warning("%s is set, and nothing is sent: run %s", ENDPOINT, install_text("otel"))
        else:
            exporting = Exporting.started(INSTRUMENTS, release(), provider_name(settings))
            stack.push_async_callback(exporting.close)
            meters, tracer = [*meters, exporting], exporting
    return ProcessTelemetry(clock=clock, meters=meters, tracer=tracer) if meters else NOT_WATCHED


def provider_name(settings: Settings) -> str:
    """Who serves the model, in the words of OpenTelemetry: by the API that is spoken."""
    return settings.endpoint.api if settings.endpoint else "signoff.demo"
