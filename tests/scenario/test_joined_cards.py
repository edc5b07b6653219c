"""Threads that can be followed: finished turns fold, and what one approval lets run is one card."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import pytest

from agent_core.testing.language_model import ScriptedModel
from tests.scenario.chat import writing
from tests.scenario.discord_app import Guild
from tests.scenario.discord_app import at_work as in_guild
from tests.scenario.discord_app import text_of as guild_text
from tests.scenario.member import GuildChat, labels_of, pressed
from tests.scenario.slack_app import Office
from tests.scenario.slack_app import at_work as in_office
from tests.scenario.slack_app import text_of as office_text
from tests.scenario.team import SlackChat
from tests.standins.slack.forms import labels

WORDS = ("alder", "birch", "cedar", "dogwood", "elm", "fir", "ginkgo", "hazel", "ivy", "juniper")
FILES = [writing(f"{word}.md", f"{word} grows\n") for word in WORDS]


class Place(Protocol):
    """A team's chat, in which Signoff can be started again."""

    chat: Any

    async def begins(self, model: ScriptedModel) -> None: ...
    def cards(self) -> Sequence[str]: ...
    async def until(self, happened: Callable[[], bool]) -> None: ...
    async def shows_all(self, card: int, option: str) -> str: ...


@dataclass(slots=True)
class InSlack:
    """Ana in Slack."""

    folder: Path
    office: Office
    chat: Any = None
    process: AsyncExitStack = field(default_factory=AsyncExitStack)

    async def begins(self, model: ScriptedModel) -> None:
        """Start Signoff, or start it again."""
        await self.process.aclose()
        running = await self.process.enter_async_context(in_office(self.office, model, self.folder))
        name, seen = (self.chat.name, self.chat.seen) if self.chat else ("", set())
        self.chat = SlackChat(self.office, running, self.office.ana, name, seen)

    def cards(self) -> Sequence[str]:
        return [office_text(card) for card in self.office.cards()]

    async def until(self, happened: Callable[[], bool]) -> None:
        await self.office.slack.until(happened)

    async def shows_all(self, card: int, option: str) -> str:
        """What a person reads who opens one of a card's turns."""
        message = self.office.cards()[card]
        label = next(each for each in labels(message["blocks"]) if option in each)
        await self.office.ana.clicks(message, label)
        return office_text(await self.office.form(self.office.ana, ""))


@dataclass(slots=True)
class InDiscord:
    """Ana in Discord."""

    folder: Path
    guild: Guild
    chat: Any = None
    process: AsyncExitStack = field(default_factory=AsyncExitStack)

    async def begins(self, model: ScriptedModel) -> None:
        """Start Signoff, or start it again."""
        await self.process.aclose()
        running = await self.process.enter_async_context(in_guild(self.guild, model, self.folder))
        name, seen = (self.chat.name, self.chat.seen) if self.chat else ("", set())
        self.chat = GuildChat(self.guild, running, self.guild.person("ana"), name, seen=seen)

    def _messages(self) -> list[Any]:
        return [each for each in self.guild.said() if "turn" in guild_text(each) or "Show all" in labels_of(each)]

    def cards(self) -> Sequence[str]:
        return [guild_text(each) for each in self._messages()]

    async def until(self, happened: Callable[[], bool]) -> None:
        await self.guild.until(happened)

    async def shows_all(self, card: int, option: str) -> str:
        """What a person reads who opens one of a card's turns."""
        message = self._messages()[card]
        label = next(each for each in labels_of(message) if option in each)
        shown = await pressed(self.guild.person("ana"), message, label)
        assert shown.response
        return (await shown.response.attachments[0].read()).decode()


@asynccontextmanager
async def in_slack(folder: Path) -> AsyncIterator[Place]:
    async with Office.opened() as office, AsyncExitStack() as stack:
        place = InSlack(folder, office)
        stack.push_async_callback(place.process.aclose)
        yield place


@asynccontextmanager
async def in_discord(folder: Path) -> AsyncIterator[Place]:
    async with Guild.opened() as guild, AsyncExitStack() as stack:
        place = InDiscord(folder, guild)
        stack.push_async_callback(place.process.aclose)
        yield place


Entering = Callable[[Path], AbstractAsyncContextManager[Place]]
BOTH = pytest.mark.parametrize("enter", [in_slack, in_discord])


@BOTH
@pytest.mark.proves("attention:folds")
async def test_a_finished_turn_is_one_line_once_the_next_one_is_decided(enter: Entering, tmp_path: Path) -> None:
    async with enter(tmp_path) as place:
        await place.begins(ScriptedModel(*FILES[:3]))
        await place.chat.new_agent("Clerk", "keeps notes", "Write notes")
        await (await place.chat.asks("write_to_file")).press("Approve")
        second = await place.chat.asks("write_to_file")
        assert "turn 1" in place.cards()[0]  # still whole: its result is what the next decision builds on
        await second.press("Reject", reason="not birch")
        await place.until(lambda: "turn 1" not in place.cards()[0])
        assert "✓ 1 write_to_file alder.md · +1 −0" in place.cards()[0]
        assert "approved by @ana" in place.cards()[0]
        assert "grows" not in place.cards()[0]
        assert "alder grows" in await place.shows_all(0, "Show all")
        await (await place.chat.asks("write_to_file")).press("Approve")
        await place.until(lambda: "✗ 2 write_to_file" in place.cards()[1])
        assert "not birch" in place.cards()[1]


@pytest.mark.slow
@BOTH
@pytest.mark.proves("attention:one-card")
async def test_commands_under_one_approval_share_one_card_that_lists_them(enter: Entering, tmp_path: Path) -> None:
    async with enter(tmp_path) as place:
        await place.begins(ScriptedModel(*FILES[:6]))
        await place.chat.new_agent("Clerk", "keeps notes", "Write notes")
        await (await place.chat.asks("write_to_file")).press("Approve ×5")
        await place.chat.asks("write_to_file")  # the sixth asks again, on a card of its own
        assert len(place.cards()) == 2
        joined = place.cards()[0]
        assert [word for word in WORDS[:4] if f"write_to_file {word}.md" in joined] == [*WORDS[:4]]
        assert "turn 5" in joined
        assert "cedar grows" in await place.shows_all(0, "3 write_to_file")


@pytest.mark.slow
@BOTH
@pytest.mark.proves("attention:one-card")
async def test_after_a_restart_the_card_goes_on_with_all_its_lines(enter: Entering, tmp_path: Path) -> None:
    async with enter(tmp_path) as place:
        await place.begins(ScriptedModel(*FILES[:3], waits=True))
        await place.chat.new_agent("Clerk", "keeps notes", "Write notes")
        await (await place.chat.asks("write_to_file")).press("Approve ×10")
        await place.until(lambda: "write_to_file birch.md" in place.cards()[0] and "turn 3" in place.cards()[0])
        await place.begins(ScriptedModel(*FILES[3:5], waits=True))
        await place.until(lambda: "turn 5" in place.cards()[0])
        assert [word for word in WORDS[:4] if f"write_to_file {word}.md" in place.cards()[0]] == [*WORDS[:4]]
        assert len(place.cards()) == 1
