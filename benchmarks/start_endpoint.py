"""Resident memory of `python -m bot run` with a model endpoint: at the page, when it is ready, and at a proposal."""

from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

from benchmarks.start import resident_bytes
from tests.e2e.process import program
from tests.scenario.chat import writing
from tests.scenario.page import PageChat
from tests.standins.openai import Says, openai_standin

REPORT = "tokens  "  # in the doctor's report, which follows when the SDK and the tokenizer are loaded


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointMemory:
    """Resident bytes of one process.

    `page`: the first page was fetched. `ready`: OpenAI's SDK and the tokenizer are loaded.
    `proposal`: an agent has streamed its first reply, and its card is on the page.
    """

    page: int
    ready: int
    proposal: int


async def measure_endpoint(home: Path) -> EndpointMemory:
    """Start Signoff on this data folder with an endpoint on the loopback, and let one agent ask for approval."""
    async with openai_standin() as endpoint:
        endpoint.answers(Says(writing("report.md", "All is well.\n")))
        async with (
            program(home, OPENAI_BASE_URL=endpoint.base_url) as signoff,
            PageChat.opened(signoff.address, "ada") as chat,
        ):
            page = resident_bytes(signoff.process.pid)
            await signoff.says(REPORT)
            ready = resident_bytes(signoff.process.pid)
            await chat.new_agent(f"Clerk {uuid4().hex[:8]}", "keeps notes", "Write a report")
            await chat.asks("write_to_file")
            if not endpoint.completions[0].get("stream"):
                raise RuntimeError("The reply was not streamed.")
            return EndpointMemory(page=page, ready=ready, proposal=resident_bytes(signoff.process.pid))
