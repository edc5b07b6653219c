"""What surfaces are handed, made of a stage."""

from adapters.actions import Intents
from agent_core.service.drafting import AgentDrafting
from agent_core.testing.stage import Stage


def intents_of(stage: Stage) -> Intents:
    """What people press and type."""
    return Intents(
        service=stage.service,
        views=stage.views,
        tuning=stage.tuning,
        memories=stage.memories,
        review=stage.review,
    )


def drafting_of(stage: Stage) -> AgentDrafting:
    """What makes a draft of a sentence."""
    return AgentDrafting(stage.asker, stage.treasury)
