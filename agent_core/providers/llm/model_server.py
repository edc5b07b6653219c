"""The process that serves a model's file: told what on its standard input, it says where on its standard output.

It is run by its path and imports nothing of Signoff, so that a fault of native code ends this process and no other. It
lives for as long as its standard input stays open.
"""

import json
import os
import sys
from importlib import import_module
from threading import Thread
from typing import Any


def serve() -> None:
    """Read what to serve, serve it on a free port of this machine, say where, and wait to be ended."""
    answers = os.dup(1)
    os.dup2(2, 1)  # whatever native code prints is no answer
    wanted = json.loads(sys.stdin.readline())
    waiting = Thread(target=_end_with_input, daemon=True)
    waiting.start()
    server = _server(wanted)  # it serves on threads of its own while it is referred to
    os.write(answers, f"{server.listening_address}\n".encode())
    waiting.join()


def _server(wanted: dict[str, Any]) -> Any:
    llama: Any = import_module("xllamacpp")
    options = llama.CommonParams()
    options.model.path = wanted["path"]
    options.model_alias = {wanted["name"]}
    options.api_keys = [wanted["key"]]
    options.n_ctx = wanted["context"]
    options.cpuparams.n_threads = wanted["threads"]
    options.n_parallel = 1  # several calls at once would each have a part of the window only
    options.port = 0
    options.cache_ram_mib = 0
    options.offline = True
    options.ui = options.endpoint_slots = False
    return llama.Server(options)


def _end_with_input() -> None:
    """End at once when whoever started this process lets go of it or is no more."""
    sys.stdin.read()
    os._exit(0)


if __name__ == "__main__":
    serve()
