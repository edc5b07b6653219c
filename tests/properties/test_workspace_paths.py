"""No path whatever leaves the workspace."""

import asyncio
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_core.capabilities.files.folder_workspace import FolderFiles
from agent_core.capabilities.files.workspace_lock import LOCKS_FOLDER
from agent_core.capabilities.files.workspace_paths import split_file_path
from agent_core.errors import CommandError

PIECE = st.sampled_from(["..", ".", "", "a", "link", "up", "~", "\0", "\\", "C:", "..\\..", "%2e%2e", "‥", "\u2215"])
PATH = st.lists(PIECE | st.text(max_size=8), max_size=6).map("/".join)


def everything_in(folder: Path) -> dict[str, bytes]:
    """The files below the folder, without the locks of workspaces."""
    files = (path for path in folder.rglob("*") if path.is_file() and path.parent.name != LOCKS_FOLDER)
    return {str(path): path.read_bytes() for path in files}


async def does_all(files: FolderFiles, path: str) -> None:
    with suppress(CommandError):
        assert await files.read(path) != b"kept"
    for act in (
        files.write(path, b"x"),
        files.write(path, b"y", append=True),
        files.fingerprint(path),
        files.list_files(path),
        files.delete(path),
    ):
        with suppress(CommandError):
            await act


@pytest.mark.slow
@given(PATH)
def test_nothing_outside_is_made_changed_or_deleted(path: str) -> None:
    with TemporaryDirectory() as name:
        outside, inside = Path(name) / "outside", Path(name) / "outside" / "workspaces" / "inside"
        inside.mkdir(parents=True)
        (outside / "a").write_text("kept")
        (inside / "link").symlink_to(outside)
        (inside / "up").symlink_to("..")
        asyncio.run(does_all(FolderFiles(inside), path))
        beyond = {path: data for path, data in everything_in(outside).items() if not path.startswith(str(inside))}
    assert beyond == {str(outside / "a"): b"kept"}


@pytest.mark.slow
@given(PATH)
def test_a_path_that_is_taken_reads_back_to_itself(path: str) -> None:
    with suppress(CommandError):
        parts = split_file_path(path)
        assert split_file_path("/".join(parts)) == parts
        assert not {"", ".", ".."} & set(parts)


@pytest.mark.slow
@given(PATH)
def test_what_was_written_under_a_path_is_listed_and_read_under_it(path: str) -> None:
    async def story() -> None:
        with TemporaryDirectory() as name:
            files = FolderFiles(Path(name, "inside"))
            try:
                await files.write(path, b"x")
            except CommandError:
                return
            assert await files.read(path) == b"x"
            assert [entry.path for entry in await files.list_files()] == ["/".join(split_file_path(path))]

    asyncio.run(story())
