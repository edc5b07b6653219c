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


async def test_what_people_type_arrives_escaped(place: Place) -> None:
    said = await place.ana.says(place.general, "a < b & <@U2> > <https://example.org|c>")
    assert said["text"] == "a &lt; b &amp; <@U2> &gt; <https://example.org|c>"


@pytest.mark.slow
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


# Deliveries


async def test_what_is_not_taken_over_http_is_delivered_again(place: Place) -> None:
    seen: list[tuple[str | None, str]] = []

    async def handle(request: web.Request) -> web.Response:
        seen.append((request.headers.get("X-Slack-Retry-Num"), (await request.json())["event_id"]))
        return web.Response(status=500 if len(seen) < 3 else 200)

    server = web.Application()
    server.router.add_post("/", handle)
    async with serving(server) as url:
        place.slack.deliver_to(url)
        await place.ana.says(place.general, "hello")
        await place.slack.settled()
        assert [retry for retry, _ in seen] == [None, "1", "2"]
        assert len({event_id for _, event_id in seen}) == 1
        first = place.slack.deliveries[0]
        await place.slack.redeliver(first, retry=3)
        assert seen[-1] == ("3", first.payload["event_id"])


@pytest.mark.slow
async def test_bolt_refuses_forged_and_stale_requests_and_answers_the_challenge(place: Place) -> None:
    async with over_http(place):
        assert await place.slack.verifies_url()
        body = b'{"type": "event_callback", "event": {"type": "message"}}'
        stale = await place.slack.post_raw(body, place.slack.signed(body, age=600))
        forged = await place.slack.post_raw(body + b" ", place.slack.signed(body))
        assert (stale.status, forged.status) == (401, 401)


async def test_an_app_that_does_not_answer_in_time_has_not_answered(place: Place) -> None:
    over = asyncio.Event()

    async def handle(request: web.Request) -> web.Response:
        await over.wait()
        return web.Response()

    server = web.Application()
    server.router.add_post("/", handle)
    async with serving(server) as url:
        place.slack.deliver_to(url)
        place.slack.patience = 0.05
        answer = await place.ana.types("/agent", "list", place.general)
        assert (answer.status, answer.body) == (0, "http_timeout")
        over.set()


@pytest.mark.slow
@pytest.mark.parametrize("warn", [True, False])
async def test_the_app_connects_again_when_its_socket_is_closed(place: Place, *, warn: bool) -> None:
    async with over_sockets(place):
        await place.slack.drop_sockets(warn=warn)
        await place.slack.connected()
        assert (await place.ana.types("/agent", "again", place.general)).body == {"text": "you said again"}


@pytest.mark.slow
async def test_what_happens_while_the_sockets_are_away_is_lost(place: Place) -> None:
    async with over_sockets(place) as app:
        with place.slack.away():
            await place.ana.says(place.general, "missed")
        await place.slack.connected()
        await place.ana.says(place.general, "heard")
        assert [body["event"]["text"] for body in app.heard] == ["heard"]  # type: ignore[attr-defined]


@pytest.mark.slow
async def test_the_app_hears_its_own_messages(place: Place) -> None:
    async with over_http(place):
        place.slack.echo = place.slack.echo_changes = True
        message = await place.post()
        await place.client.chat_update(channel="C1", ts=message["ts"], text="changed")
        await place.slack.settled()
        first, second = (delivery.payload["event"] for delivery in place.slack.deliveries)
        assert (first["bot_id"], first["text"]) == ("B0T1", "hello")
        assert (second["subtype"], second["message"]["text"]) == ("message_changed", "changed")


@pytest.mark.slow
async def test_people_of_another_workspace_are_strangers(place: Place) -> None:
    async with over_http(place) as app:
        zoe = place.team.person("U9", "zoe", kind="external", home="T9")
        shared = place.team.channel("C3", "shared", is_shared=True)
        await zoe.says(shared, "hi")
        message = await place.post(blocks=[row(button("Approve"))])
        await zoe.clicks(message, "Approve")
        said, click = app.heard  # type: ignore[attr-defined]
        assert (said["team_id"], said["event"]["user_team"], said["is_ext_shared_channel"]) == ("T1", "T9", True)
        assert (click["user"]["team_id"], click["team"]["id"], click["message"]["team"]) == ("T9", "T9", "T1")
        assert (await place.client.users_info(user="U9"))["user"]["is_stranger"]


