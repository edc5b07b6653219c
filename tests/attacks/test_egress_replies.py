"""Attacks by what comes back from outside: repositories, and replies of 50 MB from services that Signoff asks."""

import gzip
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any, TypeAlias

import pytest
from discord import Attachment

from adapters.discord.api.base_urls import BaseUrls
from adapters.discord.connection import SignoffClient
from adapters.discord.inbound.downloads import fetch_file
from adapters.slack.api.web_api import SlackClients, require_success
from agent_core.capabilities.media.huggingface import HuggingFace, HuggingFaceImages, HuggingFaceTranscriber
from agent_core.capabilities.media.openai_media import OpenAIImages, OpenAIMedia, OpenAITranscriber
from agent_core.capabilities.media.stable_diffusion import StableDiffusion
from agent_core.capabilities.memory.openai_embedder import OpenAIEmbedder
from agent_core.capabilities.models.endpoint_checks import find_local_servers
from agent_core.capabilities.models.openai_model import OpenAIModel
from agent_core.capabilities.posts.x_posts import XPosts
from agent_core.capabilities.web import git_clone
from agent_core.capabilities.web.git_clone import GitCloner
from agent_core.capabilities.web.search_engines import GoogleSearch
from agent_core.errors import CommandError, InvalidInput, ModelError, SurfaceError
from agent_core.model.channel_settings import Sites
from agent_core.model.model_calls import Message
from agent_core.ports.models import CallOptions
from agent_core.ports.web import ClonedRepository
from agent_core.providers.egress.address_policy import InternalHosts
from agent_core.providers.egress.gateway import EgressGateway
from tests.attacks.rows import attack
from tests.attacks.test_egress import in_short
from tests.standins.site import HERE, OPEN, Names, Site, git_backend, leads_to, page, site, two_sites

# Attacks by repositories, and by addresses of repositories: a marker file shows what was run
ANYWHERE = Sites()
MOST = 1_000_000
DOOR = EgressGateway(internal=InternalHosts.of([OPEN]), resolve=Names())


@dataclass(frozen=True, slots=True)
class Forge:
    """A site with the repository /git/it in a folder, and a victim beside it."""

    folder: Path
    site: Site
    victim: Site

    def git(self, *arguments: str, given: bytes = b"") -> str:
        """What git says in the repository."""
        names = ("-c", "user.name=Ana", "-c", "user.email=ana@example.org", "-c", "protocol.file.allow=always")
        done = subprocess.run(
            ["git", *names, "-C", str(self.folder), *arguments], input=given, capture_output=True, check=True
        )
        return done.stdout.decode().strip()

    def commit(self) -> None:
        """Everything that is in the folder."""
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "One", "--allow-empty")

    def commit_tree(self, *entries: tuple[str, str, str]) -> None:
        """A tree of entries (mode, name, object) as no git would make it."""
        raw = b"".join(f"{mode} {name}\0".encode() + bytes.fromhex(named) for mode, name, named in entries)
        self.point_to(self.object("tree", raw))

    def point_to(self, tree: str) -> None:
        """Make a commit of this tree the newest."""
        self.git("update-ref", "refs/heads/main", self.git("commit-tree", "-m", "One", tree))

    def object(self, kind: str, data: bytes) -> str:
        """Store an object, whatever is in it."""
        return self.git("hash-object", "-w", "-t", kind, "--literally", "--stdin", given=data)

    async def clone(self, most: int = MOST) -> ClonedRepository:
        """What an agent gets of it."""
        return await GitCloner(gateway=DOOR).clone(self.site.url("/git/it"), ANYWHERE, most)

    async def refusal(self, url: str = "", most: int = MOST) -> str:
        """Why it gets nothing."""
        with pytest.raises(CommandError) as error:
            await GitCloner(gateway=DOOR).clone(url or self.site.url("/git/it"), ANYWHERE, most)
        return in_short(str(error.value)).replace(f":{self.site.port}", "")


@pytest.fixture
async def forge(tmp_path: Path) -> AsyncIterator[Forge]:
    folder = tmp_path / "root" / "it"
    folder.mkdir(parents=True)
    async with two_sites() as (open_site, victim):
        open_site.answers["/git/*"] = git_backend(folder.parent)
        forge = Forge(folder, open_site, victim)
        forge.git("init", "-q", "-b", "main")
        (folder / "README").write_text("Hello\n")
        yield forge


WHOLE = "it is no full address; begin with https://"


