"""chat.*, reactions.* and agents.sessions.*: what the app writes."""

from collections.abc import Callable
from typing import TypeAlias

from tests.standins.slack.content import bot_fields, content, note_mentions
from tests.standins.slack.responses import show_ephemeral
from tests.standins.slack.teams import Channel, Team
from tests.standins.slack.values import Arguments, Json, Refused, Session, length

Method: TypeAlias = Callable[[Team, Arguments], Json]
STATUSES = ("active", "processing", "suspended", "closed")


def post_message(team: Team, given: Arguments) -> Json:
    """chat.postMessage."""
    channel = team.writable(given.needs("channel"))
    fields = {**bot_fields(team, given), **content(team.slack, "chat.postMessage", given)}
    if thread := given.text("thread_ts"):
        fields["thread_ts"] = _root(channel, thread)
    message = channel.add(fields)
    note_mentions(channel, message, given)
    team.slack.courier.in_background(team.slack.courier.echoes(channel, message))
    return {"ok": True, "channel": channel.id, "ts": message["ts"], "message": message}


def update(team: Team, given: Arguments) -> Json:
    """chat.update: a text without blocks takes the blocks away, blocks without a text keep the text."""
    channel = team.writable(given.needs("channel"))
    message = _own(channel, given.needs("ts"), "cant_update_message")
    changes = content(team.slack, "chat.update", given)
    if "blocks" not in changes and "text" in given:
        changes["blocks"] = []
    if not changes["text"]:
        changes["text"] = message["text"]
    changes["edited"] = {"user": team.bot_user, "ts": team.slack.ts()}
    changed = channel.change(message, changes)
    note_mentions(channel, changed, given)
    if team.slack.echo_changes:
        team.slack.courier.in_background(team.slack.courier.tells_of_change(channel, message, changed))
    return {"ok": True, "channel": channel.id, "ts": changed["ts"], "text": changed["text"], "message": changed}


def delete(team: Team, given: Arguments) -> Json:
    """chat.delete."""
    channel = team.reached(given.needs("channel"))
    message = _own(channel, given.needs("ts"), "cant_delete_message")
    channel.remove(message)
    if team.slack.echo_changes:
        team.slack.courier.in_background(team.slack.courier.tells_of_deletion(channel, message))
    return {"ok": True, "channel": channel.id, "ts": message["ts"]}


def post_ephemeral(team: Team, given: Arguments) -> Json:
    """chat.postEphemeral."""
    channel = team.writable(given.needs("channel"))
    person = team.people.get(given.needs("user"))
    if person is None or person.id not in channel.members:
        raise Refused("user_not_in_channel")
    shown = content(team.slack, "chat.postEphemeral", given)
    message = show_ephemeral(person, channel, shown, given.text("thread_ts"))
    return {"ok": True, "message_ts": message["ts"]}


def get_permalink(team: Team, given: Arguments) -> Json:
    """chat.getPermalink."""
    channel = team.reached(given.needs("channel"))
    message = channel.message(given.needs("message_ts"))
    if message is None:
        raise Refused("message_not_found")
    link = f"https://{team.domain}.slack.com/archives/{channel.id}/p{message['ts'].replace('.', '')}"
    return {"ok": True, "channel": channel.id, "permalink": link}


def add_reaction(team: Team, given: Arguments) -> Json:
    """reactions.add."""
    channel, message = _reacted(team, given)
    reactions = {each["name"]: each for each in message.get("reactions", [])}
    kept = reactions.get(given.needs("name"), {"name": given.text("name"), "users": [], "count": 0})
    if team.bot_user in kept["users"]:
        raise Refused("already_reacted")
    users = [*kept["users"], team.bot_user]
    reactions[kept["name"]] = {**kept, "users": users, "count": len(users)}
    channel.change(message, {"reactions": list(reactions.values())})
    return {"ok": True}


def remove_reaction(team: Team, given: Arguments) -> Json:
    """reactions.remove."""
    channel, message = _reacted(team, given)
    left = [each for each in message.get("reactions", []) if each["name"] != given.needs("name")]
    if len(left) == len(message.get("reactions", [])):
        raise Refused("no_reaction")
    channel.change(message, {"reactions": left})
    return {"ok": True}


def set_session_status(team: Team, given: Arguments) -> Json:
    """agents.sessions.setStatus: the title counts only when the session is new."""
    channel = team.writable(given.needs("channel_id"))
    thread, status, title = given.needs("thread_ts"), given.needs("status"), given.text("title")
    if status not in STATUSES:
        raise Refused("invalid_arguments", f"[ERROR] must be one of: {', '.join(STATUSES)} [json-pointer:/status]")
    if length(title) > 200:
        raise Refused("invalid_arguments", "[ERROR] must be less than 201 characters [json-pointer:/title]")
    if channel.message(thread) is None:
        raise Refused("thread_not_found")
    before = team.slack.sessions.get((channel.id, thread))
    session = Session(status, before.title if before else title)
    team.slack.sessions[channel.id, thread] = session
    answer: Json = {"ok": True, "status": session.status, "agent_status": session.status, "title": session.title}
    if "agent_session_stopped" not in team.slack.events:
        answer["warning"] = "missing_agent_session_stopped_event_subscription"
    return answer


def rename_session(team: Team, given: Arguments) -> Json:
    """agents.sessions.rename."""
    key = (given.needs("channel_id"), given.needs("thread_ts"))
    if key not in team.slack.sessions:
        raise Refused("session_not_found")
    team.slack.sessions[key] = Session(team.slack.sessions[key].status, given.needs("title"))
    return {"ok": True, "title": given.text("title")}


def _root(channel: Channel, thread: str) -> str:
    root = channel.message(thread)
    if root is None:
        raise Refused("thread_not_found")
    if root.get("thread_ts", thread) != thread:
        channel.team.slack.warnings.append(f"chat.postMessage: {thread} is a reply and no root")
    return thread


def _own(channel: Channel, ts: str, error: str) -> Json:
    message = channel.message(ts)
    if message is None:
        raise Refused("message_not_found")
    if message.get("bot_id") != channel.team.bot_id:
        raise Refused(error)
    return message


def _reacted(team: Team, given: Arguments) -> tuple[Channel, Json]:
    channel = team.writable(given.needs("channel"))
    message = channel.message(given.needs("timestamp"))
    if message is None:
        raise Refused("message_not_found")
    return channel, message


METHODS: dict[str, Method] = {
    "chat.postMessage": post_message,
    "chat.update": update,
    "chat.delete": delete,
    "chat.postEphemeral": post_ephemeral,
    "chat.getPermalink": get_permalink,
    "reactions.add": add_reaction,
    "reactions.remove": remove_reaction,
    "agents.sessions.setStatus": set_session_status,
    "agents.sessions.rename": rename_session,
}
