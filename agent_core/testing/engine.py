"""A waker that only remembers, for tests of the service alone."""

from dataclasses import dataclass, field

from agent_core.model.ids import AgentId


@dataclass(slots=True)
class RecordingWaker:
    """Keeps who was woken and who was interrupted."""

    woken: list[AgentId] = field(default_factory=list)
    interrupted: list[AgentId] = field(default_factory=list)

    def wake(self, agent_id: AgentId) -> None:
        """Remember the wake."""
        self.woken.append(agent_id)

    def interrupt(self, agent_id: AgentId) -> None:
        """Remember the interruption."""
        self.interrupted.append(agent_id)
