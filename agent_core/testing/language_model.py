"""A language model for tests that gives scripted replies, and the text of a valid reply."""

import asyncio
import json
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import TypeAlias

from agent_core.capabilities.models.token_counters import EstimatedTokens
from agent_core.errors import ModelRefused
from agent_core.model.model_calls import FREE, Message, Reply, Usage
from agent_core.ports.models import CallOptions

Scripted: TypeAlias = str | Reply | Exception


def reply_text(command: str, args: Mapping[str, object] | None = None, text: str = "I take the next step.") -> str:
    """A valid reply of a model as JSON: the five fields of the thoughts, and one command."""
    thoughts = {
        "text": text,
        "reasoning": "It serves the goal.",
        "plan": "- go on",
        "criticism": "None.",
        "speak": f"I want to use {command}.",
    }
    return json.dumps({"thoughts": thoughts, "command": {"name": command, "args": dict(args or {})}})


class ScriptedModel:
    """Implements `LanguageModel`: each call returns the next of the given replies, or raises it if it is an exception.

    When no reply is left, a call raises ModelRefused, or waits for `say` if the model was made with `waits=True`.
    `price` is always `cost`. Each call is recorded in `prompts` and `options`. It takes pictures if
    `sees` is set.
    """

    def __init__(
        self,
        *replies: Scripted,
        cost: Decimal | None = FREE,
        label: str = "Scripted",
        default_model: str = "scripted",
        waits: bool = False,
        window: int = 16_000,
        max_reply: int | None = None,
    ) -> None:
        self.cost, self.label, self.default_model, self.waits = cost, label, default_model, waits
        self.prompts: list[tuple[Message, ...]] = []
        self.options: list[CallOptions] = []
        self._window, self._max_reply, self.sees = window, max_reply, False
        self._replies: asyncio.Queue[Scripted] = asyncio.Queue()
        self.say(*replies)

    def say(self, *replies: Scripted) -> None:
        for reply in replies:
            self._replies.put_nowait(reply)

    @property
    def models(self) -> list[str]:
        """The name of the model in each call."""
        return [each.model or self.default_model for each in self.options]

    @property
    def left(self) -> int:
        return self._replies.qsize()

    async def complete(self, messages: Sequence[Message], options: CallOptions) -> Reply:
        self.prompts.append(tuple(messages))
        self.options.append(options)
        match await self._next():
            case Reply() as reply:
                return reply
            case str() as text:
                return Reply(text=text, usage=_estimated(messages, text))
            case Exception() as error:
                raise error

    def window(self, model: str) -> int:
        return self._window

    def max_reply(self, model: str) -> int | None:
        return self._max_reply

    def takes_images(self, model: str) -> bool:
        return self.sees

    def price(self, usage: Usage, model: str) -> Decimal | None:
        return self.cost

    async def _next(self) -> Scripted:
        if self.waits or not self._replies.empty():
            return await self._replies.get()
        raise ModelRefused("The script has no reply left.")


def _estimated(messages: Sequence[Message], text: str) -> Usage:
    count = EstimatedTokens().count
    return Usage(prompt=sum(count(message.content) for message in messages), completion=count(text))
