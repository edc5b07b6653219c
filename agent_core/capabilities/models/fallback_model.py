"""A second language model that answers while the first is away, and a trial of the first each minute."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from decimal import Decimal
from functools import partial

from agent_core.capabilities.models.endpoint_errors import end_sentence
from agent_core.errors import ModelError, ModelRefused, ModelUnavailable
from agent_core.model.model_calls import Message, Reply, Usage
from agent_core.ports.clock import Clock
from agent_core.ports.models import CallOptions, LanguageModel, ModelProgress
from agent_core.providers.clock import SystemClock

AWAY = timedelta(seconds=60)  # the notice in the thread says "for a minute"
TRIAL_SHARE = 5  # a trial may take a fifth of the time between trials: an endpoint that hangs takes two minutes
WINDOW_PERCENT = 75  # the first model's tokenizer counts the prompt; another one may need a third more tokens


@dataclass(slots=True, kw_only=True)
class Outage:
    """Failures of one model of the first endpoint, without an answer in between.

    `why`, `last_failed_at`: the last failure.
    `is_away`: whether the outage has lasted a minute, so that the second model answers.
    `next_trial`: while away, the time at which the first is asked again.
    """

    began: datetime
    last_failed_at: datetime
    next_trial: datetime
    why: str = ""
    is_away: bool = False


@dataclass(slots=True, kw_only=True)
class FallbackModel:
    """Implements `LanguageModel`: asks `second` after `first` was unavailable for a minute, until `first` answers.

    Each model of `first` has its own outage, kept in memory. An outage begins and ends only at the end of a call to
    `first`, so a price, a window or a longest reply that is read before a call holds for it. During an outage, `first`
    is tried at most once a minute, and not before its `retry_after`. A refusal ends the outage: a person has to act.
    A request with pictures is never given to `second`.
    """

    first: LanguageModel
    second: LanguageModel
    clock: Clock = field(default_factory=SystemClock)
    _outages: dict[str, Outage] = field(default_factory=dict, init=False, repr=False)

    @property
    def label(self) -> str:
        return self.first.label

    @property
    def default_model(self) -> str:
        return self.first.default_model

    async def prepare(self) -> None:
        await asyncio.gather(*(each.prepare() for each in (self.first, self.second) if hasattr(each, "prepare")))

    async def close(self) -> None:
        await asyncio.gather(*(each.close() for each in (self.first, self.second) if hasattr(each, "close")))

    async def complete(self, messages: Sequence[Message], options: CallOptions) -> Reply:
        """The reply; its `answered_by` is the second's label if that answered.

        If both fail, raise ModelUnavailable with both reasons.
        """
        outage, now = self._outage(options.model), self.clock.now()
        if outage is None:
            return await self._ask_first(messages, options, _Progress(messages, options))
        if now >= outage.next_trial:
            outage.next_trial = now + AWAY  # other calls do not try meanwhile
            progress = _Progress(messages, options)
            try:
                return await self._ask_first(messages, options, progress)
            except ModelUnavailable:
                if progress.has_begun:  # the caller pays for this part, and then calls again
                    raise
        return await self._ask_second(messages, options, outage)

    def window(self, model: str) -> int:
        """The first's context window; while it is away, small enough for both."""
        window = self.first.window(model)
        if self._outage(model):
            return min(window, self.second.window(self.second.default_model) * WINDOW_PERCENT // 100)
        return window

    def max_reply(self, model: str) -> int | None:
        """The first's longest reply; while it is away, the smaller of both."""
        lengths = [self.first.max_reply(model)]
        if self._outage(model):
            lengths.append(self.second.max_reply(self.second.default_model))
        return min((length for length in lengths if length), default=None)

    def takes_images(self, model: str) -> bool:
        """Whether the first takes pictures. The second gets none: people approved a picture for one model."""
        return self.first.takes_images(model)

    def price(self, usage: Usage, model: str) -> Decimal | None:
        """The first's price; while it is away, the higher of both, as either may answer. None if one is unknown."""
        price = self.first.price(usage, model)
        if not self._outage(model):
            return price
        other = self.second.price(usage, self.second.default_model)
        return None if price is None or other is None else max(price, other)

    def _outage(self, model: str) -> Outage | None:
        """The outage of this model if it has lasted a minute, so that the second model answers; else None."""
        outage = self._outages.get(model or self.default_model)
        return outage if outage and outage.is_away else None

    async def _ask_first(self, messages: Sequence[Message], options: CallOptions, progress: "_Progress") -> Reply:
        name, started = options.model or self.default_model, self.clock.now()
        if options.report_price:
            options.report_price(partial(self.first.price, model=name))
        try:
            reply = await self.first.complete(messages, replace(options, report=progress.note))
        except ModelUnavailable as error:
            raise self._note_failure(name, error, started, progress) from error
        except ModelRefused:
            self._outages.pop(name, None)
            raise
        self._outages.pop(name, None)
        return reply

    async def _ask_second(self, messages: Sequence[Message], options: CallOptions, outage: Outage) -> Reply:
        name = self.second.default_model
        if any(message.images for message in messages):
            why = f"{outage.why} {options.model or self.default_model} is away; the picture was approved for it alone."
            raise ModelUnavailable(why, max(0.0, (outage.next_trial - self.clock.now()).total_seconds()))
        if options.report_price:
            options.report_price(partial(self.second.price, model=name))
        most = min(options.max_tokens, self.second.max_reply(name) or options.max_tokens)
        try:
            reply = await self.second.complete(messages, replace(options, model=name, effort="", max_tokens=most))
        except ModelError as error:
            why = f"{outage.why} The fallback did not answer either: {error}"
            left = (outage.next_trial - self.clock.now()).total_seconds()
            raise ModelUnavailable(why, _at_most(left, getattr(error, "retry_after", None))) from error
        return replace(reply, answered_by=self.second.label)

    def _note_failure(
        self, name: str, error: ModelUnavailable, started: datetime, progress: "_Progress"
    ) -> ModelUnavailable:
        """Save the failure of a call, and return the error to raise.

        Its `retry_after` ends no later than the second model begins to answer.
        """
        now = self.clock.now()
        outage = self._outages.get(name)
        if outage is None or (not outage.is_away and started - outage.last_failed_at > 2 * AWAY):
            began = now if progress.has_begun else started
            outage = self._outages[name] = Outage(began=began, last_failed_at=now, next_trial=now)
        outage.last_failed_at, outage.why = now, end_sentence(str(error))
        left = (outage.began + AWAY - now).total_seconds()
        if left > 0:
            relief = f" If this lasts for a minute, {self.second.label} answers." if progress.may_change else ""
            return ModelUnavailable(f"{outage.why}{relief}", _at_most(left, error.retry_after), latest=left)
        outage.is_away = True
        pause = max(AWAY, timedelta(seconds=error.retry_after or 0), (now - started) * TRIAL_SHARE)
        outage.next_trial = now + pause
        return ModelUnavailable(outage.why, 0)


class _Progress:
    """Passes on the progress of a call and notes that the reply has begun.

    `may_change`: whether the second model may answer the call, which has no pictures.
    """

    def __init__(self, messages: Sequence[Message], options: CallOptions) -> None:
        self.report, self.has_begun = options.report, False
        self.may_change = not any(message.images for message in messages)

    def note(self, progress: ModelProgress) -> None:
        self.has_begun = True
        if self.report is not None:
            self.report(progress)


def _at_most(most: float, seconds: float | None) -> float | None:
    return None if seconds is None else max(0.0, min(seconds, most))
