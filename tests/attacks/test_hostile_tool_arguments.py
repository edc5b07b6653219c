"""Schemas of arguments, by which each call is checked before any card, that would hold up the loop."""

from collections.abc import Mapping
from typing import Any

import pytest

from adapters.screens.visible_text import visible
from agent_core.capabilities.tool_servers.server_commands import ServerCommands
from agent_core.errors import UnusableReply
from agent_core.model.command import CommandCall
from agent_core.ports.tool_servers import ServerAnswer, ServerTool
from agent_core.testing.tool_servers import InMemoryToolServer
from agent_core.toolset.registry import Command, Commands
from tests.attacks.bare_tool_servers import heartbeat
from tests.attacks.rows import attack

LONGEST_PAUSE = 0.1


def pour(schema: Mapping[str, object]) -> Command:
    tool = ServerTool(name="pour", schema={"type": "object", "properties": {"a": schema}})
    server = InMemoryToolServer(tools=(tool,), answers={"pour": ServerAnswer(text="poured")})
    return ServerCommands(server, visible).loaded({}).commands[0]


def unevaluated(depth: int) -> dict[str, Any]:
    """A schema of a few hundred letters, for which the check takes three times as long with each level."""
    schema: dict[str, Any] = {"properties": {"x": {}}}
    for _ in range(depth):
        schema = {"allOf": [schema], "unevaluatedProperties": False}
    return schema


UNIQUE = {"type": "array", "uniqueItems": True}
CHOICES = {"type": "array", "items": {"anyOf": [{"type": "integer"} for _ in range(300)]}}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("schema", "given"),
    [
        pytest.param(
            unevaluated(16),
            {"x": 1},
            marks=attack("servers", "`unevaluatedProperties` in 16 levels", "not checked here"),
        ),
        pytest.param(
            UNIQUE,
            [{"x": number} for number in range(1_000)],
            marks=attack("servers", "`uniqueItems` of a thousand objects", "not checked here"),
        ),
        pytest.param(
            CHOICES, ["x"] * 10_000, marks=attack("servers", "300 choices for each of 10,000 values", "takes too long")
        ),
    ],
)
async def test_the_check_of_a_call_does_not_hold_up_the_loop(
    schema: dict[str, Any], given: object, answer: str
) -> None:
    commands = Commands.of(pour(schema))
    with pytest.raises(UnusableReply):
        commands.checked(CommandCall("tea.pours", {}))  # imports what it needs
    with heartbeat() as beat:
        refused = ""
        try:
            commands.checked(CommandCall("tea.pour", {"a": given}))
        except UnusableReply as long:
            refused = str(long)
    assert (answer in refused) == bool(refused)
    assert beat.longest < LONGEST_PAUSE
