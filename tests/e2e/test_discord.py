"""The whole program in a process of its own, beside a Discord: started, cut off, held up, restarted, refused."""

import re
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from aiohttp import ClientSession
from discord import Permissions
from simcord.backend.models import Channel, Message
from simcord.enums import ComponentType

from tests.e2e.process import ROOT, Program, free_port, program, running
from tests.scenario.chat import writing
from tests.standins.discord.gateway import Op
from tests.standins.discord.people import Guild, Person
from tests.standins.discord.rest import SEND
from tests.standins.discord.server import DiscordStandin
from tests.standins.discord.values import Json, components, labels, text_of
from tests.standins.openai import Says, openai_standin

TOKEN = "d1sc0rd-s3cret"
GOAL = 'write "Stand-up at 9:30" to notes.md'
THREAD = "POST /channels/{id}/messages/{id}/threads"
EDIT = "PATCH /channels/{id}/messages/{id}"
LOGGED = re.compile(r"\d{4}-\d\d-\d\dT")
GUIDE = (ROOT / "docs" / "how-to" / "connect-discord.md").read_text(encoding="utf-8")
ROWS = GUIDE.partition("| permission | for |")[2].partition("\n\n")[0]
LISTED = [name.lower().replace(" ", "_") for name in re.findall(r"^\| ([A-Z][A-Za-z ]+) \|", ROWS, re.MULTILINE)]
NEEDED = Permissions(**{name.replace("view_channels", "view_channel"): True for name in LISTED})


@dataclass(frozen=True, slots=True)
class Place:
    """A server with a channel and a person; the bot may do in it what the guide's link asks for, and no more."""

    discord: DiscordStandin
    guild: Guild
    general: Channel
    ana: Person

    @property
    def settings(self) -> dict[str, str]:
        """What the operator sets."""
        return {
            "DISCORD_TOKEN": TOKEN,
            "DISCORD_API_URL": self.discord.api_url,
            "DISCORD_GATEWAY_URL": self.discord.gateway_url,
        }

    @property
    def messages(self) -> list[Message]:
        """All that stands in the agents' threads, the oldest first."""
        return [each for thread in self.guild.threads(self.general) for each in self.guild.messages(thread)]

    def cards(self, turn: int) -> list[Message]:
        """The cards of a turn, whole or folded."""
        return [each for each in self.messages if re.search(rf"turn {turn} ·|[✓✗–] {turn} ", text_of(each))]

    async def card(self, turn: int, *texts: str) -> Message:
        """The card of a turn, once it says all of this or has buttons of these names."""

        def stands() -> bool:
            there = self.cards(turn)
            return bool(there) and all(text in labels(there[0]) or text in text_of(there[0]) for text in texts)

        await self._until(stands)
        return self.cards(turn)[0]

    async def said(self, text: str) -> None:
        """Wait until something in a thread says this."""
        await self._until(lambda: any(text in text_of(message) for message in self.messages))

    async def _until(self, claim: Callable[[], bool]) -> None:
        try:
            await self.discord.until(claim)
        except TimeoutError:
            raise AssertionError("\n\n".join(map(text_of, self.messages))) from None

    async def begun(self, goal: str = GOAL) -> None:
        """An agent is made in one line."""
        await self.discord.gateway.connected()
        made = self.ana.types(self.general, "agent new", text=f"Clerk | keeps notes | {goal}")
        await (await made.answered()).says("Clerk was created")

    async def approved_to_the_end(self) -> None:
        """Approve what is asked, twice."""
        for turn in (1, 2):
            await self.ana.presses(await self.card(turn, "Approve"), "Approve").answered()
        await self.said("Clerk is done")


@pytest.fixture
async def place() -> AsyncIterator[Place]:
    async with DiscordStandin.started(token=TOKEN) as discord:
        guild = discord.guild("Acme", NEEDED)
        yield Place(discord, guild, guild.channel("general"), guild.person("ana"))
        assert discord.warnings == []


def nothing_is_told(signoff: Program, folder: Path) -> None:
    """The token stands in nothing that the program wrote."""
    kept = b"".join(path.read_bytes() for path in (folder / ".signoff").rglob("*") if path.is_file())
    assert kept
    assert TOKEN.encode() not in kept
    assert TOKEN not in signoff.output


