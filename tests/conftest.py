"""Settings for all tests: a hard end, a few watches, and a last line on what missing packages left out."""

import faulthandler
import gc
import os
from collections.abc import Generator

import pytest
from _pytest.terminal import TerminalReporter
from pytest_timeout import Settings
from xdist.remote import Producer

from tests.compiled_statements import share_compiled_statements
from tests.distribution import Distribution
from tests.example_counts import choose_examples
from tests.left_out import OPTION, choose_rest, remember_left_out
from tests.open_programs import require_no_programs, watch_programs
from tests.packages import NotInstalled, is_required, summary
from tests.standins.oidc import provider  # noqa: F401
from tests.standins.postgres import own_postgres, postgres  # noqa: F401
from tests.standins.s3 import s3_bucket, s3_gate, s3_server  # noqa: F401
from tests.temporary_files import keep_in_memory

MISSING = "missing packages"
GARBAGE_THRESHOLDS = (20_000, 20, 20)
# How many seconds after its time limit a test that runs on ends with its process. The limit itself raises an exception
# once, which an event loop can swallow.
HARD_END_AFTER = 60.0
STDERR = pytest.StashKey[int]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option of `tests.left_out`."""
    parser.addoption(OPTION, action="store_true", help="run what the last run of the default tests left out")


def pytest_configure(config: pytest.Config) -> None:
    """Keep the real standard error, which a test's output does not reach. Watch the programs that tests start."""
    keep_in_memory()
    config.stash[STDERR] = os.dup(2)
    watch_programs()
    share_compiled_statements()
    choose_examples(config)
    gc.disable()  # while the tests are collected, which stay


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """With `--rest`, choose."""
    choose_rest(config, items)


def pytest_collection_finish() -> None:
    """Search the memory for garbage less often than usual, and not among the collected tests."""
    gc.freeze()
    gc.set_threshold(*GARBAGE_THRESHOLDS)
    gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_timeout_set_timer(item: pytest.Item, settings: Settings) -> None:
    """End the process of a test that outlives its time limit, and print all stacks; other tests go on in a new one."""
    _end_process(item.config, after=settings.timeout + HARD_END_AFTER)


@pytest.hookimpl(trylast=True)
def pytest_exception_interact(node: pytest.Item | pytest.Collector) -> None:
    """Bound what tidies up after a failed test. From its failure on, pytest itself has no limit for it."""
    if isinstance(node, pytest.Item):
        _end_process(node.config, after=HARD_END_AFTER)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_teardown() -> Generator[None]:
    """Fail a test that left a program running, or its pipes open."""
    yield
    require_no_programs()


def pytest_runtest_logfinish() -> None:
    """Take the hard end back."""
    faulthandler.cancel_dump_traceback_later()


def _end_process(config: pytest.Config, *, after: float) -> None:
    faulthandler.dump_traceback_later(after, exit=True, file=config.stash[STDERR])


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> Distribution:
    """Spread tests over processes by group."""
    return Distribution(config, log)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Report a test with missing system packages as skipped; with `CI` set it fails."""
    report = yield
    if call.excinfo and isinstance(call.excinfo.value, NotInstalled):
        report.user_properties.append((MISSING, call.excinfo.value.packages))
        if not is_required():
            path, line, _ = item.location
            report.outcome, report.longrepr = "skipped", (path, line or 0, f"Skipped: {call.excinfo.value}")
    return report


@pytest.hookimpl(trylast=True)
def pytest_unconfigure(config: pytest.Config) -> None:
    """Print as the last line which tests did not run, and the command that installs what they need."""
    reporter: TerminalReporter | None = config.pluginmanager.get_plugin("terminalreporter")
    if reporter is None:
        return
    reports = [report for outcome in ("skipped", "failed", "error") for report in reporter.stats.get(outcome, [])]
    kept = {report.nodeid: dict(getattr(report, "user_properties", ())) for report in reports}
    left_out = {test: properties[MISSING] for test, properties in kept.items() if MISSING in properties}
    remember_left_out(config, left_out)
    if left_out:
        reporter.write_line(summary(left_out.values()))
