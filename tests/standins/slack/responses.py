"""Response URLs: five uses in thirty minutes, for what one person sees or for the message that was clicked."""

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from aiohttp import web

from tests.standins.slack.content import bot_fields, content, note_mentions
from tests.standins.slack.state import Slack
from tests.standins.slack.values import Answer, Arguments, Json, Refused

if TYPE_CHECKING:
    from tests.standins.slack.people import Person
    from tests.standins.slack.teams import Channel

MOST_USES = 5
LIFETIME = 30 * 60


@dataclass(slots=True)
class ResponseUrl:
    """Where the app may answer one interaction."""

    person: "Person"
    channel: "Channel"
    original: Json | None
    born: float
    uses: int = 0


def issue(
    person: "Person", channel: "Channel", *, kind: Literal["commands", "actions"], original: Json | None = None
) -> str:
    """A new URL."""
    slack = person.team.slack
    key = slack.new_id("response-")
    slack.response_urls[key] = ResponseUrl(person, channel, original, time.monotonic())
    return f"{slack.base_url}/{kind}/{person.team.id}/{key}"


def find(person: "Person", message: Json) -> tuple["Channel", Json]:
    """Where the message is, and how it stands now."""
    ts = message["ts"]
    for kept in person.ephemerals:
        if kept["ts"] == ts:
            return person.team.channels[kept["channel"]], kept
    for channel in person.team.channels.values():
        if found := channel.message(ts):
            return channel, found
    raise AssertionError("the message is no longer there")


def show_answer(person: "Person", channel: "Channel", answer: Answer) -> None:
    """Show what the app answered to a slash command; what Slack could not show is kept as a warning."""
    body = {"text": answer.body} if isinstance(answer.body, str) else answer.body
    if not answer.is_acknowledged or not body or body == {"text": ""}:
        return
    try:
        _say(ResponseUrl(person, channel, None, 0), Arguments(body))
    except Refused as refusal:
        person.team.slack.warnings.append(f"answer to a slash command: {refusal.error} {refusal.messages}")


def show_ephemeral(person: "Person", channel: "Channel", shown: Json, thread: str = "") -> Json:
    """A message that one person sees."""
    slack = person.team.slack
    fields = {**bot_fields(channel.team), **shown, "ts": slack.ts(), "channel": channel.id, "is_ephemeral": True}
    message: Json = {"type": "message", **fields}
    if thread:
        message["thread_ts"] = thread
    person.ephemerals.append(message)
    slack.changed()
    return message


async def respond(slack: Slack, request: web.Request) -> web.Response:
    """POST to a response URL."""
    url = slack.response_urls.get(request.match_info["key"])
    try:
        _check(url)
        assert url
        url.uses += 1
        _answer(url, Arguments(await request.json()))
    except Refused as refusal:
        return web.json_response(refusal.body, status=404 if refusal.error.endswith("_url") else 400)
    return web.json_response({"ok": True})


def _check(url: ResponseUrl | None) -> None:
    if url is None or time.monotonic() - url.born > LIFETIME:
        raise Refused("expired_url")
    if url.uses >= MOST_USES:
        raise Refused("used_url")


def _answer(url: ResponseUrl, given: Arguments) -> None:
    if url.original and given.flag("delete_original"):
        _remove(url, url.original)
    elif url.original and given.flag("replace_original"):
        _replace(url, url.original, given)
    else:
        _say(url, given)


def _say(url: ResponseUrl, given: Arguments) -> None:
    shown = content(url.person.team.slack, "response_url", given)
    thread = given.text("thread_ts")
    if given.text("response_type", "ephemeral") == "in_channel":
        message = url.channel.add(
            {**bot_fields(url.channel.team), **shown, **({"thread_ts": thread} if thread else {})}
        )
        note_mentions(url.channel, message, given)
        courier = url.channel.team.slack.courier
        courier.in_background(courier.echoes(url.channel, message))
        return
    show_ephemeral(url.person, url.channel, shown, thread)


def _remove(url: ResponseUrl, original: Json) -> None:
    channel, message = find(url.person, original)
    if message.get("is_ephemeral"):
        url.person.ephemerals.remove(message)
        url.person.team.slack.changed()
    else:
        channel.remove(message)


def _replace(url: ResponseUrl, original: Json, given: Arguments) -> None:
    channel, message = find(url.person, original)
    shown = content(url.person.team.slack, "response_url", given)
    if not message.get("is_ephemeral"):
        note_mentions(channel, channel.change(message, shown), given)
        return
    person = url.person
    person.ephemerals = [{**kept, **shown} if kept["ts"] == message["ts"] else kept for kept in person.ephemerals]
    person.team.slack.changed()
