"""The process that serves a model file: configuration on stdin, base URL on stdout.

It is run by its path and imports no Signoff code. It exits when its standard input is closed.
"""

import json
import os
import sys
from importlib import import_module
from threading import Thread
from typing import Any


def serve() -> None:
    """Read the configuration, start the server on a free port, print its address, and wait until stdin closes."""
    answers = os.dup(1)
    os.dup2(2, 1)  # output of native code goes to stderr
    wanted = json.loads(sys.stdin.readline())
    waiting = Thread(target=_end_with_input, daemon=True)
    waiting.start()
    server = _server(wanted)  # serves on its own threads as long as it is referenced
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
    options.n_parallel = 1  # parallel calls would share the context window
    options.port = 0
    options.cache_ram_mib = 0
    options.offline = True
    options.ui = options.endpoint_slots = False
    return llama.Server(options)


def _end_with_input() -> None:
    """Exit when the parent closes the pipe or dies."""
    sys.stdin.read()
    os._exit(0)


if __name__ == "__main__":
    serve()
