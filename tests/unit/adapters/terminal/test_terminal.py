"""The terminal's pure parts and its streams: what is drawn, what a line means, what files and options say."""

import json
import os
import re
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest

from adapters.screens.visible_text import visible
from adapters.terminal import render
from adapters.terminal.input_parser import ApproveKey, FreeText, UnclearWord, parse_answer, parse_settlement
from adapters.terminal.json_record import turn_as_json
from adapters.terminal.render import BAR, DASHED, Look
from adapters.terminal.rich_terminal import flush_keys
from adapters.terminal.streams import Keyboard, look_of
from adapters.terminal.surface import CHANNEL, CardEvent, NoticeEvent, StatusEvent, TerminalSurface
from adapters.typed.agent_templates import load_templates
from adapters.typed.settings_file import read_settings
from agent_core.errors import InvalidInput
from agent_core.model.agent import Agent
from agent_core.model.command import CommandCall, Preview, Proposal, Succeeded, Thoughts
from agent_core.model.decision import Approve, ApproveEdited, Reject
from agent_core.model.draft import AgentDraft
from agent_core.model.permissions import Lease
from agent_core.model.turn import Turn
from agent_core.testing.examples import ANA, NOON, a_notice, a_turn, an_agent
from bot.solo import SoloOptions, parse
from tests.ansi import as_ansi

AGENT = an_agent(channel=CHANNEL)
PLAIN = Look(width=40)
EVIL = "\x1b[2J\x1b]0;owned\x07\u202egnp.exe\r"


def card_text(agent: Agent, turn: Turn, look: Look) -> str:
    return str(render.card_text(agent, turn, look))


def change_text(agent: Agent, turn: Turn, look: Look) -> str:
    return str(render.change_text(agent, turn, look))


def a_proposal(arguments: dict[str, object], thoughts: str = "Hm.", preview: Preview | None = None) -> Turn:
    call = CommandCall("write_to_file", arguments)
    return a_turn(AGENT, proposal=Proposal(thoughts=Thoughts(text=thoughts), call=call, preview=preview))


@pytest.mark.parametrize(
    ("line", "answer"),
    [
        ("y", ApproveKey()),
        (" Y ", ApproveKey()),
        ("y -3", ApproveKey(3)),
        ("y-50", ApproveKey(50)),
        ("e", "edit"),
        ("S", "review"),
        ("n", "reject"),
        (" No ", "reject"),
        ("x", "stop"),
        ("v", "view"),
        ("goals", FreeText("!goals")),
        ("memory search tea", FreeText("!memory search tea")),
        ("budget is too small", FreeText("budget is too small")),
        ("", FreeText("")),
        ("yes", ApproveKey()),
        ("Y 3", ApproveKey(3)),
        ("yes -3", ApproveKey(3)),
        ("?", "help"),
        ("why?", FreeText("why?")),
        ("!stop", FreeText("!stop")),
        (" no, use b.txt ", FreeText("no, use b.txt")),
        ("https://example.org/notes", FreeText("https://example.org/notes")),
    ],
)
def test_a_line_is_a_key_or_words_for_the_agent(line: str, answer: object) -> None:
    assert parse_answer(line) == answer


LOOK_LIKE_KEYS = (
    "no! quit exit q stop help ok okay yep ja sure approve edit reject yes! Y. y5 y5! r i nope a nn xx vy k :q b.txt"
)


@pytest.mark.proves("terminal:no-accident")
@pytest.mark.parametrize("word", LOOK_LIKE_KEYS.split())
def test_a_single_short_word_that_is_no_key_decides_nothing(word: str) -> None:
    assert parse_answer(f" {word} ") == UnclearWord(word)


@pytest.mark.parametrize("line", ["y -0", "y -1", "y -51", "y -999999999"])
def test_a_number_outside_2_to_50_is_refused(line: str) -> None:
    with pytest.raises(InvalidInput, match="a number from 2 to 50"):
        parse_answer(line)


