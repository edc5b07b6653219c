"""What stands in Slack: whole messages, views and the Home tab, and what each is careful about."""

import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from inline_snapshot import snapshot

from adapters.chat.extra_buttons import DeleteButton, UploadButton
from adapters.screens.buttons import Button, ViewButton
from adapters.screens.cards import turn_card
from adapters.screens.ui_text import covered_text
from adapters.slack.inbound.submitted_forms import FormContext, home_channel, place_of
from adapters.slack.outbound.controls import parse_action
from adapters.slack.outbound.extra_buttons import SlackDraftButton
from adapters.slack.outbound.forms import agent_view
from adapters.slack.outbound.message import SlackMessage
from adapters.slack.outbound.views import (
    drafting_view,
    home,
    sentence_view,
    show_all,
    thoughts_view,
)
from adapters.typed import actions, subcommands
from adapters.typed.answers import Answer, Attachment
from agent_core.errors import InvalidInput, NotPossible
from agent_core.model.agent import Agent, Awaiting, Stopped
from agent_core.model.command import CommandCall, CommandSpec, Failed, Preview, Proposal, Succeeded, Thoughts
from agent_core.model.decision import Approval, Approve, Policy, Reject
from agent_core.model.draft import AgentDraft
from agent_core.model.files import FileEntry
from agent_core.model.ids import AgentId
from agent_core.model.model_calls import Budget, Usage
from agent_core.model.origin import ChannelScope, ThreadRef
from agent_core.model.permissions import Lease
from agent_core.model.records.deletion import Retention
from agent_core.model.turn import Turn
from agent_core.service.reading.approval_queue import WaitingAgent
from agent_core.testing.examples import ANA, BEN, NOON, a_notice, a_turn, an_agent
from docs.pictures.scenes import scenes
from tests.drawn_forms import edit_view, number_view, reason_view
from tests.slack_messages import (
    agent_message,
    agents_message,
    answer_message,
    choice_message,
    delete_message,
    explanation_message,
    files_message,
    help_message,
    note_message,
    notice_message,
    offer_message,
    root_message,
    turn_message,
)

LATER = NOON + timedelta(minutes=5)
HELPS = (subcommands.HELP, actions.HELP)
CHANNEL = ChannelScope("slack", "T1", "C1")
AGENT = an_agent(name="Energy-GPT", channel=CHANNEL, budget=Budget(limit=Decimal(2), spent=Decimal("0.41")))
THOUGHTS = Thoughts(
    text="ratings.csv has all three.",
    plan="- write the comparison\n- finish",
    reasoning="price-to-book leads",
    criticism="be brief",
    speak="May I?",
)
DIFF = "@@ -1 +1 @@\n-Coal looks cheapest.\n+NXG looks cheapest."
TURN = a_turn(
    AGENT,
    number=7,
    proposal=Proposal(
        thoughts=THOUGHTS,
        call=CommandCall("write_to_file", {"filename": "report.md", "text": "# Report\nNXG looks cheapest."}),
        preview=Preview(title="report.md · 2 lines · +1 −1", body=DIFF, kind="diff", target="report.md"),
    ),
    usage=Usage(prompt=900, completion=60, cost=Decimal("0.012")),
)
LEASE = Lease(granted_by=ANA, granted_at=NOON, total=5, left=3, classes=("read", "write", "network", "spend"))
PLACE = FormContext(CHANNEL.key, f"show all:{TURN.id}:1", "1700.1")
SPEC = CommandSpec(
    name="write_to_file",
    label="Write to file",
    description="",
    parameters={"properties": {"filename": {"type": "string"}, "text": {"type": "string"}, "mode": {}}},
    risks=("write",),
    category="files",
)


def asking(arguments: dict[str, object], **thoughts: str) -> Turn:
    call = CommandCall("any_command", arguments)
    return replace(TURN, proposal=Proposal(thoughts=Thoughts(**thoughts), call=call))


def done(text: str) -> Turn:
    return TURN.decide(Approve(), by=ANA, at=NOON).start(NOON).finish(Succeeded(text), LATER)


def link(agent: Agent) -> str:
    return f"https://slack.example/{agent.id}"


def nowhere(_: Agent) -> str:
    return ""


def read(blocks: list[dict[str, Any]]) -> list[str]:
    """The blocks as somebody reads them: one line each; buttons in brackets, boxes between bars."""
    return [_read(block) for block in blocks]


def _read(part: dict[str, Any]) -> str:
    inner = list(map(_read, part.get("elements", ())))
    said = part["text"] if isinstance(part.get("text"), str) else _read(part.get("text", {"text": ""}))
    match part.get("type"):
        case "rich_text_preformatted":
            return f"|{''.join(inner)}|"
        case "rich_text_list" | "rich_text_quote" as kind:
            return "".join(f"\n• {line}" for line in inner) if kind == "rich_text_list" else f"> {''.join(inner)}"
        case "actions":
            return " ".join(inner)
        case "button":
            return f"[{said}]"
        case "static_select":
            return f"[{' / '.join(map(_read, part['options']))}]"
        case "date":
            return f"({part['fallback']})"
        case "input":
            return f"{_read(part['label'])}: <{part['element'].get('initial_value', '')}>"
        case _:
            beside = f" {_read(part['accessory'])}" if "accessory" in part else ""
            times = "".join(f" ({_time(field['text'])})" for field in part.get("fields", ()))
            return said + times + beside + "".join(inner)


def _time(text: str) -> str:
    """A time as a client without the reader's time zone shows it."""
    return text.rpartition("|")[2].rstrip(">")


