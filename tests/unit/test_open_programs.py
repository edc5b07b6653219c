import asyncio
from asyncio.subprocess import PIPE

import pytest

from tests.open_programs import PROGRAMS, LeftOpen, require_no_programs


class OpenTransport(asyncio.SubprocessTransport):
    """Of a program that still runs."""

    def is_closing(self) -> bool:
        return False


@pytest.mark.slow
async def test_a_program_may_run_as_long_as_its_loop() -> None:
    process = await asyncio.create_subprocess_exec("cat", stdin=PIPE, stdout=PIPE)
    assert "cat" in [line for _, line in PROGRAMS.values()]
    require_no_programs()
    await process.communicate(b"")


@pytest.mark.slow
def test_a_program_that_outlives_its_loop_is_told_once() -> None:
    loop, transport = asyncio.new_event_loop(), OpenTransport()
    loop.close()
    PROGRAMS[transport] = loop, "sleep 1000"
    with pytest.raises(LeftOpen, match="sleep 1000"):
        require_no_programs()
    require_no_programs()
