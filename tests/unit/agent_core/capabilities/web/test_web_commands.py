"""What agents read and fetch of the web: texts as they are, summaries within a budget, files in the workspace."""

from collections.abc import Mapping
from decimal import Decimal

import pytest

from agent_core.capabilities.files.workspace_paths import Limits
from agent_core.capabilities.models.token_counters import Estimates
from agent_core.capabilities.web.downloads import DownloadCommands
from agent_core.capabilities.web.pages import PageCommands
from agent_core.errors import CommandError, ModelUnavailable
from agent_core.model.channel_settings import SITES_KEY, Sites, serialise_sites
from agent_core.model.command import CommandCall, Preview
from agent_core.model.model_calls import Budget, Message
from agent_core.ports.web import ClonedRepository, FetchedContent, Link, Page
from agent_core.prompt.model_client import MeteredModel
from agent_core.prompt.untrusted_text import new_mark, part_messages, split_by_tokens
from agent_core.spending.spending_tracker import SpendingTracker
from agent_core.testing.database import TemporaryDatabase
from agent_core.testing.examples import CHANNEL, an_agent
from agent_core.testing.files import InMemoryFiles
from agent_core.testing.language_model import ScriptedModel
from agent_core.testing.web import PUBLIC_ADDRESS, InMemoryWeb
from agent_core.toolset.registry import CommandContext, CommandOutput, Commands

URL = "https://example.org/strings"
ASKED_HOST = f"Asked: example.org → {PUBLIC_ADDRESS}"
ASKED = {"url": URL, "question": "Which string for topspin?"}
SHORT = Page(url=URL, title="Strings", text="Polyester.", links=(Link("https://example.org/b", "More"),))
LONG = Page(url=URL, title="Strings", text="\n".join(f"Line {n} on strings and topspin." for n in range(3_000)))


class Desk:
    """An agent at its commands."""

    def __init__(self, *replies: str | Exception, page: Page = SHORT, window: int = 16_000, **model: object) -> None:
        self.model = ScriptedModel(*replies, window=window, **model)  # type: ignore[arg-type]
        self.web, self.database, self.files = InMemoryWeb(), TemporaryDatabase(), InMemoryFiles()
        self.web.hold(page)
        self.reports: list[str] = []
        self.tracker = SpendingTracker()
        metered_model = MeteredModel(model=self.model, tokens=Estimates(), fast_model="fast")
        pages = PageCommands(self.web, metered_model, self.database)
        self.commands = Commands.of(*pages.commands, *DownloadCommands(self.web, self.database).commands)

    @property
    def context(self) -> CommandContext:
        return CommandContext(agent=an_agent(), files=self.files, tracker=self.tracker, report=self.reports.append)

    async def run(self, name: str, arguments: Mapping[str, object]) -> CommandOutput:
        call = self.commands.checked(CommandCall(name, arguments))
        return await self.commands.get(call.name).run(call.arguments, self.context)

    async def preview(self, name: str, arguments: Mapping[str, object]) -> Preview:
        preview = await self.commands.get(name).preview(arguments, self.context)
        assert preview is not None
        return preview

    async def keep(self, sites: Sites) -> None:
        async with self.database.begin() as work:
            work.preferences.put(CHANNEL, SITES_KEY, serialise_sites(sites))
            await work.commit()


async def test_a_short_page_is_given_as_it_is_with_its_links_and_no_model_is_asked() -> None:
    desk = Desk()
    said = (await desk.run("browse_website", ASKED)).text
    assert said == f"Strings\n{URL}\n{ASKED_HOST}\n\nPolyester.\n\nLinks:\n1. More: https://example.org/b"
    assert desk.model.prompts == []


async def test_a_page_says_what_kept_it_from_being_read_whole() -> None:
    desk = Desk(page=Page(url=URL, title="", text="", remark="The page needs JavaScript."))
    said = (await desk.run("get_text_summary", ASKED)).text
    assert said == f"{URL}\n{ASKED_HOST}\nThe page needs JavaScript.\n\nThe page holds no text."


