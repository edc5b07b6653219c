"""Messages to a language model, and its reply."""

from dataclasses import dataclass
from typing import Literal

from agent_core.model.usage import Usage


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a prompt."""

    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A native tool call of a model. `arguments` should be JSON."""

    name: str
    arguments: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """A model's reply. `finish_reason` is `stop` for a complete reply, `length` for one that was cut off.

    `reasoning`: what the endpoint gives apart from the text; commands are never read from it.
    `answered_by`: the label of the fallback model if that answered, else "".
    """

    text: str
    usage: Usage
    finish_reason: str = "stop"
    reasoning: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    answered_by: str = ""

    @property
    def is_cut_by_reasoning(self) -> bool:
        """Whether reasoning took so much room that the reply is cut off or empty."""
        has_reasoned = bool(self.usage.reasoning or self.reasoning)
        is_empty = not (self.answer or self.tool_calls)
        return has_reasoned and (is_empty or self.finish_reason == "length")

    @property
    def written_reasoning(self) -> str:
        """The reasoning that the endpoint gives apart, or that the model put between <think> tags."""
        return (self.reasoning or self.text.rpartition("</think>")[0].replace("<think>", "")).strip()

    @property
    def answer(self) -> str:
        """The text after the reasoning that some models put between <think> tags."""
        return self.text.rpartition("</think>")[2].strip()
