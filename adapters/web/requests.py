"""What a request says: channel and agent, the fields of its form and the files with it; and where its answer leads."""

from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, quote

from aiohttp import web

from adapters.forms import Form
from adapters.http_body import read_body, receive_within
from adapters.ui_text import media_type
from agent_core.errors import InvalidInput
from agent_core.model.channels import ChannelScope
from agent_core.model.ids import AgentId

CHANNEL = "/c/{surface}/{workspace}/{channel}"
AGENT = CHANNEL + "/a/{agent}"
MAX_ENTRY_BYTES, MAX_ENTRY_FIELDS = 16_384, 10
SENT = web.RequestKey("sent", dict[str, Any])


@dataclass(frozen=True, slots=True)
class FormFile:
    """A file that came with a form."""

    name: str
    data: bytes

    @property
    def text(self) -> str:
        """What it says; raise InvalidInput where it is not UTF-8 text."""
        try:
            text = self.data.decode("utf-8-sig")
        except UnicodeDecodeError:
            text = "\x00"
        if "\x00" in text:
            raise InvalidInput({"file": f"{self.name} is not UTF-8 text, so it was not read. Save it as UTF-8."})
        return text


def channel_of(request: web.Request) -> ChannelScope:
    """The channel in the address; an unknown surface is not found."""
    parts = request.match_info
    try:
        return ChannelScope.parse(ChannelScope(parts["surface"], parts["workspace"], parts["channel"]).key)  # type: ignore[arg-type]
    except ValueError as unknown:
        raise web.HTTPNotFound(text="There is no such channel.\n") from unknown


def agent_id_of(request: web.Request) -> AgentId:
    """The agent in the address."""
    return AgentId(request.match_info["agent"])


def is_own(channel: ChannelScope) -> bool:
    """Whether this page decides there: a name anyone can type is nobody's account on another surface."""
    return channel.surface == "web"


async def form_of(request: web.Request) -> Form:
    """The fields of the form that was sent; raise InvalidInput when it is too large to be read."""
    sent = await _read_sent(request)
    return {name: value for name, value in sent.items() if isinstance(value, str)}


async def entry_form_of(request: web.Request) -> Form:
    """The fields of the form that everybody may send, the one for the token: it is short."""
    body = await read_body(request, MAX_ENTRY_BYTES)
    try:
        return dict(parse_qsl(body.decode(errors="replace"), keep_blank_values=True, max_num_fields=MAX_ENTRY_FIELDS))
    except ValueError as broken:
        raise InvalidInput({"token": "The form could not be read."}) from broken


async def upload_of(request: web.Request, field: str) -> FormFile | None:
    """The file in a field of the form, or None where none was chosen."""
    file = (await _read_sent(request)).get(field)
    if not isinstance(file, web.FileField):
        return None
    return FormFile(file.filename.replace("\\", "/").rpartition("/")[2], file.file.read())


def read_form(request: web.Request) -> Form:
    """The fields that were read before something went wrong."""
    return {name: value for name, value in request.get(SENT, {}).items() if isinstance(value, str)}


def see_other(path: str) -> web.Response:
    """Lead to another page."""
    return web.Response(status=303, headers={"Location": path})


def one_up(request: web.Request) -> web.Response:
    """Lead to what the address is part of."""
    return see_other(request.rel_url.raw_path.rpartition("/")[0])


def download(data: bytes, name: str) -> web.Response:
    """A file to keep; a browser never shows it as a page, but may show pictures and play sounds of it on ours."""
    return web.Response(
        body=data,
        content_type=media_type(name) or "application/octet-stream",
        headers={
            "Content-Disposition": f"attachment; filename*=UTF-8''{quote(name)}",
            "Content-Security-Policy": "default-src 'none'; sandbox",
            "Cache-Control": "no-store",
        },
    )


async def _read_sent(request: web.Request) -> dict[str, Any]:
    if SENT not in request:
        request[SENT] = {}
        try:
            async with receive_within(request):
                request[SENT] = dict(await request.post())
        except web.HTTPRequestEntityTooLarge as large:
            most = request.client_max_size // 2**20
            raise InvalidInput({"file": f"What you sent is larger than {most} MB, so nothing was saved."}) from large
        except (ValueError, LookupError) as broken:  # LookupError: of a character set that there is not
            raise InvalidInput({"file": "The form could not be read, so nothing was saved."}) from broken
    return request[SENT]
