"""What a message says: text, blocks and metadata, refused where Slack would refuse them."""

from typing import TYPE_CHECKING

from tests.standins.slack.blockkit import MOST_MARKDOWN, MOST_TEXT, check_message, check_metadata, with_ids
from tests.standins.slack.mentions import mentions
from tests.standins.slack.state import Slack
from tests.standins.slack.values import Arguments, Json, Mention, Refused, decoded, length

if TYPE_CHECKING:
    from tests.standins.slack.teams import Channel, Team


def content(slack: Slack, where: str, given: Arguments) -> Json:
    """The fields of a message that the app wrote."""
    shown: Json = {"text": _text(given)}
    blocks = decoded(given.values.get("blocks"))
    if blocks is not None:
        if isinstance(blocks, str):
            raise Refused("invalid_blocks_format")
        check_message(blocks)
        shown["blocks"] = with_ids(blocks, slack.new_id("b"))
    if blocks and not shown["text"].strip():
        slack.warnings.append(f"{where}: there are blocks without a top-level text")
    if not blocks and not shown["text"] and "attachments" not in given:
        raise Refused("no_text")
    if "attachments" in given:
        shown["attachments"] = decoded(given.values["attachments"])
    if "metadata" in given:
        shown["metadata"] = decoded(given.values["metadata"])
        check_metadata(shown["metadata"])
    return shown


def bot_fields(team: "Team", given: Arguments | None = None) -> Json:
    """Who the message is from: the app, by its own name or another one, with which no user stands there."""
    if given and given.text("username"):
        assert "chat:write.customize" in team.slack.scopes, "a name without the scope"
        look = {"username": given.text("username"), "icons": {"emoji": given.text("icon_emoji")}}
        return {"subtype": "bot_message", "bot_id": team.bot_id, "app_id": team.slack.app_id, "team": team.id, **look}
    bot = {"user": team.bot_user, "bot_id": team.bot_id, "app_id": team.slack.app_id, "team": team.id}
    return {**bot, "bot_profile": {"id": team.bot_id, "app_id": team.slack.app_id, "name": "signoff"}}


def note_mentions(channel: "Channel", message: Json, given: Arguments) -> None:
    """Keep whom the message notifies."""
    linking = given.flag("link_names") or given.text("parse") == "full"
    for who in mentions(message, linking=linking):
        kind = (message.get("metadata") or {}).get("event_type", "")
        channel.team.slack.notified.append(Mention(channel.id, message["ts"], who, kind))


def _text(given: Arguments) -> str:
    if "markdown_text" in given:
        if "text" in given or "blocks" in given:
            raise Refused("markdown_text_conflict")
        if length(given.text("markdown_text")) > MOST_MARKDOWN:
            raise Refused("msg_too_long")
        return given.text("markdown_text")
    if length(given.text("text")) > MOST_TEXT:
        raise Refused("msg_too_long")
    return given.text("text")
