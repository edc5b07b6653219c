"""What surfaces are handed, made of a stage."""

from adapters.actions import ActionDispatcher
from agent_core.testing.stage import Stage


def actions_of(stage: Stage) -> ActionDispatcher:
    """What people press and type."""
    return ActionDispatcher(
        service=stage.service,
        views=stage.views,
        agent_settings=stage.agent_settings,
        memories=stage.memories,
        review=stage.review,
    )
