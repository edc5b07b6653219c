"""What Slack shows of an agent beside its cards becomes true, also after Slack refused it."""

from pathlib import Path

import pytest

from agent_core.testing.language_model import ScriptedModel
from tests.scenario.slack_app import Office, at_work, kind_of, text_of
from tests.scenario.team import SlackChat
from tests.scenario.test_slack import WRITE, asking, office  # noqa: F401

pytestmark = pytest.mark.slow


@pytest.mark.proves("attention:root")
@pytest.mark.parametrize("method", ["agents.sessions.setStatus", "chat.update"])
async def test_the_last_state_is_shown_once_slack_is_no_longer_busy(
    office: Office,  # noqa: F811
    tmp_path: Path,
    method: str,
) -> None:
    async with asking(office, tmp_path, WRITE) as chat:
        card = await chat.asks("write_to_file")
        root = await office.said("● needs approval · turn 1: write_to_file notes.md")
        session = ("C1", root["ts"])
        await office.slack.until(lambda: session in office.slack.sessions)
        office.slack.fails(method, times=3, status=429, error="ratelimited", retry_after="1")
        await card.press("Stop")
        await office.said("● stopped by @ana")
        await office.slack.until(lambda: office.slack.sessions[session].status == "active")


@pytest.mark.proves("attention:root")
async def test_the_root_message_says_what_runs_without_asking_as_soon_as_it_was_chosen(
    office: Office,  # noqa: F811
    tmp_path: Path,
) -> None:
    async with asking(office, tmp_path, WRITE) as chat:
        await chat.asks("write_to_file")
        await office.said("● needs approval · turn 1: write_to_file notes.md")
        root = next(message for message in office.general.messages if kind_of(message) == "signoff_agent")
        await office.ana.says(office.general, "!policy free write", thread=root["ts"])
        assert (await office.said("Runs without asking: write"))["ts"] == root["ts"]


async def test_root_message_and_card_name_a_model_that_the_endpoint_named_after_the_start(
    office: Office,  # noqa: F811
    tmp_path: Path,
) -> None:
    model = ScriptedModel(WRITE, label="host.example")
    async with at_work(office, model, tmp_path) as running:
        chat = SlackChat(office, running, office.ana)
        await chat.new_agent("Clerk", "keeps notes", "Write a report")
        card = await chat.asks("write_to_file")
        model.label = "large · host.example"
        await card.press("Stop")
        kinds = ("signoff_agent", "signoff_turn")
        await office.slack.until(
            lambda: (
                tuple(kind_of(each) for each in office.general.messages if "large · host.example" in text_of(each))
                == kinds
            )
        )
