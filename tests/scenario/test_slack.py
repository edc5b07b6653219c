"""What people do in Slack, and what they get."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from agent_core.model.agent import Awaiting, Stopped
from agent_core.model.model_calls import Reply
from agent_core.providers.clock import SystemClock
from agent_core.testing.language_model import ScriptedModel, reply_text
from tests.scenario.chat import adding, writing
from tests.scenario.slack_app import GENERAL, Office, Running, Transport, at_work, kind_of, text_of
from tests.scenario.team import SlackChat

WRITE = writing("notes.md", "one\n")
MORE = [adding("notes.md", f"line {number}\n") for number in range(9)]
DONE = reply_text("task_complete", {"reason": "All is written."})
NOTHING = reply_text("do_nothing")
DRAFT = json.dumps({"name": "String Scout", "role": "a researcher", "goals": ["Find strings", "Compare them"]})


@pytest.fixture
async def office() -> AsyncIterator[Office]:
    async with Office.opened() as opened:
        yield opened


@asynccontextmanager
async def asking(office: Office, folder: Path, *replies: str | Reply | Exception) -> AsyncIterator[SlackChat]:
    """An agent that asks for the first of the replies."""
    async with at_work(office, ScriptedModel(*replies), folder) as running:
        chat = SlackChat(office, running, office.ana)
        await chat.new_agent("Clerk", "keeps notes", "Write a report")
        yield chat


async def typed(office: Office, text: str) -> str:
    """What Ana is answered to `/agent …`."""
    answer = await office.ana.types("/agent", text, office.general)
    assert answer.is_acknowledged
    return text_of(answer.body)


@pytest.mark.parametrize("transport", ["http", "socket"])
async def test_it_is_known_when_slack_last_sent_anything(office: Office, tmp_path: Path, transport: Transport) -> None:
    async with at_work(office, ScriptedModel(WRITE), tmp_path, transport=transport) as running:
        begun = SystemClock().now()
        await SlackChat(office, running, office.ana).new_agent("Clerk", "keeps notes", "Write a report")
        assert running.connection.heard_at
        assert running.connection.heard_at >= begun


# /agent


@pytest.mark.slow
async def test_the_form_comes_back_as_it_was_filled_in_with_what_is_wrong_beside_each_field(
    office: Office, tmp_path: Path
) -> None:
    async with at_work(office, ScriptedModel(WRITE), tmp_path):
        await typed(office, "new")
        form = await office.form(office.ana, "New agent")
        goals = "\n".join(f"goal {number}" for number in range(7))
        answer = await office.ana.submits(form, {"Name": "n" * 90, "Goals": goals, "Budget in US dollars": "ten"})
        assert (answer.body["response_action"], set(answer.body["errors"])) == ("errors", {"name", "goals", "budget"})
        assert office.ana.view is not None
        await office.ana.submits(form, {"Name": "Clerk", "Goals": "Write a report", "Budget in US dollars": "2"})
        assert "Clerk" in text_of(await office.card(1))


@pytest.mark.slow
@pytest.mark.proves("templates:form")
async def test_a_template_fills_in_the_open_form_even_what_was_typed(office: Office, tmp_path: Path) -> None:
    async with at_work(office, ScriptedModel(WRITE), tmp_path) as running:
        await typed(office, "new")
        form = await office.form(office.ana, "New agent")
        await office.ana.clicks_in(form, "Read a file")
        filled = await office.changed(office.ana, form)
        await office.ana.clicks_in(filled, "Write a file")
        again = await office.changed(office.ana, filled)
        assert await running.stage.views.agents(GENERAL) == ()
        await office.ana.submits(again, {"Role": "keeps our notes"})
        await office.card(1)
        agent = await running.agent("Note taker")
        assert (agent.role, agent.goals) == ("keeps our notes", ('Write "Stand-up is at 9:30" to notes.md',))


async def test_a_template_is_named_in_the_channel(office: Office, tmp_path: Path) -> None:
    async with at_work(office, ScriptedModel(WRITE), tmp_path):
        assert "There are: 1-write, 2-append" in await typed(office, "new template")
        await typed(office, "new template 3-read")
        form = await office.form(office.ana, "New agent")
        assert "reads a file back to the team" in json.dumps(form)


@pytest.mark.slow
@pytest.mark.proves("create:copy")
async def test_a_copy_of_an_agent_is_a_form_until_it_is_sent(office: Office, tmp_path: Path) -> None:
    async with asking(office, tmp_path, WRITE, WRITE) as chat:
        await chat.asks("write_to_file")
        assert await typed(office, "duplicate clerk") == ""
        form = await office.form(office.ana, "New agent")
        assert "Filled in from Clerk. Check it: nothing is created yet." in text_of(form)
        assert len(await chat.running.stage.views.agents(GENERAL)) == 1
        await office.ana.submits(form, {"Role": "keeps other notes"})
        await office.slack.until(lambda: "Clerk 2" in str(office.slack.calls_of("chat.postMessage")))
        copy = await chat.running.agent("Clerk 2")
        assert (copy.role, copy.goals) == ("keeps other notes", ("Write a report",))
        assert "No agent here is called Zoe" in await typed(office, "duplicate Zoe")


async def test_the_one_line_form_makes_the_agent_at_once(office: Office, tmp_path: Path) -> None:
    async with at_work(office, ScriptedModel(WRITE), tmp_path) as running:
        assert "Clerk was created" in await typed(office, "new Clerk | keeps notes | write; tidy")
        assert (await running.agent()).goals == ("write", "tidy")
        await office.card(1)


@pytest.mark.proves("slack:sentence")
async def test_a_sentence_opens_the_form_first_and_then_fills_it_in(office: Office, tmp_path: Path) -> None:
    model = ScriptedModel(waits=True)
    async with at_work(office, model, tmp_path) as running:
        await typed(office, "new research the best tennis strings")
        assert "Drafting" in text_of(await office.form(office.ana, "New agent"))
        model.say(DRAFT)
        await office.slack.until(lambda: "String Scout" in json.dumps(office.ana.view))
        form = await office.form(office.ana, "New agent")
        await office.ana.submits(form, {})
        await office.slack.until(lambda: bool(office.slack.calls_of("chat.postMessage")))
        assert (await running.agent("String Scout")).goals == ("Find strings", "Compare them")
        model.say(WRITE)
        await office.card(1)


@pytest.mark.slow
async def test_a_form_that_slack_will_not_open_any_more_is_said_to_be_late(office: Office, tmp_path: Path) -> None:
    async with asking(office, tmp_path, WRITE) as chat:
        card = await chat.asks("write_to_file")
        office.slack.fails("views.open", error="expired_trigger_id")
        await office.ana.clicks(card.message, "Edit")
        await office.told(office.ana, "this took longer. Press again.")


@pytest.mark.slow
async def test_list_show_stop_resume_files_and_help_answer_the_person_alone(office: Office, tmp_path: Path) -> None:
    async with asking(office, tmp_path, WRITE, NOTHING, NOTHING) as chat:
        assert "Clerk" in await typed(office, "list")
        await (await chat.asks("write_to_file")).press("Approve")
        await chat.asks("do_nothing")
        assert "keeps notes" in await typed(office, "show clerk")
        assert "notes.md" in await typed(office, "files")
        assert "Clerk is stopped" in await typed(office, "stop")
        assert "already stopped by @ana" in await typed(office, "stop Clerk")
        assert "Clerk continues" in await typed(office, "resume Clerk")
        assert "/agent new" in await typed(office, "help")
        assert "Did you mean /agent list" in await typed(office, "lisst")
        assert "No agent here is called Clark. Did you mean Clerk?" in await typed(office, "show Clark")


@pytest.mark.slow
@pytest.mark.proves("policy:tighter")
async def test_a_policy_is_shown_and_set_in_the_channel_and_in_the_thread(office: Office, tmp_path: Path) -> None:
    async with asking(office, tmp_path, WRITE) as chat:
        card = await chat.asks("write_to_file")
        await typed(office, "policy Clerk")
        await office.told(office.ana, "Every command asks")
        await typed(office, "policy Clerk approvers owner")
        await office.said("@ana set the policy: who may approve: only @ana.")
        await office.ben.clicks(card.message, "Approve")
        await office.told(office.ben, "only @ana decides for Clerk")


@pytest.mark.slow
@pytest.mark.proves("archive:lists")
async def test_an_archived_agent_is_listed_apart_until_it_is_brought_back(office: Office, tmp_path: Path) -> None:
    async with asking(office, tmp_path, WRITE) as chat:
        await chat.asks("write_to_file")
        assert "waits for a decision, so it is not archived" in await typed(office, "archive Clerk")
        assert "No agent here is archived." in await typed(office, "list archived")
        await typed(office, "stop Clerk")
        assert "Clerk is archived." in await typed(office, "archive Clerk")
        await office.said("archived by @ana. Resume brings it back.")
        assert "1 archived agent is left out: /agent list archived." in await typed(office, "list")
        listed = await typed(office, "list archived")
        assert "Clerk · stopped by @ana · archived" in listed
        assert "/agent unarchive NAME" in listed
        assert "1 archived agent is left out" in await typed(office, "show")
        assert "Clerk is in lists again." in await typed(office, "unarchive Clerk")
        assert "Clerk" in await typed(office, "list")


@pytest.mark.slow
async def test_delete_asks_first_and_then_removes_everything(office: Office, tmp_path: Path) -> None:
    async with asking(office, tmp_path, WRITE) as chat:
        card = (await chat.asks("write_to_file")).message
        answer = await office.ana.types("/agent", "delete Clerk", office.general)
        assert "history, memory and files" in text_of(answer.body)
        question = office.ana.ephemerals[-1]
        await office.ana.clicks(question, "Delete")
        await office.said("Clerk was deleted by @ana")
        assert await chat.running.stage.views.agents(GENERAL) == ()
        await office.ana.clicks(card, "Approve")
        await office.told(office.ana, "an agent that was deleted")


# Cards


@pytest.mark.slow
async def test_an_approval_of_several_counts_down_on_the_cards_and_can_be_revoked(
    office: Office, tmp_path: Path
) -> None:
    async with asking(office, tmp_path, WRITE, *MORE[:2], NOTHING) as chat:
        await (await chat.asks("write_to_file")).press("Approve ×3")
        await office.said("2 of 3 left")
        await chat.asks("do_nothing")
        assert (await chat.file("notes.md")).count("\n") == 3


@pytest.mark.slow
async def test_another_number_is_asked_for_in_a_form(office: Office, tmp_path: Path) -> None:
    async with asking(office, tmp_path, WRITE, MORE[0], NOTHING) as chat:
        card = await chat.asks("write_to_file")
        await office.ana.clicks(card.message, "Another number…")
        form = await office.form(office.ana, "Approve turn 1")
        await office.ana.submits(form, {"How many commands": "2"})
        await chat.asks("do_nothing")
        assert (await chat.file("notes.md")).count("\n") == 2


@pytest.mark.proves("slack:whole")
async def test_what_does_not_fit_on_a_card_can_be_read_whole_and_edited_whole(office: Office, tmp_path: Path) -> None:
    long = "".join(f"{number:05} and some more words\n" for number in range(1200))
    async with asking(office, tmp_path, writing("long.txt", long), NOTHING) as chat:
        card = await chat.asks("write_to_file")
        assert "more characters: Show all" in card.text
        await office.ana.clicks(card.message, "Show all")
        view = await office.form(office.ana, "Turn 1")
        seen = text_of(view)
        while "Next part" in text_of(view):
            await office.ana.clicks_in(view, "Next part")
            view = await office.changed(office.ana, view)
            seen += text_of(view)
        assert all(line in seen for line in long.splitlines())
        await office.ana.clicks(card.message, "Edit")
        form = await office.form(office.ana, "Edit")
        sent = await office.ana.submits(form, {"filename": "short.txt"})
        assert not sent.body
        await chat.asks("do_nothing")
        assert await chat.file("short.txt") == long


@pytest.mark.slow
async def test_an_edit_that_comes_too_late_stays_open_with_what_was_written(office: Office, tmp_path: Path) -> None:
    async with asking(office, tmp_path, WRITE, NOTHING) as chat:
        card = await chat.asks("write_to_file")
        await office.ana.clicks(card.message, "Edit")
        form = await office.form(office.ana, "Edit")
        await office.ben.clicks(card.message, "Approve")
        await chat.asks("do_nothing")
        sent = await office.ana.submits(form, {"text": "what I wrote"})
        assert "already approved by @ben" in text_of(sent.body["errors"])
        assert office.ana.view is not None


@pytest.mark.slow
async def test_the_reply_box_rejects_with_what_was_written(office: Office, tmp_path: Path) -> None:
    async with asking(office, tmp_path, WRITE, NOTHING) as chat:
        card = await chat.asks("write_to_file")
        await office.ben.enters(card.message, "Write it in Arabic: مرحبا", "Reply to Clerk")
        await chat.asks("do_nothing")
        assert "rejected by @ben" in text_of(await office.card(1, "مرحبا"))


@pytest.mark.proves("slack:quiet")
async def test_nothing_the_model_writes_notifies_anybody_or_looks_like_a_card(office: Office, tmp_path: Path) -> None:
    evil = "<!channel> <@U2> <!here|x> *Approve* ```\n</pre>``` <https://evil.example|click>"
    thoughts = dict.fromkeys(("text", "reasoning", "plan", "criticism", "speak"), evil)
    command = {"name": "write_to_file", "args": {"filename": "a.txt", "text": evil}}
    reply = json.dumps({"thoughts": thoughts, "command": command})
    async with at_work(
        office, ScriptedModel(reply, reply_text("task_complete", {"reason": evil})), tmp_path
    ) as running:
        chat = SlackChat(office, running, office.ana)
        line = " ".join(evil.split())
        await chat.new_agent(f"Clerk {line[:40]}", line, evil)
        card = await chat.asks("write_to_file")
        assert (
            evil in card.text
        )  # once: thoughts that repeat one another are left out, and the preview stands for the text
        await card.press("Approve")
        await (await chat.asks("task_complete")).press("Reject", reason=evil)
        await office.card(2, "rejected")
        await chat.says(evil)
        await office.slack.settled()
        assert {(each.kind, each.who) for each in office.slack.notified} == {("signoff_agent", "<@U1>")}


# Words


@pytest.mark.slow
async def test_a_reply_while_it_rests_is_kept_with_a_reaction_and_answered_with_resume(
    office: Office, tmp_path: Path
) -> None:
    async with asking(office, tmp_path, WRITE, NOTHING) as chat:
        await (await chat.asks("write_to_file")).press("Stop")
        await office.said("stopped by @ana")
        await chat.says("Later then")
        answer = await office.told(office.ana, "Press Resume so that it reads this")
        await office.slack.until(lambda: bool(office.slack.calls_of("reactions.add")))
        assert office.slack.calls_of("reactions.add")[-1].arguments["name"] == "eyes"
        await office.ana.clicks(answer, "Resume")
        await chat.asks("do_nothing")


@pytest.mark.slow
async def test_verbs_in_the_thread_decide_and_tell(office: Office, tmp_path: Path) -> None:
    async with asking(office, tmp_path, WRITE, *MORE[:1], NOTHING, NOTHING) as chat:
        await chat.asks("write_to_file")
        await chat.says("!status")
        await office.told(office.ana, "Clerk: waiting for a decision")
        await chat.says("!approve 2")
        await chat.asks("do_nothing")
        await chat.says("!reject not now")
        assert "not now" in text_of(await office.card(3, "rejected"))
        await chat.asks("do_nothing")
        await chat.says("!files")
        await office.told(office.ana, "notes.md")
        await chat.says("!stop")
        await office.said("stopped by @ana")


@pytest.mark.slow
async def test_a_mention_offers_an_agent_and_an_empty_one_explains(office: Office, tmp_path: Path) -> None:
    bot = f"<@{office.team.bot_user}>"
    async with at_work(office, ScriptedModel(DRAFT, WRITE), tmp_path) as running:
        await office.ana.says(office.general, f"{bot} research strings")
        offer = await office.said("String Scout")
        await office.ana.clicks(offer, "Create")
        await office.card(1)
        assert (await running.agent("String Scout")).owner.display == "ana"
        await office.ana.says(office.general, bot)
        await office.said("New agent")


@pytest.mark.slow
async def test_a_direct_message_is_answered_there_and_its_agent_lives_there(office: Office, tmp_path: Path) -> None:
    async with at_work(office, ScriptedModel(DRAFT, WRITE), tmp_path):
        dm = office.team.direct(office.ana)
        await office.ana.says(dm, "help")
        await office.slack.until(lambda: any("New agent" in text_of(message) for message in dm.messages))
        await office.ana.says(dm, "research strings")
        await office.slack.until(lambda: any("Change" in text_of(message) for message in dm.messages))
        offer = next(message for message in dm.messages if "Change" in text_of(message))
        await office.ana.clicks(offer, "Change")
        form = await office.form(office.ana, "New agent")
        await office.ana.submits(form, {"Name": "Scout"})
        await office.slack.until(lambda: bool(office.cards(dm)))


@pytest.mark.slow
async def test_slacks_own_stop_is_our_stop_and_its_indicator_follows(office: Office, tmp_path: Path) -> None:
    async with asking(office, tmp_path, WRITE) as chat:
        await chat.asks("write_to_file")
        root = next(message for message in office.general.messages if kind_of(message) == "signoff_agent")
        session = ("C1", root["ts"])
        await office.slack.until(lambda: session in office.slack.sessions)
        assert office.slack.sessions[session].status == "suspended"
        await office.ben.presses_native_stop(office.general, root["ts"])
        await office.said("stopped by @ben")
        await office.slack.until(lambda: office.slack.sessions[session].status == "active")
        assert isinstance((await chat.running.agent()).status, Stopped)


@pytest.mark.slow
async def test_slacks_own_stop_while_the_indicator_is_being_set_sets_it_again(office: Office, tmp_path: Path) -> None:
    async with asking(office, tmp_path, WRITE) as chat:
        card = await chat.asks("write_to_file")
        root = next(message for message in office.general.messages if kind_of(message) == "signoff_agent")
        session = ("C1", root["ts"])
        await office.slack.until(lambda: session in office.slack.sessions)
        with office.slack.holding("agents.sessions.setStatus", after_effect=True) as held:
            await card.press("Stop")
            await held.arrived()
            office.slack.sessions[session] = replace(office.slack.sessions[session], status="closed")  # as Slack does
            await office.ben.presses_native_stop(office.general, root["ts"])
            await office.told(office.ben, "stopped")
        await office.slack.until(lambda: office.slack.sessions[session].status == "active")


@pytest.mark.slow
@pytest.mark.proves("attention:root")
@pytest.mark.parametrize("has_indicator", [True, False])
async def test_the_root_message_says_what_the_agent_does(office: Office, tmp_path: Path, has_indicator: bool) -> None:
    if not has_indicator:
        office.slack.disable("agents.sessions.setStatus")
    async with asking(office, tmp_path, WRITE) as chat:
        card = await chat.asks("write_to_file")
        root = await office.said("● needs approval · turn 1: write_to_file notes.md")
        await card.press("Stop")
        assert (await office.said("● stopped by @ana"))["ts"] == root["ts"]
        assert has_indicator == (len(office.slack.calls_of("agents.sessions.setStatus")) > 1)


@pytest.mark.slow
@pytest.mark.proves("attention:root")
async def test_the_root_message_counts_the_files_of_the_agent_and_those_that_people_add(
    office: Office, tmp_path: Path
) -> None:
    async with asking(office, tmp_path, WRITE, NOTHING) as chat:
        await (await chat.asks("write_to_file")).press("Approve")
        card = await chat.asks("do_nothing")
        root = await office.said("1 file · Last: ✓ 1 write_to_file")
        await office.ben.says(office.general, "", thread=root["ts"], files=[("data.csv", b"a,b\n")])
        await office.slack.until(lambda: len(office.slack.calls_of("reactions.add")) == 1)
        await card.press("Stop")
        assert (await office.said("2 files · Last: "))["ts"] == root["ts"]


# Files


@pytest.mark.slow
async def test_files_dropped_in_the_thread_land_in_the_workspace_and_are_announced(
    office: Office, tmp_path: Path
) -> None:
    async with asking(office, tmp_path, WRITE) as chat:
        await chat.asks("write_to_file")
        root = next(message for message in office.general.messages if kind_of(message) == "signoff_agent")
        await office.ben.says(office.general, "", thread=root["ts"], files=[("data.csv", b"a,b\n"), ("data.csv", b"c")])
        await office.slack.until(lambda: len(office.slack.calls_of("reactions.add")) == 2)
        assert {await chat.file("data.csv"), await chat.file("data (2).csv")} == {"a,b\n", "c"}
        agent = await chat.running.agent()
        async with chat.running.stage.database.begin() as work:
            told = sorted(note.text for note in await work.notes.list_waiting(agent))
        assert [text.partition(" (")[0] for text in told] == ["I put “data", "I put “data.csv”"]


@pytest.mark.slow
async def test_a_file_of_the_agent_is_uploaded_into_its_thread(office: Office, tmp_path: Path) -> None:
    async with asking(office, tmp_path, WRITE, NOTHING) as chat:
        await (await chat.asks("write_to_file")).press("Approve")
        await chat.asks("do_nothing")
        await typed(office, "files")
        await office.ana.clicks(office.ana.ephemerals[-1], "Upload")
        await office.slack.until(lambda: any(message.get("files") for message in office.general.messages))
        (shared,) = [message for message in office.general.messages if message.get("files")]
        assert shared["files"][0]["name"] == "notes.md"
        assert shared["thread_ts"]


# Who clicks


@pytest.mark.proves("slack:rights")
@pytest.mark.parametrize("kind", ["guest", "external"])
async def test_guests_and_people_from_outside_are_refused_alone(office: Office, tmp_path: Path, kind: str) -> None:
    eve = office.team.person("U9", "eve", kind)  # type: ignore[arg-type]
    async with asking(office, tmp_path, WRITE) as chat:
        card = await chat.asks("write_to_file")
        for label in ("Approve", "Edit", "Reject"):
            await eve.clicks(card.message, label)
        await office.slack.until(lambda: len(eve.ephemerals) == 3)
        assert all("you may not approve here" in text_of(told) for told in eve.ephemerals)
        assert eve.view is None
        await eve.says(office.general, "!approve", thread=card.message["thread_ts"])
        await office.slack.until(lambda: len(eve.ephemerals) == 4)
        assert (await chat.running.agent()).status == Awaiting()


@pytest.mark.slow
async def test_somebody_who_becomes_a_guest_loses_their_say_at_once(office: Office, tmp_path: Path) -> None:
    async with asking(office, tmp_path, WRITE) as chat:
        card = await chat.asks("write_to_file")
        await office.ben.become("guest")
        await office.ben.clicks(card.message, "Approve")
        await office.told(office.ben, "guests may read and reply")


async def test_bots_are_not_heard(office: Office, tmp_path: Path) -> None:
    robot = office.team.person("U8", "robot", "bot")
    async with asking(office, tmp_path, WRITE) as chat:
        card = await chat.asks("write_to_file")
        await robot.says(office.general, "!approve", thread=card.message["thread_ts"])
        await office.slack.settled()
        assert (await chat.running.agent()).status == Awaiting()


@pytest.mark.slow
async def test_a_known_persons_click_asks_slack_nothing_before_it_is_saved(office: Office, tmp_path: Path) -> None:
    async with asking(office, tmp_path, WRITE, NOTHING) as chat:
        card = await chat.asks("write_to_file")
        await office.slack.until(lambda: bool(office.slack.calls_of("users.list")))
        await office.slack.settled()
        before = len(office.slack.calls)
        with office.slack.holding("chat.update"):
            answer = await office.ben.clicks(card.message, "Approve")
            assert answer.is_acknowledged
            (turn,) = await _turns(chat.running)
            assert turn != "proposed"
            asked = {call.method for call in office.slack.calls[before:]}
            assert asked <= {"chat.update", "agents.sessions.setStatus"}


async def _turns(running: Running) -> list[str]:
    agent = await running.agent()
    async with running.stage.database.begin() as work:
        return [turn.state for turn in await work.turns.of(agent, last=1)]


# Home


@pytest.mark.slow
async def test_home_shows_what_waits_and_what_is_mine_with_buttons_that_work(office: Office, tmp_path: Path) -> None:
    async with asking(office, tmp_path, WRITE, NOTHING) as chat:
        await chat.asks("write_to_file")
        await office.ana.opens_home()
        await office.slack.until(lambda: "Waiting for you" in text_of(office.ana.home))
        assert office.ana.home
        await office.ana.clicks_in(office.ana.home, "Stop")
        await office.slack.until(lambda: "stopped by @ana" in text_of(office.ana.home))
        await office.ben.opens_home()
        await office.slack.until(lambda: "You have no agents yet" in text_of(office.ben.home))
        assert "Clerk" not in text_of(office.ben.home)


@pytest.mark.slow
async def test_an_agent_can_be_made_from_home_in_a_channel_of_ones_choice(office: Office, tmp_path: Path) -> None:
    async with at_work(office, ScriptedModel(WRITE), tmp_path):
        await office.ana.opens_home()
        await office.slack.until(lambda: office.ana.home is not None)
        assert office.ana.home
        await office.ana.clicks_in(office.ana.home, "New agent")
        form = await office.form(office.ana, "New agent")
        await office.ana.submits(form, {"Channel": "C1", "Name": "Clerk", "Goals": "Write"})
        await office.card(1)


@pytest.mark.slow
async def test_a_channel_without_signoff_gets_an_agent_that_waits_to_be_let_in(office: Office, tmp_path: Path) -> None:
    office.general.bot_is_member = False
    async with at_work(office, ScriptedModel(WRITE), tmp_path) as running:
        await typed(office, "new Clerk | | write")
        dm = office.team.direct(office.ana)
        await office.slack.until(lambda: bool(dm.messages))
        assert "/invite @Signoff" in text_of(dm.messages[0])
        office.general.bot_is_member = True
        await typed(office, "resume")
        await office.card(1)
        assert replace(await running.agent(), thread=None).turns == 1
