"""Lets the agent's model answer what a tool server asks during one call: within the budgets, bounded, and shown."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from agent_core.commands.registry import CommandContext
from agent_core.errors import CommandError, DatabaseAway, ModelError, SignoffError
from agent_core.model.command import replace_lone_surrogates
from agent_core.model.lines import counted
from agent_core.model.messages import Message
from agent_core.plugins.loaded import one_line
from agent_core.prompt.model_client import MeteredModel, ModelRequest

MAX_ASKS, MAX_ANSWER_TOKENS, MAX_FIRST_CHARACTERS = 5, 4_000, 120
MAY_ASK = f"It may ask the agent's model up to {MAX_ASKS} times, {MAX_ANSWER_TOKENS:,} tokens each, within the budget."
NO_TEXT = "The model gave no text."


@dataclass(slots=True, kw_only=True)
class CallSampling:
    """The questions of one call. The model sees nothing of the agent's work, and has no tools.

    `asked`: how often a model was asked; `first`: the first line of the first question.
    """

    metered_model: MeteredModel
    context: CommandContext
    spell_out: Callable[[str], str]
    asked: int = 0
    first: str = ""
    _answering: "set[asyncio.Task[str]]" = field(default_factory=set)
    _is_over: bool = False

    async def answer(self, messages: Sequence[Message], max_tokens: int) -> str:
        """The model's answer; raise CommandError if the call has asked often enough, or if a budget refuses."""
        if self._is_over or self.asked >= MAX_ASKS:
            raise CommandError(f"A call may ask the model {MAX_ASKS} times, and no more.")
        self.asked += 1
        readable = [replace(each, content=self._readable(each.content)) for each in messages]
        shown = next((each.content for each in readable if each.role == "user"), "")
        self.first = self.first or one_line(shown, MAX_FIRST_CHARACTERS)
        self.context.report(self.told)
        task = asyncio.create_task(self._ask(readable, max_tokens))
        self._answering.add(task)
        try:
            return await task
        finally:
            task.cancel()

    async def end(self) -> None:
        """Give up what is being asked, so that all of it is charged before the call's result is saved."""
        self._is_over = True
        for each in self._answering:
            each.cancel()
        await asyncio.gather(*self._answering, return_exceptions=True)

    @property
    def told(self) -> str:
        """What people read of it: how often, tokens, cost, and the first question; "" if it asked nothing."""
        if not self.asked:
            return ""
        used = self.context.tracker.total
        spent = f"{used.prompt + used.completion:,} tokens, ${used.cost:.4f}"
        return f"(The server asked the model {counted(self.asked, 'time')}: {spent}. It began: {self.first})"

    async def _ask(self, messages: Sequence[Message], max_tokens: int) -> str:
        tokens = min(max_tokens, MAX_ANSWER_TOKENS)
        question = ModelRequest(kind="function", prompt=messages, max_tokens=tokens, by_own_model=True)
        try:
            reply = await self.metered_model.ask(question, self.context.agent.choice, self.context.tracker)
        except ModelError as refused:
            raise CommandError(f"The model was not asked, or did not answer: {refused}") from None
        except DatabaseAway:
            raise CommandError("The budget cannot be looked up now, so the model was not asked.") from None
        except SignoffError:
            raise CommandError("The agent is worked on elsewhere now, so the model was not asked.") from None
        return reply.text or NO_TEXT

    def _readable(self, text: str) -> str:
        return self.spell_out(str(replace_lone_surrogates(text)))
