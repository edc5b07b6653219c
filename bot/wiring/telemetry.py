"""Telemetry of one process: turns the core's activities into measurements, and into spans if traces are sent."""

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, AsyncExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Protocol, get_args

from agent_core.capabilities.models.prices import listed
from agent_core.model.model_calls import CallKind, Usage
from agent_core.ports.clock import Clock
from agent_core.ports.models import LanguageModel
from agent_core.ports.telemetry import NOT_WATCHED, Activity, Fact, Facts, Telemetry, TurnRef
from agent_core.text.own_commands import install_text
from bot.release import release
from bot.settings import Settings
from bot.wiring.collectors import ENDPOINT, find_collectors, read_names
from bot.wiring.instruments import (
    DOLLARS,
    DURATIONS,
    ERRORS,
    FINISHES,
    INSTRUMENTS,
    NO_ERROR,
    OTHER,
    RATE_LIMITS,
    TOKENS,
    Instrument,
)

logger = logging.getLogger(__name__)


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
    """Implements `Telemetry`. `is_known`: whether a model's name may be told; people can type any text as one."""

    clock: Clock
    meters: Sequence[Meters]
    tracer: Tracer | None = None
    is_known: Callable[[str], bool] = bool

    @contextmanager
    def watch(self, activity: Activity, turn: TurnRef | None = None, **facts: Fact) -> Iterator[Facts]:
        began, error = self.clock.elapsed(), ""
        traced = self.tracer if activity != "sweep" else None  # a span each second would hide the others
        try:
            with traced.span(activity, turn, facts) if traced else nullcontext():
                try:
                    yield facts
                finally:
                    self._hide_free_text(facts)
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

    def count_usage(self, model: str, usage: Usage) -> None:
        name = model if model in get_args(CallKind) else self._told(model)
        tokens = {"input": usage.prompt, "cached": usage.cached}
        tokens |= {"output": usage.completion, "reasoning": usage.reasoning}
        for kind, number in tokens.items():
            self._observe(TOKENS, number, {"model": name, "type": kind})
        self._observe(DOLLARS, float(usage.cost), {"model": name})

    def _told(self, model: str) -> str:
        return model if not model or self.is_known(model) else OTHER

    def _hide_free_text(self, facts: Facts) -> None:
        facts |= {name: self._told(str(facts[name])) for name in ("model", "answered_by") if name in facts}
        if facts.get("finish", "stop") not in FINISHES:
            facts["finish"] = OTHER

    def _measure(self, activity: Activity, seconds: float, facts: Facts, error: str = "") -> None:
        if not error:
            self._observe(DURATIONS[activity], seconds, facts)
        elif activity == "model call" and error not in NO_ERROR:
            self._observe(ERRORS, 1, {"error": error})

    def _observe(self, instrument: Instrument, amount: float, facts: Mapping[str, Fact]) -> None:
        labels = {name: str(facts.get(name, "")) for name in instrument.labels}
        for each in self.meters:
            each.observe(instrument, amount, labels)


def is_known_model(settings: Settings, model: LanguageModel, name: str) -> bool:
    """Whether the name stands in the settings or in the list of public prices, or is that of the default model."""
    named = (settings.smart_model, settings.fast_model, settings.fallback_model, model.default_model)
    if name in named or name in settings.model_prices:
        return True
    return settings.has_endpoint and any(each.model.id == name for each in listed({}, name, ""))


def make_telemetry(
    settings: Settings, model: LanguageModel, clock: Clock, stack: AsyncExitStack, scraped: Meters | None
) -> Telemetry:
    """What the process tells of itself: to Prometheus if it is `scraped`, and to collectors if there are any.

    Raise SettingsError for a value of OpenTelemetry's that cannot be followed.
    """
    meters, tracer = [scraped] if scraped else [], None
    if collectors := find_collectors(read_names()):
        try:
            from bot.wiring.open_telemetry import Exporting  # an extra, imported only where it is wanted
        except ImportError:
            logger.warning("%s is set, and nothing is sent: run %s", ENDPOINT, install_text("otel"))
        else:
            exporting = Exporting.started(INSTRUMENTS, release(), provider_name(settings), collectors)
            stack.push_async_callback(exporting.close)
            meters = [*meters, exporting] if "metrics" in collectors else meters
            tracer = exporting if "traces" in collectors else None
    if not (meters or tracer):
        return NOT_WATCHED
    return ProcessTelemetry(
        clock=clock, meters=meters, tracer=tracer, is_known=partial(is_known_model, settings, model)
    )


def provider_name(settings: Settings) -> str:
    """Who serves the model, in the words of OpenTelemetry: by the API that is spoken."""
    return settings.endpoint.api if settings.endpoint else "signoff.demo"
