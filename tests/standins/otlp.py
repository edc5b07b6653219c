"""A collector of OpenTelemetry: takes spans and metrics as protobuf over HTTP, and keeps them."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from aiohttp import web
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
    ExportMetricsServiceResponse,
)
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from opentelemetry.proto.common.v1.common_pb2 import KeyValue
from opentelemetry.proto.trace.v1.trace_pb2 import Span as Sent

from tests.patience import PATIENCE_SECONDS
from tests.standins.serving import serving

Value = str | int | float | list[str]


@dataclass(frozen=True, slots=True)
class Span:
    """A span as it was sent. `process`: the id of the process that sent it. Times are in nanoseconds."""

    name: str
    trace: str
    id: str
    parent: str
    began: int
    ended: int
    failed: bool
    facts: Mapping[str, Value]
    process: str
    service: str


@dataclass(slots=True)
class Collector:
    """What was sent to it. `raw`: every byte, for who looks for a text."""

    base_url: str = ""
    spans: list[Span] = field(default_factory=list)
    metrics: dict[str, str] = field(default_factory=dict)
    raw: list[bytes] = field(default_factory=list)
    _changed: asyncio.Condition = field(default_factory=asyncio.Condition)

    async def until(self, is_there: Callable[[], object]) -> None:
        """Wait for what is to be sent."""
        async with asyncio.timeout(PATIENCE_SECONDS), self._changed:
            await self._changed.wait_for(is_there)

    def named(self, name: str) -> list[Span]:
        return [span for span in self.spans if span.name == name]

    async def take_spans(self, request: web.Request) -> web.Response:
        """POST /v1/traces."""
        body = await self._body(request)
        for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
            of_process = _facts(resource.resource.attributes)
            self.spans += [_span(span, of_process) for scope in resource.scope_spans for span in scope.spans]
        return await self._answer(ExportTraceServiceResponse().SerializeToString())

    async def take_metrics(self, request: web.Request) -> web.Response:
        """POST /v1/metrics."""
        body = await self._body(request)
        for resource in ExportMetricsServiceRequest.FromString(body).resource_metrics:
            for scope in resource.scope_metrics:
                self.metrics.update({metric.name: metric.unit for metric in scope.metrics})
        return await self._answer(ExportMetricsServiceResponse().SerializeToString())

    async def _body(self, request: web.Request) -> bytes:
        assert request.content_type == "application/x-protobuf"
        self.raw.append(body := await request.read())
        return body

    async def _answer(self, body: bytes) -> web.Response:
        async with self._changed:
            self._changed.notify_all()
        return web.Response(body=body, content_type="application/x-protobuf")


def _span(sent: Sent, of_process: Mapping[str, Value]) -> Span:
    return Span(
        name=sent.name,
        trace=sent.trace_id.hex(),
        id=sent.span_id.hex(),
        parent=sent.parent_span_id.hex(),
        began=sent.start_time_unix_nano,
        ended=sent.end_time_unix_nano,
        failed=sent.status.code == sent.status.STATUS_CODE_ERROR,
        facts=_facts(sent.attributes),
        process=str(of_process["service.instance.id"]),
        service=f"{of_process['service.name']} {of_process['service.version']}",
    )


def _facts(given: Iterable[KeyValue]) -> dict[str, Value]:
    return {each.key: _value(each) for each in given}


def _value(given: KeyValue) -> Value:
    match given.value.WhichOneof("value"):
        case "string_value":
            return given.value.string_value
        case "int_value":
            return given.value.int_value
        case "double_value":
            return given.value.double_value
        case _:
            return [each.string_value for each in given.value.array_value.values]


@asynccontextmanager
async def collecting() -> AsyncIterator[Collector]:
    """A collector on a free port."""
    collector = Collector()
    app = web.Application()
    app.add_routes([web.post("/v1/traces", collector.take_spans), web.post("/v1/metrics", collector.take_metrics)])
    async with serving(app) as address:
        collector.base_url = address
        yield collector
