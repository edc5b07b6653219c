"""An S3 server for the tests, moto's, on a loopback socket. It answers one request at a time, so conditions hold."""

import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from urllib.request import Request, urlopen
from uuid import uuid4

import pytest
from aiohttp import ClientSession, web
from yarl import URL

from agent_core.capabilities.files.s3_storage import S3Bucket
from tests.standins.serving import serving

BUCKET = "signoff-tests"
SERVER = """
from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import make_server
server = make_server("127.0.0.1", 0, DomainDispatcherApplication(create_backend_app))
print(server.server_port, flush=True)
server.serve_forever()
"""


@pytest.fixture(scope="session")
def s3_server() -> Iterator[str]:
    """The address of a server that ends with the tests. It has one bucket."""
    with serve_s3() as url:
        yield url


@pytest.fixture
def s3_bucket(s3_server: str) -> S3Bucket:
    """An empty part of the bucket."""
    return S3Bucket(
        bucket=BUCKET,
        prefix=f"tests/{uuid4().hex}",
        endpoint=s3_server,
        region="eu-central-1",
        access_key_id="a-test",
        secret_access_key="a-secret",
    )


@contextmanager
def serve_s3() -> Iterator[str]:
    with subprocess.Popen(
        [sys.executable, "-c", SERVER], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as server:
        try:
            assert server.stdout
            url = f"http://127.0.0.1:{int(server.stdout.readline())}"
            urlopen(Request(f"{url}/{BUCKET}", method="PUT")).close()
            yield url
        finally:
            server.kill()


@dataclass(slots=True)
class S3Gate:
    """A gateway before the server, which a test can make fail.

    `refuses`: it answers 503 and passes nothing on. `loses_answers`: how many of the next changes are passed on and not
    answered. `ignores_conditions`: it removes conditions, as servers do that know none.
    `forbids`: a name of objects that may not be read. `on_get`: called when an object is read.
    """

    server: str
    bucket: S3Bucket
    refuses: bool = False
    loses_answers: int = 0
    ignores_conditions: bool = False
    forbids: str = ""
    on_get: Callable[[], object] | None = None

    async def answer(self, request: web.Request) -> web.StreamResponse:
        if self.refuses:
            return web.Response(status=503)
        if self.forbids and request.path.endswith(f"/{self.forbids}"):
            return web.Response(status=403)
        headers = {name: value for name, value in request.headers.items() if name != "Transfer-Encoding"}
        if self.ignores_conditions:
            headers = {name: value for name, value in headers.items() if not name.lower().startswith("if-")}
        async with (
            ClientSession(auto_decompress=False) as session,
            session.request(
                request.method, URL(self.server + request.raw_path, encoded=True),
                headers=headers, data=await request.read(),
            ) as given,
        ):  # fmt: skip
            body = await given.read()
        if self.on_get and request.method == "GET" and "list-type" not in request.query:
            self.on_get()
        if self.loses_answers and request.method in ("PUT", "DELETE"):
            self.loses_answers -= 1
            if request.transport:
                request.transport.abort()
        kept = {name: value for name, value in given.headers.items() if name not in ("Content-Length", "Connection")}
        response = web.Response(status=given.status, headers=kept, body=body)
        if request.method == "HEAD":
            response.content_length = int(given.headers.get("Content-Length", 0))
        return response


@pytest.fixture
async def s3_gate(s3_server: str, s3_bucket: S3Bucket) -> AsyncIterator[S3Gate]:
    """A gateway to the same part of the bucket as `s3_bucket`."""
    gate = S3Gate(s3_server, s3_bucket)
    app = web.Application(client_max_size=30_000_000)
    app.router.add_route("*", "/{path:.*}", gate.answer)
    async with serving(app) as address:
        gate.bucket = replace(s3_bucket, endpoint=address)
        yield gate