# Faults


async def test_calls_fail_as_told(place: Place) -> None:
    place.slack.fails("chat.postMessage", times=2, status=429, retry_after="1")
    place.slack.fails("chat.postMessage", times=20, error="fatal_error")
    for _ in range(2):
        with pytest.raises(SlackApiError) as refused:
            await place.post()
        assert (refused.value.response.status_code, refused.value.response.headers["Retry-After"]) == (429, "1")
    assert await place.error("chat.postMessage", channel="C1", text="x") == "fatal_error"
    place.slack.recovers("chat.postMessage")
    assert (await place.post())["text"] == "hello"
    assert len(place.slack.calls_of("chat.postMessage")) == 4


async def test_a_connection_drops_after_the_effect(place: Place) -> None:
    place.slack.fails("chat.postMessage", status="drop", after_effect=True)
    with pytest.raises(aiohttp.ClientError):
        await place.post()
    assert [message["text"] for message in place.general.messages] == ["hello"]


# Web API


async def test_messages_that_are_not_there_are_refused(place: Place) -> None:
    root = await place.post()
    theirs = await place.ana.says(place.general, "mine")
    assert await place.error("chat.update", channel="C1", ts=theirs["ts"], text="x") == "cant_update_message"
    await place.general.delete_message(root["ts"])
    assert await place.error("chat.update", channel="C1", ts=root["ts"], text="x") == "message_not_found"
    assert await place.error("chat.postMessage", channel="C1", thread_ts=root["ts"], text="x") == "thread_not_found"
    assert await place.error("conversations.replies", channel="C1", ts=root["ts"]) == "thread_not_found"
    assert await place.error("chat.postMessage", channel="C0", text="x") == "channel_not_found"
    place.general.is_archived = True
    assert await place.error("chat.postMessage", channel="C1", text="x") == "is_archived"


async def test_an_update_with_text_alone_takes_the_blocks_away(place: Place) -> None:
    message = await place.post(blocks=[words("hello")])
    await place.client.chat_update(channel="C1", ts=message["ts"], text="over")
    assert (place.general.messages[0]["text"], place.general.messages[0]["blocks"]) == ("over", [])


async def test_metadata_is_read_only_when_asked_for(place: Place) -> None:
    await place.post(metadata={"event_type": "card", "event_payload": {"turn": "t1"}})
    without = await place.client.conversations_history(channel="C1")
    including = await place.client.conversations_history(channel="C1", include_all_metadata=True)
    assert "metadata" not in without["messages"][0]
    assert including["messages"][0]["metadata"]["event_payload"] == {"turn": "t1"}
    refused = await place.error("chat.postMessage", channel="C1", text="x", metadata={"event_type": "card"})
    assert refused == "invalid_metadata_format"


@pytest.mark.filterwarnings("ignore:BasicAuth is deprecated:DeprecationWarning")  # slack_sdk still uses it
# Views


async def a_trigger(place: Place) -> str:
    await place.ana.types("/agent", "", place.general)
    return str(place.slack.deliveries[-1].payload["trigger_id"])


async def test_a_trigger_opens_one_view_in_three_seconds(place: Place) -> None:
    trigger = await a_trigger(place)
    await place.client.views_open(trigger_id=trigger, view=modal(words("hello")))
    again = {"trigger_id": trigger, "view": modal(words("hello"))}
    assert await place.error("views.open", **again) == "exchanged_trigger_id"
    late = await a_trigger(place)
    place.slack.age_triggers()
    assert await place.error("views.open", trigger_id=late, view=modal(words("hello"))) == "expired_trigger_id"


