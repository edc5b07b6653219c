"""What Anthropic's API accepts for one Claude model: thinking, effort, tool choice, and the longest reply.

The API's list of models gives a first answer. When the API refuses a request, one parameter is changed.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Literal, Self, TypeAlias

from pydantic import Field

from agent_core.model.messages import TURN_TOOL
from agent_core.ports.models import CallOptions
from agent_core.providers.llm.effort_words import OtherEfforts, accepted_word, with_refused_word
from agent_core.providers.llm.openai_completion import Completion
from agent_core.providers.llm.openai_dialect import (
    MIN_REPLY_LIMIT,
    TOOL_DESCRIPTION,
    accepted_limit,
)

Thinking: TypeAlias = Literal["adaptive", "budget", "none"]
Choice: TypeAlias = Literal["tool", "auto", "none"]

NEXT_CHOICE: Mapping[Choice, Choice] = {"tool": "auto", "auto": "none", "none": "none"}
NEXT_THINKING: Mapping[Thinking, Thinking] = {"adaptive": "budget", "budget": "none", "none": "none"}
MIN_BUDGET_TOKENS = 1_024  # the API's own
# The API names the parameter first ("tools: Extra inputs are not permitted"); gateways say what is not supported.
ABOUT_TOOLS = re.compile(
    r"\btool_choice\b|\btools(?:\.[\w.]+)?: "
    r"|\b(?:tools|tool use|tool calling|function calling) (?:is|are) not supported"
    r"|\bnot support (?:tools|tool use|tool calling|function calling)\b"
)
ABOUT_THINKING = re.compile(
    r"\bthinking\.(?:type|display)\b|\bthinking(?:\.\w+)*: "
    r"|\bthinking is not supported|\bnot support (?:\w+ )?thinking\b"
)
BUDGET_TOKENS = {"minimal": MIN_BUDGET_TOKENS, "low": 2_048, "medium": 8_192, "high": 16_000, "xhigh": 32_000}


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaudeDialect:
    """Which parameters the API accepts for a model.

    `choice`: how the reply is asked for: by a forced tool call, by a tool that the model may call, or as plain text.
    `thinking`: how thinking is switched on; `can_disable`: whether it can be switched off.
    `max_reply`: the most tokens that the API accepts as a limit. `other_efforts`: the efforts that it refused.
    `window`: the context window in tokens that it named when it refused a request as too large.
    """

    choice: Choice = "tool"
    thinking: Thinking = "adaptive"
    can_disable: bool = True
    summary: bool = True
    effort: bool = True
    other_efforts: OtherEfforts = ()
    cache: bool = True
    stream: bool = True
    max_reply: Annotated[int, Field(ge=MIN_REPLY_LIMIT)] | None = None
    window: int | None = None

    @classmethod
    def of(cls, capabilities: object) -> Self:
        """The dialect for the capabilities in the API's list of models; what is left out there counts as supported."""
        types = _member(_member(capabilities, "thinking"), "types")
        adaptive, budget = _is_supported(types, "adaptive"), _is_supported(types, "enabled")
        return cls(
            thinking="adaptive" if adaptive else "budget" if budget else "none",
            can_disable=_is_supported(types, "disabled"),
            effort=_is_supported(capabilities, "effort"),
        )

    def adapt(self, complaint: str, options: CallOptions) -> Self | None:
        """The dialect to try next after an error (in lower case), or None if the error is not about a parameter."""
        if options.schema is not None and ABOUT_TOOLS.search(complaint):
            return self.with_next_choice()
        if ABOUT_THINKING.search(complaint):
            return self._with_less_thinking(complaint, options)
        if "max_tokens" in complaint:
            accepted = accepted_limit(complaint, self._max_tokens(options))
            return replace(self, max_reply=accepted) if accepted else None
        if (word := self._effort_word(options)) and ("effort" in complaint or "output_config" in complaint):
            others = with_refused_word(complaint, word, self.other_efforts)
            return replace(self, other_efforts=others) if others else replace(self, effort=False)
        if self.cache and "cache_control" in complaint:
            return replace(self, cache=False)
        return replace(self, stream=False) if self.stream and "stream" in complaint.split() else None

    def with_next_choice(self) -> Self:
        """The dialect with the next way to ask for JSON; the last one asks in words only."""
        return replace(self, choice=NEXT_CHOICE[self.choice])

    def is_ignored_by(self, answer: Completion, options: CallOptions) -> bool:
        """Whether a tool call was forced, and the model answered in words."""
        is_forced = self.choice == "tool" and not _is_thinking(self._thinking(options))
        return is_forced and bool(answer.text) and not (answer.tools or answer.refusal or answer.is_cut_off)

    def parameters(self, options: CallOptions) -> dict[str, object]:
        """The request parameters besides model, system prompt and messages."""
        limit, thinking = self._max_tokens(options), self._thinking(options)
        given: dict[str, object] = {"max_tokens": limit, "stream": self.stream}
        if thinking:
            given["thinking"] = thinking
        if word := self._effort_word(options):
            given["output_config"] = {"effort": word}
        if options.schema is None:
            return given
        return given | self._tool(options.schema, is_thinking=_is_thinking(thinking))

    def _tool(self, schema: Mapping[str, object], *, is_thinking: bool) -> dict[str, object]:
        """The tool whose arguments are the reply. The API forbids to force one while the model thinks."""
        if self.choice == "none":
            return {}
        tool = {"name": TURN_TOOL, "description": TOOL_DESCRIPTION, "input_schema": schema}
        if self.choice == "auto" or is_thinking:
            return {"tools": [tool], "tool_choice": {"type": "auto", "disable_parallel_tool_use": True}}
        forced = {"type": "tool", "name": TURN_TOOL, "disable_parallel_tool_use": True}
        return {"tools": [tool], "tool_choice": forced}

    def _thinking(self, options: CallOptions) -> dict[str, object]:
        """The parameter `thinking`; {} leaves it out, for example without an effort, so that the API decides."""
        if options.effort == "none":
            return {"type": "disabled"} if self.can_disable else {}
        effort = _effort(options)
        if not effort or self.thinking == "none":
            return {}
        shown = {"display": "summarized"} if self.summary else {}
        if self.thinking == "adaptive":
            return {"type": "adaptive", **shown}
        tokens = min(BUDGET_TOKENS[effort], self._max_tokens(options) // 2)
        return {"type": "enabled", "budget_tokens": tokens} if tokens >= MIN_BUDGET_TOKENS else {}

    def _with_less_thinking(self, complaint: str, options: CallOptions) -> Self | None:
        if self.summary and "display" in complaint:
            return replace(self, summary=False)
        if options.effort == "none":
            return replace(self, can_disable=False) if self.can_disable else None
        return replace(self, thinking=NEXT_THINKING[self.thinking]) if _effort(options) else None

    def _effort_word(self, options: CallOptions) -> str:
        effort = _effort(options)
        return accepted_word("low" if effort == "minimal" else effort, self.other_efforts) if self.effort else ""

    def _max_tokens(self, options: CallOptions) -> int:
        return min(options.max_tokens, self.max_reply or options.max_tokens)


def _effort(options: CallOptions) -> str:
    """The effort that switches thinking on; "" for none, and for efforts that are unknown here."""
    return options.effort if options.effort in BUDGET_TOKENS else ""


def _is_thinking(parameter: Mapping[str, object]) -> bool:
    return parameter.get("type") in ("adaptive", "enabled")


def _is_supported(capabilities: object, name: str) -> bool:
    return _member(_member(capabilities, name), "supported") is not False


def _member(given: object, name: str) -> object:
    return given.get(name) if isinstance(given, Mapping) else None
