"""What buttons of chat platforms carry besides a verb and an id of the core, where all carry the same."""

from dataclasses import dataclass
from typing import Literal, Self, TypeAlias

from agent_core.errors import InvalidInput
from agent_core.model.ids import AgentId

ExtraVerb: TypeAlias = Literal["create", "change"]


@dataclass(frozen=True, slots=True)
class DeleteButton:
    """Deletes an agent; the person was asked whether they mean it."""

    agent: AgentId
    label = "Delete"

    def __str__(self) -> str:
        return f"delete:{self.agent}"

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read back what `str` gave; raise InvalidInput for anything else."""
        verb, _, agent = text.partition(":")
        if verb != "delete" or not agent:
            raise foreign_button()
        return cls(AgentId(agent))


def foreign_button() -> InvalidInput:
    """The error for a button that is not ours."""
    return InvalidInput({"button": "This button is not one of Signoff's."})