def elements(blocks: Any) -> Iterator[dict[str, Any]]:
    """Everything that can be pressed."""
    for block in blocks:
        yield from (part for part in block.get("elements", ()) if "action_id" in part)
        yield from (block[name] for name in ("accessory", "element") if name in block)


def button(blocks: Any, label: str) -> dict[str, Any]:
    return next(part for part in elements(blocks) if part.get("text", {}).get("text") == label)


def test_a_proposal_to_write_a_file() -> None:
    message = turn_message(AGENT, TURN)
    several = next(part for part in elements(message.blocks) if part["type"] == "static_select")
    assert several.pop("confirm")["text"]["text"].split(". ") == snapshot(
        [
            "The next steps run without asking: reads, changes to its own files",
            "Not included: deletions, web pages, programs, posts, paid calls, plugins and servers, finishing",
            "A note from anyone pauses this.",
        ]
    )
    assert message == snapshot(
        SlackMessage(
            text="Energy-GPT asks to run write_to_file (turn 7): report.md · +1 −1",
            blocks=[
                {
                    "type": "rich_text",
                    "elements": [
                        {
                            "type": "rich_text_section",
                            "elements": [
                                {
                                    "type": "text",
                                    "text": "Energy-GPT wants to change “report.md” (+1 −1)",
                                    "style": {"bold": True},
                                }
                            ],
                        }
                    ],
                },
                {
                    "type": "section",
                    "text": {"type": "plain_text", "text": "“ratings.csv has all three.”", "emoji": False},
                    "expand": True,
                    "accessory": {
                        "type": "button",
                        "text": {"type": "plain_text", "text": "Thoughts", "emoji": False},
                        "action_id": "signoff.thoughts",
                        "value": "thoughts:turn-agent-ada-0007:1",
                    },
                },
                {
                    "type": "rich_text",
                    "elements": [
                        {
                            "type": "rich_text_section",
                            "elements": [{"type": "text", "text": "report.md · 2 lines", "style": {"bold": True}}],
                        },
                        {
                            "type": "rich_text_preformatted",
                            "elements": [
                                {
                                    "type": "text",
                                    "text": """\
@@ -1 +1 @@
-Coal looks cheapest.
+NXG looks cheapest.\
""",
                                }
                            ],
                        },
                        {
                            "type": "rich_text_section",
                            "elements": [{"type": "text", "text": "text", "style": {"bold": True}}],
                        },
                        {
                            "type": "rich_text_preformatted",
                            "elements": [
                                {
                                    "type": "text",
                                    "text": """\
# Report
NXG looks cheapest.\
""",
                                }
                            ],
                        },
                    ],
                },
                {
                    "type": "context",
                    "elements": [
                        {
                            "type": "plain_text",
                            "text": "turn 7 · write_to_file · write · this step $0.012 · $0.41 of $2.00",
                            "emoji": False,
                        }
                    ],
                },
                {
                    "type": "actions",
                    "elements": [
                        {
                            "type": "button",
                            "text": {"type": "plain_text", "text": "Approve", "emoji": False},
                            "action_id": "signoff.approve",
                            "value": "approve:turn-agent-ada-0007:1:a8b0b5dd02fae40affef9b88948a38a4",
                            "style": "primary",
                        },
                        {
                            "type": "static_select",
                            "action_id": "signoff.approve_n",
                            "options": [
                                {
                                    "text": {"type": "plain_text", "text": "Approve ×3", "emoji": False},
                                    "value": "approve:turn-agent-ada-0007:3:a8b0b5dd02fae40affef9b88948a38a4",
                                },
                                {
                                    "text": {"type": "plain_text", "text": "Approve ×5", "emoji": False},
                                    "value": "approve:turn-agent-ada-0007:5:a8b0b5dd02fae40affef9b88948a38a4",
                                },
                                {
                                    "text": {"type": "plain_text", "text": "Approve ×10", "emoji": False},
                                    "value": "approve:turn-agent-ada-0007:10:a8b0b5dd02fae40affef9b88948a38a4",
                                },
                                {
                                    "text": {"type": "plain_text", "text": "Another number…", "emoji": False},
                                    "value": "another number:turn-agent-ada-0007:1:a8b0b5dd02fae40affef9b88948a38a4",
                                },
                            ],
                            "placeholder": {"type": "plain_text", "text": "Approve ×N", "emoji": False},
                        },
                        {
                            "type": "button",
                            "text": {"type": "plain_text", "text": "Reject", "emoji": False},
                            "action_id": "signoff.reject",
                            "value": "reject:turn-agent-ada-0007:1:a8b0b5dd02fae40affef9b88948a38a4",
                        },
                        {
                            "type": "overflow",
                            "action_id": "signoff.more",
                            "options": [
                                {
                                    "text": {"type": "plain_text", "text": "Edit", "emoji": False},
                                    "value": "edit:turn-agent-ada-0007:1:a8b0b5dd02fae40affef9b88948a38a4",
                                },
                                {
                                    "text": {"type": "plain_text", "text": "Self-review", "emoji": False},
                                    "value": "review:turn-agent-ada-0007:1",
                                },
                                {
                                    "text": {"type": "plain_text", "text": "Fork", "emoji": False},
                                    "value": "fork:turn-agent-ada-0007:1",
                                },
                                {
                                    "text": {"type": "plain_text", "text": "Always allow…", "emoji": False},
                                    "value": "always allow:turn-agent-ada-0007:1:a8b0b5dd02fae40affef9b88948a38a4",
                                },
                            ],
                        },
                        {
                            "type": "button",
                            "text": {"type": "plain_text", "text": "Stop", "emoji": False},
                            "action_id": "signoff.stop",
                            "value": "stop:agent-ada:1",
                            "style": "danger",
                            "confirm": {
                                "title": {"type": "plain_text", "text": "Stop Energy-GPT?", "emoji": False},
                                "text": {
                                    "type": "plain_text",
                                    "text": "This ends what it is doing. It continues only after Resume.",
                                    "emoji": False,
                                },
                                "confirm": {"type": "plain_text", "text": "Stop", "emoji": False},
                                "deny": {"type": "plain_text", "text": "Keep going", "emoji": False},
                                "style": "danger",
                            },
                        },
                    ],
                },
                {
                    "type": "input",
                    "block_id": "reply:agent-ada:1:a8b0b5dd02fae40affef9b88948a38a4",
                    "label": {"type": "plain_text", "text": "Reply to Energy-GPT", "emoji": False},
                    "optional": True,
                    "element": {
                        "type": "plain_text_input",
                        "action_id": "signoff.reply",
                        "multiline": False,
                        "placeholder": {
                            "type": "plain_text",
                            "text": "Note · Ask: end with ? · Reject with reason: “no, …” or what to change",
                            "emoji": False,
                        },
                        "dispatch_action_config": {"trigger_actions_on": ["on_enter_pressed"]},
                    },
                    "dispatch_action": True,
                },
            ],
            metadata={"event_type": "signoff_turn", "event_payload": {"turn": "turn-agent-ada-0007"}},
        )
    )