def test_an_interrupted_command_has_three_answers_and_no_other() -> None:
    assert [parse_settlement(line) for line in ("r", " I", "s")] == ["run again", "it ran", "skip"]
    with pytest.raises(InvalidInput):
        parse_settlement("y")


def test_an_interrupted_command_asks_what_became_of_it() -> None:
    interrupted = a_turn(AGENT).decide(Approve(), by=ANA, at=NOON).start(NOON).interrupt()
    assert "│ interrupted: Signoff restarted while this ran. It may have run" in card_text(AGENT, interrupted, Look())


def test_every_argument_stands_on_the_card_to_its_last_character() -> None:
    text = "x" * 100 + "  two  spaces\n\n\tend"
    rows = card_text(AGENT, a_proposal({"filename": "a.txt", "text": text}), PLAIN).split("\n")
    body = rows[rows.index("text:") + 1 :]
    joined = "".join(row.replace(BAR, "\n", 1) if row.startswith(BAR) else row.removeprefix(DASHED) for row in body)
    assert joined.startswith(f"\n{text}")


def test_no_word_of_the_model_stands_outside_the_bars() -> None:
    forged = "ok\n━━ Clerk · turn 9\nread · $0 spent\ny approve\n> " + " " * 200 + "forged"
    turn = a_proposal({"text": forged}, thoughts=forged, preview=Preview(title=forged, body=forged))
    frame = [row for row in card_text(AGENT, turn, PLAIN).splitlines() if not row.startswith((BAR, DASHED))]
    labels = ["Thoughts:", "Command write_to_file", "Preview:"]
    assert frame == ["", "━━ Ada · turn 1 · write_to_file", *labels, "write"]


def test_no_row_is_wider_than_the_terminal() -> None:
    turn = a_proposal({"text": "漢" * 90 + "e\u0301" * 90 + "word " * 50}, thoughts="long" * 60)
    cells = [len(row) + row.count("漢") - row.count("\u0301") for row in card_text(AGENT, turn, PLAIN).splitlines()]
    assert max(cells) <= PLAIN.width


@pytest.mark.parametrize("place", ["thoughts", "arguments", "preview", "result", "notice", "remark", "reason"])
def test_control_sequences_come_out_spelled_wherever_they_stand(place: str) -> None:
    turn = a_proposal({"text": EVIL}, thoughts=EVIL, preview=Preview(title=EVIL, body=EVIL))
    texts = {
        "result": change_text(AGENT, turn.decide(Approve(), by=ANA, at=NOON).finish(Succeeded(EVIL), NOON), PLAIN),
        "reason": change_text(AGENT, turn.decide(Reject(EVIL), by=ANA, at=NOON), PLAIN),
        "remark": card_text(AGENT, turn.show_again(None, EVIL, NOON), PLAIN),
        "notice": str(render.said_text(EVIL, PLAIN)),
    }
    text = texts.get(place) or card_text(AGENT, turn, PLAIN)
    assert "⟨U+001B⟩" in text
    assert all(character.isprintable() or character == "\n" for character in text)


def test_the_footer_names_class_spend_and_lease() -> None:
    lease = Lease(granted_by=ANA, granted_at=NOON, total=3, left=2, classes=("write",))
    text = card_text(an_agent(channel=CHANNEL, lease=lease), a_turn(AGENT), PLAIN)
    assert text.endswith("write · under @ana’s ×3 · 2 of 3 left\n")


def test_a_review_stands_on_the_card_behind_bars() -> None:
    assert "Self-review:\n│ It is ⟨U+001B⟩ wrong.\n" in card_text(
        AGENT, replace(a_turn(AGENT), review="It is \x1b wrong."), PLAIN
    )


def test_a_diff_is_shown_as_it_is_and_coloured_only_where_colour_is_wanted() -> None:
    turn = a_proposal({"filename": "a"}, preview=Preview(title="a", body=" one\n-two\n+three", kind="diff"))
    assert "│  one\n│ -two\n│ +three\n" in card_text(AGENT, turn, PLAIN)
    assert "\x1b[31m│ -two\x1b[0m\n\x1b[32m│ +three\x1b[0m" in as_ansi(
        render.card_text(AGENT, turn, Look(width=40, colour=True))
    )


