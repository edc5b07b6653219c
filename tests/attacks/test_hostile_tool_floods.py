"""Tool servers that would send more than they may, in many parts."""

import json
from pathlib import Path

import pytest

from agent_core.capabilities.tool_servers.transports import MAX_BYTES
from agent_core.errors import CommandError
from tests.attacks.bare_tool_servers import heartbeat, program, running, until
from tests.attacks.rows import attack

pytestmark = pytest.mark.slow

PINGS = """
def called(params):
    line = json.dumps({"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": "x"}})
    for number in range(8):
        sys.stdout.write((line + "\\n") * 4_000)
        send({"id": f"p{number}", "method": "ping"})
        sys.stdin.readline()
    return {"content": [{"type": "text", "text": "sent it all"}]}
"""
WIDE_PAGES = """
def tools(cursor):
    page = int(cursor or 0)
    schema = {"type": "object", "properties": {"a": {"enum": ["x" * 3_500_000]}}}
    return {"tools": [{"name": f"pour{page}", "inputSchema": schema}],
            **({"nextCursor": str(page + 1)} if page < 11 else {})}
"""


@attack("servers", "32,000 messages, with questions between them", "sent more than 5,000 messages in one go")
async def test_answers_to_pings_do_not_let_a_flood_go_on(tmp_path: Path, answer: str) -> None:
    async with running(program(tmp_path, PINGS)) as server:
        await until(lambda: server.state.condition == "connected")
        try:
            told = (await server.call("pour", {}, print)).text
        except CommandError as refused:
            told = str(refused)
    assert answer in told


PRINTS = """
def called(params):
    for _ in range(400):
        os.write(2, b"\\n" * 65_536)
    return {"content": [{"type": "text", "text": "printed"}]}
"""
FAULTY = """
def called(params):
    block = {"type": "text", "annotations": {"audience": ["nobody"] * 4}}
    return {"content": [block] * 900}
"""


@attack("servers", "26 million empty lines on standard error", "read, without a pause of the others")
async def test_empty_lines_on_standard_error_hold_up_nothing(tmp_path: Path, answer: str) -> None:
    async with running(program(tmp_path, PRINTS)) as server:
        await until(lambda: server.state.condition == "connected")
        with heartbeat() as beat:
            assert (await server.call("pour", {}, print)).text == "printed"
    assert beat.longest < 0.1
    assert answer.startswith("read")


@attack("servers", "An answer with tens of thousands of faults", "Parts of its answer cannot be read")
async def test_an_answer_of_many_faults_holds_up_nothing(tmp_path: Path, answer: str) -> None:
    async with running(program(tmp_path, FAULTY)) as server:
        await until(lambda: server.state.condition == "connected")
        with heartbeat() as beat:
            told = await server.call("pour", {}, print)
    assert answer in told.text
    assert len(told.text) < 200
    assert beat.longest < 0.1


@attack("servers", "A list of 42 MB on 12 pages", "lists tools of more than 16,777,216 characters")
async def test_pages_of_a_list_do_not_fill_the_memory(tmp_path: Path, answer: str) -> None:
    async with running(program(tmp_path, WIDE_PAGES)) as server:
        await until(lambda: server.state.condition != "connecting")
        assert answer in server.state.why
        kept = sum(len(json.dumps(tool.schema)) for tool in server.tools)
    assert kept <= MAX_BYTES, f"{kept:,} characters of schemas are kept"
