"""A filled-in form that a button opens again: refused with what was typed, or drafted by the model."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from agent_core.errors import InvalidInput
from agent_core.model.channels import ChannelScope
from agent_core.model.draft import AgentDraft
from agent_core.model.ids import AgentId

FORM_LIFETIME = timedelta(hours=1)
MAX_FORMS = 2_000  # of all people together
MAX_FORMS_OF_PERSON = 20  # so that nobody pushes out the forms of others
MAX_FORM_CHARACTERS = 40_000  # a form of Discord has up to 20,000


@dataclass(frozen=True, slots=True, kw_only=True)
class FormDraft:
    """A form of one person in one channel. Only that person can open it, in that channel, until `expires_at`.

    `person`: their id on the platform. `agent_id`: the agent that the form is about, with which it is deleted.
    `agent_draft`: the agent that the model drafted; without one, `fields` has the typed texts by field.
    `problems`: an error message for each invalid field.
    """

    channel: ChannelScope
    person: str
    key: str
    expires_at: datetime
    agent_id: AgentId | None = None
    agent_draft: AgentDraft | None = None
    fields: Mapping[str, str] = field(default_factory=dict)
    problems: Mapping[str, str] = field(default_factory=dict)

    def require_size(self) -> None:
        """Raise InvalidInput if the texts have more than MAX_FORM_CHARACTERS together."""
        texts = [text for pair in (*self.fields.items(), *self.problems.items()) for text in pair]
        if draft := self.agent_draft:
            texts += (draft.name, draft.role, *draft.goals, draft.model)
        if (length := sum(map(len, texts))) > MAX_FORM_CHARACTERS:
            raise InvalidInput(
                {"form": f"This form has {length:,} characters, and at most {MAX_FORM_CHARACTERS:,} can be kept."}
            )
