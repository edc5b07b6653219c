"""The app that people paste into Slack is the one that the code is: its events, its command, its permissions."""

import ast
import copy
import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias, cast

import pytest
import yaml
from slack_sdk.web.async_client import AsyncWebClient

from adapters.slack.connection import EVENTS_PATH
from adapters.slack.inbound.context import SlackContext
from adapters.slack.inbound.messages import SlackMessageListener
from adapters.slack.inbound.routing import COMMAND, SCOPES, EventRouter
from adapters.slack.install.oauth import REDIRECT_PATH

Manifest: TypeAlias = dict[str, Any]
ROOT = Path(__file__).parents[4]
TEXT = (ROOT / "manifest.yml").read_text(encoding="utf-8")
HISTORY = ("channels:history", "groups:history", "im:history")

# docs.slack.dev/reference/methods/…, under "Scopes"
OF_METHODS: dict[str, tuple[str, ...]] = {
    "agents.sessions.setStatus": ("assistant:write", "chat:write"),
    "apps.connections.open": (),  # wants connections:write of the app-level token
    "auth.test": (),
    "chat.delete": ("chat:write",),
    "chat.postEphemeral": ("chat:write",),
    "chat.postMessage": ("chat:write", "chat:write.customize"),
    "chat.update": ("chat:write",),
    "conversations.history": HISTORY,
    "conversations.replies": HISTORY,
    "conversations.open": ("im:write",),
    "files.info": ("files:read",),
    "files.upload.v2": ("files:write",),  # files.getUploadURLExternal and files.completeUploadExternal
    "oauth.v2.access": (),
    "reactions.add": ("reactions:write",),
    "usergroups.list": ("usergroups:read",),
    "usergroups.users.list": ("usergroups:read",),
    "users.conversations": ("channels:read", "groups:read"),
    "users.info": ("users:read",),
    "users.list": ("users:read",),
    "views.open": (),
    "views.publish": (),
    "views.update": (),
}
# docs.slack.dev/reference/events/…, under "Required Scopes"
OF_EVENTS: dict[str, tuple[str, ...]] = {
    "agent_session_stopped": ("assistant:write",),
    "app_home_opened": (),
    "app_mention": ("app_mentions:read",),
    "app_uninstalled": (),
    "message.channels": ("channels:history",),
    "message.groups": ("groups:history",),
    "message.im": ("im:history",),
    "team_join": ("users:read",),
    "tokens_revoked": (),
    "user_change": ("users:read",),
}
# docs.slack.dev/reference/scopes/commands, docs.slack.dev/ai/agent-sessions
OF_FEATURES = {"slash_commands": "commands", "agent_view": "assistant:write"}
# Bolt's name → Slack's names in a manifest, where they differ: docs.slack.dev/reference/events/message
KINDS = {"message": ("message.channels", "message.groups", "message.im")}
# github.com/slackapi/manifest-schema, schemas/manifest.schema.2.0.0.json; a list's length is its number of entries
LENGTHS = {
    "display_information.name": (1, 35),
    "display_information.description": (1, 140),
    "display_information.long_description": (175, 4000),
    "features.bot_user.display_name": (1, 80),
    "features.agent_view.agent_description": (1, 300),
    "features.agent_view.suggested_prompts": (1, 4),
    "features.slash_commands": (1, 50),
    "features.slash_commands.0.command": (2, 32),
    "features.slash_commands.0.description": (1, 2000),
    "features.slash_commands.0.usage_hint": (1, 1000),
    "settings.event_subscriptions.bot_events": (1, 100),
}
KEYS = {
    "": {"display_information", "features", "oauth_config", "settings"},
    "display_information": {"name", "description", "long_description", "background_color"},
    "features": {"app_home", "bot_user", "agent_view", "slash_commands"},
    "features.app_home": {"home_tab_enabled", "messages_tab_enabled", "messages_tab_read_only_enabled"},
    "features.bot_user": {"display_name", "always_online"},
    "features.agent_view": {"agent_description", "suggested_prompts"},
    "features.slash_commands.0": {"command", "description", "usage_hint", "should_escape", "url"},
    "oauth_config": {"scopes", "redirect_urls"},
    "oauth_config.scopes": {"bot"},
    "settings": {
        "event_subscriptions",
        "interactivity",
        "org_deploy_enabled",
        "socket_mode_enabled",
        "token_rotation_enabled",
    },
    "settings.event_subscriptions": {"bot_events", "request_url"},
    "settings.interactivity": {"is_enabled", "request_url"},
}


