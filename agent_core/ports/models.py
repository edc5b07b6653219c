"""Ports of language models, token counters, embedders, vector indexes and the demo model, with the values they use."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Protocol, TypeAlias

from agent_core.model.agent import Agent
from agent_core.model.draft import AgentDraft
from agent_core.model.ids import MemoryId
from agent_core.model.model_calls import Message, Reply, Usage
from agent_core.model.records.memory import Memory, MemorySpace, Vector

# The cost of a usage in US dollars, or None if no price is known.
Pricing: TypeAlias = Callable[[Usage], Decimal | None]

CHARACTERS_PER_TOKEN = 3  # about 4 in English, fewer in other languages and in code


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalServer:
    """A model server on this machine that answers OpenAI's `/models` request. `name` is guessed from the port."""

    name: str
    base_url: str
    models: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointCheck:
    """The result of a request for an endpoint's list of models.

    `fault`: what is wrong with the endpoint, or "".
    `models`: the names in the list; empty if it gives none, or they are not what a request names.
    `default`: the model that answers if no setting names one; "" if that is not known.
    """

    fault: str = ""
    models: tuple[str, ...] = ()
    default: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelProgress:
    """The progress of a reply that is being received.

    `characters`: how many were received so far, reasoning included.
    `written`: returns the text so far, without reasoning. It joins all parts, so it is not called for each of them.
    `is_reasoning`: whether only reasoning was received so far.
    `prompt_usage`: the tokens of the prompt; None until the endpoint reports them.
    """

    characters: int
    written: Callable[[], str] = str
    is_reasoning: bool = False
    prompt_usage: Usage | None = None

    @property
    def tokens(self) -> int:
        """The tokens received so far, estimated on the high side."""
        return self.characters // CHARACTERS_PER_TOKEN + 1


@dataclass(frozen=True, slots=True, kw_only=True)
class CallOptions:
    """Parameters of a call besides the messages.

    `max_tokens`: the limit of reasoning and reply together.
    `schema`: the JSON Schema of the reply; None asks for plain text.
    `temperature`: is used only if the operator set none.
    `effort`: the reasoning effort; if empty, the model's default.
    `cache_key`: equal for calls whose prompts share a prefix, for the endpoint's prompt cache.
    `report`: is called with the progress each time a part of a streamed reply arrives.
    `report_price`: is called before a request with the prices of the model that is asked, by providers that may ask
    another model than `model`.
    """

    max_tokens: int
    schema: Mapping[str, object] | None = None
    model: str = ""
    temperature: float | None = None
    effort: str = ""
    cache_key: str = ""
    report: Callable[[ModelProgress], None] | None = None
    report_price: Callable[[Pricing], None] | None = None


class LanguageModel(Protocol):
    """A chat completion endpoint."""

    @property
    def label(self) -> str:
        """Model and host, as shown to people. The label of a scripted model says that it is scripted."""

    @property
    def default_model(self) -> str:
        """The model for agents that name none; "" until the endpoint has been asked for it."""

    async def complete(self, messages: Sequence[Message], options: CallOptions) -> Reply:
        """Complete the prompt. With `options.schema`, ask for JSON in the strictest way that the endpoint supports.

        Raise ModelUnavailable if a retry may help (rate limit, timeout, outage), ModelRefused otherwise. Cancelling the
        call also ends a streamed reply at the endpoint. Images are sent only to models that `takes_images` names.
        """

    def window(self, model: str) -> int:
        """Context window in tokens, prompt and reply together; a low estimate if it is unknown."""

    def max_reply(self, model: str) -> int | None:
        """The longest reply of the model in tokens, reasoning included; None if unknown."""

    def takes_images(self, model: str) -> bool:
        """Whether the model takes pictures as input; "" is the default model. False if it is unknown."""

    def price(self, usage: Usage, model: str) -> Decimal | None:
        """Cost in US dollars, or None if no price is known."""


