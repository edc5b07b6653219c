"""Of two things that tell of the same the second is sent also if the first is refused."""

import pytest

from adapters.chat.status_updates import send_both
from agent_core.errors import DatabaseAway, SignoffError, SurfaceBusy, SurfaceError

BUSY, REFUSED, AWAY = SurfaceBusy("ratelimited", 1.0), SurfaceError("edit_window_closed"), DatabaseAway("It is away.")


@pytest.mark.parametrize(
    ("first", "second", "raised"),
    [
        (None, REFUSED, REFUSED),
        (BUSY, None, BUSY),
        (REFUSED, None, REFUSED),
        (BUSY, REFUSED, BUSY),
        (AWAY, REFUSED, AWAY),
        (REFUSED, BUSY, BUSY),
    ],
)
async def test_both_are_sent_and_what_can_be_tried_again_is_raised(
    first: SignoffError | None, second: SignoffError | None, raised: SignoffError
) -> None:
    sent: list[str] = []

    async def send(name: str, fault: SignoffError | None) -> None:
        sent.append(name)
        if fault:
            raise fault

    with pytest.raises(type(raised)) as told:
        await send_both(lambda: send("indicator", first), lambda: send("root", second))
    assert told.value is raised
    assert sent == ["indicator", "root"]