@pytest.mark.parametrize(
    "url",
    [
        pytest.param(
            "ext::sh -c 'touch {marker}'",
            marks=attack(
                "door",
                "A repository URL that runs a program: `ext::sh -c …`",
                "refused: it holds a blank, a backslash or a control character; write them as %20, %5C and so on",
            ),
        ),
        pytest.param(
            "ext::touch%20{marker}",
            marks=attack("door", "The same without a space", f"refused: {WHOLE}"),
        ),
        pytest.param(
            "--upload-pack=touch${{IFS}}{marker}",
            marks=attack("door", "Argument injection: `--upload-pack=…`", f"refused: {WHOLE}"),
        ),
        pytest.param(
            "file://{folder}",
            marks=attack(
                "door", "A repository on this machine: `file://…`", "refused: file is not the web; use http or https"
            ),
        ),
        pytest.param("{folder}", marks=attack("door", "The same as a plain path", f"refused: {WHOLE}")),
        pytest.param(
            "ssh://-oProxyCommand=touch${{IFS}}{marker}/x",
            marks=attack(
                "door",
                "Argument injection into ssh: `ssh://-oProxyCommand=…`",
                "refused: ssh is not the web; use http or https",
            ),
        ),
        pytest.param(
            "git@example.org:it", marks=attack("door", "An ssh address: `git@example.org:it`", f"refused: {WHOLE}")
        ),
    ],
)
async def test_an_address_of_a_repository_is_one_of_the_web(
    forge: Forge, tmp_path: Path, url: str, answer: str
) -> None:
    forge.commit()
    marker = tmp_path / "marker"
    assert await forge.refusal(url.format(marker=marker, folder=forge.folder)) == answer
    assert not marker.exists()


@attack("door", "A repository that redirects git to this machine", "refused: 127.0.0.1 is this machine")
async def test_git_is_led_to_nothing_inside(forge: Forge, answer: str) -> None:
    forge.site.answers["/it/info/refs"] = leads_to(
        f"http://127.0.0.1:{forge.victim.port}/info/refs?service=git-upload-pack"
    )
    assert await forge.refusal(forge.site.url("/it")) == answer
    assert forge.victim.connections == 0


@attack(
    "door",
    "A repository that asks for credentials",
    "no prompt for credentials: http://example.org/it wants a login, or there is no such repository.",
)
async def test_git_asks_nobody_for_a_login(forge: Forge, answer: str) -> None:
    forge.site.answers["/it/info/refs"] = page("", status=401, www_authenticate='Basic realm="x"')
    assert f"no prompt for credentials: {await forge.refusal(forge.site.url('/it'))}" == answer


@pytest.mark.slow
@attack("door", "A symlink that points out of the repository", "left out: passwd (a link)")
async def test_links_are_left_out(forge: Forge, answer: str) -> None:
    (forge.folder / "passwd").symlink_to("/etc/passwd")
    forge.commit()
    cloned = await forge.clone()
    assert (dict(cloned.files), f"left out: {cloned.left_out[0]}") == ({"README": b"Hello\n"}, answer)


@pytest.mark.slow
@attack("door", "Path traversal in a repository: `../x`", "left out: ../x (a path that leads out)")
async def test_paths_that_lead_out_are_left_out(forge: Forge, answer: str) -> None:
    inner = forge.object("tree", b"100644 x\0" + bytes.fromhex(forge.object("blob", b"out")))
    forge.commit_tree(("40000", "..", inner))
    cloned = await forge.clone()
    assert (cloned.files, f"left out: {cloned.left_out[0]}") == ((), answer)


@pytest.mark.slow
@attack(
    "door",
    "A hook among the files: `.git/hooks/post-checkout`",
    "left out: .GIT/hooks/post-checkout (a path that leads out)",
)
async def test_hooks_among_the_files_are_left_out(forge: Forge, answer: str) -> None:
    hook = forge.object("blob", b"#!/bin/sh\n")
    hooks = forge.object("tree", b"100755 post-checkout\0" + bytes.fromhex(hook))
    inner = forge.object("tree", b"40000 hooks\0" + bytes.fromhex(hooks))
    forge.commit_tree(("40000", ".GIT", inner))
    cloned = await forge.clone()
    assert (cloned.files, f"left out: {cloned.left_out[0]}") == ((), answer)


