"""files.*: uploads in three steps, and downloads for those who show the token."""

from aiohttp import web

from tests.standins.slack.content import bot_fields
from tests.standins.slack.methods_chat import Method
from tests.standins.slack.state import Slack
from tests.standins.slack.teams import Team
from tests.standins.slack.uploads import describe
from tests.standins.slack.values import Arguments, Json, Refused, decoded


def get_upload_url(team: Team, given: Arguments) -> Json:
    """files.getUploadURLExternal."""
    slack = team.slack
    if given.number("length", 0) < 1:
        raise Refused("invalid_arguments", "[ERROR] must be greater than 0 [json-pointer:/length]")
    file_id = slack.new_id("F")
    described = describe(slack, file_id, given.needs("filename"), team.bot_user)
    slack.files[file_id] = {**described, "size": given.number("length", 0), "team": team.id, "is_pending": True}
    return {"ok": True, "file_id": file_id, "upload_url": f"{slack.base_url}/upload/v1/{file_id}"}


async def upload(slack: Slack, request: web.Request) -> web.Response:
    """POST to the upload URL: the bytes, as they are or as a form."""
    file_id = request.match_info["file_id"]
    if not slack.files.get(file_id, {}).get("is_pending"):
        return web.Response(status=404, text="not found")
    body = await _uploaded(request)
    if len(body) != slack.files[file_id]["size"]:
        return web.Response(status=400, text="the length is another one")
    slack.contents[file_id] = body
    slack.changed()
    return web.Response(text=f"OK - {len(body)}")


def complete_upload(team: Team, given: Arguments) -> Json:
    """files.completeUploadExternal: shares the files in one message when a channel is named."""
    listed = decoded(given.values.get("files"))
    if not isinstance(listed, list) or not listed:
        raise Refused("invalid_arguments", "[ERROR] missing required field: files")
    channel = team.writable(given.text("channel_id")) if "channel_id" in given else None
    if channel and "thread_ts" in given and channel.message(given.text("thread_ts")) is None:
        raise Refused("thread_not_found")
    done = [_completed(team, each) for each in listed]
    if channel:
        fields = {**bot_fields(team), "text": given.text("initial_comment"), "files": done, "subtype": "file_share"}
        if "thread_ts" in given:
            fields["thread_ts"] = given.text("thread_ts")
        message = channel.add({**fields, "upload": True})
        team.slack.courier.in_background(team.slack.courier.echoes(channel, message))
    return {"ok": True, "files": done}


def file_info(team: Team, given: Arguments) -> Json:
    """files.info."""
    file = team.slack.files.get(given.needs("file"))
    if file is None or file.get("is_pending"):
        raise Refused("file_not_found")
    return {"ok": True, "file": file}


async def download(slack: Slack, request: web.Request) -> web.Response:
    """GET of `url_private` and `url_private_download`; without the token there is a page to sign in."""
    token = request.headers.get("Authorization", "").removeprefix("Bearer ")
    known = slack.tokens.get(token)
    if known is None or known.state != "live":
        return web.Response(text="<html><title>Sign in</title></html>", content_type="text/html")
    file_id = request.match_info["file_id"]
    if file_id not in slack.contents:
        return web.Response(status=404)
    return web.Response(body=slack.contents[file_id], content_type=slack.files[file_id]["mimetype"])


def _completed(team: Team, listed: Json) -> Json:
    file = team.slack.files.get(listed.get("id", ""))
    if file is None or not file.get("is_pending") or file["id"] not in team.slack.contents:
        raise Refused("file_not_found")
    done = {key: value for key, value in file.items() if key != "is_pending"}
    done["title"] = listed.get("title", file["name"])
    team.slack.files[file["id"]] = done
    return done


async def _uploaded(request: web.Request) -> bytes:
    if not request.content_type.startswith("multipart/"):
        return await request.read()
    for field in (await request.post()).values():
        if isinstance(field, web.FileField):
            return field.file.read()
    return b""


METHODS: dict[str, Method] = {
    "files.getUploadURLExternal": get_upload_url,
    "files.completeUploadExternal": complete_upload,
    "files.info": file_info,
}
