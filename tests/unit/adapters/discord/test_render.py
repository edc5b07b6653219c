"""What stands in Discord: whole messages, and what each is careful about."""

from dataclasses import replace
from datetime import timedelta
from decimal import Decimal

import discord
import pytest
from inline_snapshot import snapshot
from simcord.components import walk_components

from adapters.discord.outbound.draw import LIMITS
from adapters.discord.outbound.message import DiscordMessage
from adapters.discord.outbound.posted import ready
from adapters.screens.buttons import Button, ViewButton
from adapters.screens.ui_text import covered_parts
from adapters.typed import actions, subcommands
from adapters.typed.answers import Answer, Attachment
from agent_core.model.agent import Agent, Awaiting, Stopped
from agent_core.model.command import CommandCall, Preview, Proposal, Succeeded, Thoughts
from agent_core.model.decision import Approve, Policy
from agent_core.model.draft import AgentDraft
from agent_core.model.files import FileEntry
from agent_core.model.model_calls import Budget, Usage
from agent_core.model.origin import ChannelScope, ThreadRef
from agent_core.model.permissions import Lease
from agent_core.model.records.deletion import Retention
from agent_core.model.turn import Turn
from agent_core.testing.examples import ANA, BEN, NOON, a_notice, a_turn, an_agent
from tests.discord_messages import (
    agent_message,
    agents_message,
    answer_message,
    delete_message,
    file_message,
    files_message,
    help_message,
    note_message,
    notice_message,
    offer_message,
    refused_message,
    root_message,
    text_message,
    thoughts_message,
    turn_message,
    whole_file,
    whole_message,
)

LATER = NOON + timedelta(minutes=5)
AGENT = an_agent(name="Energy-GPT", budget=Budget(limit=Decimal(2), spent=Decimal("0.41")))
THOUGHTS = Thoughts(
    text="ratings.csv has all three.", plan="- write\n- finish", reasoning="price leads", speak="May I?"
)
DIFF = "@@ -1 +1 @@\n-Coal looks cheapest.\n+NXG looks cheapest."
TURN = a_turn(
    AGENT,
    number=7,
    proposal=Proposal(
        thoughts=THOUGHTS,
        call=CommandCall("write_to_file", {"filename": "report.md", "text": "# Report\nNXG looks cheapest.\n"}),
        preview=Preview(title="report.md · +1 −1", body=DIFF, kind="diff", target="report.md"),
    ),
    usage=Usage(prompt=900, completion=60, cost=Decimal("0.012")),
)
LEASE = Lease(granted_by=ANA, granted_at=NOON, total=5, left=3, classes=("read", "write", "network", "spend"))
SHOW_ALL = f"[Show all] show all:{TURN.id}:1"


def asking(arguments: dict[str, object], **thoughts: str) -> Turn:
    call = CommandCall("any_command", arguments)
    return replace(TURN, proposal=Proposal(thoughts=Thoughts(**thoughts), call=call))


def done(text: str) -> Turn:
    return TURN.decide(Approve(), by=ANA, at=NOON).start(NOON).finish(Succeeded(text), LATER)


def link(agent: Agent) -> str:
    return f"https://discord.example/{agent.id}"


def lines(message: DiscordMessage) -> list[str]:
    """The message as it is sent: texts, lines of small print, and buttons in brackets before their ids."""
    sent = message.view.to_components()  # type: ignore[no-untyped-call]  # discord.py leaves it without types
    found: list[str] = []
    for each in walk_components(sent):
        match each:
            case {"type": 10, "content": content} if all(line.startswith("-# ") for line in content.split("\n")):
                found += content.split("\n")
            case {"type": 10, "content": content}:
                found.append(content)
            case {"type": 2, "label": label}:
                found.append(f"[{label}] {each.get('custom_id') or each.get('url')}")
            case {"type": 3, "options": options}:
                found += [f"[{option['label']}] {option['value']}" for option in options]
            case {"type": 12, "items": items}:
                found += [f"picture {item['media']['url']}" for item in items]
            case {"type": 13, "file": file}:
                found.append(f"file {file['url']}")
            case _:
                pass
    return found


