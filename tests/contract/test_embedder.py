"""What every embedder keeps to: a real SDK against a stand-in, word vectors on this machine, and hashing."""

import math
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from openai.types import CreateEmbeddingResponse

from agent_core.capabilities.memory import local_embedder
from agent_core.capabilities.memory.hashing_embedder import HashingEmbedder
from agent_core.capabilities.memory.local_embedder import LocalEmbedder, map_matrix
from agent_core.capabilities.memory.openai_embedder import EMBEDDINGS, OpenAIEmbedder
from agent_core.capabilities.models.prices import Prices
from agent_core.errors import ModelRefused, ModelUnavailable
from agent_core.model.model_calls import Usage
from agent_core.model.records.memory import Vector
from agent_core.ports.models import Embedder
from tests.standins.openai import Embeds, Fails, Hangs, OpenAIStandIn, SaysPlain, letters, openai_standin

KEY = "sk-proj-secret1234567890"
ABILITY = replace(EMBEDDINGS, address="EMBEDDING_BASE_URL", model="EMBEDDING_MODEL")
ODD = ("", "   ", "\ud800", "\0", "👩‍👩‍👧‍👦", "<s></s>", "a" * 1_000_000, " " * 200_000)


class Endpoint:
    """The stand-in with providers that are closed after the test."""

    def __init__(self, standin: OpenAIStandIn, stack: AsyncExitStack) -> None:
        self.standin, self.stack = standin, stack

    def embedder(self, **facts: Any) -> OpenAIEmbedder:
        base_url = self.standin.base_url
        given = {"base_url": base_url, "api_key": KEY, "prices": Prices.at(base_url, {}), **facts}
        embedder = OpenAIEmbedder(model="gpt-test", ability=ABILITY, **given)
        self.stack.push_async_callback(embedder.close)
        return embedder


@pytest.fixture
async def endpoint() -> AsyncIterator[Endpoint]:
    async with openai_standin() as standin, AsyncExitStack() as stack:
        yield Endpoint(standin, stack)


@pytest.fixture(params=["openai", "local", "hashing"])
def embedder(request: pytest.FixtureRequest, endpoint: Endpoint) -> Embedder:
    match request.param:
        case "local":
            return LocalEmbedder()
        case "hashing":
            return HashingEmbedder()
        case _:
            return endpoint.embedder()


def numbers(vector: Vector) -> list[float]:
    return [float(number) for number in np.frombuffer(vector, "<f4")]


def likeness(one: Vector, other: Vector) -> float:
    return float(np.frombuffer(one, "<f4") @ np.frombuffer(other, "<f4"))


@pytest.mark.slow
async def test_every_text_gets_a_vector_of_length_one_and_of_one_number_of_coordinates(embedder: Embedder) -> None:
    found = await embedder.embed(("The ship leaves at ten.", "Nobody objected.", *ODD))
    assert len(found.vectors) == 2 + len(ODD)
    assert len({len(vector) for vector in found.vectors}) == 1
    assert all(math.isclose(math.hypot(*numbers(vector)), 1, abs_tol=1e-5) for vector in found.vectors)


@pytest.mark.slow
async def test_the_order_is_that_of_the_texts_and_the_same_text_has_the_same_vector(embedder: Embedder) -> None:
    first = await embedder.embed(("one ship", "two reports", "one ship"))
    again = await embedder.embed(("two reports", "one ship"))
    assert first.vectors[0] == first.vectors[2] == again.vectors[1]
    assert first.vectors[1] == again.vectors[0] != first.vectors[0]


async def test_no_texts_have_no_vectors_and_take_nothing(embedder: Embedder) -> None:
    found = await embedder.embed(())
    assert (found.vectors, found.usage) == ((), Usage())


@pytest.mark.slow
async def test_tokens_are_counted_and_here_they_cost_nothing(embedder: Embedder) -> None:
    used = (await embedder.embed(("The ship leaves at ten.",))).usage
    assert used.prompt > 0 == used.completion
    assert embedder.price(used) == Decimal(0)


def test_the_name_tells_vectors_apart() -> None:
    embedders = (OpenAIEmbedder(model="text-embedding-3-small"), LocalEmbedder(), HashingEmbedder())
    assert [embedder.name for embedder in embedders] == ["text-embedding-3-small", "wordllama-256", "hashing-256"]
    assert [embedder.is_semantic for embedder in embedders] == [True, True, False]


