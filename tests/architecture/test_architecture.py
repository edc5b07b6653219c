"""The house's own rules: who imports whom, how long things are, what is promised, what must not be committed."""

import ast
import re
import shutil
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from graphlib import TopologicalSorter
from itertools import chain
from pathlib import Path

import pytest

from bot.__main__ import COMMANDS
from bot.settings import VARIABLES
from tests.architecture.sources import (
    ROOT,
    SHIPPED,
    Source,
    imported,
    of_core,
    parse,
    proved,
    sources,
    texts,
    without_slow_tests,
)
from tests.behaviours import PROMISES, SHOWN_BY_SLOW_TESTS

pytestmark = pytest.mark.xdist_group("architecture")  # one process parses the sources
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
CONTRACTS = {contract["id"]: contract["name"] for contract in PROJECT["tool"]["importlinter"]["contracts"]}
LINT = "import sys; from importlinter.cli import lint_imports_command; sys.exit(lint_imports_command())"

# For each contract a module and an import that it must not have. No module stands for two contracts.
OFFENCES = {
    "direction": ("agent_core/service/offence.py", "import adapters.screens.cards"),
    "surfaces": ("adapters/terminal/offence.py", "import adapters.web.page_context"),
    "chat": ("adapters/chat/offence.py", "import slack_sdk"),
    "core": ("agent_core/model/offence.py", "import agent_core.service.agents"),
    "capabilities": ("agent_core/capabilities/media/offence.py", "import agent_core.service"),
    "features": ("agent_core/capabilities/files/offence.py", "import agent_core.capabilities.web"),
    "inbound": ("adapters/web/offence.py", "import agent_core.loop.advance"),
    "composition": ("bot/offence.py", "import agent_core.persistence.database"),
    "shipped": ("bot/platforms/offence.py", "import agent_core.testing.clock"),
    "sql": ("agent_core/toolset/offence.py", "import sqlalchemy"),
    "no-http": ("agent_core/loop/offence.py", "import slack_sdk"),
    "pure": ("agent_core/oversight/offence.py", "import pydantic"),
}
PLAIN_WORDS = ("HOST", "PORT")  # in capitals they also stand for an argument
MACHINE = re.compile(
    r"(?<![\w.])/(?:work|root|farm|tmp/setup|opt/pypi[\w-]*)/|python[h]osted\.org|pypi[.]org|[/]simple/|index[-]url"
)


# What Slack and Discord share is the shape of a chat platform: the others have these modules or fewer, in these rooms.
# Those that one has beside them, with the reason.
ROOMS = ("inbound", "outbound", "api")
MODULES_OF_ONE_PLATFORM = {
    "slack/inbound/home": "only Slack has a Home tab",
    "slack/inbound/routing": "discord.py calls methods of its client, in the connection; Bolt takes listeners",
    "discord/inbound/form_store": "Slack keeps refused forms open, and drafts in buttons; Discord does neither",
    "slack/outbound/blocks": "discord.py has classes for components; Slack's SDK leaves blocks as JSON",
    "discord/outbound/offers": "Slack answers a reply to its author alone, and such an answer cannot be deleted later",
    "slack/outbound/menus": "a form of Discord is opened once; a menu in it could not fill it in",
    "slack/outbound/views": "Slack opens views where Discord answers with messages",
    "slack/api/rotation": "a bot of Discord has one token, which does not expire",
    "slack/api/tokens": "each workspace of Slack has a token of its own",
    "slack/api/web_api": "discord.py makes its own HTTP session",
    "discord/api/base_urls": "Slack's SDK takes another address as an argument",
}
# A class name says one thing. These stand in two modules, with the reason.
CLASS_NAMES_IN_TWO_MODULES = {
    "ReplyTooLong": "adapters may not import agent_core.providers, where the other one is",
}
IRREGULAR_PARTICIPLES = re.compile(
    "begun|bound|bought|brought|built|caught|chosen|done|drawn|driven|felt|forgotten|found|given|gone|heard|held|hidden|kept|known|led|left|lent"
    "|lost|made|meant|met|paid|said|seen|sent|sought|shown|sold|spent|stood|taken|taught|thought|told|torn|understood|won"
    "|woken|written"
)
NO_PARTICIPLES = {"bring", "embed", "nothing"}


