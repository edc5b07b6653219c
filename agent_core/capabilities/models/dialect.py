"""Base of the dialects of both APIs: how a request to one model is written, and what to try after a refusal.

A refusal, or a reply that ignores the request, leads to the dialect to try next: one step at a time.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any, ClassVar, Self

from agent_core.capabilities.models.completion import Completion
from agent_core.model.draft import EFFORTS
from agent_core.model.model_calls import Message
from agent_core.ports.models import CallOptions

TOOL_DESCRIPTION = "Reply with your thoughts and the next single command."
MIN_REPLY_TOKENS = 1_024  # a lower limit in an error is about something else, or of no use
LIMIT_WORDS = ("at most", "maximum", "too large", "less than", "up to", "<=", "exceed", "range")
STATUS = re.compile(r"error code: \d+")
NUMBER = re.compile(r"\d[\d,]*")
STREAM_WORD = re.compile(r"\bstream(?:ing)?\b")  # not an "upstream" that is away
EFFORT_WORD = re.compile(r"\b(?:minimal|low|medium|high|xhigh)\b")
QUOTED_NONE = re.compile(r"['\"`‘“]none['\"`’”]")  # unquoted, it is how errors show a missing value


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect(ABC):
    """How requests to one model are written and its replies read.

    `efforts`: the words for a reasoning effort that are accepted. `max_reply`: the highest reply limit in tokens that
    is accepted. `window`: the context window in tokens that the endpoint named when it refused a request as too large.
    """

    efforts: tuple[str, ...] = EFFORTS
    stream: bool = True
    max_reply: int | None = None
    window: int | None = None

    create: ClassVar["attrgetter[Any]"]  # the SDK's method that sends a request, of its client
    listing: ClassVar[Mapping[str, object]] = {}  # parameters of a request for the list of models
    reply_fields: ClassVar[frozenset[str]]  # where that list has the longest reply

    @abstractmethod
    def request(self, messages: Sequence[Message], options: CallOptions) -> dict[str, object]:
        """The parameters of a request besides the model."""

    @abstractmethod
    def adapt(self, complaint: str, options: CallOptions) -> Self | None:
        """The dialect to try next after an error (in lower case), or None if the error is not about a parameter."""

    @abstractmethod
    def simplify(self, options: CallOptions, *, at_once: bool) -> Self | None:
        """The dialect to try after an error that names no parameter but may mean the schema; None if it cannot.

        `at_once`: the simplest one, so that one more request is sent.
        """

    @abstractmethod
    def with_next_way(self) -> Self:
        """The dialect with the next way to ask for JSON; the last one asks in words only."""

    @abstractmethod
    def is_ignored_by(self, answer: Completion, options: CallOptions) -> bool:
        """Whether the endpoint accepted this way to ask for JSON, and the model answered in another one."""

    @staticmethod
    @abstractmethod
    def read(body: object) -> Completion | None:
        """A whole reply, from parsed JSON; None if it is none. Raise BrokenOff if it is an error."""

    @staticmethod
    @abstractmethod
    def add_event(answer: Completion, event: object) -> None:
        """Add an event of a streamed reply, an object of the SDK."""

    def max_tokens(self, options: CallOptions) -> int:
        return min(options.max_tokens, self.max_reply or options.max_tokens)

    def accepted_limit(self, complaint: str, options: CallOptions) -> int | None:
        """The reply limit in tokens that an error names: the largest number below the limit that was sent.

        None if the error is not about a limit or has no such number.
        """
        if not any(word in complaint for word in LIMIT_WORDS):
            return None
        numbers = [int(found.replace(",", "")) for found in NUMBER.findall(STATUS.sub("", complaint))]
        given = self.max_tokens(options)
        return max((number for number in numbers if MIN_REPLY_TOKENS <= number < given), default=None)

    def effort_word(self, effort: str) -> str:
        """The accepted word nearest to this effort, of two the lower one; "" if there is none, or the effort is "".

        Only who asks for no reasoning is given none.
        """
        if not self.efforts:
            return ""
        if effort not in EFFORTS or effort in self.efforts:
            return effort
        words = (word for word in self.efforts if word != "none")
        return min(words, key=lambda word: abs(EFFORTS.index(word) - EFFORTS.index(effort)), default="")

    def without_effort(self, complaint: str, sent: str) -> Self:
        """The dialect after an error that refuses the effort `sent`: with the words that it names, or all the others.

        If the error names none at all, the endpoint does not know the parameter.
        """
        named = {*EFFORT_WORD.findall(complaint), *(["none"] if QUOTED_NONE.search(complaint) else [])}
        accepted = (named - {sent} or {*self.efforts} - {sent}) if named else set()
        return replace(self, efforts=tuple(word for word in EFFORTS if word in accepted))
