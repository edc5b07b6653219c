"""What `audit verify`, `audit heads` and `audit export` print, and their exit codes."""

import csv
import hashlib
import json
from itertools import pairwise
from pathlib import Path

import pytest

from agent_core.model.origin import ChannelScope
from agent_core.persistence.database import SqlDatabase
from agent_core.service.housekeeping.head_posting import head_text
from agent_core.testing.examples import an_agent, an_entry, keep
from bot.settings import Settings
from bot.wiring.audit_commands import run
from tests.command_line import said
from tests.tables import make_tables, on_database

HERE = "web/local/general"


@pytest.fixture
async def settings(tmp_path: Path) -> Settings:
    """The settings of a data folder with three records."""
    settings = Settings(home=tmp_path)
    await make_tables(settings.database_url)
    database = SqlDatabase(settings.database_url)
    for number in range(3):
        detail = f"=1+{number}"
        await keep(database, an_entry(an_agent(), id=f"entry-{number}", detail=detail))
    await database.close()
    return settings


async def printed(settings: Settings, capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    code = await run(settings, arguments)
    return code, "".join(capsys.readouterr())


@pytest.mark.proves("evidence:command")
async def test_a_check_prints_the_head_and_says_what_is_wrong(
    settings: Settings, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    code, heads = await printed(settings, capsys, "heads")
    assert (code, heads.count("\n"), heads[:20]) == (0, 1, f"{HERE}=3:"[:20])
    (kept := tmp_path / "heads.txt").write_text(heads)
    code, text = await printed(settings, capsys, "verify", "--heads", str(kept), "--head", heads)
    short = heads.partition("=")[2][:14]
    assert (code, text) == (0, f"{HERE}: 3 records, head {short}\n  {heads}All chains are whole.\n")
    await on_database(settings.database_url, lambda made: made.exec_driver_sql("DELETE FROM audit WHERE seq = 3"))
    code, text = await printed(settings, capsys, "verify", "--head", heads)
    assert code == 1
    assert "  FAULT: Record 3 is missing.\n" in text
    assert text.endswith("2 faults found.\n")


@pytest.mark.proves("evidence:posted")
async def test_a_line_that_was_posted_in_a_thread_is_compared_as_it_was_posted(
    settings: Settings, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, heads = await printed(settings, capsys, "heads")
    digest = heads.strip().rpartition(":")[2]
    for posted, code in ((digest, 0), ("0" * 64, 1)):
        line = head_text(ChannelScope.parse(HERE), 3, posted)
        (kept := tmp_path / "heads.txt").write_text(f"Clerk: {line}\n\n{heads}")
        assert (await printed(settings, capsys, "verify", "--heads", str(kept)))[0] == code


@pytest.mark.proves("evidence:command")
async def test_an_export_has_what_a_check_by_hand_needs(settings: Settings, capsys: pytest.CaptureFixture[str]) -> None:
    _, text = await printed(settings, capsys, "export", "--channel", HERE)
    lines = [json.loads(line) for line in text.splitlines()]
    assert [line["seq"] for line in lines] == [1, 2, 3]
    for line, after in pairwise(lines):
        digest = hashlib.sha256(line["data"].encode()).hexdigest()
        assert digest == line["hash"] == json.loads(after["data"])["previous"]
    _, text = await printed(settings, capsys, "export", "--format", "csv")
    rows = list(csv.DictReader(text.splitlines()))
    assert [(row["seq"], row["hash"], row["detail"]) for row in rows] == [
        (str(line["seq"]), line["hash"], f"'=1+{number}") for number, line in enumerate(lines)
    ]
    code, text = await printed(settings, capsys, "export", "--channel", HERE, "--channel", "slack/T/C")
    assert (code, text.count("\n")) == (1, 4)
    assert text.endswith("No record of slack/T/C was written: `audit heads` lists the channels.\n")


@pytest.mark.parametrize("value", [f"'{'[' * 200_000}'", "CAST(X'FF' AS TEXT)", "'x'"])
@pytest.mark.parametrize("name", ["data", "texts", "id", "channel"])
async def test_garbage_in_the_log_is_a_fault_and_no_traceback(
    settings: Settings, capsys: pytest.CaptureFixture[str], name: str, value: str
) -> None:
    garbage = f"UPDATE audit SET {name} = {value} WHERE seq = 2"
    await on_database(settings.database_url, lambda made: made.exec_driver_sql(garbage))
    code, text = await printed(settings, capsys, "verify")
    assert (code, "  FAULT: Record 2" in text) == (1, True)
    text.encode()
    assert (await printed(settings, capsys, "export"))[0] == 0
    code, text = await printed(settings, capsys, "export", "--format", "csv")
    assert (code, f"This record 2 of {HERE} was saved" in text) == (
        (1, True) if name in ("data", "texts") else (0, False)
    )


async def test_an_empty_file_of_heads_is_not_taken_for_a_comparison(
    settings: Settings, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (kept := tmp_path / "heads.txt").write_text("\n")
    with pytest.raises(SystemExit, match="2"):
        await run(settings, ("verify", "--heads", str(kept)))
    assert "has no line of `audit heads`, so there is nothing to compare with" in capsys.readouterr().err


@pytest.mark.slow
async def test_a_wrong_head_and_a_missing_database_are_told_in_a_sentence(tmp_path: Path) -> None:
    code, text = await said(tmp_path, "audit", "verify", "--head", "nonsense", SIGNOFF_HOME="home")
    assert code == 2
    assert "'nonsense' is not CHANNEL=SEQ:HASH, a line of `audit heads`" in text
    code, text = await said(tmp_path, "audit", "verify", SIGNOFF_HOME="home")
    assert (code, text.startswith("There is no database ")) == (1, True)
