"""A helper in Discord never has the name of a member, also of one whom Signoff has not met."""

from pathlib import Path

import pytest

from agent_core.capabilities.agents.commands import AgentCommands
from agent_core.testing.language_model import ScriptedModel, reply_text
from tests.scenario.chat import writing
from tests.scenario.discord_app import Guild, at_work
from tests.scenario.member import GuildChat

START = reply_text("start_agent", {"name": "Ben", "task": "Find strings", "prompt": ""})


@pytest.mark.slow
@pytest.mark.proves("speaker:helper-name")
async def test_a_line_to_a_silent_member_is_for_no_helper(tmp_path: Path) -> None:
    model = ScriptedModel(START, writing("x.md", "x"), writing("y.md", "y"), waits=True)
    async with Guild.opened() as guild, at_work(guild, model, tmp_path) as running:
        guild.person("ben")
        ana = GuildChat(guild, running, guild.person("ana"))
        for command in AgentCommands(running.stage.helpers).commands:
            running.stage.commands.register(command)
        await ana.new_agent("Clerk", "keeps notes", "Write notes")
        await (await ana.asks("start_agent")).press("Approve")
        await guild.message("helper-Ben")
        [helper] = await running.stage.helpers.of(await running.agent())
        assert helper.name == "helper-Ben"
