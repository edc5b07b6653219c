"""Metered calls: room for reasoning, limits that a budget affords, and the cost of calls that do not end."""

import asyncio
import json
from collections.abc import Sequence
from contextlib import suppress
from decimal import Decimal
from typing import Any

import pytest

from agent_core.capabilities.models.fallback_model import FallbackModel
from agent_core.capabilities.models.token_counters import Estimates
from agent_core.errors import ModelUnavailable, OverBudget
from agent_core.model.agent import ModelChoice
from agent_core.model.model_calls import FREE, Budget, Message, Reply, Usage
from agent_core.model.records.reservation import Account
from agent_core.ports.models import CallOptions, LanguageModel, ModelProgress
from agent_core.prompt.model_client import (
    DEFAULT_REPLY_TOKENS,
    MIN_AFFORDABLE_TOKENS,
    REASONING_TOKENS,
    MeteredModel,
    ModelRequest,
)
from agent_core.spending.budget_ledger import BudgetLedger
from agent_core.spending.spending_tracker import SpendingTracker
from agent_core.testing.clock import FakeClock
from agent_core.testing.database import TemporaryDatabase
from agent_core.testing.examples import CHANNEL
from agent_core.testing.language_model import ScriptedModel

PROMPT = (Message("system", "You are Ada."), Message("user", "Choose."))
PROMPT_TOKENS = 3 + 4 + 4 + 4 + 3  # of the prompt, of each message besides its text, and of the texts
WINDOW = 400_000


class PricedModel(ScriptedModel):
    """Costs a dollar for each million tokens of a reply, and reports a part of it before it fails or waits."""

    received = 0

    def __init__(self, *replies: Reply | Exception | str, **facts: Any) -> None:
        super().__init__(*replies, **facts)
        self.begun = asyncio.Event()

    def price(self, usage: Usage, model: str) -> Decimal | None:
        return Decimal(usage.completion) / 1_000_000

    async def complete(self, messages: Sequence[Message], options: CallOptions) -> Reply:
        if self.received and options.report:
            options.report(ModelProgress(characters=self.received))
        self.begun.set()
        return await super().complete(messages, options)


class DearModel(PricedModel):
    """Costs a dollar for each thousand tokens of a reply."""

    def price(self, usage: Usage, model: str) -> Decimal | None:
        return Decimal(usage.completion) / 1_000


def reasoned(text: str = "", *, tokens: int = 4_000, finish_reason: str = "length") -> Reply:
    return Reply(text=text, usage=Usage(completion=tokens, reasoning=tokens), finish_reason=finish_reason)


def metered(model: LanguageModel, **settings: Any) -> MeteredModel:
    return MeteredModel(model=model, tokens=Estimates(), **settings)


def limits(model: ScriptedModel) -> list[int]:
    return [each.max_tokens for each in model.options]


async def ask(client: MeteredModel, tracker: SpendingTracker | None = None, **request: Any) -> Reply:
    question = ModelRequest(**{"kind": "chat", "prompt": PROMPT, **request})
    return await client.ask(question, ModelChoice(), tracker or SpendingTracker())


async def test_a_model_may_answer_as_much_as_it_can() -> None:
    model = ScriptedModel("a", "b", "c", window=WINDOW, max_reply=64_000)
    small = ScriptedModel("a", window=16_000, max_reply=64_000)
    unknown = ScriptedModel("a", window=WINDOW)
    for each in (model, small, unknown):
        await ask(metered(each))
    assert [limits(each) for each in (model, small, unknown)] == [[64_000], [4_000], [DEFAULT_REPLY_TOKENS]]


@pytest.mark.parametrize("cut", [reasoned(), reasoned('{"thoughts"'), reasoned(finish_reason="stop")])
async def test_a_reply_without_room_besides_reasoning_gets_more_twice(cut: Reply) -> None:
    model = ScriptedModel(cut, cut, "done", window=WINDOW)
    tracker = SpendingTracker()
    assert (await ask(metered(model), tracker)).text == "done"
    assert limits(model) == [16_000, 32_000, 64_000]
    assert tracker.total.reasoning == 8_000


async def test_more_room_ends_at_the_models_maximum_and_after_two_tries() -> None:
    model = ScriptedModel(*[reasoned()] * 3, window=60_000, max_reply=20_000)
    assert (await ask(metered(model))).is_cut_by_reasoning
    tireless = ScriptedModel(*[reasoned()] * 9, window=WINDOW)
    await ask(metered(tireless))
    assert (limits(model), len(tireless.options)) == ([15_000, 20_000], 3)


async def test_more_room_never_exceeds_what_the_prompt_leaves_of_the_window() -> None:
    model = ScriptedModel(*[reasoned()] * 3, window=10_000)
    await ask(metered(model), prompt=(Message("user", "word " * 4_000),))
    assert limits(model) == [2_500, 3_326]


