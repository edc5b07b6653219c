"""A click for the tour that arrives twice."""

from agent_core.capabilities.demo.rehearsal import RehearsalModel
from agent_core.model.draft import AgentDraft
from agent_core.testing.examples import BEN
from agent_core.testing.stage import Stage


async def test_a_repeated_click_for_the_tour_puts_no_files_into_another_agents_workspace() -> None:
    model = RehearsalModel()
    stage = Stage(model=model, rehearsal=model)
    first = await stage.tour.start(stage.origin(delivery="click"))
    other = await stage.service.lifecycle.create(AgentDraft(name="Tour 2", goals=("read a.md",)), stage.origin(BEN))
    again = await stage.tour.start(stage.origin(delivery="click"))
    assert [entry.path for entry in await stage.workspaces.of(other).list_files()] == []
    assert again.id == first.id