@pytest.mark.slow
@attack(
    "door",
    "Hooks, filters and programs in the git configuration of repository and user",
    "none runs: nothing is checked out, and no configuration is read",
)
async def test_nothing_of_a_repository_or_a_user_is_run(
    forge: Forge, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: str
) -> None:
    marker, home = tmp_path / "marker", tmp_path / "home"
    home.mkdir()
    program = f"touch {marker}"
    (home / "hooks").mkdir()
    (home / "hooks" / "post-checkout").write_text(f"#!/bin/sh\n{program}\n")
    (home / "hooks" / "post-checkout").chmod(0o755)
    (home / ".gitconfig").write_text(
        f'[core]\n\thooksPath = {home}/hooks\n\tfsmonitor = "{program}"\n[filter "run"]\n\tsmudge = "{program}; cat"\n'
        f'[credential]\n\thelper = "!{program}"\n[http]\n\tproxy = http://127.0.0.1:{forge.victim.port}\n'
    )
    (forge.folder / ".gitattributes").write_text("* filter=run diff=run merge=run\n")
    forge.commit()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("GIT_SSH_COMMAND", program)
    cloned = await forge.clone()
    assert dict(cloned.files)["README"] == b"Hello\n"
    assert (marker.exists(), forge.victim.connections) == (False, 0)
    assert answer.startswith("none runs")


@pytest.mark.slow
@attack("door", "A submodule whose URL runs a program", "left out: sub (another repository)")
async def test_submodules_are_left_out(forge: Forge, tmp_path: Path, answer: str) -> None:
    forge.commit()
    (forge.folder / ".gitmodules").write_text(
        f'[submodule "sub"]\n\tpath = sub\n\turl = "ext::touch {tmp_path}/marker"\n'
        f'\tupdate = "!touch {tmp_path}/marker"\n'
    )
    forge.git("update-index", "--add", "--cacheinfo", f"160000,{forge.git('rev-parse', 'HEAD')},sub")
    forge.git("add", ".gitmodules")
    forge.git("commit", "-q", "-m", "Two")
    cloned = await forge.clone()
    assert (f"left out: {cloned.left_out[0]}", (tmp_path / "marker").exists()) == (answer, False)


@pytest.mark.slow
@attack(
    "door",
    "A repository that is too large",
    "git is ended: http://example.org/git/it is too large: more than 100,000 bytes",
)
async def test_a_repository_that_is_too_large_ends_git(
    forge: Forge, monkeypatch: pytest.MonkeyPatch, answer: str
) -> None:
    monkeypatch.setattr(git_clone, "OVERHEAD_BYTES", 100_000)
    (forge.folder / "noise").write_bytes(Random(7).randbytes(3_000_000))
    forge.commit()
    assert f"git is ended: {await forge.refusal(most=100_000)}".partition(". Download")[0] == answer


@pytest.mark.slow
@attack(
    "door",
    "Ten nested trees with ten entries each: 10,000,000,000 files",
    "git is ended: The repository has too many files to list.",
)
async def test_a_tree_without_end_ends_git(forge: Forge, monkeypatch: pytest.MonkeyPatch, answer: str) -> None:
    monkeypatch.setattr(git_clone, "OVERHEAD_BYTES", 300_000)
    named, mode = forge.object("blob", b"x"), "100644"
    for _ in range(10):
        raw = b"".join(f"{mode} {name}\0".encode() + bytes.fromhex(named) for name in "abcdefghij")
        named, mode = forge.object("tree", raw), "40000"
    forge.point_to(named)
    assert f"git is ended: {await forge.refusal(most=100_000)}" == answer


@pytest.mark.slow
@attack("door", "A file of 60 MB, compressed to 60 kB", "left out: zeros (60,000,000 bytes)")
async def test_a_packed_file_is_left_out_before_it_is_unpacked(forge: Forge, answer: str) -> None:
    (forge.folder / "zeros").write_bytes(bytes(60_000_000))
    forge.commit()
    assert f"left out: {(await forge.clone()).left_out[0]}" == answer


# Attacks by services that Signoff asks: replies of 50 MB, as they are or packed into 50 kB
Ask: TypeAlias = Callable[[str], Awaitable[object]]
LONG = b'{"a": "' + bytes(50_000_000).replace(b"\0", b"x") + b'"}'
JSON = "application/json"
TOLD = (CommandError, ModelError, SurfaceError, InvalidInput)


async def chat(url: str) -> object:
    model = OpenAIModel(base_url=url, model="m")
    try:
        return await model.complete([Message("user", "?")], CallOptions(max_tokens=9))
    finally:
        await model.close()


async def embedding(url: str) -> object:
    embedder = OpenAIEmbedder(base_url=url, model="m")
    try:
        return await embedder.embed(["?"])
    finally:
        await embedder.close()


async def with_media(url: str, ask: Callable[[OpenAIMedia], Awaitable[object]]) -> object:
    media = OpenAIMedia(base_url=url)
    try:
        return await ask(media)
    finally:
        await media.close()


async def drawing(url: str) -> object:
    return await with_media(url, lambda media: OpenAIImages(media, "m").draw("?", "square"))


