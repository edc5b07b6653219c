"""People: what they write, click, fill in and open, each told to the app as Slack tells it."""

import asyncio
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from tests.standins.slack import forms, responses, uploads, views
from tests.standins.slack.values import Answer, Json

if TYPE_CHECKING:
    from tests.standins.slack.teams import Channel, Team

Kind: TypeAlias = Literal["member", "admin", "guest", "external", "bot"]
MENTION = re.compile(r"<@([UW]\w+)>")
MARKUP = re.compile(r"(<[@#!][^<>]+>|<https?:[^<>]+>)")


@dataclass(eq=False, slots=True, kw_only=True)
class Person:
    """Somebody in a workspace, and what is on that person's screen alone."""

    team: "Team" = field(repr=False)
    id: str
    name: str
    kind: Kind = "member"
    deleted: bool = False
    foreign: str = ""
    views: list[Json] = field(default_factory=list)
    home: Json | None = None
    ephemerals: list[Json] = field(default_factory=list)
    typed: dict[str, dict[forms.Key, Json]] = field(default_factory=dict)

    @property
    def home_team(self) -> str:
        """The id of the workspace the person belongs to."""
        return self.foreign if self.kind == "external" else self.team.id

    @property
    def view(self) -> Json | None:
        """The open modal, the topmost of several, with what is typed in it; None when there is none."""
        return self._with_state(self.views[-1]) if self.views else None

    def become(self, kind: Kind | Literal["deleted"]) -> asyncio.Task[None]:
        """Change what the person is; awaiting the result waits for `user_change` to be delivered."""
        if kind == "deleted":
            self.deleted = True
        else:
            self.kind = kind
        event = {"type": "user_change", "user": self.described(), "cache_ts": 1}
        return self.team.slack.courier.in_background(self.team.slack.courier.event(self.team, event))

    def described(self) -> Json:
        """As users.info tells it."""
        profile = {"real_name": self.name.title(), "display_name": self.name, "team": self.home_team}
        return {
            "id": self.id,
            "team_id": self.home_team,
            "name": self.name,
            "real_name": self.name.title(),
            "deleted": self.deleted,
            "is_admin": self.kind == "admin",
            "is_owner": False,
            "is_restricted": self.kind == "guest",
            "is_ultra_restricted": False,
            "is_stranger": self.kind == "external",
            "is_bot": self.kind == "bot",
            "is_app_user": False,
            "updated": 1,
            "tz": "Europe/Amsterdam",
            "profile": profile,
        }

    async def says(
        self,
        channel: "Channel",
        text: str,
        *,
        thread: str | Json | None = None,
        files: Sequence[uploads.Upload] = (),
    ) -> Json:
        """Write a message; returns when the app has taken its events, or could have."""
        stored = self.writes(channel, text, thread=thread, files=files)
        await self.tells(channel, stored)
        return stored

    def writes(
        self,
        channel: "Channel",
        text: str,
        *,
        thread: str | Json | None = None,
        files: Sequence[uploads.Upload] = (),
    ) -> Json:
        """Write a message of which the app does not hear yet."""
        root = thread["ts"] if isinstance(thread, dict) else thread
        message: Json = {"user": self.id, "text": _escaped(text), "team": self.home_team, "blocks": _composed(text)}
        message["client_msg_id"] = self.team.slack.new_id("message-")
        if self.kind == "external":
            message |= {"user_team": self.home_team, "source_team": self.home_team}
        if self.kind == "bot":
            message |= {"bot_id": f"B{self.id}"}
        if root:
            message["thread_ts"] = root
        if files:
            kept = [uploads.keep(self.team.slack, upload, self.id) for upload in files]
            message |= {"subtype": "file_share", "files": kept, "upload": False}
        return channel.add(message)

    async def tells(self, channel: "Channel", stored: Json) -> None:
        """Have the app hear of a message that was written."""
        if channel.bot_is_member:
            await self._tell(channel, stored)

    async def types(self, command: str, text: str, channel: "Channel") -> Answer:
        """Send a slash command; what the app answers shows up as Slack would show it."""
        slack = self.team.slack
        fields = {
            "token": "verification-token",
            "team_id": self.team.id,
            "team_domain": self.team.domain,
            "channel_id": channel.id,
            "channel_name": channel.name,
            "user_id": self.id,
            "user_name": self.name,
            "command": command,
            "text": text,
            "api_app_id": slack.app_id,
            "is_enterprise_install": "false",
            "response_url": responses.issue(self, channel, kind="commands"),
            "trigger_id": slack.trigger(self),
        }
        answer = await slack.courier.command(fields)
        responses.show_answer(self, channel, answer)
        return answer

    async def clicks(self, message: Json, label: str, *, which: int | None = None) -> Answer:
        """Press a button of the message, or choose an option, by what it says."""
        return await self._acts_on(message, forms.clicked(message.get("blocks", []), label, which))

    async def enters(self, message: Json, text: str, label: str = "") -> Answer:
        """Fill in an input of the message, or of a view, and press Enter; the label tells several apart."""
        widget = forms.entry(message["blocks"], label)
        is_view = "root_view_id" in message
        self.typed.setdefault(message["id" if is_view else "ts"], {})[widget.key] = forms.filled(widget, text)
        assert widget.block.get("dispatch_action"), f"nothing happens on Enter in {widget.label!r}"
        act = self._acts_in if is_view else self._acts_on
        return await act(message, forms.entered(widget, text))

    async def clicks_in(self, view: Json, label: str, *, which: int | None = None) -> Answer:
        """Press a button of a modal or of the Home view, or choose an option."""
        return await self._acts_in(view, forms.clicked(self._current(view)["blocks"], label, which))

    async def submits(self, view: Json, values: Mapping[str, Any] | None = None) -> Answer:
        """Fill in a form, by label or block id, and send it; the answer is done to the view."""
        current = self._current(view)
        assert current["submit"], "this view has nothing to press"
        assert current["id"] == self.views[-1]["id"], "another view is on top"
        for name, value in (values or {}).items():
            widget = forms.entry(current["blocks"], name)
            kept = uploads.keep_all(self.team.slack, value, self.id) if widget.kind == "file_input" else value
            self.typed.setdefault(current["id"], {})[widget.key] = forms.filled(widget, kept)
        forms.check_complete(current["blocks"], self.typed.get(current["id"], {}))
        facts = {"trigger_id": self.team.slack.trigger(self, current["id"]), "response_urls": []}
        payload = self._payload("view_submission") | facts | {"view": self._with_state(current)}
        answer = await self.team.slack.courier.interaction(payload)
        if answer.is_acknowledged:
            views.answer_submission(self, current, answer.body)
        return answer

    async def closes(self, view: Json) -> Answer:
        """Close a modal without sending it."""
        current = self._current(view)
        self.views = [] if current["clear_on_close"] else [each for each in self.views if each["id"] != current["id"]]
        self.team.slack.changed()
        if not current["notify_on_close"]:
            return Answer(200, "", 0)
        gone = {"view": self._with_state(current), "is_cleared": not self.views and current["clear_on_close"]}
        return await self.team.slack.courier.interaction(self._payload("view_closed") | gone)

    async def opens_home(self, tab: Literal["home", "messages"] = "home") -> None:
        """Look at the app's Home, or at its direct message."""
        event: Json = {"type": "app_home_opened", "user": self.id, "tab": tab, "channel": self.team.direct(self).id}
        if tab == "home" and self.home:
            event["view"] = self._with_state(self.home)
        await self.team.slack.courier.event(self.team, event)

    async def presses_native_stop(self, channel: "Channel", thread_ts: str) -> None:
        """Press the Stop that Slack shows while a session is processing."""
        place = {"channel": channel.id, "thread_ts": thread_ts, "user": self.id, "streaming_message_ts": []}
        await self.team.slack.courier.event(self.team, {"type": "agent_session_stopped", **place})

    async def _tell(self, channel: "Channel", message: Json) -> None:
        courier = self.team.slack.courier
        events = [courier.tells_of_message(channel, message)]
        if channel.kind != "im" and self.team.bot_user in MENTION.findall(message["text"]):
            names = ("user", "text", "ts", "team", "thread_ts", "blocks", "files", "user_team", "source_team", "bot_id")
            mention = {name: message[name] for name in names if name in message}
            mention |= {"type": "app_mention", "channel": channel.id, "event_ts": message["ts"]}
            events.append(courier.event(self.team, mention, is_shared=channel.is_shared))
        await asyncio.gather(*events)

    async def _acts_on(self, message: Json, action: Json) -> Answer:
        slack = self.team.slack
        channel, current = responses.find(self, message)
        place: Json = {"message_ts": message["ts"], "channel_id": channel.id}
        if "thread_ts" in current:
            place["thread_ts"] = current["thread_ts"]
        is_ephemeral = bool(current.get("is_ephemeral"))
        payload = self._payload("block_actions") | {
            "container": {"type": "message", **place, "is_ephemeral": is_ephemeral},
            "trigger_id": slack.trigger(self),
            "channel": {"id": channel.id, "name": channel.name},
            "state": self._state(message["ts"], current.get("blocks", []), action),
            "response_url": responses.issue(self, channel, kind="actions", original=current),
            "actions": [forms.with_ts(action, slack.ts())],
        }
        if not is_ephemeral:
            payload["message"] = current
        return await slack.courier.interaction(payload)

    async def _acts_in(self, view: Json, action: Json) -> Answer:
        current = self._current(view)
        self._state(current["id"], current["blocks"], action)
        payload = self._payload("block_actions") | {
            "container": {"type": "view", "view_id": current["id"]},
            "trigger_id": self.team.slack.trigger(self, current["id"]),
            "view": self._with_state(current),
            "actions": [forms.with_ts(action, self.team.slack.ts())],
        }
        return await self.team.slack.courier.interaction(payload)

    def _payload(self, kind: str) -> Json:
        domain = self.team.domain if self.home_team == self.team.id else self.home_team.lower()
        return {
            "type": kind,
            "user": {"id": self.id, "username": self.name, "name": self.name, "team_id": self.home_team},
            "api_app_id": self.team.slack.app_id,
            "token": "verification-token",
            "team": {"id": self.home_team, "domain": domain},
            "enterprise": None,
            "is_enterprise_install": False,
        }

    def _state(self, place: str, blocks: Sequence[Json], action: Json) -> Json:
        held = forms.held(action)
        if held:
            self.typed.setdefault(place, {})[action["block_id"], action["action_id"]] = held
        return forms.state(blocks, self.typed.get(place, {}))

    def _current(self, view: Json) -> Json:
        shown = [*self.views, *([self.home] if self.home else [])]
        found = [each for each in shown if each["id"] == view["id"]]
        assert found, "this view is closed"
        return found[0]

    def _with_state(self, view: Json) -> Json:
        return {**view, "state": forms.state(view["blocks"], self.typed.get(view["id"], {}))}


def _escaped(text: str) -> str:
    """As Slack gives what people typed: mentions and links marked up, all else escaped."""
    return "".join(part if MARKUP.fullmatch(part) else escape(part, quote=False) for part in MARKUP.split(text))


def _composed(text: str) -> list[Json]:
    parts: list[Json] = []
    for number, part in enumerate(MENTION.split(text)):
        if part:
            parts.append({"type": "user", "user_id": part} if number % 2 else {"type": "text", "text": part})
    section = {"type": "rich_text_section", "elements": parts}
    return [{"type": "rich_text", "block_id": "typed", "elements": [section]}] if parts else []
