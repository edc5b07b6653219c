"""Reads requests (channel, agent, form fields, uploads) within limits, and builds redirects and downloads."""

from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from aiohttp import web
from multidict import MultiDict, MultiMapping
from yarl import query_to_pairs

from adapters.http_body import read_body, receive_within
from adapters.screens.ui_text import media_type
from adapters.typed.form_values import FormValues
from adapters.web.identity import ADMITTED, CHECK_AGAIN, VISITOR
from agent_core.errors import DatabaseAway, InvalidInput, NotPossible
from agent_core.model.ids import AgentId
from agent_core.model.origin import ChannelScope

CHANNEL = "/c/{surface}/{workspace}/{channel}"
AGENT = CHANNEL + "/a/{agent}"
MAX_ENTRY_BYTES, MAX_ENTRY_FIELDS = 16_384, 10
MAX_FORM_FRAME_BYTES = 65_536  # the other fields of a form, and the boundaries between them
FORM_FIELDS = web.RequestKey("sent", MultiMapping[Any])
MAX_TURN_DIGITS = 9  # of a turn number in the address
NO_FIELDS: MultiMapping[Any] = MultiDict()


@dataclass(frozen=True, slots=True)
class SentFile:
    """One of several uploaded files, on the disk until it is read."""

    name: str
    field: web.FileField

    def read(self) -> bytes:
        return self.field.file.read()


@dataclass(frozen=True, slots=True)
class FormFile:
    """An uploaded file."""

    name: str
    data: bytes

    @property
    def text(self) -> str:
        """The decoded text; raise InvalidInput if it is not UTF-8 text."""
        try:
            text = self.data.decode("utf-8-sig")
        except UnicodeDecodeError:
            text = "\x00"
        if "\x00" in text:
            raise InvalidInput({"file": f"{self.name} is not UTF-8 text, so it was not read. Save it as UTF-8."})
        return text


def turn_before(request: web.Request) -> int | None:
    """The turn number in `?before=`; None if there is none, or a text that is no turn number."""
    given = request.query.get("before", "")
    return int(given) if given.isascii() and given.isdigit() and len(given) <= MAX_TURN_DIGITS else None


def channel_of(request: web.Request) -> ChannelScope:
    """The channel in the URL; raise HTTPNotFound for an unknown surface."""
    parts = request.match_info
    try:
        return ChannelScope.parse(ChannelScope(parts["surface"], parts["workspace"], parts["channel"]).key)  # type: ignore[arg-type]
    except ValueError as unknown:
        raise web.HTTPNotFound from unknown


def agent_id_of(request: web.Request) -> AgentId:
    return AgentId(request.match_info["agent"])


def is_own(channel: ChannelScope) -> bool:
    """Whether people may decide here: in the local workspace's channels only, because names here need no password."""
    return channel.surface == "web"


async def form_of(request: web.Request) -> FormValues:
    """The text fields of the form; raise InvalidInput if it is too large or malformed."""
    await _read_sent(request)
    return read_form(request)


async def entry_form_of(request: web.Request) -> FormValues:
    """The fields of the token form, which strangers may send: its size is limited to MAX_ENTRY_BYTES."""
    body = await read_body(request, MAX_ENTRY_BYTES)
    try:
        return dict(query_to_pairs(body.decode(errors="replace"), max_fields=MAX_ENTRY_FIELDS))
    except ValueError as broken:
        raise InvalidInput({"token": "The form could not be read."}) from broken


async def upload_of(request: web.Request, field: str, max_bytes: int = 0) -> FormFile | None:
    """The file in a field of the form, or None. Raise InvalidInput if the form is too large or malformed.

    `max_bytes`: the limit of the file, if it is higher than the application's limit of a form.
    """
    file = next(iter(await uploads_of(request, field, max_bytes)), None)
    return FormFile(file.name, file.read()) if file else None


