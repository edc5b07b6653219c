"""Tokens of sign-ins, and what a server does to have them shown: in errors, after a renewal, to the doctor."""

import json
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from aiohttp import web

from agent_core.capabilities.tool_servers.sign_ins import SignIn, SignIns, SignInStore
from agent_core.errors import CommandError
from agent_core.model.draft import AgentDraft
from agent_core.persistence.database import SqlDatabase
from agent_core.ports.tool_servers import (
    ComeBack,
    PromptArgument,
    RemoteAddress,
    ServerEntry,
    SignInTerms,
    SourcePrompt,
)
from agent_core.providers.clock import SystemClock
from agent_core.testing.database import TemporaryDatabase
from agent_core.testing.stage import Stage
from agent_core.testing.tool_servers import InMemoryToolServer
from agent_core.toolset.registry import CommandContext, Commands
from bot.bootstrap import migrate_database
from bot.settings import Settings, load
from bot.wiring.sign_ins import SignInDesk
from bot.wiring.tool_servers import ToolServerSet, changed_tools, serve_tools, tool_servers_finding
from tests.attacks.bare_tool_servers import until
from tests.attacks.rows import attack
from tests.contract.servers.guarded import Doorkeeper, guarded_server
from tests.contract.test_tool_server_sign_in import sign_in

CLOCK, KEY, TOKEN = SystemClock(), "a-key-of-some-length", "the-token-4711-of-somebody"
DRAFT = AgentDraft(name="Clerk", goals=("Pour",))


def settings_at(folder: Path, url: str) -> Settings:
    file = folder / "mcp.json"
    file.write_text(json.dumps({"mcpServers": {"guarded": {"url": url, "oauth": True}}}))
    return load({"MCP_SERVERS": str(file), "MCP_SIGN_IN_KEY": KEY, "SIGNOFF_HOME": str(folder)}, None)


async def keep_token(store: SignInStore, url: str) -> None:
    tokens = json.dumps({"access_token": TOKEN, "token_type": "Bearer"})
    client = json.dumps({"client_id": "c", "redirect_uris": None})
    await store.put("guarded", SignIn(url=url, client=client, tokens=tokens))


@asynccontextmanager
async def answering(status: int, said: str) -> AsyncIterator[str]:
    """A server that answers everything with this error, in which KEY is the key that it was sent; its address."""

    async def answer(request: web.Request) -> web.Response:
        text = said.replace("KEY", request.headers.get("Authorization", ""))
        asked = await request.json() if status == 200 else {}
        error = {"jsonrpc": "2.0", "id": asked.get("id"), "error": {"code": -32000, "message": text}}
        return web.json_response(error) if status == 200 else web.Response(status=status, text=text)

    async def refuse(_request: web.Request) -> web.Response:
        return web.Response(status=400, text=said)

    app = web.Application()
    app.router.add_route("*", "/mcp", answer)
    app.router.add_route("POST", "/register", refuse)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=1)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        yield f"http://127.0.0.1:{runner.addresses[0][1]}/mcp"
    finally:
        await runner.cleanup()


@pytest.mark.slow
@attack("servers", "It repeats a token that was renewed meanwhile, in a refusal", "[secret]")
async def test_a_renewed_token_is_not_shown_either(answer: str, tmp_path: Path) -> None:
    doorkeeper, stage, commands = Doorkeeper(seconds=1), Stage(), Commands()
    async with guarded_server(doorkeeper) as url:
        await sign_in(url, SignInStore(stage.database, CLOCK, KEY))
        settings = settings_at(tmp_path, url)
        async with serve_tools(settings, ToolServerSet(), commands, CLOCK, changed_tools(stage)):
            await until(lambda: "guarded.refuse" in commands.by_name)
            agent = await stage.service.lifecycle.create(DRAFT, stage.origin())
            context, said = CommandContext(agent=agent, files=stage.workspaces.of(agent)), ""
            while doorkeeper.renewals < 2 or not said:
                with pytest.raises(CommandError) as refused:
                    await commands.by_name["guarded.refuse"].run({}, context)
                said += str(refused.value)
                await CLOCK.sleep(0.02)  # the connection may be made anew
    assert f"Not with Bearer {answer}" in said
    assert "access-token" not in said