def test_an_asking_card_says_who_asks_what_and_why_and_offers_every_decision() -> None:
    assert lines(turn_message(AGENT, TURN)) == snapshot(
        [
            """\
**Energy-GPT wants to change “report.md” (+1 −1)**
○ needs approval\
""",
            "> ratings.csv has all three.",
            """\
**report.md**
```diff
@@ -1 +1 @@
-Coal looks cheapest.
+NXG looks cheapest.
```
**text** · 1 line end after it
```
# Report
NXG looks cheapest.
```\
""",
            "-# turn 7 · write\\_to\\_file · write · this step $0.012 · $0.41 of $2.00",
            "[Approve] approve:turn-agent-ada-0007:1:3ca6d9f834b0c3db219e2003f15d820b",
            "[Edit] edit:turn-agent-ada-0007:1:3ca6d9f834b0c3db219e2003f15d820b",
            "[Reject] reject:turn-agent-ada-0007:1:3ca6d9f834b0c3db219e2003f15d820b",
            "[Reply] reply:agent-ada:1:3ca6d9f834b0c3db219e2003f15d820b",
            "[Stop] stop:agent-ada:1",
            "[Approve ×3] approve:turn-agent-ada-0007:3:3ca6d9f834b0c3db219e2003f15d820b",
            "[Approve ×5] approve:turn-agent-ada-0007:5:3ca6d9f834b0c3db219e2003f15d820b",
            "[Approve ×10] approve:turn-agent-ada-0007:10:3ca6d9f834b0c3db219e2003f15d820b",
            "[Another number…] another number:turn-agent-ada-0007:1:3ca6d9f834b0c3db219e2003f15d820b",
            "[Self-review] review:turn-agent-ada-0007:1",
            "[Fork] fork:turn-agent-ada-0007:1",
            "[Always allow…] always allow:turn-agent-ada-0007:1:3ca6d9f834b0c3db219e2003f15d820b",
            "[Thoughts] thoughts:turn-agent-ada-0007:1",
        ]
    )


def test_approving_several_says_what_is_covered_under_each_number() -> None:
    sent = turn_message(AGENT, TURN).view.to_components()  # type: ignore[no-untyped-call]  # discord.py leaves it without types
    choice, more = (each for each in walk_components(sent) if each["type"] == 3)
    assert [each["label"] for each in more["options"]] == ["Self-review", "Fork", "Always allow…", "Thoughts"]
    assert choice["placeholder"] == "Approve ×N"
    runs, asks = covered_parts(TURN)
    assert [each["description"] for each in choice["options"]] == [*[f"Without asking: {runs}"] * 3, f"Not: {asks}"]


def test_a_running_card_says_who_approved_and_keeps_stop_and_revoke() -> None:
    running = TURN.decide(Approve(5), by=ANA, at=NOON).start(NOON).with_live_output("line 1\nline 2")
    shown = lines(turn_message(replace(AGENT, lease=LEASE), running))
    assert shown[0].endswith("● approved ×5 by @ana · running")
    assert "```\nline 1\nline 2\n```" in shown
    assert shown[-3:] == snapshot(
        ["[Stop] stop:agent-ada:1", "[Revoke] revoke:agent-ada:1", "[Thoughts] thoughts:turn-agent-ada-0007:1"]
    )


def test_a_done_card_is_short_and_has_the_first_and_last_lines_of_its_result() -> None:
    assert lines(turn_message(AGENT, done("\n".join(map(str, range(30)))))) == snapshot(
        [
            """\
**Energy-GPT · Change “report.md” (+1 −1)**
✓ done · approved by @ana, <t:1773489600:f>\
""",
            "-# “ratings.csv has all three.”",
            "-# filename: report.md · text: # Report NXG looks cheapest.",
            """\
```
0
1
2
3
4
5
6
7
… 18 lines left out …
26
27
28
29
```
-# … Show all has the rest.\
""",
            "-# turn 7 · write\\_to\\_file · write · $0.012",
            "[Show all] show all:turn-agent-ada-0007:1",
        ]
    )


