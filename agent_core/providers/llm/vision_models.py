"""Which models take pictures as input: by the operator's setting, the endpoint's list of models, or the model's name.

An unknown model counts as blind, because some servers drop pictures silently, and the model then invents an answer.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

MAX_DEPTH = 2
MODALITIES = ("input_modalities", "modalities")
VISION_FLAGS = ("vision", "supports_vision", "image_input", "supports_image_in")

# Source: the providers' model pages, November 2026. The first pattern that is found in the name counts; a provider's
# prefix such as `openai/` is left out.
SEEING: tuple[tuple[re.Pattern[str], bool], ...] = tuple(
    (re.compile(pattern), sees)
    for pattern, sees in (
        (r"embed|whisper|tts|audio|transcribe|realtime|moderation|guard", False),
        (r"^o1-(?:mini|preview)|^o3-mini|^gpt-4-turbo-preview", False),
        (r"^(?:chat)?gpt-4o|^gpt-4\.[15]|^gpt-4-(?:turbo|vision)|^gpt-[5-9]|^o[1-9](?:-|$)|^computer-use", True),
        (r"^claude-(?:instant|[12](?:\D|$))", False),
        (r"^claude-", True),
        (r"^gemini-", True),
        (
            r"pixtral|^mistral-(?:small-?(?:3\.[1-9]|250[3-9]|latest)|medium-(?:3|250[5-9]|latest)|large-(?:3|2512))",
            True,
        ),
        (r"llama-?3\.2.*vision|llama-?4|^ministral-3", True),
        (r"qwen.*-?vl|^qvq|llava|bakllava|moondream|minicpm-v|internvl|smolvlm|molmo", True),
        (r"gemma-?3n?.*(?:\b1b|270m)|^gemma-?3n", False),
        (r"^gemma-?[34]|^medgemma|^paligemma", True),
        (r"^grok-(?:4|[23]-vision)|phi-?(?:3(?:\.5)?-vision|4-multimodal)|^glm-[4-9](?:\.\d)?v|vision", True),
    )
)


@dataclass(slots=True)
class VisionModels:
    """The models of one endpoint that take pictures. `configured` is the operator's setting for every model.

    `refusing`: models that refused a picture; each counts as blind until the restart.
    """

    configured: bool | None = None
    _reported: dict[str, bool] = field(default_factory=dict, init=False)
    refusing: set[str] = field(default_factory=set, init=False)

    def learn(self, listed: Iterable[tuple[str, object]]) -> None:
        """Remember what the endpoint's model list reports."""
        for name, metadata in listed:
            sees = reported_vision(metadata)
            if sees is not None:
                self._reported[name] = sees

    def includes(self, model: str) -> bool:
        """Whether the model takes pictures."""
        if model in self.refusing:
            return False
        if self.configured is not None:
            return self.configured
        return self._reported.get(model, has_seeing_name(model))


def has_seeing_name(model: str) -> bool:
    """Whether a model of this name is known to take pictures."""
    name = model.rpartition("/")[2].casefold()
    return next((sees for pattern, sees in SEEING if pattern.search(name)), False)


def reported_vision(metadata: object, depth: int = MAX_DEPTH) -> bool | None:
    """Whether the metadata of a model says that it takes pictures; None if it does not say.

    OpenRouter reports `input_modalities` in `architecture`; Mistral and others `vision` in `capabilities`; llama.cpp
    and Ollama list `multimodal` or `vision` among `capabilities`; Anthropic `image_input` with `supported`.
    """
    if not isinstance(metadata, Mapping) or depth < 0:
        return None
    for name, value in metadata.items():
        sees = _stated(name, value)
        if sees is None:
            sees = reported_vision(value, depth - 1)
        if sees is not None:
            return sees
    return None


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
