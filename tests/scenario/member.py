"""The Chat of somebody in Discord: `/agent new`, the buttons of cards, their forms, replies in the thread."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from types import MappingProxyType
from typing import Any, TypeAlias

import discord
from simcord.actors import MemberActor
from simcord.backend import serializers
from simcord.builders import ChannelHandle, UserHandle
from simcord.interactions import base_payload
from simcord.results import InteractionResult

from tests.scenario.chat import times_in
from tests.scenario.discord_app import Guild, Running, parts_of, text_of, walked

BUTTON, MENU, TEXT_INPUT = 2, 3, 4
Json: TypeAlias = dict[str, Any]
Presser: TypeAlias = MemberActor | UserHandle  # in the server, or in a direct message


@dataclass(frozen=True, slots=True)
class GuildForm:
    """A form that is open before somebody."""

    chat: "GuildChat"
    shown: InteractionResult

    async def sends(self, **filled: str) -> None:
        """Fill it in and send it."""
        menus = menus_of(self.shown)
        chosen = {
            menus[label]["custom_id"]: [_option_value(menus[label], filled[label])]
            for label in menus.keys() & filled.keys()
        }
        texts = {label: value for label, value in filled.items() if label not in menus}
        sent = await submitted(self.chat.person, self.shown, texts, chosen)
        assert sent.acknowledged
        self.chat.keep(sent)


@dataclass(frozen=True, slots=True)
class GuildLine:
    """A message that Discord has not told of."""

    chat: "GuildChat"

    async def arrives(self) -> None:
        """Signoff reads up on what it missed."""
        connection = self.chat.running.connection
        silence, connection.silence = connection.silence, timedelta(0)
        await connection.record_read_time()
        connection.silence = silence


@dataclass(frozen=True, slots=True)
class GuildCard:
    """A message of the thread with a card."""

    chat: "GuildChat"
    message: discord.Message
    command: str = ""

    @property
    def text(self) -> str:
        """What can be read."""
        return text_of(self.message)

    async def press(self, label: str, **filled: str) -> None:
        """Press a button or choose, and fill in the form that opens."""
        if label in ("Edit", "Reject", "Answer"):
            await (await self.opens(label)).sends(**filled)
        elif label.startswith("Approve ×") and label not in labels_of(self.message):
            await (await self.opens("Another number…")).sends(**{"how many commands": str(times_in(label))})
        else:
            self.chat.keep(await self._pressed(label))

    async def opens(self, label: str) -> GuildForm:
        """Press a button and leave its form open."""
        shown = await self._pressed(label)
        assert shown.modal, shown.response
        return GuildForm(self.chat, shown)

    async def now(self) -> str:
        """What the message says now."""
        return text_of(self._there)

    async def whole(self) -> str:
        """The file that Show all gives, where the card has it; else the card."""
        if "Show all" not in labels_of(self._there):
            return text_of(self._there)
        shown = await pressed(self.chat.person, self._there, "Show all")
        assert shown.response
        return (await shown.response.attachments[0].read()).decode()

    async def thoughts(self) -> str:
        """What the button answers with."""
        shown = await pressed(self.chat.person, self._there, "Thoughts")
        assert shown.response
        return str(shown.response.components)

    @property
    def _there(self) -> discord.Message:
        thread = self.chat.guild.thread(self.chat.name)
        return next(each for each in self.chat.guild.said(thread) if each.id == self.message.id)

    async def _pressed(self, label: str) -> InteractionResult:
        """Press it as it was on the card, also where the card has changed since."""
        if text_of(self._there) == self.text and custom_ids(self._there) == custom_ids(self.message):
            answer = await pressed(self.chat.person, self.message, label)
        else:
            answer = await pressed_late(self.chat.guild, self.chat.person, self.message, label)
        assert answer.acknowledged
        return answer


@dataclass(slots=True)
class GuildChat:
    """One person in one channel, with one agent."""

    guild: Guild
    running: Running
    person: MemberActor
    name: str = ""
    answer: discord.Message | None = None
    seen: set[tuple[str, ...]] = field(default_factory=set)
    answers: list[str] = field(default_factory=list)
    may_write: bool = True

    async def new_agent(self, name: str, role: str, *goals: str, free: Sequence[str] = (), dry: bool = False) -> None:
        """Type the command and fill in the form."""
        self.name = name
        shown = await self.person.slash(self.guild.general, "agent new")
        filled = {"name": name, "role": role, "goals": "\n".join(goals)}
        more = [*(f"free.{each}" for each in free), *(["dry.run"] if dry else [])]
        chosen = {"more": more} if more else {}
        sent = await submitted(self.person, shown, filled, chosen)
        assert sent.response
        assert "was created" in text_of(sent.response.message)

    async def asks_for_a_form(self, behind: str) -> str:
        """What `/agent new` is answered with; a form that opened for it is a fault."""
        shown = await self.person.slash(self.guild.general, "agent new", **({"text": behind} if behind else {}))
        assert shown.modal is None
        assert shown.ephemeral
        assert shown.response
        return text_of(shown.response.message)

    async def asks(self, *commands: str) -> GuildCard:
        """Wait until the agent asks to run one of these commands, for the first time since the last card."""
        await self.guild.until(lambda: self._open(commands) is not None)
        card = self._open(commands)
        assert card
        self.seen.add(custom_ids(card.message))
        return card

    async def is_asked(self) -> GuildCard:
        """Wait for the card."""

        def found() -> discord.Message | None:
            return next((each for each in self.guild.said(self._thread) if "Answer" in labels_of(each)), None)

        await self.guild.until(lambda: found() is not None)
        message = found()
        assert message
        return GuildCard(self, message)

    async def root(self) -> str:
        """The message that the thread hangs under."""
        thread = self.guild.thread(self.name)
        assert thread
        return text_of(next(each for each in self.guild.said(self.guild.general) if each.id == thread.id))

    async def says(self, text: str) -> None:
        """Reply in the thread, or by the form where Discord lets this person not write there."""
        if not self.may_write:
            await self._fills_in(text)
            return
        thread = self.guild.thread(self.name)
        assert thread
        self.guild.clock.leap(timedelta(seconds=1))
        await self.person.send(thread, text)

    async def writes(self, text: str) -> GuildLine:
        """Reply in the thread while Discord tells Signoff of nothing."""
        client = self.running.side.client
        connection, client.connection = client.connection, None
        await self.says(text)
        client.connection = connection
        return GuildLine(self)

    async def stops(self) -> None:
        """Write it: the card of a running command has the button too."""
        await self.says("!stop")

    async def resume(self) -> None:
        """Press Resume under the notice."""
        notice = await self.guild.message("Resume to continue")
        await pressed(self.person, notice, "Resume")

    async def sees_status(self, text: str) -> bool:
        """Wait until the root message says this."""
        await self.guild.message(text, place=self.guild.general)
        return True

    async def sees(self, text: str) -> bool:
        """Wait until the thread shows this."""
        await self.guild.message(text, place=self.guild.thread(self.name))
        return True

    async def told(self, text: str, times: int = 1) -> bool:
        """Wait until this person was answered with this, alone or under what they wrote."""

        def heard() -> int:
            said = self.guild.said(self._thread)
            own = {each.id for each in said if each.author.id == self.person.id}
            under = [text_of(each) for each in said if each.reference and each.reference.message_id in own]
            return sum(text in each for each in (*self.answers, *under))

        await self.guild.until(lambda: heard() >= times)
        return True

    def keep(self, answer: InteractionResult) -> None:
        """Remember what was answered."""
        shown = [*([answer.response] if answer.response else []), *answer.followups]
        self.answers += [text_of(each.message) for each in shown if each.ephemeral]

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
        answered = await pressed(self.person, await self.guild.message("in the wrong format"), "Show reply")
        assert answered.ephemeral
        assert answered.response
        message = answered.response.message
        held = [(await file.read()).decode() for file in message.attachments]
        return "\n".join((text_of(message), *held))

    @property
    def _thread(self) -> ChannelHandle | None:
        return self.guild.thread(self.name)

    async def _fills_in(self, text: str) -> None:
        card = next(each for each in reversed(self.guild.said(self._thread)) if "Reply" in labels_of(each))
        await GuildForm(self, await pressed(self.person, card, "Reply")).sends(reply=text)

    def _open(self, commands: Sequence[str]) -> GuildCard | None:
        for message in self.guild.said(self._thread):
            command = next((each for each in commands if f"· {each}" in text_of(message)), "")
            if command and "Approve" in labels_of(message) and custom_ids(message) not in self.seen:
                return GuildCard(self, message, command)
        return None


async def pressed_late(guild: Guild, person: Presser, message: discord.Message, label: str) -> InteractionResult:
    """Press a button of a message as it was before it changed."""
    carried = next(part for part in parts_of(message) if part.get("label") == label or label in labels_in(part))
    chosen = [option["value"] for option in carried.get("options") or () if option["label"] == label]
    data = {"custom_id": carried["custom_id"], "component_type": carried["type"]}
    record = begin_press(guild, person, message, data | ({"values": chosen} if chosen else {}))
    await guild.env.settle()
    return InteractionResult(guild.env, record)


def begin_press(guild: Guild, person: Presser, message: discord.Message, data: Json, *, times: int = 1) -> Any:
    """A press that does not wait for what comes of it."""
    backend = guild.env.backend
    record, payload = base_payload(
        backend,
        type=3,
        channel_id=message.channel.id,
        guild_id=guild.server.id if message.guild else None,
        user_id=person.id,
        data=data,
    )
    stored = backend.get_message(message.channel.id, message.id)
    payload["message"] = dict(serializers.message_payload(backend, stored))
    for _ in range(times):
        backend.emit("INTERACTION_CREATE", payload)
    return record


def custom_ids(message: discord.Message) -> tuple[str, ...]:
    """What the controls of a message carry."""
    return tuple(part["custom_id"] for part in parts_of(message) if part.get("custom_id"))


def labels_in(part: Mapping[str, Any]) -> list[str]:
    """The labels of a choice."""
    return [option["label"] for option in part.get("options") or ()]


async def pressed(person: Presser, message: discord.Message, label: str) -> InteractionResult:
    """Press a button, or choose one of a select's options by its label."""
    for part in parts_of(message):
        for option in part.get("options") or ():
            if option["label"] == label:
                return await person.select(message, [option["value"]], custom_id=part["custom_id"])
    return await person.click(message, label=label)


