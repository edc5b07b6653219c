"""Faults that plugins and tool servers have while Signoff runs, as `signoff doctor` reads them afterwards."""

import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from agent_core.capabilities.tool_servers.mcp_server import McpServer
from agent_core.ports.tool_servers import LocalProgram, ServerEntry, ToolSource
from agent_core.providers.clock import SystemClock
from agent_core.testing.clock import FakeClock
from bot.findings.tool_faults import FILE, ToolFaults, faults_finding, faults_kept, read_faults
from bot.settings import Settings, load

pytestmark = pytest.mark.proves("tools:faults")
DYING = "import sys; sys.stderr.write('no licence\\u202e for ' + __import__('os').environ['TEA_KEY']); sys.exit(3)"


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    plugins = tmp_path / "plugins"
    plugins.mkdir()
    return load({"SIGNOFF_HOME": str(tmp_path), "PLUGINS_DIR": str(plugins)}, None)


class Sources:
    """A plugin and a server that a test gives faults."""

    def __init__(self, settings: Settings) -> None:
        self.plugin, self.server = "", ""
        self.remarks: tuple[str, ...] = ("a line is left out",)
        self.faults = ToolFaults(path=settings.home / FILE, list_sources=self.list, clock=FakeClock())

    def list(self) -> tuple[ToolSource, ...]:
        return (
            ToolSource(name="counter", kind="plugin", place="here", fault=self.plugin, remarks=self.remarks),
            ToolSource(name="tea", kind="tool server", place="here", fault=self.server),
        )

    async def save(self) -> None:
        self.faults.known = self.faults.known or {"counter": frozenset(self.remarks)}
        await self.faults.save()


async def test_what_works_leaves_nothing(settings: Settings) -> None:
    await Sources(settings).save()
    assert faults_finding(settings) is None
    assert not (settings.home / FILE).exists()


async def test_a_fault_is_named_with_its_time_and_gone_when_the_source_works_again(settings: Settings) -> None:
    sources = Sources(settings)
    sources.plugin, sources.server = "ValueError while observing", "away: it ended"
    await sources.save()
    finding = faults_finding(settings)
    assert finding is not None
    assert (finding.state, finding.name) == ("warn", "tool faults")
    assert "plugin counter: ValueError while observing (since 20" in finding.why
    assert "tool server tea: it ended (since 20" in finding.why
    sources.server = "connecting: it ended"
    await sources.save()
    assert "tea" in read_faults(settings.home / FILE)
    sources.server = ""
    await sources.save()
    assert [*read_faults(settings.home / FILE)] == ["counter"]


async def test_a_hook_that_is_left_out_is_a_fault_and_what_the_start_left_out_is_none(settings: Settings) -> None:
    sources = Sources(settings)
    await sources.save()
    sources.remarks = (*sources.remarks, "on_planning is left out: it hung")
    await sources.save()
    assert read_faults(settings.home / FILE)["counter"]["fault"] == "on_planning is left out: it hung"


async def test_what_a_server_leaves_out_as_it_is_connected_is_no_fault_and_what_comes_later_is_one(
    settings: Settings,
) -> None:
    tea = ToolSource(name="tea", kind="tool server", place="here", fault="away: it ended")
    listed: list[ToolSource] = [tea]
    faults = ToolFaults(path=settings.home / FILE, list_sources=lambda: tuple(listed), clock=FakeClock())
    await faults.save()
    listed[0] = replace(tea, fault="", remarks=("pour takes its arguments as one JSON object",))
    await faults.save()
    assert read_faults(settings.home / FILE) == {}
    listed[0] = replace(listed[0], remarks=(*listed[0].remarks, "drink is left out"))
    await faults.save()
    assert read_faults(settings.home / FILE)["tea"]["fault"] == "drink is left out"


async def test_a_fault_keeps_its_time_and_that_of_a_source_that_is_gone_is_forgotten(settings: Settings) -> None:
    kept = {"kind": "tool server", "fault": "it ended", "at": "2020-01-01 00:00 UTC"}
    (settings.home / FILE).write_text(json.dumps({"tea": kept, "coffee": kept}))
    sources = Sources(settings)
    sources.server = "away: it ended"
    await sources.save()
    assert read_faults(settings.home / FILE) == {"tea": kept}


async def test_what_is_said_is_one_bounded_line_with_hidden_letters_spelled_out(settings: Settings) -> None:
    sources = Sources(settings)
    sources.server = f"away: it\n\u202e{'x' * 10_000}"
    await sources.save()
    fault = read_faults(settings.home / FILE)["tea"]["fault"]
    assert len(fault) == 400
    assert "\n" not in fault
    assert "\u202e" not in fault


@pytest.mark.parametrize("text", ["", "[]", '{"tea": 1}', '{"tea": {"fault": 1}}', "[" * 100_000])
def test_a_file_that_is_none_names_nothing(settings: Settings, text: str) -> None:
    (settings.home / FILE).write_text(text)
    assert faults_finding(settings) is None


async def test_nothing_is_kept_without_plugins_and_servers(tmp_path: Path) -> None:
    settings = load({"SIGNOFF_HOME": str(tmp_path)}, None)
    async with faults_kept(settings, tuple, SystemClock()):
        pass
    assert faults_finding(settings) is None


async def test_a_program_that_dies_is_quoted_with_its_last_line_without_secrets() -> None:
    program = LocalProgram(command=sys.executable, args=("-c", DYING), env={"TEA_KEY": "sk-oolong-1"})
    entry = ServerEntry(name="tea", reached=program, place="python")
    why = await McpServer(entry=entry, clock=SystemClock(), seconds=20).connect_once()
    assert why == "ended, and printed last: no licence for [secret]"
