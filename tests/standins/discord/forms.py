"""Forms as people send them: what they typed in place of what stood there, within the limits of each field."""

from collections.abc import Mapping
from typing import Any

from simcord.enums import ComponentType

from tests.standins.discord.values import Json, components

FIELDS = (ComponentType.TEXT_INPUT, ComponentType.STRING_SELECT)


def submitted(form: Json, typed: Mapping[str, str]) -> Json:
    """The data of a form that is sent."""
    known = {each["custom_id"] for each in components(form["components"]) if each["type"] in FIELDS}
    assert typed.keys() <= known, f"The form has {sorted(known)}, not {sorted(typed)}"
    return {"custom_id": form["custom_id"], "components": [_node(node, typed) for node in form["components"]]}


def _node(node: Json, typed: Mapping[str, str]) -> Json:
    kept: Json = {"type": node["type"], "id": node.get("id", 0)}
    match node["type"]:
        case ComponentType.LABEL:
            return {**kept, "component": _node(node["component"], typed)}
        case ComponentType.ACTION_ROW:
            return {**kept, "components": [_node(each, typed) for each in node["components"]]}
        case ComponentType.TEXT_INPUT:
            return {**kept, "custom_id": node["custom_id"], "value": _typed(node, typed)}
        case ComponentType.STRING_SELECT:
            return {**kept, "custom_id": node["custom_id"], "values": _chosen(node, typed)}
        case _:
            return kept


def _typed(field: Json, typed: Mapping[str, str]) -> str:
    value = typed.get(field["custom_id"], field.get("value") or "")
    is_needed = field.get("required", True)
    assert value or not is_needed, f"{field['custom_id']} must be filled in"
    least, most = field.get("min_length") or 0, field.get("max_length") or 4000
    assert not value or least <= len(value) <= most, f"{field['custom_id']} takes {least} to {most} characters"
    return value


def _chosen(field: Json, typed: Mapping[str, str]) -> list[Any]:
    if field["custom_id"] in typed:
        return [typed[field["custom_id"]]]
    return [option["value"] for option in field["options"] if option.get("default")]
