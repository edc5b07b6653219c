"""Messages as Slack gets them, by the names of what they show."""

from collections.abc import Callable
from functools import partial
from typing import Any

from adapters.chat import agent_messages
from adapters.screens.message.card import card_screen, folded_screen
from adapters.screens.message.pieces import Screen
from adapters.slack.outbound.answer_messages import answer_message
from adapters.slack.outbound.controls import upload_button
from adapters.slack.outbound.draw import draw
from adapters.slack.outbound.extra_buttons import draft_buttons
from adapters.slack.outbound.message import SlackMessage
from agent_core.model.agent import Agent
from agent_core.model.draft import AgentDraft
from agent_core.model.files import FileEntry


def _drawn(screen: Callable[..., Screen]) -> Callable[..., SlackMessage]:
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
explanation_message = _drawn(agent_messages.explanation_screen)


def files_message(agent: Agent, entries: list[FileEntry]) -> SlackMessage:
    return draw(agent_messages.files_screen(agent, entries, partial(upload_button, agent.id)))


def offer_message(draft: AgentDraft, sentence: str = "", **more: Any) -> SlackMessage:
    return draw(agent_messages.offer_screen(draft, draft_buttons(draft, sentence), **more))


__all__ = ["answer_message"]