def test_a_result_that_could_end_a_block_of_code_is_a_quotation() -> None:
    assert "> a\n> \\`\\`\\`\n> \\*\\*b\\*\\*" in lines(turn_message(AGENT, done("a\n```\n**b**")))


def test_an_interrupted_card_asks_what_became_of_it() -> None:
    interrupted = TURN.decide(Approve(), by=ANA, at=NOON).start(NOON).interrupt()
    shown = lines(turn_message(AGENT, interrupted))
    assert "It may have run" in shown[0]
    assert [line.partition("]")[0] for line in shown[-5:]] == ["[It ran", "[Skip", "[Run again", "[Stop", "[Thoughts"]


def test_a_brief_card_keeps_all_but_the_text_behind_thoughts() -> None:
    shown = lines(turn_message(replace(AGENT, policy=Policy(verbosity="brief")), TURN))
    assert not [line for line in shown if "price leads" in line]
    assert f"[Thoughts] thoughts:{TURN.id}:1" in shown


def test_a_command_that_does_not_fit_says_so_beside_show_all() -> None:
    shown = lines(turn_message(AGENT, asking({"code": "x" * 9000, "path": "a"}, text="Why not. " * 300)))
    assert LIMITS.message - 200 < sum(len(line) for line in shown if not line.startswith("[")) <= LIMITS.message
    place = shown.index("The command is too long to show here in full. Read the rest before you approve.")
    assert shown[place + 1] == SHOW_ALL
    assert "more characters: Show all" in shown[place - 1]
    assert "**path** `a`" in shown[place - 1]
    assert f"[Thoughts] thoughts:{TURN.id}:1" in shown
    assert shown.count(SHOW_ALL) == 1


def test_line_ends_around_an_argument_are_told() -> None:
    (command,) = [
        line for line in lines(turn_message(AGENT, asking({"a": "\n\nb\n", "c": "\n", "d": ""}))) if "**a" in line
    ]
    assert command == "**a** `b` · 2 line ends before it, 1 line end after it\n**c** *1 line end*\n**d** *empty*"


@pytest.mark.proves("card:once")
def test_the_text_of_a_new_file_stands_once_and_show_all_has_it_by_itself() -> None:
    call = CommandCall("write_to_file", {"filename": "a.md", "text": "one\ntwo"})
    preview = Preview(title="a.md · new file", body="@@ -0,0 +1,2 @@\n+one\n+two", kind="diff", target="a.md")
    turn = replace(TURN, proposal=Proposal(thoughts=Thoughts(), call=call, preview=preview))
    shown = lines(turn_message(AGENT, turn))
    instead = "**text** *as in the preview above, with no line end after the last line*"
    assert any(line.endswith(f"\n+one\n+two\n```\n{instead}") for line in shown)
    assert SHOW_ALL in shown
    assert b"== Argument text ==\none\ntwo\n" in whole_file(AGENT, turn).data


def test_a_character_that_hides_others_is_spelled_out() -> None:
    (command,) = [line for line in lines(turn_message(AGENT, asking({"a": "x\u202ey"}))) if "**a" in line]
    assert command == "**a** `x⟨U+202E⟩y`"


def test_show_all_answers_with_everything_in_a_file() -> None:
    message = whole_message(AGENT, done("result"))
    assert lines(message) == ["Everything about turn 7 is in the file.", "file attachment://turn-7.txt"]
    assert message.files == (whole_file(AGENT, done("result")),)
    assert message.files[0].data.decode() == snapshot("""\
== Energy-GPT · turn 7 · write_to_file ==
done · approved by @ana, 12:00 UTC

== Thoughts ==
ratings.csv has all three.

== Plan ==
write
finish

== Reasoning ==
price leads

== Speak ==
May I?

== Argument filename ==
report.md

== Argument text ==
# Report
NXG looks cheapest.


== Preview: report.md · +1 −1 ==
@@ -1 +1 @@
-Coal looks cheapest.
+NXG looks cheapest.

== Result ==
result
""")


