"""What a person finds on a message or a form and does with it: pure functions from blocks to actions and state."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from tests.standins.slack.elements import ENTRIES
from tests.standins.slack.values import Json, length

Key: TypeAlias = tuple[str, str]
Typed: TypeAlias = Mapping[Key, Json]

STATELESS = ("button", "overflow", "image")
SELECTED = {
    "static_select": ("selected_option", "initial_option"),
    "radio_buttons": ("selected_option", "initial_option"),
    "multi_static_select": ("selected_options", "initial_options"),
    "checkboxes": ("selected_options", "initial_options"),
    "users_select": ("selected_user", "initial_user"),
    "multi_users_select": ("selected_users", "initial_users"),
    "channels_select": ("selected_channel", "initial_channel"),
    "multi_channels_select": ("selected_channels", "initial_channels"),
    "conversations_select": ("selected_conversation", "initial_conversation"),
    "multi_conversations_select": ("selected_conversations", "initial_conversations"),
    "datepicker": ("selected_date", "initial_date"),
    "timepicker": ("selected_time", "initial_time"),
    "datetimepicker": ("selected_date_time", "initial_date_time"),
    "file_input": ("files", ""),
    **dict.fromkeys(ENTRIES, ("value", "initial_value")),
}
MANY = tuple(name for name, (held, _) in SELECTED.items() if held.endswith("s"))


@dataclass(frozen=True, slots=True)
class Widget:
    """An element a person can use, in its block."""

    block: Json
    element: Json

    @property
    def key(self) -> Key:
        """Where its value is kept."""
        return self.block["block_id"], self.element["action_id"]

    @property
    def kind(self) -> str:
        """Its type."""
        return str(self.element["type"])

    @property
    def label(self) -> str:
        """What a person reads on it."""
        if self.kind == "button":
            return str(self.element["text"]["text"])
        return str(self.block["label"]["text"]) if self.block["type"] == "input" else ""

    @property
    def options(self) -> list[Json]:
        """Those to choose from."""
        groups = self.element.get("option_groups", ())
        return [*self.element.get("options", ()), *(option for group in groups for option in group["options"])]

    @property
    def initial(self) -> Json:
        """Its state before anybody touched it."""
        held, begins = SELECTED[self.kind]
        return {"type": self.kind, held: self.element.get(begins, [] if self.kind in MANY else None)}


def widgets(blocks: Sequence[Json]) -> Iterator[Widget]:
    """All of them, from top to bottom."""
    for block in blocks:
        parts = [*block.get("elements", ())] if block["type"] == "actions" else []
        parts += [block[name] for name in ("accessory", "element") if name in block]
        yield from (Widget(block, part) for part in parts if part["type"] != "image")


def labels(blocks: Sequence[Json]) -> list[str]:
    """What can be clicked: the labels of buttons, then those of options."""
    found = [widget.label for widget in widgets(blocks) if widget.kind == "button"]
    return found + [option["text"]["text"] for widget in widgets(blocks) for option in widget.options]


def clicked(blocks: Sequence[Json], label: str, which: int | None) -> Json:
    """The action of a click on a button, or on an option, by its label; `which` counts those that look alike."""
    found = [_pressed(widget) for widget in widgets(blocks) if widget.kind == "button" and widget.label == label]
    if not found:
        found = [
            _chosen(widget, option)
            for widget in widgets(blocks)
            for option in widget.options
            if option["text"]["text"] == label
        ]
    assert found, f"nothing to click says {label!r}; there are {labels(blocks)}"
    assert which is not None or len(found) == 1, f"{len(found)} things say {label!r}: which one is clicked?"
    return found[which or 0]


def entry(blocks: Sequence[Json], name: str) -> Widget:
    """The input with this label or block id; without a name, the only one there is."""
    inputs = [widget for widget in widgets(blocks) if widget.kind not in STATELESS]
    found = [widget for widget in inputs if not name or name in (widget.label, widget.block["block_id"])]
    known = [widget.label or widget.block["block_id"] for widget in inputs]
    assert len(found) == 1, f"{len(found)} inputs are named {name!r}; there are {known}"
    return found[0]


def filled(widget: Widget, value: Any) -> Json:
    """The state of an input with this value: a text, the label of an option, a list of either, or uploaded files."""
    held, _ = SELECTED[widget.kind]
    if widget.kind in ENTRIES:
        _check_entered(widget, value)
        return {"type": widget.kind, held: value or None}
    if widget.options:
        chosen = [_option(widget, label) for label in _as_list(value)]
        return {"type": widget.kind, held: chosen if widget.kind in MANY else next(iter(chosen), None)}
    return {"type": widget.kind, held: _as_list(value) if widget.kind in MANY else value or None}


def state(blocks: Sequence[Json], typed: Typed) -> Json:
    """`state.values`: what every input holds, touched or not."""
    values: Json = {}
    for widget in widgets(blocks):
        if widget.kind not in STATELESS:
            block_id, action_id = widget.key
            values.setdefault(block_id, {})[action_id] = typed.get(widget.key, widget.initial)
    return {"values": values}


def check_complete(blocks: Sequence[Json], typed: Typed) -> None:
    """Slack sends no form in which a required input is empty."""
    for widget in widgets(blocks):
        if widget.block["type"] == "input" and not widget.block.get("optional"):
            held, _ = SELECTED[widget.kind]
            assert typed.get(widget.key, widget.initial)[held], f"{widget.label!r} is required"


def with_ts(action: Json, ts: str) -> Json:
    """The action as it is sent."""
    return {**action, "action_ts": ts}


def entered(widget: Widget, value: str) -> Json:
    """The action of Enter in an input that dispatches it."""
    block_id, action_id = widget.key
    return {"type": widget.kind, "block_id": block_id, "action_id": action_id, "value": value}


def _pressed(widget: Widget) -> Json:
    block_id, action_id = widget.key
    kept: Json = {name: widget.element[name] for name in ("value", "style", "url", "confirm") if name in widget.element}
    return {
        "type": "button",
        "action_id": action_id,
        "block_id": block_id,
        "text": {"emoji": True, **widget.element["text"]},
        **kept,
    }


def _chosen(widget: Widget, option: Json) -> Json:
    block_id, action_id = widget.key
    held = "selected_options" if widget.kind in MANY else "selected_option"
    action = {"type": widget.kind, "action_id": action_id, "block_id": block_id}
    return {**action, held: [option] if widget.kind in MANY else option}


def _option(widget: Widget, label: str) -> Json:
    found = [option for option in widget.options if option["text"]["text"] == label]
    assert found, f"{label!r} is no option of {widget.label!r}: {[option['text']['text'] for option in widget.options]}"
    return found[0]


def _as_list(value: Any) -> list[Any]:
    if value is None or value == "":
        return []
    return list(value) if isinstance(value, list | tuple) else [value]


def _check_entered(widget: Widget, value: Any) -> None:
    assert isinstance(value, str), f"{widget.label!r} takes text"
    assert widget.element.get("multiline") or "\n" not in value, f"{widget.label!r} has one line"
    most, least = widget.element.get("max_length", 3000), widget.element.get("min_length", 0)
    assert length(value) <= most, f"{widget.label!r} takes no more than {most} characters"
    assert not value or length(value) >= least, f"{widget.label!r} takes no fewer than {least} characters"
    if widget.kind == "number_input" and value:
        number = float(value)
        assert widget.element["is_decimal_allowed"] or number.is_integer(), f"{widget.label!r} takes whole numbers"


def held(action: Json) -> Json | None:
    """The state that an action leaves behind."""
    if action["type"] in STATELESS:
        return None
    name, _ = SELECTED[action["type"]]
    return {"type": action["type"], name: action[name]}
