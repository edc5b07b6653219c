"""The form for a rule that a card suggests: what it offers, in full, within the limits of Slack and Discord."""

from dataclasses import replace

import pytest

from adapters.discord.outbound import forms as discord
from adapters.screens.buttons import ViewButton
from adapters.screens.forms import rule_form
from adapters.screens.visible_text import visible
from adapters.slack.outbound import forms as slack
from adapters.typed.standing_rules import Offered, RuleCommands, suggests_rules
from agent_core.errors import NotPossible
from agent_core.model.channel_policy import NO_POLICY
from agent_core.model.command import Arguments, CommandCall, Preview
from agent_core.model.decision import Policy
from agent_core.model.turn import Turn
from agent_core.testing.examples import CHANNEL, a_turn, an_agent
from agent_core.testing.stage import Stage
from tests.scenario.discord_app import ESCAPED
from tests.scenario.slack_app import text_of
from tests.standins.slack.blockkit import check_view
from tests.unit.agent_core.service.test_channel_policy import Team


async def with_arguments(stage: Stage, turn: Turn, arguments: Arguments) -> Turn:
    """The open proposal, which asks for something else from now on."""
    async with stage.database.begin() as work:
        present = await work.turns.get(CHANNEL, turn.id)
        call = CommandCall(present.call.name, arguments)
        changed = replace(present, proposal=replace(present.proposal, call=call))
        work.turns.save(changed)
        await work.commit()
    return changed


async def find_offers(arguments: Arguments) -> tuple[Turn, Offered]:
    """What the form offers for a second file, after one that a rule for its folder would have covered."""
    team = Team()
    agent, turn = await team.opened()
    await team.decide(turn, agent.owner)
    agent, turn = await team.settled(agent)
    turn = await with_arguments(team.stage, turn, arguments)
    button = ViewButton("always allow", turn.id, shown=turn.control_hash)
    return await RuleCommands(rules=team.stage.rules, views=team.stage.views).find_offers(button, team.stage.origin())


@pytest.mark.parametrize(
    ("filename", "text", "rules"),
    [
        ("docs/a.txt", "one", 2),
        ("مستندات/ملف.txt", "واحد", 2),
        ("a`b`/```.md", "```\n@here", 2),
        ("@everyone/@everyone.txt", "@everyone", 2),
        ("docs/\u202egnp.txt", "one", 1),  # not a path that can be read in one way
        ("docs/a.txt", "*" * 3000, 2),
        ("_" * 200 + "/a.txt", "`" * 300, 2),
        ("_" * 300 + "/a.txt", '"' * 490, 1),  # the exact one would be cut
    ],
)
async def test_each_offered_rule_stands_in_full_in_the_form_of_both(filename: str, text: str, rules: int) -> None:
    turn, found = await find_offers({"filename": filename, "text": text})
    form = rule_form(turn, found)
    view = slack.draw_form(form, "slack/T1/C1")
    check_view(view)
    modal = discord.draw_form(form).to_dict()
    said = "\n".join(part["content"] for part in modal["components"] if part["type"] == 10)
    words = [visible(made.rule.words) for _, made in found]
    plain = ESCAPED.sub(r"\1", said)
    assert (len(found), [each for each in words if each not in text_of(view) or each not in plain]) == (rules, [])
    assert (len(said) <= 4000, len(modal["components"]) <= 5, len(modal["custom_id"]) <= 100) == (True, True, True)
    assert "@everyone" not in said.replace("\\@everyone", "")


async def test_what_no_form_can_show_is_not_offered() -> None:
    with pytest.raises(NotPossible, match="No rule can be offered for this command"):
        await find_offers({"filename": f"{'a' * 3000}/b.txt", "text": "one"})


async def test_the_card_leads_to_rules_only_where_one_could_let_the_command_run() -> None:
    agent = an_agent()
    turn = a_turn(agent, risks=("write",))
    withdrawn = Preview(title="", body="", basis="withdrawn")
    too_long = CommandCall("write_to_file", {"filename": f"{'a' * 3000}/b"})
    closed = (
        replace(turn, always_asks=True),
        replace(turn, finishes=True),
        replace(turn, needs_two=True),
        replace(turn, state="done"),
        replace(turn, exposed=True, risks=("execute",)),
        replace(turn, proposal=replace(turn.proposal, preview=withdrawn)),
        replace(turn, proposal=replace(turn.proposal, call=too_long)),
    )
    assert suggests_rules(agent, turn)
    assert suggests_rules(agent, replace(turn, exposed=True))
    assert [each for each in closed if suggests_rules(agent, each)] == []
    assert not suggests_rules(replace(agent, policy=Policy(two=("write",))), turn)
    two = replace(NO_POLICY, needs={"write": "two"})
    assert not suggests_rules(replace(agent, read_policy=two), turn)
