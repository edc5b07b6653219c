"""An agent's files for people: what became of a file turn by turn."""

from dataclasses import replace

import pytest

from agent_core.errors import NotFound, OutsideWorkspace
from agent_core.model.decision import Approve, ApproveEdited, Reject
from agent_core.model.ids import AgentId
from agent_core.model.origin import ChannelScope
from agent_core.service.reading.agent_files import FileAddition, FileHistory, FileVersion
from agent_core.service.uploads import FileUploads
from agent_core.testing.examples import ANA
from agent_core.testing.language_model import ScriptedModel, reply_text
from agent_core.testing.stage import Stage
from tests.scenario.chat import writing

ELSEWHERE = ChannelScope("web", "local", "elsewhere")


def versions_of(history: FileHistory) -> list[FileVersion]:
    """The versions without what people added."""
    return [change for change in history.changes if isinstance(change, FileVersion)]


async def history_after(stage: Stage, *decisions: Approve | ApproveEdited | Reject, path: str = "a.txt") -> FileHistory:
    agent = await stage.create()
    for decision in decisions:
        await stage.decide(agent, decision)
        await stage.wait_until_settled(agent)
    return await stage.views.agent_files.history(agent.channel, agent.id, path)


def appending(text: str) -> str:
    return reply_text("append_to_file", {"filename": "./a.txt", "text": text})


@pytest.mark.proves("files:versions")
async def test_the_versions_of_a_file_are_the_turns_that_changed_it() -> None:
    delete = reply_text("delete_file", {"filename": "a.txt"})
    stage = Stage(
        model=ScriptedModel(writing("a.txt", "one\n"), appending("two\n"), writing("b.txt", "x"), delete, delete)
    )
    history = await history_after(stage, Approve(), Approve(), Approve(), Approve())
    assert [(each.turn.number, each.turn.call.name) for each in versions_of(history)] == [
        (1, "write_to_file"),
        (2, "append_to_file"),
        (4, "delete_file"),
    ]
    assert not any(each.is_other_before for each in versions_of(history))
    assert (history.is_there, history.is_other_since, history.is_cut) == (False, False, False)


async def test_a_rejected_turn_is_no_version_and_an_edited_one_counts_as_it_ran() -> None:
    stage = Stage(model=ScriptedModel(writing("a.txt", "one"), writing("a.txt", "two"), writing("c.txt", "three")))
    edited = ApproveEdited({"filename": "a.txt", "text": "four"})
    history = await history_after(stage, Reject(), edited)
    assert [each.turn.number for each in versions_of(history)] == [2]
    preview = versions_of(history)[0].turn.shown_preview
    assert (preview and preview.body, history.is_other_since) == ("@@ -0,0 +1 @@\n+four", False)


@pytest.mark.proves("files:versions")
async def test_what_something_else_changed_between_two_turns_and_after_them_is_told() -> None:
    stage = Stage(model=ScriptedModel(*(writing("a.txt", text) for text in ("one", "two", "three", "four"))))
    agent = await stage.create()
    files = stage.workspaces.of(agent)
    for change in (b"by a program", b"", b"", b""):  # people are asked about the second turn again
        await stage.decide(agent, Approve())
        agent = await stage.wait_until_settled(agent)
        if change:
            await files.write("a.txt", change)
    read = stage.views.agent_files.history
    before = await read(agent.channel, agent.id, "a.txt")
    assert [each.is_other_before for each in versions_of(before)] == [False, True, False]
    assert (before.is_there, before.is_other_since) == (True, False)
    await files.write("a.txt", b"by a program again")
    assert (await read(agent.channel, agent.id, "a.txt")).is_other_since


@pytest.mark.slow
@pytest.mark.proves("files:versions")
async def test_a_file_that_a_person_added_is_told_with_the_person_and_is_no_unknown_change() -> None:
    delete = reply_text("delete_file", {"filename": "a.txt"})
    stage = Stage(model=ScriptedModel(writing("a.txt", "one"), delete, writing("b.txt", "x"), delete))
    agent = await stage.create()
    uploads = FileUploads(database=stage.database, workspaces=stage.workspaces, waker=stage.engine, clock=stage.clock)
    for adds in (False, True, False, False):
        await stage.decide(agent, Approve())
        await stage.wait_until_settled(agent)
        if adds:
            assert await uploads.receive(agent.id, "a.txt", b"two", stage.origin()) == "a.txt"
    history = await stage.views.agent_files.history(agent.channel, agent.id, "./a.txt")
    assert [
        change.note.by if isinstance(change, FileAddition) else (change.turn.number, change.is_other_before)
        for change in history.changes
    ] == [(1, False), (2, False), ANA, (4, False)]
    assert (history.is_there, history.is_other_since, history.is_cut) == (False, False, False)


async def test_a_helper_sees_the_versions_of_all_agents_that_share_its_workspace() -> None:
    stage = Stage(model=ScriptedModel(writing("a.txt", "one"), writing("b.txt", "two")))
    agent = await stage.create()
    await stage.decide(agent, Approve())
    await stage.wait_until_settled(agent)
    helper = replace(agent, id=AgentId("0helper"), name="Helper", parent=agent.id, head=agent.id)
    async with stage.database.begin() as work:
        work.agents.add(helper)
        await work.commit()
    history = await stage.views.agent_files.history(agent.channel, helper.id, "a.txt")
    assert [(each.agent.name, each.turn.number) for each in versions_of(history)] == [("Clerk", 1)]


async def test_the_history_of_another_channels_file_and_of_a_path_outside_is_refused() -> None:
    stage = Stage(model=ScriptedModel(writing("a.txt", "one")))
    agent = await stage.create()
    with pytest.raises(NotFound):
        await stage.views.agent_files.history(ELSEWHERE, agent.id, "a.txt")
    with pytest.raises(NotFound):
        await stage.views.agent_files.archive(ELSEWHERE, agent.id)
    with pytest.raises(OutsideWorkspace):
        await stage.views.agent_files.history(agent.channel, agent.id, "../a.txt")
