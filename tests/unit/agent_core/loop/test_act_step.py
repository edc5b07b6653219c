"""What becomes of a command that was running when its process ended: its files tell, or people are asked."""

import pytest

from agent_core.model.agent import Awaiting
from agent_core.model.command import Succeeded
from agent_core.model.draft import AgentDraft
from agent_core.testing.language_model import reply_text
from tests.unit.agent_core.loop.test_loop import stage_of, start_newest

WRITE = reply_text("write_to_file", {"filename": "a.txt", "text": "one\n"})
APPEND = reply_text("append_to_file", {"filename": "a.txt", "text": "two\n"})
DELETE = reply_text("delete_file", {"filename": "a.txt"})
EMPTY = reply_text("write_to_file", {"filename": "a.txt", "text": ""})
DONE = reply_text("task_complete", {"reason": "All is written."})

FOUND = [
    (WRITE, None, None, b"one\n"),  # it did not run: it runs
    (WRITE, None, b"one\n", b"one\n"),  # it ran
    (APPEND, None, None, b"two\n"),
    (APPEND, None, b"two\n", b"two\n"),
    (APPEND, b"one\n", b"one\n", b"one\ntwo\n"),
    (APPEND, b"one\n", b"one\ntwo\n", b"one\ntwo\n"),
    (APPEND, b"", b"two\n", b"two\n"),
    (DELETE, b"one\n", b"one\n", None),
    (DELETE, b"one\n", None, None),
]


@pytest.mark.slow
@pytest.mark.proves("crash:digest")
@pytest.mark.parametrize(("reply", "before", "left", "after"), FOUND)
async def test_nobody_is_asked_about_a_file_command_whose_file_tells_what_became_of_it(
    reply: str, before: bytes | None, left: bytes | None, after: bytes | None
) -> None:
    stage = stage_of(reply, DONE)
    agent = await stage.service.lifecycle.create(AgentDraft(name="Clerk", goals=("Write",)), stage.origin())
    files = stage.workspaces.of(agent)
    if before is not None:
        await files.write("a.txt", before)
    await stage.wait_until_settled(agent)
    await start_newest(stage, agent)
    if left is None and before is not None:
        await files.delete("a.txt")
    elif left is not None:
        await files.write("a.txt", left)
    agent = await stage.wait_until_settled(agent)
    turns = (await stage.views.thread(agent.channel, agent.id)).turns.values()
    first, second = turns
    assert (first.state, second.call.name) == ("done", "task_complete")
    assert isinstance(first.result, Succeeded)
    found = await stage.views.file(agent.channel, agent.id, "a.txt") if after is not None else None
    assert found == after


@pytest.mark.proves("crash:digest")
@pytest.mark.parametrize(
    ("reply", "before", "left"),
    [
        (WRITE, None, b"on"),
        (APPEND, b"one\n", b"one\ntw"),
        (APPEND, b"one\n", b"two\n"),
        (APPEND, b"one\n", b"one\ntwo\ntwo\n"),
        (APPEND, None, b"one\ntwo\n"),
        (DELETE, b"one\n", b"two\n"),
        (EMPTY, b"one\n", None),
    ],
)
async def test_people_are_asked_where_the_file_tells_nothing(
    reply: str, before: bytes | None, left: bytes | None
) -> None:
    stage = stage_of(reply, DONE)
    agent = await stage.service.lifecycle.create(AgentDraft(name="Clerk", goals=("Write",)), stage.origin())
    if before is not None:
        await stage.workspaces.of(agent).write("a.txt", before)
    await stage.wait_until_settled(agent)
    await start_newest(stage, agent)
    await (stage.workspaces.of(agent).write("a.txt", left) if left else stage.workspaces.of(agent).delete("a.txt"))
    assert (await stage.wait_until_settled(agent)).status == Awaiting()
    assert (await stage.turn(agent)).state == "interrupted"


@pytest.mark.proves("crash:digest")
async def test_in_a_folder_that_helpers_share_an_append_may_be_that_of_another() -> None:
    stage = stage_of(APPEND, DONE)
    agent = await stage.create()
    await stage.helpers.start(agent, "Scout", "Look", "")
    await start_newest(stage, agent)
    await stage.workspaces.of(agent).write("a.txt", b"two\n")
    await stage.wait_until_settled(agent)
    assert (await stage.turn(agent)).state == "interrupted"