# Each asks for the first after it; the others have more words of the question than the answer has.
MEANINGS = (
    ("How much money did the company earn?", "Annual revenue rose to nine million dollars.", "How much did it rain?"),
    ("Which doctor treats the heart?", "A cardiologist examined the patient.", "Which road leads to the house?"),
    ("The cat sleeps on the sofa.", "A kitten is napping on the couch.", "The minister sits on the committee."),
    ("When does the train depart?", "The railway timetable lists the next departure.", "When does the law apply?"),
    ("He bought an automobile.", "They purchased a new car.", "He bought an umbrella for an uncle."),
)


@pytest.mark.slow
@pytest.mark.parametrize(("question", "answer", "decoy"), MEANINGS)
async def test_meaning_is_found_where_words_mislead(question: str, answer: str, decoy: str) -> None:
    asked, near, far = (await LocalEmbedder().embed((question, answer, decoy))).vectors
    assert likeness(asked, near) > likeness(asked, far)


async def test_hashing_is_misled_by_words_and_finds_their_parts() -> None:
    hashing = HashingEmbedder()
    misled = [(await hashing.embed(texts)).vectors for texts in MEANINGS]
    assert all(likeness(asked, near) < likeness(asked, far) for asked, near, far in misled)
    asked, near, far = (await hashing.embed(("deleted reports", "Deleting a REPORT", "The ship leaves at ten"))).vectors
    assert likeness(asked, near) > 0.3 > likeness(asked, far)


@pytest.mark.slow
def test_hashing_is_the_same_in_every_process() -> None:
    code = (
        "import asyncio; from agent_core.capabilities.memory.hashing_embedder import HashingEmbedder as H; "
        "print(asyncio.run(H().embed(['deleted reports'])).vectors[0].hex())"
    )
    runs = {subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout for _ in range(2)}
    assert len(runs) == 1


@pytest.mark.slow
def test_the_network_is_no_part_of_the_local_embedder() -> None:
    code = (
        "import asyncio, sys; from agent_core.capabilities.memory.local_embedder import LocalEmbedder as L; "
        "asyncio.run(L().embed(['a'])); print(*{'wordllama', 'huggingface_hub', 'httpx'} & set(sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout == b"\n"


async def test_without_its_package_the_local_embedder_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    assert LocalEmbedder.is_installed()
    monkeypatch.setattr(local_embedder, "PACKAGE", "not_installed_here")
    assert not LocalEmbedder.is_installed()
    with pytest.raises(ModelRefused, match="make extras EXTRAS=embeddings"):
        await LocalEmbedder().embed(("a",))


@pytest.mark.slow
@pytest.mark.parametrize(
    "matrix",
    [b"\xff" * 100, b"\x02" + bytes(7) + b"{}"],
    ids=["noise", "no matrix"],
)
async def test_another_release_of_the_package_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, matrix: bytes
) -> None:
    path = tmp_path / "model.safetensors"
    path.write_bytes(matrix)
    monkeypatch.setattr(local_embedder, "MATRIX", str(path))
    with pytest.raises(ModelRefused, match="not one that Signoff can read"):
        await LocalEmbedder().embed(("a",))


def test_the_matrix_is_read_as_it_is_written(tmp_path: Path) -> None:
    rows = np.arange(512, dtype="<f2").reshape(2, 256)
    header = b'{"embedding.weight":{"dtype":"F16","shape":[2,256],"data_offsets":[0,1024]}}'
    path = tmp_path / "model.safetensors"
    path.write_bytes(len(header).to_bytes(8, "little") + header + rows.tobytes())
    assert (map_matrix(path) == rows).all()


@pytest.mark.slow
async def test_a_request_is_packed_and_what_comes_in_another_order_is_put_right(endpoint: Endpoint) -> None:
    endpoint.standin.vectors = {"a": (3, 4), "b": (0, -2), "c": (1e-30, 0)}
    embedder = endpoint.embedder()
    found = await embedder.embed(("a", "b", "c"))
    assert endpoint.standin.embeddings == [{"model": "gpt-test", "input": ["a", "b", "c"], "encoding_format": "base64"}]
    assert [numbers(vector) for vector in found.vectors] == [
        pytest.approx(row) for row in ([0.6, 0.8], [0, -1], [1, 0])
    ]
    assert found.usage == Usage(prompt=3)