@pytest.mark.slow
@attack("servers", "It repeats a token as it refuses to be connected", "[secret] in log, page and doctor")
@pytest.mark.parametrize("padding", ["", "x" * 250])
async def test_a_token_in_a_fault(answer: str, padding: str, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    async with answering(200, f"{padding} Not with KEY\x1b[2J.") as url:
        settings = settings_at(tmp_path, url)
        await migrate_database(settings)
        database = SqlDatabase(settings.database_url)
        try:
            await keep_token(SignInStore(database, CLOCK, KEY), url)
        finally:
            await database.close()
        finding = await tool_servers_finding(settings)
        stage = Stage()
        await keep_token(SignInStore(stage.database, CLOCK, KEY), url)
        async with serve_tools(settings, ToolServerSet(), Commands(), CLOCK, changed_tools(stage)) as found:
            await until(lambda: found.servers[0].state.condition == "away")
            (source,) = found.list_sources()
    assert finding
    for told in (finding.why, source.fault, caplog.text, *(str(vars(each)) for each in caplog.records)):
        assert TOKEN[:8] not in told
        assert "\x1b" not in told
    assert "[secret]" in finding.why
    assert answer.startswith("[secret]")


@pytest.mark.slow
@attack(
    "servers", "Its authorization server answers with lines that move the cursor of a terminal", "on one line, without"
)
async def test_hidden_letters_in_a_fault_of_a_sign_in(answer: str, tmp_path: Path) -> None:
    store = SignInStore(TemporaryDatabase(), CLOCK, KEY)
    async with answering(401, "no\x1b[2J\x1b[31m\nSigned in.") as url:
        entry = ServerEntry(name="far", reached=RemoteAddress(url=url, sign_in=SignInTerms()), place="here")
        desk = SignInDesk(SignIns(store=store, clock=CLOCK))
        fault, _ = await desk.sign_in(entry, _nobody, "http://127.0.0.1/signed-in", 20)
    assert fault.startswith("could not be signed in to")
    assert fault.isprintable()
    assert "Signed in." not in fault
    assert answer


async def _nobody(_address: str) -> ComeBack:
    raise AssertionError


@pytest.mark.proves("mcp:sign-in")
async def test_a_sign_in_that_fails_costs_nobody_the_one_before() -> None:
    store = SignInStore(TemporaryDatabase(), CLOCK, KEY)
    async with guarded_server(Doorkeeper()) as url:
        await sign_in(url, store)
        before = await store.get("guarded", url)

        async def refuse(_address: str) -> ComeBack:
            raise ValueError("the sign-in was refused")

        entry = ServerEntry(name="guarded", reached=RemoteAddress(url=url, sign_in=SignInTerms()), place="here")
        fault, _ = await SignInDesk(SignIns(store=store, clock=CLOCK)).sign_in(entry, refuse, "http://127.0.0.1/x", 20)
        assert "refused" in fault
        assert await store.get("guarded", url) == before


@attack("servers", "It tells its token in a prompt", "[secret]; there is no prompt by that name")
async def test_a_token_in_a_prompt(answer: str) -> None:
    about = PromptArgument(name="kind", description=f"or {TOKEN}")
    prompts = (
        SourcePrompt(name="tea", title=TOKEN, description=f"With {TOKEN}.", arguments=(about,)),
        SourcePrompt(name=TOKEN),
    )
    found = ToolServerSet(servers=(InMemoryToolServer(prompts=prompts),))
    found.use_tokens(load({}, None), "tea", (TOKEN,))
    (source,) = found.list_sources()
    assert [each.fault for each in source.prompts] == ["", "has a secret of Signoff's in a name"]
    assert TOKEN not in str(source.prompts)
    with pytest.raises(CommandError, match=r"there is no \[secret\]"):
        await source.read_prompt(TOKEN, {})
    assert answer.startswith(source.prompts[0].title)


@attack("servers", "Its authorization server gives words of other servers' cards as tokens", "they are shown there")
def test_words_as_tokens(answer: str) -> None:
    found = ToolServerSet()
    found.use_tokens(load({}, None), "far", ("DELETE everything",))
    assert found.redact("tea", "DELETE everything") == "DELETE everything"
    assert answer
