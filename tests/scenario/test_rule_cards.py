"""Always allow… on the cards of Slack and Discord: from a proposal to a rule that covers the next one."""

from pathlib import Path

import pytest
from simcord.results import InteractionResult

from agent_core.model.channel_policy import OWNER, Approver
from agent_core.model.origin import Origin
from agent_core.testing.language_model import ScriptedModel
from tests.scenario.chat import ShownCard, writing
from tests.scenario.discord_app import ESCAPED, walked
from tests.scenario.discord_app import text_of as text_of_guild
from tests.scenario.member import GuildChat, GuildForm, fields_of, menus_of, pressed, submitted
from tests.scenario.slack_app import text_of
from tests.scenario.surfaces import Name, Scene, opened
from tests.scenario.team import SlackChat
from tests.scenario.test_signed_off import clerk, on_each_surface
from tests.unit.agent_core.service.test_channel_policy import approvers

EXACT = '1. Always allow write_to_file with filename is "docs/1.txt" and text is "one" for Clerk.'
WIDER = "2. Always allow write_to_file with filename in docs/** (any text) for Clerk."
PAST = "It would have covered turn 1 (docs/0.txt · +1 −0)."
SAVED = "Saved: Always allow write_to_file with filename in docs/** (any text) for Clerk, 2 more times. It would have"
WAITS = "The open card still waits."


def script() -> ScriptedModel:
    return ScriptedModel(*(writing(f"docs/{number}.txt", "one") for number in range(4)), writing("other.txt", "one"))


async def second_card(scene: Scene) -> ShownCard:
    """The card after one that was approved; only who made the agent approves now, and Ben is refused."""
    ana = await clerk(scene)
    await (await ana.asks("write_to_file")).press("Approve")
    card = await ana.asks("write_to_file")
    origin = Origin(by=(await scene.agent()).owner, channel=scene.channel)
    await scene.stage.agent_settings.set_channel_policy(approvers(Approver(OWNER)), origin)
    ben = await scene.join("ben", "member")
    await (await ben.asks("write_to_file")).press("Always allow…")
    assert await ben.told("in this channel who made the agent may.")
    return card


@pytest.mark.slow
@pytest.mark.proves("rules:card")
async def test_a_card_of_slack_leads_to_a_rule_that_covers_the_next_proposal(tmp_path: Path) -> None:
    async with opened("slack-http", script(), tmp_path) as scene:
        card, ana = await second_card(scene), scene.ana
        assert isinstance(ana, SlackChat)
        await card.press("Always allow…")
        view = await ana.office.form(ana.person, "Always allow")
        shown = text_of(view)
        assert shown.index(EXACT) < shown.index(WIDER) < shown.index(PAST) < shown.index(WAITS)
        sent = await ana.person.submits(view, {"Always allow": "Rule 2", "Until": "tomorrow"})
        assert list((sent.body or {})["errors"].values()) == [
            "A day such as 2026-12-24, or 2026-12-24 18:00 in UTC, or nothing."
        ]
        await ana.person.submits(view, {"For how many commands": "2", "Until": ""})
        said = text_of(await ana.office.form(ana.person, "Always allow"))
        assert (SAVED in said, "!rules revoke" in said, WAITS in said) == (True, True, True)
        await card.press("Approve")
        assert "other.txt" in (await ana.asks("write_to_file")).text
        (rule,) = await scene.stage.rules.list_rules(scene.channel)
        assert (rule.uses, rule.left, rule.by.id) == (2, 0, ana.person.id)


@pytest.mark.proves("rules:habits")
@on_each_surface(slow=("web",))
async def test_what_was_approved_each_time_is_suggested_to_who_may_approve(surface: Name, tmp_path: Path) -> None:
    model = ScriptedModel(*[writing("notes.md", f"{number}\n") for number in range(6)])
    async with opened(surface, model, tmp_path) as scene:
        ana = await clerk(scene)
        for _ in range(5):
            await (await ana.asks("write_to_file")).press("Approve")
        await ana.asks("write_to_file")
        await ana.says("!rules")
        assert await ana.told("write_to_file was approved 5 of 5 times here.")
        assert await ana.told("write_to_file filename in *.md")
        await ana.says("!rules allow write_to_file filename in *.md")
        assert await ana.told("Saved: Always allow write_to_file with filename in *.md")


@pytest.mark.slow
@pytest.mark.proves("rules:card")
async def test_a_card_of_discord_leads_to_a_rule_and_a_refused_form_opens_as_it_was(tmp_path: Path) -> None:
    async with opened("discord", script(), tmp_path) as scene:
        card, ana = await second_card(scene), scene.ana
        assert isinstance(ana, GuildChat)
        form = await card.opens("Always allow…")
        assert isinstance(form, GuildForm)
        shown = form.shown
        said = said_in(shown)
        assert said.index(EXACT) < said.index(WIDER) < said.index(PAST) < said.index(WAITS)
        wider = {"suggested": [menus_of(shown)["always allow"]["options"][1]["value"]]}
        limits = {"until": "tomorrow", "for how many commands": "2"}
        refused = await submitted(ana.person, shown, limits, wider)
        assert refused.response
        assert "A day such as 2026-12-24" in text_of_guild(refused.response.message)
        again = await pressed(ana.person, refused.response.message, "Always allow…")
        options = menus_of(again)["always allow"]["options"]
        assert [option["label"] for option in options if option.get("default")] == ["Rule 2"]
        assert fields_of(again)["for how many commands"] == "2"
        saved = await submitted(ana.person, again, {"until": ""}, wider)
        assert saved.response
        assert saved.ephemeral
        assert [text for text in (SAVED, WAITS) if text not in text_of_guild(saved.response.message)] == []
        await card.press("Approve")
        assert "other.txt" in (await ana.asks("write_to_file")).text
        (rule,) = await scene.stage.rules.list_rules(scene.channel)
        assert (rule.uses, rule.left) == (2, 0)


def said_in(shown: InteractionResult) -> str:
    """What stands above and in a form."""
    return "\n".join(ESCAPED.sub(r"\1", part.get("content") or "") for part in walked(shown.modal or {}))
