"""The tour of the scripted demo model: seven commands on sample files, and the end. No AI is involved.

The report has a mistake on purpose. People reject it with a reason, which the next command puts into the file.
"""

from pathlib import Path

from agent_core.capabilities.demo.goal_patterns import Action
from agent_core.model.decision import Policy
from agent_core.model.draft import AgentDraft
from agent_core.ports.models import Tour
from agent_core.text.lines import one_line

TOUR_GOAL = "Take the tour of Signoff"
TOUR_END = "This was the tour, by a script without AI. Every decision of yours is in the decision log."
SAMPLES = Path(__file__).parent / "tour_files"
MAX_REPLY_CHARACTERS = 200
REPORT = "# Tea report\n\nCups of mint tea this week: {cups}\nTo buy: mint tea\n"
REPORT_TITLE = "Write the report"
CORRECTED = "Your reason is in the new text. A model would understand it; this script only copies it."
APPROVED = "You approved the mistake, so the file has it. Reject would have stopped it."
NOT_APPROVED = "That step did not run. Here is the report without the mistake."
FIRST_ACTIONS = (
    Action(
        command="list_files",
        arguments={},
        title="Look at the files",
        remark="A script speaks here; a model would choose its own steps. Nothing runs before you press Approve.",
    ),
    Action(
        command="read_file",
        arguments={"filename": "orders.csv"},
        title="Read the orders",
        remark="Below is exactly what would run; Edit changes it. A model would choose which file to read.",
    ),
    Action(
        command="read_file",
        arguments={"filename": "notes.md"},
        title="Read the notes",
        remark="Approve ×3 would run this and the next two without asking. A model would read until it knows enough.",
    ),
    Action(
        command="search_files",
        arguments={"query": "mint"},
        title="Search in the files",
        remark="Stop would end everything here until you press Resume. A model would choose the words to look for.",
    ),
    Action(
        command="memory_recall",
        arguments={"query": "mint tea"},
        title="Recall",
        remark="An agent recalls what it did weeks ago, also after a restart. A model would recall what matters now.",
    ),
    Action(
        command="write_to_file",
        arguments={"filename": "report.md", "text": REPORT.format(cups=36)},
        title=REPORT_TITLE,
        remark=(
            "Read the diff: it has a mistake, here on purpose, as a model's text may. 12 + 15 + 10 is 37. "
            "Do not approve: reject it, with the reason “it is 37”."
        ),
    ),
)


def read_tour() -> Tour:
    """The tour's form and sample files."""
    draft = AgentDraft(
        name="Tour", role="shows what Signoff does", goals=(TOUR_GOAL,), policy=Policy(verbosity="brief")
    )
    return Tour(draft=draft, files={path.name: path.read_text(encoding="utf-8") for path in sorted(SAMPLES.iterdir())})


def tour_actions(report_outcome: str = "", objection: str = "") -> tuple[Action, ...]:
    """The commands of the tour. Who corrected the report by Edit is shown no correction.

    `report_outcome`: what became of the step REPORT_TITLE, such as `done` or `rejected`; "" before it was decided.
    `objection`: the reason for which people rejected that step.
    """
    if report_outcome == "edited":
        return FIRST_ACTIONS
    reply = one_line(objection, MAX_REPLY_CHARACTERS)
    remark = CORRECTED if reply else APPROVED if report_outcome == "done" else NOT_APPROVED
    text = REPORT.format(cups=37) + (f"Corrected for the reason: {reply}\n" if reply else "")
    correction = Action(
        command="write_to_file",
        arguments={"filename": "report.md", "text": text},
        title="Correct the report",
        remark=remark,
        answers_reply=True,
    )
    return (*FIRST_ACTIONS, correction)