async def test_a_long_page_is_read_in_parts_toward_the_question_by_the_fast_model() -> None:
    desk = Desk(*(f"Note {n}." for n in range(1, 7)), "Polyester, at 23 kg.", page=LONG)
    said = (await desk.run("get_text_summary", ASKED)).text
    parts = len(desk.model.prompts) - 1
    assert said == f"Strings\n{URL}\n{ASKED_HOST}\n\nPolyester, at 23 kg.\n\n(The whole page was read.)"
    assert desk.reports == [f"{n} of {parts} parts read" for n in range(1, parts + 1)]
    assert (set(desk.model.models), parts) == ({"fast"}, 6)
    assert all("Which string for topspin?" in text_of(prompt) for prompt in desk.model.prompts)
    assert "Note 1.\n\nNote 2." in text_of(desk.model.prompts[-1])
    assert desk.tracker.spent["summary"].prompt > 10_000


async def test_parts_fit_into_a_small_window() -> None:
    desk = Desk(*["Note."] * 9, page=LONG, window=2_000)
    said = (await desk.run("get_text_summary", ASKED)).text
    count = Estimates().of("").count
    assert max(sum(count(message.content) for message in prompt) for prompt in desk.model.prompts) < 1_500
    assert "Only the first 8 of" in said


async def test_what_was_read_is_kept_when_the_budget_ends() -> None:
    desk = Desk("It is polyester.", "Unused.", page=LONG, cost=Decimal("0.01"))
    desk.tracker = SpendingTracker(agent=Budget(limit=Decimal("0.015")))
    said = (await desk.run("get_text_summary", ASKED)).text
    assert said.endswith("It is polyester.\n\n(The budget ended the reading: 1 of 6 parts of the page were read.)")


async def test_the_beginning_is_given_when_the_budget_pays_for_no_reading() -> None:
    desk = Desk(page=LONG, cost=Decimal("0.01"))
    desk.tracker = SpendingTracker(agent=Budget(limit=Decimal(0)))
    said = (await desk.run("get_text_summary", ASKED)).text
    assert "Line 0 on strings" in said
    assert said.endswith("0 of 6 parts of the page were read. This is the beginning as it is.)")


async def test_a_model_that_is_away_ends_the_reading() -> None:
    desk = Desk(ModelUnavailable("away"), page=LONG)
    with pytest.raises(ModelUnavailable):
        await desk.run("get_text_summary", ASKED)


async def test_links_are_listed_up_to_a_bound() -> None:
    links = tuple(Link(f"https://example.org/{n}", f"Page {n}" if n else "") for n in range(150))
    desk = Desk(page=Page(url=URL, title="All", text="", links=links))
    lines = (await desk.run("get_hyperlinks", {"url": URL})).text.splitlines()
    assert lines[4:6] == ["Links (the first 100 of 150):", "1. (no text): https://example.org/0"]
    assert len(lines) == 105
    assert (await Desk(page=LONG).run("get_hyperlinks", {"url": URL})).text.endswith("It has no links.")


@pytest.mark.parametrize(
    "name", ["browse_website", "get_text_summary", "get_hyperlinks", "download_file", "clone_repository"]
)
async def test_a_card_names_the_host_as_written_and_one_inside_makes_no_card(name: str) -> None:
    desk = Desk()
    more = {"question": "?", "filename": "a", "clone_path": "b"}
    wanted = str(desk.commands.get(name).spec.parameters["properties"])
    arguments = {key: value for key, value in {"url": URL, **more}.items() if f"'{key}'" in wanted}
    preview = await desk.preview(name, arguments)
    assert (preview.title.partition(" · ")[0], preview.basis) == ("example.org", "")
    for url in ("http://127.0.0.1/", "http://localhost/", "file:///etc/passwd"):
        with pytest.raises(CommandError, match="is refused"):
            await desk.preview(name, {**arguments, "url": url})
    await desk.keep(Sites(deny=("example.org",)))
    for act in (desk.preview(name, arguments), desk.run(name, arguments)):
        with pytest.raises(CommandError, match="denied in this channel"):
            await act


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("browse", {"website": URL, "query": "?"}),
        ("open-website", {"link": URL, "question": "?"}),
        ("scrape_links", {"page": URL}),
        ("download", {"url": URL, "file": "a.txt"}),
    ],
)
async def test_other_names_that_models_use_are_understood(name: str, arguments: Mapping[str, object]) -> None:
    assert (await Desk().run(name, arguments)).text


