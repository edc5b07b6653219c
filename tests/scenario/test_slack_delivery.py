"""What Slack sends, whatever it does with it on the way: checked, taken once, and never lost."""

import asyncio
import json
import logging
from pathlib import Path
from urllib.parse import urlencode

import pytest

from agent_core.model.agent import Paused
from agent_core.testing.language_model import ScriptedModel, reply_text
from tests.scenario.chat import adding, writing
from tests.scenario.slack_app import GENERAL, Office, Running, Transport, at_work, kind_of, text_of
from tests.scenario.team import SlackChat, new_clerk
from tests.standins.slack import forms
from tests.waking import interrupt

WRITE = writing("notes.md", "one\n")
MORE = [adding("notes.md", f"line {number}\n") for number in range(30)]
DONE = reply_text("task_complete", {"reason": "All is written."})
NOTHING = reply_text("do_nothing")


async def notes(running: Running) -> list[str]:
    agent = await running.agent()
    async with running.stage.database.begin() as work:
        return [note.text for note in await work.notes.of(agent)]


async def audited(running: Running) -> list[str]:
    agent = await running.agent()
    return [entry.act for entry in await running.stage.views.audit(GENERAL, agent.id)]


@pytest.mark.slow
@pytest.mark.proves("slack:signature")
async def test_a_forged_signature_and_a_stale_timestamp_are_refused(office: Office, tmp_path: Path) -> None:
    async with at_work(office, ScriptedModel(WRITE), tmp_path) as running:
        await new_clerk(office, running)
        card = await office.card(1)
        await office.ana.clicks(card, "Stop")
        body = urlencode({"payload": json.dumps(office.slack.deliveries[-1].payload)}).encode()
        form = "application/x-www-form-urlencoded"
        good = office.slack.signed(body, content_type=form)
        forged = {**good, "X-Slack-Signature": "v0=" + "0" * 64}
        stale = office.slack.signed(body, content_type=form, age=600)
        unsigned = {"Content-Type": form}
        heard = running.connection.heard_at
        answers = [await office.slack.post_raw(body, headers) for headers in (forged, stale, unsigned)]
        assert ([answer.status for answer in answers], running.connection.heard_at) == ([401] * 3, heard)
        assert (await office.slack.post_raw(body, good)).status == 200
        assert running.connection.heard_at != heard
        assert (await audited(running)).count("stopped") == 1


@pytest.mark.proves("slack:once")
async def test_the_same_event_four_times_is_one_note(office: Office, tmp_path: Path) -> None:
    async with at_work(office, ScriptedModel(WRITE, NOTHING), tmp_path) as running:
        chat = await new_clerk(office, running)
        await (await chat.asks("write_to_file")).press("Stop")
        await office.said("stopped by @ana")
        await chat.says("Remember the cake")
        event = next(each for each in office.slack.deliveries if each.payload.get("event", {}).get("text", "") != "")
        for retry in (1, 2, 3):
            assert (await office.slack.redeliver(event, retry=retry)).status == 200
        assert await notes(running) == ["Remember the cake"]


@pytest.mark.slow
async def test_a_mention_in_the_thread_comes_twice_and_counts_once(office: Office, tmp_path: Path) -> None:
    async with at_work(office, ScriptedModel(WRITE, NOTHING), tmp_path) as running:
        chat = await new_clerk(office, running)
        await chat.asks("write_to_file")
        await chat.says(f"<@{office.team.bot_user}> use plan.md instead")
        await chat.asks("do_nothing")
        await office.slack.settled()
        names = [each.name for each in office.slack.deliveries if each.kind == "event"]
        assert {"message", "app_mention"} <= set(names)
        assert (await audited(running)).count("reject") == 1
        assert await notes(running) == []
        assert "use plan.md instead" in text_of(await office.card(1))


@pytest.mark.proves("slack:clicks-at-once")
@pytest.mark.parametrize("transport", ["http", "socket"])
async def test_of_two_clicks_at_once_one_counts_and_the_other_is_told(
    office: Office, tmp_path: Path, transport: Transport
) -> None:
    async with at_work(office, ScriptedModel(WRITE, DONE), tmp_path, transport=transport) as running:
        chat = await new_clerk(office, running)
        card = (await chat.asks("write_to_file")).message

        def refusals() -> list[str]:
            told = (text_of(each) for each in (*office.ana.ephemerals, *office.ben.ephemerals))
            return [text for text in told if "already approved by @" in text]

        answers = await asyncio.gather(office.ana.clicks(card, "Approve"), office.ben.clicks(card, "Approve"))
        assert all(answer.is_acknowledged for answer in answers)
        await chat.asks("task_complete")
        await office.slack.until(lambda: bool(refusals()))
        await office.slack.settled()
        assert len(refusals()) == 1
        assert (await audited(running)).count("approve") == 1
        assert await chat.file("notes.md") == "one\n"


