"""User directory: asks Slack about members, guests and their channels, caches them, and finds people by name."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any, TypeAlias

from cachetools import LRUCache, TTLCache

from adapters.chat.background import BackgroundTasks
from adapters.slack.api.client import SlackApi
from adapters.slack.api.web_api import SlackRefused
from agent_core.errors import NotAllowed, NotFound, SurfaceBusy, SurfaceError
from agent_core.model.origin import Actor, ActorKind, ChannelScope, is_name_of
from agent_core.ports.clock import Clock
from agent_core.ports.engine import NO_BROADCAST, Broadcast
from agent_core.text.lines import short_name

User: TypeAlias = Mapping[str, Any]
# Slack sends user_change events. These limits are for missed events: after the first, an entry is refreshed
# in the background; after the second, it is no longer used.
REFRESH_AFTER, CACHE_TTL = timedelta(minutes=15), timedelta(minutes=30)
MAX_CACHED_PEOPLE, MAX_CACHED_GROUPS = 50_000, 1_000
GROUP, GROUPS_TTL = "S", timedelta(minutes=1)  # how the id of a group begins; for how long its members are cached
PAGE, MOST_PAGES = 500, 100
LOOKUP_TIMEOUT_SECONDS = 2.0
UNKNOWN_PERSON = frozenset({"user_not_found"})  # other refusals tell nothing of whether the person is there


@dataclass(frozen=True, slots=True)
class Known:
    """A person, all their names, and when Slack told them."""

    actor: Actor
    names: tuple[str, ...]
    at: datetime


async def no_groups(_channel: ChannelScope) -> Iterable[str]:
    """The groups that a policy names, where there is none."""
    return ()


@dataclass(slots=True, kw_only=True)
class SlackDirectory:
    """Caches people from `users.list` and from Slack's events, so that a click rarely needs a request."""

    calls: SlackApi
    soon: BackgroundTasks
    clock: Clock
    broadcast: Broadcast = NO_BROADCAST
    groups_in: Callable[[ChannelScope], Awaitable[Iterable[str]]] = no_groups
    members: TTLCache[tuple[str, str], frozenset[str]] = field(init=False)
    known: LRUCache[tuple[str, str], Known] = field(default_factory=lambda: LRUCache(MAX_CACHED_PEOPLE))

    def __post_init__(self) -> None:
        self.members = TTLCache(MAX_CACHED_GROUPS, GROUPS_TTL.total_seconds(), lambda: self.clock.now().timestamp())
        self.broadcast.subscribe("person", self._forget)

    async def actor(self, channel: ChannelScope, person: str) -> Actor:
        """The person, from a cache entry that is at most half an hour old, or from Slack within two seconds.

        With those groups of theirs that the channel's policy names, as Slack knew them at most a minute ago.
        Raise NotFound if there is no such person, NotAllowed while Slack does not answer.
        """
        found = await self._person(channel, person)
        groups = [group for group in await self.groups_in(channel) if group.startswith(GROUP)]
        members = await asyncio.gather(*(self._members(channel.workspace, group) for group in groups))
        return replace(found, groups=tuple(group for group, ids in zip(groups, members, strict=True) if person in ids))

    async def group_name(self, workspace: str, group: str) -> str:
        """The handle of a group; raise NotAllowed if it is gone, or if the app may not see groups."""
        try:
            answer: Any = await self.calls.ask(workspace, lambda client: client.usergroups_list(), place="usergroups")
        except SurfaceError as fault:
            raise NotAllowed(f"name a group here: Slack did not tell which groups there are. {fault}") from fault
        for each in answer["usergroups"]:
            if each["id"] == group and not each.get("date_delete"):
                return f"@{short_name(str(each.get('handle') or each.get('name') or group))}"
        raise NotAllowed("name this group: it was deleted or disabled in Slack.")

    async def _members(self, workspace: str, group: str) -> frozenset[str]:
        """The ids of the people in a group; none if it is gone, and for a minute after Slack did not tell."""
        found: frozenset[str] | None = self.members.get((workspace, group))
        if found is not None:
            return found
        try:
            async with asyncio.timeout(LOOKUP_TIMEOUT_SECONDS):
                answer: Any = await self.calls.ask(
                    workspace, lambda client: client.usergroups_users_list(usergroup=group), place="usergroups"
                )
        except (SurfaceError, TimeoutError):
            answer = {"users": ()}
        found = self.members[workspace, group] = frozenset(map(str, answer["users"]))
        return found

    async def _person(self, channel: ChannelScope, person: str) -> Actor:
        if found := self.known.get((channel.workspace, person)):
            age = self.clock.now() - found.at
            if REFRESH_AFTER <= age < CACHE_TTL:
                self.soon(self._fetch(channel.workspace, person))
            if age < CACHE_TTL:
                return found.actor
        try:
            async with asyncio.timeout(LOOKUP_TIMEOUT_SECONDS):
                return await self._fetch(channel.workspace, person)
        except (SurfaceError, TimeoutError) as fault:
            if isinstance(fault, SlackRefused) and fault.error in UNKNOWN_PERSON:
                raise NotFound("person", person) from fault
            raise NotAllowed("do this yet: Slack did not confirm who you are. Try again in a moment.") from fault

    async def channels_of(self, workspace: str, person: str) -> frozenset[str]:
        """The ids of the channels that both the person and Signoff are members of, as Slack knows them now.

        Raise NotAllowed if Slack does not tell, for example because the app was installed without the permission.
        """
        try:
            return await self._ask_channels_of(workspace, person)
        except SurfaceError as fault:
            raise NotAllowed(f"do this here: Slack did not tell which channels you are in. {fault}") from fault

    async def _ask_channels_of(self, workspace: str, person: str) -> frozenset[str]:
        found: set[str] = set()
        pages = self.calls.pages(
            workspace,
            lambda client, cursor: client.users_conversations(
                user=person, types="public_channel,private_channel", exclude_archived=True, limit=PAGE, cursor=cursor
            ),
            MOST_PAGES,
            place=f"users.conversations/{person}",
        )
        async for page in pages:
            found.update(str(channel["id"]) for channel in page["channels"])
        return frozenset(found)

    async def require_in_channel(self, channel: ChannelScope, person: str) -> None:
        """Raise NotAllowed unless the person is a member of the channel now, SurfaceBusy while Slack does not tell.

        Slack is asked, for at most two seconds.
        """
        if channel.channel.startswith("D"):
            return  # a direct message with Signoff, which nobody else can be in
        try:
            async with asyncio.timeout(LOOKUP_TIMEOUT_SECONDS):
                channels = await self._ask_channels_of(channel.workspace, person)
        except (SurfaceBusy, TimeoutError) as fault:
            raise SurfaceBusy("Slack did not confirm that you are in the agent's channel. Try again soon.") from fault
        except SurfaceError as fault:
            raise NotAllowed(f"do this here: Slack did not tell which channels you are in. {fault}") from fault
        if channel.channel not in channels:
            raise NotAllowed("do this here: you are no member of the agent's channel.")

    def find_person(self, workspace: str, name: str) -> str:
        """The id of the known person with this id, or of the one whose display name, or its first word, is `name`.

        In any case; "" for none or several.
        """
        if (workspace, name) in self.known:
            return name
        found = {
            person
            for (place, person), each in self.known.items()
            if place == workspace
            and name.casefold() in (each.actor.display.casefold(), short_name(each.actor.display).casefold())
        }
        return found.pop() if len(found) == 1 else ""

    def names_somebody(self, workspace: str, name: str) -> bool:
        """Whether a known person of the workspace is called so, by any of their names."""
        people = [each for (place, _), each in self.known.items() if place == workspace and each.actor.kind != "bot"]
        return is_name_of((called for each in people for called in each.names), name)

    def name_of(self, workspace: str, person: str) -> str:
        """The person's display name if it is cached, else their id."""
        found = self.known.get((workspace, person))
        return found.actor.display if found else person

    def learn(self, workspace: str, user: User) -> Actor:
        """Store a user object of Slack in the cache."""
        actor = actor_of(workspace, user)
        self.known[workspace, actor.id] = Known(actor, names_of(user), self.clock.now())
        return actor

    def learn_change(self, workspace: str, user: User) -> None:
        """Store a user object that Slack sent because it changed; the other processes forget what they know."""
        actor = self.learn(workspace, user)
        self.broadcast.publish("person", f"{workspace}/{actor.id}")

    async def warm(self, workspace: str) -> None:
        """Fill the cache with the workspace's members, as far as Slack permits."""
        pages = self.calls.pages(
            workspace,
            lambda client, cursor: client.users_list(limit=PAGE, cursor=cursor),
            MOST_PAGES,
            place="users.list",
        )
        async for page in pages:
            for user in page["members"]:
                self.learn(workspace, user)

    def _forget(self, key: str) -> None:
        workspace, _, person = key.rpartition("/")
        self.known.pop((workspace, person), None)

    async def _fetch(self, workspace: str, person: str) -> Actor:
        answer = await self.calls.ask(workspace, lambda client: client.users_info(user=person), place="users.info")
        user: User = answer["user"]
        return self.learn(workspace, user)


def actor_of(workspace: str, user: User) -> Actor:
    """The Actor for a user object: external if neither the user's workspace nor organisation has the id `workspace`."""
    return Actor(
        id=user["id"], display=names_of(user)[0], kind=_kind(workspace, user), workspace=str(user.get("team_id") or "")
    )


def names_of(user: User) -> tuple[str, ...]:
    """The names of a user object, first the one to show; the id if there is none."""
    profile: Mapping[str, Any] = user.get("profile") or {}
    names = (profile.get("display_name"), profile.get("real_name"), user.get("real_name"), user.get("name"))
    return tuple(str(name) for name in names if name) or (str(user["id"]),)


def _kind(workspace: str, user: User) -> ActorKind:
    if user.get("is_bot") or user.get("is_workflow_bot") or user["id"] == "USLACKBOT":
        return "bot"
    homes = {user.get("team_id"), (user.get("enterprise_user") or {}).get("enterprise_id")}
    if user.get("is_stranger") or user.get("deleted") or workspace not in homes:
        return "external"
    return "guest" if user.get("is_restricted") or user.get("is_ultra_restricted") else "member"
