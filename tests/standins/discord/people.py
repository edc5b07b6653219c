"""Servers, and people in them who type commands, press, choose, fill in, write and attach."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from simcord import interactions
from simcord.backend import serializers
from simcord.backend.models import Channel, Interaction, Message
from simcord.enums import AppCommandType, ChannelType, InteractionType, OptionType

from tests.standins.discord.forms import submitted
from tests.standins.discord.state import Discord
from tests.standins.discord.values import Json, button, text_of

# Discord waits 3 seconds (docs.discord.com/developers/interactions/receiving-and-responding). A busy machine gets more.
PATIENCE = 12.0


@dataclass(frozen=True, slots=True)
class Asked:
    """What a person did that the bot has to answer, and its answer so far."""

    discord: Discord
    interaction: Interaction

    @property
    def form(self) -> Json:
        """The form that came."""
        assert self.interaction.modal is not None, f"No form came, but: {self.text}"
        return self.interaction.modal

    @property
    def choices(self) -> list[str]:
        """What was offered while the person typed."""
        return [str(choice["name"]) for choice in self.interaction.autocomplete_choices or ()]

    @property
    def messages(self) -> list[Message]:
        """The answer and what followed it."""
        there = self.discord.backend.messages[self.interaction.channel_id]
        first = [self.interaction.message_id] if self.interaction.message_id else []
        return [there[number] for number in (*first, *self.interaction.followup_ids) if number in there]

    @property
    def text(self) -> str:
        """All that the answer says."""
        return "\n".join(text_of(message) for message in self.messages)

    async def answered(self, seconds: float = PATIENCE) -> "Asked":
        """Wait for the first answer, as long as Discord does."""
        await self.discord.until(lambda: self.interaction.responded, seconds)
        return self

    async def says(self, text: str) -> "Asked":
        """Wait until the answer says this."""
        try:
            await self.discord.until(lambda: text in self.text)
        except TimeoutError:
            raise AssertionError(f"The answer is: {self.text}") from None
        return self


@dataclass(frozen=True, slots=True)
class Person:
    """A member of a server."""

    discord: Discord
    guild_id: int
    id: int
    name: str

    def types(self, channel: Channel, words: str, **options: Any) -> Asked:
        """Send a slash command: `types(general, "agent new")`; its options by name."""
        return self._types(InteractionType.APPLICATION_COMMAND, channel, words, options)

    def begins(self, channel: Channel, words: str, option: str, typed: str) -> Asked:
        """Type into an option that completes itself."""
        return self._types(InteractionType.APPLICATION_COMMAND_AUTOCOMPLETE, channel, words, {option: typed}, option)

    def presses(self, message: Message, label: str) -> Asked:
        """Press a button of a message."""
        pressed = button(message, label)
        return self._uses(message, {"custom_id": pressed["custom_id"], "component_type": pressed["type"]})

    def submits(self, asked: Asked, **values: str) -> Asked:
        """Fill in a form, field by field by its `custom_id`, and send it; other fields stay as they are."""
        data = submitted(asked.form, values)
        source = asked.interaction.source_message_id
        channel = self.discord.backend.get_channel(asked.interaction.channel_id)
        message = self.discord.backend.get_message(channel.id, source) if source else None
        return self._asks(InteractionType.MODAL_SUBMIT, channel, data, message)

    def writes(self, channel: Channel, text: str, files: Sequence[tuple[str, bytes]] = ()) -> Message:
        """Write a message."""
        backend = self.discord.backend
        kept = backend.store_attachments(channel.id, files)
        return backend.create_message(channel.id, self.id, text, attachments=kept)

    def _types(
        self, kind: InteractionType, channel: Channel, words: str, options: Mapping[str, Any], focused: str = ""
    ) -> Asked:
        name, *path = words.split()
        command = self.discord.backend.find_command(name, self.guild_id)
        assert command, f"No command is called {name}: {self.discord.backend.commands}"
        leaf, nesting = interactions.walk_to_subcommand(command, path)
        partial = bool(focused)
        given = interactions.check_options(words, leaf, dict(options), partial=partial)
        kinds = {option["name"]: option["type"] for option in leaf.get("options") or ()}
        built = [{"name": key, "type": kinds[key], "value": value} for key, value in given.items()]
        resolved: Json = {}
        for option in built:
            if option["type"] == OptionType.ATTACHMENT:
                option["value"] = self._uploads(channel, option["value"], resolved)
            if option["name"] == focused:
                option["focused"] = True
        data = {
            "id": command["id"],
            "name": command["name"],
            "type": AppCommandType.CHAT_INPUT,
            "options": interactions.nest_options(command, nesting, built),
            **({"resolved": resolved} if resolved else {}),
        }
        return self._asks(kind, channel, data)

    def _uploads(self, channel: Channel, file: tuple[str, bytes], resolved: Json) -> str:
        name, content = file
        store = interactions.store_interaction_attachment
        return store(self.discord.backend, channel.id, name, content, resolved)

    def _uses(self, message: Message, data: Json) -> Asked:
        channel = self.discord.backend.get_channel(message.channel_id)
        return self._asks(InteractionType.MESSAGE_COMPONENT, channel, data, message)

    def _asks(self, kind: InteractionType, channel: Channel, data: Json, message: Message | None = None) -> Asked:
        backend = self.discord.backend
        interaction, payload = interactions.base_payload(
            backend, type=kind, channel_id=channel.id, guild_id=self.guild_id, user_id=self.id, data=data
        )
        if message:
            interaction.source_message_id = message.id
            payload["message"] = dict(serializers.message_payload(backend, message))
        backend.emit("INTERACTION_CREATE", payload)
        return Asked(self.discord, interaction)


@dataclass(frozen=True, slots=True)
class Guild:
    """A server: what Discord calls a guild. Whatever people and bots may do there, they may by their roles."""

    discord: Discord
    id: int
    team: int

    def channel(self, name: str, kind: ChannelType = ChannelType.TEXT) -> Channel:
        """A new channel that everybody sees."""
        return self.discord.backend.create_channel(self.id, name, type=kind)

    def person(self, name: str, *, bot: bool = False, is_guest: bool = False) -> Person:
        """Somebody new; a guest has no role."""
        user = self.discord.backend.make_user(name, bot=bot)
        self.discord.backend.add_member(self.id, user.id, roles=[] if is_guest else [self.team])
        return Person(self.discord, self.id, user.id, name)

    def threads(self, channel: Channel) -> list[Channel]:
        """The threads of a channel, the oldest first."""
        there = self.discord.backend.channels.values()
        return sorted((each for each in there if each.parent_id == channel.id), key=lambda each: each.id)

    def messages(self, channel: Channel) -> list[Message]:
        """What everybody sees in a channel or a thread, the oldest first."""
        return [each for each in self.discord.backend.messages[channel.id].values() if not each.is_ephemeral]
