"""The port of a tool server (MCP), its entry, tools and answers; and plugins and servers as sources of commands.

Whatever a server says of itself and its tools, and whatever it answers, is untrusted content.
"""

import hashlib
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import Literal, Protocol, TypeAlias

from agent_core.model.command import Arguments, RiskClass
from agent_core.model.question import ServerQuestion


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptArgument:
    """What a prompt has to be told. All texts are its server's."""

    name: str
    description: str = ""
    is_required: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SourcePrompt:
    """A text that a source offers, from which an agent can be drafted. All texts are its server's.

    `fault`: why no agent can be drafted from it, to complete "The prompt …", or "". One with a fault has no arguments.
    """

    name: str
    title: str = ""
    description: str = ""
    arguments: tuple[PromptArgument, ...] = ()
    fault: str = ""


ReadPrompt: TypeAlias = Callable[[str, Mapping[str, str]], Awaitable[str]]


async def read_no_prompt(_name: str, _arguments: Mapping[str, str]) -> str:
    """Return nothing: this source has no prompts."""
    return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSource:
    """A plugin or a tool server.

    `version`: as the decision log names it beside the name; may be "".
    `kind`, `place`: what it is and from where it was loaded, for people: `plugin`, `file word_counter.py`.
    `fault`: why none of it can be used now, or "".
    `commands`: the names of its commands, in the order of the prompt.
    `remarks`: what of it is left out and why, a line each.
    `prompts`: what it offers now to draft agents from. `read_prompt`: asks it for one by name, with its arguments;
    raises CommandError with a sentence if it does not give it.
    """

    name: str
    version: str = ""
    kind: str
    place: str
    fault: str = ""
    commands: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    prompts: tuple[SourcePrompt, ...] = ()
    read_prompt: ReadPrompt = field(default=read_no_prompt, repr=False, compare=False)


ListSources: TypeAlias = Callable[[], tuple[ToolSource, ...]]


def no_sources() -> tuple[ToolSource, ...]:
    """Return none: this host has Signoff's own commands only."""
    return ()


ServerCondition: TypeAlias = Literal["connecting", "connected", "away", "closed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalProgram:
    """A server that is started as a program of this machine. `env`: its variables besides HOME, PATH and the like."""

    command: str
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    cwd: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SignInTerms:
    """How somebody signs in at a server (OAuth). With no `client_id` Signoff registers itself there.

    `port`: of the address on this machine to which the browser comes back; 0 for any that is free.
    """

    client_id: str = ""
    client_secret: str = field(default="", repr=False)
    scope: str = ""
    port: int = 0


@dataclass(frozen=True, slots=True)
class ComeBack:
    """With what the browser came back from an authorization server."""

    code: str
    state: str | None
    issuer: str | None


AskPerson: TypeAlias = Callable[[str], Awaitable[ComeBack]]


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteAddress:
    """A server at an http or https address. `sign_in`: None if it lets in everybody, or who sends its headers."""

    url: str = field(repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    sign_in: SignInTerms | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerEntry:
    """What the operator wrote about one server.

    `place`: where calls go, as people read it: a program or a host. No secrets.
    `is_trusted`: what the server says about its tools may make them freer.
    `classes`: the risk classes of its tools; () leaves the choice to Signoff.
    `asks_people`: its tools may ask people.
    `only`, `besides`: the names of the tools that are taken, () for all, and of those that are not.
    """

    name: str
    reached: LocalProgram | RemoteAddress
    place: str
    is_trusted: bool = False
    classes: tuple[RiskClass, ...] = ()
    only: tuple[str, ...] = ()
    besides: tuple[str, ...] = ()
    asks_people: bool = True


@dataclass(frozen=True, eq=False, kw_only=True)
class ServerTool:
    """A tool as its server describes it; equal to one of which the server says exactly the same.

    `schema`: a JSON Schema of its arguments.
    `read_only`, `destructive`: what the server says about it; None if it says nothing.
    """

    name: str
    title: str = ""
    description: str = ""
    schema: Mapping[str, object] = field(default_factory=dict)
    read_only: bool | None = None
    destructive: bool | None = None

    def __eq__(self, other: object) -> bool:
        """Whether the server says exactly the same of both."""
        return isinstance(other, ServerTool) and self.digest == other.digest

    def __hash__(self) -> int:
        """A number that is the same for equal tools."""
        return hash(self.digest)

    @property
    def digest(self) -> str:
        """A SHA-256 over all that the server says about the tool, in hexadecimal digits; it tells 1 from true."""
        return self._digest_and_size[0]

    @property
    def size(self) -> int:
        """The characters of all that the server says about the tool, as JSON."""
        return self._digest_and_size[1]

    @cached_property
    def _digest_and_size(self) -> tuple[str, int]:
        said = [self.name, self.title, self.description, self.schema, self.read_only, self.destructive]
        written = json.dumps(said, sort_keys=True)
        return hashlib.sha256(written.encode()).hexdigest(), len(written)


AskPeople: TypeAlias = Callable[[ServerQuestion], Awaitable[Mapping[str, object] | None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerState:
    """Whether a server can be called: since when, and why not."""

    condition: ServerCondition
    since: datetime
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerFile:
    """A picture, sound or file in an answer."""

    media_type: str
    data: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerAnswer:
    """What a server answered. `is_error`: the tool says that it failed."""

    text: str
    attachments: tuple[AnswerFile, ...] = ()
    is_error: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerResource:
    """A resource that a server offers to read."""

    uri: str
    name: str = ""
    description: str = ""
    media_type: str = ""


class ToolServer(Protocol):
    """One server. It is connected in the background, and again after it was lost."""

    @property
    def entry(self) -> ServerEntry:
        """What the operator wrote about it."""

    @property
    def state(self) -> ServerState:
        """Whether it can be called now."""

    @property
    def tools(self) -> Sequence[ServerTool]:
        """The tools that it offered last, also while it is away."""

    @property
    def unmatched(self) -> Sequence[str]:
        """The names in `only` and `besides` of its entry that none of its tools has."""

    @property
    def unreadable(self) -> Sequence[str]:
        """The names of the tools that it describes in a way that is not of the protocol, and that are left out."""

    @property
    def has_resources(self) -> bool:
        """Whether it offers resources to read."""

    @property
    def instructions(self) -> str:
        """What it says about how its tools are used."""

    async def call(
        self,
        tool: str,
        arguments: Arguments,
        report: Callable[[str], None],
        digest: str = "",
        ask_people: AskPeople | None = None,
    ) -> ServerAnswer:
        """Call a tool, and give its progress to `report`. If this call is cancelled, the server is told.

        `ask_people`: has people answer a question of the server, by the names of its fields; None if they decline.
        `digest`: that of the tool that is meant, which is not called if the server that answers describes it otherwise.
        Raise CommandError with a sentence for the model then, and if the server is away, dies, sends too much, refuses
        the call or does not answer in time.
        """

    async def look_again(self) -> None:
        """List the tools again if it does not tell of changes by itself, within seconds; does not raise."""

    async def read(self, uri: str) -> ServerAnswer:
        """Read a resource; raise CommandError as `call` does."""

    async def list_resources(self) -> Sequence[ServerResource]:
        """The resources that it offers, at most 1,000; raise CommandError as `call` does."""

    @property
    def prompts(self) -> Sequence[SourcePrompt]:
        """The prompts that it offered last, at most 100."""

    async def read_prompt(self, name: str, arguments: Mapping[str, str]) -> str:
        """The text of a prompt; raise CommandError as `call` does."""
