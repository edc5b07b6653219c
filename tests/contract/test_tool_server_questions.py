"""Questions of tool servers to people, by the SDK over real pipes, in the newest protocol and one with handshake."""

import asyncio
import time
from collections.abc import Mapping
from dataclasses import replace

import mcp_types
import pytest

from agent_core.capabilities.tool_servers.questions import question_of
from agent_core.model.question import ServerQuestion
from tests.contract.test_tool_servers import connected, entry_of, local, until

ENTRY = entry_of(local("curious_before.py"))


async def say_green(question: ServerQuestion) -> Mapping[str, object]:
    return {each.name: "green" for each in question.fields}


@pytest.mark.slow
async def test_a_server_of_the_newest_protocol_is_answered() -> None:
    asked: list[ServerQuestion] = []

    async def ask(question: ServerQuestion) -> Mapping[str, object]:
        asked.append(question)
        return {"tea": "green", "cups": 2}

    async with connected(entry_of(local("curious.py"))) as server:
        answer = await server.call("pour", {}, print, ask_people=ask)
    assert answer.text == "accept: {'tea': 'green', 'cups': 2}"
    assert [(each.name, each.kind, each.is_required) for each in asked[0].fields] == [
        ("tea", "choice", True),
        ("cups", "whole number", True),
        ("milk", "yes or no", False),
    ]


@pytest.mark.slow
async def test_a_server_with_handshake_is_answered_or_declined() -> None:
    async def decline(_question: ServerQuestion) -> None:
        return None

    async with connected(ENTRY) as server:
        assert '"tea": "green"' in (await server.call("pour", {}, print, ask_people=say_green)).text
        assert '"decline"' in (await server.call("pour", {}, print, ask_people=decline)).text
        assert '"decline"' in (await server.call("pour", {}, print)).text


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["url", "nested"])
async def test_what_is_no_short_form_is_declined(kind: str) -> None:
    async with connected(ENTRY) as server:
        assert '"decline"' in (await server.call("pour", {"kind": kind}, print, ask_people=say_green)).text


@pytest.mark.slow
async def test_a_question_outside_of_a_call_or_during_two_is_declined() -> None:
    asked: list[ServerQuestion] = []

    async def wait(question: ServerQuestion) -> Mapping[str, object]:
        asked.append(question)
        return await say_green(question)

    async with connected(entry_of(local("curious_before.py", "early"))) as server:
        both = (server.call("pour", {"times": 2}, print, ask_people=wait) for _ in range(2))
        answers = await asyncio.gather(*both)
    assert sum(each.text.count('"decline"') for each in answers) >= 2
    assert len(asked) <= 2


@pytest.mark.slow
async def test_an_entry_that_lets_nobody_be_asked_offers_it_not() -> None:
    async with connected(replace(ENTRY, asks_people=False)) as server:
        answer = await server.call("pour", {}, print, ask_people=say_green)
    assert '"accept"' not in answer.text


@pytest.mark.slow
async def test_the_time_limit_stands_still_while_people_think() -> None:
    thought = asyncio.Event()

    async def think(question: ServerQuestion) -> Mapping[str, object]:
        begun.set()
        await thought.wait()
        return await say_green(question)

    begun = asyncio.Event()
    async with connected(ENTRY, seconds=1) as server:
        calling = asyncio.create_task(server.call("pour", {}, print, ask_people=think))
        await begun.wait()
        ends = time.monotonic() + 1.5
        await until(lambda: time.monotonic() > ends)
        assert not calling.done()
        thought.set()
        assert '"tea": "green"' in (await calling).text


def asked_for(message: str = "?", required: tuple[str, ...] = (), **properties: object) -> ServerQuestion | None:
    schema = {"type": "object", "properties": properties, "required": [*required]}
    return question_of(mcp_types.ElicitRequestFormParams(message=message, requested_schema=schema))


def test_formats_limits_and_what_the_server_suggests_are_read() -> None:
    question = asked_for(
        required=("mail",),
        mail={"type": "string", "format": "email", "maxLength": 40, "default": "ana@example.org"},
        cups={"type": "integer", "minimum": 1, "maximum": 9, "default": 2},
        sweet={"type": "boolean", "default": True},
        tea={"type": "string", "oneOf": [{"const": "g", "title": "Green"}], "default": "g"},
        also={"type": "array", "items": {"enum": ["m", "s"]}, "maxItems": 1, "default": ["s"]},
    )
    assert question
    mail, cups, sweet, tea, also = question.fields
    assert (mail.format, mail.most, mail.default, mail.is_required) == ("email", 40, "ana@example.org", True)
    assert (cups.least, cups.most, cups.default) == (1, 9, "2")
    assert [each.default for each in (sweet, tea, also)] == ["yes", "Green", "s"]
    assert also.most == 1


@pytest.mark.parametrize(
    "about",
    [
        {"type": "integer", "maximum": 9, "default": 10},
        {"type": "string", "enum": ["a"], "default": "b"},
    ],
)
def test_what_a_server_suggests_and_does_not_fit_is_left_out(about: dict[str, object]) -> None:
    question = asked_for(it=about)
    assert question
    assert question.fields[0].default == ""
