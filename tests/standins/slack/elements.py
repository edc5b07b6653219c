"""The elements of Block Kit as docs.slack.dev/reference/block-kit/block-elements describes them."""

from collections.abc import Iterator
from typing import Any

from tests.standins.slack.checks import Check, anything, boolean, both, kinds, listing, shape, string, text, whole, word
from tests.standins.slack.checks import wrong as fault

ID = string(255)
URL = string(3000)
PLACEHOLDER = text(150)
MOST_OPTIONS = 100
MOST_ENTERED = 3000

CONFIRM = shape(
    {"title": text(100), "text": text(300, mrkdwn=True), "confirm": text(30), "deny": text(30)},
    {"style": word("primary", "danger")},
)
OPTION = shape({"text": text(75), "value": string(150)}, {"description": text(75)})
LINKED_OPTION = shape({"text": text(75), "value": string(150)}, {"description": text(75), "url": URL})
RICH_OPTION = shape(
    {"text": text(75, mrkdwn=True), "value": string(150)},
    {"description": text(75, mrkdwn=True)},
)
GROUP = shape({"label": text(75), "options": listing(OPTION, MOST_OPTIONS)})
ON_ENTER = shape({"trigger_actions_on": listing(word("on_enter_pressed", "on_character_entered"), 2)})

COMMON: dict[str, Check] = {"action_id": ID, "focus_on_load": boolean}
SELECT: dict[str, Check] = {**COMMON, "placeholder": PLACEHOLDER, "confirm": CONFIRM}
MULTIPLE: dict[str, Check] = {**SELECT, "max_selected_items": whole(1, 10_000)}
ENTRY: dict[str, Check] = {**COMMON, "placeholder": PLACEHOLDER, "dispatch_action_config": ON_ENTER}
FILTER = shape(
    {},
    {
        "include": listing(word("im", "mpim", "private", "public"), 4),
        "exclude_bot_users": boolean,
        "exclude_external_shared_channels": boolean,
    },
)


def _has_options(value: Any, at: str) -> Iterator[str]:
    if ("options" in value) == ("option_groups" in value):
        yield fault("must have either options or option_groups", at)
        return
    given = list(value.get("options", ()))
    for group in value.get("option_groups", ()):
        given.extend(group["options"])
    initial = [value["initial_option"]] if "initial_option" in value else value.get("initial_options", [])
    if any(option not in given for option in initial):
        yield fault("initial options must be among the options", at)
    values = [option["value"] for option in given]
    if len(set(values)) < len(values):
        yield fault("values of options must be unique", at)


def _entered(value: Any, at: str) -> Iterator[str]:
    most, least = value.get("max_length", MOST_ENTERED), value.get("min_length", 0)
    if least > most:
        yield fault("min_length must not be more than max_length", at)
    yield from string(most, least=0)(value.get("initial_value", ""), f"{at}/initial_value")


def _image(value: Any, at: str) -> Iterator[str]:
    if ("image_url" in value) == ("slack_file" in value):
        yield fault("must have either image_url or slack_file", at)


def _choice(initial: str, most: int, option: Check) -> Check:
    known = {"initial_option": option, "initial_options": listing(option, most)}
    optional = {**COMMON, "confirm": CONFIRM, initial: known[initial]}
    return both(shape({"options": listing(option, most)}, optional), _has_options)


def _options(**extra: Check) -> Check:
    groups = listing(GROUP, MOST_OPTIONS)
    options = listing(OPTION, MOST_OPTIONS)
    return both(shape({}, {**SELECT, "options": options, "option_groups": groups, **extra}), _has_options)


IMAGE: dict[str, Check] = {"image_url": URL, "slack_file": shape({}, {"id": ID, "url": URL})}

ELEMENTS: dict[str, Check] = {
    "button": shape(
        {"text": text(75)},
        {
            "action_id": ID,
            "url": URL,
            "value": string(2000),
            "style": word("primary", "danger"),
            "confirm": CONFIRM,
            "accessibility_label": string(75),
        },
    ),
    "image": both(shape({"alt_text": string(2000)}, IMAGE), _image),
    "overflow": both(
        shape({"options": listing(LINKED_OPTION, 5)}, {"action_id": ID, "confirm": CONFIRM}),
        _has_options,
    ),
    "static_select": _options(initial_option=OPTION),
    "multi_static_select": _options(
        initial_options=listing(OPTION, MOST_OPTIONS), max_selected_items=MULTIPLE["max_selected_items"]
    ),
    "users_select": shape({}, {**SELECT, "initial_user": ID}),
    "multi_users_select": shape({}, {**MULTIPLE, "initial_users": listing(ID, MOST_OPTIONS)}),
    "channels_select": shape({}, {**SELECT, "initial_channel": ID, "response_url_enabled": boolean}),
    "multi_channels_select": shape({}, {**MULTIPLE, "initial_channels": listing(ID, MOST_OPTIONS)}),
    "conversations_select": shape(
        {},
        {
            **SELECT,
            "initial_conversation": ID,
            "default_to_current_conversation": boolean,
            "response_url_enabled": boolean,
            "filter": FILTER,
        },
    ),
    "multi_conversations_select": shape(
        {},
        {
            **MULTIPLE,
            "initial_conversations": listing(ID, MOST_OPTIONS),
            "default_to_current_conversation": boolean,
            "filter": FILTER,
        },
    ),
    "checkboxes": _choice("initial_options", 10, RICH_OPTION),
    "radio_buttons": _choice("initial_option", 10, RICH_OPTION),
    "datepicker": shape({}, {**SELECT, "initial_date": string(10, 10)}),
    "timepicker": shape({}, {**SELECT, "initial_time": string(5, 5), "timezone": string(100)}),
    "datetimepicker": shape({}, {**COMMON, "confirm": CONFIRM, "initial_date_time": whole(1, 9_999_999_999)}),
    "plain_text_input": both(
        shape(
            {},
            {
                **ENTRY,
                "initial_value": string(MOST_ENTERED, 0),
                "multiline": boolean,
                "min_length": whole(0, MOST_ENTERED),
                "max_length": whole(1, MOST_ENTERED),
            },
        ),
        _entered,
    ),
    "number_input": shape(
        {"is_decimal_allowed": boolean},
        {**ENTRY, "initial_value": string(100), "min_value": string(100), "max_value": string(100)},
    ),
    "email_text_input": shape({}, {**ENTRY, "initial_value": string(MOST_ENTERED)}),
    "url_text_input": shape({}, {**ENTRY, "initial_value": string(MOST_ENTERED)}),
    "rich_text_input": shape({}, {**ENTRY, "initial_value": anything}),
    "file_input": shape({}, {"action_id": ID, "filetypes": listing(string(100), 100), "max_files": whole(1, 10)}),
}

ENTRIES = ("plain_text_input", "number_input", "email_text_input", "url_text_input", "rich_text_input")
SELECTS = tuple(name for name in ELEMENTS if name.endswith("_select"))
CHOICES = ("checkboxes", "radio_buttons", "datepicker", "timepicker", "datetimepicker")

ACCESSORY = kinds(ELEMENTS, {"button", "image", "overflow", *SELECTS, *CHOICES})
ACTION = kinds(ELEMENTS, {"button", "overflow", *CHOICES, *(name for name in SELECTS if "multi" not in name)})
INPUT = kinds(ELEMENTS, {*SELECTS, *CHOICES, *ENTRIES, "file_input"})
