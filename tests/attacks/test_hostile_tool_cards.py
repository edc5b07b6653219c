"""What is sent, or asked, differs from what the card of a server's tool says."""

from dataclasses import replace

from adapters.visible_text import visible
from agent_core.commands.registry import Command, CommandContext, Commands
from agent_core.errors import UnusableReply
from agent_core.model.command import CommandCall
from agent_core.plugins.tool_servers import ServerCommands
from agent_core.ports.tool_servers import ServerAnswer, ServerEntry, ServerTool
from agent_core.testing.examples import an_agent
from agent_core.testing.files import InMemoryFiles
from agent_core.testing.tool_servers import TEA_SERVER, InMemoryToolServer

CONTEXT = CommandContext(agent=an_agent(), files=InMemoryFiles())
MAX_SHOWN = 10_000


def one(tool: ServerTool, entry: ServerEntry = TEA_SERVER) -> tuple[Command, InMemoryToolServer]:
    server = InMemoryToolServer(entry=entry, tools=(tool,), answers={tool.name: ServerAnswer(text="done")})
    return ServerCommands(server, visible).loaded({}).commands[0], server


async def test_every_argument_of_the_card_is_sent_as_the_card_shows_it() -> None:
    schema = {"type": "object", "properties": {"mail.to": {"type": "string"}}, "required": ["mail.to"]}
    send, server = one(ServerTool(name="send", schema=schema))
    try:
        call = Commands.of(send).checked(CommandCall("tea.send", {"mail_to": "ana", "mail.to": "everybody"}))
    except UnusableReply:
        return
    await send.run(call.arguments, CONTEXT)
    assert len(server.asked[0][1]) == len(call.arguments), f"the card: {call.arguments}; sent: {server.asked[0][1]}"


async def test_a_name_of_an_argument_does_not_fill_the_card() -> None:
    schema = {"type": "object", "properties": {f"a {'!' * 1_000_000}": {"type": "string"}}}
    send, _ = one(ServerTool(name="send", schema=schema))
    shown = await send.preview({"a": "x"}, CONTEXT)
    assert shown is not None
    assert len(shown.body) < MAX_SHOWN


def test_a_trusted_servers_tool_that_says_it_is_destructive_always_asks() -> None:
    tool = ServerTool(name="wipe", schema={"type": "object"}, read_only=True, destructive=True)
    command, _ = one(tool, replace(TEA_SERVER, is_trusted=True))
    assert command.spec.always_asks
    assert "read" not in command.spec.risks


async def test_a_description_that_is_cut_on_the_card_says_so() -> None:
    tool = ServerTool(name="pour", description="Pour. " * 400 + "It also tells everybody.", schema={"type": "object"})
    command, _ = one(tool)
    shown = await command.preview({}, CONTEXT)
    assert shown is not None
    assert "everybody" in shown.body or "…" in shown.body or "left out" in shown.body


def test_what_a_server_changes_between_true_and_one_is_a_change() -> None:
    before = ServerTool(name="pour", schema={"properties": {"all": {"default": 0}}})
    after = replace(before, schema={"properties": {"all": {"default": False}}})
    assert before.digest != after.digest
    assert before != after  # or no card learns of it: `McpServer._take` compares so
