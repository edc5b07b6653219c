"""What ran is looked up in the decision log, and what a model said that could not be used is read. On every surface."""

import json
from pathlib import Path
from typing import cast

import pytest

from agent_core.testing.language_model import ScriptedModel
from tests.scenario.chat import ReadingChat, adding, writing
from tests.scenario.slack_app import Office, at_work
from tests.scenario.surfaces import SURFACES, Name, opened
from tests.scenario.team import new_clerk

PLAYED = [name for name in SURFACES if name != "slack-socket"]
REPLIES = (
    writing("notes.md", "one\n"),
    adding("notes.md", "two\n"),
    writing("plan.md", "ask everybody"),
    writing("secret.md", "no"),
    writing("last.md", "end"),
)
LINES = "\n".join(f"line {number} of a rambling answer" for number in range(300))
RAMBLING = f"Sure! \u202eI would rather talk.\n{LINES}\nThat was all."


@pytest.mark.slow
@pytest.mark.proves("log:surfaces")
@pytest.mark.parametrize("surface", PLAYED)
async def test_a_person_looks_up_what_ran_by_which_right_and_what_came_of_it(surface: Name, tmp_path: Path) -> None:
    async with opened(surface, ScriptedModel(*REPLIES), tmp_path) as scene:
        ana = cast("ReadingChat", scene.ana)
        await ana.new_agent("Clerk", "keeps notes", "Write a report")
        await (await ana.asks("write_to_file")).press("Approve ×3")
        await (await ana.asks("write_to_file")).press("Reject", reason="=Keep it out")
        await ana.asks("write_to_file")
        told = await ana.audit()
        write, append, rejected = "ran write_to_file (write)", "ran append_to_file (write)", "rejected write_to_file"
        if surface == "web":
            write, append, rejected = "Change", "Add to", "Change"
        rows = [
            rejected,
            "=Keep it out",
            f"{write} plan.md · +1 −0",
            "lease granted by @" if surface == "web" else "’s Approve ×N at ",
            f"{append} notes.md",
            f"{write} notes.md · +1 −0",
            "approved ×3",
            "done",
            "created",
        ]
        place = 0
        for row in rows:
            place = told.find(row, place)
            assert place >= 0, (row, told)
        if held := await ana.audit_file():
            kept = [json.loads(line) for line in held.splitlines()]
            found = [(row["turn"], row["what"], row["right"].partition(" ")[0], row["outcome"]) for row in kept]
            assert found == [
                (4, "rejected", "", ""),
                (3, "ran", "auto-approved", "done"),
                (2, "ran", "auto-approved", "done"),
                (1, "ran", "approved", "done"),
                ("", "created", "", ""),
            ]


@pytest.mark.proves("reply:shown")
@pytest.mark.parametrize("surface", PLAYED)
async def test_a_person_reads_what_the_model_said_where_its_replies_could_not_be_used(
    surface: Name, tmp_path: Path
) -> None:
    async with opened(surface, ScriptedModel(*[RAMBLING] * 3), tmp_path) as scene:
        ana = cast("ReadingChat", scene.ana)
        await ana.new_agent("Clerk", "keeps notes", "Write a report")
        assert await ana.sees("The model answered in the wrong format 3 times in a row. The last answer:")
        reply = await ana.reads_reply()
        assert "Sure! ⟨U+202E⟩I would rather talk." in " ".join(reply.split())
        assert "line 299 of a rambling answer" in reply
        assert "That was all." in reply


@pytest.mark.slow
async def test_where_slack_takes_no_files_the_rows_are_told_all_the_same(tmp_path: Path) -> None:
    async with Office.opened() as office, at_work(office, ScriptedModel(*REPLIES), tmp_path) as running:
        ana = await new_clerk(office, running)
        await ana.asks("write_to_file")
        office.slack.fails("files.getUploadURLExternal", times=9, error="restricted_action")
        await ana.audit()
        await office.told(office.ana, "The files of the full log could not be sent to your direct messages:")
