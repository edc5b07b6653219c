"""What people type in a thread."""

from datetime import timedelta

import pytest

from adapters.typed.actions import HELP, HOW_TO_RESTORE
from adapters.typed.typed_text import typed
from agent_core.errors import InvalidInput, NotPossible
from agent_core.model.agent import Paused
from agent_core.model.turn import SeenProposal
from agent_core.testing.language_model import ScriptedModel, reply_text
from agent_core.testing.stage import Stage
from agent_core.toolset.trash import move_to_trash
from tests.wiring import actions_of


@pytest.mark.parametrize("line", ["!approve", "!approve 3", "!reject no"])
async def test_a_line_that_comes_late_decides_nothing_that_was_asked_after_it(line: str) -> None:
    stage = Stage(model=ScriptedModel(reply_text("do_nothing")))
    agent = await stage.create()
    turn, actions = await stage.turn(agent), actions_of(stage)
    with pytest.raises(NotPossible, match="before turn 1 was shown"):
        await actions.say(
            agent.id, typed(line), stage.origin(), SeenProposal(written_at=turn.proposed_at - timedelta(seconds=1))
        )
    assert (await stage.turn(agent)).state == "proposed"
    await actions.say(agent.id, typed(line), stage.origin(), SeenProposal(written_at=turn.proposed_at))
    assert (await stage.turn(agent)).state != "proposed"


async def test_a_verb_that_does_not_exist_is_named_before_the_list_of_verbs() -> None:
    stage = Stage(model=ScriptedModel(reply_text("do_nothing")))
    agent, actions = await stage.create(), actions_of(stage)
    told = (await actions.say(agent.id, typed("!bogus"), stage.origin())).text
    assert told == f"There is no command !bogus.\n{HELP.text}"
    assert (await actions.say(agent.id, typed("!help"), stage.origin())).text == HELP.text


async def test_a_reply_to_a_paused_agent_is_kept_and_asks_for_resume_without_the_reason_again() -> None:
    """A reply never resumes an agent at rest: watchers may reply, and a resumed agent spends."""
    stage = Stage(model=ScriptedModel("one", "two", "three"))
    agent = await stage.create()
    assert isinstance(agent.status, Paused)
    answer = await actions_of(stage).say(agent.id, typed("Answer in JSON"), stage.origin())
    assert answer.text == "Saved. Clerk is paused and reads it when you resume."
    assert (await stage.wait_until_settled(agent)).is_at_rest


async def test_a_file_of_one_byte_is_listed_as_one_byte() -> None:
    stage = Stage(model=ScriptedModel(reply_text("do_nothing")))
    agent = await stage.create()
    await stage.workspaces.of(agent).write("a.txt", b"1", expected="")
    assert (await actions_of(stage).say(agent.id, typed("!files"), stage.origin())).text == "a.txt · 1 byte"


async def test_the_list_of_files_says_how_a_deleted_file_comes_back() -> None:
    stage = Stage(model=ScriptedModel(reply_text("do_nothing")))
    agent = await stage.create()
    files = stage.workspaces.of(agent)
    await files.write("a.txt", b"1", expected="")
    await move_to_trash(files, "a.txt", expected=None)
    told = (await actions_of(stage).say(agent.id, typed("!files"), stage.origin())).text
    assert told == f"No files yet.\n{HOW_TO_RESTORE}"


async def test_a_slash_command_in_a_reply_is_neither_sent_nor_a_reason_to_reject() -> None:
    stage = Stage(model=ScriptedModel(reply_text("do_nothing")))
    agent = await stage.create()
    with pytest.raises(InvalidInput, match="In a thread commands begin with !"):
        await actions_of(stage).say(agent.id, typed("/agent tools off time"), stage.origin())
    assert (await stage.turn(agent)).state == "proposed"
    await actions_of(stage).say(agent.id, typed("no, use /agents as the name"), stage.origin())
    assert (await stage.turn(agent)).state == "rejected"
