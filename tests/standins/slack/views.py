"""Modals and Home views: opening, replacing, stacking, and what an answer to a submission does to them."""

from typing import TYPE_CHECKING, Any

from tests.standins.slack.blockkit import check_view, with_ids
from tests.standins.slack.forms import widgets
from tests.standins.slack.values import Json, Refused

if TYPE_CHECKING:
    from tests.standins.slack.people import Person

MOST_STACKED = 3
GIVEN = (
    "private_metadata",
    "callback_id",
    "external_id",
    "title",
    "submit",
    "close",
    "clear_on_close",
    "notify_on_close",
)


def made(person: "Person", given: Any, before: Json | None = None) -> Json:
    """The view as Slack keeps it; `before` is the one it replaces."""
    check_view(given)
    slack = person.team.slack
    view_id = before["id"] if before else slack.new_id("V")
    _check_external_id(person, given, view_id)
    return {
        "id": view_id,
        "team_id": person.team.id,
        "app_id": slack.app_id,
        "app_installed_team_id": person.team.id,
        "bot_id": person.team.bot_id,
        "private_metadata": "",
        "callback_id": "",
        "external_id": "",
        "title": None,
        "submit": None,
        "close": None,
        "clear_on_close": False,
        "notify_on_close": False,
        **{name: given[name] for name in GIVEN if name in given},
        "type": given["type"],
        "blocks": with_ids(given["blocks"], f"{view_id}."),
        "hash": slack.new_id("156772938."),
        "root_view_id": before["root_view_id"] if before else view_id,
        "previous_view_id": before["previous_view_id"] if before else None,
    }


def open_view(person: "Person", given: Any) -> Json:
    """A new modal takes the place of the one that is open."""
    if isinstance(given, dict) and given.get("type") == "home":
        raise Refused("invalid_arguments", "[ERROR] unsupported type: home [json-pointer:/view/type]")
    view = made(person, given)
    person.views = [view]
    person.team.slack.changed()
    return view


def push_view(person: "Person", given: Any) -> Json:
    """A modal on top of the open one."""
    if not person.views:
        raise Refused("not_found")
    if len(person.views) >= MOST_STACKED:
        raise Refused("push_limit_reached")
    below = person.views[-1]
    view = made(person, given) | {"root_view_id": below["root_view_id"], "previous_view_id": below["id"]}
    person.views = [*person.views, view]
    person.team.slack.changed()
    return view


def update_view(person: "Person", before: Json, given: Any) -> Json:
    """Another form in place of an open one; what was typed stays where block and action are the same."""
    view = made(person, given, before)
    person.views = [view if each["id"] == view["id"] else each for each in person.views]
    kept = {widget.key for widget in widgets(view["blocks"])}
    person.typed[view["id"]] = {key: value for key, value in person.typed.get(view["id"], {}).items() if key in kept}
    person.team.slack.changed()
    return view


def publish_view(person: "Person", given: Any) -> Json:
    """The Home view of a person."""
    if isinstance(given, dict) and given.get("type") != "home":
        raise Refused("invalid_arguments", "[ERROR] unsupported type [json-pointer:/view/type]")
    person.home = made(person, given, person.home)
    person.team.slack.changed()
    return person.home


def answer_submission(person: "Person", view: Json, body: Any) -> None:
    """Do what the app answered to a form: nothing closes it, anything wrong is kept as a warning."""
    try:
        _answer(person, view, body)
    except Refused as refusal:
        person.team.slack.warnings.append(f"answer to {view['callback_id']}: {refusal.error} {refusal.messages}")
    person.team.slack.changed()


def _answer(person: "Person", view: Json, body: Any) -> None:
    match body:
        case "" | {} | None if not body:
            person.views = person.views[:-1]
        case {"response_action": "clear"}:
            person.views = []
        case {"response_action": "errors", "errors": dict(errors)} if errors:
            _check_errors(view, errors)
        case {"response_action": "update", "view": given}:
            update_view(person, view, given)
        case {"response_action": "push", "view": given}:
            push_view(person, given)
        case _:
            raise Refused("invalid_response_action", str(body))


def _check_errors(view: Json, errors: Json) -> None:
    known = [block["block_id"] for block in view["blocks"] if block["type"] == "input"]
    unknown = [block_id for block_id in errors if block_id not in known]
    if unknown:
        raise Refused("invalid_errors", f"no input has the block id {unknown}")


def _check_external_id(person: "Person", given: Json, view_id: str) -> None:
    external_id = given.get("external_id")
    if not external_id:
        return
    for other in person.team.people.values():
        shown = [*other.views, *([other.home] if other.home else [])]
        if any(view["external_id"] == external_id and view["id"] != view_id for view in shown):
            raise Refused("duplicate_external_id")
