"""Block Kit enforced: what Slack refuses in the blocks of a message or a view, and in a view as a whole.

The limits are those of docs.slack.dev/reference/block-kit; lengths are counted in UTF-16 code units. That all texts of
a message together must stay near 13,200 is written nowhere: it is what Slack does (slackapi/bolt-js#2509).
"""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, Literal, TypeAlias

from tests.standins.slack.checks import Check, anything, boolean, both, kinds, listing, shape, string, text, word, wrong
from tests.standins.slack.elements import ACCESSORY, ACTION, ELEMENTS, ID, IMAGE, INPUT
from tests.standins.slack.richtext import RICH_TEXT
from tests.standins.slack.values import Json, Refused, length

Surface: TypeAlias = Literal["message", "modal", "home"]

MOST_BLOCKS = {"message": 50, "modal": 100, "home": 100}
MOST_TEXT = 40_000
MOST_IN_BLOCKS = 13_200
MOST_MARKDOWN = 12_000
MOST_OF_VIEW = 250_000
MOST_OF_METADATA = 8_000


def _section(block: Any, at: str) -> Iterator[str]:
    if "text" not in block and "fields" not in block:
        yield wrong("missing required field: text", at)


def _image(block: Any, at: str) -> Iterator[str]:
    if ("image_url" in block) == ("slack_file" in block):
        yield wrong("must have either image_url or slack_file", at)


def _actions(block: Any, at: str) -> Iterator[str]:
    yield from _repeated([element.get("action_id") for element in block["elements"]], "action_id", f"{at}/elements")


def _repeated(ids: Sequence[str | None], name: str, at: str) -> Iterator[str]:
    for value, times in Counter(value for value in ids if value is not None).items():
        if times > 1:
            yield wrong(f"{name} already exists: {value}", at)


CAPTION: Check = kinds(
    {
        "image": ELEMENTS["image"],
        "plain_text": text(3000),
        "mrkdwn": text(3000, mrkdwn=True),
    }
)

BLOCKS: dict[str, Check] = {
    "section": both(
        shape(
            {},
            {
                "block_id": ID,
                "text": text(3000, mrkdwn=True),
                "fields": listing(text(2000, mrkdwn=True), 10),
                "accessory": ACCESSORY,
                "expand": boolean,
            },
        ),
        _section,
    ),
    "header": shape({"text": text(150)}, {"block_id": ID}),
    "divider": shape({}, {"block_id": ID}),
    "context": shape({"elements": listing(CAPTION, 10)}, {"block_id": ID}),
    "actions": both(shape({"elements": listing(ACTION, 25)}, {"block_id": ID}), _actions),
    "image": both(shape({"alt_text": string(2000)}, {**IMAGE, "title": text(2000), "block_id": ID}), _image),
    "input": shape(
        {"label": text(2000), "element": INPUT},
        {"block_id": ID, "hint": text(2000), "optional": boolean, "dispatch_action": boolean},
    ),
    "rich_text": shape({"elements": listing(RICH_TEXT, 1000)}, {"block_id": ID}),
    "markdown": shape({"text": string(MOST_MARKDOWN)}, {"block_id": ID}),
}

VIEW: dict[str, Check] = {
    "private_metadata": string(3000, 0),
    "callback_id": string(255, 0),
    "external_id": string(255, 0),
}
MODAL: dict[str, Check] = {
    **VIEW,
    "submit": text(24),
    "close": text(24),
    "clear_on_close": boolean,
    "notify_on_close": boolean,
    "submit_disabled": boolean,
}


def check_blocks(blocks: Any, surface: Surface, at: str = "/blocks") -> list[str]:
    """All that is wrong with the blocks."""
    placed = {name: check for name, check in BLOCKS.items() if name != "markdown" or surface == "message"}
    faults = list(listing(kinds(placed), MOST_BLOCKS[surface], least=0)(blocks, at))
    if faults:
        return faults
    faults += _repeated([block.get("block_id") for block in blocks], "block_id", at)
    if surface == "message":
        faults += _check_inputs_in_message(blocks, at)
        faults += _check_markdown(blocks, at)
    return faults


