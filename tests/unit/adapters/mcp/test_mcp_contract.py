"""Every tool, over pipes and HTTP, in both eras of the protocol, by the SDK's own client."""

import asyncio
import base64
import json
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from datetime import timedelta
from functools import partial

import pytest
from aiohttp import ClientSession
from mcp import Client, MCPError

from adapters.mcp.agent_tools import CLIENT
from agent_core.model.agent import Stopped
from agent_core.model.decision import Approve, Reject
from agent_core.model.ids import NoteId, TurnId, new_id
from agent_core.model.note import Note
from agent_core.model.turn import Turn
from agent_core.testing.examples import NOON, a_note, a_turn, an_agent, keep
from agent_core.testing.language_model import ScriptedModel, reply_text
from tests.unit.adapters.mcp.clients import (
    HEADERS,
    PERSON,
    SECRET,
    Served,
    call,
    over_http,
    over_pipes,
    refusal,
    serving,
)

Opened = Callable[[], AbstractAsyncContextManager[Client]]
WRITES = reply_text("write_to_file", {"filename": "hello.txt", "text": f"Hello \u202e{SECRET}"})
DONE = reply_text("task_complete", {"reason": "Greeted."})
MODERN = "2026-07-28"
TOOLS = ["list_agents", "create_agent", "read_thread", "read_turn", "wait", "add_note", "list_files", "read_file"]


@pytest.fixture
async def served() -> AsyncIterator[Served]:
    async with serving(ScriptedModel(WRITES, DONE)) as found:
        yield found


@pytest.fixture(
    params=[(over_http, "auto"), (over_http, "legacy"), (over_pipes, "auto"), (over_pipes, "legacy")],
    ids=["http-2026", "http-2025", "pipes-2026", "pipes-2025"],
)
def opened(served: Served, request: pytest.FixtureRequest) -> Opened:
    """Opens a client, in the task of the test: it is closed in that task too."""
    open_client, era = request.param
    return partial(open_client, served, era)


@pytest.mark.slow
@pytest.mark.proves("mcp:undecided")
async def test_there_are_these_tools_and_no_others(opened: Opened) -> None:
    async with opened() as client:
        listed = (await client.list_tools()).tools
        assert [tool.name for tool in listed] == TOOLS
        assert {tool.name for tool in listed if not (tool.annotations and tool.annotations.read_only_hint)} == {
            "create_agent",
            "add_note",
        }
        assert all(tool.output_schema and tool.output_schema["type"] == "object" for tool in listed)


@pytest.mark.slow
@pytest.mark.proves("mcp:wait")
async def test_a_client_makes_an_agent_people_approve_and_the_client_reads_the_file(
    served: Served, opened: Opened
) -> None:
    async with opened() as client:
        made = await call(client, "create_agent", name="Ada", role="greets", goals=["Greet"])
        asked = await call(client, "wait", agent=made["id"])
        assert (asked["is_over"], asked["agent"]["state"]) == (True, "awaiting")
        assert (asked["asks"]["command"], asked["asks"]["risks"]) == ("write_to_file", ["write"])
        assert asked["agent"]["page"] == f"http://signoff.test/{made['id']}"
        waiting = asyncio.create_task(call(client, "wait", agent="Ada", until="end", seconds=60))
        await served.decide("Ada", Approve())
        await served.until("Ada", lambda agent: agent.turns == 2)
        await served.decide("Ada", Approve())
        ended = await waiting
        assert (ended["is_over"], ended["agent"]["state"], ended["asks"]) == (True, "finished", None)
        assert [each["path"] for each in (await call(client, "list_files", agent="Ada"))["files"]] == ["hello.txt"]
        read = await call(client, "read_file", agent="Ada", path="hello.txt")
        assert (read["text"], read["next"]) == ("Hello ⟨U+202E⟩[secret]", None)


@pytest.mark.slow
async def test_a_thread_and_a_turn_are_read(served: Served, opened: Opened) -> None:
    async with opened() as client:
        await call(client, "create_agent", name="Ada", goals=["Greet"])
        await call(client, "wait", agent="Ada")
        await served.decide("Ada", Reject("Say it in French"))
        await served.until("Ada", lambda agent: agent.turns == 2)
        page = await call(client, "read_thread", agent="ada")
        assert (page["goals"], page["earlier"]) == (["Greet"], None)
        first, second = [entry for entry in page["entries"] if "number" in entry]
        assert (first["state"], first["decided_by"], second["command"]) == ("rejected", "Ana", "task_complete")
        assert json.loads(first["arguments"])["filename"] == "hello.txt"
        assert "\u202e" not in str(page)
        assert SECRET not in str(page)
        whole = await call(client, "read_turn", agent="Ada", turn=1)
        assert whole["turn"]["number"] == 1
        assert "hello.txt" in whole["preview"]


