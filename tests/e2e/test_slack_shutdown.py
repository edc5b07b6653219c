"""The real process beside a Slack is told to end while a command runs: its card shows what people did before."""

import asyncio
import signal
from pathlib import Path

import pytest

from tests.e2e.process import LONGEST_STOP, free_port, program
from tests.e2e.test_shutdown import is_made, shell, until_made
from tests.e2e.test_slack import office, slack_of  # noqa: F401 - the fixture
from tests.packages import SANDBOX, need
from tests.scenario.slack_app import SIGNING_SECRET, Office, text_of
from tests.standins.openai import openai_standin


@pytest.mark.slow
@pytest.mark.proves("engine:drain")
@pytest.mark.parametrize("during", [False, True], ids=["right before", "while it drains"])
async def test_stop_of_a_running_command_is_on_its_card_after_sigterm(
    office: Office,  # noqa: F811
    tmp_path: Path,
    during: bool,
) -> None:
    need(*SANDBOX)
    port = str(free_port())
    office.slack.deliver_to(f"http://127.0.0.1:{port}/slack/events")
    async with openai_standin() as endpoint:
        given = {"OPENAI_BASE_URL": endpoint.base_url, "OPENAI_API_KEY": "k", "EXECUTE_LOCAL_COMMANDS": "true"}
        slack = slack_of(office, SLACK_SIGNING_SECRET=SIGNING_SECRET)
        endpoint.answers(shell("echo half; touch begun; sleep 15; touch ended"))
        async with program(tmp_path, PORT=port, **given, **slack) as signoff:
            await office.ana.types("/agent", "new Clerk | waits | Wait", office.general)
            await office.ana.clicks(await office.card(1), "Approve")
            await until_made(tmp_path, "begun")
            if during:
                signoff.send(signal.SIGTERM)
                await signoff.says("Signoff stops")
            await office.ana.clicks(await office.card(1, "Stop"), "Stop")
            if not during:
                signoff.send(signal.SIGTERM)
            assert await signoff.ended(LONGEST_STOP) == 0, signoff.output
        card = text_of(await office.card(1))
        assert "running" not in card
        assert "stopped by @ana" in card
        assert "half" in card
        assert "● stopped by @ana" in text_of(office.general.messages)
    assert not await asyncio.to_thread(is_made, tmp_path, "ended")