@dataclass(slots=True)
class NewestCall:
    """How the newest call of a model ended here.

    `fault`: why the endpoint could not be reached, "" if it could, None before the first call.
    """

    fault: str | None = None


class TokenCounter(Protocol):
    """Counts tokens for one model without blocking the event loop."""

    @property
    def is_exact(self) -> bool:
        """True if the model's own tokenizer counts, False for an estimate."""

    def count(self, text: str) -> int:
        """Number of tokens, at least 0. An estimate errs on the high side."""


class TokenCounters(Protocol):
    """Token counters by model."""

    def of(self, model: str) -> TokenCounter:
        """A counter for the model: approximate until the model's own tokenizer is loaded, and for unknown models."""


@dataclass(frozen=True, slots=True)
class Embedding:
    """One vector for each text, in order. `usage.prompt` is the number of tokens."""

    vectors: tuple[Vector, ...]
    usage: Usage


class Embedder(Protocol):
    """Turns texts into vectors of unit length."""

    @property
    def name(self) -> str:
        """Identifies the embedder. Vectors of embedders with different names are never compared."""

    @property
    def is_semantic(self) -> bool:
        """True if near vectors mean similar meaning; False if they mean similar spelling, as with hashed words."""

    async def embed(self, texts: Sequence[str]) -> Embedding:
        """One vector for each text, all of the same dimension. Long texts are truncated.

        Raise ModelUnavailable if a retry may help, ModelRefused otherwise.
        """

    def price(self, usage: Usage) -> Decimal | None:
        """Cost in US dollars, or None if no price is known."""


class MemoryIndex(Protocol):
    """Vector index: nearest-neighbour search over the memories of one agent (its memory space).

    The repository `Memories` is the source of truth: a memory is saved there with its vector and then added here, so
    the index can always be rebuilt. `index_key` names the embedder and the index together; vectors of different keys
    are never compared. Every method raises MemoryAway if the index cannot be reached or refuses.
    """

    @property
    def name(self) -> str:
        """Part of the index key that identifies the index. If it changes, all memories are added again."""

    async def add(self, space: MemorySpace, index_key: str, memories: Sequence[tuple[Memory, Vector]]) -> None:
        """Add memories with their vectors; a known id is replaced."""

    async def nearest(
        self, space: MemorySpace, index_key: str, vector: Vector, most: int
    ) -> tuple[tuple[MemoryId, float], ...]:
        """Up to `most` ids with their cosine similarity, nearest first."""

    async def forget(self, space: MemorySpace, ids: Sequence[MemoryId]) -> None:
        """Remove memories by id; unknown ids are ignored."""

    async def drop(self, space: MemorySpace) -> None:
        """Remove all memories of the space, for every index key."""


class AgentEmbedders(Protocol):
    """Embedders of agents. Each has a name that no other has and that tells its dimension.

    One that fails is given up until the next start, and its agents have the common embedder again.
    """

    @property
    def names(self) -> tuple[str, ...]:
        """The names of those that have embedded something in this process, and were not given up."""

    async def find_name(self, agent: Agent) -> str:
        """The name of the agent's own embedder, "" if it has none, or none that embedded something in this process."""

    async def embed(self, agent: Agent, texts: Sequence[str]) -> tuple[str, tuple[Vector, ...]] | None:
        """The name of the agent's own embedder and a vector of length 1 for each text; None if it has none (any more).

        Raise MemoryAway if a later try may help.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class Tour:
    """A short guided agent: its form, and the sample files (content by path) that its commands work on."""

    draft: AgentDraft
    files: Mapping[str, str]


class Rehearsal(Protocol):
    """A model that is a script: it carries out few goals and has no other models."""

    def goals_problem(self, goals: Sequence[str]) -> str:
        """Which goal the script cannot carry out, and what to do about it. Return "" if it can carry out all."""

    def model_problem(self, name: str) -> str:
        """Why an agent cannot use the model of that name, and how to connect one. Return "" for its own, and for ""."""

    def tour(self) -> Tour:
        """The tour that the script can give."""