@pytest.mark.slow
async def test_agents_are_listed_with_who_made_them(served: Served, opened: Opened) -> None:
    async with opened() as client:
        await call(client, "create_agent", name="Ada", goals=["Greet"])
        [listed] = (await call(client, "list_agents"))["agents"]
        assert (listed["name"], listed["owner"], listed["needs_people"]) == (
            "Ada",
            "MCP",
            listed["state"] == "awaiting",
        )
        assert (await served.agent("Ada")).owner == CLIENT
        assert (await call(client, "list_agents", archived=True))["agents"] == []


@pytest.mark.slow
@pytest.mark.proves("mcp:undecided")
async def test_a_note_reaches_the_agent_as_untrusted_content_and_decides_nothing(
    served: Served, opened: Opened
) -> None:
    async with opened() as client:
        await call(client, "create_agent", name="Ada", goals=["Greet"])
        await call(client, "wait", agent="Ada")
        for text in ("Rather in French", "Is it done?", "approve"):
            assert (await call(client, "add_note", agent="Ada", text=text))["text"] == text
        agent = await served.until("Ada", lambda agent: agent.needs_people)
        assert (await served.stage.turn(agent)).state == "proposed"
        await served.decide("Ada", Approve())
        await served.until("Ada", lambda agent: agent.turns == 2)
        assert "MCP (guest, may not decide)" in str(served.stage.script.prompts[-1])
        assert "Rather in French" in str(served.stage.script.prompts[-1])
        assert (await served.agent("Ada")).exposed


@pytest.mark.slow
async def test_bytes_that_are_no_text_are_given_in_base64(served: Served, opened: Opened) -> None:
    async with opened() as client:
        await call(client, "create_agent", name="Ada", goals=["Greet"])
        files = served.stage.workspaces.of(await served.agent("Ada"))
        await files.write("picture.png", b"\x89PNG\xff")
        await files.write("key.txt", SECRET.encode())
        assert "is not UTF-8 text" in await refusal(client, "read_file", agent="Ada", path="picture.png")
        found = await call(client, "read_file", agent="Ada", path="picture.png", base64=True)
        assert base64.b64decode(found["base64"]) == b"\x89PNG\xff"
        assert "secret" in await refusal(client, "read_file", agent="Ada", path="key.txt", base64=True)


@pytest.mark.slow
async def test_a_long_file_is_read_in_parts(served: Served, opened: Opened) -> None:
    async with opened() as client:
        await call(client, "create_agent", name="Ada", goals=["Greet"])
        files, text = served.stage.workspaces.of(await served.agent("Ada")), "é" * 60_000
        await files.write("long.txt", text.encode())
        first = await call(client, "read_file", agent="Ada", path="long.txt")
        rest = await call(client, "read_file", agent="Ada", path="long.txt", offset=first["next"])
        assert (first["text"] + rest["text"], rest["next"]) == (text, None)
        await files.write("huge.bin", b"x" * (2**20 + 1))
        assert "at most" in await refusal(client, "read_file", agent="Ada", path="huge.bin", base64=True)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("tool", "arguments", "sentence"),
    [
        ("wait", {"agent": "Ada", "seconds": "soon"}, "seconds: Input should be a valid integer"),
        ("wait", {"agent": "A" * 100_000}, "agent: String should have at most 200 characters."),
        ("create_agent", {"name": "Bob", "goals": []}, "Goals: write at least one, one per line."),
        ("create_agent", {"name": "Bob", "goals": ["x"], "free": ["write"]}, "free: Extra inputs are not permitted."),
        ("add_note", {"agent": "Ada", "text": " "}, "Reply: between 1 and 20,000 characters"),
        ("read_thread", {"agent": "Ada", "before": "9" * 10 + ".x"}, "before: String should match pattern"),
        ("read_turn", {"agent": "Ada", "turn": 99}, "Ada has no turn 99."),
        ("read_file", {"agent": "Ada", "path": "../../etc/passwd"}, "Ada has no file ../../etc/passwd."),
        ("list_agents", {"after": "nothing"}, "after: nothing in the list has this value now."),
    ],
)
async def test_a_wrong_argument_is_answered_with_a_sentence(
    served: Served, tool: str, arguments: dict[str, object], sentence: str
) -> None:
    async with over_http(served, "auto") as client:
        await call(client, "create_agent", name="Ada", goals=["Greet"])
        answer = await refusal(client, tool, **arguments)
    assert sentence in answer
    assert len(answer) < 1_000


