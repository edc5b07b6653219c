"""Specs of commands, calls, previews, thoughts, proposals and results as values, and the hashes of what was shown."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, Protocol, TypeAlias

from agent_core.model.origin import Actor

RiskClass = Literal["read", "write", "delete", "network", "execute", "publish", "spend"]
RISK_CLASSES: tuple[RiskClass, ...] = ("read", "write", "delete", "network", "execute", "publish", "spend")
STEP_WORDS = ("reads", "changes to its own files", "deletions", "web pages", "programs", "posts", "paid calls")
STEPS: Mapping[RiskClass, str] = dict(zip(RISK_CLASSES, STEP_WORDS, strict=True))  # what people call them
GUARDED_CLASSES: frozenset[RiskClass] = frozenset({"execute", "publish"})
Arguments: TypeAlias = Mapping[str, object]
NO_DRY_RUN = "This is no dry run any more: propose it again if it is still needed."
DIGEST_HEX_DIGITS = 32  # of the 100 characters that Discord allows in a button's custom_id


class Judged(Protocol):
    """What oversight knows of a command: its specification, or a turn that proposes it."""

    @property
    def risks(self) -> tuple[RiskClass, ...]: ...

    @property
    def source(self) -> str: ...

    @property
    def always_asks(self) -> bool: ...


@dataclass(frozen=True, kw_only=True)
class CommandSpec:
    """A command as the model sees it. `parameters` is a JSON Schema of type object.

    `finishes`: its success ends the agent's work.
    `asks_models`: it makes model calls that the agent pays for.
    `waits`: the agent waits for its helpers afterwards.
    `outside`: its result is untrusted content.
    `is_lent_folder`: a plugin's process that carries it out may write what it likes into the agent's folder.
    `always_asks`: no lease and no policy covers it. `needs_two`: two people approve it, whatever the policy says.
    `source`: name and version of the plugin or server that added it, such as `word_counter 1.0`; "" for Signoff's own.
    `synonyms`, `aliases`: other names that models use for the command and (given → proper) for its arguments.
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
    is_lent_folder: bool = False
    always_asks: bool = False
    needs_two: bool = False
    source: str = ""

    @cached_property
    def parameters_text(self) -> str:
        """The parameters as JSON."""
        return json.dumps(self.parameters)

    @property
    def source_name(self) -> str:
        """The name of the plugin or server that added it; "" for Signoff's own commands."""
        return self.source.partition(" ")[0]


@dataclass(frozen=True)
class CommandCall:
    """A command's name and arguments, as the model or a person gave them."""

    name: str
    arguments: Arguments

    @cached_property
    def canonical(self) -> str:
        """JSON with sorted keys: equal calls give equal text."""
        return json.dumps([self.name, self.arguments], sort_keys=True, ensure_ascii=False, separators=(",", ":"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview:
    """What a command would do, computed before people are asked.

    `target` names what the command touches. `basis` identifies the state that the preview was computed from: the hash
    of one file, one hash over all source files of a program, or a helper's id. `model` names the one model that may be
    given the data; "" for a command that gives data to no particular model.
    """

    title: str
    body: str
    kind: Literal["text", "diff"] = "text"
    target: str = ""
    basis: str = ""
    model: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Thoughts:
    """What the model says about its command. `plan` has one step per line.

    `model_reasoning`: what a reasoning model wrote before its reply, if the operator lets it be shown.
    """

    text: str = ""
    reasoning: str = ""
    plan: str = ""
    criticism: str = ""
    speak: str = ""
    model_reasoning: str = ""


@dataclass(frozen=True, kw_only=True)
class Proposal:
    """Thoughts and one command call, shown to people. `shown_hash` identifies what they were shown."""

    thoughts: Thoughts
    call: CommandCall
    preview: Preview | None = None

    @cached_property
    def shown_hash(self) -> str:
        """A digest of the call and the preview's target, basis and model: 32 hexadecimal digits."""
        return call_digest(self.call, self.preview)

    def still_holds(self, call: CommandCall, now: Preview | None) -> bool:
        """Whether an approval of this proposal covers `call`, whose preview is `now`.

        An unchanged call is covered if target, basis and model are unchanged. A call that a person edited is not
        covered if the model changed, or if it has the same target and the basis changed; otherwise it is covered.
        """
        if call == self.call:
            return call_digest(call, now) == self.shown_hash
        if self.preview and now and self.preview.model != now.model:
            return False
        same_target = self.preview and now and self.preview.target == now.target
        return not same_target or (self.preview is not None and now is not None and self.preview.basis == now.basis)


def replace_lone_surrogates(value: object) -> object:
    """The value with lone surrogates replaced: they can occur in JSON, but not in UTF-8 files."""
    match value:
        case str():
            return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        case dict():
            return {replace_lone_surrogates(name): replace_lone_surrogates(item) for name, item in value.items()}
        case list():
            return [replace_lone_surrogates(item) for item in value]
        case _:
            return value


def call_digest(call: CommandCall, preview: Preview | None) -> str:
    """The first 128 bits of a SHA-256 over a call and its preview's target, basis and model, for a button."""
    shown_state = [preview.target, preview.basis] if preview else []
    model = [preview.model] if preview and preview.model else []
    return text_digest("\0".join([call.canonical, *shown_state, *model]))


def text_digest(text: str) -> str:
    """The first 128 bits of a SHA-256, as 32 hexadecimal digits."""
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:DIGEST_HEX_DIGITS]


@dataclass(frozen=True, slots=True)
class Succeeded:
    """The command ran and gave this output.

    `files`: workspace files to post in the thread; images among them are displayed.
    `outside`: the output contains untrusted content. `is_simulated`: nothing ran, as it was a dry run.
    """

    output: str
    files: tuple[str, ...] = ()
    outside: bool = False
    is_simulated: bool = False
    kind: Literal["succeeded"] = "succeeded"


@dataclass(frozen=True, slots=True)
class Failed:
    """The command failed; `error` is one sentence for the model.

    `received_nothing`: it failed before it received anything from outside, so `error` cannot be untrusted content.
    """

    error: str
    outside: bool = False
    received_nothing: bool = False
    kind: Literal["failed"] = "failed"


@dataclass(frozen=True, slots=True)
class Interrupted:
    """The command may have run in part. `output` is the output until then.

    `by`: the person who stopped the command; None if the process ended.
    `at_shutdown`: the process ended in order, and ended the command.
    `is_skipped`: the process ended, and `by` let the agent go on without the command.
    """

    by: Actor | None = None
    output: str = ""
    outside: bool = False
    at_shutdown: bool = False
    is_skipped: bool = False
    kind: Literal["interrupted"] = "interrupted"


Result: TypeAlias = Succeeded | Failed | Interrupted
