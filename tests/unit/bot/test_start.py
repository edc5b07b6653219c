"""What the command line says where it cannot start: one line, no traceback."""

import re
import tomllib
from pathlib import Path

import pytest

from agent_core.errors import SettingsError
from agent_core.persistence.schema import upgrade
from bot.bootstrap import migrate_database
from bot.settings import load
from tests.command_line import said
from tests.tables import on_database


@pytest.mark.proves("settings:fault")
@pytest.mark.proves("start:one-line")
@pytest.mark.parametrize(
    ("variable", "value", "fault"),
    [
        ("DATABASE_URL", "mysql://somebody:hunter22@127.0.0.1:1/x", "must be the address of"),
        ("PORT", "banana", "must be a number from 1 to 65535"),
        pytest.param("SIGNOFF_HOME", "/dev/null/x", "cannot be made", marks=pytest.mark.slow),
        pytest.param(
            "PUBLIC_URL", "https://signoff.example", "WEB_TOKEN or OIDC_ISSUER must be set", marks=pytest.mark.slow
        ),
        pytest.param(
            "DISABLED_COMMANDS", "fly", "'fly' is none of analyze_code, append_to_file", marks=pytest.mark.slow
        ),
    ],
)
async def test_a_start_that_cannot_be_is_told_in_one_line(
    tmp_path: Path, variable: str, value: str, fault: str
) -> None:
    code, output = await said(tmp_path, "run", **{variable: value})
    assert code == 2
    assert output.startswith(f"Signoff did not start. {variable}: ")
    assert fault in output
    assert output.count("\n") == 1
    assert "hunter22" not in output


@pytest.mark.slow
@pytest.mark.parametrize("arguments", [("run", "nonsense"), ("doctor", "--frob"), ("fly",), ()])
async def test_arguments_that_mean_nothing_are_refused(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    code, output = await said(tmp_path, *arguments)
    assert (code, "usage: signoff" in output) == (2, True)


@pytest.mark.slow
async def test_the_version_is_printed_whatever_the_settings_are(tmp_path: Path) -> None:
    project = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text())["project"]
    code, output = await said(tmp_path, "--version", PORT="none")
    assert (code, output) == (0, f"signoff {project['version']}\n")


@pytest.mark.slow
async def test_tables_of_a_newer_release_are_left_alone(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'x.db'}"
    await upgrade(url)
    newer = "UPDATE alembic_version SET version_num = '9999'"
    await on_database(url, lambda connection: connection.exec_driver_sql(newer))
    said = "DATABASE_URL: its tables were made by a newer Signoff: use that one, or another database."
    with pytest.raises(SettingsError, match=f"^{re.escape(said)}$"):
        await migrate_database(load({"SIGNOFF_HOME": str(tmp_path), "DATABASE_URL": url}, None))
