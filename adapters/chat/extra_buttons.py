"""Buttons of chat platforms alone: Delete, Upload, and a base of buttons; `adapters.screens.buttons` has all others."""

from dataclasses import astuple, dataclass, fields
from typing import ClassVar, Literal, Self, TypeAlias

from adapters.screens.buttons import foreign_button_error
from agent_core.model.ids import AgentId

ExtraVerb: TypeAlias = Literal["create", "change"]


class ColonSeparatedButton:
    """Base of buttons whose fields are strings. `str` joins `kind` and the fields with colons; `parse` reverses it.

    `verbs`: the values allowed before the first colon.
    """

    __slots__ = ()
    kind: ClassVar[tuple[str, ...]] = ()
    verbs: ClassVar[tuple[str, ...]]

    def __str__(self) -> str:
        return ":".join((*self.kind, *astuple(self)))  # type: ignore[call-overload]  # all are dataclasses

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse the output of `str`; raise InvalidInput for any other text. The last field may contain colons."""
        size = len(cls.kind) + len(fields(cls))  # type: ignore[arg-type]
        parts = text.split(":", size - 1)
        if parts[0] not in cls.verbs or len(parts) != size or not all(parts):
            raise foreign_button_error()
        return cls(*parts[len(cls.kind) :])


@dataclass(frozen=True, slots=True)
class DeleteButton(ColonSeparatedButton):
    """Deletes an agent, after a confirmation."""

    agent: AgentId
    kind = verbs = ("delete",)
    label = "Delete"


@dataclass(frozen=True, slots=True)
class UploadButton(ColonSeparatedButton):
    """Uploads an agent's file to its thread. `file`: its path; in Discord, the beginning of the path's SHA-256."""

    agent: AgentId
    file: str
    kind = verbs = ("upload",)
    label = "Upload"
