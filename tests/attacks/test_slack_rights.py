"""Deciding in Slack by rights that Slack took back, where Signoff missed the event of it."""

from collections.abc import Coroutine
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, cast

import pytest

from adapters.slack.api.client import SlackApi
from adapters.slack.api.directory import CACHE_TTL, REFRESH_AFTER, SlackDirectory
from adapters.slack.api.web_api import SlackRefused
from agent_core.errors import NotAllowed, NotFound, SurfaceBusy, SurfaceError
from agent_core.model.origin import ChannelScope
from agent_core.testing.clock import FakeClock
from tests.attacks.rows import attack

CHANNEL = ChannelScope("slack", "T1", "C1")
GINA = {"id": "U1", "team_id": "T1", "name": "gina"}


@dataclass
class SlackSays:
    """What Slack answers to `users.info`, or why it does not."""

    answer: dict[str, object] | SurfaceError | TimeoutError
    asked: int = 0

    async def ask(self, *_given: object, **_options: object) -> dict[str, object]:
        self.asked += 1
        if isinstance(self.answer, Exception):
            raise self.answer
        return {"user": self.answer}


@dataclass
class Desk:
    """A directory that learned long ago that Gina is a full member."""

    slack: SlackSays
    clock: FakeClock = field(default_factory=FakeClock)
    later: list[Coroutine[Any, Any, object]] = field(default_factory=list)

    def __post_init__(self) -> None:
        calls = cast("SlackApi", self.slack)
        self.directory = SlackDirectory(calls=calls, soon=cast("Any", self.later.append), clock=self.clock)
        self.directory.learn("T1", GINA)

    async def kind(self) -> str:
        return (await self.directory.actor(CHANNEL, "U1")).kind


def after(age: timedelta, answer: dict[str, object] | SurfaceError | TimeoutError) -> Desk:
    desk = Desk(SlackSays(answer))
    desk.clock.advance(age.total_seconds())
    return desk


@attack(
    "approval",
    "A person who became a guest in Slack clicks, and that event was lost",
    "their rights are looked up first: a guest",
)
@pytest.mark.proves("slack:rights-age")
async def test_rights_of_long_ago_approve_nothing(answer: str) -> None:
    for age in (CACHE_TTL, timedelta(days=7)):
        assert await after(age, {**GINA, "is_restricted": True}).kind() == "guest", answer


@attack("approval", "The same while Slack does not answer", "refused: Slack did not confirm who you are")
@pytest.mark.proves("slack:rights-age")
async def test_rights_that_cannot_be_looked_up_approve_nothing(answer: str) -> None:
    for fault in (SurfaceBusy("Busy.", 3), TimeoutError()):
        with pytest.raises(NotAllowed, match="Slack did not confirm who you are"):
            await after(CACHE_TTL, fault).kind()


async def test_somebody_who_is_gone_is_not_found() -> None:
    with pytest.raises(NotFound):
        await after(CACHE_TTL, SlackRefused("user_not_found")).kind()


async def test_a_click_of_somebody_known_waits_for_nothing_and_renews_what_is_older() -> None:
    desk = after(REFRESH_AFTER - timedelta(seconds=1), {**GINA, "is_restricted": True})
    assert (await desk.kind(), len(desk.later)) == ("member", 0)
    desk.clock.advance(1)
    assert (await desk.kind(), len(desk.later), desk.slack.asked) == ("member", 1, 0)
    await desk.later.pop()
    assert await desk.kind() == "guest"


@pytest.mark.proves("speaker:helper-name")
@pytest.mark.parametrize("name", ["Ben", "bmiller", "Miller", "Benj"])
def test_a_person_is_known_by_every_name_that_slack_tells(name: str) -> None:
    desk = Desk(SlackSays(TimeoutError()))
    profile = {"display_name": "bmiller", "real_name": "Benjamin Miller"}
    desk.directory.learn("T1", {"id": "U2", "team_id": "T1", "profile": profile})
    assert desk.directory.names_somebody("T1", name)
    assert not desk.directory.names_somebody("T1", "Scout")


def test_the_first_word_of_a_name_finds_a_person_unless_another_has_it() -> None:
    desk = Desk(SlackSays(TimeoutError()))
    desk.directory.learn("T1", {"id": "U2", "team_id": "T1", "name": "Bo Smith"})
    assert desk.directory.find_person("T1", "Bo") == "U2"
    desk.directory.learn("T1", {"id": "U3", "team_id": "T1", "name": "bo"})
    assert desk.directory.find_person("T1", "Bo") == ""