async def uploads_of(request: web.Request, field: str, max_bytes: int = 0) -> tuple[SentFile, ...]:
    """All files in a field of the form, as `upload_of`. `max_bytes`: the limit of all of them together."""
    sent = await _read_sent(request, max_bytes + MAX_FORM_FRAME_BYTES if max_bytes else 0)
    files = (file for file in sent.getall(field, ()) if isinstance(file, web.FileField) and file.filename)
    return tuple(SentFile(file.filename.replace("\\", "/").rpartition("/")[2], file) for file in files)


def read_form(request: web.Request) -> FormValues:
    """The text fields of the form already read from this request, to show a rejected form again.

    Empty if the form could not be read.
    """
    sent = request.get(FORM_FIELDS, NO_FIELDS)
    return {name: sent[name] for name in sent if isinstance(sent[name], str)}


def close_sent(request: web.Request) -> None:
    """Close the uploaded files, also those that nobody has read."""
    for each in request.get(FORM_FIELDS, NO_FIELDS).values():
        if isinstance(each, web.FileField):
            each.file.close()


def redirect_to(path: str) -> web.Response:
    """A redirect (303) to another page."""
    return web.Response(status=303, headers={"Location": path})


def redirect_to_parent(request: web.Request) -> web.Response:
    """A redirect to the URL without its last part."""
    return redirect_to(request.rel_url.raw_path.rpartition("/")[0])


async def redirect_from_form(request: web.Request) -> web.StreamResponse:
    """Answer a GET of an address to which a form is sent: redirect to the page that has the form."""
    return redirect_to_parent(request)


def download(data: bytes, name: str) -> web.Response:
    """A file download: a browser never opens it as a page, but our pages may embed images and audio."""
    content_type = media_type(name) or "application/octet-stream"
    return web.Response(body=data, content_type=content_type, headers=download_headers(name))


def download_headers(name: str) -> dict[str, str]:
    """The headers of a file download; the guard adds others."""
    return {
        "Content-Disposition": f"attachment; filename*=UTF-8''{quote(name, safe='')}",
        "Content-Security-Policy": "default-src 'none'; sandbox",
        "Cache-Control": "no-store",
    }


async def _read_sent(request: web.Request, max_bytes: int = 0) -> MultiMapping[Any]:
    if FORM_FIELDS not in request:
        request[FORM_FIELDS] = NO_FIELDS
        try:
            async with receive_within(request):
                request[FORM_FIELDS] = await _post_within(request, max_bytes or request.client_max_size)
        except web.HTTPRequestEntityTooLarge as large:
            await check_again(request)
            most = (max_bytes or request.client_max_size) // 2**20
            raise InvalidInput({"file": f"What you sent is larger than {most} MB, so nothing was saved."}) from large
        except (ValueError, LookupError) as broken:  # LookupError: an unknown character set
            await check_again(request)
            raise InvalidInput({"file": "The form could not be read, so nothing was saved."}) from broken
        await check_again(request)
    return request[FORM_FIELDS]


async def check_again(request: web.Request) -> None:
    """Take the rights of this moment, after what may take half a minute: reading a form, or asking a model for it.

    Who signed out meanwhile is answered as a stranger.
    """
    if CHECK_AGAIN not in request or not (before := request[VISITOR]).has_entered:
        return
    request[VISITOR] = now = await request[CHECK_AGAIN]()
    if now.ended_by != before.ended_by:
        request[ADMITTED] = False
        raise NotPossible("Your session ended meanwhile, so nothing was done. Sign in again.")


async def is_still_admitted(request: web.Request) -> bool:
    """Whether who entered or signed in has not signed out since, nor lost the session. An outage counts as the end."""
    try:
        return not request[VISITOR].has_entered or (await request[CHECK_AGAIN]()).has_entered
    except DatabaseAway:
        return False


async def _post_within(request: web.Request, max_bytes: int) -> MultiMapping[Any]:
    """The fields of the form; raise HTTPRequestEntityTooLarge, for a stated length before anything is read."""
    if (length := request.content_length or 0) > max_bytes:
        raise web.HTTPRequestEntityTooLarge(max_bytes, length)
    return await request.clone(client_max_size=max_bytes).post()
