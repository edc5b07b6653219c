"""What a surface has heard."""

from datetime import timedelta

from agent_core.service.housekeeping.inbound_log import InboundLog
from agent_core.testing.clock import FakeClock
from agent_core.testing.database import TemporaryDatabase


async def test_a_delivery_is_claimed_once_and_forgotten_after_a_month() -> None:
    clock = FakeClock()
    inbound_log = InboundLog(TemporaryDatabase(), clock)
    assert [await inbound_log.first_time("slack/T1/1"), await inbound_log.first_time("slack/T1/1")] == [True, False]
    clock.advance(timedelta(days=29).total_seconds())
    await inbound_log.save_received_until("slack", "T1", clock.now())
    assert not await inbound_log.first_time("slack/T1/1")
    clock.advance(timedelta(days=2).total_seconds())
    await inbound_log.save_received_until("slack", "T1", clock.now())
    assert await inbound_log.first_time("slack/T1/1")


async def test_each_workspace_has_its_own_time_until_which_nothing_was_missed() -> None:
    clock = FakeClock()
    inbound_log = InboundLog(TemporaryDatabase(), clock)
    assert await inbound_log.load_received_until("slack", "T1") is None
    await inbound_log.save_received_until("slack", "T1", clock.now())
    assert await inbound_log.load_received_until("slack", "T1") == clock.now()
    assert await inbound_log.load_received_until("slack", "T2") is None
