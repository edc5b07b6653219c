"""What an agent is told of its files, and what it may not do twice."""

from datetime import UTC, datetime
from typing import Any

import pytest

from agent_core.capabilities.documents.document_reader import DocumentReader
from agent_core.capabilities.files.commands import FILE_COMMANDS, FileCommands
from agent_core.capabilities.files.file_search import list_files
from agent_core.capabilities.files.workspace_paths import Limits
from agent_core.errors import CommandError
from agent_core.model.command import CommandCall, Preview
from agent_core.model.files import MAX_LISTED_FILES, FileEntry
from agent_core.testing.examples import an_agent
from agent_core.testing.files import InMemoryFiles
from agent_core.toolset.registry import CommandContext, Commands
from tests.standins.documents import line, pdf, word

PLAIN_ONES = Commands.of(*FILE_COMMANDS)
EVERY = Commands.of(*FileCommands(DocumentReader(refusal=str)).commands)


@pytest.fixture
def files() -> InMemoryFiles:
    return InMemoryFiles()


async def run(files: InMemoryFiles, name: str, commands: Commands = EVERY, **arguments: Any) -> str:
    call = commands.checked(CommandCall(name, arguments))
    context = CommandContext(agent=an_agent(), files=files)
    return (await commands.get(call.name).run(call.arguments, context)).text


async def preview(files: InMemoryFiles, name: str, **arguments: Any) -> Preview | None:
    call = EVERY.checked(CommandCall(name, arguments))
    return await EVERY.get(call.name).preview(call.arguments, CommandContext(agent=an_agent(), files=files))


async def refusal(files: InMemoryFiles, name: str, **arguments: Any) -> str:
    """What both the preview and the run say, which is one thing."""
    said: list[str] = []
    for attempt in (preview(files, name, **arguments), run(files, name, **arguments)):
        with pytest.raises(CommandError) as caught:
            await attempt
        said.append(str(caught.value))
    assert said[0] == said[1]
    return said[0]


async def test_the_same_content_is_not_written_twice(files: InMemoryFiles) -> None:
    await run(files, "write_to_file", filename="a.txt", text="näh\n")
    said = await refusal(files, "write_to_file", filename="a.txt", text="näh\n")
    assert said == "a.txt already holds exactly this; nothing would change."
    await run(files, "write_to_file", filename="a.txt", text="other")
    await run(files, "write_to_file", filename="b.txt", text="other")


async def test_an_empty_file_can_be_made_once(files: InMemoryFiles) -> None:
    await run(files, "write_to_file", filename="a.txt", text="")
    assert "already holds exactly this" in await refusal(files, "write_to_file", filename="a.txt", text="")


async def test_what_a_file_ends_with_is_not_appended_again(files: InMemoryFiles) -> None:
    await run(files, "append_to_file", filename="log.txt", text="one\n")
    said = await refusal(files, "append_to_file", filename="log.txt", text="one\n")
    assert said.startswith("log.txt already ends with exactly this.")
    await run(files, "append_to_file", filename="log.txt", text="two\n")
    await run(files, "append_to_file", filename="log.txt", text="one\n")
    assert await files.read("log.txt") == b"one\ntwo\none\n"


async def test_blank_lines_may_be_appended_again_and_nothing_may_not(files: InMemoryFiles) -> None:
    await files.write("a.txt", b"text\n")
    await run(files, "append_to_file", filename="a.txt", text="\n")
    assert "nothing to append" in await refusal(files, "append_to_file", filename="a.txt", text="")


@pytest.mark.parametrize("data", ["text".encode("utf-16"), "näh".encode("latin-1"), bytes(range(256))])
async def test_nothing_is_appended_in_another_encoding_than_the_file_has(files: InMemoryFiles, data: bytes) -> None:
    await files.write("a.txt", data)
    said = await refusal(files, "append_to_file", filename="a.txt", text="more")
    assert said == "a.txt is not in UTF-8, so nothing can be appended; write it anew instead."


