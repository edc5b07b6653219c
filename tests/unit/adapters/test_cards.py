"""What a turn says to people in each of its states, and that nothing in it can hide."""

from dataclasses import replace
from datetime import timedelta
from decimal import Decimal

import pytest
from inline_snapshot import snapshot

from adapters.screens.buttons import Button, ViewButton
from adapters.screens.cards import (
    Card,
    lease_text,
    money,
    spend_text,
    status_parts,
    status_text,
    summary_text,
    turn_card,
)
from adapters.screens.preview_repeats import AS_ABOVE, AS_CHANGED, IN_TITLE, NO_LINE_END, WITHOUT_LINE_END
from adapters.screens.ui_text import age, ago, covered_text, head_and_tail, size_text
from adapters.screens.visible_text import visible
from adapters.slack.outbound.blocks import MAX_CONFIRM_TEXT
from adapters.terminal.render import PLAIN, card_text
from agent_core.errors import InvalidInput
from agent_core.model.agent import Finished, Paused, Stopped, Thinking
from agent_core.model.command import (
    STEPS,
    CommandCall,
    Failed,
    Interrupted,
    Preview,
    Proposal,
    RiskClass,
    Succeeded,
    Thoughts,
)
from agent_core.model.decision import Approve, ApproveEdited, Policy, Reject
from agent_core.model.model_calls import Budget, Usage
from agent_core.model.permissions import Lease
from agent_core.model.turn import Turn
from agent_core.oversight.lease import grant
from agent_core.testing.examples import ANA, BEN, NOON, a_turn, an_agent
from agent_core.text.diffs import diff_of
from agent_core.text.lines import counted

AGENT = an_agent(budget=Budget(limit=Decimal(2), spent=Decimal("0.412")))
THOUGHTS = Thoughts(
    text="I write.", plan="- write\n- check", reasoning="It helps.", criticism="Be brief.", speak="May I?"
)
TURN = a_turn(
    AGENT,
    proposal=Proposal(
        thoughts=THOUGHTS,
        call=CommandCall("write_to_file", {"filename": "a.txt", "text": "one", "times": 2}),
        preview=Preview(title="a.txt · new file", body="+one", kind="diff", target="a.txt"),
    ),
    usage=Usage(prompt=900, completion=60, cost=Decimal("0.012")),
)
WITHOUT_PREVIEW = replace(TURN, proposal=replace(TURN.proposal, preview=None))
LATER = NOON + timedelta(minutes=5)


def words(card: Card) -> dict[str, object]:
    """The card's words that change with its state."""
    return {
        "headline": card.headline,
        "state": card.standing,
        "tone": card.tone,
        "footer": " · ".join(card.footer),
        "outcome": card.outcome,
        "buttons": [button.label for button in card.buttons],
    }


def run(turn: Turn, result: Succeeded | Failed) -> Turn:
    return turn.start(LATER).finish(result, LATER)


def test_an_open_proposal() -> None:
    assert words(turn_card(AGENT, TURN)) == snapshot(
        {
            "headline": "Ada · turn 1 · write_to_file",
            "state": "needs approval",
            "tone": "open",
            "footer": "this step $0.012 · $0.41 of $2.00",
            "outcome": "",
            "buttons": ["Approve", "Approve ×3", "Approve ×5", "Approve ×10", "Edit", "Reject", "Stop", "Self-review"],
        }
    )


def test_a_reviewed_proposal_shows_the_review_and_offers_no_other() -> None:
    card = turn_card(AGENT, replace(TURN, review="It is too long."))
    assert card.review == "It is too long."
    assert Button("review", TURN.id) not in card.buttons
    assert Button("approve", TURN.id, shown=TURN.control_hash) in card.buttons


def test_a_running_command() -> None:
    assert words(turn_card(AGENT, TURN.decide(Approve(3), by=ANA, at=NOON).start(LATER))) == snapshot(
        {
            "headline": "Ada · turn 1 · write_to_file",
            "state": "approved ×3 by @ana · running",
            "tone": "busy",
            "footer": "$0.012",
            "outcome": "",
            "buttons": ["Stop"],
        }
    )


