"""What surfaces are handed, made of a stage."""

from adapters.actions import ActionDispatcher
from agent_core.service.drafting import AgentDrafting
from agent_core.testing.stage import Stage


def actions_of(stage: Stage) -> ActionDispatcher:
    """What people press and type."""
    return ActionDispatcher(
        service=stage.service,
        views=stage.views,
        tuning=stage.tuning,
        memories=stage.memories,
        review=stage.review,
    )


def drafting_of(stage: Stage) -> AgentDrafting:
    """What makes a draft of a sentence."""
    return AgentDrafting(stage.metered_model, stage.ledger)
