"""views.*: modals and the Home view."""

from tests.standins.slack.methods_chat import Method
from tests.standins.slack.people import Person
from tests.standins.slack.teams import Team
from tests.standins.slack.values import Arguments, Json, Refused, decoded
from tests.standins.slack.views import open_view, publish_view, push_view, update_view


def views_open(team: Team, given: Arguments) -> Json:
    """views.open."""
    trigger = team.slack.exchange(given.needs("trigger_id"), team)
    return _answer(open_view(trigger.person, _view(given)))


def views_push(team: Team, given: Arguments) -> Json:
    """views.push: the trigger must come from a modal."""
    trigger = team.slack.exchange(given.needs("trigger_id"), team)
    if not trigger.view_id:
        raise Refused("invalid_trigger_id")
    return _answer(push_view(trigger.person, _view(given)))


def views_update(team: Team, given: Arguments) -> Json:
    """views.update."""
    person, before = _shown(team, given)
    if "hash" in given and given.text("hash") != before["hash"]:
        raise Refused("hash_conflict")
    return _answer(update_view(person, before, _view(given)))


def views_publish(team: Team, given: Arguments) -> Json:
    """views.publish."""
    person = team.people.get(given.needs("user_id"))
    if person is None:
        raise Refused("user_not_found")
    if "hash" in given and person.home and given.text("hash") != person.home["hash"]:
        raise Refused("hash_conflict")
    return _answer(publish_view(person, _view(given)))


def _view(given: Arguments) -> object:
    return decoded(given.values.get("view"))


def _shown(team: Team, given: Arguments) -> tuple[Person, Json]:
    name, value = (
        ("view_id", given.text("view_id")) if "view_id" in given else ("external_id", given.needs("external_id"))
    )
    for person in team.people.values():
        for view in person.views:
            if view["id" if name == "view_id" else name] == value:
                return person, view
    raise Refused("not_found")


def _answer(view: Json) -> Json:
    return {"ok": True, "view": view}


METHODS: dict[str, Method] = {
    "views.open": views_open,
    "views.push": views_push,
    "views.update": views_update,
    "views.publish": views_publish,
}
