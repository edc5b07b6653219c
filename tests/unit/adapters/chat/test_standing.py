"""The line of a root message says what the agent does now, and nothing of an earlier turn."""

from dataclasses import replace

import pytest

from adapters.chat.standing import MAX_SUBJECT, StandingLines
from adapters.screens.turn_lines import command_text
from agent_core.errors import SurfaceError
from agent_core.model.agent import Acting, Agent, Awaiting, Paused, Thinking
from agent_core.model.command import CommandCall, Succeeded
from agent_core.model.decision import Approval, Approve
from agent_core.model.ids import AgentId
from agent_core.model.turn import Turn
from agent_core.testing.examples import ANA, NOON, a_turn, an_agent
from agent_core.testing.files import InMemoryWorkspaces

ONCE = Approval(ANA, NOON, Approve())
AGENT = replace(an_agent(), status=Awaiting(), turns=4)


def test_an_agent_that_asks_names_its_turn_and_what_it_asks_for() -> None:
    lines = StandingLines(InMemoryWorkspaces())
    lines.remember(AGENT, _turn("write_to_file", {"filename": "report.md", "text": "Hello"}))
    assert lines.line(AGENT) == "needs approval · turn 4: write_to_file report.md"


def test_what_an_earlier_turn_asked_for_is_not_told_of_a_later_one() -> None:
    lines = StandingLines(InMemoryWorkspaces())
    lines.remember(AGENT, _turn("read_file", {"filename": "a.md"}))
    assert lines.line(replace(AGENT, turns=5)) == "needs approval · turn 5"


def test_after_another_process_had_the_agent_nothing_is_taken_as_known() -> None:
    lines = StandingLines(InMemoryWorkspaces())
    lines.remember(AGENT, _turn("read_file", {"filename": "a.md"}))
    with lines.showing(AGENT):
        pass
    assert lines.is_shown(AGENT)
    lines.forget(AGENT)
    assert not lines.is_shown(AGENT)
    assert lines.line(AGENT) == "needs approval · turn 4"


def test_what_a_root_message_shows_is_not_known_after_its_edit_failed_or_was_forgotten_meanwhile() -> None:
    lines = StandingLines(InMemoryWorkspaces())
    with pytest.raises(SurfaceError), lines.showing(AGENT):
        raise SurfaceError("Slack is busy")
    assert not lines.is_shown(AGENT)
    with lines.showing(AGENT):
        lines.forget(AGENT)
    assert not lines.is_shown(AGENT)


def test_what_is_asked_while_a_root_message_is_edited_is_still_to_be_shown() -> None:
    lines = StandingLines(InMemoryWorkspaces())
    with lines.showing(AGENT):
        lines.remember(AGENT, _turn("read_file", {"filename": "a.md"}))
    assert not lines.is_shown(AGENT)


def test_thinking_and_running_are_one_state_so_that_a_lease_needs_no_edits() -> None:
    lines = StandingLines(InMemoryWorkspaces())
    working = replace(AGENT, status=Thinking())
    with lines.showing(working):
        pass
    assert lines.is_shown(replace(working, status=Acting(), turns=9))


def test_a_change_to_the_fallback_is_to_be_shown() -> None:
    lines = StandingLines(InMemoryWorkspaces())
    with lines.showing(AGENT):
        pass
    assert not lines.is_shown(replace(AGENT, fallback="another model"))


def test_other_states_have_their_reason() -> None:
    lines = StandingLines(InMemoryWorkspaces())
    assert lines.line(replace(AGENT, status=Paused("Its budget is spent."))) == "paused: Its budget is spent."
    assert "busy" in lines.line(replace(AGENT, status=Thinking(held_up="busy", tries=1)))


def test_what_is_asked_is_one_short_line_without_invisible_characters() -> None:
    asked = command_text(_turn("execute_shell", {"command_line": "echo a\n\u202eecho b " + "x" * 500}), MAX_SUBJECT)
    assert asked.startswith("execute_shell echo a ")
    assert len(asked) <= len("execute_shell ") + MAX_SUBJECT
    assert "\n" not in asked
    assert "\u202e" not in asked


def test_a_command_without_texts_is_told_by_its_name() -> None:
    assert command_text(_turn("do_nothing", {})) == "do_nothing"


def _turn(name: str, arguments: dict[str, object], agent: Agent = AGENT) -> Turn:
    turn = a_turn(agent, number=4)
    return replace(turn, proposal=replace(turn.proposal, call=CommandCall(name, arguments), preview=None))


def test_the_last_command_is_told_while_the_agent_waits_and_not_while_the_line_is_not_edited() -> None:
    lines = StandingLines(InMemoryWorkspaces())
    lines.remember(
        AGENT,
        replace(_turn("read_file", {"filename": "a.md"}), state="done", result=Succeeded("ok"), approvals=(ONCE,)),
    )
    assert lines.last_line(AGENT) == "✓ 4 read_file a.md"
    assert lines.last_line(replace(AGENT, status=Acting())) == ""
    lines.forget(AGENT)
    assert lines.last_line(AGENT) == ""


async def test_files_are_counted_once_and_again_after_a_command_that_may_have_changed_them() -> None:
    lines = StandingLines(InMemoryWorkspaces())
    files = lines.workspaces.of(AGENT)
    assert await lines.files_text(AGENT) == ""
    await files.write("a.md", b"a")
    read = replace(_turn("read_file", {"filename": "a.md"}), started_at=NOON, risks=("read",))
    lines.remember(AGENT, read)
    assert await lines.files_text(AGENT) == ""
    lines.remember(AGENT, replace(read, risks=("execute",)))
    assert await lines.files_text(AGENT) == "1 file"
    await files.write("b.md", b"b")
    lines.forget_files(AGENT)
    assert await lines.files_text(replace(AGENT, status=Acting())) == ""
    assert await lines.files_text(AGENT) == "2 files"


async def test_a_helper_that_writes_changes_the_count_of_the_agent_it_helps() -> None:
    lines = StandingLines(InMemoryWorkspaces())
    assert await lines.files_text(AGENT) == ""
    helper = replace(an_agent(), id=AgentId("helper"), parent=AGENT.id, head=AGENT.id)
    await lines.workspaces.of(helper).write("a.md", b"a")
    lines.remember(helper, replace(_turn("write_to_file", {"filename": "a.md"}, helper), started_at=NOON))
    assert await lines.files_text(AGENT) == "1 file"
