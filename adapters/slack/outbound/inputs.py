"""Fields of Slack's forms: splits a text into one or several inputs, and joins the submitted values.

An input has at most 3,000 units and no control characters. A long text uses several inputs, split at line ends if
possible; the id of each block says how it is joined to the next.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from adapters.screens.text_fit import beginning, fits
from adapters.screens.visible_text import visible
from adapters.slack.outbound.blocks import MAX_INPUT, Block, labelled, text_input

FIELD = "value"
MAX_INPUT_PIECE = MAX_INPUT - 600  # leaves people room to add something
SEPARATORS = {"line": "\n", "on": ""}
PLACES = 3  # a block id is the field; for a long text also its number and how it is joined to the next; then a mark


def entries(field: str, label: str, text: str = "", **look: Any) -> list[Block]:
    """The inputs for a text; `look` may contain hint, placeholder, multiline and optional."""
    element = {name: look.pop(name) for name in ("placeholder", "multiline") if name in look}
    parts = list(_parts(visible(text)))
    if len(parts) == 1:
        return [labelled(label, text_input(FIELD, parts[0][0], **element), field, **look)]
    return [
        labelled(
            f"{label} · part {number} of {len(parts)}",
            text_input(FIELD, part, **element),
            f"{field}/{number}/{join}",
            **(look if number == 1 else look | {"optional": True}),
        )
        for number, (part, join) in enumerate(parts, 1)
    ]


def written(values: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """The value of each field in `view.state.values`; a ticked box becomes a field `block.value` with "on"."""
    found: dict[str, str] = {}
    ends: dict[str, str] = {}
    for block_id, states in sorted(values.items(), key=lambda item: _order(item[0])):
        field, _, place = block_id.partition("/")
        for state in states.values():
            if "selected_options" in state:
                found |= {f"{field}.{option['value']}": "on" for option in state["selected_options"] or ()}
            else:
                found[field] = found.get(field, "") + ends.get(field, "") + _text(state)
        ends[field] = SEPARATORS.get([*place.split("/"), ""][1], "")
    return found


def marked(block_id: str, mark: str) -> str:
    """Another id for the same field; the mark has no meaning."""
    return f"{block_id}{'/' * (PLACES - block_id.count('/'))}{mark}"


def field_of(block_id: str) -> str:
    """The field that a block belongs to."""
    return block_id.partition("/")[0]


def _parts(text: str) -> Iterator[tuple[str, str]]:
    while not fits(text, MAX_INPUT_PIECE):
        part = beginning(text, MAX_INPUT_PIECE) or text[0]
        end = len(part) if text.startswith("\n", len(part)) else part.rfind("\n")
        if end > 0:
            yield text[:end], "line"
            text = text[end + 1 :]
        else:
            yield part, "on"
            text = text[len(part) :]
    yield text, "on"


def _order(block_id: str) -> tuple[str, int]:
    field, _, place = block_id.partition("/")
    number = place.partition("/")[0]
    return field, int(number) if number.isdecimal() else 0


def _text(state: Mapping[str, Any]) -> str:
    option = state.get("selected_option") or {}
    value = option.get("value", state.get("value", state.get("selected_date")))
    return value if isinstance(value, str) else ""
