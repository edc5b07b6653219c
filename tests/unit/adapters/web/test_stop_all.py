"""Stop all: what it stops, and whom it refuses."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from adapters.web.inbox.stopping import count_at_work, stop_all
from agent_core.errors import NotAllowed
from agent_core.model.draft import AgentDraft
from agent_core.model.origin import Actor, ChannelScope, Origin
from agent_core.testing.language_model import ScriptedModel, reply_text
from agent_core.testing.stage import Stage
from tests.scenario.chat import writing
from tests.scenario.page import PageChat, text_of
from tests.scenario.served import served

SLACK, LOCAL = ChannelScope("slack", "T1", "C1"), ChannelScope("web", "local", "general")
ANA = Actor(id="U1", display="ana", workspace="local")


@pytest.mark.proves("page:stop-all")
async def test_it_stops_what_is_at_work_on_the_page_and_nothing_on_other_platforms(tmp_path: Path) -> None:
    model, stages = ScriptedModel(waits=True), list[Stage]()
    async with served(model, tmp_path, prepared=stages.append) as base, PageChat.opened(base, "ana") as ana:
        (stage,) = stages
        elsewhere = await stage.service.lifecycle.create(
            AgentDraft(name="Zed", role="x", goals=("x",)), Origin(by=replace(ANA, workspace="T1"), channel=SLACK)
        )
        for name in ("Ada", "Bob"):
            model.say(writing(f"{name}.md", "one"))
            await ana.new_agent(name, "writes", "Write a file")
            await ana.asks("write_to_file")
        await ana.stops()
        await ana.new_agent("Cy", "thinks", "Think")
        assert count_at_work(await stage.views.census()) == 2
        for kind in ("guest", "external", "bot"):
            with pytest.raises(NotAllowed, match="a full member does"):
                await stop_all(stage.service, stage.views, replace(ANA, kind=kind))
        assert count_at_work(await stage.views.census()) == 2
        async with ana.session.post(f"{base}/stop-all", headers={"Origin": "https://evil.example"}) as refused:
            assert refused.status == 403
        async with ana.session.post(f"{base}/stop-all") as answer:
            page = await answer.text()
        assert "2 agents stopped. Nothing is lost: Resume continues each." in text_of(page)
        assert not re.search(r"Stop \d+ agents\?", page.partition('id="stop-all"')[0])
        kinds = {agent.name: agent.status.kind for agent in await stage.views.agents(LOCAL)}
        assert kinds == dict.fromkeys(("Ada", "Bob", "Cy"), "stopped")
        assert (await stage.views.agent(SLACK, elsewhere.id)).status.kind == "thinking"
        async with ana.session.get(f"{base}/stop-all") as answer:
            assert (answer.status, answer.url.path) == (200, "/")


@pytest.mark.proves("page:stop-all")
async def test_it_pauses_the_schedules_of_agents_that_rest_between_runs(tmp_path: Path) -> None:
    done, stages = reply_text("task_complete", {"reason": "All is written."}), list[Stage]()
    async with (
        served(ScriptedModel(done, waits=True), tmp_path, prepared=stages.append) as base,
        PageChat.opened(base, "ana") as ana,
    ):
        (stage,) = stages
        await ana.new_agent("Clerk", "writes", "Write a file")
        await (await ana.asks("task_complete")).press("Approve")
        assert await ana.sees("Clerk is done")
        async with ana.session.get(base) as answer:
            assert "Stop all…" not in await answer.text()
        await ana.says("!schedule set every day at 9:00")
        assert await ana.sees("set the schedule")
        await ana.says("!policy approvers owner")
        async with ana.session.get(base) as answer:
            assert "Pause 1 schedule?" in await answer.text()
        said = await stop_all(stage.service, stage.views, ANA)  # another person, who may not decide there
        assert (
            said
            == "1 schedule paused, until Resume on the agent's page Schedule. Nothing is lost: Resume continues each."
        )
        (clerk,) = await stage.views.agents(LOCAL)
        assert (clerk.scheduled_at, clerk.status.kind) == (None, "finished")
        with pytest.raises(NotAllowed):
            await stage.service.schedules.act(clerk.id, "resume", Origin(by=ANA, channel=LOCAL))
