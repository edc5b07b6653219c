"""The policy of a channel on every surface: only who it names approves, by the platforms' own ids of people and groups."""

from pathlib import Path

import pytest

from agent_core.testing.language_model import ScriptedModel
from tests.scenario.chat import writing
from tests.scenario.member import GuildChat
from tests.scenario.surfaces import Name, Scene, opened
from tests.scenario.team import SlackChat
from tests.scenario.test_signed_off import WAIT, clerk, on_each_surface

ONLY_THE_MAKER = "!policy channel approvers owner"


def script() -> ScriptedModel:
    return ScriptedModel(WAIT, writing("notes.md", "one\n"), WAIT)


async def _settle(scene: Scene, line: str, change: str) -> None:
    """Set the policy before the card of the file."""
    ana = await clerk(scene)
    waiting = await ana.asks("do_nothing")
    await ana.says(line)
    assert await ana.sees(f"@ana set the policy of this channel: {change}.")
    await waiting.press("Approve")


@pytest.mark.proves("channel-policy:approvers")
@on_each_surface("two people", slow=("web",))
async def test_only_who_the_policy_names_approves(surface: Name, tmp_path: Path) -> None:
    async with opened(surface, script(), tmp_path) as scene:
        await _settle(scene, ONLY_THE_MAKER, "who may approve: any full member → who made the agent")
        card, ben = await scene.ana.asks("write_to_file"), await scene.join("ben", "member")
        theirs = await ben.asks("write_to_file")
        await theirs.press("Approve")
        assert await ben.told("may not approve here: in this channel who made the agent may.")
        await ben.says("!policy channel approvers anyone")
        assert await ben.told("may not set the policy of this channel: who made the agent and @ana may.")
        await card.press("Approve")
        await scene.ana.asks("do_nothing")
        assert await scene.ana.file("notes.md") == "one\n"


@pytest.mark.proves("channel-policy:approvers")
async def test_a_group_of_slack_approves_and_who_leaves_it_does_not(tmp_path: Path) -> None:
    async with opened("slack-http", script(), tmp_path) as scene:
        ana = scene.ana
        assert isinstance(ana, SlackChat)
        office = ana.office
        leads = office.team.group("S1", "leads", [office.ben])
        await _settle(scene, "!policy channel approvers <!subteam^S1>", "who may approve: any full member → @leads")
        card, ben = await ana.asks("write_to_file"), await scene.join("ben", "member")
        await card.press("Approve")
        assert await ana.told("You may not approve here: in this channel @leads may.")
        await (await ben.asks("write_to_file")).press("Approve")
        waiting = await ben.asks("do_nothing")
        assert await ana.file("notes.md") == "one\n"
        leads["users"] = []
        scene.stage.fake_clock.leap(90) if hasattr(scene.stage.clock, "leap") else None
        scene.stage.surface  # noqa: B018
        await waiting.press("Approve")


@pytest.mark.proves("channel-policy:approvers")
async def test_a_name_that_somebody_chose_is_no_approver(tmp_path: Path) -> None:
    async with opened("slack-http", script(), tmp_path) as scene:
        ana = await clerk(scene)
        await ana.asks("do_nothing")
        for line in ("!policy channel approvers ben", "!policy channel approvers @ben"):
            await ana.says(line)
            assert await ana.told("does not say for certain who is meant")
        await ana.says("!policy channel approvers <!subteam^S9>")
        assert await ana.told("name this group: it was deleted or disabled in Slack.")


@pytest.mark.proves("channel-policy:approvers")
async def test_a_role_of_discord_approves(tmp_path: Path) -> None:
    async with opened("discord", script(), tmp_path) as scene:
        ana = scene.ana
        assert isinstance(ana, GuildChat)
        role = ana.guild.role("leads")
        await _settle(scene, f"!policy channel approvers <@&{role}>", "who may approve: any full member → @leads")
        card, ben = await ana.asks("write_to_file"), await scene.join("ben", "member")
        assert isinstance(ben, GuildChat)
        theirs = await ben.asks("write_to_file")
        await theirs.press("Approve")
        assert await ben.told("in this channel @leads may.")
        ana.guild.give(role, ben.person)
        await theirs.press("Approve")
        await ben.asks("do_nothing")
        assert await ana.file("notes.md") == "one\n"
        del card
