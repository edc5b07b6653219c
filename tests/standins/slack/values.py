"""What the stand-in hands to tests: calls, deliveries, answers, mentions, and the refusal of a call."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

Json: TypeAlias = dict[str, Any]
Kind: TypeAlias = Literal["event", "interaction", "slash"]

TRUE = ("1", "true", "True")


class Refused(Exception):
    """The call is refused, as Slack words it."""

    def __init__(self, error: str, *messages: str) -> None:
        super().__init__(error)
        self.error = error
        self.messages = messages

    @property
    def body(self) -> Json:
        """The answer of the Web API."""
        refusal: Json = {"ok": False, "error": self.error}
        return {**refusal, "response_metadata": {"messages": list(self.messages)}} if self.messages else refusal


@dataclass(frozen=True, slots=True)
class Call:
    """A call of the Web API as it arrived; `at` is in seconds of the monotonic clock."""

    method: str
    arguments: Mapping[str, Any]
    token: str
    at: float


@dataclass(frozen=True, slots=True)
class Answer:
    """What the app answered; status 0 means nothing came in time, and the body says why."""

    status: int
    body: Any
    seconds: float

    @property
    def is_acknowledged(self) -> bool:
        """Whether Slack takes it as received."""
        return 200 <= self.status < 300


@dataclass(slots=True)
class Delivery:
    """One attempt to deliver; `status` is None while it is under way and 0 when no answer came."""

    kind: Kind
    name: str
    payload: Json
    retry: int = 0
    reason: str = ""
    status: int | None = None
    ack: Any = None
    seconds: float = 0
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def answer(self) -> Answer:
        """The end of it."""
        return Answer(self.status or 0, self.ack, self.seconds)


@dataclass(frozen=True, slots=True)
class Mention:
    """Somebody whom a message really notifies; `who` is as in mrkdwn: `<!channel>`, `<@U1>`, `<!subteam^S1>`.

    `kind`: the event type of the message's metadata, or "".
    """

    channel: str
    ts: str
    who: str
    kind: str = ""


@dataclass(frozen=True, slots=True)
class Session:
    """The state of an agent's session in a thread."""

    status: str
    title: str = ""


@dataclass(frozen=True, slots=True)
class Arguments:
    """The arguments of a call, however they were sent."""

    values: Mapping[str, Any]

    def __contains__(self, name: str) -> bool:
        return self.values.get(name) is not None

    def text(self, name: str, default: str = "") -> str:
        """A string."""
        value = self.values.get(name)
        return default if value is None else str(value)

    def needs(self, name: str) -> str:
        """A string that must be there."""
        if not self.text(name):
            raise Refused("invalid_arguments", f"[ERROR] missing required field: {name}")
        return self.text(name)

    def flag(self, name: str) -> bool:
        """A boolean, also as Slack's SDKs write it in a query."""
        value = self.values.get(name)
        return value is True or value in TRUE

    def number(self, name: str, default: int) -> int:
        """A whole number."""
        value = self.text(name)
        if not value:
            return default
        if not value.isdigit():
            raise Refused("invalid_arguments", f"[ERROR] must be a number: {name}")
        return int(value)


def decoded(value: Any) -> Any:
    """An argument that may be sent as a string of JSON."""
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except json.JSONDecodeError:
        return value


def length(text: str) -> int:
    """How long Slack finds a text: in UTF-16 code units."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2