async def submitted(
    person: Presser,
    shown: InteractionResult,
    filled: Mapping[str, str],
    chosen: Mapping[str, Sequence[str]] = MappingProxyType({}),
) -> InteractionResult:
    """Send a form with some of its fields changed; the others hold what they were opened with.

    `chosen` are options of its choices, by `custom_id`.
    """
    assert shown.modal, shown
    entries = {
        part["label"].casefold(): part["component"]
        for part in walked(shown.modal)
        if (part.get("component") or {}).get("type") == TEXT_INPUT
    }
    assert filled.keys() <= entries.keys(), (filled, entries)
    return await person.submit_modal(
        shown,
        {entry["custom_id"]: filled.get(label, entry.get("value") or "") for label, entry in entries.items()}
        | {name: list(values) for name, values in chosen.items()},
    )


def menus_of(shown: InteractionResult) -> dict[str, dict[str, Any]]:
    """The menus of a form, by their labels."""
    parts = [part for part in walked(shown.modal or {}) if (part.get("component") or {}).get("type") == MENU]
    return {part["label"].casefold(): part["component"] for part in parts}


def _option_value(menu: Mapping[str, Any], label: str) -> str:
    return next(str(each["value"]) for each in menu["options"] if each["label"] == label)


def fields_of(shown: InteractionResult) -> dict[str, str]:
    """What stands in the fields of a form, by their labels."""
    labelled = [part for part in walked(shown.modal or {}) if "component" in part]
    return {part["label"].casefold(): part["component"].get("value") or "" for part in labelled}


def labels_of(message: discord.Message) -> list[str]:
    """The labels of the buttons and choices that can be used."""
    choices = [option["label"] for part in parts_of(message) for option in part.get("options") or ()]
    return [part["label"] for part in parts_of(message) if part["type"] == BUTTON and part.get("label")] + choices