@pytest.mark.slow
async def test_a_document_is_read_as_text_with_a_word_on_how(files: InMemoryFiles) -> None:
    await files.write("a.pdf", pdf("Hello"))
    assert await run(files, "read_file", filename="a.pdf") == "[page 1]\nHello\n\n\n(It is a PDF of 1 page.)"


@pytest.mark.slow
async def test_a_long_document_is_paged_through(files: InMemoryFiles) -> None:
    await files.write("a.docx", word(line("x" * 30_000)))
    first = await run(files, "read_file", filename="a.docx")
    rest = await run(files, "read_file", filename="a.docx", start=20_000)
    assert first.endswith("x\n(10,001 more characters; read on with start=20000.)")
    assert rest == "x" * 10_000 + "\n"


async def test_reading_beyond_the_end_gives_nothing(files: InMemoryFiles) -> None:
    await files.write("a.txt", b"short")
    assert await run(files, "read_file", filename="a.txt", start=99) == ""


@pytest.mark.slow
async def test_a_file_that_cannot_be_read_is_told_before_anybody_is_asked(files: InMemoryFiles) -> None:
    await files.write("a.pdf", b"%PDF-1.4 nonsense")
    await files.write("b.bin", bytes(99))
    assert await refusal(files, "read_file", filename="a.pdf") == "a.pdf is damaged, so it cannot be read."
    assert await refusal(files, "read_file", filename="b.bin") == "b.bin is not a text file (99 bytes)."
    assert await refusal(files, "read_file", filename="c.txt") == "There is no file c.txt."
    assert await refusal(files, "read_file", filename="../x") == (
        "'../x' is not a path inside the workspace: use a relative path without '..' or links out."
    )


async def test_without_a_reader_of_documents_plain_text_is_read(files: InMemoryFiles) -> None:
    await files.write("a.txt", b"plain")
    await files.write("a.pdf", pdf("Hello") + b"\0")
    assert await run(files, "read_file", PLAIN_ONES, filename="a.txt") == "plain"
    with pytest.raises(CommandError, match="not a text file"):
        await run(files, "read_file", PLAIN_ONES, filename="a.pdf")


async def test_a_search_without_a_query_lists(files: InMemoryFiles) -> None:
    for path in ("a.txt", "sub/b.txt"):
        await files.write(path, b"12")
    assert await run(files, "search_files", directory="sub") == "sub/b.txt (2 bytes)"
    assert await run(files, "search_files", path="") == await run(files, "list_files")


async def test_a_search_finds_names_and_lines_whatever_their_case(files: InMemoryFiles) -> None:
    await files.write("notes/Budget.md", b"# Plan\nnothing\n")
    await files.write("b.txt", "eins\n  Das BUDGET für März\nzwei budget\n".encode())
    await files.write("c.txt", "budgét".encode("utf-16"))
    await files.write("d.txt", b"other")
    assert await run(files, "search_files", query="budget") == (
        "b.txt:2: Das BUDGET für März\nb.txt:3: zwei budget\nnotes/Budget.md (15 bytes)"
    )
    assert await run(files, "search_files", directory="notes", query="BUDGET") == "notes/Budget.md (15 bytes)"


async def test_a_search_takes_its_query_as_plain_text(files: InMemoryFiles) -> None:
    await files.write("a.txt", b"aaaa (a+)+$ .* \n")
    assert await run(files, "search_files", query="(a+)+$") == "a.txt:1: aaaa (a+)+$ .*"
    assert await run(files, "search_files", query="a.*b") == "No file holds 'a.*b'."


async def test_a_search_is_bounded_in_hits_and_line_lengths(files: InMemoryFiles) -> None:
    for number in range(30):
        await files.write(f"{number:02}.txt", b"hit\n" * 5_000)
    await files.write("long.txt", b"x" * 5_000 + b"NEEDLE" + b"y" * 5_000)
    lines = (await run(files, "search_files", query="hit")).splitlines()
    assert len(lines) == 101
    assert lines[10] == "00.txt: … (more lines of this file hold it)"
    assert lines[-1] == "(These are the first 100; ask more narrowly for others.)"
    found = await run(files, "search_files", query="needle")
    assert found.startswith("long.txt:1: …xxx")
    assert "NEEDLE" in found
    assert len(found) < 250