async def test_a_cut_reply_without_reasoning_is_given_as_it_is() -> None:
    model = ScriptedModel(Reply(text="{", usage=Usage(completion=9), finish_reason="length"), window=WINDOW)
    assert (await ask(metered(model))).text == "{"


async def test_a_short_answer_has_room_for_reasoning_once_the_model_was_seen_to_reason() -> None:
    model = ScriptedModel("a", reasoned("b", finish_reason="stop"), "c", window=WINDOW)
    client = metered(model)
    for _ in range(3):
        await ask(client, max_tokens=1_000)
    assert limits(model) == [1_000, 1_000, 1_000 + REASONING_TOKENS]


async def test_a_reply_costs_at_most_half_of_what_is_left_of_a_budget() -> None:
    model = PricedModel("a", "b", "c", window=WINDOW, max_reply=100_000)
    client, tracker = metered(model), SpendingTracker(agent=Budget(limit=Decimal("0.10")))
    await ask(client, tracker)
    tracker.record("chat", Usage(cost=Decimal("0.09")))
    await ask(client, tracker)
    tracker.record("chat", Usage(cost=Decimal("0.007")))
    with pytest.raises(OverBudget, match=r"next call may cost \$0\.004"):
        await ask(client, tracker)
    assert limits(model) == [50_000, 4_999]


async def test_a_small_budget_does_not_lengthen_a_short_answer() -> None:
    model, tracker = PricedModel("a", window=WINDOW), SpendingTracker(agent=Budget(limit=Decimal("0.0015")))
    await ask(metered(model), tracker, max_tokens=1_000)
    assert limits(model) == [1_000]


class PromptPricedModel(PricedModel):
    """Costs a dollar for each thousand tokens of the prompt and each million of the reply."""

    def price(self, usage: Usage, model: str) -> Decimal | None:
        return Decimal(usage.prompt * 1_000 + usage.completion) / 1_000_000


async def test_the_prompt_is_paid_out_of_the_half_of_a_budget_before_the_reply() -> None:
    model = PromptPricedModel("a", window=WINDOW, max_reply=100_000)
    await ask(metered(model), SpendingTracker(agent=Budget(limit=Decimal("0.10"))))
    assert limits(model) == [50_000 - 1_000 * PROMPT_TOKENS]


async def test_what_another_agent_reserves_is_not_left() -> None:
    model = PricedModel("a", window=WINDOW, max_reply=100_000)
    database, limit = TemporaryDatabase(), Budget(limit=Decimal("0.10"))
    async with database.begin() as work:
        work.budgets.set_limit(CHANNEL, limit.limit)
        await work.commit()
    ledger = BudgetLedger(database, FakeClock())
    other, tracker = (ledger.tracker(Account(channel=CHANNEL), Budget(), limit) for _ in range(2))
    async with other.reserve(Decimal("0.08"), "m", "chat"):
        await ask(metered(model), tracker)
    assert limits(model) == [10_000]
    assert limits(model)[0] > MIN_AFFORDABLE_TOKENS


class CachingModel(PricedModel):
    """Costs a dollar for each thousand tokens of the prompt, and more or less for those written to its cache."""

    write_price = Decimal("1.25")

    def price(self, usage: Usage, model: str) -> Decimal | None:
        return (usage.prompt - usage.cache_written + usage.cache_written * self.write_price) / 1_000


@pytest.mark.parametrize(("write_price", "dearest"), [("1.25", "1.25"), ("0.4", "1")])
async def test_a_budget_has_to_afford_that_the_whole_prompt_is_written_to_the_cache(
    write_price: str, dearest: str
) -> None:
    model = CachingModel("a", window=WINDOW)
    model.write_price = Decimal(write_price)
    most = Decimal(PROMPT_TOKENS) / 1_000 * Decimal(dearest)
    with pytest.raises(OverBudget):
        await ask(metered(model), SpendingTracker(agent=Budget(limit=most - Decimal("0.000001"))))
    assert (await ask(metered(model), SpendingTracker(agent=Budget(limit=most)))).text == "a"


class PartlyPricedModel(PricedModel):
    """Has no price for tokens that are written to its cache."""

    def price(self, usage: Usage, model: str) -> Decimal | None:
        return None if usage.cache_written else super().price(usage, model)


async def test_a_budget_is_not_kept_if_the_price_of_the_cache_is_unknown() -> None:
    model = PartlyPricedModel("a", window=WINDOW)
    with pytest.raises(OverBudget, match="No price is known for scripted"):
        await ask(metered(model), SpendingTracker(agent=Budget(limit=Decimal(9))))
    assert model.options == []


