"""Whatever the service refuses to a person who has no right to it is a record of the channel's chain, once."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import TypeAlias

import pytest

from adapters.typed.standing_rules import parse_rule
from agent_core.errors import NotAllowed
from agent_core.model.agent import Agent
from agent_core.model.channel_policy import ChannelPolicy
from agent_core.model.decision import PolicyChange
from agent_core.model.ids import AgentId
from agent_core.model.origin import Origin
from agent_core.model.turn import Turn
from agent_core.persistence.decision_log.checking import ExportedRecord, check_log, export_log
from agent_core.ports.database import Database
from agent_core.testing.examples import BEN, CHANNEL
from agent_core.testing.language_model import ScriptedModel, reply_text
from agent_core.testing.stage import Stage

WRITE = reply_text("write_to_file", {"filename": "a.txt", "text": "one"})
NEVER = parse_rule("never write_to_file filename is b.txt")
Act: TypeAlias = Callable[[Stage, Agent, Turn, Origin], Awaitable[object]]


async def revoke_rule(stage: Stage, agent: Agent, _: Turn, origin: Origin) -> None:
    (rule,) = await stage.rules.list_rules(CHANNEL)
    await stage.rules.revoke(agent.id, rule.short_id, origin)


def reset(_: ChannelPolicy) -> ChannelPolicy:
    return ChannelPolicy()


REFUSED_ACTS: dict[str, Act] = {
    "set the policy": lambda stage, agent, _, origin: stage.agent_settings.set_policy(
        agent.id, PolicyChange(free=("read",)), origin
    ),
    "set the channel's policy": lambda stage, _, __, origin: stage.agent_settings.set_channel_policy(reset, origin),
    "set the channel's budget": lambda stage, _, __, origin: stage.agent_settings.set_channel_budget(None, origin),
    "set the channel's sites": lambda stage, _, __, origin: stage.agent_settings.set_sites(lambda sites: sites, origin),
    "set the channel's tools": lambda stage, _, __, origin: stage.agent_settings.set_tools(
        lambda present: present, origin, ""
    ),
    "made a rule": lambda stage, agent, _, origin: stage.rules.make(agent.id, NEVER, origin),
    "revoked a rule": revoke_rule,
    "deleted": lambda stage, agent, _, origin: stage.service.lifecycle.delete(agent.id, origin),
    "answered a server's question": lambda stage, _, turn, origin: stage.service.server_questions.answer(
        turn.id, {}, origin, shown=""
    ),
    "declined a server's question": lambda stage, _, turn, origin: stage.service.server_questions.decline(
        turn.id, origin, shown=""
    ),
    "lent ×3": lambda stage, agent, _, origin: stage.service.decisions.grant_lease(agent.id, 3, origin),
    "revoked": lambda stage, agent, _, origin: stage.service.decisions.revoke(agent.id, origin),
    "undone": lambda stage, _, turn, origin: stage.service.decisions.undo(turn.id, origin),
}


@pytest.mark.proves("evidence:kinds")
@pytest.mark.parametrize("what", REFUSED_ACTS)
async def test_an_act_without_the_right_to_it_is_a_record_once_for_each_delivery(
    url: str, database: Database, what: str
) -> None:
    stage = Stage(database=database, model=ScriptedModel(WRITE))
    agent = await stage.create()
    await stage.rules.make(agent.id, NEVER, stage.origin())
    await stage.service.decisions.grant_lease(agent.id, 2, stage.origin())
    guest = replace(BEN, kind="guest")
    said = ""
    for delivery in ("one", "one", "two"):
        with pytest.raises(NotAllowed) as refusal:
            await REFUSED_ACTS[what](stage, agent, await stage.turn(agent), stage.origin(guest, delivery))
        said = f"{what}: {refusal.value}"
    assert await refused(url) == [(said, guest.id, of_agent(agent, what))] * 2
    assert [each.faults for each in await check_log(url, {})] == [[]]


def of_agent(agent: Agent, what: str) -> AgentId:
    return AgentId("") if what.startswith("set the channel's") else agent.id


async def refused(url: str) -> list[tuple[str, str, AgentId]]:
    """Detail, person and agent of the records of refusals."""
    found: list[ExportedRecord] = []
    await export_log(url, [CHANNEL.key], found.extend)
    entries = (each.entry for each in found)
    return [(each.detail, each.by.id, each.agent_id) for each in entries if each.act == "refused"]
