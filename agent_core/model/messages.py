"""Messages to a language model, and its reply."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from agent_core.model.reasoning_tags import split_reasoning
from agent_core.model.usage import Usage

# An upper bound for 1,568 by 1,568 pixels: 1568 * 1568 / 750 = 3,279 tokens for Claude (platform.claude.com/docs,
# Vision); 1,536 * 2.46 = 3,779 for gpt-4.1-nano, and 85 + 8 * 170 = 1,445 for gpt-4o (developers.openai.com, Images and
# vision). gpt-4o-mini counts up to 48,169: it is underestimated before a call, and charged in full after it.
TOKENS_PER_IMAGE = 4_000
TURN_TOOL = "next_turn"  # the tool whose arguments are a reply


@dataclass(frozen=True, slots=True)
class Image:
    """A picture for a model. `media_type` is image/png or image/jpeg."""

    media_type: str
    data: bytes


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a prompt. Only models that take pictures are sent `images`."""

    role: Literal["system", "user", "assistant"]
    content: str
    images: tuple[Image, ...] = ()

    def tokens(self, count: Callable[[str], int]) -> int:
        """The tokens of text and images. `count` counts those of a text; images are estimated on the high side."""
        return count(self.content) + TOKENS_PER_IMAGE * len(self.images)


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
        """The reasoning that the endpoint gives apart, or that the model put between tags."""
        return self.reasoning.strip() or split_reasoning(self.text)[0]

    @property
    def answer(self) -> str:
        """The text after the reasoning that some models put between tags."""
        return split_reasoning(self.text)[1].strip()
