"""Files whose content past turns or goals make known, for the prompt; gives appended text its missing line end.

Small models do not see from "1. write_to_file: done" that a goal is reached, and write the same file again.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from posixpath import normpath

from agent_core.model.command import CommandCall, Succeeded
from agent_core.model.turn import Turn
from agent_core.oversight.untrusted_content import is_from_outside
from agent_core.prompt.history import truncate
from agent_core.prompt.packing import Situation
from agent_core.text.lines import counted

# A file that a goal wants written stands after such a word: "write a.txt", "copy it into b.txt".
NAMED_FILE = re.compile(
    r"\b(?:into|to|as|write|create|append|save|make|named|called|file)\s+(?:(?:an?|the|file)\s+)*[\"'`“]?"
    r"((?:[\w-]+/)*[\w-]+\.(?!(?:com|org|net)\b)[A-Za-z][A-Za-z0-9]{0,4})(?![\w/])",
    re.IGNORECASE,
)
MAX_SCANNED_CHARACTERS = 20_000
MAX_NAMED = 20
MAX_SHOWN_FILES = 6
CUT_RESULT = re.compile(r"\n\([\d,]+ more characters; read on")


def known_files(turns: Sequence[Turn]) -> Mapping[str, str]:
    """The content of each file that these turns wrote or read as a whole; the most recently used file is last.

    Untrusted content is left out: the prompt quotes it with the past steps. A program may change any file, so
    nothing is known after one has run.
    """
    files: dict[str, str] = {}
    for turn in turns:
        if turn.result is None:
            continue
        if "execute" in turn.risks:
            files.clear()
        elif isinstance(turn.result, Succeeded):
            _apply(turn, turn.result.output, files)
    return files


def named_files(texts: Iterable[str]) -> tuple[str, ...]:
    """The files that goals want written, in order."""
    joined = "\n".join(texts)[:MAX_SCANNED_CHARACTERS]
    return tuple(dict.fromkeys(NAMED_FILE.findall(joined)))[:MAX_NAMED]


def split_named_files(situation: Situation) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The files that the goals name, in two groups: those not known to exist (missing), and those known to exist."""
    files = known_files(situation.turns)
    named = named_files(situation.agent.goals)
    return tuple(name for name in named if name not in files), tuple(name for name in named if name in files)


def files_text(situation: Situation, most: int) -> str:
    """The known files with their contents as JSON strings, which show line ends, cut to `most` characters together."""
    files = known_files(situation.turns)
    if not (files and most):
        return ""
    shown = list(files.items())[-MAX_SHOWN_FILES:]
    lines = [
        f"- {name} ({counted(len(text.splitlines()), 'line')}, {counted(len(text.split()), 'word')}): "
        f"{json.dumps(truncate(text, most // len(shown), 0), ensure_ascii=False)}"
        for name, text in shown
    ]
    return "\n".join(("Your files hold now:", *lines))


def add_missing_line_end(situation: Situation, call: CommandCall) -> CommandCall:
    """The call; text to append gets a line end in front if the file's last line has none."""
    text, before = (
        call.arguments.get("text"),
        known_files(situation.turns).get(normpath(str(call.arguments.get("filename"))), ""),
    )
    if call.name != "append_to_file" or not isinstance(text, str) or not before or before.endswith("\n"):
        return call
    return call if text.startswith("\n") else replace(call, arguments={**call.arguments, "text": f"\n{text}"})


def _apply(turn: Turn, output: str, files: dict[str, str]) -> None:
    name, text = turn.call.arguments.get("filename"), turn.call.arguments.get("text")
    if not isinstance(name, str):
        return
    name = normpath(name)
    before = files.pop(name, None)
    match turn.call.name:
        case "write_to_file" if isinstance(text, str):
            files[name] = text
        case "append_to_file" if isinstance(text, str):
            is_new = turn.proposal.preview is not None and not turn.proposal.preview.basis
            if before is not None or is_new:
                files[name] = f"{before or ''}{text}"
        case "read_file" if not (
            is_from_outside(turn.result) or turn.call.arguments.get("start") or CUT_RESULT.search(output)
        ):
            files[name] = output
        case _ if before is not None and not turn.changes_files:
            files[name] = before
