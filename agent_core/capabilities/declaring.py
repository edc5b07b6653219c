"""The base class of settings, and the function that declares a field: default, meaning, rule and example."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self, cast, get_args, get_origin

from pydantic import BaseModel, ConfigDict, Field, model_validator
from pydantic.fields import FieldInfo
from pydantic_core import PydanticCustomError

from agent_core.providers.system_packages import missing_text

OWN_WORDS = "own words"
LIMITS = (("ge", "from"), ("le", "to"))


@dataclass(frozen=True, slots=True)
class Rule:
    """What a value must be, beside its type in `Annotated`: the words complete "must be …"."""

    words: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Variable:
    """An environment variable. `rule` completes "must be …"; `default` describes the behaviour if it is not set."""

    name: str
    section: str
    meaning: str
    rule: str
    default: str
    example: str


class SettingsGroup(BaseModel):
    """The base of the settings of one feature. `title` heads their section in the reference.

    One class inherits from all groups, so the names of fields and properties are unique among them.
    """

    model_config = ConfigDict(frozen=True, populate_by_name=True, validate_default=True, str_strip_whitespace=True)
    title: ClassVar[str]

    def check(self) -> None:
        """Refuse values of this group that do not go with other settings. All values are valid by themselves."""

    @model_validator(mode="after")
    def _check_groups(self) -> Self:
        for group in _groups(type(self)):
            group.check(self)
        return self


def setting(default: Any, meaning: str, *, example: str = "", unset: str = "", rule: str = "", **limits: Any) -> Any:
    """A field of a SettingsGroup.

    `unset` says what happens if it is not set, and `rule` completes "must be …". They are left out where they repeat
    the default and the type; so is an example that repeats `unset` or is the opposite of a switch. `limits` are those
    of pydantic's `Field`.
    """
    is_switch = isinstance(default, bool)
    unset = unset or (str(default).lower() if is_switch else str(default or "none"))
    example = example or (str(not default).lower() if is_switch else unset)
    return Field(
        default, description=meaning, examples=[example], json_schema_extra={"unset": unset, "rule": rule}, **limits
    )


def own_words(complaint: str, field: str = "") -> PydanticCustomError:
    """An error with words of its own, which follow the variable's name; a check of several fields names the `field`."""
    return PydanticCustomError(OWN_WORDS, "{complaint}", {"complaint": complaint, "field": field})


def refuse_if(is_wrong: object, field: str, complaint: str) -> None:
    """Refuse the value of a field that does not go with the other settings."""
    if is_wrong:
        raise own_words(complaint, field)


def needs_extra(is_wanted: object, field: str, package: str, extra: str) -> None:
    """Refuse a value that is wanted where the package of an extra is not installed."""
    if is_wanted and (missing := missing_text(package, extra)):
        raise own_words(missing, field)


def needs_beside(settings: SettingsGroup, field: str, other: str) -> None:
    """Refuse a field that is set without the other one."""
    refuse_if(getattr(settings, field) and not getattr(settings, other), field, f"needs {other.upper()} beside it.")


def variables_of(settings: type[SettingsGroup]) -> Mapping[str, Variable]:
    """The variables by name: group by group, the last base of `settings` first, as pydantic orders the fields."""
    titles: dict[str, str] = {}
    for group in _groups(settings):
        titles = dict.fromkeys(group.model_fields, group.title) | titles
    found = (_variable(name, field, titles[name]) for name, field in settings.model_fields.items())
    return {variable.name: variable for variable in found}


def _groups(settings: type[SettingsGroup]) -> list[type[SettingsGroup]]:
    return [base for base in reversed(settings.__mro__) if issubclass(base, SettingsGroup) and "title" in vars(base)]


def _variable(name: str, field: FieldInfo, title: str) -> Variable:
    words = cast("Mapping[str, str]", field.json_schema_extra)
    return Variable(
        name=str(field.validation_alias or name).upper(),
        section=title,
        meaning=str(field.description),
        rule=words["rule"] or _rule(field),
        default=words["unset"],
        example=str((field.examples or [""])[0]),
    )


def _rule(field: FieldInfo) -> str:
    kinds = (field.annotation, *get_args(field.annotation))  # of `Folder | None`, also Folder
    marks = [*field.metadata, *(mark for kind in kinds for mark in getattr(kind, "__metadata__", ()))]
    if written := [mark.words for mark in marks if isinstance(mark, Rule)]:
        return str(written[0])
    if bool in kinds:
        return "true or false"
    if get_origin(field.annotation) is Literal:
        *others, last = filter(None, get_args(field.annotation))
        return f"{', '.join(others)} or {last}"
    limits = [f"{word} {getattr(mark, name)}" for name, word in LIMITS for mark in marks if hasattr(mark, name)]
    return f"a number {' '.join(limits)}" if limits else "a text"