def test_a_command_that_runs_under_a_lease() -> None:
    running = TURN.decide(Approve(5), by=ANA, at=NOON).start(NOON)
    message = turn_message(replace(AGENT, lease=LEASE), running)
    assert (message.text, read(message.blocks)) == snapshot(
        (
            "Energy-GPT · turn 7 · write_to_file · approved ×5 by @ana · running · report.md · +1 −1",
            [
                """\
Energy-GPT · Change “report.md” (+1 −1)
● approved ×5 by @ana · running\
""",
                "“ratings.csv has all three.” [Thoughts]",
                """\
report.md · 2 lines|@@ -1 +1 @@
-Coal looks cheapest.
+NXG looks cheapest.|text|# Report
NXG looks cheapest.|\
""",
                "turn 7 · write_to_file · write · $0.012 · under @ana’s ×5 · 3 of 5 left",
                "[Stop] [Revoke]",
            ],
        )
    )


def test_a_long_result() -> None:
    message = turn_message(AGENT, done("\n".join(f"line {number}" for number in range(40))))
    assert (message.text, read(message.blocks)) == snapshot(
        (
            "Energy-GPT · turn 7 · write_to_file · done · approved by @ana, 12:00 UTC · report.md · +1 −1",
            [
                """\
Energy-GPT · Change “report.md” (+1 −1)
✓ done · approved by @ana, (14 Mar 2026, 12:00 UTC)\
""",
                "“ratings.csv has all three.”",
                "filename: report.md · text: # Report NXG looks cheapest.",
                """\
|line 0
line 1
line 2
line 3
line 4
line 5
line 6
line 7
… 28 lines left out …
line 36
line 37
line 38
line 39|… Show all has the rest.\
""",
                "turn 7 · write_to_file · write · $0.012",
                "[Show all]",
            ],
        )
    )


def test_a_command_that_may_have_run() -> None:
    interrupted = TURN.decide(Approve(), by=ANA, at=NOON).start(NOON).interrupt()
    message = turn_message(AGENT, interrupted)
    assert message.text.startswith("Energy-GPT · turn 7 · write_to_file · interrupted: Signoff restarted")
    assert read(message.blocks) == snapshot(
        [
            """\
Energy-GPT · Change “report.md” (+1 −1)
○ interrupted: Signoff restarted while this ran. It may have run\
""",
            "“ratings.csv has all three.” [Thoughts]",
            """\
report.md · 2 lines|@@ -1 +1 @@
-Coal looks cheapest.
+NXG looks cheapest.|text|# Report
NXG looks cheapest.|\
""",
            "turn 7 · write_to_file · write · this step $0.012 · $0.41 of $2.00",
            "[It ran] [Skip] [Run again] [Stop]",
        ]
    )


def test_a_stop_is_no_failure_and_says_its_own_time() -> None:
    stopped = TURN.decide(Approve(), by=BEN, at=NOON).start(NOON).stop(ANA, LATER)
    assert read(turn_message(AGENT, stopped).blocks)[0] == snapshot("""\
Energy-GPT · Change “report.md” (+1 −1)
– stopped by @ana, (14 Mar 2026, 12:05 UTC) · approved by @ben, (14 Mar 2026, 12:00 UTC)\
""")


def test_the_newest_card_under_a_lease_can_have_it_revoked_when_it_is_done() -> None:
    under_lease = TURN.decide(Approve(5), by=ANA, at=NOON).start(NOON).finish(Succeeded("Written."), LATER)
    agent = replace(AGENT, lease=LEASE, turns=TURN.number)
    assert read(turn_message(agent, under_lease).blocks)[-2:] == snapshot(
        ["turn 7 · write_to_file · write · $0.012 · under @ana’s ×5 · 3 of 5 left", "[Show all] [Revoke]"]
    )
    assert parse_action(button(turn_message(agent, under_lease).blocks, "Revoke")) == Button("revoke", AGENT.id)