def test_the_link_of_the_guide_asks_for_the_permissions_that_it_lists() -> None:
    assert re.findall(r"permissions=(\d+)", GUIDE) == [str(NEEDED.value)]


@pytest.mark.slow
@pytest.mark.proves("discord:goal")
async def test_an_agent_is_made_and_approved_to_its_end(place: Place, tmp_path: Path) -> None:
    async with program(tmp_path, **place.settings) as signoff:
        await place.begun()
        await place.approved_to_the_end()
        assert [len(place.cards(turn)) for turn in (1, 2)] == [1, 1]
        await signoff.stop()
        await signoff.listen()
    nothing_is_told(signoff, tmp_path)


@pytest.mark.slow
@pytest.mark.proves("discord:resume")
async def test_a_press_while_the_line_is_broken_counts_once_it_is_resumed(place: Place, tmp_path: Path) -> None:
    async with program(tmp_path, **place.settings) as signoff:
        await place.begun()
        card = await place.card(1, "Approve")
        place.discord.gateway.cut()
        pressed = place.ana.presses(card, "Approve")
        await pressed.answered()
        await place.card(1, "approved by")
        assert (place.discord.gateway.count(Op.IDENTIFY), place.discord.gateway.count(Op.RESUME)) == (1, 1)
        await place.ana.presses(await place.card(2, "Approve"), "Approve").answered()
        await place.said("Clerk is done")
        await signoff.stop()
        await signoff.listen()
    assert signoff.output.count(" connected surface=discord") == 2
    assert " disconnected surface=discord" in signoff.output


@pytest.mark.slow
@pytest.mark.proves("discord:busy")
async def test_cards_wait_as_long_as_discord_asks_and_stand_once(place: Place, tmp_path: Path) -> None:
    async with program(tmp_path, **place.settings):
        await place.begun()
        await place.card(1, "Approve")
        before = {route: len(place.discord.calls_of(route)) for route in (SEND, EDIT)}
        for route in before:
            place.discord.fails(route, retry_after="0.4")
        await place.approved_to_the_end()
        assert [len(place.cards(turn)) for turn in (1, 2)] == [1, 1]
        for route, count in before.items():
            refused, *later = place.discord.calls_of(route)[count:]
            again = next(call for call in later if call.path == refused.path)
            assert again.at - refused.at >= 0.4


@pytest.mark.slow
@pytest.mark.proves("discord:restart")
async def test_buttons_and_forms_from_before_a_restart_work_after_it(place: Place, tmp_path: Path) -> None:
    async with program(tmp_path, **place.settings) as signoff:
        await place.begun()
        card = await place.card(1, "Approve")
        form = await place.ana.presses(card, "Reject").answered()
        await signoff.stop()
    async with program(tmp_path, **place.settings):
        await place.discord.gateway.connected(identified=2)
        await place.ana.submits(form, **dict.fromkeys(fields(form.form), "Not now.")).answered()
        await place.card(1, "Not now.")
        await place.ana.presses(await place.card(2, "Stop"), "Stop").answered()
        await place.said("Resume")


@pytest.mark.proves("discord:killed")
@pytest.mark.parametrize(
    "after_effect", [pytest.param(True, id="sent"), pytest.param(False, id="on its way", marks=pytest.mark.slow)]
)
@pytest.mark.slow
async def test_killed_while_a_card_is_sent_the_next_start_shows_exactly_one(
    place: Place, tmp_path: Path, after_effect: bool
) -> None:
    async with program(tmp_path, **place.settings) as signoff:
        with place.discord.holding(THREAD) as threads:
            await place.begun()
            await threads.arrived()
            with place.discord.holding(SEND, after_effect=after_effect) as cards:
                threads.release()
                await cards.arrived()
                await signoff.kill()
                cards.drop()
    place.discord.nonces.clear()  # as some minutes later
    async with program(tmp_path, **place.settings):
        await place.discord.gateway.connected(identified=2)
        await place.approved_to_the_end()
        assert [len(place.cards(turn)) for turn in (1, 2)] == [1, 1]
        assert len(place.guild.threads(place.general)) == 1


