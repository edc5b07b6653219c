"""Forms as values: fields, options, texts. Each surface draws them, and reads what was sent by the fields' ids."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

FieldKind: TypeAlias = Literal[
    "text", "long text", "number", "whole number", "email", "uri", "date", "one of", "several of", "channel"
]
NO_CHOICE = "choice.none"  # what a menu sends for nothing, where a platform's menu cannot be left empty


@dataclass(frozen=True, slots=True)
class Option:
    """Something that can be chosen. `value`: what the form sends.

    `alone`: its label in a menu that several fields share; "" if that menu need not have it.
    """

    value: str
    label: str
    alone: str = ""


@dataclass(frozen=True, slots=True)
class Field:
    """One input, with what it is filled in with: a text, or the values of the options that are `chosen`.

    `is_menu`: the options are in a menu and not all in sight. `least`, `most`: of a number.
    `is_extra`: a form that is short of room, such as Discord's for a new agent, has all such fields in one menu: the
    options that have a label alone, and a text that is filled in. A new field of `agent_form` must be extra, with
    options: Discord allows five components, and that form has five.
    `problem`: why what was sent before was refused.
    """

    id: str
    label: str
    kind: FieldKind = "text"
    text: str = ""
    hint: str = ""
    placeholder: str = ""
    options: tuple[Option, ...] = ()
    chosen: tuple[str, ...] = ()
    is_menu: bool = False
    is_required: bool = False
    is_extra: bool = False
    least: int | None = None
    most: int | None = None
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Said:
    """A text between the fields. A "title" says what the form is, where its own title has no room for that."""

    text: str
    look: Literal["text", "small", "quote", "heading", "title"] = "text"


@dataclass(frozen=True, slots=True)
class Form:
    """A form for a person.

    `kind` names its reader. `about`: the button that opened it, or what else the reader has to know.
    `does`: its title where the platform does not let `submit` name the button that sends it.
    `brief`: what has to be said with the first field if there is no room for texts.
    `extras_hint`: the hint of the menu that the extra fields share.
    `too_many`, `too_long`: why a surface without room for its fields or texts does not open it, and what to do instead.
    """

    kind: str
    title: str
    submit: str
    parts: tuple[Said | Field, ...]
    about: str = ""
    does: str = ""
    brief: str = ""
    extras_hint: str = ""
    too_many: str = "This has more fields than a form here has room for."
    too_long: str = "These texts are too long for a form here."

    @property
    def fields(self) -> tuple[Field, ...]:
        return tuple(part for part in self.parts if isinstance(part, Field))

    @property
    def texts(self) -> tuple[Said, ...]:
        return tuple(part for part in self.parts if isinstance(part, Said))

    def refused(self, problems: Mapping[str, str]) -> "Form":
        """The form with the problem of each field, by its id."""
        parts = (
            replace(part, problem=problems.get(part.id, "")) if isinstance(part, Field) else part for part in self.parts
        )
        return replace(self, parts=tuple(parts))
