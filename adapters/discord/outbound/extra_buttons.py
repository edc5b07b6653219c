"""What Discord's buttons carry besides a verb and an id of the core: a file to upload, an agent to delete, a draft."""

from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import sha256
from typing import Literal, Self, TypeAlias, cast, get_args

from agent_core.errors import InvalidInput
from agent_core.model.files import FileEntry
from agent_core.model.ids import AgentId

ExtraVerb: TypeAlias = Literal["create", "change"]
MARK_LENGTH = 16


@dataclass(frozen=True, slots=True)
class DiscordUploadButton:
    """A file of an agent is wanted in the thread; `mark` stands for its path, which may be too long for a button."""

    agent: AgentId
    mark: str
    label = "Upload"

    @classmethod
    def of(cls, agent: AgentId, path: str) -> Self:
        """The button for a file."""
        return cls(agent, sha256(path.encode(errors="surrogatepass")).hexdigest()[:MARK_LENGTH])

    def among(self, entries: Iterable[FileEntry]) -> FileEntry | None:
        """The file that is meant, if it is still there."""
        return next((entry for entry in entries if DiscordUploadButton.of(self.agent, entry.path) == self), None)

    def __str__(self) -> str:
        return f"upload:{self.agent}:{self.mark}"

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read back what `str` gave; raise InvalidInput for anything else."""
        verb, _, rest = text.partition(":")
        agent, _, mark = rest.rpartition(":")
        if verb != "upload" or not agent or not mark:
            raise foreign()
        return cls(AgentId(agent), mark)


@dataclass(frozen=True, slots=True)
class DiscordDeleteButton:
    """An agent is to be deleted, and whoever pressed was asked whether they mean it."""

    agent: AgentId
    label = "Delete"

    def __str__(self) -> str:
        return f"delete:{self.agent}"

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read back what `str` gave; raise InvalidInput for anything else."""
        verb, _, agent = text.partition(":")
        if verb != "delete" or not agent:
            raise foreign()
        return cls(AgentId(agent))


@dataclass(frozen=True, slots=True)
class DiscordDraftButton:
    """A drafted agent is to be created as it is, or changed first; `key` is where the process keeps the draft."""

    verb: ExtraVerb
    key: str

    @property
    def label(self) -> str:
        """The words on the button."""
        return self.verb.capitalize()

    def __str__(self) -> str:
        return f"{self.verb}:{self.key}"

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read back what `str` gave; raise InvalidInput for anything else."""
        verb, _, key = text.partition(":")
        if verb not in get_args(ExtraVerb) or not key:
            raise foreign()
        return cls(cast("ExtraVerb", verb), key)


def foreign() -> InvalidInput:
    """Answers a press of something that is not ours."""
    return InvalidInput({"button": "This button is not one of Signoff's."})
