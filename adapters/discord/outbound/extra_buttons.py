"""Discord's buttons Upload, Create and Change, which carry a hash or a key in place of a path or a draft."""

from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import sha256
from typing import get_args

from adapters.chat.extra_buttons import ColonSeparatedButton, ExtraVerb, UploadButton
from agent_core.model.files import FileEntry
from agent_core.model.ids import AgentId

MARK_LENGTH = 16


def upload_button(agent: AgentId, path: str) -> UploadButton:
    """The upload button for a file; it carries a hash, because the path may be too long."""
    return UploadButton(agent, sha256(path.encode(errors="surrogatepass")).hexdigest()[:MARK_LENGTH])


def file_of_button(button: UploadButton, entries: Iterable[FileEntry]) -> FileEntry | None:
    """The file of the button, if it still exists."""
    return next((entry for entry in entries if upload_button(button.agent, entry.path) == button), None)


@dataclass(frozen=True, slots=True)
class DiscordDraftButton(ColonSeparatedButton):
    """Creates a drafted agent or opens it in the form; `key` is the draft's key in the FormStore."""

    verb: ExtraVerb
    key: str
    verbs = get_args(ExtraVerb)

    @property
    def label(self) -> str:
        return self.verb.capitalize()


@dataclass(frozen=True, slots=True)
class OpensForm:
    """The button Open the form: it stands in for Create and Change if a person must see the form first."""

    change: DiscordDraftButton
    label = "Open the form"

    def __str__(self) -> str:
        return str(self.change)


def draft_buttons(key: str) -> tuple[DiscordDraftButton, DiscordDraftButton]:
    """Create and Change; `key`: the draft's key in the store."""
    return DiscordDraftButton("create", key), DiscordDraftButton("change", key)