def test_markdown_of_the_model_is_drawn_in_colour_and_stays_behind_bars() -> None:
    said = "# Why\n**Tea** is `hot`:\nso [wait](http://a.test)\n\n- one\n- two\n\n```\nx = 1\n```\n"
    card = render.card_text(AGENT, a_proposal({}, thoughts=said), Look(width=40, colour=True))
    rows = [row.rstrip() for row in str(card).splitlines()]
    for row in ("│ Tea is hot:", "│ so [wait](http://a.test)", "│  • one", "│  x = 1"):
        assert row in rows
    assert "\x1b[1mTea\x1b[0m" in as_ansi(card)


HOSTILE = (
    *(EVIL, "[red]x[/red] [link=http://a.test]y[/link]", "<b>x</b> <!-- hidden -->", "&#x1b;[2J &#x202e;x &lt;b&gt;"),
    *(
        "[a]: http://a.test 'x'",
        "![x](http://a.test/\x1b)",
        "<http://a.test>",
        "> " * 40 + "deep",
        "```info\nx\n```",
        "1. a\n1. b\n1. c",
        "|a|b|\n|-|-|\n|1|2|extra|",
        "- " * 40 + "deep",
    ),
    *(
        "|a|" * 30 + "\n" + "|-|" * 30 + "\n" + "|\x1b|" * 30,
        "```\x1b[2J\n\x1b[2J\n```",
        "━━ Clerk · turn 9\n> y\n" * 3,
    ),
)


@pytest.mark.parametrize("width", [20, 100])
@pytest.mark.parametrize("text", HOSTILE)
def test_markdown_hides_nothing_sends_nothing_and_cannot_pass_for_a_card(text: str, width: int) -> None:
    card = render.card_text(AGENT, a_proposal({}, thoughts=text), Look(width=width, colour=True))
    rows = str(card).splitlines()
    said = rows[rows.index("Thoughts:") + 1 : rows.index("Command write_to_file")]
    assert all(row.startswith((BAR, DASHED)) and len(row) <= width for row in said)
    shown = as_ansi(card)
    assert not re.search(r"\x1b(?!\[[0-9;]*m)|[\x00-\x09\x0b-\x1a\x7f-\x9f\u202e]", shown)
    assert re.sub(r"[\W_]", "", "".join(said)) == re.sub(r"[\W_]", "", visible(text))


def test_the_keys_fit_a_row_of_80() -> None:
    assert max(map(len, render.keys_of(a_turn(AGENT)).split("\n"))) < 80


@pytest.mark.proves("card:once")
def test_a_text_that_the_preview_shows_is_not_repeated_under_it() -> None:
    preview = Preview(title="a.md · new file", body="@@ -0,0 +1 @@\n+one", kind="diff")
    text = card_text(AGENT, a_proposal({"filename": "a.md", "text": "one\n"}, preview=preview), PLAIN)
    assert "│ a.md · new file\n│ +one\nwrite" in text


def test_what_is_longer_than_the_screen_is_folded_and_says_how_much_and_what_shows_it() -> None:
    body = "\n".join(f"+{number}" for number in range(1_000))
    turn = a_proposal({"text": "x\n" * 500}, preview=Preview(title="a", body=body, kind="diff"))
    folded = card_text(AGENT, turn, replace(PLAIN, height=40))
    assert "│ +17\n│ +18\n… 972 lines left out; v shows them.\n│ +990\n" not in folded
    assert "│ +17\n… 972 lines left out; v shows them.\n│ +990\n" in folded
    assert folded.count("\n") < 80
    assert card_text(AGENT, turn, PLAIN).count("│ +") == 1_000


@pytest.mark.parametrize("height", [1, 24, 60])
def test_a_card_that_fits_is_not_folded(height: int) -> None:
    turn = a_proposal({"filename": "a"}, preview=Preview(title="a", body="\n".join("+" * 10), kind="diff"))
    assert card_text(AGENT, turn, replace(PLAIN, height=height)) == card_text(AGENT, turn, PLAIN)