async def test_a_search_says_what_it_did_not_look_into(files: InMemoryFiles) -> None:
    roomy = InMemoryFiles(Limits(file_bytes=9_000_000, workspace_bytes=99_000_000, files=5_000))
    await roomy.write("big.txt", b"needle " * 400_000)
    await roomy.write("binary", b"needle\0")
    unread = "(2 files were not looked into but for the name: no plain text, too long, or too many.)"
    assert await run(roomy, "search_files", query="needle") == f"No file holds 'needle'.\n{unread}"
    assert (await run(roomy, "search_files", query="BIG")).startswith("big.txt (2,800,000 bytes)\n(2 files were not")


async def test_a_search_of_a_folder_that_is_none_is_told(files: InMemoryFiles) -> None:
    await files.write("a.txt", b"a")
    assert await refusal(files, "search_files", directory="gone", query="a") == "There is no folder gone."
    assert await refusal(files, "list_files", directory="a.txt") == "a.txt is a file, not a folder."


@pytest.mark.parametrize(
    ("number", "last"),
    [
        (400, "f/399 (1 byte)"),
        (401, "(1 more; name a folder, or find them by search_files.)"),
        (MAX_LISTED_FILES, "(at least 19,600 more; name a folder, or find them by search_files.)"),
    ],
)
def test_a_long_list_ends_and_says_how_much_more_there_is(number: int, last: str) -> None:
    entries = [FileEntry(f"f/{each}", 1, datetime(2026, 3, 14, tzinfo=UTC)) for each in range(number)]
    lines = list_files(entries).splitlines()
    assert lines[-1] == last
    assert len(lines) <= 401


async def test_deleting_shows_what_would_be_lost(files: InMemoryFiles) -> None:
    await files.write("sub/a.txt", b"lost")
    await files.write("big", b"x" * 30_000)
    assert await preview(files, "delete_file", filename="./sub//a.txt") == Preview(
        title="./sub//a.txt · deletes 4 bytes · −1 · kept in the trash for up to 30 days",
        body="@@ -1 +0,0 @@\n-lost",
        kind="diff",
        target="./sub//a.txt",
        basis=await files.fingerprint("sub/a.txt"),
    )
    shown = await preview(files, "delete_file", filename="big")
    assert shown is not None
    assert (shown.title, shown.body) == ("big · deletes 30,000 bytes · kept in the trash for up to 30 days", "")
    assert await refusal(files, "delete_file", filename="sub") == "sub is a folder, not a file."
    assert await refusal(files, "delete_file", filename="gone.txt") == "There is no file gone.txt."


@pytest.mark.parametrize(
    ("data", "told"),
    [
        ("Köln\n".encode("cp1252"), "It is not in UTF-8; it was read as windows-1252"),
        ("Köln\n".encode("utf-16"), "It was"),
    ],
)
async def test_what_is_lost_of_a_text_in_another_encoding_is_shown_as_it_is_read(
    files: InMemoryFiles, data: bytes, told: str
) -> None:
    await files.write("a.txt", data)
    shown = await preview(files, "write_to_file", filename="a.txt", text="Bonn\n")
    assert shown is not None
    assert shown.title == "a.txt · 1 line · +1 −1"
    assert shown.body.startswith(f"\\ Before: {told}")
    assert shown.body.endswith("-Köln\n+Bonn")


async def test_what_is_lost_of_a_file_that_is_no_text_is_told_by_its_size(files: InMemoryFiles) -> None:
    await files.write("a.bin", b"\0\1\2")
    shown = await preview(files, "write_to_file", filename="a.bin", text="x\n")
    assert shown is not None
    assert shown.title == "a.bin · 3 bytes that are no text · 1 line · +1 −0"
