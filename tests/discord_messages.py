"""Messages as Discord gets them, by the names of what they show."""

from collections.abc import Callable
from functools import partial
from typing import Any

from adapters.chat import agent_messages
from adapters.discord.outbound.answer_messages import (
    answer_message,
    file_message,
    reply_message,
    text_message,
    thoughts_message,
    whole_message,
)
from adapters.discord.outbound.draw import draw
from adapters.discord.outbound.extra_buttons import draft_buttons, upload_button
from adapters.discord.outbound.message import DiscordMessage
from adapters.screens.message.card import card_screen, folded_screen
from adapters.screens.message.pieces import Screen
from adapters.typed.answers import Attachment
from agent_core.model.agent import Agent
from agent_core.model.draft import AgentDraft
from agent_core.model.files import FileEntry
from agent_core.model.turn import Turn


def _drawn(screen: Callable[..., Screen]) -> Callable[..., DiscordMessage]:
    return lambda *given, **more: draw(screen(*given, **more))


turn_message = _drawn(card_screen)
folded_message = _drawn(folded_screen)
root_message = _drawn(agent_messages.root_screen)
notice_message = _drawn(agent_messages.notice_screen)
note_message = _drawn(agent_messages.note_screen)
choice_message = _drawn(agent_messages.choice_screen)
agents_message = _drawn(agent_messages.agents_screen)
agent_message = _drawn(agent_messages.agent_screen)
delete_message = _drawn(agent_messages.delete_screen)
help_message = _drawn(agent_messages.help_screen)
refused_message = _drawn(agent_messages.refused_screen)


def whole_file(agent: Agent, turn: Turn) -> Attachment:
    return whole_message(agent, turn).files[0]


def files_message(agent: Agent, entries: list[FileEntry]) -> DiscordMessage:
    return draw(agent_messages.files_screen(agent, entries, partial(upload_button, agent.id)))


def offer_message(draft: AgentDraft, key: str, **more: Any) -> DiscordMessage:
    return draw(agent_messages.offer_screen(draft, draft_buttons(key), **more))


__all__ = ["answer_message", "file_message", "reply_message", "text_message", "thoughts_message", "whole_message"]
