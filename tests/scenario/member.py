"""The Chat of somebody in Discord: `/agent new`, the buttons of cards, their forms, replies in the thread."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta

import discord
from simcord.actors import MemberActor
from simcord.results import InteractionResult

from tests.scenario.guild import Guild, Running, parts_of, text_of, walked

BUTTON, TEXT_INPUT = 2, 4


@dataclass(frozen=True, slots=True)
class GuildCard:
    """A message of the thread with a card."""

    chat: "GuildChat"
    message: discord.Message

    @property
    def text(self) -> str:
        """What can be read."""
        return text_of(self.message)

    async def press(self, label: str, **filled: str) -> None:
        """Press a button or choose, and fill in the form that opens."""
        person = self.chat.person
        answer = await pressed(person, self.message, label)
        assert answer.acknowledged
        if label in ("Edit", "Reject"):
            sent = await submitted(person, answer, filled)
            assert sent.acknowledged
            assert not sent.ephemeral, sent.response


@dataclass(slots=True)
class GuildChat:
    """One person in one channel, with one agent."""

    guild: Guild
    running: Running
    person: MemberActor
    name: str = ""
    seen: set[int] = field(default_factory=set)
    answer: discord.Message | None = None

    async def new_agent(self, name: str, role: str, *goals: str) -> None:
        """Type the command and fill in the form."""
        self.name = name
        shown = await self.person.slash(self.guild.general, "agent new")
        sent = await submitted(self.person, shown, {"name": name, "role": role, "goals": "\n".join(goals)})
        assert sent.response
        assert "is made" in text_of(sent.response.message)

    async def asks(self, command: str) -> GuildCard:
        """Wait until the agent asks to run this command, for the first time since the last card."""
        await self.guild.until(lambda: self._open(command) is not None)
        card = self._open(command)
        assert card
        self.seen.add(card.id)
        return GuildCard(self, card)

    async def says(self, text: str) -> None:
        """Reply in the thread."""
        thread = self.guild.thread(self.name)
        assert thread
        self.guild.clock.leap(timedelta(seconds=1))
        await self.person.send(thread, text)

    async def resume(self) -> None:
        """Press Resume under the notice."""
        notice = await self.guild.message("Resume to let it think anew")
        await pressed(self.person, notice, "Resume")

    async def sees(self, text: str) -> bool:
        """Wait until the thread shows this."""
        await self.guild.message(text, place=self.guild.thread(self.name))
        return True

    async def file(self, path: str) -> str:
        """What a file of the agent holds."""
        agent = await self.running.agent(self.name)
        return (await self.running.stage.views.file(agent.channel, agent.id, path)).decode()

    async def audit(self) -> str:
        """Type the command, and read what only this person sees."""
        answered = await self.person.slash(self.guild.general, "agent audit", name=self.name)
        assert answered.ephemeral
        assert answered.response
        self.answer = answered.response.message
        return text_of(self.answer)

    async def audit_file(self) -> str:
        """The first file of that answer."""
        assert self.answer
        return (await self.answer.attachments[0].read()).decode()

    async def reads_reply(self) -> str:
        """Press the button on the notice."""
        answered = await pressed(self.person, await self.guild.message("replies could not be used"), "Show reply")
        assert answered.ephemeral
        assert answered.response
        message = answered.response.message
        held = [(await file.read()).decode() for file in message.attachments]
        return "\n".join((text_of(message), *held))

    def _open(self, command: str) -> discord.Message | None:
        for card in self.guild.said(self.guild.thread(self.name)):
            if f"· {command}" in text_of(card) and "Approve" in labels_of(card) and card.id not in self.seen:
                return card
        return None


async def pressed(person: MemberActor, message: discord.Message, label: str) -> InteractionResult:
    """Press a button, or choose one of a select's options by its label."""
    for part in parts_of(message):
        for option in part.get("options") or ():
            if option["label"] == label:
                return await person.select(message, [option["value"]], custom_id=part["custom_id"])
    return await person.click(message, label=label)


async def submitted(person: MemberActor, shown: InteractionResult, filled: Mapping[str, str]) -> InteractionResult:
    """Send a form with some of its fields changed; the others hold what they were opened with."""
    assert shown.modal, shown
    entries = {
        part["label"].casefold(): part["component"]
        for part in walked(shown.modal)
        if (part.get("component") or {}).get("type") == TEXT_INPUT
    }
    assert filled.keys() <= entries.keys(), (filled, entries)
    return await person.submit_modal(
        shown,
        {entry["custom_id"]: filled.get(label, entry.get("value") or "") for label, entry in entries.items()},
    )


def fields_of(shown: InteractionResult) -> dict[str, str]:
    """What stands in the fields of a form, by their labels."""
    labelled = [part for part in walked(shown.modal or {}) if "component" in part]
    return {part["label"].casefold(): part["component"].get("value") or "" for part in labelled}


def labels_of(message: discord.Message) -> list[str]:
    """The labels of the buttons and choices that can be used."""
    choices = [option["label"] for part in parts_of(message) for option in part.get("options") or ()]
    return [part["label"] for part in parts_of(message) if part["type"] == BUTTON and part.get("label")] + choices
