"""What a process measures of a story, and what of that reaches Prometheus and a collector of OpenTelemetry."""

import logging
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from datetime import timedelta
from decimal import Decimal
from functools import partial

import pytest

from agent_core.errors import CommandError, ModelRefused, ModelUnavailable, RateLimited
from agent_core.model.decision import Approve, Reject
from agent_core.model.ids import AgentId
from agent_core.model.model_calls import Usage
from agent_core.ports.telemetry import NOT_WATCHED, TurnRef
from agent_core.testing.clock import FakeClock
from agent_core.testing.examples import NOON
from agent_core.testing.language_model import ScriptedModel
from agent_core.testing.stage import Stage
from bot.settings import load
from bot.wiring.collectors import ENDPOINT, find_collectors, read_names
from bot.wiring.instruments import INSTRUMENTS
from bot.wiring.metrics import PrometheusMeters
from bot.wiring.open_telemetry import Exporting, turn_span
from bot.wiring.telemetry import ProcessTelemetry, is_known_model, make_telemetry
from tests.scenario.chat import writing
from tests.standins.otlp import Collector, collecting

TURN = TurnRef(AgentId("ada"), 3)
IDS = "4771fa3950d60593f3b12889554adcf2/4381d217c80f4f96"


class Watched:
    """A stage whose process is scraped."""

    def __init__(
        self, *replies: str | Exception, cost: Decimal = Decimal(0), undo_window: timedelta = timedelta()
    ) -> None:
        self.meters, self.clock = PrometheusMeters(), FakeClock()
        telemetry = ProcessTelemetry(clock=self.clock, meters=(self.meters,))
        model = ScriptedModel(*replies, cost=cost)
        self.stage = Stage(model=model, clock=self.clock, telemetry=telemetry, undo_window=undo_window)

    def value(self, name: str, **labels: str) -> float | None:
        return self.meters.registry.get_sample_value(f"signoff_{name}", labels)


async def test_a_story_is_counted_with_its_times_tokens_and_dollars() -> None:
    watched = Watched(writing("a.txt", "tea"), writing("b.txt", "tea"), cost=Decimal("0.5"))
    agent = await watched.stage.create("Write two files")
    watched.clock.advance(7_200)
    await watched.stage.decide(agent, Approve())
    await watched.stage.wait_until_settled(agent)
    await watched.stage.decide(agent, Reject("enough"))
    assert watched.value("decision_duration_seconds_sum", decision="approve") == 7_200
    assert watched.value("decision_duration_seconds_count", decision="reject") == 1
    assert watched.value("command_duration_seconds_count", result="succeeded") == 1
    assert watched.value("turn_duration_seconds_sum", state="done") == 7_200
    assert watched.value("turn_duration_seconds_count", state="rejected") == 1
    assert watched.value("think_duration_seconds_count") == 2
    assert watched.value("card_duration_seconds_count", surface="web")
    assert watched.value("model_cost_dollars_total", model="scripted") == 1
    assert watched.value("model_tokens_total", model="scripted", type="input")
    assert watched.value("model_call_duration_seconds_count", model="scripted", kind="chat") == 2


async def test_a_stopped_turn_is_counted_too() -> None:
    watched = Watched(writing("a.txt", "tea"))
    agent = await watched.stage.create("Write a file")
    await watched.stage.service.lifecycle.stop(agent.id, watched.stage.origin())
    assert watched.value("turn_duration_seconds_count", state="withdrawn") == 1


@pytest.mark.parametrize("error", [ModelUnavailable("away"), ModelRefused("wrong key"), RateLimited("busy", 3)])
async def test_errors_of_models_are_counted_by_kind_and_not_timed(error: Exception) -> None:
    watched = Watched(error)
    await watched.stage.create("Write a file")
    assert watched.value("model_errors_total", error=type(error).__name__) == 1
    assert watched.value("model_call_duration_seconds_count", model="scripted", kind="chat") is None
    assert watched.value("rate_limits_total", source="model") == isinstance(error, RateLimited)


