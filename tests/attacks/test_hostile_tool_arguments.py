"""A server's schema of arguments, which is run on each call before any card, holds up the loop or ends a thought."""

from collections.abc import Mapping
from typing import Any

import pytest

from adapters.visible_text import visible
from agent_core.commands.registry import Command, Commands
from agent_core.errors import UnusableReply
from agent_core.model.command import CommandCall
from agent_core.plugins.tool_servers import ServerCommands
from agent_core.ports.tool_servers import ServerAnswer, ServerTool
from agent_core.testing.tool_servers import InMemoryToolServer
from tests.attacks.heartbeat import Heartbeat

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


@pytest.mark.parametrize(
    ("schema", "given"),
    [(unevaluated(11), {"x": 1}), (UNIQUE, [{"x": number} for number in range(1_000)])],
    ids=["11 levels of unevaluatedProperties; 16 take minutes", "uniqueItems of a thousand objects"],
)
async def test_the_check_of_a_call_does_not_hold_up_the_loop(schema: dict[str, Any], given: object) -> None:
    commands = Commands.of(pour(schema))
    with pytest.raises(UnusableReply):
        commands.checked(CommandCall("tea.pours", {}))  # imports what it needs
    with Heartbeat() as beat:
        commands.checked(CommandCall("tea.pour", {"a": given}))
    assert beat.longest < LONGEST_PAUSE