def test_a_command_that_ran() -> None:
    done = run(TURN.decide(Approve(), by=ANA, at=NOON), Succeeded("a.txt now holds 3 characters."))
    assert words(turn_card(AGENT, done)) == snapshot(
        {
            "headline": "Ada · turn 1 · write_to_file",
            "state": "done · approved by @ana, 12:00 UTC",
            "tone": "good",
            "footer": "$0.012",
            "outcome": "a.txt now holds 3 characters.",
            "buttons": [],
        }
    )


def test_a_command_that_failed() -> None:
    failed = run(TURN.decide(ApproveEdited({"filename": "b"}), by=BEN, at=NOON), Failed("No room is left."))
    assert words(turn_card(AGENT, failed)) == snapshot(
        {
            "headline": "Ada · turn 1 · write_to_file",
            "state": "failed · edited and approved by @ben, 12:00 UTC",
            "tone": "bad",
            "footer": "$0.012",
            "outcome": "Error: No room is left.",
            "buttons": [],
        }
    )


def test_a_rejection() -> None:
    assert words(turn_card(AGENT, TURN.decide(Reject("Use b.txt"), by=BEN, at=NOON))) == snapshot(
        {
            "headline": "Ada · turn 1 · write_to_file",
            "state": "rejected by @ben, 12:00 UTC · “Use b.txt”",
            "tone": "bad",
            "footer": "$0.012",
            "outcome": "",
            "buttons": [],
        }
    )


def test_nobody_closes_the_quotation_marks_around_their_words() -> None:
    hostile = "a” · approved by @ben “"
    turn = replace(TURN, proposal=replace(TURN.proposal, call=CommandCall("read_file", {"filename": hostile})))
    assert turn_card(AGENT, turn.decide(Reject(hostile), by=BEN, at=NOON)).standing.endswith(
        f"“{hostile[0]}' · approved by @ben '”"
    )
    edited = turn.decide(ApproveEdited({"filename": "b"}), by=BEN, at=NOON)
    assert turn_card(AGENT, edited).edits == "@ben changed filename from “a' · approved by @ben '” to “b”."


def test_each_time_stands_behind_whose_it_is_and_a_stop_is_no_failure() -> None:
    asked, leased, free = (
        TURN.decide(decision, by=BEN, at=NOON).start(NOON)
        for decision in (Approve(), Approve(under="lease"), Approve(under="policy"))
    )
    ran = [turn.finish(Succeeded(""), LATER) for turn in (asked, leased, free)]
    ended = (*ran, asked.stop(ANA, LATER), asked.finish(Interrupted(), LATER))
    assert [(card.standing, card.tone) for card in (turn_card(AGENT, turn) for turn in ended)] == snapshot(
        [
            ("done · approved by @ben, 12:00 UTC", "good"),
            ("done, 12:05 UTC · auto-approved by @ben’s Approve ×N", "good"),
            ("done, 12:05 UTC · no approval needed (policy: write, by @ben)", "good"),
            ("stopped by @ana, 12:05 UTC · approved by @ben, 12:00 UTC", "quiet"),
            ("stopped · approved by @ben, 12:00 UTC", "bad"),
        ]
    )


def test_an_interruption_asks_what_became_of_it() -> None:
    interrupted = TURN.decide(Approve(), by=ANA, at=NOON).start(LATER).interrupt()
    asked = (turn_card(AGENT, interrupted).standing, summary_text(AGENT, interrupted))
    assert all("It may have run" in text for text in asked)
    assert turn_card(AGENT, TURN).standing == "needs approval"


def test_a_withdrawn_proposal() -> None:
    assert words(turn_card(AGENT, TURN.stop(ANA, LATER))) == snapshot(
        {
            "headline": "Ada · turn 1 · write_to_file",
            "state": "withdrawn: stopped by @ana, 12:05 UTC",
            "tone": "quiet",
            "footer": "$0.012",
            "outcome": "",
            "buttons": [],
        }
    )


def test_a_command_that_may_have_run() -> None:
    interrupted = TURN.decide(Approve(under="lease"), by=ANA, at=NOON).start(LATER).interrupt()
    assert words(turn_card(AGENT, interrupted)) == snapshot(
        {
            "headline": "Ada · turn 1 · write_to_file",
            "state": "interrupted: Signoff restarted while this ran. It may have run",
            "tone": "open",
            "footer": "this step $0.012 · $0.41 of $2.00",
            "outcome": "",
            "buttons": ["It ran", "Skip", "Run again", "Stop"],
        }
    )


