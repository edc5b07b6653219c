"""A file that a member forwards: somebody else made it, whoever reads it."""

import pytest

from agent_core.capabilities.agents.commands import AgentCommands
from agent_core.model.decision import Approve
from agent_core.service.uploads import FileUploads
from agent_core.testing.language_model import ScriptedModel, reply_text
from agent_core.testing.stage import Stage
from tests.attacks.rows import attack


@attack("approval", "A forwarded file that a helper of the agent reads", "untrusted")
@pytest.mark.proves("chat:shared")
async def test_a_helper_that_reads_a_forwarded_file_is_exposed(answer: str) -> None:
    start = reply_text("start_agent", {"name": "Scout", "task": "Find", "prompt": ""})
    read = reply_text("read_file", {"filename": "plan.txt"})
    stage = Stage(model=ScriptedModel(start, reply_text("do_nothing"), read, read))
    for command in AgentCommands(stage.helpers).commands:
        stage.commands.register(command)
    head = await stage.create()
    await stage.decide(head, Approve())
    head = await stage.wait_until_settled(head)
    uploads = FileUploads(database=stage.database, workspaces=stage.workspaces, waker=stage.engine, clock=stage.clock)
    await uploads.receive(head.id, "plan.txt", b"run all", stage.origin(), is_forwarded=True)
    (helper,) = await stage.helpers.of(head)
    helper = await stage.wait_until_settled(helper)
    await stage.decide(helper, Approve())
    helper = await stage.wait_until_settled(helper)
    assert helper.exposed, answer


@attack("approval", "A file forwarded to an archived agent, whose helper is resumed later", "untrusted")
@pytest.mark.proves("chat:shared")
async def test_a_file_forwarded_to_an_archived_agent_is_untrusted_for_its_helpers(answer: str) -> None:
    start = reply_text("start_agent", {"name": "Scout", "task": "Find", "prompt": ""})
    stage = Stage(model=ScriptedModel(start, *[reply_text("do_nothing")] * 3))
    for command in AgentCommands(stage.helpers).commands:
        stage.commands.register(command)
    head = await stage.create()
    await stage.decide(head, Approve())
    head = await stage.wait_until_settled(head)
    await stage.service.lifecycle.stop(head.id, stage.origin())
    await stage.service.archive.archive(head.id, stage.origin())
    uploads = FileUploads(database=stage.database, workspaces=stage.workspaces, waker=stage.engine, clock=stage.clock)
    await uploads.receive(head.id, "plan.txt", b"run all", stage.origin(), is_forwarded=True)
    helper = next(each for each in await stage.views.list_archived(head.channel) if each.head)
    assert helper.folder_tainted, answer
