"""The Slack stand-in behaves as Slack does towards the real SDK and a small Bolt app, over real sockets."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import aiohttp
import pytest
from aiohttp import web
from slack_bolt.adapter.aiohttp import to_aiohttp_response, to_bolt_request
from slack_bolt.adapter.socket_mode.aiohttp import AsyncSocketModeHandler
from slack_bolt.async_app import AsyncApp
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from tests.standins.slack.people import Person
from tests.standins.slack.server import SlackStandin
from tests.standins.slack.teams import Channel, Team
from tests.standins.slack.values import Json

TOKEN = "xoxb-1"


@dataclass
class Place:
    """A Slack with a workspace, a channel, two people and a client of the app."""

    slack: SlackStandin
    team: Team
    general: Channel
    ana: Person
    ben: Person
    client: AsyncWebClient

    async def post(self, **arguments: Any) -> Json:
        answer = await self.client.chat_postMessage(channel="C1", **{"text": "hello", **arguments})
        found = self.general.message(answer["ts"])
        assert found
        return found

    async def refusal(self, method: str, **arguments: Any) -> Json:
        with pytest.raises(SlackApiError) as refused:
            await self.client.api_call(method, json=arguments)
        answer: Json = refused.value.response.data
        return answer

    async def error(self, method: str, **arguments: Any) -> str:
        return str((await self.refusal(method, **arguments))["error"])


@pytest.fixture
async def place() -> AsyncIterator[Place]:
    async with SlackStandin.started() as slack:
        slack.echo = False
        team = slack.team("T1", bot_token=TOKEN)
        general, ana, ben = team.channel("C1", "general"), team.person("U1", "ana"), team.person("U2", "ben")
        async with aiohttp.ClientSession() as session:
            client = AsyncWebClient(TOKEN, base_url=slack.api_url, session=session, retry_handlers=[])
            yield Place(slack, team, general, ana, ben, client)


def words(text: str, **more: Any) -> Json:
    return {"type": "section", "text": {"type": "mrkdwn", "text": text}, **more}


def button(label: str, **more: Any) -> Json:
    return {"type": "button", "text": {"type": "plain_text", "text": label}, "action_id": label.lower(), **more}


def row(*elements: Json) -> Json:
    return {"type": "actions", "elements": list(elements)}


def asks(label: str, kind: str = "plain_text_input", *, optional: bool = False, **more: Any) -> Json:
    element = {"type": kind, "action_id": "given", **more}
    named = {"type": "plain_text", "text": label}
    return {"type": "input", "block_id": label.lower(), "label": named, "element": element, "optional": optional}


def choice(label: str) -> Json:
    return {"text": {"type": "plain_text", "text": label}, "value": label.lower()}


def modal(*blocks: Json, **more: Any) -> Json:
    named = {part: {"type": "plain_text", "text": part.title()} for part in ("title", "submit")}
    return {"type": "modal", "callback_id": "form", "blocks": list(blocks), **named, **more}


# Apps


def small_app(client: AsyncWebClient) -> AsyncApp:
    """Opens a form on /agent, edits the message on Approve, keeps what was said."""
    app = AsyncApp(client=client, signing_secret="s3cret")
    app.heard = heard = []  # type: ignore[attr-defined]

    @app.command("/agent")
    async def command(ack: Any, body: Any, client: AsyncWebClient) -> None:
        await ack(text=f"you said {body['text']}")
        heard.append(body)

    @app.action("approve")
    async def approve(ack: Any, body: Any, client: AsyncWebClient) -> None:
        await ack()
        heard.append(body)
        await client.chat_update(channel=body["channel"]["id"], ts=body["message"]["ts"], text="approved", blocks=[])

    @app.action("edit")
    async def edit(ack: Any, body: Any, client: AsyncWebClient) -> None:
        await client.views_open(trigger_id=body["trigger_id"], view=modal(asks("Name"), asks("Notes", optional=True)))
        await ack()

    @app.view("form")
    async def submitted(ack: Any, body: Any) -> None:
        heard.append(body)
        name = body["view"]["state"]["values"]["name"]["given"]["value"]
        if name == "Eve":
            await ack(response_action="errors", errors={"name": "No Eve here."})
        else:
            await ack()

    for name in (
        "message",
        "app_mention",
        "app_home_opened",
        "agent_session_stopped",
        "user_change",
        "tokens_revoked",
        "app_uninstalled",
    ):

        @app.event(name)
        async def event(body: Any) -> None:
            heard.append(body)

    return app


@asynccontextmanager
async def over_http(place: Place) -> AsyncIterator[AsyncApp]:
    app = small_app(place.client)

    async def handle(request: web.Request) -> web.Response:
        return await to_aiohttp_response(await app.async_dispatch(await to_bolt_request(request)))

    server = web.Application()
    server.router.add_post("/slack/events", handle)
    async with serving(server) as url:
        place.slack.deliver_to(f"{url}/slack/events")
        yield app


@asynccontextmanager
async def serving(server: web.Application) -> AsyncIterator[str]:
    runner = web.AppRunner(server, access_log=None, shutdown_timeout=1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


@asynccontextmanager
async def over_sockets(place: Place) -> AsyncIterator[AsyncApp]:
    app = small_app(place.client)
    handler = AsyncSocketModeHandler(app, "xapp-1-A1", web_client=place.client)
    await handler.connect_async()  # type: ignore[no-untyped-call]
    await place.slack.connected()
    try:
        yield app
    finally:
        tasks = [
            handler.client.message_processor,
            handler.client.current_session_monitor,
            handler.client.message_receiver,
        ]
        await handler.close_async()  # type: ignore[no-untyped-call]
        await asyncio.gather(*[task for task in tasks if task], return_exceptions=True)


@pytest.fixture(params=[over_http, over_sockets])
async def app(request: pytest.FixtureRequest, place: Place) -> AsyncIterator[AsyncApp]:
    async with request.param(place) as app:
        yield app


async def test_a_slash_command_is_answered_for_one_person(place: Place, app: AsyncApp) -> None:
    answer = await place.ana.types("/agent", "list", place.general)
    assert answer.status == 200
    assert [message["text"] for message in place.ana.ephemerals] == ["you said list"]
    assert place.ben.ephemerals == []


async def test_a_click_changes_the_message(place: Place, app: AsyncApp) -> None:
    message = await place.post(blocks=[words("May I?"), row(button("Approve", value="t1"), button("Deny"))])
    assert (await place.ana.clicks(message, "Approve")).is_acknowledged
    await place.slack.until(lambda: place.general.messages[0]["text"] == "approved")
    assert place.general.messages[0]["blocks"] == []
    assert message["blocks"], "what a person saw stays as it was"


async def test_a_form_is_opened_filled_in_and_sent(place: Place, app: AsyncApp) -> None:
    message = await place.post(blocks=[row(button("Edit"))])
    await place.ana.clicks(message, "Edit")
    assert place.ana.view
    refused = await place.ana.submits(place.ana.view, {"Name": "Eve"})
    assert refused.body["errors"] == {"name": "No Eve here."}
    assert place.ana.view["state"]["values"]["name"]["given"]["value"] == "Eve"
    await place.ana.submits(place.ana.view, {"Name": "Ada", "Notes": "careful"})
    assert place.ana.view is None
    assert place.slack.warnings == []


async def test_messages_and_mentions_reach_the_app(place: Place, app: AsyncApp) -> None:
    root = await place.ana.says(place.general, "<@UBOTT1> do it")
    await place.ana.says(place.general, "and this", thread=root, files=[("a.txt", b"abc")])
    delivered = [delivery.payload["event"] for delivery in place.slack.deliveries]
    assert [event["type"] for event in delivered] == ["message", "app_mention", "message"]
    assert delivered[2]["thread_ts"] == root["ts"]
    assert delivered[2]["subtype"] == "file_share"
    assert all(delivery.status == 200 for delivery in place.slack.deliveries)
    assert place.general.thread(root["ts"])[0]["reply_count"] == 1


async def test_other_events_reach_the_app(place: Place, app: AsyncApp) -> None:
    root = await place.ana.says(place.general, "go")
    await place.ana.opens_home("messages")
    await place.ana.presses_native_stop(place.general, root["ts"])
    await place.ana.become("guest")
    await place.slack.uninstall(place.team)
    kinds = [delivery.name for delivery in place.slack.deliveries]
    assert kinds == [
        "message",
        "app_home_opened",
        "agent_session_stopped",
        "user_change",
        "tokens_revoked",
        "app_uninstalled",
    ]
    with pytest.raises(SlackApiError, match="token_revoked"):
        await place.client.auth_test()
