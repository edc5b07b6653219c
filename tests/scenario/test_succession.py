"""The owner, who alone decided, leaves the team: a click of another full member counts, as the platform tells."""

from pathlib import Path

import pytest

from agent_core.testing.language_model import ScriptedModel
from tests.scenario.chat import writing
from tests.scenario.member import pressed
from tests.scenario.slack_app import Office, at_work
from tests.scenario.test_discord import scene

pytestmark = pytest.mark.slow

WRITE = writing("notes.md", "one\n")


@pytest.mark.proves("rights:succession")
async def test_a_deactivated_owner_in_slack_is_followed_by_any_full_member(tmp_path: Path) -> None:
    async with Office.opened() as office, at_work(office, ScriptedModel(WRITE), tmp_path):
        await office.ana.types("/agent", "new", office.general)
        form = await office.form(office.ana, "New agent")
        filled = {"Name": "Clerk", "Role": "keeps notes", "Goals": "Write notes", "Who may approve": "Only me"}
        await office.ana.submits(form, filled)
        card = await office.card(1)
        await office.ben.clicks(card, "Approve")
        await office.told(office.ben, "only @ana decides for Clerk.")
        await office.ana.become("deleted")
        await office.ben.clicks(card, "Approve")
        await office.card(1, "approved by @ben")
        await office.said("@ben took over: @ana is no longer a full member here; who may approve: anyone here.")


@pytest.mark.proves("rights:succession")
async def test_an_owner_who_left_the_discord_server_is_followed_by_any_full_member(tmp_path: Path) -> None:
    async with scene(tmp_path, WRITE) as play:
        ben = play.guild.person("ben")
        await play.made()
        card = await play.ana.asks("write_to_file")
        await play.ana.says("!policy approvers owner")
        await pressed(ben, card.message, "Approve")
        await play.guild.env.settle()
        assert (await play.running.agent()).policy.approvers == "owner"
        play.guild.server.remove_member(play.ana.person)
        play.running.side.surface.members.known.clear()  # a minute later
        await pressed(ben, card.message, "Approve")
        await play.guild.message("approved by @ben")
        await play.guild.message("@ben took over: @ana is no longer a full member here")


@pytest.mark.proves("rights:succession")
async def test_an_owner_who_may_not_write_for_a_minute_has_not_left_the_discord_server(tmp_path: Path) -> None:
    async with scene(tmp_path, WRITE) as play:
        await play.made()
        card = await play.ana.asks("write_to_file")
        await play.ana.says("!policy approvers owner")
        owner = play.guild.env.backend.get_member(play.guild.server.id, play.ana.person.id)
        owner.timed_out_until = "2099-01-01T00:00:00+00:00"
        play.guild.env.backend.announce_member_update(play.guild.server.id, play.ana.person.id)
        play.running.side.surface.members.known.clear()  # a minute later
        await pressed(play.guild.person("ben"), card.message, "Approve")
        await play.guild.env.settle()
        assert (await play.running.agent()).policy.approvers == "owner"
