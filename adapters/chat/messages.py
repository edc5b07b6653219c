"""Handles people's messages in agents' threads: each once and in order; slow commands run in the background."""

import asyncio
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Literal, Protocol, TypeAlias
from weakref import WeakValueDictionary

from adapters.chat.services import ChatServices
from adapters.chat.texts import FORWARDS
from adapters.screens.buttons import Button
from adapters.screens.ui_text import when_read
from adapters.typed.actions import takes_long
from adapters.typed.answers import Answer
from adapters.typed.typed_text import TypedText
from agent_core.errors import CommandError, PersonError
from agent_core.model.agent import Agent
from agent_core.model.origin import Origin
from agent_core.model.turn import SeenProposal
from agent_core.text.reply_meaning import ReplyMeaning

SEEN_NOTHING = SeenProposal(hashes=())  # what is said with it decides on no proposal
Sign: TypeAlias = Literal["kept", "decided", "asked"]


class ThreadMessage(Protocol):
    """A person's message in an agent's thread, and the ways to answer it."""

    @property
    def line(self) -> TypedText:
        """The message's text with mentions as tokens, without the mention of the bot."""

    @property
    def origin(self) -> Origin:
        """The author and the channel; `delivery` is the platform's id of the message."""

    @property
    def written_at(self) -> datetime:
        """The time of the message, by the platform's clock."""

    async def react(self, sign: Sign) -> None:
        """Add a reaction to the message."""

    async def tell(self, said: str) -> None:
        """Answer with a sentence."""

    async def give(self, answer: Answer) -> None:
        """Answer with a text and its files."""

    async def offer(self, said: str, buttons: Sequence[Button]) -> None:
        """Answer with a sentence and buttons, to the author alone where the platform can."""


@dataclass(frozen=True, slots=True)
class ThreadListener:
    """Carries out messages: those received live, and missed ones that the catch-up read. `locks`: one per agent."""

    context: ChatServices
    locks: WeakValueDictionary[str, asyncio.Lock] = field(default_factory=WeakValueDictionary, kw_only=True)

    async def take_text(self, agent: Agent, message: ThreadMessage) -> bool:
        """Carry out the text; return False if it was refused. A slow command (`takes_long`) runs in the background."""
        if takes_long(message.line):
            self.context.soon(self._ask(agent, message))
            return True
        async with self.locks.setdefault(agent.id, asyncio.Lock()):
            return not message.line.parts or await self._say(agent, message)

    async def take_shared(self, agent: Agent, message: ThreadMessage, shared: str) -> None:
        """Keep what a message carries beside its words as a note, which is no command and decides nothing."""
        if not shared:
            return
        origin = replace(message.origin, delivery=f"{message.origin.delivery}/shared")
        try:
            meaning: ReplyMeaning = "forwarded" if FORWARDS in shared else "talk"
            kept = await self.context.service.decisions.reply(agent.id, shared, origin, SEEN_NOTHING, meaning)
        except PersonError as error:
            await message.tell(str(error))
            return
        if not message.line.parts:
            await message.react("kept")
            if kept.agent.is_at_rest and await self._is_first(message, "/answer"):
                await message.offer(
                    f"Saved. {kept.agent.name} reads it {when_read(kept.agent)}.", (Button("resume", agent.id),)
                )

    async def take_file(
        self,
        agent: Agent,
        message: ThreadMessage,
        file_id: str,
        fetched: Awaitable[tuple[str, bytes]],
        *,
        is_forwarded: bool = False,
    ) -> None:
        """Put a file into the workspace. If the process ends before that, the catch-up fetches the file again."""
        put = replace(message.origin, delivery=f"{message.origin.delivery}/{file_id}")
        try:
            name, data = await fetched
            path = await self.context.uploads.receive(agent.id, name, data, put, is_forwarded=is_forwarded)
        except (PersonError, CommandError) as error:
            await message.tell(str(error))
            return
        if path:
            await message.react("kept")

    async def _say(self, agent: Agent, message: ThreadMessage) -> bool:
        """Carry out the text and show the outcome as a reaction or an answer.

        A refused message also counts as handled: if the catch-up reads it again, it must not decide a newer proposal.
        """
        seen = SeenProposal(written_at=message.written_at)
        try:
            answer = await self.context.actions.say(agent.id, message.line, message.origin, seen)
        except PersonError as error:
            if await self._is_first(message):
                await message.tell(str(error))
            return False
        if answer.is_wanted:
            if await self._is_first(message, "/answer"):
                await message.give(answer)
            return True
        await message.react("asked" if answer.is_asked else "kept" if answer.kept else "decided")
        if answer.buttons and await self._is_first(message, "/answer"):
            await message.offer(answer.text, answer.buttons)
        return True

    async def _ask(self, agent: Agent, message: ThreadMessage) -> None:
        """Run a slow command, once per message; a reaction shows immediately that the message was received."""
        if not await self._is_first(message):
            return
        await message.react("kept")
        seen, once = SeenProposal(written_at=message.written_at), replace(message.origin, delivery=None)
        try:
            await message.give(await self.context.actions.say(agent.id, message.line, once, seen))
        except PersonError as error:
            await message.tell(str(error))

    async def _is_first(self, message: ThreadMessage, part: str = "") -> bool:
        return await self.context.inbound_log.first_time(f"{message.origin.delivery}{part}")
