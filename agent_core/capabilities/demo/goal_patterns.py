"""Turns goals into commands by regular expressions, for the scripted demo model; no AI is involved.

Quoted text is replaced by placeholders before the match and restored afterwards.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial

SHAPES = (
    "write “text” to FILE",
    "append “text” to FILE",
    "read FILE",
    "list files",
    "search the files for “text”",
    "delete FILE",
)
OUTLINE = (
    "# {heading}\n\n(An outline by demo mode, which is a script and writes no prose. "
    "A connected model would write the content here.)\n"
)
MAX_EXCERPT_CHARACTERS, MAX_QUERY_CHARACTERS = 40, 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """A command with arguments, and a short description.

    `remark`: what the thoughts say besides the title.
    `answers_reply`: whether the remark answers the reply that rejected the step before.
    """

    command: str
    arguments: Mapping[str, object]
    title: str
    remark: str = ""
    answers_reply: bool = False


def parse_actions(goal: str) -> tuple[Action, ...]:
    """The commands for a goal, in order; empty unless every part of the goal matches a pattern."""
    quotes = _Quotes()
    text = _with_single_blanks(quotes.put_aside(goal))
    return _parse_clauses(CLAUSE_BREAK.split(text), quotes) or _parse_clauses([text], quotes)


@dataclass(frozen=True, slots=True)
class _Quotes:
    """Quoted texts that placeholders stand for; a placeholder holds the index in `kept`."""

    kept: list[str] = field(default_factory=list)

    def put_aside(self, text: str) -> str:
        plain = text.translate({0xE000: None, 0xE001: None})
        return QUOTED.sub(self._keep, plain)

    def put_back(self, text: str) -> str:
        """The text with its quotations restored."""
        return PLACEHOLDER.sub(lambda found: self.kept[int(found[1])], text)

    def inside(self, text: str) -> str | None:
        """The content if the text is exactly one quotation, else None."""
        found = PLACEHOLDER.fullmatch(text)
        return self.kept[int(found[1])][1:-1] if found else None

    def _keep(self, found: re.Match[str]) -> str:
        self.kept.append(found[0])
        return f"\ue000{len(self.kept) - 1}\ue001"


def _with_single_blanks(text: str) -> str:
    """The text with single blanks and no empty lines: no pattern can divide a run of blanks in many ways."""
    return "\n".join(line for each in text.splitlines() if (line := " ".join(each.split())))


def _words(*words: str) -> str:
    return f"(?:{'|'.join(words)})"


QUOTED = re.compile(r"“[^”]*”|\"[^\"]*\"|«[^»]*»|`[^`]*`|‘[^’]*’|(?<!\w)'[^\n]*?'(?!\w)", re.DOTALL)
PLACEHOLDER = re.compile("\ue000(\\d+)\ue001")
WRITE = _words("write", "save", "put", "store", "record", "note", "draft", "compose", "prepare", "create", "make")
MAKE = _words("create", "make", "write", "add", "start", "save", "generate")
APPEND = _words("append", "add", "attach")
READ = _words("read", "show", "open", "display", "print", "view", "cat", "check")
LIST = _words("list", "show", "display", "print")
DELETE = _words("delete", "remove", "erase")
SEARCH = _words("search", "look", "find", "grep")
VERB = _words(WRITE, MAKE, APPEND, READ, LIST, DELETE, SEARCH)
AND = _words("and", "then", "also", "finally", "afterwards")
CLAUSE_BREAK = re.compile(rf"(?:\s*[,;\n]\s*|\.\s+|\s+(?={AND}\s))(?:{AND},?\s+)*(?={VERB}\b)", re.IGNORECASE)
LEAD_IN = re.compile(rf"^\s*(?:(?:please|now|first|next|{AND}),?\s+)*", re.IGNORECASE)
OUR = r"(?:(?:the|your|our|my|its)\s+)?"
FILE = r"(?P<lead>(?:(?:a|an|the|your|our|my|new|text|file|document|called|named)\s+)*)(?P<file>\S+)"
NO_NAME = r"(?!(?:with|containing|that|which|to|in|about|for|of|and|from|saying)\b)"
HOLDING = _words("with", "containing", "saying", "holding", r"(?:that|which)\s+(?:says|contains|holds|reads)")
KIND = r"(?:the\s+)?(?:following\s+)?(?:text|contents?|words?|lines?|sentence|message|phrase)"
END = r"\s*[.!]*\s*"


def _shape(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern + END, re.IGNORECASE | re.DOTALL)


FILE_LIST = _shape(
    rf"{LIST}(?:\s+(?:me|us))?(?:\s+all)?(?:\s+of)?\s+{OUR}"
    rf"(?:(?:files?|documents|(?:contents\s+of\s+{OUR})?(?:folder|directory|workspace))\b)"
    r"(?:\s+(?:in|of|under|inside|from))?(?:\s+(?P<folder>.+?))?"
)
FILE_SEARCH = _shape(
    rf"{SEARCH}(?:\s+(?:in|through))?\s+(?:all\s+(?:of\s+)?)?{OUR}(?:files?|documents|folder|workspace)\s+for\s+"
    rf"(?:{KIND}:?\s+)?(?P<query>.+)"
)
FOLDER_WORDS = re.compile(r"^(?:(?:the|your|our|my|folder|directory|workspace)(?:\s+|$))+", re.IGNORECASE)
NEW_FILE = _shape(
    rf"(?P<verb>{MAKE})\s+(?:an?\s+|the\s+)?(?:(?:new|empty|text|short|small|markdown)\s+)*"
    rf"(?:(?P<lead>file|document)\s+(?:(?:called|named)\s+)?)?{NO_NAME}(?P<file>\S+?)"
    rf"(?:\s*[,:]?\s+{HOLDING}\s+(?:{KIND}:?\s+)?(?P<text>.+))?"
)
WRITTEN_TO = _shape(
    rf"{WRITE}(?:\s+down)?\s+(?P<text>.+?)(?:,?\s+and\s+(?:save|store|put|write)\s+(?:it|them|this))?"
    rf"\s+(?:to|into|in|inside|as|on)\s+{FILE}"
)
TO_WRITTEN = _shape(rf"{WRITE}\s+(?:in|into|to)\s+{FILE}[,:]?\s+(?P<text>\ue000\d+\ue001)")
APPENDED = _shape(
    rf"{APPEND}\s+(?P<line>(?:(?:a|the|another)\s+)?(?:new\s+)?lines?:?\s+)?(?P<text>.+)"
    rf"\s+(?:to|onto|in|into|at)\s+(?:{OUR}end\s+of\s+)?{FILE}"
)
READING = _shape(
    rf"{READ}(?:\s+(?:me|us|back|out|through)){{0,3}}(?:\s+what(?:\s+is|'s|’s)\s+in)?\s+{OUR}"
    rf"(?:(?:whole|full)\s+)?(?:(?:contents?|text)\s+(?:of|in|from)\s+)?{OUR}(?P<lead>files?\s+|documents?\s+)?"
    r"(?P<files>.+?)(?:\s+(?:back|aloud|out|again|to\s+me|to\s+us|for\s+us)){0,3}"
)
DELETION = _shape(rf"{DELETE}\s+{OUR}(?P<lead>files?\s+|documents?\s+)?(?P<files>.+?)")
SEVERAL = re.compile(r"\s*(?:,\s*(?:and\s+)?|\s+and\s+|\s*&\s*)\s*", re.IGNORECASE)
SAYING = re.compile(rf"{KIND}:?\s+(?P<text>.+)", re.IGNORECASE | re.DOTALL)
TOPIC = re.compile(r"(?:about|on|of|for|that|which|describing|with)\b", re.IGNORECASE)
PROSE = re.compile(
    r"(?:(?:an?|the|some|your|our|my|one|two|three|four|five|ten|\d+)\s+\S)|.*\b(?:report|haiku|poem|summary|story|essay|"
    r"letter|article|outline|plan|overview|description|analysis|review|list|notes|documentation|e-?mail|recipe|song|"
    r"limerick|guide|tutorial|agenda|minutes|proposal|script|code|program)\b",
    re.IGNORECASE | re.DOTALL,
)
COPYING = re.compile(r"\b(?:copy|copies|backup|translation)\b", re.IGNORECASE)


def _parse_clauses(clauses: list[str], quotes: _Quotes) -> tuple[Action, ...]:
    """The actions of all clauses; empty if a clause is not understood."""
    actions: list[Action] = []
    for clause in clauses:
        if not clause.strip(" .!\n"):
            continue
        last_file = str(actions[-1].arguments.get("filename", "")) if actions else ""
        found = _clause(LEAD_IN.sub("", clause).strip(), last_file, quotes)
        if not found:
            return ()
        actions += found
    return tuple(actions)


def _clause(clause: str, last_file: str, quotes: _Quotes) -> tuple[Action, ...]:
    for shape, act in (
        (FILE_LIST, _listing),
        (FILE_SEARCH, _searching),
        (NEW_FILE, _new_file),
        (APPENDED, _appending),
        (WRITTEN_TO, _writing),
        (TO_WRITTEN, _writing),
        (READING, partial(_each, "read_file", "Read")),
        (DELETION, partial(_each, "delete_file", "Delete")),
    ):
        found = shape.fullmatch(clause)
        if found and (actions := act(found, last_file, quotes)):
            return actions
    return ()


def _listing(found: re.Match[str], _before: str, quotes: _Quotes) -> tuple[Action, ...]:
    given = FOLDER_WORDS.sub("", found["folder"] or "").strip()
    quoted = quotes.inside(given)
    folder = given if quoted is None else quoted
    if quoted is None and (" " in folder or "." in folder.strip("./")):
        return ()
    title = f"List the files in {folder}" if folder else "List the files"
    return (Action(command="list_files", arguments={"directory": folder} if folder else {}, title=title),)


def _searching(found: re.Match[str], _before: str, quotes: _Quotes) -> tuple[Action, ...]:
    quoted = quotes.inside(found["query"])
    query = found["query"] if quoted is None else quoted.strip()
    if not query or len(query) > MAX_QUERY_CHARACTERS or (quoted is None and re.search(r"\s|\ue000", query)):
        return ()
    title = f"Search the files for {_excerpt(query)}"
    return (Action(command="search_files", arguments={"query": query}, title=title),)


def _new_file(found: re.Match[str], last_file: str, quotes: _Quotes) -> tuple[Action, ...]:
    file = _file(found["file"], bool(found["lead"]), last_file, quotes)
    makes_empty = found["verb"].lower() in ("create", "make", "add", "start")
    if not file or not (found["text"] or makes_empty):
        return ()
    return (_write(file, found["text"], quotes),)


def _writing(found: re.Match[str], last_file: str, quotes: _Quotes) -> tuple[Action, ...]:
    file = _file(found["file"], _is_named(found["lead"]), last_file, quotes)
    return (_write(file, found["text"], quotes),) if file and not COPYING.search(found["text"]) else ()


def _write(file: str, given: str | None, quotes: _Quotes) -> Action:
    text, is_outline = _text(given or "", quotes)
    title = (
        f"Write an outline of {_excerpt(given or '')} to {file}" if is_outline else f"Write {_excerpt(text)} to {file}"
    )
    return Action(command="write_to_file", arguments={"filename": file, "text": text}, title=quotes.put_back(title))


def _appending(found: re.Match[str], last_file: str, quotes: _Quotes) -> tuple[Action, ...]:
    file = _file(found["file"], _is_named(found["lead"]), last_file, quotes)
    if not file:
        return ()
    text, _ = _text(found["text"], quotes)
    arguments = {"filename": file, "text": f"\n{text}" if found["line"] else text}
    return (Action(command="append_to_file", arguments=arguments, title=f"Append {_excerpt(text)} to {file}"),)


def _each(command: str, verb: str, found: re.Match[str], last_file: str, quotes: _Quotes) -> tuple[Action, ...]:
    files = [_file(given, bool(found["lead"]), last_file, quotes) for given in SEVERAL.split(found["files"])]
    if not all(files):
        return ()
    return tuple(Action(command=command, arguments={"filename": file}, title=f"{verb} {file}") for file in files)


def _is_named(lead: str) -> bool:
    return bool(set(lead.lower().split()) & {"file", "document", "called", "named"})


def _file(given: str, is_named: bool, last_file: str, quotes: _Quotes) -> str:
    """The file name, or "" if it is none: it must be quoted, called a file, contain a dot or slash, or be "it"."""
    quoted = quotes.inside(given)
    if quoted is not None:
        return quoted.strip()
    word = given.rstrip(".,;:!?")
    if word.lower() in ("it", "them"):
        return last_file
    return "" if re.search(r"\s|\ue000", word) or not (is_named or re.search(r"[./]", word)) else word


def _text(given: str, quotes: _Quotes) -> tuple[str, bool]:
    """The text to write, and whether it is only an outline because the words ask for prose."""
    said = SAYING.fullmatch(given)
    words = said["text"] if said and not TOPIC.match(said["text"]) else given
    quoted = quotes.inside(words)
    if quoted is not None:
        return quoted.replace("\\n", "\n"), False
    if words is given and PROSE.match(given):
        return OUTLINE.format(heading=_heading(quotes.put_back(given))), True
    return quotes.put_back(words), False


def _heading(words: str) -> str:
    bare = re.sub(r"^(?:an?|the|some)\s+", "", " ".join(words.split()), flags=re.IGNORECASE)
    return bare[:1].upper() + bare[1:]


def _excerpt(text: str) -> str:
    line = " ".join(text.split())
    if not line:
        return "nothing"
    return f"“{line}”" if len(line) <= MAX_EXCERPT_CHARACTERS else f"“{line[:MAX_EXCERPT_CHARACTERS]}…”"
