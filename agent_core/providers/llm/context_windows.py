"""Context windows of models (tokens of prompt and reply together) and their longest replies.

A window comes from the first of: the operator's setting, the endpoint's model list, the price list of genai-prices, a
low default. The default is low because a prompt that is too long is rejected or silently truncated.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from agent_core.providers.llm.prices import is_loopback, listed
from agent_core.providers.llm.reply_limits import listed_max_reply

DEFAULT_WINDOW_TOKENS = 8_192
DEFAULT_LOCAL_WINDOW_TOKENS = 4_096  # Ollama's default
MIN_WINDOW_TOKENS, MAX_WINDOW_TOKENS = 512, 20_000_000
MAX_DEPTH = 3
# OpenRouter, Together and Fireworks; vLLM; Groq; Mistral and LM Studio; llama.cpp, in its `meta`; Anthropic.
FIELDS = frozenset(
    {
        "context_length",
        "max_model_len",
        "context_window",
        "max_context_length",
        "loaded_context_length",
        "n_ctx",
        "n_ctx_train",
        "max_input_tokens",
    }
)


@dataclass(slots=True, kw_only=True)
class ContextWindows:
    """Context windows of one endpoint's models. `configured` is the operator's setting for every model.

    `reply_fields`: where the endpoint's list has the longest reply.
    `assumed`: the window of models that the list leaves out, where all models are their maker's own.
    """

    base_url: str
    reply_fields: frozenset[str] = frozenset()
    configured: int | None = None
    assumed: int | None = None
    _reported: dict[str, int] = field(default_factory=dict, init=False)
    _replies: dict[str, int] = field(default_factory=dict, init=False)

    def learn(self, listed: Iterable[tuple[str, object]]) -> None:
        """Remember the windows and longest replies that the endpoint's model list reports."""
        for name, metadata in listed:
            if window := reported_window(metadata):
                self._reported[name] = window
            if longest := min(_find_sizes(metadata, self.reply_fields, MAX_DEPTH), default=None):
                self._replies[name] = longest

    def of(self, model: str) -> int:
        """The model's context window in tokens; a low default if it is unknown."""
        guess = DEFAULT_LOCAL_WINDOW_TOKENS if is_loopback(self.base_url) else DEFAULT_WINDOW_TOKENS
        return self.known(model) or self.assumed or guess

    def known(self, model: str) -> int | None:
        """The model's context window in tokens, or None if no source has it."""
        told = self.configured or self._reported.get(model)
        return told if told or self.assumed else listed_window(model, self.base_url)

    def max_reply(self, model: str) -> int | None:
        """The model's longest reply in tokens, from the endpoint or else from `reply_limits`; None if it is unknown.

        `reply_limits` is not used for endpoints on this machine: a local server may allow less for the same model.
        """
        is_local = is_loopback(self.base_url) and self.assumed is None
        return self._replies.get(model) or (None if is_local else listed_max_reply(model))


def reported_window(metadata: object) -> int | None:
    """The smallest window in the metadata, or None. An endpoint may serve a smaller window than the model supports."""
    return min(_find_sizes(metadata, FIELDS, MAX_DEPTH), default=None)


def listed_window(model: str, base_url: str) -> int | None:
    """The window in the price list, or None. For a local server, only entries of OpenAI's models are used."""
    is_local = is_loopback(base_url)
    for found in listed({}, model, base_url):
        if found.model.context_window and (not is_local or found.provider.id == "openai"):
            return found.model.context_window
    return None


def plausible_size(value: object) -> int | None:
    """The value if it is a possible window or longest reply in tokens, or None."""
    return value if isinstance(value, int) and MIN_WINDOW_TOKENS <= value <= MAX_WINDOW_TOKENS else None


def _find_sizes(metadata: object, names: frozenset[str], depth: int) -> Iterator[int]:
    if not isinstance(metadata, Mapping) or depth == 0:
        return
    for name, value in metadata.items():
        if name in names and (size := plausible_size(value)):
            yield size
        else:
            yield from _find_sizes(value, names, depth - 1)
