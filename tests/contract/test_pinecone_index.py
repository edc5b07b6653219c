"""What is special about memories at Pinecone: the real SDK, over HTTP, against a stand-in of the service."""

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from agent_core.capabilities.memory import pinecone_index
from agent_core.capabilities.memory.capability import make_index
from agent_core.capabilities.memory.pinecone_index import MAX_POLLS, PineconeIndex, namespace
from agent_core.errors import MemoryAway
from agent_core.model.agent import Agent
from agent_core.model.ids import AgentId, MemoryId
from agent_core.model.origin import ChannelScope
from agent_core.model.records.memory import Memory, MemorySpace, Vector
from agent_core.testing.clock import FakeClock
from agent_core.testing.database import TemporaryDatabase
from agent_core.testing.examples import NOON, an_agent
from agent_core.testing.memory_index import a_vector, some_vector
from bot.settings import load
from tests.standins.pinecone import KEY, Fails, Hangs, PineconeStandIn, SaysPlain, new_name, pinecone_standin

SPACE = MemorySpace.of(an_agent())
PLACE = "words in an index"
EAST, NORTH = a_vector(1, 0), a_vector(0, 1)


@pytest.fixture
async def standin() -> AsyncIterator[PineconeStandIn]:
    async with pinecone_standin() as standin:
        yield standin


@pytest.fixture
async def index(standin: PineconeStandIn) -> AsyncIterator[PineconeIndex]:
    index = PineconeIndex(api_key=KEY, index=new_name(), controller_host=standin.url)
    yield index
    await index.close()


def a_memory(name: str, text: str = "") -> Memory:
    return Memory(id=MemoryId(name), text=text or name, source="turn 3", at=NOON, turn=3)


async def at_once(_seconds: float) -> None:
    """Instead of the SDK's pause before it tries again."""


async def found(index: PineconeIndex, vector: Vector = EAST) -> list[MemoryId]:
    return [memory_id for memory_id, _ in await index.nearest(SPACE, PLACE, vector, 9)]


@pytest.mark.slow
async def test_an_index_that_is_missing_is_made_for_the_first_vectors(
    standin: PineconeStandIn, index: PineconeIndex
) -> None:
    assert await found(index) == []
    await index.forget(SPACE, [MemoryId("m1")])
    await index.drop(SPACE)
    assert standin.asked("/indexes") == []
    await index.add(SPACE, PLACE, [(a_memory("m1"), EAST), (a_memory("m2"), NORTH)])
    assert standin.asked("/indexes") == [
        {
            "name": index.index,
            "schema": {"fields": {"_values": {"type": "dense_vector", "dimension": 2, "metric": "cosine"}}},
            "deployment": {"deployment_type": "managed", "cloud": "aws", "region": "us-east-1"},
        }
    ]
    assert await found(index) == ["m1", "m2"]


@pytest.mark.slow
async def test_of_two_processes_that_make_the_index_at_once_both_use_it(
    standin: PineconeStandIn, index: PineconeIndex
) -> None:
    other = replace(index)
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(index.add(SPACE, PLACE, [(a_memory("m1"), EAST)]))
        tasks.create_task(other.add(SPACE, PLACE, [(a_memory("m2"), NORTH)]))
    await other.close()
    assert await found(index) == ["m1", "m2"]


@pytest.mark.slow
async def test_an_index_that_is_being_made_is_waited_for(standin: PineconeStandIn) -> None:
    clock, standin.pauses = FakeClock(), 3
    index = PineconeIndex(api_key=KEY, index=new_name(), controller_host=standin.url, clock=clock)
    adding = asyncio.create_task(index.add(SPACE, PLACE, [(a_memory("m1"), EAST)]))
    for _ in range(2):
        await clock.until_sleeping()
        assert standin.asked("/vectors/upsert") == []
        clock.advance(60)
    await adding
    assert await found(index) == ["m1"]
    await index.close()


@pytest.mark.slow
async def test_an_index_that_is_not_made_in_time_or_never_will_be_is_away(standin: PineconeStandIn) -> None:
    clock, standin.pauses = FakeClock(), MAX_POLLS * 2
    index = PineconeIndex(api_key=KEY, index=new_name(), controller_host=standin.url, clock=clock)
    adding = asyncio.create_task(index.add(SPACE, PLACE, [(a_memory("m1"), EAST)]))
    for _ in range(MAX_POLLS):
        await clock.until_sleeping()
        clock.advance(60)
    with pytest.raises(MemoryAway, match="is still being made"):
        await adding
    standin.state, standin.pauses = "InitializationFailed", 1
    with pytest.raises(MemoryAway, match="its state is InitializationFailed"):
        await index.add(SPACE, PLACE, [(a_memory("m1"), EAST)])
    await index.close()


