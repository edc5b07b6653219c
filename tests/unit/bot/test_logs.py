"""What is logged: one line for each event, in two formats, without secrets."""

import json
import logging
from collections.abc import Iterator

import pytest

from bot.logs import Redacting, configure

SECRET = 'sk-"quoted"'


@pytest.fixture(autouse=True)
def _root_as_before() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)


def record(message: str, *args: object, **facts: object) -> logging.LogRecord:
    made = logging.LogRecord("bot.web", logging.INFO, __file__, 1, message, args, None)
    made.created = 0.0
    made.__dict__.update(facts)
    return made


def test_a_line_of_text_has_time_level_logger_message_and_facts() -> None:
    line = Redacting("text").format(record("turn decided", turn="t1", by="Ana B", empty=""))
    assert line == '1970-01-01T00:00:00Z INFO    bot.web turn decided turn=t1 by="Ana B" empty=""'


def test_nothing_in_a_record_makes_a_second_line() -> None:
    line = Redacting("text").format(record("first\nsecond", said="third\nfourth"))
    assert line.endswith('first second said="third\\nfourth"')


def test_a_line_of_json_has_the_same() -> None:
    line = Redacting("json").format(record("turn decided", turn="t1"))
    assert json.loads(line) == {
        "time": "1970-01-01T00:00:00Z",
        "level": "INFO",
        "logger": "bot.web",
        "message": "turn decided",
        "turn": "t1",
    }


@pytest.mark.proves("logs:secrets")
@pytest.mark.parametrize("style", ["text", "json"])
@pytest.mark.parametrize(
    "told",
    [
        record(f"the key is {SECRET}"),
        record("the key is %s", SECRET),
        record("the key", key=SECRET),
        record("the key", headers={"Authorization": ["Bearer", SECRET]}),
    ],
)
def test_a_secret_is_hidden_wherever_it_stands(style: str, told: logging.LogRecord) -> None:
    line = Redacting(style, [SECRET]).format(told)  # type: ignore[arg-type]
    assert "quoted" not in line
    assert "[secret]" in line


def test_a_secret_is_hidden_in_a_traceback() -> None:
    error = ValueError(SECRET)
    told = record("it broke")
    told.exc_info = (ValueError, error, None)
    line = Redacting("text", [SECRET]).format(told)
    assert "quoted" not in line
    assert "ValueError: [secret]" in line


def test_a_secret_too_short_to_be_told_from_words_blots_nothing_out() -> None:
    assert Redacting("text", ["in", ""]).format(record("in it")).endswith("in it")


def test_the_level_holds_and_libraries_are_quiet(capsys: pytest.CaptureFixture[str]) -> None:
    configure("DEBUG", "text", ["hush-hush"])
    logging.getLogger("bot.test").debug("heard hush-hush")
    logging.getLogger("httpx").info("unheard")
    logging.getLogger("asyncio").debug("unheard")
    written = capsys.readouterr().err
    assert written.endswith("DEBUG   bot.test heard [secret]\n")
    assert "unheard" not in written


def test_configuring_again_replaces_what_was_there(capsys: pytest.CaptureFixture[str]) -> None:
    configure("INFO", "json")
    configure("INFO", "text")
    logging.getLogger("bot.test").info("once")
    assert capsys.readouterr().err.count("once") == 1
