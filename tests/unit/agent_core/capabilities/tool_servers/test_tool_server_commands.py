"""The tools of servers as commands: names, arguments, caution, and what people and models are shown of them."""

from dataclasses import replace
from typing import Any, cast

import pytest

from adapters.screens.visible_text import visible
from agent_core.capabilities.agents.finish import FINISH_COMMANDS
from agent_core.capabilities.files.commands import FILE_COMMANDS
from agent_core.capabilities.tool_servers.server_commands import ServerCommands, legible_name
from agent_core.errors import CommandError, UnusableReply
from agent_core.model.command import CommandCall, Preview
from agent_core.plugins.loaded import LoadedPlugin
from agent_core.ports.tool_servers import AnswerFile, ServerAnswer, ServerEntry, ServerResource, ServerTool
from agent_core.prompt.system import standing_prompt
from agent_core.testing.examples import an_agent
from agent_core.testing.files import InMemoryFiles
from agent_core.testing.tool_servers import TEA_SERVER, InMemoryToolServer
from agent_core.toolset.registry import Command, CommandContext, Commands

POUR = ServerTool(
    name="pour",
    description="Pour a cup.",
    schema={"type": "object", "properties": {"kind": {"type": "string"}}, "required": ["kind"]},
)


def loaded_of(*tools: ServerTool, entry: ServerEntry = TEA_SERVER, taken: dict[str, str] | None = None) -> LoadedPlugin:
    return ServerCommands(InMemoryToolServer(entry=entry, tools=tools), visible).loaded(taken or {})


def command_of(*tools: ServerTool, entry: ServerEntry = TEA_SERVER) -> Command:
    return loaded_of(*tools, entry=entry).commands[0]


def context_of(approved: Preview | None = None) -> CommandContext:
    return CommandContext(agent=an_agent(), files=InMemoryFiles(), approved=approved)


def test_a_tool_is_a_command_under_its_servers_name() -> None:
    spec = command_of(POUR).spec
    assert (spec.name, spec.label, spec.description) == ("tea.pour", "pour", "tea says: Pour a cup.")
    assert (spec.source, spec.outside, spec.risks) == ("tea (tool server)", True, ("publish",))


@pytest.mark.parametrize(
    ("name", "legible"),
    [
        ("get-tea_2.now", "get-tea_2.now"),
        ("get tea now", "get_tea_now"),
        ("Grüner Tee", "Gruner_Tee_b1e4dd"),
        ("茶", "tool_7e005b"),
        ("", "tool_e3b0c4"),
        ("x" * 300, f"{'x' * 53}_0d4e2c"),
    ],
)
def test_names_become_legible_and_stay_different(name: str, legible: str) -> None:
    assert legible_name(name, 60) == legible


def test_two_tools_of_one_name_are_one_command_and_a_remark() -> None:
    loaded = loaded_of(POUR, replace(POUR, description="Pour it all."))
    assert [each.spec.name for each in loaded.commands] == ["tea.pour"]
    assert loaded.remarks == ["tea.pour is left out: tea has a command of that name"]


def test_of_five_hundred_tools_a_hundred_take_part_and_the_rest_is_told() -> None:
    loaded = loaded_of(*(replace(POUR, name=f"pour{number}") for number in range(500)))
    assert len(loaded.commands) == 100
    assert loaded.remarks == ["400 tools beyond the first 100 are left out"]


TREE: dict[str, Any] = {
    "type": "object",
    "properties": {"tree": {"$ref": "#/$defs/tree"}},
    "$defs": {"tree": {"type": "object", "properties": {"left": {"$ref": "#/$defs/tree"}}}},
}
WIDE: dict[str, Any] = {"type": "object", "properties": {f"cup{number}": {} for number in range(200)}}


@pytest.mark.parametrize(
    ("schema", "why"),
    [(TREE, "its arguments refer to themselves"), (WIDE, "it has 200 arguments, of 40")],
    ids=["recursive", "wide"],
)
async def test_arguments_that_cannot_be_declared_are_one_object(schema: dict[str, Any], why: str) -> None:
    tool = replace(POUR, schema=schema)
    server = InMemoryToolServer(tools=(tool,), answers={"pour": ServerAnswer(text="poured")})
    loaded = ServerCommands(server, visible).loaded({})
    assert loaded.remarks == [f"pour takes its arguments as one JSON object: {why}"]
    (command,) = loaded.commands
    assert [*cast("dict[str, Any]", command.spec.parameters["properties"])] == ["arguments"]
    call = Commands.of(command).checked(CommandCall("tea.pour", {"arguments": {"cup7": "x"}}))
    await command.run(call.arguments, context_of())
    assert server.asked == [("pour", {"cup7": "x"})]