async def test_metrics_count_what_is_charged_also_by_other_services_and_a_model_that_stands_in() -> None:
    watched = Watched(writing("a.txt", "tea"), cost=Decimal("0.5"))
    agent = await watched.stage.create("Write a file")
    async with watched.stage.ledger.open_tracker(agent) as tracker:
        tracker.record("chat", Usage(prompt=100, completion=20, cost=Decimal("0.25")), "stand-in")
        tracker.record("image", Usage(cost=Decimal("0.125")))
        tracker.record("embedding", Usage(prompt=7))
    async with watched.stage.database.begin() as work:
        charged = (await work.budgets.sum_days("2000-01-01")).models
    assert {each.name for each in charged} == {"scripted", "stand-in", "image", "embedding"}
    for each in charged:
        assert watched.value("model_cost_dollars_total", model=each.name) == float(each.cost)
        tokens = [watched.value("model_tokens_total", model=each.name, type=kind) for kind in ("input", "output")]
        assert sum(filter(None, tokens)) == each.tokens


@pytest.mark.parametrize("ending", ["approve", "think", "stop"])
async def test_a_rejection_that_can_be_undone_ends_its_turn_once(ending: str) -> None:
    watched = Watched(writing("a.txt", "tea"), writing("b.txt", "tea"), undo_window=timedelta(seconds=10))
    stage, origin = watched.stage, watched.stage.origin()
    agent = await stage.create("Write a file")
    turn = await stage.turn(agent)
    await stage.service.decisions.decide(turn.id, Reject("no"), origin, shown=turn.control_hash, can_undo=True)
    assert watched.value("decision_duration_seconds_count", decision="reject") == 1
    match ending:
        case "approve":
            await stage.service.decisions.undo(turn.id, origin)
            await stage.decide(agent, Approve())
        case "think":
            watched.clock.advance(11)
        case _:
            await stage.service.lifecycle.stop(agent.id, origin)
            await stage.service.lifecycle.resume(agent.id, origin)
    await stage.wait_until_settled(agent)
    assert (await stage.turn(agent)).number == 2
    ended = {state: watched.value("turn_duration_seconds_count", state=state) for state in ("done", "rejected")}
    assert ended == ({"done": 1, "rejected": None} if ending == "approve" else {"done": None, "rejected": 1})


def test_counters_of_what_goes_wrong_begin_at_zero() -> None:
    registry = PrometheusMeters().registry
    for kind in ("ModelUnavailable", "ModelRefused", "RateLimited"):
        assert registry.get_sample_value("signoff_model_errors_total", {"error": kind}) == 0
    for source in ("model", "slack", "discord"):
        assert registry.get_sample_value("signoff_rate_limits_total", {"source": source}) == 0


async def test_a_name_that_somebody_typed_and_a_finish_that_an_endpoint_made_up_are_told_as_other() -> None:
    meters = PrometheusMeters()
    is_known = partial(
        is_known_model, load({"SMART_MODEL": "mine", "MODEL_PRICES": '{"own": [1, 1]}'}, None), ScriptedModel()
    )
    telemetry = ProcessTelemetry(clock=FakeClock(), meters=(meters,), is_known=is_known)
    with telemetry.watch("model call", model="our customer Smith", kind="chat") as facts:
        facts |= {"finish": "because Smith said so", "answered_by": "Smith's"}
    assert facts == {"model": "other", "kind": "chat", "finish": "other", "answered_by": "other"}
    for model in ("mine", "own", "scripted", "embedding", "our customer Smith", "another one"):
        telemetry.count_usage(model, Usage(prompt=1))
    told = {
        sample.labels["model"]
        for family in meters.registry.collect()
        for sample in family.samples
        if "model" in sample.labels
    }
    assert told == {"mine", "own", "scripted", "embedding", "other"}


