"""The schemas of arguments that plugins declare, as prompts and endpoints get them."""

from typing import Any, cast

import pytest
from pydantic import BaseModel, Field, create_model

from agent_core.model.command import CommandSpec
from agent_core.plugins.schemas import own_schema
from agent_core.toolset.arguments import argument_faults
from tests.unit.agent_core.plugins.test_careless_declarations import Leaves, Letters, Odd, added, offering
from tests.unit.agent_core.plugins.test_plugins import Offering, command, plugins_of


class Cup(BaseModel):
    """A part of the arguments."""

    tea: str = Field(description="which tea", max_length=20)
    pattern: str = ""
    description: str = ""


class Tray(BaseModel):
    """Arguments with parts."""

    first: Cup = Field(description="the first\ncup")
    others: list[Cup] = []
    default: Cup | None = None


def spec_of(given: type[BaseModel]) -> CommandSpec:
    (spec,) = added(offering(given))
    return spec


def test_definitions_are_written_out_in_their_places() -> None:
    properties = cast("dict[str, dict[str, Any]]", spec_of(Tray).parameters["properties"])
    assert "$" not in str(spec_of(Tray).parameters)
    assert properties["first"]["properties"]["tea"] == {
        "description": "which tea",
        "maxLength": 20,
        "title": "Tea",
        "type": "string",
    }
    assert properties["first"]["description"] == "the first cup"
    assert {*properties["others"]["items"]["properties"]} == {"tea", "pattern", "description"}


def test_calls_are_checked_against_the_schema_that_is_written_out() -> None:
    spec = spec_of(Tray)
    assert argument_faults(spec, {"first": {"tea": "black"}, "others": [{"tea": "green"}]}) == []
    assert argument_faults(spec, {"first": {"tea": "black"}, "others": [{"tea": 5}]}) == [
        "others.0.tea: 5 is not of type 'string'."
    ]


MANY = create_model("Many", **{f"cup{number}": (str, "") for number in range(41)})  # type: ignore[call-overload]
LARGE = create_model("Large", **{f"cup{number}": (str, Field(max_length=number, alias="x" * 41)) for number in (1,)})  # type: ignore[call-overload]
ENUM = create_model("Enum", cup=(str, Field(json_schema_extra={"enum": ["x" * 8_000]})))


@pytest.mark.proves("plugin:declared")
@pytest.mark.parametrize(
    ("given", "why"),
    [
        (Leaves, "its arguments refer to themselves"),
        (Letters, r"'^\\p{L}+$' is not a 'regex'"),
        (Odd, "is no name of an argument"),
        (MANY, "it has 41 arguments, of 40"),
        (LARGE, "is no name of an argument"),
        (ENUM, "characters of JSON, of 8,000"),
    ],
)
def test_a_schema_that_nothing_can_use_is_left_out_with_a_remark(given: type[BaseModel], why: str) -> None:
    found = offering(given)
    assert added(found) == []
    (remark,) = found.loaded[0].remarks
    assert remark.startswith("'stir' is left out: ")
    assert why in remark


def test_a_schema_that_would_be_very_large_when_written_out_is_refused_soon() -> None:
    parts: dict[str, Any] = {
        f"P{number}": {"type": "array", "prefixItems": [{"$ref": f"#/$defs/P{number + 1}"}] * 10}
        for number in range(20)
    }
    parts["P20"] = {"type": "string"}
    with pytest.raises(ValueError, match="more than 4,000 parts"):
        own_schema({"properties": {"cup": {"$ref": "#/$defs/P0"}}, "$defs": parts})


def test_of_an_endless_generator_the_first_hundred_commands_take_part() -> None:
    def endless() -> Any:
        number = 0
        while True:
            number += 1
            yield command(f"c{number}")

    class Endless(Offering):
        """Offers for ever."""

        def commands(self, _tools: Any) -> Any:
            return endless()

    found = plugins_of(Endless())
    assert len(added(found)) == 100
    assert found.loaded[0].remarks == ["the commands beyond the first 100 are left out"]
