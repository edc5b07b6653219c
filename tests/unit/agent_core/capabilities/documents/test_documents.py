"""Files that are more than plain text: what is read of them, what is said of how, and what is left alone."""

import asyncio
import io
import json
import os
import re
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from pypdf import PdfWriter

from agent_core.capabilities.documents.document_reader import DocumentReader
from agent_core.capabilities.documents.document_worker import read
from agent_core.capabilities.documents.isolated_worker import read_isolated
from agent_core.capabilities.memory.commands import MemoryCommands
from agent_core.capabilities.programs.sandbox_self_test import Listener
from agent_core.errors import CommandError
from agent_core.memory.long_term import LongTermMemory
from agent_core.ports.documents import DocumentText
from agent_core.providers.clock import SystemClock
from agent_core.testing.clock import FakeClock
from agent_core.testing.database import TemporaryDatabase
from agent_core.testing.embedder import WordEmbedder
from agent_core.testing.examples import an_agent, keep
from agent_core.testing.files import InMemoryFiles
from agent_core.testing.memory_index import InMemoryIndex
from agent_core.toolset.registry import CommandContext, Commands
from tests.packages import need
from tests.patience import PATIENCE_SECONDS
from tests.standins.documents import (
    WORD_NAMESPACE,
    archive,
    compressed_stream,
    filled_form,
    line,
    open_document,
    pdf,
    word,
)

DOCUMENTS = DocumentReader(refusal=str)
OLD = "It is not in UTF-8; it was read as {}, which may be wrong."


def locked(password: str) -> bytes:
    made = io.BytesIO()
    writer = PdfWriter(clone_from=io.BytesIO(pdf("The secret plan.")))
    writer.encrypt(password, "owner", algorithm="AES-256")
    writer.write(made)
    return made.getvalue()


@pytest.mark.slow
async def test_a_word_file_is_read_line_by_line_with_its_tables() -> None:
    cells = f"<w:tr><w:tc>{line('a')}</w:tc><w:tc>{line('b')}</w:tc></w:tr>"
    tabbed = "<w:p><w:r><w:t>x</w:t><w:tab/><w:t>y</w:t><w:br/><w:t>z</w:t></w:r></w:p>"
    data = word(f"{line('R&amp;D')}<w:tbl>{cells}</w:tbl>{tabbed}")
    assert await DOCUMENTS.text_of("a.docx", data) == DocumentText("R&D\na \tb \t\nx\ty\nz\n")


@pytest.mark.slow
async def test_what_a_word_file_deleted_or_repeats_is_not_read() -> None:
    gone = "<w:p><w:del><w:r><w:delText>gone</w:delText></w:r></w:del></w:p>"
    twice = f'<m:Fallback xmlns:m="urn:m">{line("again")}</m:Fallback>'
    assert (await DOCUMENTS.text_of("a.docx", word(gone + twice + line("here")))).text == "\nhere\n"


RELATIONSHIPS = (
    '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="r1" '
    'Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" Target="{}"/>'
    "</Relationships>"
)


def word_parts(**parts: str) -> dict[str, str]:
    return {f"word/{name}.xml": f"<w:x {WORD_NAMESPACE}>{body}</w:x>" for name, body in parts.items()}


@pytest.mark.slow
@pytest.mark.parametrize("target", ["word/document2.xml", "/word/document2.xml"])
async def test_the_main_part_of_a_word_file_is_the_one_that_it_names(target: str) -> None:
    data = archive({"_rels/.rels": RELATIONSHIPS.format(target), **word_parts(document2=line("Decision: go"))})
    assert (await DOCUMENTS.text_of("a.docx", data)).text == "Decision: go\n"


@pytest.mark.slow
async def test_symbols_and_hyphens_of_a_word_file_are_read_or_told() -> None:
    signs = '<w:sym w:char="00B5"/><w:t>m</w:t><w:noBreakHyphen/><w:t>x</w:t><w:sym w:font="Wingdings" w:char="F0FC"/>'
    reading = await DOCUMENTS.text_of("a.docx", word(f"<w:p><w:r>{signs}</w:r></w:p>"))
    assert reading == DocumentText("µm\u2011x□\n", "1 symbols of a font are shown as □.")


