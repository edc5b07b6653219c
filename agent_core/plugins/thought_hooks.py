"""The protocol of hooks that may look at an agent's thought and change it before the card is shown; and at results."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

from agent_core.model.command import CommandCall, Result, Thoughts
from agent_core.model.model_calls import Message
from agent_core.toolset.registry import CommandContext


class ThoughtHooks(Protocol):
    """Hooks of the think step, in the order of their calls. None raises; each is bounded in time and text.

    All of them run before the card is shown, so that people approve what they made of a thought. None can answer a
    card. What they add or change is untrusted content. No prompt that they are told holds a key of the operator.
    """

    async def before_thinking(self, messages: Sequence[Message], context: CommandContext) -> tuple[str, ...]:
        """Texts to add to the end of the prompt."""

    async def answer(self, messages: Sequence[Message], context: CommandContext) -> str | None:
        """A reply in place of the model's, which is then not asked; None to ask the model."""

    async def after_reply(self, reply: str, context: CommandContext) -> str:
        """The text of the model's reply, or another text in its place."""

    async def after_parsing(
        self, thoughts: Thoughts, call: CommandCall, context: CommandContext
    ) -> tuple[Thoughts, CommandCall]:
        """The thoughts and the call as they were read, or others in their place."""

    async def before_card(self, call: CommandCall, context: CommandContext) -> CommandCall:
        """The call that people are going to be shown, or another one in its place."""

    async def around_run(
        self,
        call: CommandCall,
        context: CommandContext,
        following: Callable[[CommandCall, CommandContext], Awaitable[Result]],
    ) -> Result:
        """Run the command as it is, once, and give its result, or another one in its place."""

    def had_folder(self, context: CommandContext) -> bool:
        """Whether processes of plugins had the agent's folder, so that files in it may be theirs."""
