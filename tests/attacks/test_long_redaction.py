"""Long texts that are made for the search for secrets to take long, such as a file of an agent that a client reads."""

import asyncio
import time

import pytest

from agent_core.oversight.secrets import PIECE_CHARACTERS, REDACTED, Secrets
from tests.attacks.rows import attack

KEYS = [f"sk-{number:02}-of-the-operator" for number in range(8)]


@pytest.mark.slow
@attack("services", "A file of 5 MB of beginnings of keys is read", "searched piece by piece, between which others run")
async def test_a_search_for_secrets_lets_others_run(answer: str) -> None:
    secrets, text = Secrets.of(KEYS), "s" * 5 * 2**20
    began = last = time.monotonic()
    longest = 0.0
    reading = asyncio.create_task(asyncio.to_thread(secrets.redact, text))
    while not reading.done():
        await asyncio.wait((reading,), timeout=0.001)
        now = time.monotonic()
        longest, last = max(longest, now - last), now
    assert await reading == text
    assert longest < (last - began) / 3
    assert answer


@pytest.mark.slow
def test_a_secret_across_two_pieces_is_found_as_in_a_short_text() -> None:
    secrets, key = Secrets.of([*KEYS, KEYS[0][:8]]), KEYS[0]
    for before in range(PIECE_CHARACTERS - len(key) - 1, PIECE_CHARACTERS + 2):
        text = f"{'s' * before}{key}{key}s"
        assert secrets.redact(text) == f"{'s' * before}{REDACTED}{REDACTED}s"
    many = (key + "tea ") * 20_000
    assert secrets.redact(many) == f"{REDACTED}tea " * 20_000