async def test_a_budget_has_to_afford_the_schema_that_is_sent_with_the_prompt() -> None:
    model, schema = CachingModel("a", window=WINDOW), {"description": "word " * 1_000}
    model.write_price = Decimal(1)
    most = Decimal(PROMPT_TOKENS + Estimates().of("").count(json.dumps(schema))) / 1_000
    with pytest.raises(OverBudget):
        await ask(metered(model), SpendingTracker(agent=Budget(limit=most - Decimal("0.000001"))), schema=schema)
    assert (await ask(metered(model), SpendingTracker(agent=Budget(limit=most)), schema=schema)).text == "a"


async def test_efforts_are_the_agents_or_the_operators_for_each_kind_of_call() -> None:
    model = ScriptedModel("a", "b", "c", "d", window=WINDOW)
    client = metered(model, fast_model="fast", effort="high", fast_effort="low")
    await ask(client)
    await ask(client, kind="summary")
    await ask(client, kind="function", by_own_model=True)
    own = ModelChoice(model="own", effort="minimal", cache_key="agent")
    await client.ask(ModelRequest(kind="chat", prompt=PROMPT), own, SpendingTracker())
    assert [(each.model, each.effort, each.cache_key) for each in model.options] == [
        ("scripted", "high", ""),
        ("fast", "low", ""),
        ("scripted", "high", ""),
        ("own", "minimal", "agent"),
    ]


async def test_a_reply_costs_the_price_of_its_model_and_not_what_it_says() -> None:
    tracker = SpendingTracker()
    said = Reply(text="a", usage=Usage(completion=1_000, cost=Decimal(9)))
    await ask(metered(PricedModel(said, window=WINDOW)), tracker)
    assert tracker.total.cost == Decimal("0.001")


async def test_a_call_that_breaks_off_is_charged_for_what_was_received() -> None:
    model, tracker = PricedModel(ModelUnavailable("It broke off."), window=WINDOW), SpendingTracker()
    model.received = 3_000
    with pytest.raises(ModelUnavailable):
        await ask(metered(model), tracker)
    assert (tracker.total.completion, tracker.total.cost) == (1_001, Decimal("0.001001"))


async def test_a_cancelled_call_is_charged_for_what_was_received() -> None:
    model, tracker = PricedModel(waits=True, window=WINDOW), SpendingTracker()
    model.received = 3_000
    call = asyncio.create_task(ask(metered(model), tracker))
    await model.begun.wait()
    call.cancel()
    await asyncio.wait([call])
    assert call.cancelled()
    assert (tracker.total.completion, tracker.held) == (1_001, FREE)


async def test_the_newest_call_says_whether_the_endpoint_can_be_reached() -> None:
    client, faults = metered(ScriptedModel("a", ModelUnavailable("It is away."), "b")), []
    for _ in range(3):
        with suppress(ModelUnavailable):
            await ask(client)
        faults.append(client.newest.fault)
    assert faults == ["", "It is away.", ""]


async def test_a_call_of_which_nothing_was_received_costs_nothing() -> None:
    model, tracker = PricedModel(ModelUnavailable("Away."), window=WINDOW), SpendingTracker()
    with pytest.raises(ModelUnavailable):
        await ask(metered(model), tracker)
    assert tracker.total == Usage()


@pytest.mark.parametrize("is_trial", [True, False])
async def test_what_a_stopped_call_received_is_paid_at_the_price_of_the_model_that_was_asked(is_trial: bool) -> None:
    busy, clock = ModelUnavailable("busy"), FakeClock()
    first, second = DearModel(busy, busy, waits=True), PricedModel(waits=True, default_model="second")
    client = metered(FallbackModel(first=first, second=second, clock=clock))
    for _ in range(2):
        with pytest.raises(ModelUnavailable):
            await ask(client)
        clock.advance(60)
    clock.advance(60 if is_trial else -60)
    asked, tracker = first if is_trial else second, SpendingTracker()
    asked.received, asked.begun = 3_000, asyncio.Event()
    call = asyncio.create_task(ask(client, tracker))
    await asked.begun.wait()
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert tracker.total.cost == Decimal(1001) / (1_000 if is_trial else 1_000_000)


async def test_a_trial_of_the_first_model_that_breaks_off_is_paid_before_the_second_answers() -> None:
    busy, clock = ModelUnavailable("busy"), FakeClock()
    first, second = DearModel(busy, busy, busy), PricedModel("two", default_model="second")
    client, tracker = metered(FallbackModel(first=first, second=second, clock=clock)), SpendingTracker()
    for _ in range(2):
        with pytest.raises(ModelUnavailable):
            await ask(client)
        clock.advance(60)
    clock.advance(60)
    first.received = 3_000
    with pytest.raises(ModelUnavailable):
        await ask(client, tracker)
    assert tracker.total.cost == Decimal("1.001")
    assert (await ask(client, tracker)).text == "two"
    assert Decimal("1.001") < tracker.total.cost < Decimal("1.002")
