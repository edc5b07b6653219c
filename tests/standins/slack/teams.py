"""Workspaces with their channels and groups, and the messages in them."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

from tests.standins.slack.people import Kind, Person
from tests.standins.slack.state import Slack, Token
from tests.standins.slack.values import Json, Refused


@dataclass(eq=False, slots=True, kw_only=True)
class Channel:
    """A channel or a direct message. Messages are replaced, never changed: one that a test keeps stays as it was."""

    team: "Team" = field(repr=False)
    id: str
    name: str
    person: Person | None = None
    bot_is_member: bool = True
    is_private: bool = False
    is_shared: bool = False
    is_archived: bool = False
    people: tuple[Person, ...] | None = None
    messages: list[Json] = field(default_factory=list)

    @property
    def kind(self) -> str:
        """As `channel_type` says it."""
        if self.person:
            return "im"
        return "group" if self.is_private else "channel"

    @property
    def members(self) -> list[str]:
        """Ids: all people of the workspace unless some were named, and the bot."""
        if self.person:
            return [self.person.id, self.team.bot_user]
        people = self.team.people.values() if self.people is None else self.people
        bot = [self.team.bot_user] if self.bot_is_member else []
        return [*(person.id for person in people if not person.deleted), *bot]

    def thread(self, ts: str) -> list[Json]:
        """The root and its replies."""
        return [message for message in self.messages if ts in (message["ts"], message.get("thread_ts"))]

    def message(self, ts: str) -> Json | None:
        """As it is now."""
        return next((message for message in self.messages if message["ts"] == ts), None)

    def add(self, message: Json) -> Json:
        """Keep a new message; the root of its thread hears of it."""
        kept: Json = {"type": "message", **message, "ts": self.team.slack.ts()}
        root = self.message(kept.get("thread_ts", ""))
        if root:
            users = dict.fromkeys([*root.get("reply_users", []), kept.get("user", kept.get("bot_id"))])
            counted = {"reply_count": root.get("reply_count", 0) + 1, "reply_users": list(users)}
            self._replace(root, {**root, "thread_ts": root["ts"], **counted, "latest_reply": kept["ts"]})
            kept["parent_user_id"] = root.get("user", "")
        self.messages.append(kept)
        self.team.slack.changed()
        return kept

    def change(self, message: Json, changes: Json) -> Json:
        """Put a changed message in its place."""
        changed = {**message, **changes}
        self._replace(message, changed)
        self.team.slack.changed()
        return changed

    def remove(self, message: Json) -> None:
        """Forget a message."""
        self.messages.remove(message)
        self.team.slack.changed()

    def delete_message(self, ts: str) -> asyncio.Task[None]:
        """Somebody deletes it; awaiting the result waits for the event to be delivered."""
        message = self.message(ts)
        assert message, f"there is no message {ts} in {self.name}"
        self.remove(message)
        return self.team.slack.courier.in_background(self.team.slack.courier.tells_of_deletion(self, message))

    def remove_bot(self) -> asyncio.Task[None]:
        """Somebody removes the app from the channel."""
        self.bot_is_member = False
        event = {"type": "channel_left", "channel": self.id, "actor_id": "U0ADMIN"}
        return self.team.slack.courier.in_background(self.team.slack.courier.event(self.team, event))

    def described(self) -> Json:
        """As conversations.info tells it."""
        facts: Json = {"id": self.id, "is_archived": self.is_archived, "context_team_id": self.team.id}
        if self.person:
            return {**facts, "is_im": True, "user": self.person.id, "is_channel": False}
        return {
            **facts,
            "name": self.name,
            "is_channel": not self.is_private,
            "is_group": self.is_private,
            "is_im": False,
            "is_private": self.is_private,
            "is_member": self.bot_is_member,
            "is_ext_shared": self.is_shared,
        }

    def _replace(self, message: Json, changed: Json) -> None:
        self.messages[[each["ts"] for each in self.messages].index(message["ts"])] = changed


@dataclass(eq=False, slots=True, kw_only=True)
class Team:
    """A workspace; without a bot token the app is not installed in it yet."""

    slack: Slack = field(repr=False)
    id: str
    name: str
    bot_token: str
    people: dict[str, Person] = field(default_factory=dict)
    channels: dict[str, Channel] = field(default_factory=dict)
    groups: dict[str, Json] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.bot_token:
            self.slack.tokens[self.bot_token] = Token(self)

    @property
    def bot_user(self) -> str:
        """The id of the app's user."""
        return f"UBOT{self.id}"

    @property
    def bot_id(self) -> str:
        """The id of the app's bot."""
        return f"B0{self.id}"

    @property
    def domain(self) -> str:
        """The part of the workspace's address."""
        return self.name.lower().replace(" ", "-")

    def channel(
        self,
        channel_id: str,
        name: str,
        *,
        bot_is_member: bool = True,
        is_private: bool = False,
        is_shared: bool = False,
        people: Sequence[Person] | None = None,
    ) -> Channel:
        """A new channel; everybody is in it unless people are named."""
        channel = Channel(team=self, id=channel_id, name=name, bot_is_member=bot_is_member, is_private=is_private)
        channel.is_shared = is_shared
        channel.people = None if people is None else tuple(people)
        self.channels[channel_id] = channel
        return channel

    def person(
        self, user_id: str, name: str, kind: Kind = "member", *, deleted: bool = False, home: str = ""
    ) -> Person:
        """Somebody new; `home` is the workspace of an external person."""
        person = Person(team=self, id=user_id, name=name, kind=kind, deleted=deleted, foreign=home or "TFOREIGN")
        self.people[user_id] = person
        return person

    def direct(self, person: Person) -> Channel:
        """The direct message of a person and the app."""
        found = [channel for channel in self.channels.values() if channel.person is person]
        if found:
            return found[0]
        channel_id = f"D{person.id}"
        channel = Channel(team=self, id=channel_id, name="directmessage", person=person)
        self.channels[channel_id] = channel
        return channel

    def group(self, group_id: str, handle: str, people: Sequence[Person]) -> Json:
        """A user group; its members may be changed in what is returned."""
        self.groups[group_id] = {"id": group_id, "handle": handle, "users": [person.id for person in people]}
        return self.groups[group_id]

    def reached(self, channel_id: str) -> Channel:
        """A channel the bot sees; a person's id names the direct message."""
        if channel_id in self.people:
            return self.direct(self.people[channel_id])
        channel = self.channels.get(channel_id)
        if channel is None or (channel.is_private and not channel.bot_is_member):
            raise Refused("channel_not_found")
        return channel

    def writable(self, channel_id: str) -> Channel:
        """A channel the bot may write in."""
        channel = self.reached(channel_id)
        if not channel.bot_is_member:
            raise Refused("not_in_channel")
        if channel.is_archived:
            raise Refused("is_archived")
        return channel

    def install(self, token: str) -> None:
        """The app gets a token."""
        self.slack.tokens[token] = Token(self)
        self.bot_token = token
        self.slack.changed()

    def revoke(self) -> None:
        """No token of the workspace is taken any more."""
        for token in self.slack.tokens.values():
            if token.team is self:
                token.state = "revoked"
        self.bot_token = ""
        self.slack.changed()