def test_thoughts_are_read_in_the_message_or_in_a_file_where_they_are_long() -> None:
    assert lines(thoughts_message(AGENT, TURN)) == snapshot(
        [
            """\
**Thoughts**
> ratings.csv has all three.
**Plan**
> write
> finish
**Reasoning**
> price leads
**Speak**
> May I?\
"""
        ]
    )
    assert lines(thoughts_message(AGENT, asking({}))) == ["The model gave no thoughts for this command."]
    long = thoughts_message(AGENT, asking({}, text="so " * 2000))
    assert lines(long)[1] == "file attachment://thoughts-7.txt"
    assert b"so so" in long.files[0].data


def test_the_root_says_who_the_agent_is_and_how_to_talk_to_it() -> None:
    assert lines(root_message(AGENT, model="a-model", standing="thinks", files="3 files")) == snapshot(
        [
            """\
**Energy-GPT**
a careful writer
1. Write a poem\
""",
            "-# Started by @ana · a-model · $0.41 of $2.00",
            "-# Reply in this thread to talk to it, or write !help. Nothing runs before you approve.",
            "-# ● thinks · <t:1773489600:R>",
            "-# 3 files",
        ]
    )


def test_cards_and_root_name_the_fallback_while_it_answers() -> None:
    agent = replace(AGENT, fallback="small · two.test")
    now = "small · two.test (while large · one.test is away)"
    assert now in str(lines(turn_message(agent, TURN, model="large · one.test")))
    assert f"-# Started by @ana · {now} · $0.41 of $2.00" in lines(root_message(agent, model="large · one.test"))
    assert "small · two.test (while own is away)" in str(lines(turn_message(replace(agent, model="own"), TURN)))


def test_a_notice_has_resume_where_the_agent_stands_still() -> None:
    stopped = notice_message(AGENT, a_notice(AGENT, kind="stopped", text="Energy-GPT is stopped by @ana."))
    assert lines(stopped) == ["Energy-GPT is stopped by @ana.", f"[Resume] resume:{AGENT.id}:1"]
    assert lines(notice_message(AGENT, a_notice(AGENT, kind="changed", text="more"))) == ["Energy-GPT: more"]


def test_a_note_of_somebody_else_is_a_quotation_under_their_name() -> None:
    shown = lines(note_message(AGENT, BEN, "@everyone\n# look"))
    assert shown == ["**@ben to Energy-GPT** as a note", "> \\@everyone\n> \\# look"]


def test_an_answer_brings_its_file_and_a_picture_is_shown() -> None:
    answer = answer_message(Answer("Here.", files=(Attachment("my file.json", b"{}"),)))
    assert lines(answer) == ["Here.", "file attachment://my_file.json"]
    assert answer.files == (Attachment("my_file.json", b"{}"),)
    assert lines(file_message("Look", Attachment("a.png", b"1"))) == ["Look", "picture attachment://a.png"]


def test_a_text_that_is_too_long_comes_whole_in_a_file() -> None:
    message = text_message("word " * 2000)
    assert lines(message)[0].endswith("more characters.")
    assert message.files == (Attachment("message.txt", ("word " * 2000).encode()),)


@pytest.mark.proves("retention:said")
def test_the_list_says_when_an_agent_at_rest_is_deleted() -> None:
    stopped = replace(AGENT, name="Ada", status=Stopped(ANA))
    (said,) = lines(agents_message([AGENT, stopped], link, Retention(history_days=30)))
    assert [line.endswith(" · deleted on 13 Apr 2026") for line in said.splitlines()] == [False, True]


def test_agents_are_listed_with_what_they_do_and_a_link() -> None:
    waiting = replace(AGENT, status=Awaiting())
    assert lines(agents_message([waiting, replace(AGENT, name="B [x](y)")], link)) == snapshot(
        [
            """\
[Energy-GPT](https://discord.example/agent-ada) · needs approval · <t:1773489600:R> · $0.41 of $2.00
[B \\[x\\](y)](https://discord.example/agent-ada) · thinking · <t:1773489600:R> · $0.41 of $2.00\
"""
        ]
    )
    assert lines(agents_message([], link)) == ["No agents here yet.", "[New agent] new agent:here:1"]
    assert "more agents" in lines(agents_message([AGENT] * 200, link))[0]