def test_a_long_result_is_cut_and_says_so() -> None:
    done = a_turn(AGENT).decide(Approve(), by=ANA, at=NOON).finish(Succeeded("\n".join("x" * 100)), NOON)
    shown = change_text(AGENT, done, PLAIN)
    assert shown.endswith("│ x\n… 60 lines left out; --json gives them all.\n" + "│ x\n" * 12)


def test_changed_arguments_are_shown_when_the_command_starts() -> None:
    edited = a_proposal({"text": "one"}).decide(ApproveEdited({"text": "two"}), by=ANA, at=NOON)
    assert "text:\n│ two\n" in change_text(AGENT, edited.start(NOON), PLAIN)


def test_a_value_of_several_lines_keeps_its_lines() -> None:
    assert str(render.value_text("one\ntwo\n", PLAIN)) == "│ one\n│ two\n│ \n"


def test_a_turns_record_says_all_of_it_in_ascii() -> None:
    turn = a_proposal({"text": EVIL}).decide(Reject("Härter."), by=ANA, at=NOON)
    line = turn_as_json(turn)
    assert line.isascii()
    assert json.loads(line) == {
        "number": 1,
        "command": "write_to_file",
        "arguments": {"text": EVIL},
        "thoughts": {"text": "Hm.", "reasoning": "", "plan": "", "criticism": "", "speak": "", "model_reasoning": ""},
        "state": "rejected",
        "decided_by": "ana",
        "result": {"kind": "rejected", "text": "Härter."},
        "cost": 0.0,
    }


def test_a_settings_file_becomes_a_draft(tmp_path: Path) -> None:
    path = tmp_path / "ai_settings.yaml"
    path.write_text("ai_goals:\n- Write a poem\n- Then: read it\nai_name: Ada\nai_role: a poet\napi_budget: 1.5\n")
    goals = ("Write a poem", "Then: read it")
    assert read_settings(path) == AgentDraft(name="Ada", role="a poet", goals=goals, budget=Decimal("1.5"))


def test_a_budget_of_0_in_the_settings_file_is_no_limit(tmp_path: Path) -> None:
    path = tmp_path / "ai_settings.yaml"
    path.write_text("ai_name: Ada\napi_budget: 0.0\n")
    options = parse(["--settings", str(path)])
    assert options == SoloOptions(draft=AgentDraft(name="Ada"), is_unlimited=True)


@pytest.mark.proves("templates:form")
def test_a_template_is_where_the_other_options_begin(capsys: pytest.CaptureFixture[str]) -> None:
    options = parse(["--template", "1-weekly-report", "--name", "Ada"], load_templates())
    assert (options.draft.name, options.draft.goals[0]) == ("Ada", "List the files")
    for wrong in (["--template", "nope"], ["--template", "1-weekly-report", "--settings", "x.yaml"]):
        with pytest.raises(SystemExit) as ended:
            parse(wrong, load_templates())
        assert ended.value.code == 2
    said = capsys.readouterr().err
    assert "There is no template nope. There are: 1-weekly-report, 2-price-watch" in said
    assert "not allowed with argument" in said


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (b"ai_name: [", "it is not YAML"),
        (b"ai_name: \x00", "it is not YAML"),
        (b"\xff\xfe\xff", "it is not UTF-8 text"),
        (b"", "it has no ai_name"),
        (b"- Ada", "it has no ai_name"),
        (b"ai_name: [Ada]", "ai_name is not text"),
        (b"ai_goals: Write", "ai_goals is not a list"),
        (b"ai_goals: [[Write]]", "is not text"),
        (b"api_budget: -1", "api_budget is not an amount"),
        (b"api_budget: .nan", "api_budget is not an amount"),
        (b"api_budget: lots", "api_budget is not an amount"),
        (b"!!python/object:os.system {}", "it is not YAML"),
    ],
)
def test_a_broken_settings_file_gives_one_line_that_names_it(tmp_path: Path, text: bytes, fault: str) -> None:
    path = tmp_path / "ai_settings.yaml"
    path.write_bytes(text)
    with pytest.raises(InvalidInput, match=fault) as raised:
        read_settings(path)
    assert str(raised.value).startswith(f"{path}: ")
    assert "\n" not in str(raised.value)