async def test_a_form_is_not_sent_before_it_is_complete(place: Place) -> None:
    form = modal(
        asks("Name", max_length=3),
        asks("Colour", "static_select", options=[choice("Red"), choice("Blue")]),
        asks("Days", "checkboxes", options=[choice("Mon"), choice("Tue")], initial_options=[choice("Tue")]),
    )
    await place.client.views_open(trigger_id=await a_trigger(place), view=form)
    view = place.ana.view
    assert view
    for values, why in (
        ({"Colour": "Red"}, "'Name' is required"),
        ({"Name": "Adam"}, "no more than 3"),
        ({"Name": "Ada", "Colour": "Green"}, "no option"),
        ({"Nome": "Ada"}, "inputs are named"),
    ):
        with pytest.raises(AssertionError, match=why):
            await place.ana.submits(view, values)
    await place.ana.submits(view, {"name": "Ada", "Colour": "Blue"})
    sent = place.slack.deliveries[-1].payload["view"]["state"]["values"]
    assert sent["colour"]["given"]["selected_option"]["value"] == "blue"
    assert [option["value"] for option in sent["days"]["given"]["selected_options"]] == ["tue"]


async def test_closing_a_view_is_told_when_it_asks_for_that(place: Place) -> None:
    trigger = await a_trigger(place)
    await place.client.views_open(trigger_id=trigger, view=modal(words("x"), notify_on_close=True))
    assert place.ana.view
    await place.ana.closes(place.ana.view)
    assert place.ana.view is None
    assert place.slack.deliveries[-1].name == "view_closed"


# What people see and do


async def test_mentions_that_would_ring_are_listed(place: Place) -> None:
    rich = {
        "type": "rich_text_section",
        "elements": [{"type": "text", "text": "<!here>"}, {"type": "user", "user_id": "U2"}],
    }
    await place.post(
        text="&lt;!channel&gt; and <!channel>",
        blocks=[
            {"type": "header", "text": {"type": "plain_text", "text": "<!everyone>"}},
            words("<@U1> and <!subteam^S1>"),
            {"type": "rich_text", "elements": [rich]},
        ],
    )
    assert [mention.who for mention in place.slack.notified] == ["<!channel>", "<@U1>", "<!subteam^S1>", "<@U2>"]


async def test_blocks_without_a_text_are_noted(place: Place) -> None:
    with pytest.warns(UserWarning, match="top-level `text`"):
        await place.client.chat_postMessage(channel="C1", blocks=[words("hello")])
    assert place.slack.warnings == ["chat.postMessage: there are blocks without a top-level text"]


# Block Kit


def confirming(**parts: str) -> Json:
    whole = {"title": "Sure?", "text": "Really", "confirm": "Yes", "deny": "No", **parts}
    return {part: {"type": "plain_text", "text": text} for part, text in whole.items()}


def rich(*elements: Json, kind: str = "rich_text_section", **more: Any) -> Json:
    return {"type": "rich_text", "elements": [{"type": kind, "elements": list(elements), **more}]}