def test_what_was_rejected_or_failed_or_withdrawn_is_one_short_card() -> None:
    failed = TURN.decide(Approve(), by=ANA, at=NOON).start(NOON).finish(Failed("No room is left."), LATER)
    turns = (TURN.decide(Reject("Leave out coal"), by=BEN, at=NOON), failed, TURN.stop(BEN, LATER))
    assert [read(turn_message(AGENT, turn).blocks) for turn in turns] == snapshot(
        [
            [
                """\
Energy-GPT · Change “report.md” (+1 −1)
✗ rejected by @ben, (14 Mar 2026, 12:00 UTC) · “Leave out coal”\
""",
                "“ratings.csv has all three.”",
                "filename: report.md · text: # Report NXG looks cheapest.",
                "turn 7 · write_to_file · write · $0.012",
                "[Show all]",
            ],
            [
                """\
Energy-GPT · Change “report.md” (+1 −1)
✗ failed · approved by @ana, (14 Mar 2026, 12:00 UTC)\
""",
                "“ratings.csv has all three.”",
                "filename: report.md · text: # Report NXG looks cheapest.",
                "|Error: No room is left.|",
                "turn 7 · write_to_file · write · $0.012",
                "[Show all]",
            ],
            [
                """\
Energy-GPT · Change “report.md” (+1 −1)
– withdrawn: stopped by @ben, (14 Mar 2026, 12:05 UTC)\
""",
                "“ratings.csv has all three.”",
                "filename: report.md · text: # Report NXG looks cheapest.",
                "turn 7 · write_to_file · write · $0.012",
                "[Show all]",
            ],
        ]
    )


def test_a_root_message() -> None:
    described = replace(AGENT, goals=("Compare three", "Write it up"))
    message = root_message(described, model="gpt-5", standing="thinking", files="3 files", last="✓ 6 read_file")
    assert (message.text, read(message.blocks), message.written_by) == snapshot(
        (
            "Energy-GPT: a careful writer",
            [
                """\
Energy-GPT
a careful writer
• Compare three
• Write it up\
""",
                "Started by @ana · gpt-5 · $0.41 of $2.00",
                "Reply in this thread to talk to it, or write !help. Nothing runs before you approve.",
                "● thinking<!date^1773489600^{date_short_pretty} {time}|14 Mar 2026, 12:00 UTC>",
                "3 files · Last: ✓ 6 read_file",
            ],
            {"event_type": "signoff_agent", "event_payload": {"agent": "agent-ada"}},
        )
    )


@pytest.mark.parametrize("kind", ["stopped", "paused", "finished"])
def test_a_notice_of_an_agent_that_rests_has_a_resume_button(kind: str) -> None:
    message = notice_message(AGENT, a_notice(AGENT, kind=kind, text="stopped by @ana."))
    assert read(message.blocks) == ["Energy-GPT: stopped by @ana. [Resume]"]
    assert message.written_by == {"event_type": "signoff_notice", "event_payload": {"notice": "notice-1"}}


def test_any_other_notice_is_small_print() -> None:
    message = notice_message(AGENT, a_notice(AGENT, kind="lease ended", text="The lease ended."))
    assert (message.text, read(message.blocks)) == ("Energy-GPT: The lease ended.", ["Energy-GPT: The lease ended."])
    assert message.blocks[0]["type"] == "context"


def test_a_notice_that_begins_with_the_agent_does_not_name_it_twice() -> None:
    message = notice_message(AGENT, a_notice(AGENT, kind="finished", text="Energy-GPT is done: all three compared."))
    assert read(message.blocks) == ["Energy-GPT is done: all three compared. [Resume]"]


def test_help_is_one_command_a_line_and_a_screen_reader_has_the_same_lines() -> None:
    message = help_message(*HELPS, said="There is no /agent sing.")
    assert read(message.blocks) == ["There is no /agent sing.", *(each.text.replace(":", "", 1) for each in HELPS)]
    assert message.text == f"There is no /agent sing.\n\n{HELPS[0].text}\n\n{HELPS[1].text}"
    drawn = [run["text"] for run in message.blocks[1]["elements"][0]["elements"] if run.get("style") == {"code": True}]
    assert drawn == [command for command, _ in HELPS[0].commands]


def test_a_note_is_shown_to_the_others_with_its_writer() -> None:
    assert read(note_message(AGENT, BEN, "Mind *coal* <!here>").blocks) == [
        "@ben to Energy-GPT as a note",
        "> Mind *coal* <!here>",
    ]


def test_a_reply_to_a_resting_agent_is_answered_with_resume() -> None:
    message = choice_message("Kept. Resume lets it read this.", [Button("resume", AGENT.id)])
    assert read(message.blocks) == ["Kept. Resume lets it read this.", "[Resume]"]
    assert parse_action(button(message.blocks, "Resume")) == Button("resume", AGENT.id)


def test_the_agents_of_a_channel_with_what_waits_and_since_when() -> None:
    waits = replace(AGENT, status=Awaiting())
    stopped = replace(AGENT, name="Ada", status=Stopped(BEN))
    assert read(agents_message([waits, stopped], link).blocks) == snapshot(
        [
            "Energy-GPT · needs approval · $0.41 of $2.00 (14 Mar 2026, 12:00 UTC) [Open]",
            "Ada · stopped by @ben · $0.41 of $2.00 (14 Mar 2026, 12:00 UTC) [Open]",
        ]
    )
    assert read(agents_message([waits], nowhere).blocks) == snapshot(
        ["Energy-GPT · needs approval · $0.41 of $2.00 (14 Mar 2026, 12:00 UTC)"]
    )
    assert read(agents_message([], link).blocks) == snapshot(["No agents here yet. [New agent]"])