@pytest.mark.slow
@pytest.mark.parametrize("transport", ["http", "socket"])
async def test_a_click_is_acknowledged_once_its_decision_is_saved(
    office: Office, tmp_path: Path, transport: Transport
) -> None:
    async with at_work(office, ScriptedModel(WRITE, DONE), tmp_path, transport=transport) as running:
        card = (await (await new_clerk(office, running)).asks("write_to_file")).message
        answer = await office.ana.clicks(card, "Approve")
        assert (answer.is_acknowledged, (await audited(running)).count("approve")) == (True, 1)


@pytest.mark.slow
@pytest.mark.parametrize("transport", ["http", "socket"])
async def test_a_click_for_a_workspace_without_signoff_decides_nothing(
    office: Office, tmp_path: Path, transport: Transport
) -> None:
    async with at_work(office, ScriptedModel(WRITE), tmp_path, transport=transport) as running:
        chat = await new_clerk(office, running)
        card = (await chat.asks("write_to_file")).message
        told = len(office.ana.ephemerals)
        await office.slack.courier.interaction(
            {
                "type": "block_actions",
                "user": {"id": office.ana.id},
                "team": {"id": "T9"},
                "container": {"type": "message", "channel_id": GENERAL.channel, "message_ts": card["ts"]},
                "trigger_id": "1.2",
                "actions": [forms.with_ts(forms.clicked(card["blocks"], "Approve", None), "1.0")],
            }
        )
        await office.slack.settled()
        assert (await audited(running)).count("approve") == 0
        assert len(office.ana.ephemerals) == told


@pytest.mark.proves("slack:restart")
async def test_a_card_from_before_a_restart_can_be_pressed_and_an_old_one_gets_its_present_state(
    office: Office, tmp_path: Path
) -> None:
    async with at_work(office, ScriptedModel(WRITE), tmp_path) as running:
        chat = await new_clerk(office, running)
        card = (await chat.asks("write_to_file")).message
    async with at_work(office, ScriptedModel(DONE), tmp_path) as running:
        again = SlackChat(office, running, office.ana, name="Clerk", seen=chat.seen)
        await office.ana.clicks(card, "Approve")
        await again.asks("task_complete")
        assert await again.file("notes.md") == "one\n"
        await office.ben.clicks(card, "Approve")
        await office.told(office.ben, "already approved by @ana")
        assert len(office.cards()) == 2


@pytest.mark.slow
@pytest.mark.proves("slack:busy")
async def test_a_storm_of_refusals_loses_nothing_and_doubles_nothing(office: Office, tmp_path: Path) -> None:
    async with at_work(office, ScriptedModel(WRITE, *MORE[:4], DONE), tmp_path) as running:
        chat = await new_clerk(office, running)
        card = await chat.asks("write_to_file")
        for method in ("chat.postMessage", "chat.update"):
            office.slack.fails(method, times=20, status=429, retry_after="0.05")
        await card.press("Approve ×5")
        await chat.asks("task_complete")
        await office.card(5, "done")
        shared, last = map(text_of, office.cards())
        assert all(f"✓ {number} " in shared for number in (1, 2, 3, 4))
        assert "turn 5 ·" in shared
        assert "turn 6 ·" in last
        assert (await chat.file("notes.md")).splitlines() == ["one", *(f"line {number}" for number in range(4))]


@pytest.mark.slow
async def test_slack_is_left_alone_for_as_long_as_it_asks(office: Office, tmp_path: Path) -> None:
    async with at_work(office, ScriptedModel(WRITE, DONE), tmp_path) as running:
        chat = await new_clerk(office, running)
        card = await chat.asks("write_to_file")
        await office.slack.settled()  # else the edit of the root message may be the refused one
        office.slack.fails("chat.update", status=429, retry_after="0.5")
        before = len(office.slack.calls_of("chat.update"))
        await card.press("Approve")
        await office.card(1, "done")
        refused, *taken = office.slack.calls_of("chat.update")[before:]
        assert 0.5 <= taken[0].at - refused.at < 2
        assert any("approved by @ana" in text_of(call.arguments) for call in taken)


@pytest.mark.proves("slack:crash")
@pytest.mark.parametrize("method", ["chat.postMessage"])
async def test_a_card_that_was_sent_but_not_recorded_is_found_again(
    office: Office, tmp_path: Path, method: str
) -> None:
    async with at_work(office, ScriptedModel(WRITE), tmp_path) as running:
        await new_clerk(office, running)
        await office.said("Write a report")
        with office.slack.holding(method, after_effect=True) as held:
            await held.arrived()
            await office.card(1)
            interrupt(running.stage.engine, (await running.agent()).id)
            held.drop()
    async with at_work(office, ScriptedModel(DONE), tmp_path) as running:
        chat = SlackChat(office, running, office.ana, name="Clerk")
        await (await chat.asks("write_to_file")).press("Approve")
        await chat.asks("task_complete")
        assert [kind_of(message) for message in office.general.messages].count("signoff_agent") == 1
        assert len(office.cards()) == 2


