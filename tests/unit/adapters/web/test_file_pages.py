"""The pages of an agent's files over HTTP: preview, versions, downloads, the zip, and files that people add."""

import io
import re
import zipfile
from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import quote

import pytest
from aiohttp import ClientSession

from agent_core.service.uploads import MAX_UPLOAD_BYTES
from agent_core.testing.language_model import ScriptedModel, reply_text
from tests.scenario.chat import writing
from tests.scenario.page import PageChat, text_of
from tests.scenario.served import served

NAME = "notes/تقرير #1?.md"
HOSTILE = (
    "# Hi to the whole team\n<script>alert(1)</script>\n\n[a](javascript:alert(1)) ![x](https://evil.example/x.png)\n"
)


@pytest.fixture
def model() -> ScriptedModel:
    return ScriptedModel(waits=True)


@pytest.fixture
async def base(model: ScriptedModel, tmp_path: Path) -> AsyncIterator[str]:
    async with served(model, tmp_path) as address:
        yield address


@pytest.fixture
async def ana(base: str, model: ScriptedModel) -> AsyncIterator[PageChat]:
    """Ana, whose agent wrote NAME and asks to write it again."""
    model.say(writing(NAME, HOSTILE), writing(NAME, HOSTILE.replace("Hi", "Hello")))
    async with PageChat.opened(base, "ana") as chat:
        await chat.new_agent("Clerk", "writes", "Write a file")
        await (await chat.asks("write_to_file")).press("Approve")
        await chat.asks("write_to_file")
        yield chat


def workspace_in(folder: Path) -> Path:
    """The agent's folder on the disk."""
    [file] = folder.glob(f"workspaces/*/{NAME}")
    return file.parent.parent


async def main_of(chat: PageChat, path: str, behind: str = "") -> str:
    page = await chat.page(f"/view/{quote(path)}{behind}")
    return page.partition("<main")[2].partition("</main>")[0]


@pytest.mark.slow
async def test_the_panel_leads_to_the_files_page_and_to_its_download(ana: PageChat) -> None:
    panel = (await ana.page()).partition('data-tab="files"')[2].partition("</section>")[0]
    addresses = re.findall(r'href="(/[^"]+)"', panel)
    assert addresses == [
        f"{ana.path}/{place}" for place in (f"view/{quote(NAME)}", f"files/{quote(NAME)}", "files.zip", "deleted")
    ]
    assert await ana.file(quote(NAME)) == HOSTILE


@pytest.mark.slow
@pytest.mark.proves("trash:restored")
async def test_a_deleted_file_is_restored_on_its_page_or_by_a_line_in_the_thread(
    ana: PageChat, model: ScriptedModel
) -> None:
    model.say(reply_text("delete_file", {"filename": NAME}), reply_text("do_nothing"))
    ana.seen.clear()
    await (await ana.asks("write_to_file")).press("Reject", reason="Delete it")
    await (await ana.asks("delete_file")).press("Approve")
    await ana.asks("do_nothing")
    assert f'<bdi class="name">{NAME}</bdi>' in await ana.page("/deleted")
    await ana.says(f"!files restore {NAME}")
    assert await ana.file(quote(NAME)) == HOSTILE
    assert "None." in await ana.page("/deleted")
    _, refused = await ana.send("deleted", {"file": "gone.txt"})
    assert "The trash of Clerk has no file gone.txt." in refused


@pytest.mark.slow
async def test_a_right_to_left_name_does_not_reorder_the_title_on_a_card_folded_or_open(ana: PageChat) -> None:
    ana.seen.clear()
    card = await ana.asks("write_to_file")
    await card.press("Reject", reason="No")
    page = await ana.page()
    assert f'<span class="about"><b>Write “<bdi>{NAME}</bdi>”' in page
    assert '<p class="file">4 lines' in await ana.page(f"/t/{card.turn}")


@pytest.mark.slow
@pytest.mark.proves("files:harmless")
async def test_a_files_page_shows_it_without_script_or_anything_from_elsewhere(ana: PageChat) -> None:
    shown = await main_of(ana, NAME)
    assert '<h2 dir="auto">Hi to the whole team</h2>' in shown
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in shown
    assert not re.search(r"(?:src|href)=\"(?!/c/)", shown)
    assert "[picture not loaded: x · https://evil.example/x.png]" in shown
    assert f'href="{ana.path}/files/{quote(NAME)}" download>Download</a>' in shown
    source = await main_of(ana, NAME, "?as=source")
    assert "# Hi" in text_of(source)
    assert "<script>" not in source


@pytest.mark.slow
@pytest.mark.proves("files:harmless")
async def test_a_document_with_scripts_is_never_opened_as_a_page(ana: PageChat) -> None:
    drawing = b'<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>'
    await ana.upload("add-file", "a.svg", drawing)
    async with ana.session.get(f"{ana.base}{ana.path}/files/a.svg") as answer:
        assert answer.headers["Content-Disposition"].startswith("attachment")
        assert answer.headers["Content-Type"] == "application/octet-stream"
    assert "<svg" not in await main_of(ana, "a.svg")
    assert "<svg" in text_of(await main_of(ana, "a.svg"))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "data", "expected"),
    [
        ("sun.png", b"\x89PNG", '<img src="{files}sun.png" alt="sun.png">'),
        ("a.mp3", b"ID3", '<audio controls src="{files}a.mp3" aria-label="a.mp3">'),
        ("a.csv", b"n,m\n=1+1", '<th scope="col" dir="auto">n</th>'),
        ("a.bin", b"\0", "This is not a text, so it has no preview."),
        ("a.py", b"def f(): pass", '<span class="k">def</span>'),
        ("a.txt", b"\n<b>\xe2\x80\xae", "\n\n&lt;b&gt;⟨U+202E⟩</pre>"),
    ],
)
async def test_each_kind_of_file_has_its_preview(ana: PageChat, name: str, data: bytes, expected: str) -> None:
    await ana.upload("add-file", name, data)
    assert expected.format(files=f"{ana.path}/files/") in await main_of(ana, name)


