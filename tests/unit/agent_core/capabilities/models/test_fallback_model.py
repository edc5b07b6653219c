"""The fallback model: when it takes over, when the first is tried again, and what the caller is told."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal

import pytest

from agent_core.capabilities.models.fallback_model import AWAY, FallbackModel
from agent_core.errors import ModelError, ModelRefused, ModelUnavailable
from agent_core.model.model_calls import Image, Message, Reply, Usage
from agent_core.ports.models import CallOptions, ModelProgress, Pricing
from agent_core.testing.clock import FakeClock
from agent_core.testing.language_model import Scripted, ScriptedModel

PROMPT = (Message("user", "Choose."),)
BUSY = ModelUnavailable("first.test answered 503: busy.")
WAITING = f"{BUSY} If this lasts for a minute, second · two.test answers."
BEGINS = ModelProgress(characters=30)


class SlowModel(ScriptedModel):
    """Takes `seconds` of the fake clock for each call, and reports a part of the reply first if `begins`."""

    clock: FakeClock
    seconds = 0.0
    begins = False

    async def complete(self, messages: Sequence[Message], options: CallOptions) -> Reply:
        self.clock.advance(self.seconds)
        if self.begins and options.report:
            options.report(BEGINS)
        return await super().complete(messages, options)


@dataclass(slots=True)
class Pair:
    """A fallback over two scripted models."""

    first: SlowModel = field(default_factory=lambda: SlowModel(label="first · one.test", default_model="first"))
    second: ScriptedModel = field(
        default_factory=lambda: ScriptedModel(label="second · two.test", default_model="second")
    )
    clock: FakeClock = field(default_factory=FakeClock)
    model: FallbackModel = field(init=False)

    def __post_init__(self) -> None:
        self.first.clock = self.clock
        self.model = FallbackModel(first=self.first, second=self.second, clock=self.clock)

    async def ask(self, reply: Scripted | None = None, **options: object) -> str:
        """What a call gives; the first's next answer is `reply`."""
        if reply is not None:
            self.first.say(reply)
        try:
            answer = await self.model.complete(PROMPT, CallOptions(max_tokens=1_000, **options))  # type: ignore[arg-type]
        except ModelError as error:
            return str(error)
        return f"{answer.text} by {answer.answered_by or self.first.label}"

    async def go_away(self, **options: object) -> None:
        """Let the first fail for a minute."""
        await self.ask(BUSY, **options)
        self.clock.advance(60)
        await self.ask(BUSY, **options)


@pytest.fixture
def pair() -> Pair:
    return Pair()


@pytest.mark.proves("fallback:minute")
async def test_the_second_answers_after_the_first_has_failed_for_a_minute(pair: Pair) -> None:
    pair.second.say("two", "two")
    assert [await pair.ask(BUSY), await pair.ask(BUSY)] == [WAITING] * 2
    pair.clock.advance(59)
    assert await pair.ask(BUSY) == WAITING
    pair.clock.advance(1)
    assert await pair.ask(BUSY) == str(BUSY)
    assert await pair.ask() == "two by second · two.test"
    assert await pair.ask() == "two by second · two.test"


@pytest.mark.proves("fallback:back")
async def test_the_first_is_tried_once_a_minute_and_takes_over_when_it_answers(pair: Pair) -> None:
    pair.second.say("two", "two", "two")
    await pair.go_away()
    pair.first.say(BUSY, "one", "one")
    said = []
    for seconds in (59, 1, 59, 1, 0):
        pair.clock.advance(seconds)
        said.append(await pair.ask())
    assert said == ["two by second · two.test"] * 3 + ["one by first · one.test"] * 2
    assert len(pair.first.prompts) == 5


