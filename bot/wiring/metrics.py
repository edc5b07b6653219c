"""What Prometheus scrapes at `/metrics`: what this process counted; where pages are served, also how things are."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial

from aiohttp import web
from prometheus_client import (
    REGISTRY,
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    Info,
    disable_created_metrics,
    generate_latest,
)

from adapters.web.guard import Guard
from adapters.web.page_context import WebContext
from agent_core.errors import DatabaseAway
from agent_core.ports.clock import Clock
from bot.release import release
from bot.settings import Settings
from bot.wiring.instruments import INSTRUMENTS, Instrument
from bot.wiring.probes import Heard

METRICS = "/metrics"
disable_created_metrics()  # type: ignore[no-untyped-call]  # a time for each series, which nobody reads
TYPE = "text/plain; version=0.0.4; charset=utf-8"


class PrometheusMeters:
    """Implements `Meters`, in a registry of its own."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._made = {each.name: self._make(each) for each in INSTRUMENTS}
        Info("signoff_build", "The release that runs.", registry=self.registry).info({"version": release()})

    def observe(self, instrument: Instrument, amount: float, labels: Mapping[str, str]) -> None:
        made = self._made[instrument.name]
        child = made.labels(**labels) if labels else made
        if isinstance(child, Histogram):
            child.observe(amount)
        else:
            child.inc(amount)

    def _make(self, instrument: Instrument) -> Histogram | Counter:
        name, said, labels = instrument.name.replace(".", "_"), instrument.said, instrument.labels
        if instrument.buckets:
            return Histogram(f"{name}_seconds", said, labels, buckets=instrument.buckets, registry=self.registry)
        made = Counter(f"{name}_total", said, labels, registry=self.registry)
        for each in instrument.known:
            made.labels(each)  # begins at 0, so that the first one is an increase
        return made


@dataclass(frozen=True, slots=True, kw_only=True)
class Metrics:
    """The endpoint. `page` is None in a worker: numbers of the whole database, told by each process, would add up.

    `guard` asks for the token.
    """

    guard: Guard
    meters: PrometheusMeters = field(default_factory=PrometheusMeters)
    page: WebContext | None = None
    heard: Heard = field(default_factory=dict)

    async def answer(self, request: web.Request) -> web.Response:
        """Prometheus text. `Authorization: Bearer …` must have METRICS_TOKEN, or else what opens the page."""
        await self.guard.require_bearer(request)
        present = b""
        with suppress(DatabaseAway):  # what this process counted is told all the same
            present = await self._present(self.page) if self.page else b""
        text = present + generate_latest(self.meters.registry) + generate_latest(REGISTRY)
        return web.Response(body=text, headers={"Content-Type": TYPE})

    async def _present(self, page: WebContext) -> bytes:
        """How things are: agents by status, workers, the oldest wait, and when the platforms last sent anything."""
        gauge = partial(Gauge, registry=(own := CollectorRegistry()))
        agents = gauge("signoff_agents", "Agents by what they are doing.", ["status"])
        for count in await page.views.census():
            agents.labels(status=count.status).inc(count.number)
        gauge("signoff_workers", "Processes that advance agents.").set(page.count_workers())
        oldest = await page.views.operations.oldest_wait()
        age = (page.clock.now() - oldest).total_seconds() if oldest else 0
        gauge("signoff_oldest_approval_age_seconds", "How long the oldest proposal waits, 0 for none.").set(age)
        if self.heard:
            said = "When a gateway last sent anything, 0 for never."
            times = gauge("signoff_heard_timestamp_seconds", said, ["surface"])
            for name, last in self.heard.items():
                times.labels(surface=name).set(at.timestamp() if (at := last()) else 0)
        return generate_latest(own)


def metrics_guard(settings: Settings, clock: Clock) -> Guard | None:
    """What asks for METRICS_TOKEN, which opens nothing else; None if it is not set."""
    token = settings.metrics_token.get_secret_value()
    return Guard(token=token, clock=clock, guarded=METRICS) if token else None
