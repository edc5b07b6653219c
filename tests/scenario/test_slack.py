"""What people do in Slack, and what they get."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from adapters.slack.outbound.surface import FACES
from agent_core.model.agent import Awaiting, Stopped
from agent_core.model.model_calls import Reply
from agent_core.providers.clock import SystemClock
from agent_core.testing.language_model import ScriptedModel, reply_text
from tests.scenario.chat import writing
from tests.scenario.slack_app import GENERAL, Office, Transport, at_work, kind_of, text_of
from tests.scenario.team import SlackChat, new_clerk

WRITE = writing("notes.md", "one\n")
NOTHING = reply_text("do_nothing")
DRAFT = json.dumps({"name": "String Scout", "role": "a researcher", "goals": ["Find strings", "Compare them"]})


@asynccontextmanager
async def asking(office: Office, folder: Path, *replies: str | Reply | Exception) -> AsyncIterator[SlackChat]:
    """An agent that asks for the first of the replies."""
    async with at_work(office, ScriptedModel(*replies), folder) as running:
        chat = await new_clerk(office, running)
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
        await new_clerk(office, running)
        assert running.connection.heard_at
        assert running.connection.heard_at >= begun


@pytest.mark.parametrize(("scopes", "name"), [("chat:write.customize", "Clerk · Signoff"), ("chat:write", None)])
async def test_an_agent_has_a_name_and_a_face_where_the_app_may_choose_them(
    office: Office, tmp_path: Path, scopes: str, name: str | None
) -> None:
    office.slack.scopes = scopes
    async with asking(office, tmp_path, WRITE) as chat:
        await chat.asks("write_to_file")
        for message in office.general.messages:
            assert message.get("username") == name
            assert str(message.get("icons", {}).get("emoji", ":-:")).strip(":") in (*FACES, "-")


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
        await office.ana.clicks_in(form, "Price watch (name the pages)")
        filled = await office.changed(office.ana, form)
        await office.ana.clicks_in(filled, "Weekly report from files (upload them first)")
        again = await office.changed(office.ana, filled)
        assert await running.stage.views.agents(GENERAL) == ()
        await office.ana.submits(again, {"Role": "keeps our notes"})
        await office.card(1)
        agent = await running.agent("Weekly reporter")
        assert (agent.role, agent.goals[0]) == ("keeps our notes", "List the files")


@pytest.mark.slow
@pytest.mark.proves("create:copy")
async def test_a_copy_of_an_agent_is_a_form_until_it_is_sent(office: Office, tmp_path: Path) -> None:
    async with asking(office, tmp_path, WRITE, WRITE) as chat:
        await chat.asks("write_to_file")
        assert await typed(office, "duplicate clerk") == ""
        form = await office.form(office.ana, "New agent")
        assert "Copied from Clerk, without its history, memory and files." in text_of(form)
        assert len(await chat.running.stage.views.agents(GENERAL)) == 1
        await office.ana.submits(form, {"Role": "keeps other notes"})
        await office.slack.until(lambda: "Clerk 2" in str(office.slack.calls_of("chat.postMessage")))
        copy = await chat.running.agent("Clerk 2")
        assert (copy.role, copy.goals) == ("keeps other notes", ("Write a report",))
        assert "No agent here is called Zoe" in await typed(office, "duplicate Zoe")


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
        answer = await office.told(office.ana, "reads it when you resume")
        await office.slack.until(lambda: bool(office.slack.calls_of("reactions.add")))
        assert office.slack.calls_of("reactions.add")[-1].arguments["name"] == "eyes"
        await office.ana.clicks(answer, "Resume")
        await chat.asks("do_nothing")


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


@pytest.mark.slow
@pytest.mark.proves("attention:root")
async def test_the_root_message_says_what_runs_without_asking_as_soon_as_it_was_chosen(
    office: Office, tmp_path: Path
) -> None:
    async with asking(office, tmp_path, WRITE) as chat:
        await chat.asks("write_to_file")
        root = await office.said("● needs approval · turn 1: write_to_file notes.md")
        await office.ana.says(office.general, "!policy free write", thread=root["ts"])
        assert (await office.said("Runs without asking: write"))["ts"] == root["ts"]


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


@pytest.mark.slow
async def test_bots_are_not_heard(office: Office, tmp_path: Path) -> None:
    robot = office.team.person("U8", "robot", "bot")
    async with asking(office, tmp_path, WRITE) as chat:
        card = await chat.asks("write_to_file")
        await robot.says(office.general, "!approve", thread=card.message["thread_ts"])
        await office.slack.settled()
        assert (await chat.running.agent()).status == Awaiting()


# Home


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
