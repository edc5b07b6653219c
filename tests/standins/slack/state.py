"""All that the stand-in remembers, and its clock: time stamps, tokens, trigger ids, what was called and delivered."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from tests.patience import PATIENCE_SECONDS
from tests.standins.slack.faults import Faults
from tests.standins.slack.values import Call, Delivery, Json, Mention, Refused, Session

if TYPE_CHECKING:
    from tests.standins.slack.deliveries import Courier
    from tests.standins.slack.people import Person
    from tests.standins.slack.responses import ResponseUrl
    from tests.standins.slack.teams import Team

SUBSCRIBED = (
    "agent_session_stopped",
    "app_home_opened",
    "app_mention",
    "app_uninstalled",
    "message",
    "tokens_revoked",
    "user_change",
)


@dataclass(slots=True)
class Token:
    """A bot token."""

    team: "Team"
    state: Literal["live", "revoked"] = "live"


@dataclass(slots=True)
class Trigger:
    """What allows one view to be opened, for three seconds."""

    person: "Person"
    born: float
    view_id: str = ""
    is_used: bool = False


@dataclass(eq=False, kw_only=True, repr=False)
class Slack:
    """One app and the workspaces it may be in."""

    signing_secret: str
    app_token: str
    client_id: str
    client_secret: str
    app_id: str = "A0001"
    base_url: str = ""
    redirect_url: str = ""
    scopes: str = (
        "commands,chat:write,chat:write.customize,assistant:write,files:read,files:write,users:read,channels:history"
    )
    events: set[str] = field(default_factory=lambda: set(SUBSCRIBED))
    echo: bool = True
    echo_changes: bool = False
    retries: int = 3
    # Slack waits 3 seconds. A busy machine is given more; benchmarks/clicks.py measures the time to an answer.
    patience: float = PATIENCE_SECONDS
    trigger_lifetime: float = 12.0
    rotates_tokens: bool = True
    teams: dict[str, "Team"] = field(default_factory=dict)
    tokens: dict[str, Token] = field(default_factory=dict)
    triggers: dict[str, Trigger] = field(default_factory=dict)
    response_urls: dict[str, "ResponseUrl"] = field(default_factory=dict)
    files: dict[str, Json] = field(default_factory=dict)
    contents: dict[str, bytes] = field(default_factory=dict)
    sessions: dict[tuple[str, str], Session] = field(default_factory=dict)
    calls: list[Call] = field(default_factory=list)
    deliveries: list[Delivery] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    notified: list[Mention] = field(default_factory=list)
    faults: Faults = field(default_factory=Faults)
    courier: "Courier" = field(init=False)
    _last: int = 0
    _ids: int = 0
    _next: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def api_url(self) -> str:
        """Where the Web API is: `AsyncWebClient(base_url=…)`."""
        return f"{self.base_url}/api/"

    def calls_of(self, method: str) -> list[Call]:
        """The calls of one method, in order."""
        return [call for call in self.calls if call.method == method]

    def changed(self) -> None:
        """Wake those who wait."""
        self._next.set()
        self._next = asyncio.Event()

    async def until(self, claim: Callable[[], object], seconds: float = PATIENCE_SECONDS) -> None:
        """Wait until it holds; it is asked again whenever something changed here."""
        async with asyncio.timeout(seconds):
            while not claim():
                await self._next.wait()

    def ts(self) -> str:
        """A time stamp later than all before it."""
        self._last = max(self._last + 1, time.time_ns() // 1000)
        return f"{self._last // 1_000_000}.{self._last % 1_000_000:06}"

    def new_id(self, prefix: str) -> str:
        """An id nothing else has."""
        self._ids += 1
        return f"{prefix}{self._ids:08}"

    def team_of(self, token: str) -> "Team":
        """Whose token it is; refuses those that are wrong or revoked."""
        if not token:
            raise Refused("not_authed")
        known = self.tokens.get(token)
        if known is None:
            raise Refused("invalid_auth")
        if known.state != "live":
            raise Refused(f"token_{known.state}")
        return known.team

    def trigger(self, person: "Person", view_id: str = "") -> str:
        """A new trigger id."""
        trigger_id = self.new_id("13345224609.738474920.")
        self.triggers[trigger_id] = Trigger(person, time.monotonic(), view_id)
        return trigger_id

    def exchange(self, trigger_id: str, team: "Team") -> Trigger:
        """Use a trigger id, once and in time."""
        trigger = self.triggers.get(trigger_id)
        if trigger is None or trigger.person.team is not team:
            raise Refused("invalid_trigger_id")
        if trigger.is_used:
            raise Refused("exchanged_trigger_id")
        if time.monotonic() - trigger.born > self.trigger_lifetime:
            raise Refused("expired_trigger_id")
        trigger.is_used = True
        return trigger

    def age_triggers(self, seconds: float = 20) -> None:
        """Make all trigger ids so much older."""
        for trigger in self.triggers.values():
            trigger.born -= seconds
