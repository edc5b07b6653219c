"""Answers of tool servers that are long or wrong, and hold up the event loop of all agents for less than 100 ms."""

from pathlib import Path

import mcp_types
import pytest

from adapters.screens.visible_text import visible
from agent_core.capabilities.tool_servers.answers import answer_of
from agent_core.capabilities.tool_servers.server_commands import MAX_SHOWN_CHARACTERS, ServerCommands
from agent_core.errors import CommandError
from agent_core.testing.examples import an_agent
from agent_core.testing.files import InMemoryFiles
from agent_core.toolset.registry import CommandContext
from tests.attacks.bare_tool_servers import heartbeat, program, running, until
from tests.attacks.rows import attack

pytestmark = pytest.mark.slow

LONGEST_PAUSE = 0.1
ANSWERS = {
    "hidden": """{"content": [{"type": "text", "text": "\\u200d\\u200b" * 75_000}]}""",
    "few blocks": """{"content": [{"type": "text", "text": "x"}] * 1_000}""",
    "few wrong blocks": """{"content": [{}] * 1_000}""",
    "fewer values": """{"content": [], "structuredContent": {"a": [[] for _ in range(14_000)], "b": 1}}""",
    "text": """{"content": [{"type": "text", "text": "\\\\\\"[{," * 500_000}]}""",
}
PROGRESS = """
def called(params):
    token = params["_meta"]["progressToken"]
    line = json.dumps({"jsonrpc": "2.0", "method": "notifications/progress", "params": {
        "progressToken": token, "progress": 1, "message": "\\u200d\\u200b" * 400}}) + "\\n"
    sys.stdout.write(line * 3_000)
    return {"content": [{"type": "text", "text": "poured"}]}
"""


async def told(folder: Path, behaviour: str) -> str:
    """What an agent is told by one call, which does not hold up the loop."""
    async with running(program(folder, behaviour)) as server:
        await until(lambda: server.state.condition == "connected")
        pour = ServerCommands(server, visible).loaded({}).commands[0]
        with heartbeat() as beat:
            try:
                answer = (await pour.run({}, CommandContext(agent=an_agent(), files=InMemoryFiles()))).text
            except CommandError as refused:
                answer = str(refused)
    assert beat.longest < LONGEST_PAUSE
    return answer


@pytest.mark.parametrize(
    "what",
    [
        pytest.param("few blocks", marks=attack("servers", "An answer of 1,000 texts", "x")),
        pytest.param("few wrong blocks", marks=attack("servers", "An answer of 1,000 wrong blocks", "cannot be read")),
        pytest.param("fewer values", marks=attack("servers", "An answer of 14,000 empty lists", "[]")),
        pytest.param("text", marks=attack("servers", "An answer of 3 MB of brackets and quotes", "are left out")),
        pytest.param("hidden", marks=attack("servers", "An answer of 150,000 hidden letters", "⟨U+200D⟩⟨U+200B⟩")),
    ],
)
async def test_one_answer_does_not_hold_up_the_loop(tmp_path: Path, what: str, answer: str) -> None:
    shown = await told(tmp_path, f"def called(params):\n    return {ANSWERS[what]}")
    assert answer in shown
    assert len(shown) < MAX_SHOWN_CHARACTERS + 100


async def test_progress_with_hidden_letters_does_not_hold_up_the_loop(tmp_path: Path) -> None:
    assert await told(tmp_path, PROGRESS) == "poured"


async def test_structured_content_is_written_no_further_than_it_is_shown() -> None:
    result = mcp_types.CallToolResult(content=[], structured_content={"result": [0] * 1_300_000})
    with heartbeat() as beat:
        shown = answer_of(result).text
    assert beat.longest < LONGEST_PAUSE
    assert shown.endswith("(The rest is left out.)")


READABLE = {
    "structured content alone": """{"structuredContent": {"status": "sent 5 EUR"}}""",
    "a list as structured content": """{"structuredContent": ["sent 5 EUR"]}""",
    "a block of an unknown kind": """{"content": [{"type": "text", "text": "sent 5 EUR"}, {"type": "widget"}]}""",
    "a text that is null": """{"content": [{"type": "text", "text": None}, {"type": "text", "text": "sent 5 EUR"}]}""",
    "a block that is no list": """{"content": "sent 5 EUR", "isError": None}""",
}


@pytest.mark.parametrize("what", READABLE)
async def test_what_can_be_read_of_an_answer_is_read_because_the_tool_has_run(tmp_path: Path, what: str) -> None:
    assert "sent 5 EUR" in await told(tmp_path, f"def called(params):\n    return {READABLE[what]}")


async def test_an_empty_answer_is_no_failure(tmp_path: Path) -> None:
    assert await told(tmp_path, "def called(params):\n    return {}") == "It answered nothing."


async def test_what_cannot_be_read_of_an_answer_is_named(tmp_path: Path) -> None:
    answer = await told(tmp_path, "def called(params):\n    return {'content': [{'type': 'widget'}]}")
    assert answer == "(The tool has run. Parts of its answer cannot be read: 'widget'.)"