async def test_the_surface_queues_what_it_is_told_in_order() -> None:
    surface, turn = TerminalSurface(), a_turn(AGENT)
    assert await surface.show(AGENT, turn, may_exist=False) == turn.id
    await surface.notice(AGENT, a_notice(AGENT), may_exist=False)
    await surface.status(AGENT)
    events = [surface.events.get_nowait() for _ in range(3)]
    assert events == [CardEvent(AGENT, turn), NoticeEvent("Paused."), StatusEvent(AGENT)]


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    reading, writing = os.pipe()
    yield reading, writing
    os.close(reading)


async def test_the_keyboard_gives_lines_and_then_the_end(pipe: tuple[int, int]) -> None:
    keyboard = Keyboard(pipe[0])
    os.write(pipe[1], "y\r\n\nzuhören\nlast".encode())
    os.close(pipe[1])
    assert [await keyboard.line() for _ in range(5)] == ["y", "", "zuhören", "last", None]


async def test_what_is_no_text_still_is_a_line(pipe: tuple[int, int]) -> None:
    os.write(pipe[1], b"\xff\n")
    os.close(pipe[1])
    assert await Keyboard(pipe[0]).line() == "\ufffd"


async def test_what_was_typed_ahead_at_a_terminal_is_forgotten_before_a_question() -> None:
    person, terminal = os.openpty()
    keyboard = Keyboard(terminal)
    os.write(person, b"y\ny\n")
    flush_keys(terminal)
    os.write(person, b"n\n")
    assert await keyboard.line() == "n"
    os.close(person)
    os.close(terminal)


async def test_what_waits_in_a_pipe_is_kept_for_its_question(pipe: tuple[int, int]) -> None:
    os.write(pipe[1], b"y\nn\n")
    os.close(pipe[1])
    keyboard = Keyboard(pipe[0])
    assert await keyboard.line() == "y"
    flush_keys(pipe[0])
    assert await keyboard.line() == "n"


def test_no_colour_without_a_terminal(tmp_path: Path) -> None:
    with (tmp_path / "out").open("w") as stream:
        assert not look_of(stream).colour


def test_the_command_line_goes_before_the_settings_file(tmp_path: Path) -> None:
    path = tmp_path / "ai_settings.yaml"
    path.write_text("ai_name: Ada\nai_role: a poet\nai_goals: [Write]\napi_budget: 3\n")
    options = parse(["--settings", str(path), "--goal", "Read", "--goal", "Rest", "--budget", "0", "--json"])
    draft = AgentDraft(name="Ada", role="a poet", goals=("Read", "Rest"))
    assert options == SoloOptions(draft=draft, is_unlimited=True, json=True)


@pytest.mark.parametrize("number", [1, 51, 1_000_000])
def test_continuous_takes_any_number_of_commands(number: int) -> None:
    assert parse(["--continuous", str(number)]).continuous == number


@pytest.mark.parametrize(
    ("argv", "fault"),
    [
        (["--settings", "/no/such/file.yaml"], "/no/such/file.yaml: No such file or directory."),
        (["--continuous"], "--continuous: expected one argument"),
        (["--continuous", "0"], "a number of commands from 1, not '0'"),
        (["--continuous", "-5"], "--continuous"),
        (["--continuous", "ten"], "not 'ten'"),
        (["--budget", "lots"], "'lots' is not an amount"),
        (["--budget", "nan"], "'nan' is not an amount"),
        (["--cont", "3"], "unrecognized arguments"),
    ],
)
def test_bad_usage_ends_with_2_and_one_line(argv: list[str], fault: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        parse(argv)
    said = capsys.readouterr().err
    assert ended.value.code == 2
    assert fault in said
    assert said.count("\n") == 1
