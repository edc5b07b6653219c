"""Messages to a language model, and its reply."""

from dataclasses import dataclass
from typing import Literal

from agent_core.model.usage import Usage


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a prompt."""

    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """A model's reply. `finish_reason` is `stop` for a complete reply, `length` for one that was cut off."""

    text: str
    usage: Usage
    finish_reason: str = "stop"

    @property
    def answer(self) -> str:
        """The text after the reasoning that some models put between <think> tags."""
        return self.text.rpartition("</think>")[2].strip()
