"""Stands between a client and a PostgreSQL server on a private socket, and loses what a test wants to be lost."""

import asyncio
import shutil
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from sqlalchemy import make_url

SOCKET = ".s.PGSQL.5432"
FETCH = b"procrastinate_fetch_job"


@dataclass(slots=True)
class PostgresGate:
    """Passes everything on, up to the request that is lost, alone or with its answer. Then the session ends.

    `loses_fetch`: the next answer to a session that fetches jobs is lost.
    """

    server: Path
    url: str
    requests: int = 0
    lost_request: int = 0
    lost: Literal["request", "answer"] = "request"
    loses_fetch: bool = False
    fetching: set[asyncio.StreamWriter] = field(default_factory=set)

    def lose(self, lost: Literal["request", "answer"], *, after: int = 0) -> None:
        """Lose that of the next request, or of a later one."""
        self.lost, self.lost_request = lost, self.requests + 1 + after

    async def serve(self, client: asyncio.StreamReader, to_client: asyncio.StreamWriter) -> None:
        """Copy bytes both ways until one side ends, or something is lost."""
        try:
            server, to_server = await asyncio.open_unix_connection(str(self.server))
        except OSError:
            to_client.close()
            return
        try:
            async with asyncio.TaskGroup() as copies:
                copies.create_task(self._pass_requests(client, to_server, to_client))
                copies.create_task(self._pass_answers(server, to_client))
        finally:
            self.fetching.discard(to_client)
            to_server.close()
            to_client.close()

    async def _pass_requests(
        self, client: asyncio.StreamReader, to_server: asyncio.StreamWriter, to_client: asyncio.StreamWriter
    ) -> None:
        while data := await client.read(65_536):
            self.requests += 1
            if FETCH in data:
                self.fetching.add(to_client)
            if self.requests == self.lost_request and self.lost == "request":
                break
            to_server.write(data)
        to_server.close()

    async def _pass_answers(self, server: asyncio.StreamReader, to_client: asyncio.StreamWriter) -> None:
        while data := await server.read(65_536):
            if self.requests == self.lost_request:
                break
            if self.loses_fetch and to_client in self.fetching:
                self.loses_fetch = False
                break
            to_client.write(data)
        to_client.close()


@asynccontextmanager
async def postgres_gate(url: str) -> AsyncIterator[PostgresGate]:
    """A gate to the server at this address, which is a private socket."""
    address, folder = make_url(url), Path(tempfile.mkdtemp(prefix="signoff-gate-"))
    gate = PostgresGate(
        server=Path(str(address.query["host"])) / SOCKET,
        url=address.update_query_dict({"host": str(folder)}).render_as_string(hide_password=False),
    )
    sessions: set[asyncio.Task[None]] = set()

    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        sessions.add(asyncio.create_task(gate.serve(reader, writer)))

    server = await asyncio.start_unix_server(accept, folder / SOCKET)
    try:
        yield gate
    finally:
        server.close()
        for session in sessions:
            session.cancel()
        await asyncio.gather(*sessions, return_exceptions=True)
        shutil.rmtree(folder)