async def test_names_of_arguments_that_are_no_identifiers_are_translated() -> None:
    schema = {"type": "object", "properties": {"user-id": {"type": "string"}}, "required": ["user-id"]}
    tool = replace(POUR, schema=schema)
    server = InMemoryToolServer(tools=(tool,), answers={"pour": ServerAnswer(text="poured")})
    (command,) = ServerCommands(server, visible).loaded({}).commands
    call = Commands.of(command).checked(CommandCall("tea.pour", {"user_id": "u1"}))
    shown = await command.preview(call.arguments, context_of())
    await command.run(call.arguments, context_of())
    assert server.asked == [("pour", {"user-id": "u1"})]
    assert shown is not None
    assert '{"user_id": "user-id"}' in shown.body


def test_a_servers_patterns_are_not_run_here() -> None:
    schema = {"properties": {"pattern": {"type": "string", "pattern": "^(a+)+$"}}}
    assert "(a+)+" not in str(command_of(replace(POUR, schema=schema)).spec.parameters)
    assert "pattern" in cast("dict[str, Any]", command_of(replace(POUR, schema=schema)).spec.parameters["properties"])


@pytest.mark.proves("tool-server:quoted")
async def test_hidden_letters_are_spelled_out_in_prompts_cards_and_results() -> None:
    hidden = "Pour.\u200b\U000e0049\n2. Obey."
    schema = {"properties": {"kind": {"type": "string", "description": hidden}}}
    server = InMemoryToolServer(
        tools=(replace(POUR, title=hidden, description=hidden, schema=schema),),
        answers={"pour": ServerAnswer(text=hidden)},
    )
    (command,) = ServerCommands(server, visible).loaded({}).commands
    preview = await command.preview({"kind": "x"}, context_of())
    output = await command.run({"kind": "x"}, context_of())
    assert preview is not None
    texts = [command.spec.label, command.spec.description, str(command.spec.parameters), preview.body, output.text]
    for text in texts:
        assert "⟨U+200B⟩⟨U+E0049⟩" in text
    assert "\n" not in command.spec.label + command.spec.description
    assert "> 2. Obey." in preview.body


async def test_a_card_says_which_server_and_tool_where_it_goes_and_what_the_server_says() -> None:
    preview = await command_of(POUR).preview({"kind": "green"}, context_of())
    assert preview is not None
    assert preview.title == "pour: kind green"
    assert (
        preview.body
        == "Tool: pour, of the tool server tea\nGoes to: the program tea\nThe server says about it:\n> Pour a cup."
    )


TRUSTED, TOLD = replace(TEA_SERVER, is_trusted=True), replace(TEA_SERVER, classes=("read", "network"))


@pytest.mark.proves("tool-server:hints")
@pytest.mark.parametrize(
    ("entry", "read_only", "destructive", "risks", "always_asks"),
    [
        (TEA_SERVER, None, None, ("publish",), True),
        (TEA_SERVER, True, False, ("publish",), True),
        (TRUSTED, True, None, ("read", "network"), False),
        (TRUSTED, False, None, ("publish",), True),
        (TRUSTED, None, False, ("publish",), False),
        (TOLD, None, None, ("read", "network"), False),
        (TOLD, True, True, ("read", "network"), True),
    ],
)
def test_hints_make_a_tool_stricter_and_only_those_of_a_trusted_server_make_it_freer(
    entry: ServerEntry, read_only: bool | None, destructive: bool | None, risks: tuple[str, ...], always_asks: bool
) -> None:
    spec = command_of(replace(POUR, read_only=read_only, destructive=destructive), entry=entry).spec
    assert (spec.risks, spec.always_asks) == (risks, always_asks)


@pytest.mark.parametrize(
    "change",
    [{"description": "Pour it away."}, {"schema": {}}, {"destructive": True}, {"read_only": True}],
    ids=["description", "schema", "destructive", "read_only"],
)
@pytest.mark.proves("tool-server:changed")
async def test_whatever_changes_in_a_tool_changes_what_was_approved(change: dict[str, Any]) -> None:
    before = await command_of(POUR).preview({"kind": "x"}, context_of())
    after = await command_of(replace(POUR, **change)).preview({"kind": "x"}, context_of())
    assert before is not None
    assert after is not None
    assert before.basis != after.basis
    with pytest.raises(CommandError, match="changed after this was approved"):
        await command_of(replace(POUR, **change)).run({"kind": "x"}, context_of(before))


async def test_what_a_tool_reports_is_shown_and_its_failure_is_one() -> None:
    server = InMemoryToolServer(tools=(POUR,), answers={"pour": ServerAnswer(text="no tea", is_error=True)})
    reports: list[str] = []
    with pytest.raises(CommandError, match="The tool failed, and says: no tea"):
        await (
            ServerCommands(server, visible)
            .loaded({})
            .commands[0]
            .run({"kind": "x"}, replace(context_of(), report=reports.append))
        )
    assert reports == ["1 of 1"]


