"""What holds for every test: no wait is a fault, and no test stays out unnoticed for want of a system package."""

from collections.abc import Generator

import pytest
from _pytest.terminal import TerminalReporter
from hypothesis import settings

from tests.packages import NotInstalled, is_required, summary

settings.register_profile("house", deadline=None)  # a busy machine is no fault of the code's
settings.load_profile("house")

MISSING = "missing packages"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Leave a test out whose packages are missing; in CI it is an error."""
    report = yield
    if call.excinfo and isinstance(call.excinfo.value, NotInstalled):
        report.user_properties.append((MISSING, call.excinfo.value.packages))
        if not is_required():
            path, line, _ = item.location
            report.outcome, report.longrepr = "skipped", (path, line or 0, f"Skipped: {call.excinfo.value}")
    return report


@pytest.hookimpl(trylast=True)
def pytest_unconfigure(config: pytest.Config) -> None:
    """Say as the last line what did not run and the command that changes it."""
    reporter: TerminalReporter | None = config.pluginmanager.get_plugin("terminalreporter")
    if reporter is None:
        return
    reports = [report for outcome in ("skipped", "failed", "error") for report in reporter.stats.get(outcome, [])]
    kept = (dict(getattr(report, "user_properties", ())) for report in reports)
    if left_out := [properties[MISSING] for properties in kept if MISSING in properties]:
        reporter.write_line(summary(left_out))
