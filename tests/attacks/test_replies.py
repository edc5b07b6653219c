"""Attacks by services that Signoff asks: replies of 50 MB, as they are or packed into 50 kB."""

import gzip
from collections.abc import AsyncIterator, Awaitable, Callable
from types import SimpleNamespace
from typing import Any, TypeAlias

import pytest
from discord import Attachment

from adapters.discord.api.base_urls import BaseUrls
from adapters.discord.connection import SignoffClient
from adapters.discord.inbound.downloads import fetch_file
from adapters.slack.api.web_api import SlackClients, require_success
from agent_core.capabilities.media.huggingface import HuggingFace, HuggingFaceImages, HuggingFaceTranscriber
from agent_core.capabilities.media.openai_media import OpenAIImages, OpenAIMedia, OpenAITranscriber
from agent_core.capabilities.media.stable_diffusion import StableDiffusion
from agent_core.capabilities.memory.openai_embedder import OpenAIEmbedder
from agent_core.capabilities.models.endpoint_checks import find_local_servers
from agent_core.capabilities.models.openai_model import OpenAIModel
from agent_core.capabilities.posts.x_posts import XPosts
from agent_core.capabilities.web.search_engines import GoogleSearch
from agent_core.errors import CommandError, InvalidInput, ModelError, SurfaceError
from agent_core.model.model_calls import Message
from agent_core.ports.models import CallOptions
from tests.attacks.rows import attack
from tests.standins.site import HERE, Site, page, site

pytestmark = pytest.mark.slow

Ask: TypeAlias = Callable[[str], Awaitable[object]]
LONG = b'{"a": "' + bytes(50_000_000).replace(b"\0", b"x") + b'"}'
JSON = "application/json"
TOLD = (CommandError, ModelError, SurfaceError, InvalidInput)


async def chat(url: str) -> object:
    model = OpenAIModel(base_url=url, model="m")
    try:
        return await model.complete([Message("user", "?")], CallOptions(max_tokens=9))
    finally:
        await model.close()


async def embedding(url: str) -> object:
    embedder = OpenAIEmbedder(base_url=url, model="m")
    try:
        return await embedder.embed(["?"])
    finally:
        await embedder.close()


async def with_media(url: str, ask: Callable[[OpenAIMedia], Awaitable[object]]) -> object:
    media = OpenAIMedia(base_url=url)
    try:
        return await ask(media)
    finally:
        await media.close()


async def drawing(url: str) -> object:
    return await with_media(url, lambda media: OpenAIImages(media, "m").draw("?", "square"))


async def listening(url: str) -> object:
    return await with_media(url, lambda media: OpenAITranscriber(media, "m").transcribe("a.mp3", b"?"))


def hugging_face(url: str) -> HuggingFace:
    return HuggingFace(model="m", setting="HUGGINGFACE_IMAGE_MODEL", url=url)


async def slack(url: str) -> object:
    api = SlackClients(url)
    try:
        return await require_success(api.client("xoxb-1").auth_test())
    finally:
        await api.close()


async def discord_file(url: str) -> object:
    client = SignoffClient(BaseUrls())
    told: Any = {"id": "1", "size": 1, "filename": "a.txt", "url": url, "proxy_url": url}
    state: Any = SimpleNamespace(http=client.http)
    return await fetch_file(Attachment(data=told, state=state))


async def post_on_x(url: str) -> object:
    x = XPosts(url=url, api_key="a", api_secret="b", access_token="c", access_token_secret="d")
    return await x.post("?")


def service(name: str, ask: Ask, told: str) -> object:
    return pytest.param(ask, marks=attack("services", f"A reply of 50 MB from {name}", told), id=name)


def not_read(most: str) -> str:
    return f"the service sent more than {most} bytes as one reply, so it was not read"


EVERY = [
    service("a model's endpoint", chat, not_read("8,000,000")),
    service("an embeddings endpoint", embedding, not_read("32,000,000")),
    service("OpenAI's image API", drawing, not_read("41,943,040")),
    service("OpenAI's transcription API", listening, not_read("41,943,040")),
    service(
        "Stable Diffusion",
        lambda url: StableDiffusion(url=url).draw("?", "square"),
        "Stable Diffusion answered more than can be taken: over 41,943,040 bytes.",
    ),
    service(
        "Hugging Face's image API",
        lambda url: HuggingFaceImages(hugging_face(url)).draw("?", "square"),
        "Hugging Face answered more than can be taken: over 41,943,040 bytes.",
    ),
    service(
        "Hugging Face's transcription API",
        lambda url: HuggingFaceTranscriber(hugging_face(url)).transcribe("a.mp3", b"?"),
        "Hugging Face answered more than can be taken: over 2,000,000 bytes.",
    ),
    service(
        "Google's search",
        lambda url: GoogleSearch(url=url).search("?", 1),
        "The search answered more than can be read.",
    ),
    service("X", post_on_x, "X answered more than can be read."),
    service("Slack's API", slack, "Slack cannot be reached."),
    service("Discord's files, declared as one byte", discord_file, "a.txt is larger than 20 MB"),
]


@pytest.fixture
async def replies() -> AsyncIterator[Site]:
    async with site(HERE) as here:
        yield here


async def said_of(replies: Site, ask: Ask) -> str:
    url = f"http://{HERE}:{replies.port}"
    with pytest.raises(TOLD) as error:
        await ask(url)
    return str(error.value).replace(f"{HERE}:{replies.port}", "the service")


@pytest.mark.proves("services:cut")
@pytest.mark.parametrize("ask", EVERY)
async def test_a_reply_that_is_too_long_is_cut_off_and_told(replies: Site, ask: Ask, answer: str) -> None:
    replies.answers["/*"] = page(LONG, JSON)
    assert answer in await said_of(replies, ask)


SDKS = ("a model's endpoint", "an embeddings endpoint", "OpenAI's image API", "OpenAI's transcription API")
COMPRESSED = "the service compressed its reply, which it was asked not to do, so it was not read"
PACKED = [
    pytest.param(
        each.values[0],  # type: ignore[attr-defined]
        COMPRESSED if each.id in SDKS else each.marks[0].kwargs["answer"],  # type: ignore[attr-defined]
        id=each.id,  # type: ignore[attr-defined]
    )
    for each in EVERY
]


@pytest.mark.proves("services:cut")
@pytest.mark.parametrize(("ask", "told"), PACKED)
async def test_a_compressed_reply_is_measured_unpacked_or_refused(replies: Site, ask: Ask, told: str) -> None:
    replies.answers["/*"] = page(gzip.compress(LONG, 1), JSON, content_encoding="gzip")
    assert told in await said_of(replies, ask)


@attack("services", "A reply of 50 MB from an unconfigured model server on this machine", "the server is not listed")
async def test_a_server_with_too_long_a_list_is_not_found(replies: Site, answer: str) -> None:
    replies.answers["/*"] = page(LONG, JSON)
    assert await find_local_servers([replies.port]) == ()
    assert answer == "the server is not listed"