@pytest.mark.slow
async def test_an_index_of_another_dimension_is_not_used(index: PineconeIndex) -> None:
    await index.add(SPACE, PLACE, [(a_memory("m1"), EAST)])
    sentence = "holds vectors of 2 numbers and the embedder makes 64. Set the index to another name"
    with pytest.raises(MemoryAway, match=sentence):
        await index.add(SPACE, PLACE, [(a_memory("m2"), some_vector(1, 64))])
    with pytest.raises(MemoryAway, match=sentence):
        await index.nearest(SPACE, PLACE, some_vector(1, 64), 1)
    assert await found(index) == ["m1"]


@pytest.mark.slow
async def test_with_a_host_the_control_plane_is_not_asked(standin: PineconeStandIn, index: PineconeIndex) -> None:
    await index.add(SPACE, PLACE, [(a_memory("m1"), EAST)])
    standin.requests.clear()
    direct = PineconeIndex(
        api_key=KEY, index="other", host=standin.host(index.index), controller_host="http://127.0.0.1:1"
    )
    assert await found(direct) == ["m1"]
    assert {request.path.removeprefix(f"/indexes/{index.index}") for request in standin.requests} == {
        "/describe_index_stats",
        "/query",
    }
    await direct.close()


@pytest.mark.slow
async def test_a_vector_carries_place_source_turn_time_and_text(standin: PineconeStandIn, index: PineconeIndex) -> None:
    await index.add(SPACE, PLACE, [(a_memory("m1", "Ana likes tea."), EAST)])
    (upsert,) = standin.asked("/vectors/upsert")
    assert upsert["namespace"] == "/".join((SPACE.channel.key, SPACE.agent_id))
    (vector,) = upsert["vectors"]
    assert vector["metadata"] == {
        "place": PLACE,
        "source": "turn 3",
        "turn": 3,
        "at": NOON.isoformat(),
        "text": "Ana likes tea.",
    }


@pytest.mark.slow
@pytest.mark.parametrize("letter", ["🦆", "\x01"], ids=ascii)
async def test_of_a_long_text_the_beginning_is_kept(
    standin: PineconeStandIn, index: PineconeIndex, letter: str
) -> None:
    long = replace(a_memory("m1", letter * 100_000), source=letter * 100_000)
    await index.add(SPACE, PLACE, [(long, EAST)])
    (upsert,) = standin.asked("/vectors/upsert")
    metadata = upsert["vectors"][0]["metadata"]
    assert 4_000 < len(json.dumps(metadata, ensure_ascii=False).encode()) < 40_000
    assert await found(index) == ["m1"]


@pytest.mark.slow
async def test_many_vectors_go_in_requests_of_a_hundred(standin: PineconeStandIn, index: PineconeIndex) -> None:
    memories = [(a_memory(f"m{number:04}"), a_vector(1, number)) for number in range(1, 251)]
    await index.add(SPACE, PLACE, memories)
    assert [len(body["vectors"]) for body in standin.asked("/vectors/upsert")] == [100, 100, 50]
    assert await found(index) == [f"m{number:04}" for number in range(1, 10)]


@pytest.mark.slow
async def test_large_vectors_go_in_requests_of_less_than_two_megabytes(
    standin: PineconeStandIn, index: PineconeIndex
) -> None:
    memories = [(a_memory(f"m{number}", "ä" * 20_000), some_vector(number, 3072)) for number in range(60)]
    await index.add(SPACE, PLACE, memories)
    sizes = [request.size for request in standin.requests if request.path.endswith("/vectors/upsert")]
    assert len(sizes) > 2
    assert max(sizes) < 2_000_000
    assert len(await index.nearest(SPACE, PLACE, some_vector(7, 3072), 99)) == 60


@pytest.mark.slow
async def test_a_vector_of_zeros_is_left_out(index: PineconeIndex) -> None:
    nothing = Vector(bytes(8))
    await index.add(SPACE, PLACE, [(a_memory("m1"), nothing), (a_memory("m2"), EAST)])
    await index.add(SPACE, PLACE, [(a_memory("m1"), nothing)])
    assert await found(index) == ["m2"]
    assert await found(index, nothing) == []


