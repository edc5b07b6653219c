"""What the demo script says about a command whose arguments a person changed."""

from agent_core.capabilities.agents.finish import FINISH_COMMANDS
from agent_core.capabilities.demo.tour import APPROVED, TOUR_GOAL
from agent_core.capabilities.files.commands import FILE_COMMANDS
from agent_core.model.command import Arguments
from agent_core.model.decision import ApproveEdited
from agent_core.testing.examples import ANA, NOON
from agent_core.toolset.registry import Commands
from tests.unit.agent_core.capabilities.demo.test_rehearsal import OK, WRITE, Story, _recall


def edits(story: Story, arguments: Arguments) -> None:
    turn = story.proposes().decide(ApproveEdited(arguments), by=ANA, at=NOON).start(NOON).finish(OK, NOON)
    story.turns.append(turn)


def test_the_end_does_not_say_that_a_step_was_done_as_proposed_when_a_person_changed_it() -> None:
    story = Story.of(WRITE)
    edits(story, {"filename": "b.txt", "text": "something else"})
    assert "- Done: Write “hello” to a.txt\n" not in f"{story.reason()}\n", "a.txt was never written"


def test_the_tour_says_to_nobody_who_corrected_the_report_by_edit_that_they_approved_the_mistake() -> None:
    story = Story.of(TOUR_GOAL, commands=Commands.of(*FILE_COMMANDS, *FINISH_COMMANDS, _recall()))
    for _ in range(5):
        story.approves()
    report = story.proposes().call.arguments
    edits(story, {**report, "text": str(report["text"]).replace("36", "37")})
    assert APPROVED not in story.next()[0].text
