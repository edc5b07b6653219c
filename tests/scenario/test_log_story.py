"""What ran is looked up in the decision log, and what a model said that could not be used is read. On every surface."""

import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Literal, cast, get_args

import pytest

from adapters.terminal.surface import TerminalSurface
from agent_core.model.origin import Origin
from agent_core.testing.language_model import ScriptedModel
from agent_core.testing.stage import Stage
from tests.scenario.chat import ReadingChat, adding, writing
from tests.scenario.core import CoreChat
from tests.scenario.discord_app import Guild
from tests.scenario.discord_app import at_work as at_work_in
from tests.scenario.member import GuildChat
from tests.scenario.page import PageChat
from tests.scenario.served import served
from tests.scenario.slack_app import Office, at_work, text_of
from tests.scenario.team import SlackChat
from tests.scenario.terminal_driver import DeskChat

Surface = Literal["core", "web", "terminal", "slack", "discord"]
SURFACES = get_args(Surface)
REPLIES = (
    writing("notes.md", "one\n"),
    adding("notes.md", "two\n"),
    writing("plan.md", "ask everybody"),
    writing("secret.md", "no"),
    writing("last.md", "end"),
)
LINES = "\n".join(f"line {number} of a rambling answer" for number in range(300))
RAMBLING = f"Sure! \u202eI would rather talk.\n{LINES}\nThat was all."


@asynccontextmanager
async def opened(surface: Surface, replies: Sequence[str], folder: Path) -> AsyncIterator[ReadingChat]:
    """Ana at this surface."""
    model = ScriptedModel(*replies)
    if surface == "core":
        stage = Stage(model=model)
        async with stage.run():
            yield CoreChat(stage)
    elif surface == "terminal":
        async with DeskChat.opened(Stage(model=model, surface=TerminalSurface())) as chat:
            yield chat
    elif surface == "slack":
        async with Office.opened() as office, at_work(office, model, folder) as running:
            yield SlackChat(office, running, office.ana)
    elif surface == "discord":
        async with Guild.opened() as guild, at_work_in(guild, model, folder) as there:
            yield GuildChat(guild, there, guild.person("ana"))
    else:
        async with served(model, folder) as address, PageChat.opened(address, "ana") as page:
            yield page


@pytest.mark.proves("log:surfaces")
@pytest.mark.parametrize("surface", SURFACES)
async def test_a_person_looks_up_what_ran_by_which_right_and_what_came_of_it(surface: str, tmp_path: Path) -> None:
    async with opened(cast("Surface", surface), REPLIES, tmp_path) as ana:
        await ana.new_agent("Clerk", "keeps notes", "Write a report")
        await (await ana.asks("write_to_file")).press("Approve ×3")
        await (await ana.asks("write_to_file")).press("Reject", reason="=Keep it out")
        await ana.asks("write_to_file")
        told = await ana.audit()
        rows = [
            "rejected write_to_file (write)",
            "=Keep it out",
            "ran write_to_file (write) plan.md · +1 −0",
            "lease granted by @",
            "ran append_to_file (write) notes.md",
            "ran write_to_file (write) notes.md · +1 −0",
            "approved ×3",
            "done",
            "created",
        ]
        place = 0
        for row in rows:
            place = told.find(row, place)
            assert place >= 0, (row, told)
        if held := await ana.audit_file():
            kept = [json.loads(line) for line in held.splitlines()]
            found = [(row["turn"], row["what"], row["right"].partition(" ")[0], row["outcome"]) for row in kept]
            assert found == [
                (4, "rejected", "", ""),
                (3, "ran", "lease", "done"),
                (2, "ran", "lease", "done"),
                (1, "ran", "approved", "done"),
                ("", "created", "", ""),
            ]


@pytest.mark.proves("reply:shown")
@pytest.mark.parametrize("surface", SURFACES)
async def test_a_person_reads_what_the_model_said_where_its_replies_could_not_be_used(
    surface: str, tmp_path: Path
) -> None:
    async with opened(cast("Surface", surface), (RAMBLING,) * 3, tmp_path) as ana:
        await ana.new_agent("Clerk", "keeps notes", "Write a report")
        assert await ana.sees("The model's last 3 replies could not be used; the last one:")
        reply = await ana.reads_reply()
        assert "Sure! ⟨U+202E⟩I would rather talk." in " ".join(reply.split())
        assert "line 299 of a rambling answer" in reply
        assert "That was all." in reply


@pytest.mark.slow
@pytest.mark.proves("log:outlives")
async def test_a_guest_in_slack_reads_the_log_of_an_agent_that_was_deleted(tmp_path: Path) -> None:
    async with Office.opened() as office, at_work(office, ScriptedModel(*REPLIES), tmp_path) as running:
        ana, eve = SlackChat(office, running, office.ana), office.team.person("U9", "eve", "guest")
        await ana.new_agent("Clerk", "keeps notes", "Write a report")
        await (await ana.asks("write_to_file")).press("Approve")
        await ana.asks("append_to_file")
        agent = await running.agent()
        await running.stage.agent_settings.set_channel_budget(None, Origin(by=agent.owner, channel=agent.channel))
        await ana.says("!audit")
        assert "/archives/C1/p" in str(await office.told(office.ana, "Decision log of Clerk"))
        await running.stage.service.lifecycle.delete(agent.id, Origin(by=agent.owner, channel=agent.channel))
        await eve.types("/agent", "audit clerk", office.general)
        told = text_of(await office.told(eve, "Decision log of Clerk"))
        assert "turn 1 · ran write_to_file (write) notes.md · +1 −0 · @ana · approved · done" in told
        await eve.types("/agent", "audit", office.general)
        assert "set the channel's budget" in text_of(await office.told(eve, "Decision log of this channel"))
        await eve.types("/agent", "audit Nobody", office.general)
        await office.told(eve, "No agent here is or was called Nobody.")


@pytest.mark.slow
async def test_where_slack_takes_no_files_the_rows_are_told_all_the_same(tmp_path: Path) -> None:
    async with Office.opened() as office, at_work(office, ScriptedModel(*REPLIES), tmp_path) as running:
        ana = SlackChat(office, running, office.ana)
        await ana.new_agent("Clerk", "keeps notes", "Write a report")
        await ana.asks("write_to_file")
        office.slack.fails("files.getUploadURLExternal", times=9, error="restricted_action")
        await ana.audit()
        await office.told(office.ana, "The files of the full log could not be sent to your direct messages:")