def test_a_name_cannot_lead_its_link_elsewhere() -> None:
    (shown,) = lines(agents_message([replace(AGENT, name="a](https://evil.example) [b")], link))
    assert shown.startswith("[a\\](https\\://evil.example) \\[b](https://discord.example/agent-ada)")


def test_one_agent_is_shown_with_what_is_settled_about_it() -> None:
    agent = replace(AGENT, lease=LEASE, status=Stopped(ANA))
    assert lines(agent_message(agent, link)) == snapshot(
        [
            """\
**Energy-GPT**
a careful writer
1. Write a poem\
""",
            "stopped by @ana · <t:1773489600:R> · $0.41 of $2.00",
            "-# Started by @ana · the default model · turn 0",
            "-# Who may approve: anyone here",
            "-# Every command asks",
            "-# under @ana’s ×5 · 3 of 5 left",
            "[Resume] resume:agent-ada:1",
            "[Revoke] revoke:agent-ada:1",
            "[Open] https://discord.example/agent-ada",
        ]
    )


def test_files_have_a_button_each_as_far_as_there_is_room() -> None:
    entries = [FileEntry(f"folder/{number}_x.txt", 20_000, NOON) for number in range(13)]
    shown, at = lines(files_message(AGENT, entries)), f"<t:{NOON.timestamp():.0f}:f>"
    assert shown[:2] == ["**Energy-GPT** · 13 files", f"folder/0\\_x.txt · 20 KB · {at}"]
    assert len([line for line in shown if line.startswith("[Upload] upload:agent-ada:")]) == 11
    assert shown[-1] == f"folder/11\\_x.txt · 20 KB · {at}\nfolder/12\\_x.txt · 20 KB · {at}"
    assert lines(files_message(AGENT, [])) == ["Energy-GPT has no files yet."]


def test_deleting_asks_first() -> None:
    said = "Delete Energy-GPT? This removes its history, memory and files."
    assert lines(delete_message(AGENT)) == [said, "[Delete] delete:agent-ada"]


def test_help_explains_every_command_of_both_places() -> None:
    shown = "\n".join(lines(help_message(subcommands.HELP, actions.HELP, said="There is no /agent x.")))
    assert shown.startswith("There is no /agent x.")
    for command, _ in (*subcommands.HELP.commands, *actions.HELP.commands):
        assert f"`{command}`" in shown
    assert len(shown) < 4000


def test_a_draft_is_offered_to_be_created_or_changed() -> None:
    draft = AgentDraft(name="Scout", role="looks *around*", goals=("look", "tell"))
    assert lines(offer_message(draft, "k1", said="Drafted.")) == snapshot(
        [
            "-# Drafted.",
            """\
**Scout**
looks \\*around\\*
1. look
2. tell\
""",
            "[Create] create:k1",
            "[Change] change:k1",
        ]
    )


def test_a_refused_form_says_what_is_wrong_and_opens_again() -> None:
    wrong = {"goals": "Goals: write at least one, one per line.", "budget": "Budget: no."}
    shown = lines(refused_message(wrong, ViewButton("new agent", "k1")))
    assert shown == ["Goals: write at least one, one per line.\nBudget: no.", "[New agent] new agent:k1:1"]
    assert lines(refused_message(wrong, Button("edit", TURN.id)))[-1] == f"[Edit] edit:{TURN.id}:1"


def test_a_message_that_looks_the_same_has_the_same_digest() -> None:
    assert turn_message(AGENT, TURN).digest == turn_message(AGENT, TURN).digest
    assert turn_message(AGENT, TURN).digest != turn_message(AGENT, done("x")).digest


@pytest.mark.parametrize("limit", [None, 2, 1])
async def test_a_proposal_can_be_replied_to_whatever_the_limit_of_commands(limit: int | None) -> None:
    channel = ChannelScope("discord", "1", "2")
    agent = an_agent(channel=channel, thread=ThreadRef(channel, "3"))
    view = ready(turn_message(agent, a_turn(agent, channel=channel), continuous_limit=limit))
    labels = [each.label for each in view.walk_children() if isinstance(each, discord.ui.Button)]
    assert labels[:5] == ["Approve", "Edit", "Reject", "Reply", "Stop"]
