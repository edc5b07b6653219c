"""What the models of an endpoint can do (window, longest reply, pictures), by its list, the price list and their names.

Each fact comes from the first of: the operator's setting, the endpoint's list of models, what is known of the model by
its name, and a cautious default: a prompt that is too long is rejected or silently truncated, and some servers drop
pictures silently, so that the model invents an answer. Windows (prompt and reply together) and replies are in tokens.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from agent_core.capabilities.models.prices import listed
from agent_core.providers.outbound_proxy import is_loopback

DEFAULT_WINDOW_TOKENS = 8_192
DEFAULT_LOCAL_WINDOW_TOKENS = 4_096  # Ollama's default
MIN_WINDOW_TOKENS, MAX_WINDOW_TOKENS = 512, 20_000_000
MAX_DEPTH = 3  # of a list's entries that is searched
# OpenRouter, Together and Fireworks; vLLM; Groq; Mistral and LM Studio; llama.cpp, in its `meta`; Anthropic.
WINDOW_FIELDS = frozenset(
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
T = TypeVar("T")
MODALITIES = ("input_modalities", "modalities")
VISION_FLAGS = ("vision", "supports_vision", "image_input", "supports_image_in")

# The first pattern that is found in the model's name counts; a provider's prefix such as `openai/` is left out.
# Source: the providers' model pages, November 2026.
MAX_REPLY_TOKENS = (  # reasoning included; a limit that an endpoint rejects is learned from its error
    (r"^gpt-5.*chat", 16_384),
    (r"^gpt-[5-9]", 128_000),
    (r"^gpt-4\.1", 32_768),
    (r"^(?:chat)?gpt-4o", 16_384),
    (r"^gpt-4|^gpt-3\.5", 4_096),
    (r"^o[134](?:-|$)", 100_000),
    (r"^gpt-oss", 32_768),
    (r"^claude-(?:3-opus|3-haiku|3-sonnet)", 4_096),
    (r"^claude-3-5", 8_192),
    (r"^claude-opus-4-[01](?!\d)|^claude-opus-4(?:-2\d|$)", 32_000),
    (r"^claude-", 64_000),
    (r"^gemini-(?:1\.|2\.0)", 8_192),
    (r"^gemini-", 65_536),
    (r"^deepseek-reasoner|^deepseek-r1", 64_000),
    (r"^deepseek-chat", 8_192),
)
TAKES_IMAGES = (
    (r"embed|whisper|tts|audio|transcribe|realtime|moderation|guard", False),
    (r"^o1-(?:mini|preview)|^o3-mini|^gpt-4-turbo-preview", False),
    (r"^(?:chat)?gpt-4o|^gpt-4\.[15]|^gpt-4-(?:turbo|vision)|^gpt-[5-9]|^o[1-9](?:-|$)|^computer-use", True),
    (r"^claude-(?:instant|[12](?:\D|$))", False),
    (r"^claude-", True),
    (r"^gemini-", True),
    (r"pixtral|^mistral-(?:small-?(?:3\.[1-9]|250[3-9]|latest)|medium-(?:3|250[5-9]|latest)|large-(?:3|2512))", True),
    (r"llama-?3\.2.*vision|llama-?4|^ministral-3", True),
    (r"qwen.*-?vl|^qvq|llava|bakllava|moondream|minicpm-v|internvl|smolvlm|molmo", True),
    (r"gemma-?3n?.*(?:\b1b|270m)|^gemma-?3n", False),
    (r"^gemma-?[34]|^medgemma|^paligemma", True),
    (r"^grok-(?:4|[23]-vision)|phi-?(?:3(?:\.5)?-vision|4-multimodal)|^glm-[4-9](?:\.\d)?v|vision", True),
)


@dataclass(slots=True, kw_only=True)
class ModelFacts:
    """What the models of one endpoint can do.

    `context`, `vision`: the operator's settings for every model.
    `reply_fields`: where the endpoint's list has the longest reply.
    `assumed_window`: the window of models that the list leaves out, where all models are their maker's own.
    `refusing`: models that refused a picture; each counts as blind until the restart.
    """

    base_url: str = ""
    context: int | None = None
    vision: bool | None = None
    reply_fields: frozenset[str] = frozenset()
    assumed_window: int | None = None
    refusing: set[str] = field(default_factory=set, init=False)
    _windows: dict[str, int] = field(default_factory=dict, init=False)
    _replies: dict[str, int] = field(default_factory=dict, init=False)
    _seeing: dict[str, bool] = field(default_factory=dict, init=False)

    def learn(self, listed: Iterable[tuple[str, object]]) -> None:
        """Remember what the endpoint's model list reports."""
        for name, metadata in listed:
            if window := reported_window(metadata):
                self._windows[name] = window
            if longest := min(_find_sizes(metadata, self.reply_fields, MAX_DEPTH), default=None):
                self._replies[name] = longest
            if (sees := reported_vision(metadata)) is not None:
                self._seeing[name] = sees

    def window(self, model: str) -> int:
        """The model's context window; a low default if it is unknown."""
        guess = DEFAULT_LOCAL_WINDOW_TOKENS if is_loopback(self.base_url) else DEFAULT_WINDOW_TOKENS
        return self.known_window(model) or self.assumed_window or guess

    def known_window(self, model: str) -> int | None:
        """The model's context window, or None if no source has it."""
        told = self.context or self._windows.get(model)
        return told if told or self.assumed_window else listed_window(model, self.base_url)

    def max_reply(self, model: str) -> int | None:
        """The model's longest reply, or None if it is unknown.

        The name is not used for endpoints on this machine: a local server may allow less for the same model.
        """
        is_local = is_loopback(self.base_url) and self.assumed_window is None
        return self._replies.get(model) or (None if is_local else _first_match(MAX_REPLY_TOKENS, model))

    def takes_images(self, model: str) -> bool:
        if model in self.refusing:
            return False
        if self.vision is not None:
            return self.vision
        return self._seeing.get(model, has_seeing_name(model))


