"""Remembers which dialect each model of an endpoint understands, in a file that outlasts restarts."""

import asyncio
import hashlib
import logging
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock
from typing import Generic, TypeAlias, TypeVar

from pydantic import AwareDatetime, TypeAdapter, ValidationError

from agent_core.ports.clock import Clock

Dialect = TypeVar("Dialect")

logger = logging.getLogger(__name__)

LIFETIME = timedelta(days=30)  # after that an endpoint is asked again, which may understand more since
MAX_ENTRIES = 200
WRITING = Lock()


@dataclass(frozen=True, slots=True)
class LearnedDialect(Generic[Dialect]):
    """An entry of the file: what was learned, and when."""

    at: AwareDatetime
    dialect: Dialect


Entries: TypeAlias = dict[str, LearnedDialect[Dialect]]


@dataclass(slots=True)
class LearnedDialects(Generic[Dialect]):
    """Dialects of one endpoint's models. `kind` is their class, the same for all entries of a file.

    An entry of the file is used for 30 days. Without a file, dialects are kept until the process ends. A file that
    cannot be read or written is logged and not used.
    """

    file: Path | None
    base_url: str
    kind: type[Dialect]
    clock: Clock
    _known: dict[str, Dialect] | None = field(default=None, init=False, repr=False)
    _passing: set[str] = field(default_factory=set, init=False, repr=False)

    def of(self, model: str) -> Dialect | None:
        """The dialect of a model, or None if nothing was learned of it."""
        return self._loaded().get(model)

    async def learn(self, model: str, dialect: Dialect, *, lasts: bool = True) -> None:
        """Remember the dialect of a model.

        If it does not last, it and what is learned on top of it are forgotten when the process ends.
        """
        self._loaded()[model] = dialect
        if not lasts:
            self._passing.add(model)
        if model not in self._passing and self.file is not None:
            await asyncio.to_thread(self._write, self.file, model, dialect)

    def _loaded(self) -> dict[str, Dialect]:
        if self._known is None:
            now, prefix = self.clock.now(), self._key("")
            self._known = {
                key.removeprefix(prefix): entry.dialect
                for key, entry in (self._entries(self.file) if self.file else {}).items()
                if key.startswith(prefix) and now - LIFETIME < entry.at <= now
            }
        return self._known

    def _write(self, file: Path, model: str, dialect: Dialect) -> None:
        """Add an entry and replace the whole file. Entries that other processes save at the same moment may be lost."""
        try:
            with WRITING:
                entries = self._entries(file) | {self._key(model): LearnedDialect(self.clock.now(), dialect)}
                newest = sorted(entries.items(), key=lambda entry: entry[1].at)[-MAX_ENTRIES:]
                # Containers that share the folder may have the same process id, so that is no unique name.
                with TemporaryDirectory(dir=file.parent, prefix=f".{file.name}.") as folder:
                    draft = Path(folder, file.name)
                    draft.write_bytes(self._format().dump_json(dict(newest), indent=1))
                    draft.replace(file)
        except OSError as fault:
            logger.warning("what a model understands was not saved", extra={"file": file.name, "why": fault.strerror})

    def _key(self, model: str) -> str:
        """The entry's key: a hash of the endpoint's URL, which may hold a password, and the model's name."""
        return f"{hashlib.sha256(self.base_url.encode()).hexdigest()[:16]} {model}"

    def _format(self) -> TypeAdapter[Entries[Dialect]]:
        return TypeAdapter(dict[str, LearnedDialect[self.kind]])  # type: ignore[name-defined]

    def _entries(self, file: Path) -> Entries[Dialect]:
        """The entries of the file; none if it is missing or damaged."""
        try:
            return self._format().validate_json(file.read_bytes())
        except FileNotFoundError:
            return {}
        except (OSError, ValidationError) as fault:
            logger.warning(
                "what models understand is learned again", extra={"file": file.name, "why": type(fault).__name__}
            )
            return {}
