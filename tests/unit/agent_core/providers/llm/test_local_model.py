"""A model in a file: what is said of a file that cannot be served, and what becomes of the process that serves one."""

import asyncio
import json
import os
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from importlib.machinery import ModuleSpec
from pathlib import Path

import pytest

from agent_core.errors import ModelRefused, ModelUnavailable, SettingsError
from agent_core.model.messages import Message
from agent_core.model.usage import FREE, Usage
from agent_core.ports.models import CallOptions
from agent_core.providers.llm import local_model
from agent_core.providers.llm.local_model import LocalModel, model_file_fault, thread_count
from agent_core.providers.llm.model_process import ModelProcess, ServedModel, filter_environment
from agent_core.providers.llm.rehearsal import RehearsalModel
from bot.model_wiring import make_model, wanted_profile
from bot.settings import Settings, load
from tests.standins.openai import CutsOff, OpenAIStandIn, Says, openai_standin

ASKED = (Message("user", "What next?"),)
# Stands in for the process that serves: it keeps what it was told and says where the stand-in for an endpoint is.
WAITS = """
import os, sys
line = sys.stdin.readline()
with open({kept!r}, "a") as kept:
    kept.write(line)
with open({pid!r}, "w") as pid:
    pid.write(str(os.getpid()))
os.write(1, b"{address}\\n")
sys.stdin.read()
"""
LOADS = """
import os, sys
with open({pid!r}, "w") as pid:
    pid.write(str(os.getpid()))
sys.stdin.read()
"""
BREAKS = """
import sys
path = sys.stdin.readline()
sys.stderr.write("0.01 E llama_model_load: error loading model: unknown model architecture: 'owl'\\n")
sys.stderr.write("RuntimeError: Failed to init server\\n")
"""
DIES = "import os; os.abort()"
HANGS = "import signal; signal.pause()"


@dataclass
class Shelf:
    """A folder with a file that looks like a model, a script that serves it, and where that serves from."""

    folder: Path
    endpoint: OpenAIStandIn
    models: list[LocalModel] = field(default_factory=list)

    def model(self, context: int | None = None, script: str = WAITS) -> LocalModel:
        path, worker = self.folder / "small-1b.gguf", self.folder / "worker.py"
        path.write_bytes(b"GGUF and so on")
        kept, pid = str(self.folder / "told"), str(self.folder / "pid")
        worker.write_text(script.format(kept=kept, pid=pid, address=self.endpoint.base_url.removesuffix("/v1")))
        self.models.append(LocalModel(path=path, context=context, worker=worker, setting="LOCAL_MODEL"))
        return self.models[-1]

    @property
    def told(self) -> list[dict[str, object]]:
        """What each process was told."""
        return [json.loads(line) for line in (self.folder / "told").read_text().splitlines()]

    @property
    def pid(self) -> int:
        return int((self.folder / "pid").read_text())


@pytest.fixture(autouse=True)
def _with_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    """What serves a file seems to be there, whether or not it is."""
    monkeypatch.setattr(local_model, "find_spec", lambda name: ModuleSpec(name, None))


@pytest.fixture
async def shelf(tmp_path: Path) -> AsyncIterator[Shelf]:
    async with openai_standin() as endpoint:
        endpoint.models = ("small-1b",)
        shelf = Shelf(tmp_path, endpoint)
        yield shelf
        for model in shelf.models:
            await model.close()


async def asked(model: LocalModel, name: str = "") -> str:
    return (await model.complete(ASKED, CallOptions(model=name, max_tokens=50))).text


def settings_with(tmp_path: Path, **variables: str) -> Settings:
    return load({"SIGNOFF_HOME": str(tmp_path / "home"), **variables}, None)


async def test_it_is_loaded_once_asked_by_its_name_and_free(shelf: Shelf) -> None:
    shelf.endpoint.answers(Says("One."), Says("Two."))
    model = shelf.model()
    assert [await asked(model), await asked(model, "small-1b")] == ["One.", "Two."]
    (told,) = shelf.told
    assert {name: told[name] for name in ("name", "context", "threads")} == {
        "name": "small-1b", "context": 4096, "threads": thread_count(),
    }  # fmt: skip
    assert {request.headers["Authorization"] for request in shelf.endpoint.requests} == {f"Bearer {told['key']}"}
    assert (model.label, model.price(Usage(prompt=9), "")) == ("small-1b.gguf · on this machine", FREE)


async def test_its_window_is_the_operators_word_or_what_it_was_trained_for(shelf: Shelf) -> None:
    shelf.endpoint.facts = {"small-1b": {"meta": {"n_ctx": 4096, "n_ctx_train": 2048}}}
    own, trained = shelf.model(16_000), shelf.model()
    assert (own.window(""), trained.window("")) == (16_000, 4096)
    await own.prepare()
    await trained.prepare()
    assert (own.window(""), trained.window("")) == (16_000, 2048)
    assert [told["context"] for told in shelf.told] == [16_000, 4096]


