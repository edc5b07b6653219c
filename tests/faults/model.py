"""The model of a storm: it answers each agent by its own script, and keeps what it was sent."""

import random
import re
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from aiohttp import web

from agent_core.providers.clock import SystemClock
from agent_core.testing.language_model import reply_text
from tests.scenario.chat import adding, writing

PROMPT_TOKENS, REPLY_TOKENS = 2_000, 10
DOLLARS_PER_MILLION = 100
CALL_COST = (PROMPT_TOKENS + REPLY_TOKENS) * DOLLARS_PER_MILLION / 1_000_000
PRICES = f'{{"gpt-test": [{DOLLARS_PER_MILLION}, {DOLLARS_PER_MILLION}]}}'

CLOCK = SystemClock()
NAME = re.compile(r"You are Agent(\d+)")
NOTE = re.compile(r"\bnote\d+x\d+\b")


@dataclass(slots=True)
class Model:
    """Each call gets a word that no other call gets, for a file or for a shell line that writes it. Then comes the end.

    `calls` counts calls by agent, `notes` are the people's notes that were in a prompt.
    """

    chance: random.Random
    turns: int
    calls: Counter[int] = field(default_factory=Counter)
    notes: set[str] = field(default_factory=set)
    strange: list[str] = field(default_factory=list)
    base_url: str = ""

    async def complete(self, request: web.Request) -> web.StreamResponse:
        """POST /v1/chat/completions."""
        body = await request.text()
        self.notes.update(NOTE.findall(body))
        found = NAME.search(body)
        if not found:
            self.strange.append(body[:500])
            return web.json_response({"error": {"message": "Who asks?"}}, status=400)
        text = self._reply(int(found[1]))
        await CLOCK.sleep(self.chance.choice((0.02, 0.05, 0.1, 0.3, 1.0)))
        choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
        usage = {"prompt_tokens": PROMPT_TOKENS, "completion_tokens": REPLY_TOKENS}
        return web.json_response(
            {
                "id": "c",
                "object": "chat.completion",
                "created": 1,
                "model": "gpt-test",
                "choices": [choice],
                "usage": usage,
            }
        )

    def _reply(self, agent: int) -> str:
        self.calls[agent] += 1
        word = f"w{agent}x{self.calls[agent]}"
        if self.calls[agent] > self.turns:
            return reply_text("task_complete", {"reason": f"{word} is the last."})
        if is_shell(word):
            return reply_text("execute_shell", {"command_line": f"echo {word} >> shell.txt"})
        if self.calls[agent] % 4 == 0:
            return writing(f"{word}.txt", f"{word}\n")
        # The beginning of a long number is the same in all words of an agent, which would be found to repeat itself.
        return adding("log.txt", f"{self.calls[agent]} {word}\n")


def is_shell(word: str) -> bool:
    """Whether a program writes this word, so that people have to say whether it ran."""
    return int(word.partition("x")[2]) % 8 == 6


async def list_models(_request: web.Request) -> web.StreamResponse:
    """GET /v1/models."""
    return web.json_response({"object": "list", "data": [{"id": "gpt-test", "object": "model"}]})


async def refuse(_request: web.Request) -> web.StreamResponse:
    """POST /v1/embeddings: there are none."""
    return web.json_response({"error": {"message": "No embeddings here."}}, status=404)


@asynccontextmanager
async def serving_model(seed: int, turns: int) -> AsyncIterator[Model]:
    """Serve on a free port inside a with-block. An agent ends after so many turns."""
    model = Model(random.Random(f"model {seed}"), turns)
    app = web.Application(client_max_size=1 << 26)
    app.router.add_get("/v1/models", list_models)
    app.router.add_post("/v1/chat/completions", model.complete)
    app.router.add_post("/v1/embeddings", refuse)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    model.base_url = f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
    try:
        yield model
    finally:
        await runner.cleanup()