@pytest.mark.parametrize(("name", "is_known"), [("gpt-4o", True), ("gpt-4o of Smith", False), ("gpt-4o-smith", False)])
def test_public_names_are_known_where_an_endpoint_answers(name: str, is_known: bool) -> None:
    settings = load({"OPENAI_API_KEY": "sk-x"}, None)
    assert is_known_model(settings, ScriptedModel(), name) == is_known


async def test_a_call_that_was_given_up_is_no_error() -> None:
    meters = PrometheusMeters()
    telemetry = ProcessTelemetry(clock=FakeClock(), meters=(meters,))
    with pytest.raises(GeneratorExit), telemetry.watch("model call"):
        raise GeneratorExit
    assert meters.registry.get_sample_value("signoff_model_errors_total", {"error": "GeneratorExit"}) is None


def test_the_ids_of_a_turn_are_the_same_in_every_process_and_no_two_turns_share_them() -> None:
    known = turn_span(TURN)
    assert f"{known.trace_id:032x}/{known.span_id:016x}" == IDS
    others = {turn_span(TurnRef(AgentId("ada"), 4)).trace_id, turn_span(TurnRef(AgentId("bob"), 3)).trace_id}
    assert len({known.trace_id, *others}) == 3


@pytest.fixture
async def collector(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Collector]:
    async with collecting() as collector:
        monkeypatch.setenv(ENDPOINT, collector.base_url)
        monkeypatch.setenv("OTEL_METRIC_EXPORT_INTERVAL", "200")
        yield collector


@pytest.mark.slow
async def test_an_error_is_told_by_its_class_and_never_by_its_words(collector: Collector) -> None:
    exporting = Exporting.started(INSTRUMENTS, "1.0", "openai", find_collectors(read_names()))
    telemetry = ProcessTelemetry(clock=FakeClock(), meters=(exporting,), tracer=exporting)
    with pytest.raises(CommandError), telemetry.watch("command", TURN, command="read_file"):
        raise CommandError("private words")
    telemetry.record("turn", TURN, NOON, NOON + timedelta(days=3), state="done")
    await exporting.close()
    await collector.until(lambda: len(collector.spans) == 2)
    (command,), (turn,) = collector.named("execute_tool read_file"), collector.named("turn")
    assert (command.failed, command.facts["error.type"]) == (True, "CommandError")
    assert (command.trace, command.parent) == (turn.trace, turn.id)
    assert (turn.ended - turn.began) == timedelta(days=3).total_seconds() * 1e9
    assert b"private" not in b"".join(collector.raw)


@pytest.mark.slow
async def test_a_name_of_the_operator_goes_before_ours(collector: Collector, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_SERVICE_NAME", "approvals")
    exporting = Exporting.started(INSTRUMENTS, "1.0", "openai", find_collectors(read_names()))
    exporting.record("turn", TURN, NOON, NOON - timedelta(seconds=5), {})  # by a clock that is behind
    await exporting.close()
    await collector.until(lambda: collector.spans)
    (span,) = collector.spans
    assert (span.service, span.ended - span.began) == ("approvals 1.0", 0)


async def test_nothing_is_loaded_or_measured_where_nobody_asks_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(ENDPOINT, raising=False)
    async with AsyncExitStack() as stack:
        assert make_telemetry(load({}, None), ScriptedModel(), FakeClock(), stack, None) is NOT_WATCHED


async def test_without_the_extra_a_line_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv(ENDPOINT, "http://127.0.0.1:4318")
    monkeypatch.setitem(sys.modules, "bot.wiring.open_telemetry", None)
    async with AsyncExitStack() as stack:
        with caplog.at_level(logging.WARNING):
            assert make_telemetry(load({}, None), ScriptedModel(), FakeClock(), stack, None) is NOT_WATCHED
    assert "nothing is sent: run make extras EXTRAS=otel" in caplog.text