@pytest.mark.slow
@pytest.mark.proves("files:versions")
async def test_the_versions_link_each_change_to_its_turn_and_tell_what_others_changed(
    ana: PageChat, model: ScriptedModel, tmp_path: Path
) -> None:
    model.say(reply_text("delete_file", {"filename": NAME}))
    ana.seen.clear()
    await (await ana.asks("write_to_file")).press("Approve")
    await ana.asks("delete_file")
    shown = await main_of(ana, NAME, "?as=versions")
    turns = re.findall(rf'<h2><a href="({ana.path}/t/[^"]+)">Turn (\d)', shown)
    assert [number for _, number in turns] == ["2", "1"]
    assert '<span class="cut" role="row" data-old="1"><code role="cell"># <del>Hi</del> to the whole team' in shown
    assert '<span class="add" role="row" data-new="1"><code role="cell"># <ins>Hello</ins> to the whole team' in shown
    assert "Something else" not in shown
    async with ana.session.get(f"{ana.base}{turns[0][0]}") as answer:
        assert "Hello" in await answer.text()
    path = workspace_in(tmp_path) / NAME
    path.write_text("by a program")
    assert "Something else changed this file since" in await main_of(ana, NAME, "?as=versions")
    path.unlink()
    gone = await main_of(ana, NAME, "?as=versions")
    assert "Something else deleted this file since" in gone
    assert "Download" not in gone


@pytest.mark.slow
@pytest.mark.proves("files:versions")
async def test_a_file_that_a_person_added_says_who_and_when(ana: PageChat) -> None:
    await ana.upload("add-file", "a.txt", b"1")
    shown = await main_of(ana, "a.txt", "?as=versions")
    assert re.search(r'<p class="version" id="[^"]+">Added by <bdi>@ana</bdi>, <time datetime="[^"]+">', shown)
    assert "No turn of this agent" not in shown


@pytest.mark.slow
@pytest.mark.parametrize("behind", ["", "?as=source", "?as=versions"])
@pytest.mark.parametrize("path", ["none.txt", "%2e%2e/secret", "a%00b", "notes", "x" * 300])
async def test_what_is_no_file_is_answered_with_a_sentence(ana: PageChat, path: str, behind: str) -> None:
    async with ana.session.get(f"{ana.base}{ana.path}/view/{path}{behind}") as answer:
        assert answer.status == 404
        assert "<h1>Not found</h1>" in await answer.text()


@pytest.mark.slow
@pytest.mark.parametrize("page", [f"view/{quote(NAME)}", f"view/{quote(NAME)}?as=versions", "files.zip", "files/a"])
async def test_files_are_not_found_from_another_channel(ana: PageChat, page: str) -> None:
    path = ana.path.replace("/general/", "/elsewhere/")
    async with ana.session.get(f"{ana.base}{path}/{page}") as answer:
        assert answer.status == 404
        assert not re.search(r"\bHi\b", await answer.text())


async def test_with_a_token_no_file_is_shown_before_it_is_entered(tmp_path: Path) -> None:
    async with (
        served(ScriptedModel(), tmp_path, token="a token of some length") as base,
        ClientSession() as session,
    ):
        for page in ("view/a", "files.zip"):
            async with session.get(f"{base}/c/web/local/general/a/1/{page}", allow_redirects=False) as answer:
                assert (answer.status, answer.headers["Location"].startswith("/enter")) == (303, True)


@pytest.mark.slow
@pytest.mark.proves("files:zip")
async def test_all_files_are_downloaded_as_one_zip(ana: PageChat) -> None:
    await ana.upload("add-file", "a.bin", bytes(range(256)))
    async with ana.session.get(f"{ana.base}{ana.path}/files.zip") as answer:
        assert answer.headers["Content-Type"] == "application/zip"
        assert answer.headers["Content-Disposition"] == "attachment; filename*=UTF-8''Clerk.zip"
        assert answer.headers["Cache-Control"] == "no-store"
        archive = zipfile.ZipFile(io.BytesIO(await answer.read()))
    assert {name: archive.read(name) for name in archive.namelist()} == {
        "a.bin": bytes(range(256)),
        NAME.replace("?", "_"): HOSTILE.encode(),
    }


@pytest.mark.slow
async def test_several_files_are_added_at_once_and_each_refusal_names_its_file(ana: PageChat) -> None:
    files = {"one.txt": b"1", "big.bin": bytes(MAX_UPLOAD_BYTES + 1), "two.txt": b"2"}
    status, page = await ana.upload("add-file", "zero.txt", b"0", **files)
    assert (status, "big.bin is larger than 20 MB, so it was not taken." in text_of(page)) == (422, True)
    panel = text_of((await ana.page()).partition('data-tab="files"')[2].partition("</section>")[0])
    assert [name for name in ("zero.txt", *files) if name in panel] == ["zero.txt", "one.txt", "two.txt"]


@pytest.mark.slow
async def test_a_full_workspace_refuses_a_file_by_name(ana: PageChat, tmp_path: Path) -> None:
    folder = workspace_in(tmp_path)
    for number in range(2_000):
        (folder / f"{number}").touch()
    status, page = await ana.upload("add-file", "a.txt", b"1")
    assert (status, "a.txt was not taken: The workspace may hold at most 2,000 files." in text_of(page)) == (422, True)
