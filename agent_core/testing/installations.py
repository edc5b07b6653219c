"""The in-memory database's installations."""

from agent_core.model.channels import SurfaceName
from agent_core.model.installation import Installation
from agent_core.testing.store import StoreBuffer


class MemoryInstallations:
    """See `Installations` in the ports."""

    def __init__(self, buffer: StoreBuffer) -> None:
        self._buffer = buffer

    async def get(self, surface: SurfaceName, workspace: str) -> Installation | None:
        return self._buffer.committed.installations.get((surface, workspace))

    async def of(self, surface: SurfaceName) -> tuple[Installation, ...]:
        installations = self._buffer.committed.installations
        return tuple(installations[place] for place in sorted(installations) if place[0] == surface)

    def put(self, installation: Installation, *, replacing: str | None = None) -> None:
        key = ("installation", installation.surface, installation.workspace)
        self._buffer.queue(lambda store: store.put_installation(installation, replacing), key=key)

    def remove(self, surface: SurfaceName, workspace: str) -> None:
        place = (surface, workspace)
        self._buffer.queue(lambda store: store.remove_installation(place), key=("installation", *place))