def check_message(blocks: Any) -> None:
    """Refuse the blocks of a message as Slack does."""
    faults = check_blocks(blocks, "message")
    if faults:
        raise Refused("invalid_blocks", *faults)
    if sum(length(words) for words in texts(blocks)) > MOST_IN_BLOCKS:
        raise Refused("msg_blocks_too_long")


def check_view(view: Any) -> None:
    """Refuse a view as Slack does: as invalid arguments, or as too large."""
    if not isinstance(view, dict):
        raise Refused("invalid_arguments", wrong("must provide an object", "/view"))
    if view.get("type") not in ("modal", "home"):
        raise Refused("invalid_arguments", wrong("unsupported type", "/view/type"))
    surface: Surface = view["type"]
    parts = {name: value for name, value in view.items() if name != "blocks"}
    check = shape({"title": text(24)}, MODAL) if surface == "modal" else shape({"type": word("home")}, VIEW)
    faults = [*check(parts, "/view"), *_check_view_blocks(view, surface)]
    if faults:
        raise Refused("invalid_arguments", *faults)
    if len(json.dumps(view, ensure_ascii=False, separators=(",", ":")).encode()) > MOST_OF_VIEW:
        raise Refused("view_too_large")


def check_metadata(metadata: Any) -> None:
    """Refuse the metadata of a message as Slack does."""
    check = shape({"event_type": string(255), "event_payload": _object}, {"entities": listing(anything, 100)})
    faults = list(check(metadata, "/metadata"))
    if faults:
        raise Refused("invalid_metadata_format", *faults)
    if len(json.dumps(metadata).encode()) > MOST_OF_METADATA:
        raise Refused("metadata_too_large")


def texts(value: Any) -> Iterator[str]:
    """Every text in the blocks: of text objects, of rich text, of markdown."""
    if isinstance(value, list):
        for item in value:
            yield from texts(item)
    elif isinstance(value, dict):
        for name, item in value.items():
            if name == "text" and isinstance(item, str):
                yield item
            else:
                yield from texts(item)


def with_ids(blocks: Sequence[Json], prefix: str) -> list[Json]:
    """The blocks as Slack keeps them: every block and every interactive element has an id."""
    return [_with_ids(block, f"{prefix}{number}") for number, block in enumerate(blocks)]


def _with_ids(block: Json, name: str) -> Json:
    named: Json = {**block, "block_id": block.get("block_id", name)}
    if block["type"] == "actions":
        named["elements"] = [_with_action(each, f"{name}.{number}") for number, each in enumerate(block["elements"])]
    for part in ("accessory", "element"):
        if part in block:
            named[part] = _with_action(block[part], f"{name}.{part[0]}")
    return named


def _with_action(element: Json, name: str) -> Json:
    return element if element["type"] == "image" else {**element, "action_id": element.get("action_id", name)}


def _object(value: Any, at: str) -> Iterator[str]:
    if not isinstance(value, dict):
        yield wrong("must provide an object", at)


def _check_view_blocks(view: Json, surface: Surface) -> list[str]:
    if "blocks" not in view:
        return [wrong("missing required field: blocks", "/view")]
    faults = check_blocks(view["blocks"], surface, "/view/blocks")
    if not faults and surface == "modal" and "submit" not in view:
        faults += [wrong("missing required field: submit", "/view") for block in view["blocks"] if _is_input(block)][:1]
    return faults


def _is_input(block: Json) -> bool:
    return bool(block["type"] == "input")


def _check_inputs_in_message(blocks: Sequence[Json], at: str) -> Iterator[str]:
    for number, block in enumerate(blocks):
        if _is_input(block) and not block.get("dispatch_action"):
            yield wrong("an input of a message must dispatch its action", f"{at}/{number}")


def _check_markdown(blocks: Sequence[Json], at: str) -> Iterator[str]:
    if sum(length(block["text"]) for block in blocks if block["type"] == "markdown") > MOST_MARKDOWN:
        yield wrong(f"all markdown must be less than {MOST_MARKDOWN + 1} characters", at)
