"""Model servers on this machine are found and offered."""

from urllib.parse import urlsplit

import pytest

from agent_core.capabilities.models import endpoint_checks
from agent_core.capabilities.models.endpoint_checks import find_local_servers
from agent_core.ports.models import LocalServer
from tests.standins.openai import CutsOff, Fails, Hangs, Says, SaysPlain, openai_standin


def port_of(base_url: str) -> int:
    return urlsplit(base_url).port or 0


async def test_a_server_that_lists_models_is_found() -> None:
    async with openai_standin() as standin:
        standin.models = ("qwen3", "llama3")
        found = await find_local_servers(ports=(9, port_of(standin.base_url)))
    assert found == (LocalServer(name="local server", base_url=standin.base_url, models=("qwen3", "llama3")),)


async def test_a_server_is_named_by_its_usual_port(monkeypatch: pytest.MonkeyPatch) -> None:
    async with openai_standin() as standin:
        monkeypatch.setitem(endpoint_checks.NAMES, port_of(standin.base_url), "Ollama")
        (found,) = await find_local_servers(ports=(port_of(standin.base_url),))
    assert found.name == "Ollama"


@pytest.mark.slow
@pytest.mark.parametrize(
    "listing",
    [
        SaysPlain("<html>another program</html>"),
        SaysPlain("{broken", "application/json"),
        SaysPlain("[" * 100_000, "application/json"),
        SaysPlain('{"data": "' + "x" * 2_000_000 + '"}', "application/json"),
        Says(body={"data": []}),
        Says(body={"data": None}),
        Says(body={"data": ["gpt"]}),
        Says(body={"data": [{"id": 1}]}),
        Says(body={"models": [{"id": "a"}]}),
        Says(body=["a"]),
        Fails(401),
        Fails(500),
        CutsOff(),
        Hangs(),
    ],
)
async def test_anything_else_that_answers_is_not_a_model_server(listing: Says | SaysPlain | Fails) -> None:
    async with openai_standin() as standin:
        standin.listing = listing
        assert await find_local_servers(ports=(port_of(standin.base_url),)) == ()


async def test_a_proxy_of_the_environment_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    async with openai_standin() as standin:
        assert len(await find_local_servers(ports=(port_of(standin.base_url),))) == 1