@pytest.mark.slow
async def test_notes_headers_and_comments_of_a_word_file_are_read_and_pictures_told() -> None:
    body = '<w:p><w:r><w:t>Price</w:t><w:footnoteReference w:id="2"/></w:r></w:p>'
    notes = f'<w:footnote w:id="0" w:type="separator"/><w:footnote w:id="2">{line("without tax")}</w:footnote>'
    parts = word_parts(document=body, footnotes=notes, header1=line("Draft"), header2="<w:p/>")
    reading = await DOCUMENTS.text_of("a.docx", archive({**parts, "word/media/image1.png": "x"}))
    assert reading.text == "Price[foot 2]\n\n[footnotes]\n[foot 2]without tax\n\n[header1]\nDraft\n"
    assert reading.note == "Not read: 1 picture."


@pytest.mark.slow
async def test_a_word_file_whose_relationships_declare_entities_is_left_alone() -> None:
    bomb = '<!DOCTYPE x [<!ENTITY a "b">]>' + RELATIONSHIPS.format("word/document.xml")
    with pytest.raises(CommandError, match="declares entities"):
        await DOCUMENTS.text_of("a.docx", archive({"_rels/.rels": bomb, **word_parts(document=line("x"))}))


@pytest.mark.slow
async def test_an_open_document_is_read_line_by_line() -> None:
    body = "<text:h>Title</text:h><text:p>one<text:tab/>two<text:s/>three<text:line-break/>four</text:p>"
    changes = "<text:tracked-changes><text:p>gone</text:p></text:tracked-changes>"
    reading = await DOCUMENTS.text_of("a.odt", open_document(changes + body))
    assert reading.text == "Title\none\ttwo three\nfour\n"


@pytest.mark.slow
async def test_a_pdf_is_read_page_by_page_whatever_it_is_called() -> None:
    reading = await DOCUMENTS.text_of("report", pdf("First words", "", "Last words"))
    assert reading.text == "[page 1]\nFirst words\n\n[page 3]\nLast words\n\n"
    assert reading.note == "It is a PDF of 3 pages."


@pytest.mark.slow
async def test_the_values_of_a_form_and_comments_are_read_with_a_pdf() -> None:
    reading = await DOCUMENTS.text_of("a.pdf", filled_form())
    assert reading.text == (
        "[page 1]\nSurname:\n[comment] Please check.\n\n"
        "[form]\nsurname: Okonkwo\nconsent: Yes\nchild: (empty)\nkey: (a password)\n"
    )


@pytest.mark.slow
async def test_a_pdf_that_only_forbids_copying_is_read() -> None:
    assert "The secret plan." in (await DOCUMENTS.text_of("a.pdf", locked(""))).text


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "data", "said"),
    [
        ("a.pdf", locked("s3cret"), "a.pdf is locked with a password, so it cannot be read."),
        ("a.pdf", pdf("", ""), "a.pdf holds no text. If it is a PDF, its pages are probably scanned pictures."),
        ("a.pdf", b"%PDF-1.7 and nothing", "a.pdf is damaged, so it cannot be read."),
        ("a.pdf", pdf(tree="<</Type/Pages/Count 9/Kids[2 0 R]>>"), "a.pdf is damaged, so it cannot be read."),
        ("a.docx", b"PK\x03\x04 and nothing", "a.docx is damaged, so it cannot be read."),
        ("a.docx", word("<w:p>"), "a.docx is damaged, so it cannot be read."),
        ("a.zip", archive({"a.txt": "text"}), "a.zip is not a text file ("),
        ("a.bin", bytes(range(256)), "a.bin is not a text file (256 bytes)."),
        ("a.jpg", b"\xff\xd8\xff\xe0 \x10JFIF", "a.jpg is not a text file (10 bytes)."),
        ("a.bin", bytes(range(128, 256)) * 3, "a.bin is not a text file (384 bytes)."),
        ("a.doc", b"\xd0\xcf\x11\xe0 old", "a.doc is in an old format of Microsoft Office; it can be read once saved "),
    ],
    ids=lambda part: part[-40:] if isinstance(part, str) else "",
)
async def test_what_cannot_be_read_is_told_in_a_sentence(name: str, data: bytes, said: str) -> None:
    with pytest.raises(CommandError) as caught:
        await DOCUMENTS.text_of(name, data)
    assert str(caught.value).startswith(said)


