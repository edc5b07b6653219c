"""What the process logs: one line for each event, facts as fields, no secret in any of it."""

import json
import logging
import time
from collections.abc import Iterable
from typing import Literal

from agent_core.oversight.secrets import Secrets

Format = Literal["text", "json"]

NOISY = ("aiohttp.access", "aiosqlite", "alembic", "asyncio", "httpcore", "httpx", "httpx2", "openai", "sqlalchemy")
STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}
TIME = "%Y-%m-%dT%H:%M:%SZ"


def configure(level: str, format: Format, secrets: Iterable[str] = ()) -> None:  # noqa: A002
    """Log to standard error from now on, in place of whatever logged before."""
    logging.basicConfig(level=level, handlers=[Redacting(format, secrets)], force=True)
    for name in NOISY:
        logging.getLogger(name).setLevel(logging.WARNING)


class Redacting(logging.StreamHandler):  # type: ignore[type-arg]  # its parameter exists for type checkers alone
    """Writes to standard error. A secret is hidden wherever it stands: message, arguments, facts or traceback."""

    def __init__(self, format: Format, secrets: Iterable[str] = ()) -> None:  # noqa: A002
        super().__init__()
        self.setFormatter(TextFormatter() if format == "text" else _json_formatter())
        self._secrets = Secrets.of(secrets)

    def format(self, record: logging.LogRecord) -> str:
        """The line as it is written."""
        return self._secrets.redact(super().format(record))


class TextFormatter(logging.Formatter):
    """Time, level, logger, message, then the facts as key=value: one line, and a traceback under it."""

    converter = staticmethod(time.gmtime)

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)-7s %(name)s %(message)s", TIME)

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802
        """The line without the traceback."""
        record.message = " ".join(record.message.splitlines())
        facts = [f"{name}={_written(value)}" for name, value in vars(record).items() if name not in STANDARD]
        return " ".join([super().formatMessage(record), *facts])


def _json_formatter() -> logging.Formatter:
    from pythonjsonlogger.json import JsonFormatter  # loaded where it is asked for

    formatter = JsonFormatter(
        "%(asctime)s %(levelname)s %(name)s %(message)s",
        TIME,
        rename_fields={"asctime": "time", "levelname": "level", "name": "logger"},
    )
    formatter.converter = time.gmtime
    return formatter


def _written(value: object) -> str:
    text = str(value)
    is_plain = text.isprintable() and text and not any(sign in text for sign in ' "=')
    return text if is_plain else json.dumps(text, ensure_ascii=False)