@pytest.mark.proves("slack:missed")
async def test_replies_missed_while_the_socket_was_away_are_taken_in_order(
    office: Office, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "adapters.slack.connection")
    async with at_work(office, ScriptedModel(WRITE, NOTHING), tmp_path, transport="socket") as running:
        chat = await new_clerk(office, running)
        await (await chat.asks("write_to_file")).press("Stop")
        await office.said("stopped by @ana")
        with office.slack.away():
            for text in ("first", "second", "third"):
                await chat.says(text)
        await office.slack.connected()
        await office.slack.until(lambda: len(office.slack.calls_of("reactions.add")) == 3)
        assert await notes(running) == ["first", "second", "third"]
        assert caplog.messages.count("connected") >= 2


@pytest.mark.slow
@pytest.mark.parametrize("transport", ["http", "socket"])
async def test_replies_missed_while_signoff_was_down_are_taken_at_the_start(
    office: Office, tmp_path: Path, transport: Transport
) -> None:
    async with at_work(office, ScriptedModel(WRITE), tmp_path, transport=transport) as running:
        chat = await new_clerk(office, running)
        await chat.asks("write_to_file")
    with office.slack.away():
        await chat.says("Use plan.md")
        await chat.says("And hurry")
    async with at_work(office, ScriptedModel(NOTHING), tmp_path, transport=transport) as running:
        chat = SlackChat(office, running, office.ana, name="Clerk", seen=chat.seen)
        await chat.asks("do_nothing")
        assert "Use plan.md" in text_of(await office.card(1))
        assert await notes(running) == ["And hurry"]


@pytest.mark.proves("slack:refused-once")
async def test_a_word_that_was_refused_never_decides_a_later_proposal(office: Office, tmp_path: Path) -> None:
    model = ScriptedModel(WRITE, waits=True)
    async with at_work(office, model, tmp_path) as running:
        chat = await new_clerk(office, running)
        await (await chat.asks("write_to_file")).press("Approve")
        await office.card(1, "done")
        await chat.says("!approve")
        await office.told(office.ana, "already approved by @ana")
    async with at_work(office, ScriptedModel(NOTHING), tmp_path) as running:
        chat = SlackChat(office, running, office.ana, name="Clerk", seen=chat.seen)
        await chat.asks("do_nothing")
        await running.connection.catch_up.read("T1")
        await office.slack.settled()
        turn = await running.stage.turn(await running.agent())
        assert (turn.number, turn.state) == (2, "proposed")
        assert sum("already approved" in text_of(told) for told in office.ana.ephemerals) == 1


@pytest.mark.proves("slack:thread-gone")
@pytest.mark.parametrize("loss", ["archived", "removed"])
async def test_a_place_that_is_lost_pauses_the_agent_and_the_owner_is_told_directly(
    office: Office, tmp_path: Path, loss: str
) -> None:
    async with at_work(office, ScriptedModel(WRITE, NOTHING), tmp_path) as running:
        chat = await new_clerk(office, running)
        card = (await chat.asks("write_to_file")).message
        if loss == "archived":
            office.general.is_archived = True
        else:
            await office.general.remove_bot()
        await office.ana.clicks(card, "Approve")
        dm = office.team.direct(office.ana)
        await office.slack.until(lambda: bool(dm.messages))
        assert "Clerk is paused." in text_of(dm.messages[0])
        agent = await running.agent()
        assert isinstance(agent.status, Paused)
        office.general.is_archived = False
        office.general.bot_is_member = True
        await office.ana.types("/agent", "resume Clerk", office.general)
        await chat.asks("do_nothing")
        assert await chat.file("notes.md") == "one\n"


@pytest.mark.slow
async def test_a_deleted_thread_gets_another_on_resume_and_the_question_is_asked_there(
    office: Office, tmp_path: Path
) -> None:
    async with at_work(office, ScriptedModel(WRITE, NOTHING), tmp_path) as running:
        chat = await new_clerk(office, running)
        await (await chat.asks("write_to_file")).press("Stop")
        await office.said("stopped by @ana")
        root = next(message for message in office.general.messages if kind_of(message) == "signoff_agent")
        for message in office.general.thread(root["ts"])[::-1]:
            await office.general.delete_message(message["ts"])
        await office.ana.types("/agent", "resume Clerk", office.general)
        dm = office.team.direct(office.ana)
        await office.slack.until(lambda: bool(dm.messages))
        assert "The thread was deleted." in text_of(dm.messages[0])
        await office.ana.types("/agent", "resume", office.general)
        await chat.asks("do_nothing")
        assert len([each for each in office.general.messages if kind_of(each) == "signoff_agent"]) == 1