async def test_the_first_is_not_tried_before_the_time_that_it_named(pair: Pair) -> None:
    pair.second.say(*["two"] * 3)
    await pair.go_away()
    pair.clock.advance(60)
    await pair.ask(ModelUnavailable("busy", 300.0))
    pair.clock.advance(299)
    await pair.ask()
    assert len(pair.first.prompts) == 3
    pair.clock.advance(1)
    assert await pair.ask("one") == "one by first · one.test"


async def test_a_first_that_hangs_takes_at_most_a_fifth_of_the_time(pair: Pair) -> None:
    pair.first.seconds = 120
    pair.second.say("two", "two")
    assert await pair.ask(BUSY) == str(BUSY)
    assert await pair.ask() == "two by second · two.test"
    pair.clock.advance(599)
    assert await pair.ask() == "two by second · two.test"
    pair.clock.advance(1)
    assert await pair.ask("one") == "one by first · one.test"


@pytest.mark.parametrize(("answer", "seconds"), [(None, 2 * AWAY.total_seconds() + 1), ("one", AWAY.total_seconds())])
async def test_two_failures_far_apart_or_around_an_answer_are_no_outage(
    pair: Pair, answer: str | None, seconds: float
) -> None:
    await pair.ask(BUSY)
    if answer:
        await pair.ask(answer)
    pair.clock.advance(seconds)
    assert [await pair.ask(BUSY), await pair.ask("one")] == [WAITING, "one by first · one.test"]


async def test_a_long_reply_that_breaks_off_begins_an_outage_at_its_end(pair: Pair) -> None:
    pair.first.seconds, pair.first.begins = 600, True
    assert await pair.ask(BUSY) == WAITING
    pair.first.seconds = 0
    assert await pair.ask("one") == "one by first · one.test"


@pytest.mark.proves("fallback:refused")
@pytest.mark.parametrize("refused", ["wrong key", "no credit left", "no such model"])
async def test_a_refusal_is_no_outage_and_ends_one(pair: Pair, refused: str) -> None:
    for _ in range(2):
        assert await pair.ask(ModelRefused(refused)) == refused
        pair.clock.advance(60)
    await pair.go_away()
    pair.clock.advance(60)
    assert await pair.ask(ModelRefused(refused)) == refused
    assert await pair.ask("one") == "one by first · one.test"
    assert pair.second.prompts == []


async def test_a_model_is_away_on_its_own(pair: Pair) -> None:
    await pair.go_away(model="large")
    pair.second.say("two")
    assert await pair.ask("one", model="small") == "one by first · one.test"
    assert await pair.ask(model="large") == "two by second · two.test"


async def test_the_second_is_asked_by_its_own_name_for_at_most_what_it_can_write() -> None:
    short = ScriptedModel("two", label="second", default_model="second", max_reply=700)
    pair = Pair(second=short)
    await pair.go_away(model="own")
    schema = {"type": "object"}
    await pair.ask(model="own", effort="high", temperature=0.3, cache_key="a", schema=schema)
    (asked,) = short.options
    assert (asked.model, asked.effort, asked.max_tokens) == ("second", "", 700)
    assert (asked.temperature, asked.cache_key, asked.schema) == (0.3, "a", schema)


@pytest.mark.parametrize(
    ("error", "seconds", "retry_after"),
    [
        (ModelRefused("wrong key"), 0, None),
        (ModelUnavailable("two is busy", 3.0), 0, 3.0),
        (ModelUnavailable("two is busy", 300.0), 20, 40),  # no later than the next trial of the first
    ],
)
async def test_if_both_fail_both_reasons_are_told_and_a_retry_may_help(
    pair: Pair, error: ModelError, seconds: float, retry_after: float | None
) -> None:
    await pair.go_away()
    pair.clock.advance(seconds)
    pair.second.say(error)
    with pytest.raises(ModelUnavailable, match=f"busy. The fallback did not answer either: {error}") as failed:
        await pair.model.complete(PROMPT, CallOptions(max_tokens=9))
    assert failed.value.retry_after == retry_after


