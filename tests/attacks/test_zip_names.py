"""Attacks on the zip of an agent's files: by names that another system reads as something else."""

import io
import unicodedata
import zipfile
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path, PureWindowsPath

import pytest
from aiohttp import ClientSession

from agent_core.model.agent import Finished
from agent_core.testing.examples import an_agent, keep
from agent_core.testing.language_model import ScriptedModel
from agent_core.testing.stage import Stage
from tests.scenario.served import served

PATH = "/c/web/local/general/a/agent-ada"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The workspace of the agent, in which programs make files of any name."""
    made = tmp_path / "workspaces" / "agent-ada"
    made.mkdir(parents=True)
    return made


@pytest.fixture
async def page(tmp_path: Path) -> AsyncIterator[ClientSession]:
    stages: list[Stage] = []
    async with served(ScriptedModel(waits=True), tmp_path, prepared=stages.append) as base:
        await keep(stages[0].database, replace(an_agent(), status=Finished("done")))
        async with ClientSession(base) as session:
            yield session


async def names_in_zip(page: ClientSession) -> list[str]:
    async with page.get(f"{PATH}/files.zip") as response:
        with zipfile.ZipFile(io.BytesIO(await response.read())) as archive:
            return archive.namelist()


async def test_the_zip_has_the_headers_of_every_other_download(page: ClientSession, folder: Path) -> None:
    """The guard adds them to responses that are not prepared; the zip is a stream."""
    (folder / "a.txt").write_text("a")
    async with page.get(f"{PATH}/files.zip") as response:
        told = {name: response.headers.get(name) for name in ("X-Content-Type-Options", "Cross-Origin-Resource-Policy")}
    assert told == {"X-Content-Type-Options": "nosniff", "Cross-Origin-Resource-Policy": "same-origin"}


@pytest.mark.proves("files:zip")
async def test_no_name_in_the_zip_is_absolute_on_windows(page: ClientSession, folder: Path) -> None:
    (folder / "C:" / "Users" / "Public").mkdir(parents=True)
    (folder / "C:" / "Users" / "Public" / "run.bat").write_text("start")
    (folder / "report.md:hidden.exe").write_text("an alternate data stream")
    names = await names_in_zip(page)
    assert names == ["C_/Users/Public/run.bat", "report.md_hidden.exe"]
    assert [name for name in names if PureWindowsPath(name).drive] == []


@pytest.mark.proves("files:zip")
async def test_no_file_of_the_zip_takes_the_place_of_another_where_it_is_unpacked(
    page: ClientSession, folder: Path
) -> None:
    """macOS and Windows compare names by case, macOS also in one Unicode form: the last of two wins without a word."""
    for name in ("café.txt", "cafe\u0301.txt", "Plan.md", "plan.md"):
        (folder / name).write_text(name)
    names = [unicodedata.normalize("NFC", name).casefold() for name in await names_in_zip(page)]
    assert len(names) == len(set(names)), names
