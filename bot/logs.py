"""Sets up the process's log: one line for each event, as text or JSON, with `extra` fields and without secrets."""

import json
import logging
import time
from collections.abc import Iterable
from typing import Literal

from agent_core.oversight.secrets import Secrets

Format = Literal["text", "json"]

NOISY = (
    *("aiohttp.access", "alembic", "asyncio", "authlib", "httpcore", "httpcore2", "httpx", "httpx2", "mcp", "openai"),
    *("psycopg", "sqlalchemy", "sse_starlette"),
)
STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}
TIME = "%Y-%m-%dT%H:%M:%SZ"


def configure(level: str, format: Format, secrets: Iterable[str] = ()) -> None:  # noqa: A002
    """Log to standard error, with `secrets` masked, and remove all other handlers."""
    logging.basicConfig(level=level, handlers=[Redacting(format, secrets)], force=True)
    for name in NOISY:
        logging.getLogger(name).setLevel(logging.WARNING)
    logging.getLogger("mcp").setLevel(logging.CRITICAL)  # else a tool server decides what is logged, and how often


class Redacting(logging.StreamHandler):  # type: ignore[type-arg]  # its parameter exists for type checkers alone
    """Writes to standard error and masks secrets in the message, arguments, `extra` fields and traceback."""

    def __init__(self, format: Format, secrets: Iterable[str] = ()) -> None:  # noqa: A002
        super().__init__()
        self.setFormatter(TextFormatter() if format == "text" else _json_formatter())
        self._secrets = Secrets.of(secrets)

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