def manifest() -> Manifest:
    return cast("Manifest", yaml.safe_load(TEXT))


def changed_for(*marks: str) -> Manifest:
    """The manifest with the lines of these marks as its first lines say that they change."""
    text = TEXT
    for mark in marks:
        text = re.sub(rf"^( *)# {mark}: (\w+: .+)$", r"\1\2", text, flags=re.MULTILINE)
        text = re.sub(rf"\w+ # {mark}: (\w+)$", r"\1", text, flags=re.MULTILINE)
    return cast("Manifest", yaml.safe_load(text))


def at(there: Any, path: str) -> Any:
    for name in filter(None, path.split(".")):
        there = there[int(name)] if isinstance(there, list) else (there or {}).get(name)
    return there


def listened() -> set[str]:
    # Only the names are asked for, so nobody has to be at the context.
    events = EventRouter(
        context=cast("SlackContext", None), messages=cast("SlackMessageListener", None), installed=None
    ).by_name
    return {name for event in events for name in KINDS.get(event, (event,))}


@cache
def called() -> frozenset[str]:
    return frozenset(name for path in (ROOT / "adapters/slack").rglob("*.py") for name in called_in(path.read_text()))


def called_in(source: str) -> Iterator[str]:
    """The Web API methods that a module asks for."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            name = node.func.attr
            if name == "api_call":
                yield str(ast.literal_eval(node.args[0]))
            elif inspect.iscoroutinefunction(getattr(AsyncWebClient, name, None)):
                yield name.replace("_", ".")


def faults(app: Manifest) -> list[str]:
    """Everything in which the app is not what the code is, or not what Slack takes."""
    return [*events_of(app), *commands_of(app), *scopes_of(app), *keys_of(app), *lengths_of(app), *switches_of(app)]


def events_of(app: Manifest) -> Iterator[str]:
    named = app["settings"]["event_subscriptions"]["bot_events"]
    yield from (f"nobody listens to {name}" for name in {*named} - listened())
    yield from (f"{name} does not come" for name in listened() - {*named})
    yield from _twice(named)


def commands_of(app: Manifest) -> Iterator[str]:
    if (names := [command["command"] for command in app["features"]["slash_commands"]]) != [COMMAND]:
        yield f"{names} are not {COMMAND}"


def scopes_of(app: Manifest) -> Iterator[str]:
    granted = app["oauth_config"]["scopes"]["bot"]
    if {*granted} != {*SCOPES}:
        yield f"the install page asks for other permissions: {sorted({*granted} ^ {*SCOPES})}"
    needed = dict(_needed(app))
    yield from (f"{scope} is missing for {why}" for scope, why in needed.items() if scope not in granted)
    yield from (f"{scope} is needed by nothing" for scope in granted if scope not in needed)
    yield from _twice(granted)


def keys_of(app: Manifest) -> Iterator[str]:
    for path, keys in KEYS.items():
        yield from (f"Slack knows no {path}.{key}" for key in {*(at(app, path) or ())} - keys)


def lengths_of(app: Manifest) -> Iterator[str]:
    for path, (least, most) in LENGTHS.items():
        if not least <= len(at(app, path) or "") <= most:
            yield f"{path} is too short or too long"
    if not re.fullmatch("#[0-9a-f]{6}", app["display_information"]["background_color"]):
        yield "background_color is no colour"
    if any({*prompt} != {"title", "message"} for prompt in at(app, "features.agent_view.suggested_prompts") or ()):
        yield "a suggested prompt has a title and a message"


def switches_of(app: Manifest) -> Iterator[str]:
    wanted = {
        "features.app_home.home_tab_enabled": True,
        "features.app_home.messages_tab_enabled": True,
        "features.app_home.messages_tab_read_only_enabled": False,
        "features.bot_user.always_online": True,
        "features.slash_commands.0.should_escape": False,
        "settings.interactivity.is_enabled": True,
        "settings.org_deploy_enabled": False,
    }
    yield from (f"{path} is not {value}" for path, value in wanted.items() if at(app, path) is not value)


def _needed(app: Manifest) -> Iterator[tuple[str, str]]:
    for method in called():
        yield from ((scope, method) for scope in OF_METHODS.get(method, ()))
    for event in app["settings"]["event_subscriptions"]["bot_events"]:
        yield from ((scope, event) for scope in OF_EVENTS.get(event, ()))
    yield from ((scope, feature) for feature, scope in OF_FEATURES.items() if feature in app["features"])


def _twice(names: list[str]) -> Iterator[str]:
    yield from (f"{name} stands there twice" for name in {*names} if names.count(name) > 1)


def spoilt(change: Callable[[Manifest], object]) -> Manifest:
    app = copy.deepcopy(manifest())
    change(app)
    return app


SPOILT: Mapping[str, tuple[Callable[[Manifest], object], str]] = {
    "an event less": (lambda app: at(app, "settings.event_subscriptions.bot_events").remove("team_join"), "not come"),
    "an event more": (lambda app: at(app, "settings.event_subscriptions.bot_events").append("pin_added"), "nobody"),
    "an event twice": (lambda app: at(app, "settings.event_subscriptions.bot_events").append("team_join"), "twice"),
    "another command": (lambda app: at(app, "features.slash_commands.0").update(command="/bot"), "/agent"),
    "a scope less": (lambda app: at(app, "oauth_config.scopes.bot").remove("files:write"), "files:write is missing"),
    "a scope more": (lambda app: at(app, "oauth_config.scopes.bot").append("pins:read"), "needed by nothing"),
    "no agent view": (lambda app: app["features"].pop("agent_view"), "agent_description"),
    "a word that Slack lacks": (lambda app: app["features"].update(assistant_view={}), "Slack knows no"),
    "a long name": (lambda app: app["display_information"].update(name="S" * 36), "display_information.name"),
    "a short story": (lambda app: app["display_information"].update(long_description="S" * 174), "long_description"),
    "a long hint": (lambda app: at(app, "features.slash_commands.0").update(usage_hint="n" * 1001), "usage_hint"),
    "a fifth prompt": (lambda app: at(app, "features.agent_view.suggested_prompts").extend([{}] * 4), "suggested"),
    "no buttons": (lambda app: at(app, "settings.interactivity").update(is_enabled=False), "interactivity"),
    "a mute home": (lambda app: at(app, "features.app_home").update(messages_tab_read_only_enabled=True), "read_only"),
}


@pytest.mark.slow
def test_the_app_is_the_one_that_the_code_is() -> None:
    assert faults(manifest()) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", SPOILT)
def test_an_app_that_is_another_one_is_told(name: str) -> None:
    change, said = SPOILT[name]
    assert any(said in fault for fault in faults(spoilt(change)))


def test_every_method_that_is_called_has_its_permissions_in_the_table_and_no_other_has() -> None:
    assert called() == {*OF_METHODS}
    assert listened() == {*OF_EVENTS}


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("lambda client: client.pins_add(channel=c)", ["pins.add"]),
        ("await self.api.client(token).auth_test()", ["auth.test"]),
        ("client.api_call('oauth.v2.access', data=given)", ["oauth.v2.access"]),
        ("await self.context.open(event, view)", []),
    ],
)
def test_a_call_of_slacks_is_found_wherever_it_stands(source: str, found: list[str]) -> None:
    assert list(called_in(source)) == found


def test_by_socket_no_address_is_named() -> None:
    app = manifest()
    assert app["settings"]["socket_mode_enabled"] is True
    assert app["settings"]["token_rotation_enabled"] is False  # SLACK_BOT_TOKEN would expire
    assert "https:" not in yaml.safe_dump(app)


def test_by_http_everything_goes_where_signoff_listens() -> None:
    app, address = changed_for("HTTP"), f"https://YOUR-HOST{EVENTS_PATH}"
    assert faults(app) == []
    assert app["settings"]["socket_mode_enabled"] is False
    assert app["settings"]["token_rotation_enabled"] is False
    assert _addresses(app) == [address] * 3


def test_for_many_workspaces_people_are_sent_back_to_where_signoff_waits() -> None:
    app = changed_for("HTTP", "MANY")
    assert faults(app) == []
    assert app["settings"]["token_rotation_enabled"] is True
    assert app["oauth_config"]["redirect_urls"] == [f"https://YOUR-HOST{REDIRECT_PATH}"]


def _addresses(app: Manifest) -> list[str]:
    places: Iterable[str] = (
        "features.slash_commands.0.url",
        "settings.event_subscriptions.request_url",
        "settings.interactivity.request_url",
    )
    return [at(app, place) for place in places]
