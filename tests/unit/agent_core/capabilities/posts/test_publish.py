"""Posting for everybody to read: what people see of it first, what X says to it, and what is not known."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from agent_core.capabilities.posts.capability import NO_PUBLISHER, X_VARIABLES
from agent_core.capabilities.posts.commands import PublishCommands, weighted_length
from agent_core.capabilities.posts.x_posts import XPosts
from agent_core.errors import CommandError, UnusableReply
from agent_core.model.command import CommandCall, Preview
from agent_core.testing.examples import an_agent
from agent_core.testing.files import InMemoryFiles
from agent_core.toolset.registry import CommandContext, Commands
from tests.standins.x import KEYS, Says, XStandIn, x_standin

CONTEXT = CommandContext(agent=an_agent(), files=InMemoryFiles())
HOME: dict[str, Any] = dict(KEYS)
AT_HOME = XPosts(**HOME)
SECRETS = ("secret-of-the-app", "secret-of-ana", "token-of-ana", "key-of-the-app")


@pytest.fixture
async def standin() -> AsyncIterator[XStandIn]:
    async with x_standin() as running:
        yield running


def commands(standin: XStandIn, **changes: Any) -> Commands:
    given = {**KEYS, "url": standin.url, "settings": X_VARIABLES, **changes}
    return Commands.of(*PublishCommands(XPosts(**given)).commands)


async def tweet(commands: Commands, text: str) -> str:
    call = commands.checked(CommandCall("tweet", {"tweet_text": text}))
    return (await commands.get(call.name).run(call.arguments, CONTEXT)).text


async def preview(commands: Commands, text: str) -> Preview | None:
    return await commands.get("send_tweet").preview({"text": text}, CONTEXT)


async def refusal(commands: Commands, text: str = "Hello.") -> str:
    with pytest.raises(CommandError) as caught:
        await tweet(commands, text)
    assert not [secret for secret in SECRETS if secret in str(caught.value)]
    return str(caught.value)


@pytest.mark.slow
async def test_a_text_is_posted_signed_and_to_the_letter(standin: XStandIn) -> None:
    text = "Grüße an alle 👋\n“So what?” & https://example.com/?a=1&b=2"
    assert await tweet(commands(standin), text) == "It is posted: https://x.com/i/web/status/1700000000000000001"
    assert standin.posted == [text]
    assert len(standin.asked) == 1


async def test_people_see_the_exact_text_its_length_and_where_it_goes(standin: XStandIn) -> None:
    host = standin.url.removeprefix("http://")
    text = "See https://example.com/a-long-path-that-does-not-count 日本"
    shown = await preview(commands(standin), text)
    assert shown == Preview(title=f"to everybody on X at {host} · 32 of 280", body=text)
    at_home = await preview(Commands.of(*PublishCommands(AT_HOME).commands), "Hi")
    assert at_home == Preview(title="to everybody on X · 2 of 280", body="Hi")
    assert standin.asked == []


@pytest.mark.parametrize(
    ("text", "length"),
    [
        ("hello", 5),
        ("日本語", 6),
        ("cafe\u0301", 4),
        ("“quotes” – dash…", 17),
        ("see https://example.com/a/very/long/path?with=query&more=1 now", 31),
        ("(https://example.com/).", 26),
        ("example.com", 23),
        ("node.js e.g. v1.2", 17),
        ("a.b@c.com", 9),
        ("http://localhost", 16),
        ("👩‍👩‍👧‍👦👍🏽🇩🇪1️⃣☺️©", 12),
        ("x" * 280, 280),
    ],
)
def test_a_post_is_counted_as_x_counts_it(text: str, length: int) -> None:
    assert weighted_length(text) == length


@pytest.mark.parametrize("text", ["x" * 281, "語" * 141, "👍" * 141, "x" * 257 + " https://e.com"])
async def test_a_text_that_is_too_long_reaches_neither_people_nor_x(text: str, standin: XStandIn) -> None:
    for act in (preview(commands(standin), text), tweet(commands(standin), text)):
        with pytest.raises(CommandError, match=r"^The text is too long for a post: 28[12] of 280"):
            await act
    assert standin.asked == []


async def test_a_blank_text_is_not_posted(standin: XStandIn) -> None:
    for act in (preview(commands(standin), " \n"), tweet(commands(standin), " \n")):
        with pytest.raises(CommandError, match="There is nothing to post"):
            await act


@pytest.mark.slow
async def test_the_same_text_is_told_as_a_duplicate(standin: XStandIn) -> None:
    await tweet(commands(standin), "Hello.")
    assert await refusal(commands(standin)) == (
        "X refused it as a duplicate: this text was posted before. Say it in other words."
    )
    assert standin.posted == ["Hello."]


@pytest.mark.slow
async def test_wrong_keys_are_told_without_them(standin: XStandIn) -> None:
    assert await refusal(commands(standin, access_token_secret="other")) == (
        "X does not accept the keys (401): the operator should check "
        "X_API_KEY, X_API_SECRET, X_ACCESS_TOKEN and X_ACCESS_TOKEN_SECRET."
    )


MAYBE = "It is not known whether the text was posted: have somebody look before it is sent again."


@pytest.mark.slow
async def test_a_connection_that_breaks_leaves_open_whether_it_was_posted(standin: XStandIn) -> None:
    standin.says(Says(-1))
    assert await refusal(commands(standin)) == f"X cannot be reached (ConnectionError). {MAYBE}"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (
            Says(403, {"detail": "Your app with secret-of-the-app may not write."}),
            "X refused the post (403): Your app with … may not write. "
            "The app may need the right to write, at developer.x.com.",
        ),
        (
            Says(429, {"title": "Too Many Requests"}, {"x-rate-limit-reset": "1773489600"}),
            "X takes no more posts for now, until 12:00 UTC on 14 March.",
        ),
        (Says(429, {"title": "Too Many Requests"}), "X takes no more posts for now."),
        (Says(429, {}, {"x-rate-limit-reset": "9" * 30}), "X takes no more posts for now."),
        (Says(429, {}, {"x-rate-limit-reset": "soon"}), f"X answered something that cannot be read. {MAYBE}"),
        (Says(400, {"errors": [{"message": "text is too\nlong"}]}), "X refused the post (400): text is too long"),
        (Says(402, {"title": "CreditsDepleted"}), "X refused the post (402): it did not say why."),
        (Says(302, {}, {"Location": "http://169.254.169.254/"}), "X refused the post (302): it did not say why."),
        (Says(503, {"detail": "Over capacity"}), f"X answered 503. {MAYBE}"),
        (Says(500, b"<html>"), f"X answered 500. {MAYBE}"),
        (Says(201, b"<html>"), f"X answered something that cannot be read. {MAYBE}"),
        (Says(201, {"data": None}), f"X answered something that cannot be read. {MAYBE}"),
        (Says(201, ["odd"]), f"X answered something that cannot be read. {MAYBE}"),
        (Says(403, ["odd"]), f"X answered something that cannot be read. {MAYBE}"),
    ],
)
async def test_what_x_says_instead_is_told_in_a_sentence(answer: Says, said: str, standin: XStandIn) -> None:
    standin.says(answer)
    assert await refusal(commands(standin)) == said
    assert len(standin.asked) == 1


async def test_an_address_that_was_not_told_is_none(standin: XStandIn) -> None:
    standin.says(Says(201, {"data": {"id": "../../evil", "text": "Hello."}}))
    assert await tweet(commands(standin), "Hello.") == "It is posted; its address was not told."


@pytest.mark.slow
async def test_when_x_hangs_nobody_knows_whether_it_was_posted(standin: XStandIn) -> None:
    standin.says(Says(0))
    assert await refusal(commands(standin, seconds=0.2)) in (
        f"X did not answer in time. {MAYBE}",
        f"X broke off (ReadTimeout). {MAYBE}",
    )


async def test_when_x_is_not_there_it_is_told() -> None:
    async with x_standin() as gone:
        pass
    assert (
        await refusal(commands(gone)) == "X cannot be reached (ConnectionError). Nothing was posted; try again later."
    )


async def test_without_keys_it_is_off_with_the_reason() -> None:
    off = Commands.of(*PublishCommands(None, NO_PUBLISHER).commands)
    assert off.specs == ()
    with pytest.raises(UnusableReply, match="X_API_KEY"):
        off.get("send_tweet")


def test_no_key_is_shown() -> None:
    shown = repr(AT_HOME)
    assert not [secret for secret in SECRETS if secret in shown]
