"""Reads person, channel and delivery id from each kind of Slack's payloads, never from a button's value."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

Body: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class SlackEvent:
    """The person and channel of a payload.

    `delivery`: identifies the payload; unchanged if Slack sends the payload again.
    `thread`: "" outside of threads.
    `trigger`: Slack's id with which one form can be opened within three seconds.
    `response_url`: for answers that only the person sees; works even in channels that Signoff is not in.
    """

    workspace: str
    channel: str
    person: str
    delivery: str
    thread: str = ""
    trigger: str = ""
    response_url: str = ""


def workspaces_in(body: Body) -> Iterator[str]:
    """The workspaces whose installation may receive the payload, the most likely first.

    In a channel shared between organisations, the person's team may differ from the team that installed Signoff.
    """
    for authorization in body.get("authorizations") or ():
        yield from _named(authorization, "team_id", "enterprise_id")
    yield from _named(body.get("message") or {}, "team")
    yield from _named(body.get("view") or {}, "app_installed_team_id", "team_id")
    yield from _named(body, "team_id", "enterprise_id")
    for place in ("team", "enterprise"):
        if isinstance(body.get(place), Mapping):
            yield from _named(body[place], "id", "enterprise_id")


def of_press(body: Body, workspace: str) -> SlackEvent:
    """A click, a choice in a menu, or a text from a reply box; `channel` is "" in a view or on the Home tab."""
    container, action = body.get("container") or {}, body["actions"][0]
    channel = container.get("channel_id") or (body.get("channel") or {}).get("id") or ""
    message = body.get("message") or {}
    return SlackEvent(
        workspace=workspace,
        channel=channel,
        person=body["user"]["id"],
        delivery=f"slack/{workspace}/press/{body['user']['id']}/{action.get('action_ts') or body.get('trigger_id')}",
        thread=container.get("thread_ts") or message.get("thread_ts") or "",
        trigger=body.get("trigger_id") or "",
        response_url=body.get("response_url") or "",
    )


def of_submission(body: Body, workspace: str, channel: str, thread: str = "") -> SlackEvent:
    """A submitted form. Its channel was stored in the form when it was opened."""
    return SlackEvent(
        workspace=workspace,
        channel=channel,
        person=body["user"]["id"],
        delivery=f"slack/{workspace}/form/{body['view']['id']}",
        thread=thread,
        trigger=body.get("trigger_id") or "",
    )


def of_command(body: Body, workspace: str) -> SlackEvent:
    return SlackEvent(
        workspace=workspace,
        channel=body["channel_id"],
        person=body["user_id"],
        delivery=f"slack/{workspace}/command/{body['trigger_id']}",
        trigger=body["trigger_id"],
        response_url=body.get("response_url") or "",
    )


def of_message(payload: Body, workspace: str) -> SlackEvent:
    """A message. Slack sends a mention as `message` and as `app_mention`; both have the same delivery id."""
    return SlackEvent(
        workspace=workspace,
        channel=payload["channel"],
        person=payload.get("user") or "",
        delivery=f"slack/{workspace}/{payload['channel']}/{payload['ts']}",
        thread=payload.get("thread_ts") or "",
    )


def of_event(body: Body, workspace: str) -> SlackEvent:
    """An event other than a message."""
    payload = body["event"]
    return SlackEvent(
        workspace=workspace,
        channel=payload.get("channel") or "",
        person=payload.get("user") or "",
        delivery=f"slack/{workspace}/event/{body['event_id']}",
        thread=payload.get("thread_ts") or "",
    )


def with_thread(event: SlackEvent, ts: str) -> SlackEvent:
    """The event with a thread: its own, or for a message outside of threads the thread that begins at `ts`."""
    return event if event.thread else replace(event, thread=ts)


def is_from_person(payload: Body) -> bool:
    """Whether a person wrote the message: not a bot, an edit or a join/leave notice."""
    is_writing = payload.get("subtype") in (None, "file_share", "thread_broadcast", "me_message")
    return is_writing and bool(payload.get("user")) and not payload.get("bot_id") and not payload.get("hidden")


def _named(place: Body, *names: str) -> Iterator[str]:
    for name in names:
        if isinstance(place.get(name), str) and place[name]:
            yield place[name]
