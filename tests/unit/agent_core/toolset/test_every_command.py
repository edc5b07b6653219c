"""Whatever a model writes into its arguments, every command answers with a sentence and never breaks the loop."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

import pytest

from agent_core.assembly import Core
from agent_core.capabilities.capability import Capability, CommandParts
from agent_core.capabilities.media.capability import MediaCapability
from agent_core.capabilities.posts.capability import PostCapability
from agent_core.capabilities.programs.capability import ProgramCapability
from agent_core.capabilities.web.capability import WebCapability
from agent_core.errors import CommandError, ModelError, UnusableReply
from agent_core.model.command import CommandCall
from agent_core.ports.web import Web
from agent_core.spending.spending_tracker import SpendingTracker
from agent_core.testing.examples import an_agent, keep
from agent_core.testing.language_model import ScriptedModel
from agent_core.testing.media import FakeImages, FakeSpeech, FakeTranscriber
from agent_core.testing.sandbox import RecordingSandbox
from agent_core.testing.stage import Stage
from agent_core.testing.web import InMemoryWeb
from agent_core.toolset.registry import Command, CommandContext, Commands
from bot.capabilities import Capabilities
from bot.settings import Settings
from docs.reference.generate import every_command

NAMES = sorted(every_command().by_name)
TEXTS = ("", " ", "x", "../../etc/passwd", "/etc/passwd", "a\0b", "\udcff", "💥" * 400, "http://127.0.0.1/", "-rf", "2")
NUMBERS = (-1, 0, 1, 10**18)
WRONG: tuple[object, ...] = (None, 1.5, True, [], [None], {}, {"a": 1})


class Nobody:
    """Posts nothing."""

    label = "nobody"

    async def post(self, text: str) -> str:
        """Refuse."""
        raise CommandError("Nobody posts here.")


def parts_of(core: Core) -> CommandParts:
    """What a core gives its commands."""
    return CommandParts(
        database=core.database,
        clock=core.clock,
        memory=core.memory,
        helpers=core.helpers,
        metered_model=core.metered_model,
    )


async def everything(web: Web | None = None) -> tuple[Commands, CommandContext]:
    """Every command, switched on, with doubles of all that it reaches."""
    stage = Stage(model=ScriptedModel())
    agent = an_agent()
    await keep(stage.database, agent)
    capabilities = Capabilities.of(Settings(allow_downloads=True))
    doubles: Mapping[type[Capability], Mapping[str, Any]] = {
        WebCapability: {"web": web or InMemoryWeb(), "search": Nobody(), "git_fault": str},
        ProgramCapability: {"sandbox": RecordingSandbox(workspaces=stage.workspaces), "off": ""},
        MediaCapability: {"images": FakeImages(), "transcriber": FakeTranscriber(), "voice": FakeSpeech()},
        PostCapability: {"publisher": Nobody()},
    }
    every = tuple(
        replace(cast("Any", each), **doubles[kind]) if (kind := type(each)) in doubles else each
        for each in capabilities.every
    )
    capabilities = replace(capabilities, every=every)
    commands = capabilities.commands(parts_of(stage.core))
    context = CommandContext(agent=agent, files=stage.workspaces.of(agent), tracker=SpendingTracker())
    await context.files.write("a.txt", b"one\n")
    return commands, context


async def answered(command: Command, arguments: Mapping[str, object], context: CommandContext) -> str:
    """What preview and run say of it; any other error than those a model is told of fails the test."""
    try:
        await command.preview(arguments, context)
        return (await command.run(arguments, context)).text
    except (CommandError, ModelError) as told:
        return str(told)


@pytest.mark.slow
@pytest.mark.proves("commands:sentence")
@pytest.mark.parametrize("name", [name for name in NAMES if name != "google"])
async def test_any_text_gets_an_answer(name: str) -> None:
    commands, context = await everything()
    command = commands.by_name[name]
    properties = cast("Mapping[str, Mapping[str, Any]]", command.spec.parameters["properties"])
    kinds = {each: str(schema.get("type", "string")) for each, schema in properties.items()}
    for given in (*TEXTS, *NUMBERS):
        fitting = "integer" if isinstance(given, int) else "string"
        arguments = {each: given if kind == fitting else {"integer": 1, "array": []}.get(kind, "a.txt")
                     for each, kind in kinds.items()}  # fmt: skip
        said = await answered(command, arguments, context)
        assert isinstance(said, str)
        assert "Traceback" not in said


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_arguments_of_a_wrong_type_are_told_before_anybody_is_asked(name: str) -> None:
    commands = Commands.of(*(each.switched("") for each in every_command().by_name.values()))
    spec = commands.get(name).spec
    required = cast("list[str]", spec.parameters.get("required", []))
    lists = name == "improve_code"  # suggestions are a list, or one string
    for wrong in [wrong for wrong in WRONG if required and not (lists and wrong == [])]:
        with pytest.raises(UnusableReply, match=name):
            commands.checked(CommandCall(name, dict.fromkeys(required, wrong)))
    with pytest.raises(UnusableReply, match=name):
        commands.checked(CommandCall(name, {**dict.fromkeys(required, "x"), "no such argument": 1}))


def test_schemas_hold_nothing_but_rules_and_the_meaning_of_arguments() -> None:
    schemas = [command.spec.parameters for command in every_command().by_name.values()]
    assert {name for schema in schemas for name in schema} == {"type", "properties", "required", "additionalProperties"}
