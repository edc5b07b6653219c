"""A lock for a test in which one process does everything."""

import asyncio


class FreeLock:
    """Implements `EngineLock`: it is always free."""

    def __init__(self, _whose: object) -> None:
        pass

    async def acquire(self) -> None:
        pass

    async def watch(self) -> None:
        await asyncio.Event().wait()

    async def release(self) -> None:
        pass
