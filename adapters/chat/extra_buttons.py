"""Buttons that all chat platforms have besides those of the core."""

from dataclasses import dataclass
from typing import Literal, Self, TypeAlias

from agent_core.errors import InvalidInput
from agent_core.model.ids import AgentId

ExtraVerb: TypeAlias = Literal["create", "change"]


@dataclass(frozen=True, slots=True)
class DeleteButton:
    """Deletes an agent, after a confirmation."""

    agent: AgentId
    label = "Delete"

    def __str__(self) -> str:
        return f"delete:{self.agent}"

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse the output of `str`; raise InvalidInput for any other text."""
        verb, _, agent = text.partition(":")
        if verb != "delete" or not agent:
            raise foreign_button()
        return cls(AgentId(agent))


@dataclass(frozen=True, slots=True)
class UploadButton:
    """Uploads a file of an agent to its thread; `file` is its path, or a mark of it where a path may be too long."""

    agent: AgentId
    file: str
    label = "Upload"

    def __str__(self) -> str:
        return f"upload:{self.agent}:{self.file}"

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse the output of `str`; raise InvalidInput for any other text."""
        verb, _, rest = text.partition(":")
        agent, _, file = rest.partition(":")
        if verb != "upload" or not agent or not file:
            raise foreign_button()
        return cls(AgentId(agent), file)


def foreign_button() -> InvalidInput:
    """The error for a button that Signoff did not make."""
    return InvalidInput({"button": "This button is not one of Signoff's."})
