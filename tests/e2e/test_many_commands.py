"""A goal that takes commands of every family, through the real program: its web, sandbox, media and posts are real."""

import re
import subprocess
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from agent_core.testing.language_model import reply_text
from agent_core.testing.media import MP3, PNG
from tests.e2e.process import Program, program
from tests.packages import SANDBOX, need
from tests.scenario.page import PageChat, text_of
from tests.standins.google import google_standin
from tests.standins.media import media_standin
from tests.standins.openai import OpenAIStandIn, Says, openai_standin
from tests.standins.site import HERE, Site, git_backend, page, site
from tests.standins.x import KEYS, XStandIn, x_standin

STRINGS = "Polyester strings give the most topspin; natural gut gives the most power."
HTML = f"<title>Strings</title><article><p>{STRINGS}</p><p>{STRINGS}</p></article><a href='/gut'>On gut</a>"
PROGRAM = "open('result.csv', 'w').write('string,spin\\npoly,3\\ngut,1\\n')\nprint('3 lines written')\n"
NOTHING_HERE = "nothing listens on the loopback inside"
PROBE = f"echo '{NOTHING_HERE}' && wc -l result.csv && env | grep -c OPENAI_API_KEY"
KEY = "sk-of-this-test-and-of-no-other"


@dataclass(frozen=True, slots=True)
class World:
    """All that the agent can reach, and Ana at her page."""

    endpoint: OpenAIStandIn
    site: Site
    x: XStandIn
    signoff: Program
    ana: PageChat
    home: Path

    def url(self, path: str) -> str:
        return self.site.url(path, name=HERE)


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    """Everything on the loopback, and a program that was told so."""
    need("git", *SANDBOX)
    _repository(tmp_path / "repositories" / "spin")
    async with AsyncExitStack() as stack:
        endpoint = await stack.enter_async_context(openai_standin())
        google = await stack.enter_async_context(google_standin())
        media = await stack.enter_async_context(media_standin())
        x = await stack.enter_async_context(x_standin())
        here = await stack.enter_async_context(site(HERE))
        here.answers = {"/strings": page(HTML), "/talk.mp3": page(MP3, "audio/mpeg")}
        here.answers["/git/*"] = git_backend(tmp_path / "repositories")
        endpoint.key = KEY
        signoff = await stack.enter_async_context(
            program(
                tmp_path,
                OPENAI_BASE_URL=endpoint.base_url,
                OPENAI_API_KEY=KEY,
                EXECUTE_LOCAL_COMMANDS="true",
                ALLOW_DOWNLOADS="true",
                ALLOW_INTERNAL_HOSTS=HERE,
                GOOGLE_SEARCH_URL=google.url,
                SD_WEBUI_URL=media.url,
                HUGGINGFACE_API_TOKEN="hf_of-this-test",
                HUGGINGFACE_API_URL=f"{media.url}/hub",
                HUGGINGFACE_AUDIO_MODEL="hears",
                X_API_URL=x.url,
                LOG_LEVEL="DEBUG",
                **{f"X_{name.upper()}": value for name, value in KEYS.items()},
            )
        )
        ana = await stack.enter_async_context(PageChat.opened(signoff.address, "ana"))
        yield World(endpoint, here, x, signoff, ana, tmp_path)