async def test_results_are_others_words_and_have_their_risks() -> None:
    specs = {spec.name: spec for spec in Desk().commands.specs}
    assert all(spec.outside and spec.category == "web" for spec in specs.values())
    writing = {name for name, spec in specs.items() if spec.risks == ("network", "write")}
    assert writing == {"download_file", "clone_repository"}
    assert {name for name, spec in specs.items() if spec.asks_models} == {"browse_website", "get_text_summary"}


async def test_a_download_is_a_file_that_the_thread_is_offered() -> None:
    desk = Desk()
    desk.web.files[URL] = FetchedContent(url=URL, kind="image/png", data=b"\x89PNG")
    produced = await desk.run("download_file", {"url": URL, "filename": "pictures/a.png"})
    assert produced.text == f"pictures/a.png now holds 4 bytes, said to be image/png, from {URL}.\n{ASKED_HOST}"
    assert (produced.files, await desk.files.read("pictures/a.png")) == (("pictures/a.png",), b"\x89PNG")


async def test_a_download_that_replaces_a_file_says_so_and_stands_on_it() -> None:
    desk = Desk()
    arguments = {"url": URL, "filename": "a.txt"}
    fresh = await desk.preview("download_file", arguments)
    await desk.files.write("a.txt", b"old")
    again = await desk.preview("download_file", arguments)
    assert (fresh.title, fresh.basis) == ("example.org · new file a.txt", "")
    assert (again.title, again.basis) == (
        "example.org · replaces a.txt",
        await desk.files.fingerprint("a.txt"),
    )


async def test_a_download_beyond_what_a_file_may_hold_is_refused_and_leaves_nothing() -> None:
    desk = Desk()
    desk.web.files[URL] = FetchedContent(url=URL, kind="", data=bytes(25_000_001))
    with pytest.raises(CommandError, match="too much"):
        await desk.run("download_file", {"url": URL, "filename": "a"})
    with pytest.raises(CommandError, match="not a path inside"):
        await desk.preview("download_file", {"url": URL, "filename": "../a"})
    assert await desk.files.list_files() == ()


REPOSITORY = ClonedRepository(
    commit="c0ffee" * 6, files=(("README", b"Hello"), ("src/a.py", b"a = 1")), left_out=("l (a link)",)
)


async def test_a_repository_is_copied_into_a_new_folder() -> None:
    desk = Desk()
    desk.web.repositories[URL] = REPOSITORY
    said = (await desk.run("git_clone", {"repository_url": URL, "folder": "code/it"})).text
    assert said.splitlines() == [
        "2 files (10 bytes) of commit c0ffeec0ffee, without .git, now in code/it.",
        ASKED_HOST,
        "Files: README, src/a.py.",
        "Left out: l (a link).",
    ]
    assert await desk.files.read("code/it/src/a.py") == b"a = 1"


@pytest.mark.parametrize("path", ["code", "./code/", "code//", "..", "/code", ".", "code/README"])
async def test_a_repository_goes_into_no_folder_that_is_there(path: str) -> None:
    desk = Desk()
    await desk.files.write("code/README", b"mine")
    for act in (desk.preview, desk.run):
        with pytest.raises(CommandError):
            await act("clone_repository", {"url": URL, "clone_path": path})
    assert (desk.web.asked, await desk.files.read("code/README")) == ([], b"mine")


async def test_a_workspace_that_is_full_is_told_with_what_was_written() -> None:
    desk = Desk()
    desk.files = InMemoryFiles(Limits(files=1))
    desk.web.repositories[URL] = REPOSITORY
    said = (await desk.run("clone_repository", {"url": URL, "clone_path": "code"})).text
    assert "1 file (5 bytes)" in said
    assert "1 more were not written: The workspace may hold at most 1 files." in said


def text_of(prompt: tuple[Message, ...]) -> str:
    return "\n".join(message.content for message in prompt)


def test_a_mark_is_never_the_same_and_stands_around_the_text_alone() -> None:
    system, user = part_messages("?", "a text")
    mark = user.content.splitlines()[-1]
    assert user.content.endswith(f"{mark}\na text\n{mark}")
    assert mark in system.content
    assert new_mark("") != new_mark("")


def test_parts_hold_all_of_a_text_and_none_is_too_long() -> None:
    text = "\n".join(["short", "x" * 1_000, "", "word " * 300, "end"])
    parts = split_by_tokens(text, 100, len)
    assert max(map(len, parts)) <= 100
    assert "".join(parts).replace("\n", "") == text.replace("\n", "")
    assert split_by_tokens("", 100, len) == []
