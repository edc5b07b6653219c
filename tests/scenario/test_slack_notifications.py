"""Slack calls people: the owner follows the thread, reminders mention, direct messages ask, and Home lists."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from agent_core.providers.clock import SystemClock
from agent_core.testing.language_model import ScriptedModel, reply_text
from tests.scenario.chat import adding, writing
from tests.scenario.slack_app import Office, at_work, kind_of, text_of
from tests.scenario.team import SlackChat, new_clerk
from tests.standins.slack.forms import labels
from tests.standins.slack.people import Person
from tests.standins.slack.values import Json

WRITE = writing("notes.md", "one\n")
DONE = reply_text("task_complete", {"reason": "It is written."})
MORE = [adding("notes.md", f"line {number}\n") for number in range(9)]


@dataclass(slots=True)
class MovingClock:
    """The system's time, moved by a test."""

    moved: timedelta = timedelta()
    system: SystemClock = field(default_factory=SystemClock)

    def now(self) -> datetime:
        return self.system.now() + self.moved

    def elapsed(self) -> float:
        return self.system.elapsed()

    async def sleep(self, seconds: float) -> None:
        await self.system.sleep(seconds)


async def direct(office: Office, person: Person, text: str) -> Json:
    """The person's newest direct message, once it says this."""
    messages = office.team.direct(person).messages
    await office.slack.until(lambda: bool(messages) and text in text_of(messages[-1]))
    return messages[-1]


def reminders(office: Office) -> list[Json]:
    return [each for each in office.general.messages if kind_of(each) == "signoff_reminder"]


@pytest.mark.slow
async def test_the_root_message_mentions_its_owner_once_and_nobody_else(office: Office, tmp_path: Path) -> None:
    async with at_work(office, ScriptedModel(WRITE), tmp_path) as running:
        await SlackChat(office, running, office.ana).new_agent("Clerk", "tells <@U2>", "Tell <@U2> and <!channel>")
        await office.card(1)
        assert [each.who for each in office.slack.notified] == ["<@U1>"]


@pytest.mark.slow
@pytest.mark.proves("attention:reminders")
async def test_a_wait_of_five_minutes_reminds_the_owner_and_a_decision_takes_the_reminder_away(
    office: Office, tmp_path: Path
) -> None:
    clock = MovingClock()
    async with at_work(office, ScriptedModel(WRITE, *MORE), tmp_path, transport="socket", clock=clock) as running:
        chat = await new_clerk(office, running)
        card = await chat.asks("write_to_file")
        clock.moved = timedelta(minutes=5, seconds=1)
        await office.slack.until(lambda: len(reminders(office)) == 1)
        [reminder] = reminders(office)
        assert reminder["text"].startswith("<@U1> Clerk needs approval: turn 1, write_to_file")
        assert reminder["thread_ts"] == card.message["thread_ts"]
        clock.moved = timedelta(minutes=31)
        await office.slack.until(lambda: [each["ts"] for each in reminders(office)] not in ([], [reminder["ts"]]))
        await office.slack.until(lambda: len(reminders(office)) == 1)
        await card.press("Approve")
        await office.slack.until(lambda: not reminders(office))


@pytest.mark.slow
async def test_a_channel_sets_whom_reminders_call_and_what_it_typed_wrong_is_told(
    office: Office, tmp_path: Path
) -> None:
    clock = MovingClock()
    async with at_work(office, ScriptedModel(WRITE), tmp_path, clock=clock) as running:
        await new_clerk(office, running)
        await office.card(1)
        for line, said in (
            ("reminders", "An agent that waits reminds the owner after 5 min, 30 min, 4 h."),
            ("reminders call @ben <!subteam^S1|crew>", "reminds U2, S1 after"),
            ("reminders after 10m 1h", "after 10 min, 1 h."),
            ("reminders call <@U2> <!subteam^S1>", "reminds U2, S1 after"),
            ("reminders call SUPPORT", "SUPPORT is nobody whom Signoff knows here"),
            ("reminders call <@S1>", "<@S1> is nobody whom Signoff knows here"),
        ):
            office.ana.ephemerals.clear()
            await office.ana.types("/agent", line, office.general)
            assert said in text_of(await office.told(office.ana, said))
        clock.moved = timedelta(minutes=11)
        await office.slack.until(lambda: len(reminders(office)) == 1)
        assert {each.who for each in office.slack.notified} == {"<@U1>", "<@U2>", "<!subteam^S1>"}


