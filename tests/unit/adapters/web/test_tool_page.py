"""The page Tools and plugins over HTTP: what it shows, switches, and to whom."""

import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agent_core.testing.language_model import ScriptedModel
from agent_core.testing.stage import Stage
from tests.plugins import add_plugins, two_plugins
from tests.scenario.page import PageChat, text_of
from tests.scenario.served import served

CHANNEL = "/c/web/local/general"
SLACK = "/c/slack/T1/C1"


def prepared(stage: Stage) -> None:
    add_plugins(stage, two_plugins())


@pytest.fixture
async def ana(tmp_path: Path) -> AsyncIterator[PageChat]:
    async with (
        served(ScriptedModel(waits=True), tmp_path, prepared=prepared) as base,
        PageChat.opened(base, "ana", CHANNEL) as chat,
    ):
        yield chat


@pytest.mark.proves("plugin:shown")
@pytest.mark.proves("plugin:switched")
async def test_a_source_is_switched_off_and_on_by_its_button(ana: PageChat) -> None:
    assert re.search(rf'href="{CHANNEL}/tools">.* Tools and plugins</a>', await ana.page())
    page = text_of(await ana.page("/tools"))
    assert "word_counter 1.0" in page
    assert "post_link is left out: Signoff has a command of that name" in page
    status, answer = await ana.send("tools", {"switch": "off word_counter"})
    assert (status, "word_counter is off here." in text_of(answer)) == (200, True)
    assert 'value="on word_counter"' in answer
    assert 'value="on count_words"' not in answer  # its source comes first
    _, answer = await ana.send("tools", {"switch": "on word_counter"})
    assert "word_counter is on here." in text_of(answer)


@pytest.mark.parametrize("switch", ["", "off", "off <b>", "off write_to_file"])
async def test_a_forged_line_changes_nothing_and_is_shown_as_text(ana: PageChat, switch: str) -> None:
    status, answer = await ana.send("tools", {"switch": switch})
    assert (status, "<b>" in answer.partition('role="alert"')[2].partition("</div>")[0]) == (422, False)
    assert 'value="on ' not in await ana.page("/tools")
    assert "is off here" not in text_of(await ana.page("/tools?switched=word_counter%20hello"))


async def test_on_the_page_of_another_platforms_channel_nothing_can_be_switched(ana: PageChat) -> None:
    ana.path = SLACK
    assert 'name="switch"' not in await ana.page("/tools")
    status, _ = await ana.send("tools", {"switch": "off word_counter"})
    assert status == 403


async def test_without_plugins_the_page_says_who_connects_them(tmp_path: Path) -> None:
    async with served(ScriptedModel(waits=True), tmp_path) as base, PageChat.opened(base, "ana", CHANNEL) as ana:
        assert "No plugin and no tool server is connected." in text_of(await ana.page("/tools"))