@pytest.mark.parametrize(
    ("text", "encoding", "note"),
    [
        ("Schöne Grüße, “naïve” café – for 5 € each", "cp1252", OLD.format("windows-1252")),
        ("Привет, это обычный русский текст для проверки.", "cp1251", OLD.format("cp1251")),
        ("これは日本語のテキストです。今日は天気がいいですね。", "shift_jis", OLD.format("cp932")),
        ("plain", "ascii", ""),
        ("näh", "utf-8-sig", ""),
        ("näh 日本", "utf-16", ""),
        ("näh 日本", "utf-32", ""),
        ("", "ascii", ""),
    ],
)
async def test_a_text_in_another_encoding_is_read_and_a_guess_is_told(text: str, encoding: str, note: str) -> None:
    assert await DOCUMENTS.text_of("a.txt", text.encode(encoding)) == DocumentText(text, note)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("encoding", "names"),
    [
        ("gbk", ("\u5317\u4eac\u5e02\u671d\u9633\u533a", "\u4e0a\u6d77\u5e02\u6d66\u4e1c\u65b0\u533a")),
        ("cp1251", ("Москва", "Казань", "Самара", "Ярославль")),
        ("koi8_r", ("Москва", "Казань", "Самара", "Ярославль")),
        ("cp1253", ("Αθήνα", "Πάτρα", "Ηράκλειο", "Χανιά")),
        ("cp1255", ("ירושלים", "חיפה", "אשדוד")),
        ("cp1252", ("München", "Köln", "Besançon", "Málaga")),
    ],
)
async def test_a_table_with_few_letters_is_read_in_the_encoding_of_these(encoding: str, names: tuple[str, ...]) -> None:
    rows = [
        f"{number};{name};{number}99.00;2024-05-06;https://example.com/{number}" for number, name in enumerate(names)
    ]
    text = "number;city;sum;day;address\n" + "\n".join(rows * 10)
    assert (await DOCUMENTS.text_of("a.csv", text.encode(encoding))).text == text


@pytest.mark.slow
async def test_where_several_encodings_are_as_likely_all_are_named() -> None:
    note = (await DOCUMENTS.text_of("a.csv", "id,name\n1,\u738b\u4f1f\n".encode("gbk"))).note
    assert re.fullmatch(r"It is not in UTF-8; it was read as \w+, and may be \w+ or \w+\.", note)


@pytest.mark.slow
@pytest.mark.parametrize(
    "data", ["Grüße\n".encode() * 3 + b"\x96 end", "日本語".encode() + b"\xff", "aéß日".encode()[:-1]]
)
async def test_a_text_in_utf_8_with_a_wrong_byte_is_read_and_the_byte_is_told(data: bytes) -> None:
    reading = await DOCUMENTS.text_of("a.txt", data)
    assert reading.text == data.decode(errors="replace")
    assert reading.note == "It is in UTF-8, except for what is shown as \ufffd (1 times): to write it back loses that."


@pytest.mark.slow
async def test_a_reader_that_takes_too_long_is_ended(tmp_path: Path) -> None:
    endless = tmp_path / "endless.py"
    endless.write_text("import sys\nsys.stdin.buffer.read()\nwhile True: pass\n")
    with pytest.raises(CommandError, match=r"^a.pdf takes too long or too much memory to read\.$"):
        await DocumentReader(refusal=str, seconds=0.3, worker=endless).text_of("a.pdf", pdf("x"))


@pytest.mark.slow
async def test_a_reader_that_prints_without_end_is_ended(tmp_path: Path) -> None:
    flood = tmp_path / "flood.py"
    flood.write_text("while True: print('x' * 99999)\n")
    with pytest.raises(CommandError, match="takes too long"):
        await DocumentReader(refusal=str, worker=flood).text_of("a.pdf", pdf("x"))


def runs(token: str) -> bool:
    """Whether a process of this machine was started with the token."""
    for each in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            if token.encode() in each.read_bytes():
                return True
    return False


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not holds():
            await SystemClock().sleep(0.01)


async def test_a_reading_that_is_cancelled_leaves_no_process(tmp_path: Path) -> None:
    waiting, token = tmp_path / "waiting.py", f"has read {tmp_path}"
    again = f"os.execv(sys.executable, [sys.executable, '-c', 'import time; time.sleep(1000)', {token!r}])"
    waiting.write_text(f"import os, sys\nsys.stdin.buffer.read()\n{again}\n")
    reading = asyncio.create_task(DocumentReader(refusal=str, worker=waiting).text_of("a.pdf", pdf("x")))
    await until(lambda: runs(token))
    reading.cancel()
    await asyncio.wait([reading])
    await until(lambda: not runs(token))