@pytest.mark.proves("discord:whole")
@pytest.mark.slow
async def test_what_is_long_is_shown_whole_and_files_go_both_ways(place: Place, tmp_path: Path) -> None:
    long = " ".join(f"line{number}" for number in range(1000))
    async with openai_standin() as endpoint:
        endpoint.answers(Says(writing("notes.md", long)))
        model = {"OPENAI_BASE_URL": endpoint.base_url, "OPENAI_API_KEY": endpoint.key}
        async with program(tmp_path, **place.settings, **model):
            await place.begun()
            shown = await place.ana.presses(await place.card(1, "Show all"), "Show all").answered()
            await shown.says("turn-1.txt")
            assert long in place.discord.content(shown.messages[0].attachments[0])
            place.ana.writes(place.guild.threads(place.general)[0], "", [("tea.txt", b"green")])
            await place.discord.until(lambda: any(each.reactions for each in place.messages))
            listed = await place.ana.types(place.general, "agent files").answered()
            await listed.says("tea.txt")
            sent = await place.ana.presses(listed.messages[0], "Upload").answered()
            await sent.says("tea.txt is in the thread")


@pytest.mark.proves("discord:no-content")
@pytest.mark.slow
async def test_where_replies_cannot_be_read_the_button_takes_them(place: Place, tmp_path: Path) -> None:
    place.discord.grants_content = False
    async with program(tmp_path, **place.settings) as signoff:
        await place.begun()
        asked = await place.ana.presses(await place.card(1, "Reply"), "Reply").answered()
        await place.ana.submits(asked, **dict.fromkeys(fields(asked.form), "Use tea instead.")).answered()
        await place.card(1, "Use tea instead.")
        await signoff.stop()
        await signoff.listen()
    assert "the Message Content intent is off" in signoff.output


@pytest.mark.slow
async def test_a_token_that_discord_refuses_is_told_in_one_line(place: Place, tmp_path: Path) -> None:
    given = {**place.settings, "DISCORD_TOKEN": "wr0ng", "PORT": str(free_port())}
    async with running(tmp_path, "bot", "run", **given) as refused:
        assert await refused.ended() == 2
        await refused.listen()
        line, *more = [line for line in refused.lines if not LOGGED.match(line)]
        assert more == []
        assert line.startswith("Signoff did not start. DISCORD_TOKEN: Discord refuses this token")
        assert "wr0ng" not in refused.output


@pytest.mark.slow
async def test_a_token_that_is_reset_while_it_runs_leaves_the_pages_alone(place: Place, tmp_path: Path) -> None:
    async with program(tmp_path, **place.settings) as signoff:
        await place.begun()
        await place.card(1, "Approve")
        place.discord.token = "another"
        place.discord.gateway.forgets()
        place.discord.gateway.cut()
        await signoff.says("discord refuses the connection")
        async with ClientSession() as browser, browser.get(f"{signoff.address}/healthz") as answer:
            assert (answer.status, set(await answer.json())) == (200, {"status", "heard", "model"})


@pytest.mark.proves("discord:heartbeat")
@pytest.mark.slow
@pytest.mark.timeout(180)
async def test_a_gateway_that_acknowledges_nothing_is_left_and_resumed(place: Place, tmp_path: Path) -> None:
    async with program(tmp_path, **place.settings):
        await place.begun()
        await place.card(1, "Approve")
        place.discord.gateway.acknowledges = False
        await place.discord.until(lambda: place.discord.gateway.count(Op.RESUME), seconds=150)
        place.discord.gateway.acknowledges = True
        await place.approved_to_the_end()


@pytest.mark.proves("discord:missed")
@pytest.mark.slow
async def test_replies_that_nobody_told_the_program_of_are_read_once(place: Place, tmp_path: Path) -> None:
    async with program(tmp_path, **place.settings):
        await place.begun()
        await place.card(1, "Approve")
        place.discord.gateway.forgets()
        place.discord.gateway.cut()
        place.ana.writes(place.guild.threads(place.general)[0], "Use tea instead.")
        await place.discord.gateway.connected(identified=2)
        await place.card(1, "Use tea instead.")
        await place.card(2, "Approve")


def fields(form: Json) -> list[str]:
    """The ids of a form's inputs of text."""
    return [each["custom_id"] for each in components(form["components"]) if each["type"] == ComponentType.TEXT_INPUT]
