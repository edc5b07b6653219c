"""What a newcomer trips over with plugins and tools is said before it happens."""

from pathlib import Path

import pytest
from pydantic import BaseModel

from agent_core.capabilities.autogpt.discovery import MAX_PARSED_BYTES, Choice, Discovery
from agent_core.toolset.registry import CommandContext, declare
from bot.capabilities import Capabilities
from bot.findings.plugins import disabled_finding
from bot.settings import load
from tests.autogpt_plugins import plugin_source


class Nothing(BaseModel):
    """No arguments."""


def brew(_given: Nothing, _context: CommandContext) -> str:
    """Brew."""
    return "tea"


@pytest.mark.parametrize("variable", ["DISABLED_COMMANDS", "DISABLED_CATEGORIES"])
def test_the_doctor_says_that_a_name_nothing_has_stops_the_start(variable: str) -> None:
    finding = disabled_finding(Capabilities.of(load({variable: "web_saerch"}, None)))
    assert finding is not None
    assert (finding.state, finding.variable) == ("fault", variable)
    assert finding.why.startswith("run does not start: 'web_saerch' is none of ")


def test_the_doctor_says_nothing_of_names_that_are_there() -> None:
    assert disabled_finding(Capabilities.of(load({"DISABLED_COMMANDS": "write_to_file"}, None))) is None


def test_a_command_that_is_no_async_function_is_refused_when_it_is_declared() -> None:
    with pytest.raises(TypeError, match=r"brew must be an async function \(async def\)"):
        declare(Nothing, brew, label="Brew", risks=("read",), category="tea")  # type: ignore[arg-type]


def test_a_source_that_is_too_big_to_parse_is_named(tmp_path: Path) -> None:
    package = tmp_path / "tea_plugin"
    package.mkdir()
    (package / "__init__.py").write_text(plugin_source())
    (package / "data.py").write_text("#" * MAX_PARSED_BYTES)
    found = Discovery(choice=Choice.of(["TeaPlugin"], []))
    found.look_into(tmp_path)
    assert found.plugins == []
    assert found.faults == ["folder tea_plugin: not looked at, as its Python files have over 5,000,000 bytes"]
