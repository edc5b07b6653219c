"""Reads submitted Slack views (channel, draft, arguments, texts), and makes errors by block, for Slack to show."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Self

from adapters.screens.buttons import Button, foreign_button_error
from adapters.screens.cards import as_text
from adapters.screens.text_fit import cut
from adapters.screens.visible_text import visible
from adapters.slack.outbound.inputs import FIELD, field_of, written
from adapters.typed import form_values
from agent_core.errors import ChangedSinceShown, InvalidInput
from agent_core.model.command import Arguments, CommandSpec
from agent_core.model.origin import ChannelScope
from agent_core.model.turn import Turn

ARGUMENT = "argument."
MAX_ERROR_LENGTH = 1000


@dataclass(frozen=True, slots=True)
class FormContext:
    """The channel of a form, and the button that opened it. Slack stores it with the form; users cannot change it.

    `channel`: the key of a ChannelScope.
    `about`: `str` of the button that opened the form, which contains the hash of the card at that time.
    """

    channel: str
    about: str = ""
    thread: str = ""

    def __str__(self) -> str:
        return json.dumps(asdict(self), separators=(",", ":"))

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse the output of `str`; raise InvalidInput for any other text."""
        try:
            place = cls(**json.loads(text))
        except (ValueError, TypeError):
            raise InvalidInput({"form": "This form is not one of Signoff's."}) from None
        if not all(isinstance(value, str) for value in asdict(place).values()):
            raise InvalidInput({"form": "This form is not one of Signoff's."})
        return place

    @property
    def scope(self) -> ChannelScope:
        return ChannelScope.parse(self.channel)


def place_of(view: Mapping[str, Any]) -> FormContext:
    """The context of a submitted form; raise InvalidInput if Signoff did not make the form."""
    return FormContext.parse(str(view.get("private_metadata") or ""))


def home_channel(action: Mapping[str, Any]) -> ChannelScope:
    """The channel of the agent whose button was clicked on the Home tab; raise InvalidInput for any other button."""
    try:
        return ChannelScope.parse(str(action.get("block_id") or "").partition(" ")[0])
    except ValueError:
        raise foreign_button_error() from None


def chosen_channel(view: Mapping[str, Any]) -> str:
    """The channel chosen in the form; raise InvalidInput if none was chosen."""
    values = (view.get("state") or {}).get("values") or {}
    chosen = (values.get("channel") or {}).get(FIELD) or {}
    if not (channel := chosen.get("selected_conversation")):
        raise InvalidInput({"channel": "Channel: choose a channel for the agent's thread."})
    return str(channel)


def changed_arguments(view: Mapping[str, Any], turn: Turn, spec: CommandSpec) -> Arguments:
    """The changed arguments; unchanged ones keep their exact value.

    Raise InvalidInput for invalid JSON, ChangedSinceShown if the turn has changed since the form was opened.
    """
    if Button.parse(place_of(view).about).shown != turn.control_hash:
        raise ChangedSinceShown(turn.number, turn.remark)
    fields = fields_in(view)
    names = form_values.argument_names(turn, spec)
    given = {name: fields[f"{ARGUMENT}{place}"] for place, name in enumerate(names) if f"{ARGUMENT}{place}" in fields}
    shown = {name: visible(as_text(value)) for name, value in turn.call.arguments.items()}
    return form_values.edited_arguments(given, shown, turn, spec)


def text_of(view: Mapping[str, Any]) -> str:
    """The text typed into a form with one text field: the reason of a rejection, or a reply to the agent."""
    return fields_in(view).get("text", "")


def number_of(view: Mapping[str, Any]) -> int:
    """The N of Approve ×N; raise InvalidInput if it is not a number."""
    return form_values.times_of(fields_in(view).get("times", ""))


def errors_of(view: Mapping[str, Any], problems: Mapping[str, str], names: Sequence[str] = ()) -> dict[str, str]:
    """The problems by block id, for `response_action: errors`.

    `names`: the argument names of an edit form. Problems that belong to no field are shown at the first field.
    """
    blocks = [block["block_id"] for block in view.get("blocks", ()) if block.get("type") == "input"]
    fields = {name: f"{ARGUMENT}{place}" for place, name in enumerate(names)}
    found: dict[str, str] = {}
    for field, problem in problems.items():
        at = [block for block in blocks if field_of(block) == fields.get(field, field)] or blocks
        if at:
            found[at[0]] = cut(" ".join(filter(None, (found.get(at[0]), visible(problem)))), MAX_ERROR_LENGTH)
    return found


def fields_in(view: Mapping[str, Any]) -> dict[str, str]:
    """The text of each field of a submitted form."""
    return written((view.get("state") or {}).get("values") or {})
