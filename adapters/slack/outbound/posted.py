"""Finds Slack messages already posted, by metadata, so that nothing is posted twice after a crash."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from adapters.slack.api.client import SlackApi
from adapters.slack.outbound.message import Metadata
from agent_core.model.origin import ThreadRef

PAGE_SIZE, MAX_PAGES = 200, 25
MAX_CLOCK_SKEW = timedelta(minutes=2)


async def find_posted(calls: SlackApi, thread: ThreadRef, metadata: Metadata, since: datetime) -> str:
    """The `ts` of Signoff's message with this metadata in the thread, or ""; raise ThreadGone if the thread is gone.

    An empty thread means the channel's own messages. Slack shows metadata only to the app that wrote it.
    """
    oldest = f"{(since - MAX_CLOCK_SKEW).timestamp():.6f}"
    asked: dict[str, Any] = {"oldest": oldest, "limit": PAGE_SIZE, "include_all_metadata": True}
    where = thread.channel.channel
    pages = calls.pages(
        thread.channel.workspace,
        lambda client, cursor: (
            client.conversations_replies(channel=where, ts=thread.thread, cursor=cursor, **asked)
            if thread.thread
            else client.conversations_history(channel=where, cursor=cursor, **asked)
        ),
        MAX_PAGES,
        place=where,
    )
    async for page in pages:
        for message in page.get("messages") or ():
            if _is_it(message, metadata):
                return str(message["ts"])
    return ""


def _is_it(message: Mapping[str, Any], metadata: Metadata) -> bool:
    found = message.get("metadata") or {}
    kind, payload = found.get("event_type"), found.get("event_payload")
    return bool((kind, payload) == (metadata["event_type"], metadata["event_payload"]))