@pytest.mark.slow
async def test_documents_are_refused_in_a_sentence_where_root_cannot_confine_what_reads_them() -> None:
    reader = DocumentReader(refusal=lambda: "bwrap is not installed.")
    with pytest.raises(CommandError) as refused:
        await reader.text_of("a.pdf", pdf("x"))
    assert str(refused.value) == (
        "a.pdf is not read: Signoff runs as root here, and what reads PDF, Word and OpenDocument cannot be confined: "
        "bwrap is not installed."
    )
    assert (await reader.text_of("a.txt", "näh".encode("cp1252") * 9)).text.startswith("näh")


TAKEN_OVER = """
import json, os, socket, sys
def got(act):
    try:
        return str(act())
    except OSError as fault:
        return type(fault).__name__
print(json.dumps({"note": "", "text": json.dumps({
    "secret": got(lambda: open(SECRET).read()),
    "host": got(lambda: socket.create_connection(("127.0.0.1", PORT), timeout=1)),
    "home": got(lambda: os.listdir("/home") + os.listdir("/root")),
    "write": got(lambda: open(__file__ + "x", "w")),
    "environment": sorted(set(os.environ) - {"LANG", "PWD", "LC_CTYPE"}),
    "user": os.getuid() != UID or UID != 0,
})}))
"""


async def test_no_key_of_the_operators_reaches_a_worker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    worker = tmp_path / "tells.py"
    worker.write_text('import json, os; print(json.dumps("OPENAI_API_KEY" in os.environ))')
    monkeypatch.setenv("OPENAI_API_KEY", "sk-1")
    assert await read_isolated(worker, given=b"", seconds=PATIENCE_SECONDS) is False


async def test_a_worker_that_was_taken_over_finds_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    need("bubblewrap")
    secret, worker = tmp_path / "secret", tmp_path / "taken.py"
    secret.write_text("the bot's")
    monkeypatch.setenv("PYTHONSECRET", "x")
    async with Listener() as listener:
        given = {"SECRET": str(secret), "PORT": listener.port, "UID": os.getuid()}
        worker.write_text("".join(f"{name} = {value!r}\n" for name, value in given.items()) + TAKEN_OVER)
        found = json.loads((await DocumentReader(refusal=str, worker=worker).text_of("a.pdf", pdf("x"))).text)
    refused = {"secret": "FileNotFoundError", "host": "ConnectionRefusedError", "home": "FileNotFoundError"}
    assert found == {**refused, "write": "OSError", "environment": [], "user": True}


@pytest.mark.slow
async def test_a_document_is_taken_into_memory_as_text() -> None:
    agent, files, database = an_agent(), InMemoryFiles(), TemporaryDatabase()
    await keep(database, agent)
    memory = LongTermMemory(database=database, embedder=WordEmbedder(), index=InMemoryIndex())
    command = Commands.of(*MemoryCommands(memory, FakeClock(), DOCUMENTS).commands).get("ingest_file")
    await files.write("a.pdf", pdf("The port is 4711"))
    said = await command.run({"filename": "a.pdf"}, CommandContext(agent=agent, files=files))
    assert said.text == "a.pdf is kept. It is a PDF of 1 page."
    async with database.begin() as work:
        assert [each.text.split() for each in await work.memories.of(agent, most=9)] == [
            ["[page", "1]", "The", "port", "is", "4711"]
        ]


@pytest.mark.slow
def test_a_long_document_is_read_up_to_a_bound_and_says_so() -> None:
    answer = read("archive", word(line("word " * 10) * 50_000))
    assert len(answer["text"]) == 2_000_000
    assert answer["note"] == "Only its first 2,000,000 characters were read."


@pytest.mark.slow
def test_a_page_that_breaks_the_library_does_not_hide_the_others() -> None:
    answer = read("pdf", pdf("Good page", compressed_stream(bytes(1000), 500_000)))
    assert "Good page" in answer["text"]
    assert answer["note"] == "It is a PDF of 2 pages. 1 of them could not be read."
