"""Which signals are sent where, by the names of OpenTelemetry's SDK; what the doctor and the log say of it."""

import logging
import socket
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agent_core.errors import SettingsError
from agent_core.model.ids import AgentId
from agent_core.ports.telemetry import TurnRef
from agent_core.testing.examples import NOON
from bot.settings import unread_names
from bot.wiring.collectors import ENDPOINT, find_collectors, telemetry_finding
from bot.wiring.instruments import INSTRUMENTS
from bot.wiring.open_telemetry import Exporting
from tests.e2e.process import running
from tests.standins.otlp import Collector, collecting

AT = "http://collector:4318"
TRACES, METRICS = {"traces": f"{AT}/v1/traces"}, {"metrics": f"{AT}/v1/metrics"}
OWN = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"


@pytest.mark.parametrize(
    ("names", "found"),
    [
        ({}, {}),
        ({ENDPOINT: AT}, {**TRACES, **METRICS}),
        ({ENDPOINT: f"{AT}/"}, {**TRACES, **METRICS}),
        ({ENDPOINT: AT, "OTEL_METRICS_EXPORTER": "none"}, TRACES),
        ({ENDPOINT: AT, "OTEL_TRACES_EXPORTER": "none"}, METRICS),
        ({ENDPOINT: AT, "OTEL_SDK_DISABLED": "TRUE"}, {}),
        ({OWN: "https://other/x"}, {"traces": "https://other/x"}),
        ({ENDPOINT: AT, OWN: "https://other/x"}, {**METRICS, "traces": "https://other/x"}),
        ({"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": f"{AT}/v1/metrics"}, METRICS),
        (
            {ENDPOINT: AT, "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf", "OTEL_TRACES_EXPORTER": "otlp"},
            TRACES | METRICS,
        ),
        ({"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, {}),
    ],
)
def test_each_signal_goes_to_its_collector(names: dict[str, str], found: dict[str, str]) -> None:
    assert find_collectors(names) == found


@pytest.mark.proves("settings:fault")
@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        (ENDPOINT, "collector:4318", "must be the address of a collector"),
        (ENDPOINT, "http://[::1", "must be the address of a collector"),
        (OWN, "collector", "must be the address of a collector"),
        ("OTEL_TRACES_EXPORTER", "console", "must be otlp or none"),
        ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc", "must be http/protobuf"),
        ("OTEL_EXPORTER_OTLP_METRICS_PROTOCOL", "http/json", "must be http/protobuf"),
        ("OTEL_BSP_SCHEDULE_DELAY", "5s", "must be a whole number"),
        ("OTEL_EXPORTER_OTLP_HEADERS", "a=b,Authorization: Bearer sesame", "must be pairs of name=value"),
    ],
)
def test_what_cannot_be_followed_is_said(name: str, value: str, said: str) -> None:
    with pytest.raises(SettingsError) as fault:
        find_collectors({ENDPOINT: AT, name: value})
    assert (fault.value.variable, said in fault.value.fault) == (name, True)
    assert "sesame" not in str(fault.value)


@pytest.mark.proves("settings:fault")
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("OTEL_METRIC_EXPORT_INTERVAL", "0"),
        ("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "9999"),
        ("OTEL_SPAN_LINK_COUNT_LIMIT", "x"),
    ],
)
def test_what_the_sdk_refuses_is_said(name: str, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(SettingsError, match="OpenTelemetry refuses the value of a setting: "):
        Exporting.started(INSTRUMENTS, "1.0", "openai", find_collectors({ENDPOINT: AT}))


@pytest.mark.slow
@pytest.mark.proves("settings:fault")
async def test_a_start_with_a_wrong_value_ends_in_a_sentence(tmp_path: Path) -> None:
    async with running(tmp_path, "bot", "run", **{ENDPOINT: AT, "OTEL_METRIC_EXPORT_INTERVAL": "0"}) as program:
        assert await program.ended() == 2
        await program.listen()
    (line,) = (each for each in program.lines if "did not start" in each)
    assert "OTEL_…: OpenTelemetry refuses the value of a setting: interval value 0.0 is invalid" in line
    assert "Traceback" not in program.output


def test_the_doctor_says_what_is_sent_and_shows_no_password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(ENDPOINT, raising=False)
    assert (telemetry_finding().state, telemetry_finding().variable) == ("off", ENDPOINT)
    monkeypatch.setenv(ENDPOINT, "https://ana:sesame@collector:4318/otlp?key=sesame")
    found = telemetry_finding()
    at = "https://collector:4318/otlp"
    assert (found.state, found.why) == ("on", f"traces to {at}, metrics to {at}")
    monkeypatch.setattr("bot.wiring.collectors.otel_names", frozenset)
    assert (telemetry_finding().state, "run make extras EXTRAS=otel" in telemetry_finding().why) == ("warn", True)
    monkeypatch.setenv(ENDPOINT, "collector:4318")
    assert telemetry_finding().state == "fault"


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("OTEL_EXPORTER_OLTP_ENDPOINT", ENDPOINT),
        ("OTEL_EXPORTER_OTLP_TRACE_ENDPOINT", OWN),
        ("OTEL_METRICS_EXPORTER", ""),
        ("OTEL_JAVAAGENT_ENABLED", ""),
    ],
)
def test_a_misspelt_name_is_told(written: str, meant: str) -> None:
    assert unread_names({written: "x"}, None) == ({written: meant} if meant else {})


@pytest.fixture
async def collector() -> AsyncIterator[Collector]:
    async with collecting() as collector:
        yield collector


@pytest.mark.slow
async def test_a_lost_batch_is_told_with_the_address_and_the_reason(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "1.5")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    address = f"http://ana:sesame-one@127.0.0.1:{port}/v1/traces?key=sesame-two"
    with caplog.at_level(logging.INFO):
        exporting = Exporting.started(INSTRUMENTS, "1.0", "openai", {"traces": address})
        exporting.record("turn", TurnRef(AgentId("ada"), 1), NOON, NOON, {})
        await exporting.close()
    (lost,) = (each for each in caplog.records if each.name.startswith("opentelemetry"))
    assert (lost.levelname, vars(lost)["collector"]) == ("ERROR", f"http://127.0.0.1:{port}/v1/traces")
    assert "Connection refused" in vars(lost)["why"]
    assert "sesame" not in str(vars(lost))


@pytest.mark.slow
async def test_only_the_wanted_signal_is_sent(collector: Collector, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_METRIC_EXPORT_INTERVAL", "100")
    sent = find_collectors({ENDPOINT: collector.base_url, "OTEL_METRICS_EXPORTER": "none"})
    exporting = Exporting.started(INSTRUMENTS, "1.0", "openai", sent)
    exporting.observe(INSTRUMENTS[0], 1.0, {"state": "done"})
    exporting.record("turn", TurnRef(AgentId("ada"), 1), NOON, NOON, {})
    await exporting.close()
    assert ([span.name for span in collector.spans], collector.metrics) == (["turn"], {})