@pytest.mark.slow
@pytest.mark.proves("attention:direct")
async def test_who_asked_for_it_decides_in_a_direct_message_which_then_tells_how_it_ended(
    office: Office, tmp_path: Path
) -> None:
    async with at_work(office, ScriptedModel(WRITE, *MORE), tmp_path) as running:
        await office.ben.types("/agent", "notify me", office.general)
        await new_clerk(office, running)
        first = await direct(office, office.ben, "Clerk wants to write")
        assert "one" in text_of(first)
        assert set(labels(first["blocks"])) >= {"Approve", "Reject", "Open card"}
        assert not {"Stop", "Approve ×5"} & set(labels(first["blocks"]))
        await office.ben.clicks(first, "Approve")
        await office.slack.until(lambda: "approved by @ben" in text_of(office.team.direct(office.ben).messages[0]))
        second = await direct(office, office.ben, "turn 2")
        await office.ben.clicks(second, "Reject")
        await office.ben.submits(await office.form(office.ben, "Reject turn 2"), {"Reason": "Not this"})
        await office.card(2, "Not this")
        third = await direct(office, office.ben, "turn 3")
        await office.ben.types("/agent", "notify off", office.general)
        await office.told(office.ben, "no more direct messages")
        await office.ben.clicks(third, "Approve")
        await office.card(4)
        assert "turn 4" not in text_of(office.team.direct(office.ben).messages[-1])


@pytest.mark.slow
@pytest.mark.proves("two:people")
async def test_a_first_approval_calls_the_second_person_who_reads_who_approved(office: Office, tmp_path: Path) -> None:
    async with at_work(office, ScriptedModel(WRITE, *MORE), tmp_path) as running:
        await office.ben.types("/agent", "notify me", office.general)
        chat = await new_clerk(office, running)
        card = await chat.asks("write_to_file")
        await direct(office, office.ben, "needs approval: turn 1")
        await chat.says("!policy two write")
        await office.said("two people approve: write")
        await card.press("Approve")
        second = await direct(office, office.ben, "needs a second approval, after @ana: turn 1")
        await office.ben.clicks(second, "Approve")
        await office.card(1, "approved by @ana and @ben")


@pytest.mark.slow
@pytest.mark.proves("attention:done")
async def test_an_end_that_nobody_approved_is_told_like_a_question(office: Office, tmp_path: Path) -> None:
    clock = MovingClock()
    async with at_work(office, ScriptedModel(DONE), tmp_path, clock=clock) as running:
        await office.ben.types("/agent", "notify me", office.general)
        chat = SlackChat(office, running, office.ana)
        await chat.new_agent("Clerk", "keeps notes", "Write a report", free=("read",))
        told = await direct(office, office.ben, "Clerk is done.")
        assert labels(told["blocks"]) == ["Open card"]
        clock.moved = timedelta(minutes=5, seconds=1)
        await office.slack.until(lambda: len(reminders(office)) == 1)
        assert reminders(office)[0]["text"] == "<@U1> Clerk is done."


@pytest.mark.slow
async def test_a_direct_message_decides_nothing_for_who_left_the_channel_or_clicks_too_late(
    office: Office, tmp_path: Path
) -> None:
    async with at_work(office, ScriptedModel(WRITE, *MORE), tmp_path) as running:
        chat = await new_clerk(office, running)
        card = await chat.asks("write_to_file")
        await office.ben.types("/agent", "notify me", office.general)
        message = await direct(office, office.ben, "turn 1")
        office.general.people = (office.ana,)
        await office.ben.clicks(message, "Approve")
        assert "no member of the agent's channel" in text_of(await office.told(office.ben, "no member"))
        assert (await running.stage.turn(await running.agent())).state == "proposed"
        office.general.people = None
        stale = dict(message)
        await card.press("Approve")
        await office.card(2)
        await office.ben.clicks(stale, "Approve")
        await office.told(office.ben, "already approved by @ana")
        assert (await running.agent()).turns == 2


