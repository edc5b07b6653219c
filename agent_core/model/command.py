"""What a command is, what calling one means, and what people see of it before it runs."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, Self, TypeAlias

RiskClass = Literal["read", "write", "network", "execute", "publish", "spend"]
RISK_CLASSES: tuple[RiskClass, ...] = ("read", "write", "network", "execute", "publish", "spend")
GUARDED_CLASSES: frozenset[RiskClass] = frozenset({"execute", "publish"})
Arguments: TypeAlias = Mapping[str, object]
DIGEST_LENGTH = 32  # of Discord's 100 characters for a button's id


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandSpec:
    """A command as the model is told of it. `parameters` is a JSON Schema of type object.

    `risks` are all classes it falls under. `finishes` marks the command whose success ends the agent's work,
    `asks_models` one whose run makes calls that the agent pays for, `waits` one after which it waits for its helpers,
    and `outside` one whose result others wrote. `always_asks` marks one that no lease and no policy ever covers.
    `synonyms` are other names, `aliases` other argument names (given → meant), under which models call it.
    """

    name: str
    label: str
    description: str
    parameters: Mapping[str, object]
    risks: tuple[RiskClass, ...]
    category: str
    synonyms: tuple[str, ...] = ()
    aliases: Mapping[str, str] = field(default_factory=dict)
    finishes: bool = False
    asks_models: bool = False
    waits: bool = False
    outside: bool = False
    always_asks: bool = False


@dataclass(frozen=True, slots=True)
class CommandCall:
    """A command's name with its arguments, as the model or a person gave them."""

    name: str
    arguments: Arguments

    @property
    def canonical(self) -> str:
        """The same text for the same call, whatever the order of its arguments."""
        return json.dumps([self.name, self.arguments], sort_keys=True, ensure_ascii=False, separators=(",", ":"))

    def with_arguments(self, arguments: Arguments) -> Self:
        """The same command with other arguments."""
        return type(self)(self.name, arguments)


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview:
    """What a command is about to do, worked out before people are asked.

    `target` names the thing it touches and `basis` the state it stood on (an old file's hash, or that of all sources).
    """

    title: str
    body: str
    kind: Literal["text", "diff"] = "text"
    target: str = ""
    basis: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Thoughts:
    """What the model says of its command. `plan` holds one step a line."""

    text: str = ""
    reasoning: str = ""
    plan: str = ""
    criticism: str = ""
    speak: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """Thoughts and one command call, put before people. `shown_hash` stands for all that they were shown of it."""

    thoughts: Thoughts
    call: CommandCall
    preview: Preview | None = None

    @property
    def shown_hash(self) -> str:
        """A digest of name, canonical arguments, and what the preview stood on: 32 hexadecimal digits."""
        return call_digest(self.call, self.preview)

    def still_holds(self, call: CommandCall, now: Preview | None) -> bool:
        """Say whether `call` may run on an approval of this proposal, its preview being `now`.

        What a person changed by Edit is theirs, but the thing it touches must be as it was shown.
        """
        if call == self.call:
            return call_digest(call, now) == self.shown_hash
        same_target = self.preview and now and self.preview.target == now.target
        return not same_target or (self.preview is not None and now is not None and self.preview.basis == now.basis)


def in_whole_characters(value: object) -> object:
    """The value with halves of characters replaced, which JSON can spell and no file can hold."""
    match value:
        case str():
            return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        case dict():
            return {in_whole_characters(name): in_whole_characters(item) for name, item in value.items()}
        case list():
            return [in_whole_characters(item) for item in value]
        case _:
            return value


def call_digest(call: CommandCall, preview: Preview | None) -> str:
    """The first 128 bits of a SHA-256 over a call and what its preview stands on: what a button can carry."""
    stood_on = [preview.target, preview.basis] if preview else []
    return text_digest("\0".join([call.canonical, *stood_on]))


def text_digest(text: str) -> str:
    """The first 128 bits of a SHA-256, as hexadecimal digits."""
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:DIGEST_LENGTH]