SAID = {"type": "text", "text": "x"}
FINE = {
    "fifty blocks": [{"type": "divider"}] * 50,
    "a full section": [words("x" * 3000)],
    "a button with all": [row(button("x" * 75, value="x" * 2000, style="danger", confirm=confirming(title="x" * 100)))],
    "25 buttons": [row(*(button(str(number)) for number in range(25)))],
    "a list": [
        rich({"type": "rich_text_section", "elements": [SAID]}, kind="rich_text_list", style="bullet", indent=1)
    ],
    "code": [rich(SAID, kind="rich_text_preformatted", border=1)],
    "markdown": [{"type": "markdown", "text": "x" * 12_000}],
    "context": [{"type": "context", "elements": [{"type": "mrkdwn", "text": "x"}] * 10}],
}
WRONG = {
    "51 blocks": ([{"type": "divider"}] * 51, "no more than 50"),
    "a long section": ([words("x" * 3001)], "less than 3001"),
    "astral characters": ([words("😀" * 1501)], "less than 3001"),
    "an empty text": ([words("")], "more than 0"),
    "a section of nothing": ([{"type": "section"}], "missing required field: text"),
    "many fields": ([{"type": "section", "fields": [words("x")["text"]] * 11}], "no more than 10"),
    "a long header": ([{"type": "header", "text": {"type": "plain_text", "text": "x" * 151}}], "less than 151"),
    "a header in mrkdwn": ([{"type": "header", "text": {"type": "mrkdwn", "text": "x"}}], "unsupported type"),
    "a long label": ([row(button("x" * 76, action_id="a"))], "less than 76"),
    "a long value": ([row(button("a", value="x" * 2001))], "less than 2001"),
    "a long id": ([row(button("a", action_id="x" * 256))], "less than 256"),
    "a style": ([row(button("a", style="default"))], "must be one of"),
    "a long confirm": ([row(button("a", confirm=confirming(text="x" * 301)))], "less than 301"),
    "no buttons": ([row()], "no fewer than 1"),
    "26 buttons": ([row(*(button(str(number)) for number in range(26)))], "no more than 25"),
    "an action id twice": ([row(button("a"), button("a"))], "action_id already exists"),
    "a block id twice": ([words("a", block_id="x"), words("b", block_id="x")], "block_id already exists"),
    "an unknown block": ([{"type": "banner"}], "unsupported type: banner"),
    "an unknown key": ([words("a", colour="red")], "invalid additional property: colour"),
    "an unknown key in rich text": ([rich({**SAID, "bold": True})], "invalid additional property: bold"),
    "an empty rich text": ([rich({"type": "text", "text": ""})], "more than 0"),
    "a date in an unknown format": (
        [rich({"type": "date", "timestamp": 1, "format": "{month}"})],
        "must be a date format",
    ),
    "a date that is no date": (
        [{"type": "section", "text": {"type": "mrkdwn", "text": "<!date^now>"}}],
        "invalid date",
    ),
    "no options": ([row({"type": "static_select", "options": []})], "no fewer than 1"),
    "an input": ([asks("Name")], "must dispatch"),
    "much markdown": ([{"type": "markdown", "text": "x" * 6001}] * 2, "all markdown"),
    "11 captions": ([{"type": "context", "elements": [{"type": "mrkdwn", "text": "x"}] * 11}], "no more than 10"),
}


@pytest.mark.parametrize("name", FINE)
async def test_good_blocks_are_taken(place: Place, name: str) -> None:
    assert await place.post(blocks=FINE[name])


@pytest.mark.parametrize("name", WRONG)
async def test_bad_blocks_are_refused(place: Place, name: str) -> None:
    blocks, why = WRONG[name]
    refusal = await place.refusal("chat.postMessage", channel="C1", text="x", blocks=blocks)
    assert refusal["error"] == "invalid_blocks"
    assert any(why in message for message in refusal["response_metadata"]["messages"])


@pytest.mark.slow
async def test_long_messages_are_refused(place: Place) -> None:
    much = {"channel": "C1", "text": "x", "blocks": [words("x" * 3000)] * 5}
    assert await place.error("chat.postMessage", **much) == "msg_blocks_too_long"
    assert await place.error("chat.postMessage", channel="C1", text="x" * 40_001) == "msg_too_long"
    assert await place.error("chat.postMessage", channel="C1") == "no_text"


@pytest.mark.slow
async def test_bad_views_are_refused(place: Place) -> None:
    long_title = {"type": "plain_text", "text": "x" * 25}
    for view, why in (
        (modal(words("a"), title=long_title), "less than 25"),
        (modal(words("a"), private_metadata="x" * 3001), "less than 3001"),
        (modal(*[{"type": "divider"}] * 101), "no more than 100"),
        ({**modal(asks("Name")), "submit": None}, "must provide an object"),
        (
            {key: value for key, value in modal(asks("Name")).items() if key != "submit"},
            "missing required field: submit",
        ),
    ):
        refusal = await place.refusal("views.open", trigger_id=await a_trigger(place), view=view)
        assert refusal["error"] == "invalid_arguments"
        assert any(why in message for message in refusal["response_metadata"]["messages"])
    big = modal(*(words("é" * 3000, block_id=str(number)) for number in range(50)))
    assert await place.error("views.open", trigger_id=await a_trigger(place), view=big) == "view_too_large"
