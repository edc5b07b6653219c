"""Remembers which dialect each model of an endpoint understands, in a file that outlasts restarts."""

import asyncio
import hashlib
import logging
import os
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from threading import Lock

from pydantic import AwareDatetime, TypeAdapter, ValidationError

from agent_core.ports.clock import Clock
from agent_core.providers.llm.openai_dialect import Dialect

logger = logging.getLogger(__name__)

LIFETIME = timedelta(days=30)  # after that an endpoint is asked again, which may understand more since
MAX_ENTRIES = 200
WRITING = Lock()


@dataclass(frozen=True, slots=True)
class LearnedDialect:
    """An entry of the file: what was learned, and when."""

    at: AwareDatetime
    dialect: Dialect


FILE = TypeAdapter(dict[str, LearnedDialect])


@dataclass(slots=True)
class LearnedDialects:
    """Dialects of one endpoint's models; `first` is the dialect for a model that is not known.

    An entry of the file is used for 30 days. Without a file, dialects are kept until the process ends. A file that
    cannot be read or written is logged and not used.
    """

    file: Path | None
    base_url: str
    first: Dialect
    clock: Clock
    _known: dict[str, Dialect] | None = field(default=None, init=False, repr=False)

    def of(self, model: str) -> Dialect:
        """The dialect to use for a model."""
        return self._loaded().get(model, self.first)

    async def learn(self, model: str, dialect: Dialect) -> None:
        """Remember the dialect of a model."""
        self._loaded()[model] = dialect
        if self.file is not None:
            await asyncio.to_thread(self._write, self.file, model, dialect)

    def _loaded(self) -> dict[str, Dialect]:
        if self._known is None:
            now, prefix = self.clock.now(), self._key("")
            self._known = {
                key.removeprefix(prefix): entry.dialect
                for key, entry in (read_entries(self.file) if self.file else {}).items()
                if key.startswith(prefix) and now - LIFETIME < entry.at <= now
            }
        return self._known

    def _write(self, file: Path, model: str, dialect: Dialect) -> None:
        """Add an entry and replace the whole file. Entries that other processes save at the same moment may be lost."""
        try:
            with WRITING:
                entries = read_entries(file) | {self._key(model): LearnedDialect(self.clock.now(), dialect)}
                newest = sorted(entries.items(), key=lambda entry: entry[1].at)[-MAX_ENTRIES:]
                beside = file.with_name(f"{file.name}.{os.getpid()}")
                beside.write_bytes(FILE.dump_json(dict(newest), indent=1))
                beside.replace(file)
        except OSError as fault:
            logger.warning("what a model understands was not saved", extra={"file": file.name, "why": fault.strerror})

    def _key(self, model: str) -> str:
        """The entry's key: a hash of the endpoint's URL, which may hold a password, and the model's name."""
        return f"{hashlib.sha256(self.base_url.encode()).hexdigest()[:16]} {model}"


def read_entries(file: Path) -> dict[str, LearnedDialect]:
    """The entries of a file; none if it is missing or damaged."""
    try:
        return FILE.validate_json(file.read_bytes())
    except FileNotFoundError:
        return {}
    except (OSError, ValidationError) as fault:
        logger.warning(
            "what models understand is learned again", extra={"file": file.name, "why": type(fault).__name__}
        )
        return {}
