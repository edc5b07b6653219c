"""The schema of a reply says of each command what its own parameters say."""

import json

import pytest

from agent_core.model.command import CommandSpec
from agent_core.replies.reading import reply_schema
from agent_core.toolset.arguments import argument_faults


def choosing(value: object) -> CommandSpec:
    """A command whose only argument has to be this value."""
    parameters = {"type": "object", "properties": {"level": {"enum": [value]}}}
    return CommandSpec(
        name="server.set", label="Set", description="Set it.", parameters=parameters, risks=("write",), category="tools"
    )


@pytest.mark.parametrize("value", [1, True, 1.0])
def test_a_command_that_a_server_changed_is_described_as_it_is_now(value: object) -> None:
    for before in (True, 1.0, 1):  # equal to Python
        reply_schema([choosing(before)])
    assert f'"enum": [{json.dumps(value)}]' in json.dumps(reply_schema([choosing(value)]))
    assert argument_faults(choosing(value), {"level": value}) == []
