"""Services that are reached through the HTTP proxy of the environment. Hosts that end in .invalid have no address."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from urllib.parse import urlsplit

import pytest

from adapters.discord.api.base_urls import BaseUrls
from adapters.discord.connection import SignoffClient
from agent_core.capabilities.media.huggingface import HuggingFace, HuggingFaceTranscriber
from agent_core.capabilities.media.stable_diffusion import StableDiffusion
from agent_core.capabilities.memory.pinecone_index import PineconeIndex
from agent_core.capabilities.web.search_engines import GoogleSearch
from agent_core.errors import CommandError
from agent_core.model.records.memory import MemorySpace
from agent_core.testing.examples import an_agent
from agent_core.testing.media import MP3, PNG
from agent_core.testing.memory_index import a_vector
from tests.standins.discord.server import DiscordStandin
from tests.standins.google import google_standin
from tests.standins.media import media_standin
from tests.standins.pinecone import KEY, pinecone_standin
from tests.standins.proxy import ProxyStandIn, proxy_standin


@pytest.fixture(autouse=True)
def no_exceptions(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)


@asynccontextmanager
async def proxied(url: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[ProxyStandIn]:
    """The environment's proxy, which leads to the server of this URL."""
    async with proxy_standin(urlsplit(url).port or 80) as proxy:
        monkeypatch.setenv("HTTP_PROXY", proxy.url)
        monkeypatch.setenv("http_proxy", proxy.url)
        yield proxy


async def test_google_is_reached_through_the_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    async with google_standin() as google, proxied(google.url, monkeypatch):
        hits = await GoogleSearch(url="http://google.invalid/customsearch/v1").search("tennis", 2)
    assert [hit.title for hit in hits] == ["Hit 1", "Hit 2"]


async def test_services_of_media_are_reached_through_the_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    async with media_standin() as media, proxied(media.url, monkeypatch):
        drawn = await StableDiffusion(url="http://diffusion.invalid").draw("a cat", "square")
        hears = HuggingFace(model="hears", setting="HUGGINGFACE_AUDIO_MODEL", url="http://hugging.invalid/hub")
        heard = await HuggingFaceTranscriber(hears).transcribe("a.mp3", MP3)
    assert (drawn.data, heard.text) == (PNG, "Hello there.")


@pytest.mark.slow
async def test_pinecone_is_reached_through_the_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    async with pinecone_standin() as pinecone, proxied(pinecone.url, monkeypatch) as proxy:
        index = PineconeIndex(api_key=KEY, index="memories", controller_host="http://pinecone.invalid")
        assert await index.nearest(MemorySpace.of(an_agent()), "place", a_vector(1, 0), 1) == ()
        await index.close()
    assert proxy.asked == ["GET http://pinecone.invalid/indexes/memories HTTP/1.1\r\n"]


async def test_discord_and_its_gateway_are_reached_through_the_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    addresses = BaseUrls("http://discord.invalid/api/v10", "ws://gateway.invalid/gateway")
    async with AsyncExitStack() as stack:
        discord = await stack.enter_async_context(DiscordStandin.started())
        proxy = await stack.enter_async_context(proxied(discord.base_url, monkeypatch))
        client = SignoffClient(addresses)
        stack.push_async_callback(client.close)
        await client.login("d1sc0rd")
        gateway = await client.http.ws_connect("wss://gateway.discord.gg/?v=10")
        stack.push_async_callback(gateway.close)
        hello = await gateway.receive_json()
    assert hello["op"] == 10
    assert proxy.asked[0] == "GET http://discord.invalid/api/v10/users/@me HTTP/1.1\r\n"


async def test_this_machine_is_reached_without_the_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    async with google_standin() as google, media_standin() as media:
        assert await GoogleSearch(url=google.url).search("tennis", 2)
        assert (await StableDiffusion(url=media.url).draw("a cat", "square")).data == PNG


async def test_a_host_of_no_proxy_is_asked_directly(monkeypatch: pytest.MonkeyPatch) -> None:
    async with google_standin() as google, proxied(google.url, monkeypatch) as proxy:
        monkeypatch.setenv("NO_PROXY", "google.invalid")
        monkeypatch.setenv("no_proxy", "google.invalid")
        with pytest.raises(CommandError, match="cannot be reached"):
            await GoogleSearch(url="http://google.invalid/customsearch/v1").search("tennis", 2)
    assert proxy.asked == []
