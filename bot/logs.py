"""Sets up the process's log: one line for each event, as text or JSON, with `extra` fields and without secrets."""

import json
import logging
import sys
import threading
import time
from collections.abc import Iterable
from types import TracebackType
from typing import Literal

from agent_core.oversight.secrets import Secrets

Format = Literal["text", "json"]

NOISY = (
    *("aiohttp.access", "alembic", "asyncio", "authlib", "httpcore", "httpcore2", "httpx", "httpx2", "mcp", "openai"),
    *("psycopg", "sqlalchemy", "sse_starlette"),
)
STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}
TIME = "%Y-%m-%dT%H:%M:%SZ"


logger = logging.getLogger(__name__)


def configure(level: str, format: Format, secrets: Iterable[str] = (), *, says: bool = False) -> None:  # noqa: A002
    """Log to standard error, with `secrets` masked, and remove all other handlers.

    In JSON, tracebacks and warnings that Python prints are logged, and with `says` what the process says of itself.
    """
    handler = Redacting(format, secrets)
    handler.takes_sayings = says and format == "json"
    logging.basicConfig(level=level, handlers=[handler], force=True)
    if format == "json":
        logging.captureWarnings(capture=True)
        sys.excepthook = _log_end
        threading.excepthook = lambda fault: _log_end(fault.exc_type, fault.exc_value, fault.exc_traceback)
    for name in NOISY:
        logging.getLogger(name).setLevel(logging.WARNING)
    logging.getLogger("mcp").setLevel(logging.CRITICAL)  # else a tool server decides what is logged, and how often


def say(text: str) -> None:
    """Tell the person at the terminal; where they read JSON, as a line of the log for each line."""
    if any(isinstance(each, Redacting) and each.takes_sayings for each in logging.getLogger().handlers):
        for line in filter(None, map(str.strip, text.splitlines())):
            logger.info("%s", line)
        return
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def _log_end(kind: type[BaseException], fault: BaseException | None, trace: TracebackType | None) -> None:
    logger.critical("an error ended this", exc_info=(kind, fault or kind(), trace))


class Redacting(logging.StreamHandler):  # type: ignore[type-arg]  # its parameter exists for type checkers alone
    """Writes to standard error and masks secrets in the message, arguments, `extra` fields and traceback."""

    def __init__(self, format: Format, secrets: Iterable[str] = ()) -> None:  # noqa: A002
        super().__init__()
        self.setFormatter(TextFormatter() if format == "text" else _json_formatter())
        self._secrets = Secrets.of(secrets)
        self.takes_sayings = False

    def format(self, record: logging.LogRecord) -> str:
        return self._secrets.redact(super().format(record))


class TextFormatter(logging.Formatter):
    """Time, level, logger, message and `extra` fields as key=value on one line, with a traceback below it."""

    converter = staticmethod(time.gmtime)

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)-7s %(name)s %(message)s", TIME)

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802
        record.message = " ".join(record.message.splitlines())
        facts = [f"{name}={_written(value)}" for name, value in vars(record).items() if name not in STANDARD]
        return " ".join([super().formatMessage(record), *facts])


def _json_formatter() -> logging.Formatter:
    from pythonjsonlogger.json import JsonFormatter  # imported on first use

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