@pytest.mark.proves("retention:said")
def test_the_list_says_when_an_agent_at_rest_is_deleted() -> None:
    stopped = replace(AGENT, name="Ada", status=Stopped(BEN))
    assert read(agents_message([AGENT, stopped], nowhere, Retention(history_days=30)).blocks) == [
        "Energy-GPT · thinking · $0.41 of $2.00 (14 Mar 2026, 12:00 UTC)",
        "Ada · stopped by @ben · $0.41 of $2.00 · deleted on 13 Apr 2026 (14 Mar 2026, 12:00 UTC)",
    ]


def test_more_agents_than_a_message_holds_are_counted() -> None:
    blocks = agents_message([AGENT] * 70, link).blocks
    assert (len(blocks), read(blocks)[-1]) == (36, "and 35 more agents")


def test_one_agent_with_all_that_is_settled() -> None:
    settled = replace(AGENT, lease=LEASE, policy=Policy(approvers="owner", free=("read",)))
    assert read(agent_message(settled, link).blocks) == snapshot(
        [
            """\
Energy-GPT
a careful writer
• Write a poem\
""",
            "thinking · $0.41 of $2.00 (14 Mar 2026, 12:00 UTC)",
            "Started by @ana · the default model · turn 0",
            "Who may approve: only @ana",
            "Runs without asking: read (chosen by @ana)",
            "under @ana’s ×5 · 3 of 5 left",
            "[Stop] [Revoke] [Open]",
        ]
    )
    assert read(agent_message(replace(AGENT, status=Stopped(BEN)), nowhere).blocks)[-1] == "[Resume]"


def test_files_can_be_uploaded_one_by_one_and_the_rest_is_counted() -> None:
    entries = [FileEntry(f"notes/{number}.md", 2_048 * number, NOON) for number in range(40)]
    blocks = files_message(AGENT, entries).blocks
    assert (read(blocks)[0], read(blocks)[2], read(blocks)[-1], len(blocks)) == (
        "Energy-GPT · 40 files",
        "notes/1.md · 2,048 bytes (14 Mar 2026, 12:00 UTC) [Upload]",
        "and 5 more files",
        37,
    )
    assert parse_action(button(blocks, "Upload")) == UploadButton(AGENT.id, "notes/0.md")
    assert read(files_message(AGENT, []).blocks) == ["Energy-GPT has no files yet."]


def test_deleting_asks_first() -> None:
    message = delete_message(AGENT)
    asked = button(message.blocks, "Delete")
    assert read(message.blocks) == snapshot(
        ["Delete Energy-GPT? This removes its history, memory and files.", "[Delete]"]
    )
    assert (asked["style"], asked["confirm"]["title"]["text"]) == ("danger", "Delete Energy-GPT?")
    assert parse_action(asked) == DeleteButton(AGENT.id)


def test_an_empty_mention_is_answered_with_what_signoff_is() -> None:
    message = explanation_message()
    assert read(message.blocks) == snapshot(
        [
            """\
Signoff runs agents in your team's chat, and nothing runs until someone signs it off.
Mention Signoff and say what you want done, or press New agent:
@Signoff research the best tennis strings for topspin\
""",
            "[New agent]",
        ]
    )
    assert isinstance(parse_action(button(message.blocks, "New agent")), ViewButton)


def test_a_drafted_agent_is_carried_by_its_buttons() -> None:
    policy = Policy(two=("execute",))
    draft = AgentDraft(name="Racket", role="a tester", goals=("Find strings",), budget=Decimal("1.50"), policy=policy)
    message = offer_message(draft, "find strings", said="Drafted.")
    assert read(message.blocks) == snapshot(
        [
            "Drafted.",
            """\
Racket
a tester
• Find strings\
""",
            "[Create] [Change]",
        ]
    )
    assert parse_action(button(message.blocks, "Create")) == SlackDraftButton("create", draft)
    assert parse_action(button(message.blocks, "Change")) == SlackDraftButton("change", draft)


def test_a_draft_too_long_for_a_button_leaves_its_sentence() -> None:
    message = offer_message(AgentDraft(goals=("x" * 2000,)), "find strings")
    assert parse_action(button(message.blocks, "Create")) == SlackDraftButton("create", None, "find strings")


FOREIGN: list[dict[str, Any]] = [
    {},
    {"type": "button", "action_id": "other.approve", "value": "approve:x:1"},
    {"type": "button", "action_id": "signoff.approve"},
    {"type": "button", "action_id": "signoff.approve", "value": "fly:x:1"},
    {"type": "button", "action_id": "signoff.show_all", "value": "approve:x:1"},
    {"type": "button", "action_id": "signoff.upload", "value": "upload:x:"},
    {"type": "button", "action_id": "signoff.delete", "value": "delete:"},
    {"type": "button", "action_id": "signoff.create", "value": "{}"},
    {
        "type": "button",
        "action_id": "signoff.create",
        "value": '["create",["n","r",["g"],"","x","anyone",[],"full"],""]',
    },
    {"type": "button", "action_id": "signoff.create", "value": '["create",["n","r",["g"],"","1","all",[],"full"],""]'},
    {"type": "button", "action_id": "signoff.create", "value": '["create",["n","r","g","","1","anyone",[],"full"],""]'},
    {"type": "button", "action_id": "signoff.create", "value": '["fly",null,""]'},
    {"type": "static_select", "action_id": "signoff.approve_n", "selected_option": None},
    {"type": "plain_text_input", "action_id": "signoff.reply", "block_id": "b1", "value": "reply:x:1"},
]