async def listening(url: str) -> object:
    return await with_media(url, lambda media: OpenAITranscriber(media, "m").transcribe("a.mp3", b"?"))


def hugging_face(url: str) -> HuggingFace:
    return HuggingFace(model="m", setting="HUGGINGFACE_IMAGE_MODEL", url=url)


async def slack(url: str) -> object:
    api = SlackClients(url)
    try:
        return await require_success(api.client("xoxb-1").auth_test())
    finally:
        await api.close()


async def discord_file(url: str) -> object:
    client = SignoffClient(BaseUrls())
    told: Any = {"id": "1", "size": 1, "filename": "a.txt", "url": url, "proxy_url": url}
    state: Any = SimpleNamespace(http=client.http)
    return await fetch_file(Attachment(data=told, state=state))


async def post_on_x(url: str) -> object:
    x = XPosts(url=url, api_key="a", api_secret="b", access_token="c", access_token_secret="d")
    return await x.post("?")


def service(name: str, ask: Ask, told: str) -> object:
    return pytest.param(ask, marks=attack("services", f"A reply of 50 MB from {name}", told), id=name)


def not_read(most: str) -> str:
    return f"the service sent more than {most} bytes as one reply, so it was not read"


EVERY = [
    service("a model's endpoint", chat, not_read("8,000,000")),
    service("an embeddings endpoint", embedding, not_read("32,000,000")),
    service("OpenAI's image API", drawing, not_read("41,943,040")),
    service("OpenAI's transcription API", listening, not_read("41,943,040")),
    service(
        "Stable Diffusion",
        lambda url: StableDiffusion(url=url).draw("?", "square"),
        "Stable Diffusion answered more than can be taken: over 41,943,040 bytes.",
    ),
    service(
        "Hugging Face's image API",
        lambda url: HuggingFaceImages(hugging_face(url)).draw("?", "square"),
        "Hugging Face answered more than can be taken: over 41,943,040 bytes.",
    ),
    service(
        "Hugging Face's transcription API",
        lambda url: HuggingFaceTranscriber(hugging_face(url)).transcribe("a.mp3", b"?"),
        "Hugging Face answered more than can be taken: over 2,000,000 bytes.",
    ),
    service(
        "Google's search",
        lambda url: GoogleSearch(url=url).search("?", 1),
        "The search answered more than can be read.",
    ),
    service("X", post_on_x, "X answered more than can be read."),
    service("Slack's API", slack, "Slack cannot be reached."),
    service("Discord's files, declared as one byte", discord_file, "a.txt is larger than 20 MB"),
]


@pytest.fixture
async def replies() -> AsyncIterator[Site]:
    async with site(HERE) as here:
        yield here


async def said_of(replies: Site, ask: Ask) -> str:
    url = f"http://{HERE}:{replies.port}"
    with pytest.raises(TOLD) as error:
        await ask(url)
    return str(error.value).replace(f"{HERE}:{replies.port}", "the service")


@pytest.mark.slow
@pytest.mark.proves("services:cut")
@pytest.mark.parametrize("ask", EVERY)
async def test_a_reply_that_is_too_long_is_cut_off_and_told(replies: Site, ask: Ask, answer: str) -> None:
    replies.answers["/*"] = page(LONG, JSON)
    assert answer in await said_of(replies, ask)


SDKS = ("a model's endpoint", "an embeddings endpoint", "OpenAI's image API", "OpenAI's transcription API")
COMPRESSED = "the service compressed its reply, which it was asked not to do, so it was not read"
PACKED = [
    pytest.param(
        each.values[0],  # type: ignore[attr-defined]
        COMPRESSED if each.id in SDKS else each.marks[0].kwargs["answer"],  # type: ignore[attr-defined]
        id=each.id,  # type: ignore[attr-defined]
    )
    for each in EVERY
]


@pytest.mark.slow
@pytest.mark.proves("services:cut")
@pytest.mark.parametrize(("ask", "told"), PACKED)
async def test_a_compressed_reply_is_measured_unpacked_or_refused(replies: Site, ask: Ask, told: str) -> None:
    replies.answers["/*"] = page(gzip.compress(LONG, 1), JSON, content_encoding="gzip")
    assert told in await said_of(replies, ask)


@pytest.mark.slow
@attack("services", "A reply of 50 MB from an unconfigured model server on this machine", "the server is not listed")
async def test_a_server_with_too_long_a_list_is_not_found(replies: Site, answer: str) -> None:
    replies.answers["/*"] = page(LONG, JSON)
    assert await find_local_servers([replies.port]) == ()
    assert answer == "the server is not listed"
