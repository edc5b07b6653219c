"""conversations.*, users.*, usergroups.* and auth.*: what the app looks up, page by page."""

from collections.abc import Sequence
from typing import Any

from tests.standins.slack.methods_chat import Method
from tests.standins.slack.people import Person
from tests.standins.slack.teams import Channel, Team
from tests.standins.slack.values import Arguments, Json, Refused


def history(team: Team, given: Arguments) -> Json:
    """conversations.history: roots and broadcast replies, newest first."""
    channel = _readable(team, given)
    roots = [each for each in channel.messages if each.get("thread_ts", each["ts"]) == each["ts"]]
    found = [each for each in roots if _is_between(each["ts"], given)]
    return _page("messages", [_read(each, given) for each in reversed(found)], given, default=100)


def replies(team: Team, given: Arguments) -> Json:
    """conversations.replies: the root is always there, then what lies between, oldest first."""
    channel = _readable(team, given)
    ts = given.needs("ts")
    message = channel.message(ts)
    if message is None:
        raise Refused("thread_not_found")
    root = message.get("thread_ts", ts)
    found = [each for each in channel.thread(root) if each["ts"] == root or _is_between(each["ts"], given)]
    return _page("messages", [_read(each, given) for each in found], given, default=1000)


def info(team: Team, given: Arguments) -> Json:
    """conversations.info."""
    return {"ok": True, "channel": team.reached(given.needs("channel")).described()}


def members(team: Team, given: Arguments) -> Json:
    """conversations.members."""
    return _page("members", team.reached(given.needs("channel")).members, given, default=100)


def list_channels(team: Team, given: Arguments) -> Json:
    """conversations.list and users.conversations; the latter only those that the named user is a member of."""
    seen = [channel for channel in team.channels.values() if channel.bot_is_member or not channel.is_private]
    if user := given.text("user"):
        seen = [channel for channel in seen if user in channel.members and not channel.person]
    return _page("channels", [channel.described() for channel in seen], given, default=100)


def open_direct(team: Team, given: Arguments) -> Json:
    """conversations.open, for one person."""
    person = team.people.get(given.needs("users"))
    if person is None:
        raise Refused("user_not_found")
    return {"ok": True, "channel": {"id": team.direct(person).id}}


def join(team: Team, given: Arguments) -> Json:
    """conversations.join."""
    channel = team.reached(given.needs("channel"))
    channel.bot_is_member = True
    return {"ok": True, "channel": channel.described()}


def user_info(team: Team, given: Arguments) -> Json:
    """users.info."""
    user = given.needs("user")
    if user == team.bot_user:
        return {"ok": True, "user": _bot(team)}
    if user not in team.people:
        raise Refused("user_not_found")
    return {"ok": True, "user": team.people[user].described()}


def list_users(team: Team, given: Arguments) -> Json:
    """users.list: people of the workspace itself, and the app."""
    people = [person.described() for person in team.people.values() if person.kind != "external"]
    return _page("members", [*people, _bot(team)], given, default=1000)


def list_groups(team: Team, given: Arguments) -> Json:
    """usergroups.list."""
    hidden = () if given.flag("include_users") else ("users",)
    groups = [{key: value for key, value in group.items() if key not in hidden} for group in team.groups.values()]
    return {"ok": True, "usergroups": groups}


def list_group(team: Team, given: Arguments) -> Json:
    """usergroups.users.list."""
    group = team.groups.get(given.needs("usergroup"))
    if group is None:
        raise Refused("no_such_subteam")
    return {"ok": True, "users": group["users"]}


def test_token(team: Team, given: Arguments) -> Json:
    """auth.test."""
    return {
        "ok": True,
        "url": f"https://{team.domain}.slack.com/",
        "team": team.name,
        "user": "signoff",
        "team_id": team.id,
        "user_id": team.bot_user,
        "bot_id": team.bot_id,
        "is_enterprise_install": False,
    }


def revoke_token(team: Team, given: Arguments) -> Json:
    """auth.revoke."""
    team.revoke()
    return {"ok": True, "revoked": True}


def bot_info(team: Team, given: Arguments) -> Json:
    """bots.info."""
    bot = {"id": team.bot_id, "app_id": team.slack.app_id, "user_id": team.bot_user, "name": "signoff"}
    return {"ok": True, "bot": {**bot, "deleted": False}}


def _bot(team: Team) -> Json:
    app = Person(team=team, id=team.bot_user, name="signoff", kind="bot").described()
    return {**app, "is_app_user": False, "profile": {**app["profile"], "api_app_id": team.slack.app_id}}


def _readable(team: Team, given: Arguments) -> Channel:
    channel = team.reached(given.needs("channel"))
    if not channel.bot_is_member:
        raise Refused("not_in_channel")
    return channel


def _is_between(ts: str, given: Arguments) -> bool:
    at, oldest, latest = _seconds(ts), given.text("oldest"), given.text("latest")
    if given.flag("inclusive") and ts in (oldest, latest):
        return True
    return (not oldest or at > _seconds(oldest)) and (not latest or at < _seconds(latest))


def _seconds(ts: str) -> tuple[int, int]:
    whole, _, part = ts.partition(".")
    return int(whole), int(part.ljust(6, "0"))


def _read(message: Json, given: Arguments) -> Json:
    if given.flag("include_all_metadata"):
        return message
    return {key: value for key, value in message.items() if key != "metadata"}


def _page(name: str, found: Sequence[Any], given: Arguments, *, default: int) -> Json:
    limit = given.number("limit", default) or default
    cursor = given.text("cursor")
    if cursor and not cursor.removeprefix("next:").isdigit():
        raise Refused("invalid_cursor")
    start = int(cursor.removeprefix("next:") or 0)
    is_more = start + limit < len(found)
    following = f"next:{start + limit}" if is_more else ""
    page: Json = {"ok": True, name: list(found[start : start + limit])}
    return {**page, "has_more": is_more, "response_metadata": {"next_cursor": following}}


METHODS: dict[str, Method] = {
    "conversations.history": history,
    "conversations.replies": replies,
    "conversations.info": info,
    "conversations.members": members,
    "conversations.list": list_channels,
    "users.conversations": list_channels,
    "conversations.open": open_direct,
    "conversations.join": join,
    "users.info": user_info,
    "users.list": list_users,
    "usergroups.list": list_groups,
    "usergroups.users.list": list_group,
    "auth.test": test_token,
    "auth.revoke": revoke_token,
    "bots.info": bot_info,
}
