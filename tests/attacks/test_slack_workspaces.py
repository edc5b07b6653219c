"""Using the operator's keys and tools from a Slack workspace that the operator does not know."""

import pytest

from adapters.slack.install.installations import InstallationStore, WorkspaceInstall
from agent_core.model.origin import ChannelScope
from agent_core.testing.clock import FakeClock
from agent_core.testing.database import TemporaryDatabase
from agent_core.toolset.channel_tools import load_tool_switches
from tests.attacks.rows import attack

STRANGERS = WorkspaceInstall(workspace="T66", team_name="Eve", bot_token="xoxb-66", bot_user="U66")
SECRET = "client-secret"


@attack("approval", "Using the Slack app from a workspace that the operator does not know", "it is not installed there")
@pytest.mark.proves("slack:allowed")
async def test_an_unknown_workspace_is_not_served(answer: str) -> None:
    database, clock = TemporaryDatabase(), FakeClock()
    store = InstallationStore(database=database, clock=clock, client_secret=SECRET, allowed={"any": False})
    await store.keep(STRANGERS)
    named = InstallationStore(database=database, clock=clock, client_secret=SECRET, allowed={"T1": True})
    assert (await named.get("T66"), await named.every()) == (None, ()), answer


@attack("approval", "Calling the operator's tools from a workspace that installed the Slack app", "tools are off there")
@pytest.mark.proves("slack:allowed")
async def test_tools_are_off_in_a_workspace_that_installed_itself(answer: str) -> None:
    database = TemporaryDatabase()
    store = InstallationStore(database=database, clock=FakeClock(), client_secret=SECRET, allowed={"any": False})
    await store.keep(STRANGERS)
    async with database.begin() as work:
        switches = await load_tool_switches(work, ChannelScope("slack", "T66", "C1"))
    assert not switches.turn_on(["crm"]).is_source_on("crm"), answer
