"""Classes that act on others stand out, in word, sign and colour, on every surface."""

from dataclasses import replace
from typing import Any

import pytest

from adapters.discord.outbound.draw import COLOURS, RISK_COLOURS
from adapters.screens.cards import summary_text, turn_card
from adapters.screens.risk_labels import LABELS, consequence_of, labels_of, risk_text
from adapters.screens.visible_text import visible
from adapters.slack.outbound.blocks import texts_in
from adapters.terminal.render import LEVELS, Look, card_text
from agent_core.model.command import RISK_CLASSES, Preview, RiskClass
from agent_core.model.turn import Turn
from agent_core.testing.examples import a_turn, an_agent
from agent_core.toolset.trash import KEPT, NOT_KEPT
from tests.ansi import as_ansi
from tests.discord_messages import turn_message as discord_message
from tests.slack_messages import turn_message as slack_message

NEUTRAL: tuple[RiskClass, ...] = ("read", "write", "network")
ALERTING: tuple[RiskClass, ...] = ("execute", "publish", "spend")
AGENT = an_agent()


def discord_container(turn: Turn) -> dict[str, Any]:
    container: dict[str, Any] = discord_message(AGENT, turn).view.to_components()[0]  # type: ignore[no-untyped-call]
    return container


@pytest.mark.proves("card:risk")
def test_every_class_that_stands_out_has_a_sign_an_emoji_and_colours_of_its_own() -> None:
    marked = [LABELS[risk] for risk in ALERTING]
    for marks in (
        {label.sign for label in marked},
        {label.emoji for label in marked},
        {RISK_COLOURS[label.level] for label in marked} - set(COLOURS.values()),
        {tuple(LEVELS[label.level]) for label in marked} - {tuple(LEVELS["neutral"])},
    ):
        assert len(marks) == 3
    assert all(LABELS[risk].text == risk for risk in NEUTRAL)
    assert [*LABELS] == [*RISK_CLASSES]
    assert all(visible(label.emoji + label.sign) == label.emoji + label.sign for label in marked)


@pytest.mark.proves("card:risk")
def test_a_card_of_several_classes_shows_each_and_first_what_stands_out() -> None:
    assert risk_text(labels_of(("network", "write"))) == "network + write"
    assert risk_text(labels_of(("network", "execute", "spend"))) == "🔺 execute + 🟪 spend + network"


@pytest.mark.proves("card:risk")
@pytest.mark.parametrize("risk", ALERTING)
def test_a_headline_and_a_notification_begin_with_the_class_that_stands_out(risk: RiskClass) -> None:
    turn, label = replace(a_turn(AGENT), risks=("network", risk)), LABELS[risk]
    assert turn_card(AGENT, turn).action.startswith(f"{label.emoji} {risk} · Ada wants to")
    assert summary_text(AGENT, turn).startswith(f"{label.emoji} {risk} · Ada asks to run")
    slack = slack_message(AGENT, turn)
    assert slack.text.startswith(f"{label.emoji} {risk} · ")
    assert sum(f"{label.emoji} {risk}" in text for text in texts_in(slack.blocks)) == 2
    container = discord_container(turn)
    assert container["accent_color"] == RISK_COLOURS[label.level]
    assert container["components"][0]["content"].startswith(f"**{label.emoji} {risk} · ")


@pytest.mark.parametrize("risk", NEUTRAL)
def test_a_class_that_does_not_stand_out_leaves_headline_and_colour_as_they_are(risk: RiskClass) -> None:
    turn = replace(a_turn(AGENT), risks=(risk,))
    assert turn_card(AGENT, turn).action == "Ada wants to run write_file “poem.txt”"
    assert discord_container(turn)["accent_color"] == COLOURS["open"]


@pytest.mark.proves("card:risk")
def test_a_terminal_tells_classes_apart_with_colour_and_without() -> None:
    turn = replace(a_turn(AGENT), risks=("network", "execute", "publish", "spend"))
    assert str(card_text(AGENT, turn, Look())).splitlines()[-1] == "▲ execute + ◆ publish + ■ spend + network"
    coloured = as_ansi(card_text(AGENT, turn, Look(colour=True))).splitlines()[-1]
    assert coloured.startswith("\x1b[1;33m▲ execute\x1b[0m + \x1b[1;34m◆ publish\x1b[0m + \x1b[1;35m■ spend\x1b[0m")


@pytest.mark.parametrize(("command", "risks", "source", "shown", "told"), [
    ("execute_shell", ("execute",), "", "", "Runs a program in the sandbox, on its own files."),
    ("run", ("execute",), "server 1.0", "", ""),
    ("run", ("execute", "spend"), "server 1.0", "", "May cost extra."),
    ("message_agent", ("spend",), "", "", "May cost extra."),
    ("send_tweet", ("publish",), "", "", "Leaves the team. Signoff cannot take it back."),
    ("look", ("network", "publish"), "server 1.0", "", "May leave the team. Signoff cannot take it back."),
    ("delete_file", ("delete",), "", KEPT, "The file stays in the trash for up to 30 days."),
    ("delete_file", ("delete",), "", NOT_KEPT, ""),
    ("delete_file", ("delete",), "server 1.0", KEPT, ""),
    ("memory_forget", ("delete",), "", KEPT, ""),
    ("write_to_file", ("write",), "", "", "Stays inside the team."),
    ("fetch", ("write", "network"), "", "", "Fetches from the internet."),
    ("fetch", ("write", "network"), "server 1.0", "", ""),
    ("task_complete", ("read",), "", "", "Ends its work. Resume continues it."),
])  # fmt: skip
def test_a_card_says_what_a_command_brings_about_and_no_more_than_is_known(
    command: str, risks: tuple[RiskClass, ...], source: str, shown: str, told: str
) -> None:
    turn = a_turn(AGENT, risks=risks, source=source, finishes=command == "task_complete")
    preview = Preview(title=f"a.md · deletes 3 bytes · {shown}", body="")
    proposal = replace(turn.proposal, call=replace(turn.call, name=command), preview=preview)
    assert consequence_of(replace(turn, proposal=proposal)) == told
