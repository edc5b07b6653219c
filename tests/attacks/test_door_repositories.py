"""Attacks by repositories, and by addresses of repositories: a marker file shows what was run."""

import subprocess
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from random import Random

import pytest

from agent_core.capabilities.web import git_clone
from agent_core.capabilities.web.git_clone import GitCloner
from agent_core.errors import CommandError
from agent_core.model.channel_settings import Sites
from agent_core.ports.web import ClonedRepository
from agent_core.providers.egress.address_policy import InternalHosts
from agent_core.providers.egress.gateway import EgressGateway
from tests.attacks.rows import attack
from tests.attacks.test_door import in_short
from tests.standins.site import OPEN, Names, Site, git_backend, leads_to, page, two_sites

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
