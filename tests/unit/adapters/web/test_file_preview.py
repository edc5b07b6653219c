"""What is shown of an agent's file: the kind of preview, what is left out, and hostile content."""

import csv

import pytest

from adapters.web.pages.file_preview import (
    MAX_CELL_CHARACTERS,
    MAX_COLUMNS,
    MAX_PREVIEW_CHARACTERS,
    MAX_ROWS,
    MAX_TABLE_CHARACTERS,
    FilePreview,
    Table,
    preview_of,
    read_table,
)
from agent_core.capabilities.documents.html_renderer import IsolatedHtmlRenderer

RENDERER = IsolatedHtmlRenderer()


async def preview(path: str, data: str | bytes, *, as_source: bool = False) -> FilePreview:
    content = data if isinstance(data, bytes) else data.encode()
    return await preview_of(path, content, RENDERER, files="/files/", as_source=as_source)


@pytest.mark.slow
@pytest.mark.proves("files:harmless")
@pytest.mark.parametrize(
    ("path", "data", "kind"),
    [
        ("a.md", "# x", "markdown"),
        ("A.MD", "# x", "markdown"),
        ("a.csv", "a,b", "table"),
        ("a.py", "x = 1", "code"),
        ("a.svg", "<svg onload='alert(1)'/>", "code"),
        ("a.html", "<script>alert(1)</script>", "code"),
        ("a.txt", "x", "text"),
        ("README", "x", "text"),
        ("a.bin", b"\0\1\2", "none"),
        ("a.py", b"\xff\xfe\xfa", "none"),
        ("a.txt", b"", "none"),
    ],
)
async def test_the_preview_follows_from_name_and_content(path: str, data: str | bytes, kind: str) -> None:
    assert (await preview(path, data)).kind == kind


@pytest.mark.slow
async def test_markdown_and_tables_can_be_seen_as_their_source() -> None:
    assert (await preview("a.csv", "a,b", as_source=True)) == FilePreview(kind="text", text="a,b")
    source = await preview("a.md", "# <b>", as_source=True)
    assert (source.kind, "&lt;b&gt;" in source.html, "<h2" in source.html) == ("code", True, False)


@pytest.mark.slow
@pytest.mark.proves("files:harmless")
async def test_hidden_characters_of_a_rendered_file_are_spelled_out() -> None:
    for path, text in (("a.md", "pay &#x202e;live\u200b"), ("a.py", "x = '\u202elive\u200b'")):
        html = (await preview(path, text)).html
        assert "\u202e" not in html
        assert "⟨U+202E⟩" in html
        assert "⟨U+200B⟩" in html


@pytest.mark.slow
@pytest.mark.parametrize("path", ["a.txt", "a.py", "a.md"])
async def test_of_a_long_file_the_first_part_is_shown_and_the_size_of_the_whole_is_told(path: str) -> None:
    found = await preview(path, "word\n" * 100_000)
    assert found.notes == ("The first 199,999 of 500,000 characters. Download has the whole file.",)
    assert (found.text or found.html).count("word") == MAX_PREVIEW_CHARACTERS // 5


def test_ragged_rows_survive_and_a_formula_is_only_text() -> None:
    text = 'name,age\n\n=HYPERLINK("http://evil.example"),1,extra\n"two\nlines"\n'
    head, rows = ("name", "age", ""), (('=HYPERLINK("http://evil.example")', "1", "extra"), ("two\nlines", "", ""))
    assert read_table(text) == (Table(head=head, rows=rows), 0, 0)


@pytest.mark.parametrize("text", ["a;b\n1,5;2\n", "a\tb\n1,5\t2\n", "a|b\n1,5|2\n"])
def test_the_separator_is_the_most_frequent_one_of_the_first_line(text: str) -> None:
    assert read_table(text) == (Table(head=("a", "b"), rows=(("1,5", "2"),)), 0, 0)


@pytest.mark.proves("files:harmless")
async def test_of_a_large_table_the_first_rows_and_columns_are_shown_and_the_rest_is_counted() -> None:
    rows = "\n".join(",".join(str(column) for column in range(MAX_COLUMNS + 2)) for _ in range(MAX_ROWS + 8))
    found = await preview("a.csv", f"{rows}\n{'x' * 1_000}")
    assert found.notes == ("Left out here: 8 rows and 2 columns. Download has the whole file.",)
    assert found.table
    assert (len(found.table.rows), len(found.table.head)) == (MAX_ROWS, MAX_COLUMNS)
    (cell,) = read_table("x" * 1_000)[0].head
    assert cell == f"{'x' * (MAX_CELL_CHARACTERS - 1)}…"


@pytest.mark.slow
async def test_of_a_table_that_is_too_long_to_count_the_first_part_is_counted() -> None:
    found = await preview("a.csv", "a,b\n" * (MAX_TABLE_CHARACTERS // 4 + 1))
    assert found.notes == ("Left out here: more than 499,799 rows. Download has the whole file.",)


@pytest.mark.parametrize(
    "text",
    ['"' + "x" * 200_000, "a,b\r\rc\r\n\x0b", "\n\n", ",,,\n" * 10, '"a""b"c,"\n', "\ufeffa,b", "\u2028,\x1c\n1"],
)
async def test_a_hostile_table_is_shown_somehow(text: str) -> None:
    found = await preview("a.csv", text)
    assert found.kind in ("table", "text")


def test_a_cell_that_the_reader_refuses_is_told() -> None:
    with pytest.raises(csv.Error):
        read_table('"' + "x" * 200_000)
