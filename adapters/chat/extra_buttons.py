"""Buttons that only chat platforms have; `adapters.buttons` has the buttons of every surface."""

from dataclasses import dataclass
from typing import Literal, Self, TypeAlias

from adapters.buttons import foreign_button_error
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
            raise foreign_button_error()
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
            raise foreign_button_error()
        return cls(AgentId(agent), file)