@pytest.mark.parametrize("action", FOREIGN)
def test_what_signoff_did_not_write_is_no_button(action: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        parse_action(action)


def test_a_short_argument_stands_on_its_line_and_a_long_one_in_a_box() -> None:
    blocks = turn_message(AGENT, asking({"path": "a", "empty": "", "poem": "one\ntwo", "count": 3})).blocks
    assert "path a\nempty empty\npoem|one\ntwo|count 3" in read(blocks)


def test_nothing_in_an_argument_can_close_its_box_or_notify() -> None:
    text = "```\n*Approved* <!channel> <@U1> @here :tada: ```"
    message = turn_message(AGENT, asking({"text": text}, text="<!channel>"))
    assert f"text|{text}|" in read(message.blocks)
    assert "<" not in message.text


@pytest.mark.proves("card:once")
def test_the_text_of_a_new_file_stands_once_and_show_all_is_in_the_menu_of_the_card() -> None:
    call = CommandCall("write_to_file", {"filename": "a.md", "text": "one\ntwo\n"})
    preview = Preview(title="a.md · new file", body="@@ -0,0 +1,2 @@\n+one\n+two", kind="diff", target="a.md")
    proposed = replace(TURN, proposal=Proposal(thoughts=Thoughts(), call=call, preview=preview))
    shown = "a.md · new file|+one\n+two|"
    for turn in (proposed, proposed.decide(Approve(), by=ANA, at=NOON).start(NOON)):
        blocks = turn_message(AGENT, turn).blocks
        assert shown in read(blocks)
        (inside,) = [part["options"] for part in elements(blocks) if part["type"] == "overflow"]
        opening = {"type": "overflow", "action_id": "signoff.more", "selected_option": inside[-1]}
        assert parse_action(opening) == ViewButton("show all", TURN.id)
    whole = read(show_all(turn_card(AGENT, proposed), PLACE)["blocks"])
    assert "text|one\ntwo\n|" in whole


def test_the_preview_stands_before_the_arguments_that_it_is_of() -> None:
    block = next(line for line in read(turn_message(AGENT, TURN).blocks) if "|" in line)
    assert block.index("report.md · 2 lines") < block.index("+NXG looks cheapest.") < block.index("# Report")


def test_what_is_cut_says_so_and_has_a_button_beside_it() -> None:
    blocks = turn_message(AGENT, asking({"text": "word " * 10_000, "path": "a.txt"})).blocks
    lines = read(blocks)
    where = next(number for number, line in enumerate(lines) if "more characters: Show all" in line)
    assert lines[where].endswith("path a.txt")
    assert (
        lines[where + 1] == "The command is too long to show here in full. Read the rest before you approve. [Show all]"
    )
    assert parse_action(button(blocks, "Show all")) == ViewButton("show all", TURN.id)


def test_a_small_argument_is_not_cut_for_a_large_one() -> None:
    lines = read(turn_message(AGENT, asking({"large": "x" * 50_000, "small": "y" * 2000})).blocks)
    assert any(f"small|{'y' * 2000}|" in line for line in lines)


def test_arguments_beyond_sixty_are_counted() -> None:
    lines = read(turn_message(AGENT, asking({f"a{number}": "1" for number in range(70)})).blocks)
    assert any(line.endswith("… 10 more arguments: Show all") for line in lines)


def test_thoughts_that_do_not_fit_are_behind_a_button() -> None:
    message = turn_message(AGENT, asking({}, text="why " * 1000))
    assert parse_action(button(message.blocks, "Thoughts")) == ViewButton("thoughts", TURN.id)


def test_a_brief_card_keeps_plan_and_reasoning_behind_a_button() -> None:
    brief = replace(AGENT, policy=Policy(verbosity="brief"))
    assert read(turn_message(brief, TURN).blocks)[1] == "“ratings.csv has all three.” [Thoughts]"
    wordless = turn_message(brief, asking({}, plan="- go"))
    assert any("[Thoughts]" in row for row in read(wordless.blocks))


def test_a_card_without_thoughts_or_arguments_is_a_card() -> None:
    assert read(turn_message(AGENT, asking({})).blocks)[:2] == [
        "Energy-GPT wants to run any_command",
        "turn 7 · any_command · write · this step $0.012 · $0.41 of $2.00",
    ]


def test_a_remark_and_a_model_label_are_on_the_card() -> None:
    blocks = turn_message(AGENT, replace(TURN, remark="It changed."), model="Demo · scripted, no AI").blocks
    assert "It changed." in read(blocks)
    assert any(line.endswith("Demo · scripted, no AI") for line in read(blocks))


async def test_the_reference_shows_the_texts_of_the_cards_that_are_drawn_there() -> None:
    page = (Path(__file__).parents[4] / "docs" / "reference" / "slack-cards.md").read_text(encoding="utf-8")
    shown = [" ".join(text.split()) for text in re.findall(r"\*\*text\*\*: “(.+?)”\n", page, re.DOTALL)]
    drawn = await scenes(NOON.replace(hour=14, minute=6))
    assert shown == [scene.message.text for scene in drawn]


def test_a_root_message_names_the_model_and_the_agents_own() -> None:
    own = root_message(replace(AGENT, model="small"), model="Demo · scripted, no AI")
    assert read(own.blocks)[1] == "Started by @ana · small · scripted, no AI · $0.41 of $2.00"


def test_cards_and_root_name_the_fallback_while_it_answers() -> None:
    agent = replace(AGENT, fallback="small · two.test")
    now = "small · two.test (while large · one.test is away)"
    assert any(line.endswith(now) for line in read(turn_message(agent, TURN, model="large · one.test").blocks))
    assert f"Started by @ana · {now} · " in read(root_message(agent, model="large · one.test").blocks)[1]
    own = turn_message(replace(agent, model="own"), TURN).blocks
    assert any(line.endswith("small · two.test (while own is away)") for line in read(own))


def test_approving_a_guarded_command_more_than_once_covers_its_class_too() -> None:
    blocks = turn_message(AGENT, replace(TURN, risks=("execute",))).blocks
    several = next(part for part in elements(blocks) if part["type"] == "static_select")
    assert several["confirm"]["text"]["text"].split(". ") == snapshot(
        [
            "The next steps run without asking: reads, changes to its own files, programs",
            "Not included: deletions, web pages, posts, paid calls, plugins and servers, finishing",
            "A note from anyone pauses this.",
        ]
    )


def test_a_short_result_needs_no_button() -> None:
    turn = replace(asking({"path": "a"}), risks=("read",))
    read_it = turn.decide(Approve(), by=ANA, at=NOON).start(NOON).finish(Succeeded("one line"), LATER)
    assert read(turn_message(AGENT, read_it).blocks) == snapshot(
        [
            """\
Energy-GPT · Run any_command “a”
✓ done · approved by @ana, (14 Mar 2026, 12:00 UTC)\
""",
            "path: a",
            "|one line|",
            "turn 7 · any_command · read · $0.012",
        ]
    )


def test_a_review_of_what_is_done_is_behind_show_all() -> None:
    turn = replace(asking({"path": "a"}), review="It was too early.")
    over = turn.decide(Approve(), by=ANA, at=NOON).start(NOON).finish(Succeeded("one line"), LATER)
    assert "[Show all]" in read(turn_message(AGENT, over).blocks)[-1]
    shown = read(show_all(turn_card(AGENT, over), PLACE)["blocks"])
    assert any("It was too early." in line for line in shown)


def test_an_answer_longer_than_a_message_says_how_much_is_missing() -> None:
    text = "".join(read(answer_message(Answer("Here:", files=(Attachment("a.txt", b"x" * 9_000),))).blocks))
    assert text.startswith("Here:")
    missing = re.search(r"… ([\d,]+) more characters[.]$", text)
    assert missing is not None
    assert text.count("x") + int(missing[1].replace(",", "")) == 9_000


def test_a_plain_message_formats_nothing() -> None:
    message = SlackMessage.plain("*a* <!here> & b")
    assert (message.text, message.metadata) == ("*a* &lt;!here&gt; &amp; b", None)
    assert message.blocks[0]["text"] == {"type": "plain_text", "text": "*a* <!here> & b", "emoji": False}
    with pytest.raises(ValueError, match="metadata"):
        _ = message.written_by


def test_the_form_of_a_new_agent_begins_with_what_the_channel_used_last() -> None:
    last = AgentDraft(name="Old", budget=Decimal(2), model="small", policy=Policy(free=("read",), approvers="owner"))
    view = agent_view(None, last, CHANNEL.key, thread="1700.1")
    assert read(view["blocks"]) == snapshot(
        [
            "Name: <>",
            "Role: <>",
            "Goals: <>",
            "",
            "More",
            "Settings from Old, the last agent created here.",
            "Schedule: <>",
            "Budget in US dollars: <2>",
            "Model: <small>",
            "Reasoning effort: <>",
            "Run without asking: <>",
            "Two people approve: <>",
            "Who may approve: <>",
            "Dry run: <>",
            "Cards show: <>",
        ]
    )
    chosen = [part.get("initial_option", {}).get("value") for part in elements(view["blocks"])]
    assert chosen[-3:] == ["owner", None, "brief"]
    assert (view["callback_id"], place_of(view)) == ("signoff.new", FormContext(CHANNEL.key, CHANNEL.key, "1700.1"))


def test_a_draft_fills_the_form() -> None:
    draft = AgentDraft(name="Racket", role="a tester", goals=("Find", "Write"), budget=Decimal(1))
    view = agent_view(draft, AgentDraft(budget=Decimal(9)), CHANNEL.key, said="Drafted from your sentence.")
    assert read(view["blocks"])[:4] == [
        "Drafted from your sentence.",
        "Name: <Racket>",
        "Role: <a tester>",
        "Goals: <Find\nWrite>",
    ]
    assert "Budget in US dollars: <1>" in read(view["blocks"])


def test_the_form_behind_edit_has_a_field_for_each_argument_given_or_not() -> None:
    view = edit_view(TURN, SPEC, PLACE)
    assert read(view["blocks"]) == ["filename: <report.md>", "text: <# Report\nNXG looks cheapest.>", "mode: <>"]
    assert (view["title"]["text"], view["submit"]["text"]) == ("Edit Write to file", "Run edited")
    about = str(Button("edit", TURN.id, shown=TURN.control_hash))
    assert place_of(view) == replace(PLACE, about=about)


def test_a_long_argument_is_spread_over_fields_that_end_with_lines() -> None:
    view = edit_view(asking({"text": ("x" * 99 + "\n") * 60}), SPEC, PLACE)
    parts = [block for block in view["blocks"] if block["block_id"].startswith("argument.0")]
    assert [block["label"]["text"] for block in parts] == [
        "text · part 1 of 3",
        "text · part 2 of 3",
        "text · part 3 of 3",
    ]
    assert all(set(block["element"]["initial_value"].splitlines()) == {"x" * 99} for block in parts)


@pytest.mark.parametrize("arguments", [{"text": "x" * 300_000}, {f"a{number}": "" for number in range(101)}])
def test_arguments_that_no_form_can_hold_have_none(arguments: dict[str, object]) -> None:
    with pytest.raises(NotPossible, match="too long to edit here"):
        edit_view(asking(arguments), SPEC, PLACE)


def test_a_command_without_arguments_says_so_in_the_form() -> None:
    view = edit_view(asking({}), replace(SPEC, parameters={}), PLACE)
    assert view is not None
    assert read(view["blocks"]) == ["This command takes no arguments."]


def test_the_small_forms() -> None:
    views = (reason_view(TURN, PLACE), number_view(TURN, PLACE))
    assert [(view["callback_id"], view["submit"]["text"], read(view["blocks"])) for view in views] == snapshot(
        [
            ("signoff.reject", "Reject", ["Reason: <>"]),
            ("signoff.times", "Approve ×N", ["How many commands: <>", covered_text(TURN)]),
        ]
    )
    assert [read(view["blocks"]) for view in (drafting_view(), sentence_view("Oh", "No room."))] == snapshot(
        [["Drafting name, role and goals from your sentence…"], ["No room."]]
    )


def test_all_of_a_turn_in_parts() -> None:
    card = turn_card(AGENT, done("".join(f"line {number}\n" for number in range(30_000))))
    first, second = show_all(card, PLACE), show_all(card, PLACE, 2)
    assert read(first["blocks"])[0] == "Part 1 of 4"
    assert parse_action(button(first["blocks"], "Next part")) == ViewButton("show all", TURN.id, 2)
    assert [part["text"]["text"] for part in elements(second["blocks"])] == ["Previous part", "Next part"]
    assert show_all(card, PLACE, 99) == show_all(card, PLACE, 4)
    assert place_of(first) == PLACE


def test_thoughts_longer_than_a_view_lead_to_all_of_the_turn() -> None:
    card = turn_card(AGENT, asking({}, text="because " * 40_000))
    assert parse_action(button(thoughts_view(card, PLACE)["blocks"], "Show all")) == ViewButton("show all", TURN.id)
    assert read(thoughts_view(turn_card(AGENT, asking({})))["blocks"]) == [
        "The model gave no thoughts for this command."
    ]
    assert read(thoughts_view(turn_card(AGENT, TURN))["blocks"]) == snapshot(
        [
            """\
Thoughts
ratings.csv has all three.\
""",
            """\
Plan
write the comparison
finish\
""",
            """\
Reasoning
price-to-book leads\
""",
            """\
Criticism
be brief\
""",
            """\
Speak
May I?\
""",
        ]
    )


def test_the_home_tab() -> None:
    waits = replace(AGENT, status=Awaiting())
    view = home([waits, replace(AGENT, id=AgentId("agent-2"), status=Stopped(BEN))], [WaitingAgent(waits, TURN)], link)
    assert read(view["blocks"]) == snapshot(
        [
            "Needs approval",
            "Energy-GPT needs approval: turn 7, write_to_file (14 Mar 2026, 12:00 UTC)",
            """\
report.md · 2 lines · +1 −1|@@ -1 +1 @@
-Coal looks cheapest.
+NXG looks cheapest.|text|# Report
NXG looks cheapest.|\
""",
            "write · this step $0.012 · $0.41 of $2.00",
            "[Approve] [Reject] [Show all] [Open]",
            "",
            "[New agent]",
            "Your agents",
            "2 in all · $0.82 spent",
            "Energy-GPT · needs approval · $0.41 of $2.00 (14 Mar 2026, 12:00 UTC)",
            "[Open] [Stop]",
            "Energy-GPT · stopped by @ben · $0.41 of $2.00 (14 Mar 2026, 12:00 UTC)",
            "[Open] [Resume]",
        ]
    )
    rows = [block for block in view["blocks"] if block.get("block_id")]
    assert home_channel({"block_id": rows[0]["block_id"]}) == CHANNEL
    with pytest.raises(InvalidInput):
        home_channel({"block_id": "b1"})


def test_an_empty_home_tab_says_how_to_begin() -> None:
    assert read(home([], [], link)["blocks"]) == snapshot(
        [
            "Signoff runs agents in your team's chat, and nothing runs until someone signs it off.",
            """\
You have no agents yet. Press New agent, or mention Signoff in a channel and say what you want done:
@Signoff research the best tennis strings for topspin\
""",
            "[New agent]",
        ]
    )


def test_a_crowded_home_tab_counts_the_rest() -> None:
    mine = [replace(AGENT, id=AgentId(f"agent-{number}")) for number in range(200)]
    blocks = home(mine, [WaitingAgent(agent, TURN) for agent in mine], link)["blocks"]
    assert len(blocks) <= 100
    assert [line for line in read(blocks) if line.startswith("and ")] == ["and 188 more", "and 185 more"]


def test_a_rejection_without_a_reason_ends_with_its_time() -> None:
    channel = ChannelScope("slack", "T1", "C1")
    agent = an_agent(channel=channel, thread=ThreadRef(channel, "1.2"))
    rejected = Approval(by=ANA, at=NOON, decision=Reject())
    message = turn_message(agent, a_turn(agent, state="rejected", approvals=(rejected,)))
    blocks: Any = message.blocks
    runs = blocks[0]["elements"][0]["elements"]
    assert [run["type"] for run in runs][-1] == "date"
