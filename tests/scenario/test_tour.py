"""Demo mode shows what the product is: a tour on sample files, and a sentence before an agent that it cannot play."""

from pathlib import Path

import pytest
from aiohttp import ClientSession

from agent_core.capabilities.demo.rehearsal import RehearsalModel
from tests.scenario.served import served
from tests.scenario.slack_app import Office, at_work, text_of


@pytest.mark.proves("demo:refused")
async def test_a_goal_that_the_script_does_not_know_makes_no_agent_and_what_was_typed_stays(
    office: Office, tmp_path: Path
) -> None:
    async with at_work(office, RehearsalModel(), tmp_path) as running:
        await office.ana.types("/agent", "new", office.general)
        form = await office.form(office.ana, "New agent")
        answer = await office.ana.submits(form, {"Name": "Clerk", "Goals": "Find the cheapest strings of gut"})
        assert "demo mode can't do" in text_of(answer.body)
        assert office.ana.view, "the form is still open"
        assert await running.stage.views.agents(running.stage.origin().channel) == ()


@pytest.mark.proves("demo:tour")
async def test_the_page_starts_the_tour_with_one_click(tmp_path: Path) -> None:
    async with served(RehearsalModel(), tmp_path) as address, ClientSession() as session:
        page = await (await session.get(f"{address}/c/web/local/general")).text()
        assert "Take the tour" in page
        origin = {"Origin": address}
        answer = await session.post(f"{address}/c/web/local/general/tour", headers=origin)
        assert (answer.status, "Tour" in await answer.text()) == (200, True)