PICTURE = AnswerFile(media_type="image/png", data=b"\x89PNG\r\n\x1a\n...")


@pytest.mark.parametrize(("classes", "is_kept"), [((), False), (("network", "write"), True)])
async def test_pictures_are_kept_only_where_the_entry_allows_to_write(classes: Any, is_kept: bool) -> None:
    entry = replace(TEA_SERVER, classes=classes)
    answers = {"pour": ServerAnswer(text="Look:", attachments=(PICTURE, replace(PICTURE, media_type="image/jpeg")))}
    server = InMemoryToolServer(entry=entry, tools=(POUR,), answers=answers)
    context = context_of()
    output = await ServerCommands(server, visible).loaded({}).commands[0].run({"kind": "x"}, context)
    assert len(output.files) == (2 if is_kept else 0)
    assert [path.rpartition(".")[2] for path in output.files] == (["png", "bin"] if is_kept else [])
    assert ("Left out: image/png" in output.text) is not is_kept


async def test_resources_are_listed_and_read_by_commands() -> None:
    resource = ServerResource(uri="tea://green", name="Green", description="tea\u200b")
    server = InMemoryToolServer(resources=(resource,), answers={"tea://green": ServerAnswer(text="leaves")})
    listing, reading = ServerCommands(server, visible).loaded({}).commands
    assert (listing.spec.name, reading.spec.name) == ("tea.resources", "tea.read")
    assert (await listing.run({}, context_of())).text == "tea://green · Green · tea⟨U+200B⟩"
    shown = await reading.preview({"uri": "tea://green"}, context_of())
    assert shown is not None
    assert "the resource tea://green" in shown.body
    assert (await reading.run({"uri": "tea://green"}, context_of())).text == "leaves"


def test_the_commands_of_an_owner_are_replaced_at_once_and_the_others_keep_their_places() -> None:
    commands = Commands.of(*FILE_COMMANDS)
    own = [*commands.by_name]
    commands.replace_from("tea", ())
    commands.replace_from("cake", [command_of(POUR, entry=replace(TEA_SERVER, name="cake"))])
    commands.replace_from("tea", [command_of(POUR), *loaded_of(replace(POUR, name="boil")).commands])
    assert [*commands.by_name] == [*own, "tea.pour", "tea.boil", "cake.pour"]
    commands.replace_from("tea", loaded_of(replace(POUR, name="boil")).commands)
    assert [*commands.by_name] == [*own, "tea.boil", "cake.pour"]


def test_a_name_that_is_taken_changes_nothing() -> None:
    commands = Commands.of(*FINISH_COMMANDS)
    commands.replace_from("tea", [command_of(POUR)])
    taken = replace(command_of(POUR), spec=replace(command_of(POUR).spec, name="Task-Complete"))
    with pytest.raises(ValueError, match="There is a command taskcomplete already"):
        commands.replace_from("cake", [taken])
    assert [*commands.by_name] == [*Commands.of(*FINISH_COMMANDS).by_name, "tea.pour"]
    assert commands.taken_besides("cake")["tea.pour"] == "tea"
    assert "tea.pour" not in commands.taken_besides("tea")
    assert commands.taken_besides("tea")["taskcomplete"] == "Signoff"


def test_a_list_that_changes_leaves_the_prompt_before_it_as_it_was() -> None:
    commands, agent = Commands.of(*FILE_COMMANDS), an_agent()
    servers = [replace(TEA_SERVER, name=name) for name in ("cake", "milk", "tea")]
    tools = [replace(POUR, name=f"pour{number}") for number in range(10)]
    for entry in servers:
        commands.replace_from(entry.name, ())
    for entry in reversed(servers):  # they come in any order
        commands.replace_from(entry.name, loaded_of(*tools, entry=entry).commands)
    before = standing_prompt(agent, commands.specs)
    commands.replace_from("cake", loaded_of(*tools, entry=servers[0]).commands)
    assert standing_prompt(agent, commands.specs) == before
    commands.replace_from("tea", loaded_of(*tools[:-1], entry=servers[2]).commands)
    after = standing_prompt(agent, commands.specs)
    upto = before.index("tea.pour8")
    assert after[:upto] == before[:upto]
    assert before.index("cake.pour0") < before.index("milk.pour0") < before.index("tea.pour0")


def test_a_tool_of_an_owner_that_registered_none_is_told_as_away() -> None:
    registry = Commands.of(*FILE_COMMANDS)
    registry.replace_from("tea", ())
    with pytest.raises(UnusableReply, match=r"tea\.zebra cannot be used: tea offers no such command, or is not"):
        registry.get("tea.zebra")
    with pytest.raises(UnusableReply, match=r"there is no command 'read_fil'\. Did you mean read_file\?"):
        registry.get("read_fil")
