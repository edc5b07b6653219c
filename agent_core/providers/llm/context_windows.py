"""How many tokens a model takes in one call, prompt and reply together.

The operator says it, else the endpoint where it lists its models, else a price list that ships with a library; else it
is guessed low, because a prompt that is too long is refused, or silently cut where the goals stand.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice

from agent_core.providers.llm.prices import is_loopback

GUESSED = 8_192
GUESSED_HERE = 4_096  # what Ollama gives a model unless it is told otherwise
FEWEST, MOST = 512, 20_000_000
DEEPEST = 3
MOST_KEPT = 10_000
# OpenRouter, Together and Fireworks; vLLM; Groq; Mistral and LM Studio; llama.cpp, in its `meta`.
FIELDS = frozenset(
    {
        "context_length",
        "max_model_len",
        "context_window",
        "max_context_length",
        "loaded_context_length",
        "n_ctx",
        "n_ctx_train",
    }
)


@dataclass(slots=True, kw_only=True)
class ContextWindows:
    """The windows of one endpoint's models. `own` is the operator's word and holds for every model."""

    base_url: str
    own: int | None = None
    _told: dict[str, int] = field(default_factory=dict, init=False)

    def learn(self, listed: Iterable[tuple[str, object]]) -> None:
        """Keep what the endpoint told of each model beside its name; whatever is no window is passed over."""
        for name, facts in listed:
            if told := told_in(facts):
                self._told[name] = told

    def of(self, model: str) -> int:
        """Tokens in one call; fewer rather than more where nobody says."""
        is_here = is_loopback(self.base_url)
        guess = GUESSED_HERE if is_here else GUESSED
        return self.own or self._told.get(model) or listed_window(model, self.base_url, is_here=is_here) or guess


def named(listed: object) -> Iterator[tuple[str, object]]:
    """The models in a listing as the SDK read it, with what is told of each beside its name."""
    for model in islice(listed if isinstance(listed, list) else (), MOST_KEPT):
        name = getattr(model, "id", None)
        if isinstance(name, str):
            yield name, getattr(model, "model_extra", None)


def told_in(facts: object) -> int | None:
    """The smallest window among what an endpoint says of a model: it may serve less than the model was trained for."""
    return min(_plausible(facts, DEEPEST), default=None)


def listed_window(model: str, base_url: str, *, is_here: bool) -> int | None:
    """The window in the price list, or None. A server on this machine serves open models with windows of its own."""
    from genai_prices import Usage, calc_price  # loaded when first asked: the list is large

    for address in (base_url, None) if base_url else (None,):
        try:
            found = calc_price(Usage(), model, provider_api_url=address)
        except (LookupError, ValueError):
            continue
        if found.model.context_window and (not is_here or found.provider.id == "openai"):
            return found.model.context_window
    return None


def _plausible(facts: object, depth: int) -> Iterator[int]:
    if not isinstance(facts, Mapping) or depth == 0:
        return
    for name, value in facts.items():
        if name in FIELDS and isinstance(value, int) and FEWEST <= value <= MOST:
            yield value
        else:
            yield from _plausible(value, depth - 1)