async def test_two_calls_at_once_try_the_first_once(pair: Pair) -> None:
    await pair.go_away()
    pair.clock.advance(60)
    pair.first.waits = True
    pair.second.say("two")
    async with asyncio.TaskGroup() as group:
        trial = group.create_task(pair.ask())
        other = group.create_task(pair.ask())
        assert await other == "two by second · two.test"
        pair.first.say("one")
        assert await trial == "one by first · one.test"


async def test_window_and_longest_reply_fit_both_models_while_the_first_is_away() -> None:
    first = SlowModel(default_model="first", window=100_000, max_reply=9_000)
    pair = Pair(first, ScriptedModel(default_model="second", window=20_000, max_reply=2_000))
    assert (pair.model.window(""), pair.model.max_reply("")) == (100_000, 9_000)
    await pair.go_away()
    assert (pair.model.window(""), pair.model.max_reply("")) == (15_000, 2_000)


@pytest.mark.parametrize(
    ("first", "second", "price"), [("1", "3", "3"), ("3", "1", "3"), ("1", None, None), (None, "1", None)]
)
async def test_the_price_is_the_higher_of_both_while_the_first_is_away(
    first: str | None, second: str | None, price: str | None
) -> None:
    def cost(amount: str | None) -> Decimal | None:
        return Decimal(amount) if amount else None

    pair = Pair(
        SlowModel(default_model="first", cost=cost(first)), ScriptedModel(default_model="second", cost=cost(second))
    )
    assert pair.model.price(Usage(), "") == cost(first)
    await pair.go_away()
    assert pair.model.price(Usage(), "") == cost(price)


async def test_each_call_tells_the_prices_of_the_model_that_it_asks() -> None:
    pair = Pair(
        SlowModel(default_model="first", cost=Decimal(1)), ScriptedModel("two", default_model="second", cost=Decimal(3))
    )
    prices: list[Pricing] = []
    await pair.go_away(report_price=prices.append)
    await pair.ask(report_price=prices.append)
    assert [price(Usage()) for price in prices] == [1, 1, 3]


async def test_a_trial_that_breaks_off_after_a_part_is_told_so_that_the_part_is_paid(pair: Pair) -> None:
    await pair.go_away()
    pair.clock.advance(60)
    pair.first.begins = True
    pair.second.say("two")
    assert await pair.ask(BUSY, report=lambda _: None) == str(BUSY)
    assert await pair.ask() == "two by second · two.test"


async def test_both_are_prepared_and_closed() -> None:
    done: list[str] = []

    class Endpoint(SlowModel):
        async def prepare(self) -> None:
            done.append(f"prepare {self.label}")

        async def close(self) -> None:
            done.append(f"close {self.label}")

    model = FallbackModel(first=Endpoint(label="one"), second=Endpoint(label="two"))
    await model.prepare()
    await model.close()
    assert done == ["prepare one", "prepare two", "close one", "close two"]
    await Pair().model.prepare()
    await Pair().model.close()


@pytest.mark.parametrize("sees", [True, False])
async def test_a_picture_is_never_given_to_the_second(pair: Pair, sees: bool) -> None:
    pair.first.sees, pair.second.sees = True, sees
    shown = (Message("user", "What is it?", images=(Image("image/png", b"png"),)),)
    pair.first.say(BUSY)
    with pytest.raises(ModelUnavailable, match=r"busy\.$"):
        await pair.model.complete(shown, CallOptions(max_tokens=100))
    await pair.go_away()
    assert pair.model.takes_images("first")
    pair.second.say("a cat")
    with pytest.raises(
        ModelUnavailable, match=r"busy\. first is away; the picture was approved for it alone\."
    ) as failed:
        await pair.model.complete(shown, CallOptions(max_tokens=100))
    assert failed.value.retry_after == 60
    assert pair.second.left == 1
    pair.clock.advance(60)
    pair.first.say("a cat")
    assert (await pair.model.complete(shown, CallOptions(max_tokens=100))).answered_by == ""
