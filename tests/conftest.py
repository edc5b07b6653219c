"""What holds for every test: no wait is a fault, and the browser tests never stay out unnoticed."""

import pytest
from _pytest.terminal import TerminalReporter
from hypothesis import settings

settings.register_profile("house", deadline=None)  # a busy machine is no fault of the code's
settings.load_profile("house")

UNSEEN = "The browser tests did not run"


@pytest.hookimpl(trylast=True)
def pytest_unconfigure(config: pytest.Config) -> None:
    """Say as the last line that no browser was there, where that is so."""
    reporter: TerminalReporter | None = config.pluginmanager.get_plugin("terminalreporter")
    if reporter is None:
        return
    left_out = [report for report in reporter.stats.get("skipped", []) if UNSEEN in str(report.longrepr)]
    if left_out:
        why = str(left_out[0].longrepr).partition(UNSEEN)[2].rstrip("')")
        reporter.write_line(f"{UNSEEN} ({len(left_out)} of them){why}")
