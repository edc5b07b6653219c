"""The policy of a channel on every surface: only who it names approves, by ids of people, groups and roles."""

from pathlib import Path

import pytest

from adapters.typed.policies import needing
from agent_core.model.origin import Origin
from agent_core.testing.language_model import ScriptedModel
from tests.scenario.chat import ShownCard, writing
from tests.scenario.discord_app import text_of
from tests.scenario.member import GuildChat, submitted
from tests.scenario.surfaces import Name, Scene, opened
from tests.scenario.team import SlackChat
from tests.scenario.test_signed_off import WAIT, clerk, on_each_surface

APPROVERS = "!policy channel approvers"


def script() -> ScriptedModel:
    return ScriptedModel(WAIT, writing("notes.md", "one\n"), WAIT)


async def _settle(scene: Scene, line: str, change: str) -> ShownCard:
    """Set the policy while the card of the file is open; return the card."""
    ana = await clerk(scene)
    await (await ana.asks("do_nothing")).press("Approve")
    card = await ana.asks("write_to_file")
    await ana.says(line)
    assert await ana.sees(f"@ana set the policy of this channel: {change}.")
    return card


@pytest.mark.proves("channel-policy:approvers")
@on_each_surface("refused clicks")
async def test_only_who_the_policy_names_approves(surface: Name, tmp_path: Path) -> None:
    async with opened(surface, script(), tmp_path) as scene:
        card = await _settle(scene, f"{APPROVERS} owner", "who may approve: any full member → who made the agent")
        ben = await scene.join("ben", "member")
        theirs = await ben.asks("write_to_file")
        await theirs.press("Approve")
        assert await ben.told("may not approve here: in this channel who made the agent may.")
        if scene.channel.has_notifications:  # elsewhere names are no accounts
            await ben.says(f"{APPROVERS} anyone")
            assert await ben.told("may not set the policy of this channel: who made the agent and @ana may.")
        await card.press("Approve")
        await scene.ana.asks("do_nothing")
        assert await scene.ana.file("notes.md") == "one\n"


@pytest.mark.slow
@pytest.mark.proves("channel-policy:approvers")
async def test_a_group_of_slack_approves_and_who_leaves_it_does_not(tmp_path: Path) -> None:
    async with opened("slack-http", script(), tmp_path) as scene:
        ana = scene.ana
        assert isinstance(ana, SlackChat)
        office = ana.office
        leads = office.team.group("S1", "leads", [office.ben])
        card = await _settle(scene, f"{APPROVERS} <!subteam^S1>", "who may approve: any full member → @leads")
        ben = await scene.join("ben", "member")
        await card.press("Approve")
        assert await ana.told("may not approve here: in this channel @leads may.")
        await (await ben.asks("write_to_file")).press("Approve")
        waiting = await ben.asks("do_nothing")
        assert await ana.file("notes.md") == "one\n"
        leads["users"] = []
        ana.running.connection.context.directory.members.clear()  # what Signoff knew for at most a minute
        await waiting.press("Approve")
        assert await ben.told("may not approve here: in this channel @leads may.")


@pytest.mark.slow
@pytest.mark.proves("channel-policy:approvers")
async def test_a_name_that_somebody_chose_is_no_approver(tmp_path: Path) -> None:
    async with opened("slack-http", script(), tmp_path) as scene:
        ana = await clerk(scene)
        await ana.asks("do_nothing")
        for line in (f"{APPROVERS} ben", f"{APPROVERS} @ben"):
            await ana.says(line)
            assert await ana.told("does not say for certain who is meant")
        await ana.says(f"{APPROVERS} <!subteam^S9>")
        assert await ana.told("name this group: it was deleted or disabled in Slack.")


@pytest.mark.slow
@pytest.mark.proves("channel-policy:approvers")
async def test_a_role_of_discord_approves(tmp_path: Path) -> None:
    async with opened("discord", script(), tmp_path) as scene:
        ana = scene.ana
        assert isinstance(ana, GuildChat)
        role = ana.guild.server.create_role("leads")
        await _settle(scene, f"{APPROVERS} {role.mention}", "who may approve: any full member → @leads")
        ben = await scene.join("ben", "member")
        assert isinstance(ben, GuildChat)
        theirs = await ben.asks("write_to_file")
        await theirs.press("Approve")
        assert await ben.told("in this channel @leads may.")
        ana.guild.env.backend.add_member_role(ana.guild.server.id, ben.person.id, role.id)
        await theirs.press("Approve")
        await ben.asks("do_nothing")
        assert await ana.file("notes.md") == "one\n"


@pytest.mark.slow
@pytest.mark.proves("channel-policy:form")
async def test_a_form_of_slack_sets_the_policy_and_keeps_what_another_person_changed_meanwhile(tmp_path: Path) -> None:
    async with opened("slack-http", script(), tmp_path) as scene:
        ana, policies = await clerk(scene), scene.stage.agent_settings
        assert isinstance(ana, SlackChat)
        await ana.person.types("/agent", "policy channel", ana.office.general)
        view = await ana.office.form(ana.person, "Policy of this channel")
        maker = (await scene.agent()).owner
        await policies.set_channel_policy(needing("never", ("spend",)), Origin(by=maker, channel=scene.channel))
        filled = {"two": ["execute", "publish"], "makers": "No"}
        answer = await ana.person.submits(view, filled)
        assert answer.is_acknowledged
        policy = await policies.channel_policy(scene.channel)
        assert policy.needs == {"spend": "never", "execute": "two", "publish": "two"}
        assert not policy.makers_approve


@pytest.mark.slow
@pytest.mark.proves("channel-policy:form")
async def test_a_form_of_discord_sets_the_policy(tmp_path: Path) -> None:
    async with opened("discord", script(), tmp_path) as scene:
        ana = await clerk(scene)
        assert isinstance(ana, GuildChat)
        shown = await ana.person.slash(ana.guild.general, "agent policy", text="channel")
        chosen = {"two": ["publish"], "more": ["makers.off", "managers.anyone"]}
        sent = await submitted(ana.person, shown, {}, chosen)
        assert sent.response
        assert "Two people approve: publish" in text_of(sent.response.message)
        policy = await scene.stage.agent_settings.channel_policy(scene.channel)
        assert (policy.needs, policy.makers_approve, policy.managers[0].id) == ({"publish": "two"}, False, "anyone")