async def home_with(office: Office, person: Person, text: str) -> Json:
    """The Home tab of a person, once it says this."""
    await person.opens_home()
    await office.slack.until(lambda: person.home is not None and text in text_of(person.home))
    assert person.home
    return person.home


@pytest.mark.proves("attention:home")
async def test_home_lists_what_waits_in_every_channel_that_one_is_in_and_decides_there(
    office: Office, tmp_path: Path
) -> None:
    office.team.channel("C2", "leaders", is_private=True, people=(office.ana,))
    async with at_work(office, ScriptedModel(WRITE, *MORE), tmp_path) as running:
        await new_clerk(office, running)
        await office.card(1)
        await office.ana.types("/agent", "new Scout | looks | Find it", office.team.channels["C2"])
        await office.slack.until(lambda: len(office.cards(office.team.channels["C2"])) == 1)
        await home_with(office, office.ana, "Scout needs approval")
        home = await home_with(office, office.ben, "Clerk needs approval: turn 1, write_to_file")
        assert "one" in text_of(home)
        assert "Scout" not in text_of(home)
        assert {"Approve", "Reject", "Show all", "Open"} <= set(labels(home["blocks"]))
        await office.ben.clicks_in(home, "Show all")
        await office.form(office.ben, "Turn 1")
        await office.ben.closes(office.ben.view or {})
        await office.ben.clicks_in(home, "Approve")
        await office.card(1, "approved by @ben")
        await office.card(2)
        home = await home_with(office, office.ben, "turn 2")
        await office.ben.clicks_in(home, "Reject")
        await office.ben.submits(await office.form(office.ben, "Reject turn 2"), {"Reason": "Not this"})
        await office.card(2, "Not this")


@pytest.mark.slow
async def test_home_decides_nothing_for_who_left_the_channel_meanwhile(office: Office, tmp_path: Path) -> None:
    async with at_work(office, ScriptedModel(WRITE, *MORE), tmp_path) as running:
        await new_clerk(office, running)
        await office.card(1)
        home = await home_with(office, office.ben, "Clerk needs approval")
        office.general.people = (office.ana,)
        await office.ben.clicks_in(home, "Approve")
        assert "no member of the agent's channel" in text_of(await office.form(office.ben, "Not done"))
        await office.slack.until(lambda: "Clerk" not in text_of(office.ben.home))
        assert "Approve" in labels((await office.card(1))["blocks"])


@pytest.mark.proves("lease:home")
async def test_home_says_what_a_lease_leaves_and_revokes_it_for_who_may(office: Office, tmp_path: Path) -> None:
    model = ScriptedModel(WRITE, waits=True)
    async with at_work(office, model, tmp_path) as running:
        card = await (await new_clerk(office, running)).asks("write_to_file")
        assert "Revoke" not in labels((await home_with(office, office.ana, "Clerk needs approval"))["blocks"])
        await card.press("Approve ×5")
        await office.card(1, "done")
        home = await home_with(office, office.ana, "under @ana’s ×5 · 4 of 5 left")
        office.general.people = (office.ben,)
        await office.ana.clicks_in(home, "Revoke")
        assert "no member of the agent's channel" in text_of(await office.form(office.ana, "Not done"))
        assert (await running.agent()).lease
        await office.slack.until(lambda: "Clerk" not in text_of(office.ana.home))
        office.general.people = None
        home = await home_with(office, office.ana, "under @ana’s ×5 · 4 of 5 left")
        await office.ana.clicks_in(home, "Revoke")
        await office.slack.until(lambda: "left · granted" not in text_of(office.ana.home))
        assert (await running.agent()).lease is None
