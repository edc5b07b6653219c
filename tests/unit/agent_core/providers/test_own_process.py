"""A process of this machine is known to have ended; of all others nothing is known."""

import subprocess
import sys
from pathlib import Path

import pytest

from agent_core.providers.own_process import is_gone, own_process

PRINT = "from agent_core.providers.own_process import own_process; print(own_process(), flush=True); input()"


@pytest.mark.proves("workers:death")
def test_a_process_that_was_killed_has_ended_and_one_that_lives_has_not() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", PRINT], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout
        name = other.stdout.readline().strip()
        assert not is_gone(name)
        other.kill()
        other.wait()
    assert is_gone(name)


def test_a_number_that_the_system_used_again_is_another_process() -> None:
    place, _, started = own_process().rpartition("/")
    assert not is_gone(own_process())
    assert is_gone(f"{place}/{int(started) + 1}")


@pytest.mark.parametrize("process", ["", "other-boot/4026531836/1/5", "nonsense"])
def test_of_processes_elsewhere_nothing_is_known(process: str) -> None:
    assert not is_gone(process)


@pytest.mark.proves("workers:death")
def test_a_process_that_the_system_hides_is_not_taken_for_dead(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "sys/kernel/random").mkdir(parents=True)
    (tmp_path / "sys/kernel/random/boot_id").write_text("boot")
    (tmp_path / "self/ns").mkdir(parents=True)
    (tmp_path / "self/ns/pid").touch()
    namespace = (tmp_path / "self/ns/pid").stat().st_ino
    monkeypatch.setattr("agent_core.providers.own_process.PROC", tmp_path)
    assert not is_gone(f"boot/{namespace}/4711/99")
    (tmp_path / "1").mkdir()  # with it, what is not shown has ended
    assert is_gone(f"boot/{namespace}/4711/99")