def test_thoughts_come_in_the_order_of_their_weight() -> None:
    card = turn_card(AGENT, TURN)
    assert (card.says, card.plan) == ("I write.", ("write", "check"))
    assert [part.label for part in card.details] == ["Reasoning", "Criticism", "Speak"]
    assert turn_card(replace(AGENT, policy=Policy(verbosity="brief")), TURN).is_brief


@pytest.mark.proves("card:verbatim")
def test_every_argument_is_on_the_card_and_what_is_not_text_is_json() -> None:
    shown = {argument.label: argument.text for argument in turn_card(AGENT, TURN).arguments}
    assert shown == {"filename": "a.txt", "text": "one", "times": "2"}


def a_write(text: object, preview: Preview) -> Turn:
    call = CommandCall("write_to_file", {"filename": "a.txt", "text": text})
    return replace(TURN, proposal=Proposal(thoughts=THOUGHTS, call=call, preview=preview))


LONG_OLD = "".join(f"line {number}\n" for number in range(30))
LONG_NEW = LONG_OLD.replace("line 3\n", "tea\n").replace("line 20\n", "")


@pytest.mark.proves("card:once")
@pytest.mark.parametrize(
    ("text", "line"),
    [
        (LONG_NEW, AS_CHANGED),
        (LONG_NEW.removesuffix("\n"), f"{AS_CHANGED}{NO_LINE_END}"),
        (LONG_NEW.replace("tea", "coffee"), ""),
        (LONG_NEW.replace("tea", "tea\u2028"), ""),
        ("tea\n" + LONG_NEW, ""),
    ],
)
def test_a_text_that_the_diff_shows_the_change_to_is_opened_and_not_repeated(text: str, line: str) -> None:
    change = diff_of(LONG_OLD, LONG_NEW).body
    card = turn_card(AGENT, a_write(text, Preview(title="a.txt", body=change, kind="diff")))
    assert (card.arguments[1].text, card.arguments[1].instead, card.repeats_preview) == (
        visible(text),
        line,
        bool(line),
    )
    assert text.splitlines()[-1] in str(
        card_text(AGENT, a_write(text, Preview(title="a.txt", body=change, kind="diff")), PLAIN)
    )


def test_a_diff_that_is_cut_or_too_long_to_compare_stands_for_no_text() -> None:
    for body in ("Too long to compare: 3 lines", diff_of(LONG_OLD, LONG_NEW).body + "\n… 3 more lines of the change"):
        card = turn_card(AGENT, a_write(LONG_NEW, Preview(title="a.txt", body=body, kind="diff")))
        assert card.arguments[1].instead == ""


@pytest.mark.parametrize(
    ("url", "is_shown"), [("https://example.org/a", False), ("https://good.org@example.org/", True), ("x", True)]
)
def test_a_host_with_which_the_address_plainly_begins_is_not_shown_twice(url: str, is_shown: bool) -> None:
    call = CommandCall("browse_website", {"url": url})
    shown = Preview(title="example.org", body="")
    turn = replace(TURN, proposal=Proposal(thoughts=THOUGHTS, call=call, preview=shown))
    assert (turn_card(AGENT, turn).preview is not None) is is_shown
    named = replace(call, arguments={"url": url, "name": "example.org"})
    card = turn_card(AGENT, replace(turn, proposal=replace(turn.proposal, call=named)))
    assert card.preview is not None


def test_what_the_agent_speaks_is_not_repeated_if_it_said_so_above() -> None:
    for speak, shown in (("I write it.", False), ("Tea is ready.", True)):
        thoughts = replace(THOUGHTS, text="I think. I write it.", speak=speak)
        card = turn_card(AGENT, replace(TURN, proposal=replace(TURN.proposal, thoughts=thoughts)))
        assert ("Speak" in [part.label for part in card.details]) is shown