@pytest.mark.slow
async def test_a_tool_that_is_none_is_refused(opened: Opened) -> None:
    async with opened() as client:
        with pytest.raises(MCPError, match=r"There is no tool approve\."):
            await client.call_tool("approve", {"agent": "Ada"})


@pytest.mark.slow
async def test_a_program_that_floods_an_agent_with_notes_has_to_wait() -> None:
    async with serving(ScriptedModel(WRITES)) as served, over_http(served, "auto") as client:
        await call(client, "create_agent", name="Ada", goals=["Greet"])
        await call(client, "wait", agent="Ada")
        for number in range(20):
            await call(client, "add_note", agent="Ada", text=f"Note {number}")
        assert await refusal(client, "add_note", agent="Ada", text="One more") == (
            "Ada has 20 notes that it has not read yet. Wait until it has."
        )


@pytest.mark.slow
async def test_a_long_thread_is_read_page_by_page() -> None:
    agent = an_agent(status=Stopped(PERSON), turns=55)
    entries: list[Turn | Note] = [
        a_turn(agent, id=TurnId(new_id(NOON + timedelta(minutes=number))), number=number, state="withdrawn")
        for number in range(1, 56)
    ]
    later = NOON + timedelta(days=1)
    for number in range(20):
        at = later + timedelta(minutes=number)
        entries.append(a_note(agent, id=NoteId(new_id(at)), at=at, text=f"note-{number} {'x' * 4_000}"))
    async with serving() as served, over_http(served, "auto") as client:
        await keep(served.stage.database, agent, *entries)
        pages = [await call(client, "read_thread", agent=agent.id)]
        while before := pages[0]["earlier"]:
            pages.insert(0, await call(client, "read_thread", agent=agent.id, before=before))
    read = [str(each.get("number", each.get("text"))).split()[0] for page in pages for each in page["entries"]]
    assert read == [*map(str, range(1, 56)), *(f"note-{number}" for number in range(20))]
    assert len(pages) > 2


@pytest.mark.slow
async def test_many_files_are_listed_page_by_page() -> None:
    async with serving() as served, over_http(served, "auto") as client:
        await call(client, "create_agent", name="Ada", goals=["Greet"])
        files = served.stage.workspaces.of(await served.agent("Ada"))
        for number in range(250):
            await files.write(f"{number:03}.txt", b"x")
        first = await call(client, "list_files", agent="Ada")
        rest = await call(client, "list_files", agent="Ada", after=first["next"])
    assert [each["path"] for each in first["files"] + rest["files"]] == [f"{number:03}.txt" for number in range(250)]
    assert rest["next"] is None


@pytest.mark.slow
@pytest.mark.parametrize("text", ["a\\ud800", "a\\u0000b", "\\u202eab\\u200b"])
async def test_characters_that_no_text_has_do_no_harm(text: str) -> None:
    meta = {"io.modelcontextprotocol/protocolVersion": MODERN, "io.modelcontextprotocol/clientCapabilities": {}}
    params = {"name": "add_note", "arguments": {"agent": "Ada", "text": "TEXT"}, "_meta": meta}
    sent = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).replace("TEXT", text)
    headers = {**HEADERS, "MCP-Protocol-Version": MODERN, "Mcp-Method": "tools/call", "Mcp-Name": "add_note"}
    async with serving(ScriptedModel(WRITES)) as served, over_http(served, "auto") as client:
        await call(client, "create_agent", name="Ada", goals=["Greet"])
        async with ClientSession() as session, session.post(served.url, headers=headers, data=sent.encode()) as answer:
            told = (await answer.json())["result"]["structuredContent"]["text"]
        entries = (await call(client, "read_thread", agent="Ada"))["entries"]
    assert "\u27e8U+" in told
    assert told in [entry.get("text") for entry in entries]
