"""Builds the objects that surfaces need, from a stage."""

from adapters.actions import ActionDispatcher
from adapters.thread_commands import ThreadCommands
from agent_core.testing.stage import Stage


def actions_of(stage: Stage) -> ActionDispatcher:
    """The dispatcher of what people press and type."""
    return ActionDispatcher(
        service=stage.service,
        views=stage.views,
        thread_commands=ThreadCommands(views=stage.views, agent_settings=stage.agent_settings, memories=stage.memories),
        review=stage.review,
    )
