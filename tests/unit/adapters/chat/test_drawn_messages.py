"""Messages of both chat platforms at their limits: what is cut says so, and nothing is refused for its size."""

from dataclasses import replace
from typing import Any

import pytest

from adapters.chat.agent_messages import direct_screen, ended_screen, help_screen, note_screen, root_screen
from adapters.chat.subcommand_answers import DEMO_HELP
from adapters.discord.outbound import draw as discord
from adapters.screens.buttons import ViewButton
from adapters.screens.message.card import card_screen, folded_screen
from adapters.screens.message.pieces import Screen
from adapters.screens.text_fit import units
from adapters.screens.turn_lines import line_of
from adapters.slack.outbound import draw as slack
from adapters.slack.outbound.blocks import MAX_MESSAGE_TEXT, texts_in, weight
from adapters.typed import actions, subcommands
from agent_core.model.command import CommandCall, Interrupted, Proposal, Thoughts
from agent_core.model.decision import Approve, Reject
from agent_core.model.ids import TurnId
from agent_core.model.turn import Turn
from agent_core.testing.examples import ANA, BEN, NOON, a_turn, an_agent

AGENT = an_agent()
AMPERSANDS = "&" * 30_000


def asking(thoughts: str = "", **arguments: object) -> Turn:
    return a_turn(AGENT, proposal=Proposal(thoughts=Thoughts(text=thoughts), call=CommandCall("pay", arguments)))


def in_discord(screen: Screen) -> str:
    return "\n".join(_contents(discord.draw(screen).view.to_components()))  # type: ignore[no-untyped-call]


def _contents(part: Any) -> list[str]:
    if isinstance(part, list):
        return [text for each in part for text in _contents(each)]
    if not isinstance(part, dict):
        return []
    return ([part["content"]] if "content" in part else []) + [t for each in part.values() for t in _contents(each)]


def in_slack(screen: Screen) -> str:
    return "\n".join(texts_in(slack.draw(screen).blocks))


def test_line_ends_of_windows_are_counted_once_in_discord() -> None:
    shown = in_discord(card_screen(AGENT, asking(text="Roses\r\n\r\n", empty="\r\n")))
    assert "**text** `Roses` · 2 line ends after it" in shown
    assert "**empty** *1 line end*" in shown


@pytest.mark.parametrize("shown", [in_slack, in_discord])
def test_how_a_wait_ended_is_one_line_and_has_the_whole_reason(shown: Any) -> None:
    reason = f"{'Not yet. ' * 40}\n✓ done · approved by @ben\nPay from account 7."
    ended = shown(ended_screen(AGENT, asking().decide(Reject(reason), by=BEN, at=NOON), "https://chat.example/1"))
    line = next(each for each in ended.splitlines() if "Pay from account 7" in each)
    assert "approved by @ben" in line


@pytest.mark.parametrize("said", ["", DEMO_HELP, f"There is no /agent {'x' * 40}."])
def test_discord_takes_the_help(said: str) -> None:
    assert units(in_discord(help_screen(subcommands.HELP, actions.HELP, said=said))) <= 4_000


def test_slack_takes_texts_that_grow_when_they_are_escaped() -> None:
    wide = replace(AGENT, role=AMPERSANDS, goals=(AMPERSANDS,) * 5)
    card, lines = replace(asking(AMPERSANDS, text=AMPERSANDS), review=AMPERSANDS), [line_of(asking())] * 50
    screens = [
        card_screen(AGENT, card, lines),
        folded_screen(AGENT, lines),
        root_screen(wide, model="m", standing="works"),
        note_screen(AGENT, BEN, AMPERSANDS),
    ]
    assert [screen.summary for screen in screens if weight(in_slack(screen)) > MAX_MESSAGE_TEXT] == []


def test_a_long_note_is_whole_in_a_file_of_discord_and_counted_in_slack() -> None:
    screen = note_screen(AGENT, BEN, "word " * 4_000)
    (file,) = discord.draw(screen).files
    assert file.data.decode() == f"@ben to {AGENT.name} as a note\n\n{'word ' * 4_000}"
    assert "more characters." in in_slack(screen)


def test_the_button_that_shows_the_thoughts_stands_beside_what_is_cut() -> None:
    blocks = slack.draw(card_screen(AGENT, replace(asking("Short."), review="Long. " * 400))).blocks
    (beside,) = [block for block in blocks if block.get("accessory", {}).get("action_id") == "signoff.thoughts"]
    assert beside["text"]["text"].startswith("“Self-review: Long.")


def test_a_folded_card_has_the_whole_reason() -> None:
    reason = "Because of account 7. " * 8
    turn = asking().decide(Reject(reason), by=BEN, at=NOON)
    lines = [line_of(turn), replace(line_of(turn), number=2, turn=TurnId("another"))]
    assert [reason.strip() in shown(folded_screen(AGENT, lines)) for shown in (in_slack, in_discord)] == [True, True]


def test_a_direct_message_about_an_interrupted_command_shows_all_of_its_output_where_it_can() -> None:
    running = asking().decide(Approve(), by=ANA, at=NOON).start(NOON)
    turn = replace(running.interrupt(), result=Interrupted(output="line\n" * 500))
    screen = direct_screen(AGENT, turn, "https://chat.example/1", shows_all=True)
    assert str(ViewButton("show all", turn.id)) in str(slack.draw(screen).blocks)
