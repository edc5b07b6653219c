"""Files that people hand to an agent."""

from dataclasses import replace

import pytest

from agent_core.errors import InvalidInput, NotAllowed
from agent_core.service.uploads import MOST_BYTES, FileUploads, free_name, tidy_name
from agent_core.testing.examples import ANA
from agent_core.testing.language_model import ScriptedModel, reply_text
from agent_core.testing.stage import Stage


def receive_within(stage: Stage) -> FileUploads:
    return FileUploads(database=stage.database, workspaces=stage.workspaces, waker=stage.engine, clock=stage.clock)


async def test_a_file_is_kept_and_the_agent_is_told_by_a_note() -> None:
    stage = Stage(model=ScriptedModel(reply_text("do_nothing")))
    agent = await stage.create()
    path = await receive_within(stage).receive(agent.id, "report.pdf", b"%PDF", stage.origin())
    assert await stage.views.file(agent.channel, agent.id, path) == b"%PDF"
    async with stage.database.begin() as work:
        (note,) = await work.notes.list_waiting(agent)
    assert (note.by, note.text) == (ANA, "I put report.pdf (4 bytes) into your workspace.")


async def test_a_file_never_takes_the_place_of_another_and_the_same_delivery_is_kept_once() -> None:
    stage = Stage(model=ScriptedModel(reply_text("do_nothing")))
    agent, files = await stage.create(), receive_within(stage)
    kept = [await files.receive(agent.id, "a.txt", b"x", stage.origin(delivery=event)) for event in "ABA"]
    assert kept == ["a.txt", "a (2).txt", ""]
    assert [file.path for file in await stage.views.files(agent.channel, agent.id)] == ["a (2).txt", "a.txt"]


async def test_files_over_the_limit_and_of_guests_are_refused() -> None:
    stage = Stage(model=ScriptedModel(reply_text("do_nothing")))
    agent, files = await stage.create(), receive_within(stage)
    with pytest.raises(InvalidInput, match="larger than 20 MB"):
        await files.receive(agent.id, "a.bin", b"\0" * (MOST_BYTES + 1), stage.origin())
    with pytest.raises(NotAllowed, match="add files here"):
        await files.receive(agent.id, "a.bin", b"", stage.origin(replace(ANA, kind="guest")))
    assert await stage.views.files(agent.channel, agent.id) == ()


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("../../etc/passwd", "_.._etc_passwd"),
        ("a\nb.txt", "a_b.txt"),
        ("", "file"),
        ("...", "file"),
        ("تقرير.pdf", "تقرير.pdf"),
        ("n" * 300 + ".txt", "n" * 96 + ".txt"),
    ],
)
def test_a_name_is_made_fit_for_a_file_system(given: str, kept: str) -> None:
    assert tidy_name(given) == kept


def test_a_name_that_is_taken_gets_a_number() -> None:
    assert free_name("A.txt", ["a.txt", "a (2).txt"]) == "A (3).txt"
