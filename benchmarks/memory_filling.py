"""What the memory bench searches: vectors in clusters, and vectors of real texts, with what is truly nearest to some.

`python -m benchmarks.memory_filling FOLDER KIND NUMBER` makes a database with one agent's memories in FOLDER.
"""

import ast
import asyncio
import re
import sqlite3
import sys
import sysconfig
from collections.abc import Iterator, Sequence
from contextlib import closing
from itertools import islice
from pathlib import Path
from pydoc_data.topics import topics

import numpy as np
from numpy.typing import NDArray

from agent_core.capabilities.memory.local_embedder import LocalEmbedder
from agent_core.model.agent import Agent
from agent_core.model.records.memory import Memory, Vector
from agent_core.persistence.database import SqlDatabase
from agent_core.persistence.json_codec import encode
from agent_core.persistence.schema import upgrade
from agent_core.testing.examples import NOON, an_agent, keep
from benchmarks.memory_searching import BEST, PLACE

DIMENSION, IN_A_CLUSTER, SPREAD = 1536, 100, 1.0
QUERIES = 1000
BATCH = 1000
SHORTEST, WINDOW, STRIDE = 40, 12, 2
INSERT = "INSERT INTO memories (id, channel, agent_id, at, place, data, vector) VALUES (?, ?, ?, ?, ?, ?, ?)"

COUNT = "INSERT INTO memory_changes (agent_id, channel, added, removed) VALUES (?, ?, ?, 0)"

Floats = NDArray[np.float32]


def main() -> None:
    folder, kind, number = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    made = clustered_vectors(number + QUERIES) if kind == "clustered" else asyncio.run(embed_texts(number + QUERIES))
    if len(made) < number + QUERIES:
        raise SystemExit(f"There are {len(made):,} texts, too few for {number:,} memories and {QUERIES:,} questions.")
    order = np.random.default_rng(60).permutation(len(made))
    stored, asked = made[order[:number]], made[order[number:]]
    asyncio.run(fill(folder, stored))
    np.savez(folder / "asked.npz", asked=asked, nearest=nearest(stored, asked))


def clustered_vectors(number: int) -> Floats:
    """Vectors around centres: those of one cluster have a cosine of about a half."""
    chance = np.random.default_rng(60)
    centres = chance.standard_normal((number // IN_A_CLUSTER, DIMENSION), dtype=np.float32)
    made = centres[chance.integers(0, len(centres), number)]
    for start in range(0, number, BATCH):
        part = made[start : start + BATCH]
        part += SPREAD * chance.standard_normal(part.shape, dtype=np.float32)
        part /= np.linalg.norm(part, axis=1, keepdims=True)
    return made


async def embed_texts(number: int) -> Floats:
    """The vectors that the local embedder gives to real texts."""
    embedder, given = LocalEmbedder(), list(islice(texts(), number))
    vectors: list[Vector] = []
    for start in range(0, len(given), BATCH):
        vectors.extend((await embedder.embed(given[start : start + BATCH])).vectors)
    return np.frombuffer(b"".join(vectors), "<f4").reshape(len(vectors), -1)


def texts() -> Iterator[str]:
    """Distinct texts in English that come with Python: paragraphs of its documentation, then passages of them."""
    paragraphs = list(dict.fromkeys(_paragraphs()))
    yield from paragraphs
    known = set(paragraphs)
    for paragraph in paragraphs:
        words = paragraph.split()
        for start in range(0, len(words) - WINDOW, STRIDE):
            passage = " ".join(words[start : start + WINDOW])
            if passage not in known:
                known.add(passage)
                yield passage


def nearest(stored: Floats, asked: Floats) -> NDArray[np.intp]:
    """The numbers of those that are truly nearest to each."""
    found = [np.argpartition(-(stored @ each), BEST)[:BEST] for each in asked]
    return np.array(found)


async def fill(folder: Path, vectors: Floats) -> None:
    """A database in which an agent remembers these, as if they had come one by one."""
    file = folder / "signoff.db"
    await upgrade(f"sqlite:///{file}")
    database, agent = SqlDatabase(f"sqlite:///{file}"), an_agent()
    await keep(database, agent)
    await database.close()
    with closing(sqlite3.connect(file)) as connection, connection:
        for start in range(0, len(vectors), BATCH):
            connection.executemany(INSERT, [_row(agent, vector) for vector in vectors[start : start + BATCH]])
        connection.execute(COUNT, (agent.id, agent.channel.key, len(vectors)))


def _row(agent: Agent, vector: Floats) -> tuple[object, ...]:
    memory = Memory.of("A fact.", source="bench", at=NOON)
    at = f"{NOON:%Y-%m-%d %H:%M:%S.%f}"
    return memory.id, agent.channel.key, agent.id, at, PLACE, encode(memory), vector.tobytes()


def _paragraphs() -> Iterator[str]:
    for path in sorted(Path(sysconfig.get_paths()["stdlib"]).rglob("*.py")):
        if "site-packages" not in path.parts:
            for document in _documents(path):
                yield from _split(document)
    for topic in topics.values():
        yield from _split(topic)


def _documents(path: Path) -> Sequence[str]:
    try:
        tree = ast.parse(path.read_bytes())
    except (SyntaxError, ValueError):  # some of Python's own tests are meant not to parse
        return []
    kinds = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
    return [ast.get_docstring(node) or "" for node in ast.walk(tree) if isinstance(node, kinds)]


def _split(document: str) -> Iterator[str]:
    joined = (" ".join(paragraph.split()) for paragraph in re.split(r"\n\s*\n", document))
    return (paragraph for paragraph in joined if len(paragraph) >= SHORTEST)


if __name__ == "__main__":
    main()
