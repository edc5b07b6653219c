"""The decision log has for each person that a page served them an open proposal, once for each content of it."""

from pathlib import Path

import pytest

from agent_core.model.records.audit import AuditEntry
from agent_core.persistence.decision_log.checking import ExportedRecord, check_log, export_log
from agent_core.testing.language_model import ScriptedModel
from tests.scenario.chat import writing
from tests.scenario.page import PageChat
from tests.scenario.served import served


async def showings(url: str) -> list[AuditEntry]:
    found: list[ExportedRecord] = []
    await export_log(url, [], found.extend)
    return [each.entry for each in found if each.entry.act == "shown"]


@pytest.mark.proves("evidence:kinds")
async def test_a_page_that_showed_an_open_proposal_is_a_record_once_for_each_person(tmp_path: Path) -> None:
    model, url = ScriptedModel(waits=True), f"sqlite:///{tmp_path / 'signoff.db'}"
    model.say(writing("a.md", "one"))
    async with (
        served(model, tmp_path) as base,
        PageChat.opened(base, "ana") as ana,
        PageChat.opened(base, "ben") as ben,
    ):
        await ana.new_agent("Ada", "writes", "Write a file")
        card = await ana.asks("write_to_file")
        await ben.session.head(f"{base}/")
        (first,) = await showings(url)
        for _ in range(2):
            await ben.session.get(f"{base}/")
        first, second = await showings(url)
        assert [first.by.display, second.by.display] == ["ana", "ben"]
        assert first.shown_hash
        assert (first.turn_number, first.turn_id, first.shown_hash) == (1, second.turn_id, second.shown_hash)
        await card.press("Approve")
        await ana.sees("done")
        assert len(await showings(url)) == 2
    assert [each.faults for each in await check_log(url, {})] == [[]]
