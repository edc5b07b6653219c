"""What `doctor` and `migrate` say about tables of a newer release."""

from pathlib import Path

import pytest

from tests.command_line import said
from tests.migration.test_newer_tables import extend


@pytest.mark.slow
@pytest.mark.parametrize(
    ("works_with", "state", "migrated"),
    [("0008", "warn", (0, "The tables are of a newer release")), ("9999", "fault", (2, "Signoff did not start."))],
)
async def test_tables_of_a_newer_release_are_told(
    tmp_path: Path, works_with: str, state: str, migrated: tuple[int, str]
) -> None:
    await extend(f"sqlite:///{tmp_path}/home/signoff.db", works_with)
    _, output = await said(tmp_path, "doctor", SIGNOFF_HOME="home")
    [line] = [each for each in output.splitlines() if each.startswith("database")]
    assert line.split()[1] == state
    assert "newer" in line
    code, output = await said(tmp_path, "migrate", SIGNOFF_HOME="home")
    assert (code, output.startswith(migrated[1])) == (migrated[0], True)
