"""Which of Slack's requests are presses of Signoff's buttons."""

import json
from typing import Any
from urllib.parse import urlencode

import pytest

from adapters.slack.inbound.presses import is_press, read_interaction

PRESS: dict[str, Any] = {"type": "block_actions", "actions": [{"action_id": "signoff.approve"}]}


def test_the_payload_of_a_form_is_read() -> None:
    body = PRESS | {"message": {"text": "a & b = 1 + 1 % 中"}}
    assert read_interaction(urlencode({"payload": json.dumps(body)}).encode()) == body


@pytest.mark.parametrize(
    "form",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(json.dumps(PRESS).encode(), id="an event as JSON"),
        pytest.param(b"command=%2Fagent&text=payload", id="a slash command"),
        pytest.param(b"payload=%7B", id="broken JSON"),
        pytest.param(b"payload=", id="an empty payload"),
        pytest.param(b"payload=%5B1%5D", id="no object"),
        pytest.param(b"payload=\xff\xfe", id="invalid UTF-8"),
    ],
)
def test_what_is_no_interaction_is_left_to_bolt(form: bytes) -> None:
    assert read_interaction(form) is None


def test_a_button_of_signoffs_is_a_press() -> None:
    assert is_press(PRESS)


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(PRESS | {"type": "view_submission"}, id="a form"),
        pytest.param(PRESS | {"actions": [{"action_id": "other.approve"}]}, id="another app's button"),
        pytest.param(PRESS | {"actions": [{"action_id": None}]}, id="a button without a name"),
        pytest.param(PRESS | {"actions": []}, id="no button"),
        pytest.param({"type": "block_actions"}, id="no list of buttons"),
    ],
)
def test_everything_else_is_none(body: dict[str, Any]) -> None:
    assert not is_press(body)