@pytest.mark.slow
@pytest.mark.parametrize("way", ["refuses", "passes over"])
async def test_an_endpoint_that_packs_nothing_is_read_as_well(endpoint: Endpoint, way: str) -> None:
    endpoint.standin.only_floats = way == "passes over"
    endpoint.standin.refuses = {"base64"} if way == "refuses" else set()
    embedder = endpoint.embedder()
    first, second = [(await embedder.embed(("a",))).vectors[0] for _ in range(2)]
    length = math.hypot(*letters("a"))
    assert numbers(first) == numbers(second) == pytest.approx([number / length for number in letters("a")])
    formats = [body["encoding_format"] for body in endpoint.standin.embeddings]
    assert formats == (["base64", "float", "float"] if way == "refuses" else ["base64"] * 2)


@pytest.mark.slow
async def test_many_texts_go_in_several_requests_and_long_ones_are_cut(endpoint: Endpoint) -> None:
    embedder = endpoint.embedder()
    found = await embedder.embed([f"text {number}" for number in range(300)] + ["long " * 6_000] * 20)
    sent = [body["input"] for body in endpoint.standin.embeddings]
    assert [len(batch) for batch in sent] == [256, 56, 8]
    assert sum(len(batch) for batch in sent) == len(found.vectors) == 320
    assert all(embedder.tokens.count(text) <= 8_000 for batch in sent for text in batch)
    assert all(sum(map(embedder.tokens.count, batch)) <= 100_000 for batch in sent)
    assert found.usage.prompt == sum(len(text.split()) for batch in sent for text in batch)


async def test_usage_that_is_not_told_is_estimated(endpoint: Endpoint) -> None:
    endpoint.standin.answers(Embeds(usage={"prompt_tokens": -1}), Embeds(usage=None))
    embedder = endpoint.embedder()
    for _ in range(2):
        assert (await embedder.embed(("abcdef",))).usage == Usage(prompt=2)


def answer(*items: object) -> Embeds:
    return Embeds(body={"object": "list", "data": list(items), "model": "gpt-test"})


@pytest.mark.parametrize(
    "answered",
    [
        answer(),
        answer({"index": 0, "embedding": [1]}, {"index": 7, "embedding": [1]}),
        answer({"index": 0, "embedding": [1]}, {"index": 1, "embedding": [1, 2]}),
        answer({"embedding": [1]}, {"embedding": [0]}),
        answer({"embedding": [1]}, {"embedding": "????"}),
        answer({"embedding": [1]}, "vector"),
        SaysPlain("<html>"),
    ],
)
async def test_an_answer_without_usable_vectors_names_its_settings(
    endpoint: Endpoint, answered: Embeds | SaysPlain
) -> None:
    endpoint.standin.answers(answered)
    embedder = endpoint.embedder()
    with pytest.raises(ModelRefused, match="check EMBEDDING_MODEL and EMBEDDING_BASE_URL"):
        await embedder.embed(("a", "b"))


async def test_a_model_whose_vectors_change_their_length_is_refused(endpoint: Endpoint) -> None:
    endpoint.standin.vectors = {"a": (1, 2), "b": (1, 2, 3)}
    embedder = endpoint.embedder()
    await embedder.embed(("a",))
    with pytest.raises(ModelRefused):
        await embedder.embed(("b",))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "error", "words"),
    [
        (Fails(429, headers={"Retry-After": "7"}), ModelUnavailable, "answered 429"),
        (Hangs(), ModelUnavailable, "did not answer in time"),
        (SaysPlain("{", "application/json"), ModelUnavailable, "cannot be read"),
        (Fails(404, "The model does not exist."), ModelRefused, "Set EMBEDDING_MODEL to one it offers"),
        (Fails(400, f"Bad request by {KEY}."), ModelRefused, "refused the request"),
    ],
)
async def test_a_fault_is_one_of_the_ports_errors_and_keeps_the_key_to_itself(
    endpoint: Endpoint, fault: Fails | Hangs | SaysPlain, error: type[Exception], words: str
) -> None:
    endpoint.standin.answers(fault)
    embedder = endpoint.embedder(seconds=0.2 if isinstance(fault, Hangs) else 30)
    with pytest.raises(error, match=words) as caught:
        await embedder.embed(("a",))
    assert KEY not in f"{caught.value!r} {caught.value} {embedder!r}"
    assert len(endpoint.standin.embeddings) == 1


async def test_the_stand_in_answers_as_the_sdk_reads_it(endpoint: Endpoint) -> None:
    embedder = endpoint.embedder()
    client = await embedder.client()
    answered = await client.embeddings.create(model="gpt-test", input=["a", "b"])
    assert isinstance(answered, CreateEmbeddingResponse)
    assert {item.index: item.embedding for item in answered.data} == {
        0: pytest.approx(letters("a")),
        1: pytest.approx(letters("b")),
    }
