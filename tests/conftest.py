"""Settings for all tests: no Hypothesis deadlines, and a last line on tests that missing packages left out."""

from collections.abc import Generator

import pytest
from _pytest.terminal import TerminalReporter
from hypothesis import settings

from tests.packages import NotInstalled, is_required, summary

settings.register_profile("house", deadline=None)  # tests must pass on a busy machine
settings.load_profile("house")

MISSING = "missing packages"


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
    kept = (dict(getattr(report, "user_properties", ())) for report in reports)
    if left_out := [properties[MISSING] for properties in kept if MISSING in properties]:
        reporter.write_line(summary(left_out))
