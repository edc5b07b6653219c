"""Attacks on `/slack/events`: requests that Slack did not sign, sent by somebody who knows the address."""

import time
from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import urlencode

import pytest

from adapters.slack.connection import MAX_REQUEST_BYTES
from agent_core.testing.language_model import ScriptedModel
from tests.attacks.rows import attack
from tests.scenario.slack_app import Office, at_work
from tests.standins.slack.deliveries import FORM

JSON = "application/json"
NOT_SIGNED = "401: Slack did not sign it"
TOO_LONG = "413: it is longer than anything that Slack sends"
PING = urlencode({"command": "/agent", "text": "list", "team_id": "T1", "user_id": "U1", "channel_id": "C1"}).encode()


@pytest.fixture
async def office(tmp_path: Path) -> AsyncIterator[Office]:
    async with Office.opened() as office, at_work(office, ScriptedModel(), tmp_path):
        yield office


def forged(what: str, **headers: str) -> object:
    named = {f"X-Slack-{name.replace('_', '-')}": value for name, value in headers.items()}
    return pytest.param(named, marks=attack("http", what, NOT_SIGNED), id=what)


ANY_SIGNATURE = "v0=" + "0" * 64


@pytest.mark.slow
@pytest.mark.proves("slack:signature")
@pytest.mark.parametrize(
    "changes",
    [
        forged("A request to `/slack/events` without a signature", Signature=""),
        forged("The same without a timestamp", Request_Timestamp=""),
        forged("A wrong signature", Signature=ANY_SIGNATURE),
        forged("A signature of another version", Signature="v1=" + "0" * 64),
        forged("A non-ASCII signature", Signature="v0=" + "é" * 64),
        forged("A timestamp that is not a number", Request_Timestamp="now"),
        forged("A timestamp in non-ASCII digits", Request_Timestamp="١٧٠٠٠٠٠٠٠٠"),
        forged("A timestamp of 4,000 digits", Request_Timestamp="9" * 4000),
        forged("A timestamp of 5,000 digits", Request_Timestamp="9" * 5000),
        forged("Replay: a timestamp ten minutes ago", Request_Timestamp=str(int(time.time()) - 600)),
        forged("A timestamp ten minutes ahead", Request_Timestamp=str(int(time.time()) + 600)),
    ],
)
async def test_a_request_that_slack_did_not_sign_is_refused(
    office: Office, changes: dict[str, str], answer: str
) -> None:
    headers = {**office.slack.signed(PING, content_type=FORM), **changes}
    said = await office.slack.post_raw(PING, {name: value for name, value in headers.items() if value})
    assert said.status == int(answer.partition(":")[0])


@attack("http", "A request signed with an empty secret, where Signoff has none", NOT_SIGNED)
@pytest.mark.proves("slack:signature")
async def test_without_a_secret_nothing_is_taken(tmp_path: Path, answer: str) -> None:
    async with Office.opened() as office, at_work(office, ScriptedModel(), tmp_path) as running:
        running.connection.signing_secret = office.slack.signing_secret = ""
        said = await office.slack.post_raw(PING, office.slack.signed(PING, content_type=FORM))
        assert said.status == int(answer.partition(":")[0])
        assert running.connection.heard_at is None


@pytest.mark.proves("slack:unparsed")
@pytest.mark.parametrize(
    ("body", "kind"),
    [
        pytest.param(
            b'{"type": ', JSON, marks=attack("http", "An unsigned body of broken JSON", NOT_SIGNED), id="json"
        ),
        pytest.param(
            b"payload=" + b"%7B%22a%22%3A" * 80_000,
            FORM,
            marks=attack("http", "An unsigned form with an object nested 80,000 levels deep", NOT_SIGNED),
            id="deep",
        ),
        pytest.param(
            b"\xff\xfe\x00", FORM, marks=attack("http", "An unsigned body of invalid UTF-8", NOT_SIGNED), id="bytes"
        ),
    ],
)
async def test_nothing_is_parsed_before_the_signature_is_checked(
    office: Office, body: bytes, kind: str, answer: str
) -> None:
    headers = {**office.slack.signed(body, content_type=kind), "X-Slack-Signature": ANY_SIGNATURE}
    said = await office.slack.post_raw(body, headers)
    assert said.status == int(answer.partition(":")[0])


@attack("http", "A body longer than 2 MB, signed or not", TOO_LONG)
async def test_a_body_that_slack_cannot_have_sent_is_not_read(office: Office, answer: str) -> None:
    body = b"a" * (MAX_REQUEST_BYTES + 1)
    said = await office.slack.post_raw(body, office.slack.signed(body, content_type=FORM))
    assert said.status == int(answer.partition(":")[0])


@pytest.mark.slow
async def test_the_longest_form_that_slack_sends_is_taken(office: Office) -> None:
    fields = {"command": "/agent", "text": "會" * 150_000, "team_id": "T9", "user_id": "U1", "channel_id": "C1"}
    body = urlencode(fields).encode()
    said = await office.slack.post_raw(body, office.slack.signed(body, content_type=FORM))
    assert said.status != 413