def steps(url: Any) -> Sequence[tuple[str, Mapping[str, object], str]]:
    """The commands in order, each with its arguments and what its result says."""
    return (
        ("google", {"query": "tennis strings topspin"}, "1.example"),
        ("browse_website", {"url": url("/strings"), "question": "Which gives topspin?"}, STRINGS),
        ("get_hyperlinks", {"url": url("/strings")}, "/gut"),
        ("download_file", {"url": url("/talk.mp3"), "filename": "talk.mp3"}, "talk.mp3"),
        ("read_audio_from_file", {"filename": "talk.mp3"}, "Hello there."),
        ("clone_repository", {"url": url("/git/spin"), "clone_path": "spin"}, "README"),
        ("read_file", {"filename": "spin/README.md"}, "How spin is measured"),
        ("write_to_file", {"filename": "count.py", "text": PROGRAM}, "count.py 87 bytes"),
        ("execute_python_file", {"filename": "count.py"}, "3 lines written"),
        ("execute_shell", {"command_line": PROBE}, "3 result.csv"),
        ("analyze_code", {"filename": "count.py"}, "The file is never closed."),
        ("generate_image", {"prompt": "a racket"}, "images/"),
        ("memory_add", {"text": "Polyester gives the most topspin."}, "kept"),
        ("search_files", {"query": "poly"}, "result.csv"),
        ("send_tweet", {"text": "Polyester it is."}, "1700000000000000001"),
        ("append_to_file", {"filename": "report.md", "text": "# Strings\n\nTake polyester.\n"}, "report.md"),
    )


@pytest.mark.proves("commands:goal")
@pytest.mark.slow
async def test_a_goal_takes_sixteen_commands_and_leaves_the_files_it_promised(world: World) -> None:
    taken = steps(world.url)
    replies = [Says(reply_text(name, given)) for name, given, _ in taken]
    asked_as_function = [name for name, _, _ in taken].index("analyze_code") + 1
    replies.insert(asked_as_function, Says('["The file is never closed."]'))
    world.endpoint.answers(*replies, Says(reply_text("task_complete", {"reason": "The report is in report.md."})))
    await world.ana.new_agent("Scout", "knows strings", "Find the string with the most topspin")
    for name, _, said in taken:
        await (await world.ana.asks(name)).press("Approve")
        assert await world.ana.sees(said), f"{name}: {text_of(await world.ana.page())[-3000:]}"
    await (await world.ana.asks("task_complete")).press("Approve")
    assert await world.ana.sees("Scout is done: “The report is in report.md.”")
    assert await world.ana.file("report.md") == "# Strings\n\nTake polyester.\n"
    assert await world.ana.file("result.csv") == "string,spin\npoly,3\ngut,1\n"
    assert world.x.posted == ["Polyester it is."]
    pictures = [path.read_bytes() for path in world.home.rglob("images/*.png")]
    assert pictures == [PNG]
    shown = await world.ana.page()
    assert 'src="' in shown
    assert "images/" in shown
    turns = dict.fromkeys(re.findall(r"/t/(\w+)", shown))
    assert any(["content from outside" in await world.ana.page(f"/t/{turn}") for turn in turns])


@pytest.mark.slow
async def test_no_key_of_the_settings_stands_anywhere_after_all_that(world: World) -> None:
    tells = reply_text("execute_shell", {"command_line": f"echo {KEY} | tee k.txt; env; cat /proc/1/environ; true"})
    world.endpoint.answers(Says(tells), Says(reply_text("task_complete", {"reason": f"It is {KEY}."})))
    await world.ana.new_agent("Scout", "looks for keys", f"Print {KEY[:6]}")
    for command in ("execute_shell", "task_complete"):
        await (await world.ana.asks(command)).press("Approve")
    assert await world.ana.sees("Scout is done: “It is [secret].”")
    assert KEY not in await world.ana.page()
    prompts = "".join(message["content"] for body in world.endpoint.completions for message in body["messages"])
    await world.signoff.stop()
    for secret in (KEY, "hf_of-this-test", *KEYS.values()):
        assert secret not in prompts + world.signoff.output
        assert [path for path in world.home.rglob("*") if path.is_file() and secret.encode() in path.read_bytes()] == []


def _repository(folder: Path) -> None:
    folder.mkdir(parents=True)
    (folder / "README.md").write_text("How spin is measured.\n")
    author = ["-c", "user.name=ana", "-c", "user.email=ana@example.org", "-c", "init.defaultBranch=main"]
    for words in (["init", "--quiet"], ["add", "."], ["commit", "--quiet", "-m", "First"]):
        subprocess.run(["git", *author, *words], cwd=folder, check=True, capture_output=True)
