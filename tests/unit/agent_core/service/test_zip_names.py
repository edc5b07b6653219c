"""Names of files in a zip."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_core.service.reading.zips import names_in_zip

PARTS = st.text("aAéE\u0301.: ()2c", min_size=1, max_size=4).filter(lambda part: part not in (".", ".."))
PATHS = st.lists(st.lists(PARTS, min_size=1, max_size=3).map("/".join), unique=True, max_size=12)


@pytest.mark.proves("files:zip")
@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("notes/مرحبا 1.md", "notes/مرحبا 1.md"),
        (" a b .txt", " a b .txt"),
        (".env", ".env"),
        ("console.log", "console.log"),
        ("C:/Users/run.bat", "C_/Users/run.bat"),
        ("report.md:hidden.exe", "report.md_hidden.exe"),
        ('a<b>c"d|e?f*g\\h\x1f', "a_b_c_d_e_f_g_h_"),
        ("notes. /end..", "notes__/end__"),
        ("aux/NUL .txt", "_aux/_NUL .txt"),
        ("COM¹.log", "_COM¹.log"),
    ],
)
def test_what_windows_refuses_is_replaced(path: str, name: str) -> None:
    assert names_in_zip([path]) == [name]


@pytest.mark.proves("files:zip")
def test_names_that_are_one_name_elsewhere_are_numbered() -> None:
    paths = ["report.md", "Report.md", "report (2).md", "café", "cafe\u0301", "a?", "a*", "PLAN", "plan/b.md"]
    assert names_in_zip(paths) == [
        *("report.md", "Report (2).md", "report (2) (2).md", "café", "cafe\u0301 (2)", "a_", "a_ (2)", "PLAN (2)"),
        "plan/b.md",
    ]


@pytest.mark.slow
@given(PATHS)
def test_no_name_takes_the_place_of_another_or_of_a_folder(paths: list[str]) -> None:
    names = [unicodedata.normalize("NFC", name).casefold() for name in names_in_zip(paths)]
    folders = {name[:end] for name in names for end, letter in enumerate(name) if letter == "/"}
    assert len({*names}) == len(paths)
    assert folders.isdisjoint(names)