@pytest.mark.proves("card:once")
@pytest.mark.parametrize(
    ("text", "old", "line"),
    [
        ("one\ntwo\n", "", AS_ABOVE),
        ("one\ntwo", "", WITHOUT_LINE_END),
        ("three\n", "one\ntwo\n", AS_ABOVE),
        ("++three\n\n", "one\n", AS_ABOVE),
    ],
)
def test_a_text_that_a_diff_adds_and_nothing_else_is_not_repeated(text: str, old: str, line: str) -> None:
    turn = a_write(text, Preview(title="a.txt", body=diff_of(old, old + text).body, kind="diff"))
    card = turn_card(AGENT, turn)
    assert [(argument.text, argument.instead) for argument in card.arguments] == [("a.txt", IN_TITLE), (text, line)]
    assert card.repeats_preview
    assert [argument.text for argument in card.arguments_shown] == ([text] if line == WITHOUT_LINE_END else [])


@pytest.mark.proves("card:once")
@pytest.mark.parametrize("name", ["b.txt", "a.txt ", "a\u200b.txt", "a · b.txt", "x" * 101])
def test_a_name_that_the_title_does_not_show_as_it_is_stands_on_the_card(name: str) -> None:
    title = f"{'a.txt' if name == 'b.txt' else name} · new file"
    call = CommandCall("write_to_file", {"filename": name})
    turn = replace(TURN, proposal=Proposal(thoughts=THOUGHTS, call=call, preview=Preview(title=title, body="")))
    assert [argument.instead for argument in turn_card(AGENT, turn).arguments_shown] == [""]


@pytest.mark.proves("card:once")
def test_of_two_equal_arguments_none_is_left_to_the_title() -> None:
    call = CommandCall("message_agent", {"key": "ben", "message": "ben"})
    proposal = Proposal(thoughts=THOUGHTS, call=call, preview=Preview(title="ben · asks", body=""))
    assert len(turn_card(AGENT, replace(TURN, proposal=proposal)).arguments_shown) == 2


@pytest.mark.proves("card:once")
def test_a_diff_of_new_lines_alone_has_no_header_and_another_one_keeps_it() -> None:
    new, changed = (
        turn_card(AGENT, a_write("x", Preview(title="a.txt", body=diff_of(old, "two\n").body, kind="diff"))).preview
        for old in ("", "one\n")
    )
    assert (new and new.body, changed and changed.body) == ("+two", "@@ -1 +1 @@\n-one\n+two")


@pytest.mark.proves("card:once")
@pytest.mark.parametrize(
    ("old", "new", "text"),
    [
        ("one", "onetwo\n", "two\n"),
        ("", "one\r\ntwo\r\n", "one\r\ntwo\r\n"),
        ("", "one\n" * 3000, "one\n" * 3000),
        ("", "x" * 70_000, "x" * 70_000),
        ("", "", ""),
    ],
)
def test_a_text_that_a_diff_does_not_show_to_its_last_character_stands_on_the_card(
    old: str, new: str, text: str
) -> None:
    turn = a_write(text, Preview(title="a.txt", body=diff_of(old, new).body, kind="diff"))
    assert not turn_card(AGENT, turn).repeats_preview


@pytest.mark.proves("card:once")
def test_a_preview_that_is_the_argument_is_not_repeated_and_one_that_holds_more_is_no_substitute() -> None:
    same, longer = (
        turn_card(AGENT, a_write("ls -l", Preview(title="Shell", body=body))) for body in ("ls -l", "ls -l\n")
    )
    assert [argument.instead for argument in same.arguments] == ["", AS_ABOVE]
    assert not longer.repeats_preview


@pytest.mark.proves("card:hidden")
@pytest.mark.parametrize(
    "hidden", ["\u202e", "\u200b", "\x1b", "\u2066", "\r", "\u3164", "\U000e0041", "\x00", "\ud800"]
)
def test_a_character_that_hides_is_spelled_out(hidden: str) -> None:
    assert visible(f"a{hidden}b") == f"a⟨U+{ord(hidden):04X}⟩b"


@pytest.mark.proves("card:hidden")
def test_nothing_hides_in_any_text_of_a_card() -> None:
    hidden = "a\u200bb\ufe01"
    spoken = Thoughts(text=hidden, plan=hidden, reasoning=hidden, criticism=hidden, speak=hidden)
    call = CommandCall("write_to_file", {hidden: hidden})
    proposal = Proposal(thoughts=spoken, call=call, preview=Preview(title=hidden, body=hidden))
    turn = replace(TURN, proposal=proposal, review=hidden, remark=hidden)
    turns = (
        turn,
        turn.decide(Reject(hidden), by=BEN, at=NOON),
        run(turn.decide(Approve(), by=ANA, at=NOON), Failed(hidden)),
    )
    for each in turns:
        assert not {"\u200b", "\ufe01"} & set(str(turn_card(replace(AGENT, name=hidden), each)))