def is_participle(word: str) -> bool:
    """Whether an English word is a participle by its form."""
    is_regular = len(word) > 4 and word.endswith(("ed", "ing"))
    return word not in NO_PARTICIPLES and bool(is_regular or IRREGULAR_PARTICIPLES.fullmatch(word))


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, str]:
    """What is said of each contract where every contract is broken by its offence, and the core by a stray module."""
    folder = tmp_path_factory.mktemp("spoilt")
    for package in SHIPPED:
        shutil.copytree(ROOT / package, folder / package, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", folder)
    for file, offence in OFFENCES.values():
        (folder / file).write_text(f"{offence}\n")
    (folder / "agent_core" / "helpers.py").touch()
    code, said = lint(folder)
    assert code == 1, said
    _, *parts = re.split(r"^(.+)\n-{3,}$", said, flags=re.MULTILINE)
    return dict(zip(parts[::2], parts[1::2], strict=True))


def lint(folder: Path, *options: str) -> tuple[int, str]:
    command = [sys.executable, "-c", LINT, "--no-cache", "--no-logo", *options]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def test_every_contract_on_imports_is_kept() -> None:
    code, said = lint(ROOT)
    assert code == 0, said


def test_every_contract_has_an_offence_that_shows_it() -> None:
    assert set(OFFENCES) == set(CONTRACTS)


@pytest.mark.parametrize("contract", OFFENCES)
def test_a_contract_is_broken_by_one_wrong_import(told: Mapping[str, str], contract: str) -> None:
    file, offence = OFFENCES[contract]
    wrong = f"{file.removesuffix('.py').replace('/', '.')} -> {offence.removeprefix('import ')} (l.1)"
    assert wrong in told[CONTRACTS[contract]]


def test_a_stray_module_in_the_core_breaks_its_contract(told: Mapping[str, str]) -> None:
    assert "agent_core.helpers" in told[CONTRACTS["core"]]


def test_no_modules_import_each_other_in_a_circle(shipped: Sequence[Source]) -> None:
    """Imports inside functions and under TYPE_CHECKING count: they hide a circle, and the reader still meets it."""
    modules = {".".join(source.path.with_suffix("").parts): source for source in shipped}
    graph = {
        name: {part for each in imported(source) for part in (each, each.rpartition(".")[0]) if part in modules}
        - {name}
        for name, source in modules.items()
    }
    TopologicalSorter(graph).prepare()  # raises CycleError with the modules of the circle


def test_the_core_names_no_variable_of_the_operator(shipped: Sequence[Source]) -> None:
    """Errors of the core carry words that `bot` hands in: a program without `bot` has no such variables.

    The variables themselves are declared in the settings of the capabilities.
    """
    variables = "|".join(sorted(name for name in VARIABLES if name not in PLAIN_WORDS))
    names = re.compile(rf"(?<![A-Z0-9_])(?:{variables})(?![A-Z0-9_])")
    naming = {
        source.path.as_posix()
        for source in of_core(shipped)
        if source.path.name not in ("settings.py", "capability.py")  # a feature reads its own settings
        for node in source.nodes
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and names.search(node.value)
    }
    assert naming == set()


def test_the_core_serves_no_http(shipped: Sequence[Source]) -> None:
    serving = [each.path for each in of_core(shipped) if any(n.startswith("aiohttp.web") for n in imported(each))]
    assert serving == []


def platforms() -> dict[str, set[str]]:
    """The modules of each chat platform, as room/module: all folders of `adapters` with a connection."""
    return {
        folder.name: {
            f"{name}/{path.stem}" for name in ROOMS for path in (folder / name).glob("*.py") if is_module(path)
        }
        for folder in (ROOT / "adapters").iterdir()
        if (folder / "connection.py").exists()
    }


def is_module(path: Path) -> bool:
    return path.name != "__init__.py"


def beside_the_shape(modules: Mapping[str, set[str]]) -> set[str]:
    """The modules that platforms have beside those that Slack and Discord share."""
    shape = modules["slack"] & modules["discord"]
    return {f"{platform}/{name}" for platform, names in modules.items() for name in names - shape}


def test_chat_platforms_have_the_modules_that_slack_and_discord_share() -> None:
    assert beside_the_shape(platforms()) == set(MODULES_OF_ONE_PLATFORM)


def test_a_small_chat_platform_may_leave_modules_out() -> None:
    small = {"irc": {"outbound/draw", "inbound/listeners"}}
    assert beside_the_shape({**platforms(), **small}) == {*MODULES_OF_ONE_PLATFORM, "irc/inbound/listeners"}


def test_nothing_of_a_chat_platform_stands_outside_its_rooms() -> None:
    outside = {
        path.relative_to(ROOT / "adapters").as_posix()
        for platform in platforms()
        for path in (ROOT / "adapters" / platform).rglob("*.py")
        if is_module(path) and path.parent.name not in (*ROOMS, "install")
    }
    assert outside == {f"{platform}/connection.py" for platform in platforms()}


def test_what_a_listener_fails_at_is_told_in_one_place(shipped: Sequence[Source]) -> None:
    anything = {
        source.path.as_posix()
        for source in shipped
        for node in source.nodes
        if source.path.parts[0] == "adapters"
        and isinstance(node, ast.ExceptHandler)
        and (node.type is None or {"Exception", "BaseException"} & set(re.findall(r"\w+", ast.unparse(node.type))))
    }
    listeners = {"adapters/chat/background.py", "adapters/chat/refusals.py", "adapters/web/page_context.py"}
    assert anything == {*listeners, "adapters/mcp/server.py"}


def test_the_page_asks_for_rights_after_it_has_read_the_form(shipped: Sequence[Source]) -> None:
    early = []
    for source in shipped:
        for node in source.nodes if source.path.parts[:2] == ("adapters", "web") else ():
            if isinstance(node, ast.AsyncFunctionDef):
                calls = [each for each in ast.walk(node) if isinstance(each, ast.Call)]
                at = {ast.unparse(each.func).rpartition(".")[2]: (each.lineno, each.col_offset) for each in calls}
                read = [at[name] for name in ("form_of", "upload_of", "uploads_of") if name in at]
                asked = [at[name] for name in ("own", "origin", "person_of", "visitor_of") if name in at]
                early += [f"{source.path}:{node.name}"] if read and asked and min(asked) < max(read) else []
    assert early == []


def test_no_shipped_file_is_longer_than_500_lines() -> None:
    lengths = {path.relative_to(ROOT): len(path.read_text().splitlines()) for path in sources(*SHIPPED)}
    assert {path: length for path, length in lengths.items() if length > 500} == {}


def test_no_shipped_function_is_longer_than_40_lines(shipped: Sequence[Source]) -> None:
    long = [
        f"{source.path}:{node.lineno} {node.name}"
        for source in shipped
        for node in source.nodes
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (node.end_lineno or node.lineno) - node.lineno >= 40
    ]
    assert long == []


def test_a_class_name_stands_in_one_module(shipped: Sequence[Source]) -> None:
    places: dict[str, set[Path]] = {}
    for source in shipped:
        for node in source.nodes:
            if isinstance(node, ast.ClassDef):
                places.setdefault(node.name, set()).add(source.path)
    assert {name for name, paths in places.items() if len(paths) > 1} == set(CLASS_NAMES_IN_TWO_MODULES)


def test_a_coroutine_is_named_by_a_verb_and_by_no_participle(shipped: Sequence[Source]) -> None:
    named = [
        f"{source.path}:{node.lineno} {node.name}"
        for source in shipped
        for node in source.nodes
        if isinstance(node, ast.AsyncFunctionDef) and is_participle(node.name.strip("_").partition("_")[0])
    ]
    assert not named, "\n".join(named)


def test_nothing_is_mocked() -> None:
    mocks = ("unittest.mock", "mock", "pytest_mock")
    mocked = [
        source.path
        for source in parse(*SHIPPED, "tests", "benchmarks", "examples", word="mock")
        if any(name == mock or name.startswith(f"{mock}.") for name in imported(source) for mock in mocks)
    ]
    assert mocked == []


def test_every_promise_is_shown_by_a_test_and_every_test_shows_a_promise_that_is_made() -> None:
    shown = {key for source in parse("tests", word=".proves(") for key in proved(source)}
    assert shown == set(PROMISES)


def test_the_default_suite_shows_every_promise_but_those_that_are_named_as_slow() -> None:
    quick = {key for source in parse("tests", word=".proves(") for key in proved(without_slow_tests(source))}
    without = set(PROMISES) - quick
    assert without == SHOWN_BY_SLOW_TESTS, "take a mark `slow` away, or change SHOWN_BY_SLOW_TESTS"


def test_nothing_of_the_machine_it_was_written_on_is_in_the_repository() -> None:
    found = {str(path): match.group() for path, text in texts() if (match := MACHINE.search(text))}
    assert found == {}


def test_constraints_name_exact_versions_of_every_dependency_and_no_address() -> None:
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    assert [line for line in lines if not re.fullmatch(r"[A-Za-z0-9._-]+==[0-9][A-Za-z0-9.]*", line)] == []
    pinned = {normal(line.partition("==")[0]) for line in lines}
    project = PROJECT["project"]
    wanted = [*project["dependencies"], *chain.from_iterable(project["optional-dependencies"].values())]
    assert {normal(re.split(r"[\[<>=]", name)[0]) for name in wanted} - {"signoff"} <= pinned


def test_every_dependency_has_an_upper_bound() -> None:
    project = PROJECT["project"]
    wanted = [*project["dependencies"], *chain.from_iterable(project["optional-dependencies"].values())]
    assert [name for name in wanted if not re.search(r"<\d|==\d|^signoff\[", name)] == []


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def test_every_process_of_the_procfile_is_a_command() -> None:
    processes = [line.split("python -m bot ")[1] for line in (ROOT / "Procfile").read_text().splitlines()]
    assert set(processes) <= set(COMMANDS)


def test_no_folder_has_more_than_15_modules(shipped: Sequence[Source]) -> None:
    paths = (each.path for each in shipped if not each.path.name.startswith("__"))
    modules = Counter(path.parent.as_posix() for path in paths if "migrations" not in path.parts)
    assert {folder: number for folder, number in modules.items() if number > 15} == {}