async def test_a_model_of_another_name_is_not_answered_by_this_one(shelf: Shelf) -> None:
    with pytest.raises(ModelRefused, match="there is no model gpt-5: LOCAL_MODEL serves small-1b"):
        await asked(shelf.model(), "gpt-5")


async def test_calls_at_once_are_made_one_after_the_other_by_one_process(shelf: Shelf) -> None:
    model = shelf.model()
    await asyncio.gather(asked(model), asked(model), asked(model))
    assert (len(shelf.told), len(shelf.endpoint.completions)) == (1, 3)


async def test_a_process_that_broke_down_is_told_and_started_again_by_the_next_call(shelf: Shelf) -> None:
    shelf.endpoint.answers(Says("One."), CutsOff(), Says("Two."))
    model = shelf.model()
    await asked(model)
    os.kill(shelf.pid, 9)
    with pytest.raises(ModelUnavailable, match=r"small-1b\.gguf crashed and is loaded again"):
        await asked(model)
    assert await asked(model) == "Two."
    assert len(shelf.told) == 2


async def test_nothing_of_it_is_left_when_it_is_closed(shelf: Shelf) -> None:
    model = shelf.model()
    await asked(model)
    await model.close()
    with pytest.raises(ProcessLookupError):
        os.kill(shelf.pid, 0)


async def test_one_that_is_closed_while_it_loads_is_ended(shelf: Shelf) -> None:
    model = shelf.model(script=LOADS)
    os.mkfifo(shelf.folder / "pid")
    loading = asyncio.create_task(model.prepare())
    pid = int(await asyncio.to_thread((shelf.folder / "pid").read_text))
    await model.close()
    (ended,) = await asyncio.gather(loading, return_exceptions=True)
    assert isinstance(ended, asyncio.CancelledError)
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


async def test_the_reason_why_a_file_cannot_be_loaded_is_told_without_its_path(shelf: Shelf) -> None:
    model = shelf.model(script=BREAKS)
    await model.prepare()
    with pytest.raises(ModelRefused) as refused:
        await asked(model)
    assert str(refused.value) == ("small-1b.gguf (LOCAL_MODEL) could not be loaded: unknown model architecture: 'owl'.")


@pytest.mark.parametrize(
    ("script", "why"),
    [(DIES, "it ended before it answered"), (HANGS, "it was not ready after 0 seconds")],
)
async def test_a_process_that_never_answers_is_ended_and_told(tmp_path: Path, script: str, why: str) -> None:
    worker = tmp_path / "worker.py"
    worker.write_text(script)
    served = ServedModel(path=tmp_path / "a.gguf", name="a", context=512, threads=1)
    start = 60 if script == DIES else 0.01
    process = ModelProcess(served=served, setting="LOCAL_MODEL", worker=worker, start_timeout=start, end_timeout=0.01)
    with pytest.raises(ModelRefused, match=why):
        await process.start()
    assert process.has_ended
    assert served.key not in repr(process)


def test_no_key_of_the_operators_reaches_the_process_that_serves_the_model() -> None:
    environ = {"PATH": "/bin", "OMP_NUM_THREADS": "2", "OPENAI_API_KEY": "sk-1", "SLACK_BOT_TOKEN": "xoxb-1"}
    assert filter_environment(environ) == {"PATH": "/bin", "OMP_NUM_THREADS": "2"}


def test_a_file_that_cannot_be_served_is_told_in_a_sentence(tmp_path: Path) -> None:
    other, model = tmp_path / "page.gguf", tmp_path / "model.gguf"
    other.write_text("<html>")
    model.write_bytes(b"GGUF...")
    assert model_file_fault(tmp_path / "gone.gguf") == "gone.gguf cannot be read (No such file or directory)."
    assert model_file_fault(other) == "page.gguf is no model in GGUF, the format of llama.cpp."
    assert model_file_fault(model) == ""


def test_without_the_extra_the_start_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "model.gguf"
    path.write_bytes(b"GGUF...")
    settings = settings_with(tmp_path, LOCAL_MODEL=str(path))
    monkeypatch.setattr(local_model, "find_spec", lambda name: None)
    with pytest.raises(SettingsError, match=r"LOCAL_MODEL: .* make extras EXTRAS=local"):
        make_model(settings)


def test_the_settings_make_the_model_in_a_file(tmp_path: Path) -> None:
    path = tmp_path / "model.gguf"
    path.write_bytes(b"GGUF...")
    made = make_model(settings_with(tmp_path, LOCAL_MODEL=str(path), CONTEXT_WINDOW="2048", TEMPERATURE="0.5"))
    assert isinstance(made, LocalModel)
    assert (made.path, made.context, made.temperature) == (path, 2048, 0.5)


def test_the_rehearsal_is_always_instructed_in_full(tmp_path: Path) -> None:
    rehearsal = settings_with(tmp_path, PROMPT_PROFILE="compact")
    asked = settings_with(tmp_path, PROMPT_PROFILE="compact", OPENAI_API_KEY="sk-1234")
    assert isinstance(make_model(rehearsal), RehearsalModel)
    assert [wanted_profile(rehearsal), wanted_profile(asked)] == ["full", "compact"]