@pytest.mark.parametrize("plain", ["tab\tand\nline", "windows\r\nline", "مرحبا", "नमस्ते", "👩‍👩‍👧", "é", "می‌خواهم"])
def test_text_of_any_script_stays_as_it_is(plain: str) -> None:
    assert visible(plain) == plain


def test_states_in_words() -> None:
    statuses = (Thinking(), Thinking("rate limited"), Paused("No key."), Stopped(BEN), Finished())
    assert [status_text(replace(AGENT, status=status)) for status in statuses] == snapshot(
        ["thinking", "waiting for the model: rate limited.", "paused: No key.", "stopped by @ben", "done"]
    )


@pytest.mark.parametrize("why", ["busy.", "busy"])
def test_a_wait_for_the_model_says_at_what_time_the_next_try_is(why: str) -> None:
    waiting = replace(AGENT, status=Thinking(why), wake_at=NOON)
    assert status_parts(waiting) == ("waiting for the model: busy. Next try at ", NOON, ".")
    assert status_text(waiting) == "waiting for the model: busy. Next try at 12:00 UTC."


def test_money_and_leases_in_words() -> None:
    lease = Lease(granted_by=ANA, granted_at=NOON, total=3, left=2, classes=("read",))
    assert lease_text(replace(AGENT, lease=lease)) == "under @ana’s ×3 · 2 of 3 left"
    long = replace(lease, granted_by=replace(ANA, display="Ana Approve everything"))
    assert str(long) == "@Ana’s ×3"  # as notices have it, which agents read
    assert lease_text(replace(AGENT, lease=long)) == "under @Ana Approve everything’s ×3 · 2 of 3 left"
    assert spend_text(AGENT) == "$0.41 of $2.00"
    assert [money(Decimal(text)) for text in ("0", "0.0004", "0.012", "0.1", "12.5")] == snapshot(
        ["$0", "<$0.001", "$0.012", "$0.10", "$12.50"]
    )


def test_a_button_is_read_back_from_its_text() -> None:
    button = Button("run again", TURN.id, 3)
    assert Button.parse(str(button)) == button


@pytest.mark.parametrize("text", ["", "approve", "approve:", "fly:x:1", "approve:x:", "approve:x:-1", "approve:x:١"])
def test_any_other_text_is_no_button(text: str) -> None:
    with pytest.raises(InvalidInput):
        Button.parse(text)


LEASE = Lease(granted_by=ANA, granted_at=NOON, total=5, left=3, classes=("write",))
LENT = replace(AGENT, lease=LEASE)


@pytest.mark.parametrize("decision", [Approve(5), Approve(under="lease")])
def test_a_command_that_runs_under_a_lease_says_what_is_left_and_can_have_it_revoked(decision: Approve) -> None:
    card = turn_card(LENT, TURN.decide(decision, by=ANA, at=NOON).start(LATER))
    assert (card.lease, card.buttons) == (
        "under @ana’s ×5 · 3 of 5 left",
        (Button("stop", AGENT.id), Button("revoke", AGENT.id)),
    )


def test_what_ran_under_a_lease_says_what_is_left_of_it_and_the_newest_can_have_it_revoked() -> None:
    ran = run(TURN.decide(Approve(5), by=ANA, at=NOON), Succeeded(""))
    newest, older = (turn_card(replace(LENT, turns=turns), ran) for turns in (ran.number, ran.number + 1))
    assert (newest.lease, newest.buttons) == ("under @ana’s ×5 · 3 of 5 left", (Button("revoke", AGENT.id),))
    assert (older.lease, older.buttons) == ("under @ana’s ×5 · 3 of 5 left", ())


def test_a_command_of_a_lease_that_is_over_offers_no_revoke() -> None:
    ran = run(TURN.decide(Approve(5), by=ANA, at=NOON), Succeeded(""))
    assert turn_card(replace(AGENT, turns=ran.number), ran).buttons == ()