def reported_window(metadata: object) -> int | None:
    """The smallest window in the metadata, or None. An endpoint may serve a smaller window than the model supports."""
    return min(_find_sizes(metadata, WINDOW_FIELDS, MAX_DEPTH), default=None)


def listed_window(model: str, base_url: str) -> int | None:
    """The window in the price list, or None. For a local server, only entries of OpenAI's models are used."""
    is_local = is_loopback(base_url)
    for found in listed({}, model, base_url):
        if found.model.context_window and (not is_local or found.provider.id == "openai"):
            return found.model.context_window
    return None


def has_seeing_name(model: str) -> bool:
    """Whether a model of this name is known to take pictures."""
    return _first_match(TAKES_IMAGES, model) or False


def reported_vision(metadata: object, depth: int = MAX_DEPTH) -> bool | None:
    """Whether the metadata of a model says that it takes pictures; None if it does not say.

    OpenRouter reports `input_modalities` in `architecture`; Mistral and others `vision` in `capabilities`; llama.cpp
    and Ollama list `multimodal` or `vision` among `capabilities`; Anthropic `image_input` with `supported`.
    """
    if not isinstance(metadata, Mapping) or depth == 0:
        return None
    for name, value in metadata.items():
        sees = _stated(name, value)
        if sees is None:
            sees = reported_vision(value, depth - 1)
        if sees is not None:
            return sees
    return None


def _first_match(patterns: Iterable[tuple[str, T]], model: str) -> T | None:
    name = model.rpartition("/")[2].casefold()
    return next((found for pattern, found in patterns if re.search(pattern, name)), None)


def _find_sizes(metadata: object, names: frozenset[str], depth: int) -> Iterator[int]:
    if not isinstance(metadata, Mapping) or depth == 0:
        return
    for name, value in metadata.items():
        is_size = name in names and isinstance(value, int) and MIN_WINDOW_TOKENS <= value <= MAX_WINDOW_TOKENS
        if is_size:
            yield value
        else:
            yield from _find_sizes(value, names, depth - 1)


def _stated(name: str, value: object) -> bool | None:
    """What one field states. A list of capabilities without vision says nothing: some servers leave it out."""
    if name in VISION_FLAGS:
        supported = value.get("supported") if isinstance(value, Mapping) else value
        return supported if isinstance(supported, bool) else None
    if name in MODALITIES and isinstance(value, list):
        return "image" in value
    if name == "capabilities" and isinstance(value, list) and {"vision", "multimodal"} & {*map(str, value)}:
        return True
    return None