@pytest.mark.slow
async def test_a_namespace_that_is_not_there_can_be_dropped(standin: PineconeStandIn, index: PineconeIndex) -> None:
    await index.add(SPACE, PLACE, [(a_memory("m1"), EAST)])
    standin.answers(Fails(404, "Namespace not found"))
    await index.drop(replace(SPACE, agent_id=AgentId("other")))
    assert await found(index) == ["m1"]


@pytest.mark.slow
@pytest.mark.parametrize("fault", [Fails(429), Fails(500)], ids=repr)
async def test_a_busy_service_is_asked_again(standin: PineconeStandIn, index: PineconeIndex, fault: Fails) -> None:
    await index.add(SPACE, PLACE, [(a_memory("m1"), EAST)])
    standin.answers(fault, fault)
    await index.add(SPACE, PLACE, [(a_memory("m2"), NORTH)])
    assert await found(index) == ["m1", "m2"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "sentence"),
    [
        (Fails(429), "has too much to do"),
        (Fails(400, f"Bad key {KEY}."), "refused with 400: Bad key …."),
        (Fails(403), "does not take the key. Check the key."),
        (SaysPlain(), "cannot be used"),
    ],
    ids=repr,
)
async def test_a_service_that_does_not_answer_well_is_away(
    standin: PineconeStandIn, index: PineconeIndex, fault: Fails, sentence: str
) -> None:
    await index.add(SPACE, PLACE, [(a_memory("m1"), EAST)])
    standin.answers(*[fault] * 4)
    with pytest.raises(MemoryAway, match=sentence) as raised:
        await index.nearest(SPACE, PLACE, EAST, 1)
    assert KEY not in str(raised.value)
    assert raised.value.__cause__ is None


@pytest.mark.parametrize("key", ["pcsk_wrong", "with\nline"])
async def test_a_wrong_key_is_told_and_never_shown(standin: PineconeStandIn, key: str) -> None:
    index = PineconeIndex(api_key=key, index=new_name(), controller_host=standin.url)
    with pytest.raises(MemoryAway, match="key") as raised:
        await index.add(SPACE, PLACE, [(a_memory("m1"), EAST)])
    assert not key or (key not in str(raised.value) and key not in repr(index))
    await index.close()


@pytest.mark.slow
async def test_a_service_that_hangs_is_away(
    standin: PineconeStandIn, index: PineconeIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    await index.add(SPACE, PLACE, [(a_memory("m1"), EAST)])
    monkeypatch.setattr(pinecone_index, "TOTAL_TIMEOUT_SECONDS", 0.05)
    standin.answers(Hangs())
    with pytest.raises(MemoryAway, match="did not answer in time"):
        await index.nearest(SPACE, PLACE, EAST, 1)


@pytest.mark.slow
async def test_a_service_that_is_not_there_is_away_and_found_again(
    index: PineconeIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pinecone._internal.http_client._async_retry_sleep", at_once)
    gone = PineconeIndex(api_key=KEY, index="memories", controller_host="http://127.0.0.1:1")
    with pytest.raises(MemoryAway, match="cannot be reached"):
        await gone.drop(SPACE)
    gone.controller_host = index.controller_host
    await gone.close()
    assert await found(gone) == []
    await gone.close()


def test_names_of_namespaces_are_ascii_of_bounded_length_and_never_the_same_for_two_agents() -> None:
    odd = [
        an_agent(id=AgentId(agent_id), channel=ChannelScope("slack", "T1", channel))
        for agent_id in ("a", "ä", "%C3%A4", "a" * 400, "a" * 401, "🦆" * 99)
        for channel in ("c", "c/a", "ä" * 100, "x" * 300 + "1", "x" * 300 + "2")
    ]
    names = {named(agent) for agent in odd}
    assert len(names) == len(odd)
    assert all(name.isascii() and name.isprintable() and len(name) <= 200 for name in names)


def named(agent: Agent) -> str:
    return namespace(MemorySpace.of(agent))


@pytest.mark.slow
async def test_a_refusal_names_the_variable_that_the_operator_set(standin: PineconeStandIn, tmp_path: Path) -> None:
    env = {"PINECONE_API_KEY": "pcsk_another", "PINECONE_CONTROLLER_HOST": standin.url, "SIGNOFF_HOME": str(tmp_path)}
    index = make_index(load(env, None), TemporaryDatabase(), tmp_path)
    with pytest.raises(MemoryAway, match=r"does not take the key\. Check PINECONE_API_KEY\."):
        await index.nearest(SPACE, PLACE, EAST, 1)
    await index.close()  # type: ignore[attr-defined]