@pytest.mark.parametrize(
    "turn",
    [
        TURN,
        TURN.decide(Approve(), by=ANA, at=NOON),
        TURN.decide(ApproveEdited({}), by=ANA, at=NOON),
        TURN.decide(Approve(5), by=ANA, at=NOON - timedelta(minutes=1)),
    ],
)
def test_a_command_that_runs_under_no_lease_or_an_earlier_one_says_nothing_of_it(turn: Turn) -> None:
    assert turn_card(LENT, turn).lease == ""


def test_a_turn_in_one_line_says_who_asks_for_what() -> None:
    done = run(TURN.decide(Approve(), by=ANA, at=NOON), Succeeded("Done."))
    assert [summary_text(AGENT, turn) for turn in (TURN, done, WITHOUT_PREVIEW)] == snapshot(
        [
            "Ada asks to run write_to_file (turn 1): a.txt",
            "Ada · turn 1 · write_to_file · done · approved by @ana, 12:00 UTC · a.txt",
            "Ada asks to run write_to_file (turn 1): filename: a.txt · text: one · times: 2",
        ]
    )


@pytest.mark.parametrize("risks", [("write",), ("execute",), ("execute", "publish"), ("network", "write")])
def test_what_is_said_to_be_covered_is_what_is_granted(risks: tuple[RiskClass, ...]) -> None:
    turn = a_turn(AGENT, risks=risks)
    covered = covered_text(turn).partition("asking: ")[2].partition(".")[0]
    assert covered.split(", ") == [STEPS[risk] for risk in grant(3, turn, by=ANA, at=NOON).classes]


def test_an_opening_is_read_back_from_its_text() -> None:
    opening = ViewButton("show all", TURN.id, 3)
    assert ViewButton.parse(str(opening)) == opening
    with pytest.raises(InvalidInput):
        ViewButton.parse(str(Button("approve", TURN.id)))


@pytest.mark.proves("result:both-ends")
def test_a_long_result_has_its_first_and_last_lines_and_says_how_much_is_left_out() -> None:
    lines = "\n".join(map(str, range(20)))
    assert head_and_tail(lines) == ("0\n1\n2\n3\n4\n5\n6\n7\n… 8 lines left out …\n16\n17\n18\n19", True)
    assert head_and_tail("x" * 2000 + "y") == ("x" * 800 + "\n… 801 characters left out …\n" + "x" * 399 + "y", True)
    assert head_and_tail("\n".join(map(str, range(12))) + "\n") == ("\n".join(map(str, range(12))), False)
    assert head_and_tail("all\n") == ("all", False)


def test_the_last_lines_of_a_result_begin_between_characters() -> None:
    family = "👩‍👩‍👧"
    shown, _ = head_and_tail(family * 400, 200)
    first, _, last = shown.split("\n")
    assert {first.replace(family, ""), last.replace(family, "")} == {""}


def test_ages_and_sizes_in_words() -> None:
    ages = [age(NOON - timedelta(seconds=seconds), NOON) for seconds in (3, 120, 7200, 200000)]
    assert [*ages, size_text(12), size_text(20_480)] == ["just now", "2 min", "2 h", "2 d", "12 bytes", "20 KB"]
    assert [ago(NOON, NOON), ago(NOON - timedelta(hours=2), NOON)] == ["just now", "2 h ago"]
    assert [counted(number, "byte") for number in (0, 1, 1200)] == ["0 bytes", "1 byte", "1,200 bytes"]


def test_what_approve_xn_lets_run_is_said_in_words_and_so_is_what_still_asks() -> None:
    own, foreign = a_turn(AGENT, risks=("write",)), a_turn(AGENT, risks=("execute",), source="mail 1.0")
    assert covered_text(own).split(". ") == snapshot(
        [
            "The next steps run without asking: reads, changes to its own files",
            "Not included: deletions, web pages, programs, posts, paid calls, plugins and servers, finishing",
            "A note from anyone pauses this.",
        ]
    )
    assert covered_text(foreign).split(". ") == snapshot(
        [
            "The next steps run without asking: reads, changes to its own files, programs, tools of mail",
            "Not included: deletions, web pages, posts, paid calls, other plugins and servers, finishing",
            "A note from anyone pauses this.",
        ]
    )
    assert len(covered_text(a_turn(AGENT, risks=("read",)))) <= MAX_CONFIRM_TEXT
