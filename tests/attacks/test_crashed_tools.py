"""A tool that says it is destructive runs a second time by itself after a crash, where the operator's class is read."""

from dataclasses import replace

from adapters.screens.visible_text import visible
from agent_core.capabilities.tool_servers.server_commands import ServerCommands
from agent_core.model.agent import Acting
from agent_core.model.command import CommandCall, Proposal, Thoughts
from agent_core.model.decision import Approval, Approve
from agent_core.ports.tool_servers import ServerAnswer, ServerTool
from agent_core.testing.clock import START
from agent_core.testing.examples import ANA, CHANNEL, a_turn, an_agent, keep
from agent_core.testing.language_model import ScriptedModel, reply_text
from agent_core.testing.stage import Stage
from agent_core.testing.tool_servers import TEA_SERVER, InMemoryToolServer


async def test_people_are_asked_about_a_destructive_tool_that_a_crash_cut_short() -> None:
    stage = Stage(model=ScriptedModel(reply_text("do_nothing", {})))
    wipe = ServerTool(name="wipe", schema={"type": "object"}, destructive=True)
    entry = replace(TEA_SERVER, classes=("read",))
    server = InMemoryToolServer(entry=entry, tools=(wipe,), answers={"wipe": ServerAnswer(text="wiped")})
    (command,) = ServerCommands(server, visible).loaded({}).commands
    stage.commands.register(command)
    assert command.spec.always_asks
    agent = an_agent(channel=CHANNEL, status=Acting(), turns=1)
    call = CommandCall("tea.wipe", {})
    proposal = Proposal(thoughts=Thoughts(), call=call, preview=await stage.loop.runner.preview_call(agent, call))
    turn = a_turn(agent, proposal=proposal, state="running", started_at=START)
    turn = replace(turn, risks=command.spec.risks, approvals=(Approval(ANA, START, Approve()),))
    await keep(stage.database, agent, turn)
    await stage.wait_until_settled(agent)
    assert server.asked == [], "it ran again, and nobody was asked"
