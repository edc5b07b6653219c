"""The command `audit`: checks the hash chains of the decision log, prints their heads, and exports the records."""

import argparse
import csv
import json
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path

from adapters.screens.decision_log import COLUMNS, csv_cells
from adapters.screens.visible_text import visible
from agent_core.errors import DatabaseAway, TransferRefused, UnreadableRecord
from agent_core.persistence.decision_log.checking import (
    ChannelReport,
    ExportedRecord,
    Head,
    Heads,
    check_log,
    export_log,
    read_heads,
)
from agent_core.text.lines import counted
from bot.bootstrap import server_fault
from bot.settings import Settings

FAULTY = 1
SHORT = 12
HEAD = re.compile(r"(?P<channel>[^=\s]+)=(?P<seq>\d+):(?P<hash>[0-9a-f]{64})(?![0-9a-f])")
PLACE = ("channel", "seq", "hash", "previous")


async def run(settings: Settings, arguments: Sequence[str]) -> int:
    """Run `audit verify`, `audit heads` or `audit export`; return 1 for a fault in a chain, or if that is refused."""
    given = _parser().parse_args(arguments)
    if settings.sqlite_file and not settings.sqlite_file.exists():
        return _tell_fault(f"There is no database {settings.sqlite_file}.")
    if fault := await server_fault(settings):
        return _tell_fault(fault)
    try:
        match given.action:
            case "verify":
                return _tell_reports(await check_log(settings.database_url, _by_channel(given.head + given.heads)))
            case "heads":
                _tell_heads(await read_heads(settings.database_url))
            case _:
                write = _write_csv if given.format == "csv" else _write_lines
                exported: set[str] = set()
                await export_log(settings.database_url, given.channel, partial(_write_while_read, write, exported))
                if absent := [channel for channel in given.channel if channel not in exported]:
                    return _tell_fault(
                        f"No record of {', '.join(absent)} was written: `audit heads` lists the channels."
                    )
    except (TransferRefused, DatabaseAway, UnreadableRecord) as fault:
        return _tell_fault(str(fault))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="signoff audit", description="Check or export the decision log as evidence.")
    actions = parser.add_subparsers(dest="action", required=True, metavar="action")
    verify = actions.add_parser(
        "verify", help="find every change, gap and reordering, and a cut end if a head was kept"
    )
    verify.add_argument("--head", type=_head, action="append", default=[], metavar="CHANNEL=SEQ:HASH")
    verify.add_argument(
        "--heads",
        type=_heads_file,
        default=[],
        metavar="FILE",
        help="what `audit heads` printed, or lines posted in threads",
    )
    actions.add_parser("heads", help="print the head of each channel's chain, to keep elsewhere")
    export = actions.add_parser("export", help="write the records to standard output")
    export.add_argument("--channel", action="append", default=[], help="only this channel; may be repeated")
    export.add_argument("--format", choices=("jsonl", "csv"), default="jsonl")
    return parser


def _head(text: str) -> tuple[str, Head]:
    """The head in a line of `audit heads`, or in one that was posted."""
    found = list(HEAD.finditer(text))
    if len(found) != 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not CHANNEL=SEQ:HASH, a line of `audit heads`")
    return found[0]["channel"], (int(found[0]["seq"]), found[0]["hash"])


def _heads_file(name: str) -> list[tuple[str, Head]]:
    try:
        heads = [_head(line) for line in Path(name).read_text(encoding="utf-8").splitlines() if line.strip()]
    except (OSError, ValueError) as fault:
        raise argparse.ArgumentTypeError(f"{name} cannot be read: {fault}") from fault
    if not heads:
        raise argparse.ArgumentTypeError(f"{name} has no line of `audit heads`, so there is nothing to compare with")
    return heads


def _by_channel(kept: Iterable[tuple[str, Head]]) -> Heads:
    heads: dict[str, list[Head]] = {}
    for channel, head in kept:
        heads.setdefault(channel, []).append(head)
    return heads


def _tell_reports(reports: Sequence[ChannelReport]) -> int:
    faults = sum(len(report.faults) + report.more for report in reports)
    for report in reports:
        _tell("\n".join(_report_lines(report)))
    _tell(f"{counted(faults, 'fault')} found." if faults else "All chains are whole.")
    return FAULTY if faults else 0


def _report_lines(report: ChannelReport) -> Iterator[str]:
    seq, hash_ = report.head
    yield f"{report.channel}: {counted(report.records, 'record')}, head {seq}:{hash_[:SHORT]}"
    yield f"  {report.channel}={seq}:{hash_}"
    if report.first > 1:
        yield f"  begins with record {report.first}: the retention deleted those before (AUDIT_DAYS)"
    if report.blanked:
        yield f"  {counted(report.blanked, 'record')} without texts, which were deleted with their agents"
    if report.outside:
        entries = "1 entry" if report.outside == 1 else f"{report.outside:,} entries"
        yield f"  {entries} of older releases outside the chain, which nothing protects"
    if report.uncompared:
        yield f"  {counted(report.uncompared, 'kept head')} not compared: the retention deleted the record since"
    yield from (f"  FAULT: {visible(fault)}" for fault in report.faults)
    if report.more:
        yield f"  FAULT: {report.more:,} more"


def _tell_heads(heads: Heads) -> None:
    for channel, ((seq, hash_),) in heads.items():
        _tell(f"{channel}={seq}:{hash_}")


def _write_while_read(
    write: Callable[[Iterator[ExportedRecord]], None], exported: set[str], records: Iterator[ExportedRecord]
) -> None:
    def noted() -> Iterator[ExportedRecord]:
        for record in records:
            exported.add(record.channel)
            yield record

    try:
        write(noted())
        sys.stdout.flush()
    except BrokenPipeError:  # whoever reads it has enough, such as `head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _write_lines(records: Iterator[ExportedRecord]) -> None:
    for record in records:
        _tell(json.dumps(asdict(record)))


def _write_csv(records: Iterator[ExportedRecord]) -> None:
    writer = csv.writer(sys.stdout, quoting=csv.QUOTE_ALL)
    writer.writerow((*PLACE, *COLUMNS))
    for record in records:
        cells = csv_cells(record.entry)
        place = record.channel, record.seq or "", record.hash or "", json.loads(record.data).get("previous", "")
        writer.writerow((*(visible(str(each)) for each in place), *cells))


def _tell(text: str) -> None:
    sys.stdout.write(f"{text}\n".encode(errors="backslashreplace").decode())


def _tell_fault(text: str) -> int:
    sys.stderr.write(f"{text}\n")
    return FAULTY
