"""Sentences and measures that several surfaces show around their cards."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from agent_core.model.command import RISK_CLASSES, RiskClass
from agent_core.model.lease import covered_classes

FIRST_LINES, FIRST_CHARACTERS = 12, 1200
STOP_MEANS = "What it is doing is ended and it stands still until Resume."
DELETE_MEANS = "This removes its history, memory and files."
CUT_TO_FIT = "Not all of the command fits here. Look at the rest before you approve."
REVIEWS = "The model reviews its own proposal. That may take a minute; then it stands on the card."
MEDIA = {
    "png": "image/png",
    "jpg": "image/jpeg",
    "jpeg": "image/jpeg",
    "webp": "image/webp",
    "gif": "image/gif",
    "mp3": "audio/mpeg",
    "wav": "audio/wav",
    "ogg": "audio/ogg",
    "opus": "audio/ogg",
    "m4a": "audio/mp4",
}  # no SVG: it is a page
REPLY_DOES = "Reply: rejects this step · end with ? to ask"
TOO_LONG_TO_EDIT = "The arguments are too long for a form here: reject with what should be different."


@dataclass(frozen=True, slots=True)
class HelpText:
    """What can be typed in one place, each with what it does; surfaces draw it in their own way."""

    title: str
    commands: tuple[tuple[str, str], ...]
    closing: str

    @property
    def text(self) -> str:
        """One command a line, without any marks."""
        lines = [f"{command} – {meaning}" for command, meaning in self.commands]
        return "\n".join([f"{self.title}:", *lines, self.closing])


def covered_text(risks: Sequence[RiskClass]) -> str:
    """What an approval of more than one command covers, where this one is of these classes."""
    covered = covered_classes(risks)
    asked = [risk for risk in RISK_CLASSES if risk not in covered]
    still = f" Still asked: {', '.join(asked)}." if asked else ""
    return f"This command and the next ones run unasked. Covered: {', '.join(covered)}.{still}"


def first_lines(text: str) -> tuple[str, bool]:
    """The beginning of a result for the card, and whether that is not all."""
    part = "\n".join(text.splitlines()[:FIRST_LINES])[:FIRST_CHARACTERS]
    return part, len(part) < len(text.rstrip("\n"))


def more_text(count: int) -> str:
    """What stands where a text was cut."""
    return f"… {count:,} more {'character' if count == 1 else 'characters'}: Show all"


def age(since: datetime, now: datetime) -> str:
    """How long ago, in one unit."""
    seconds = max(0, int((now - since).total_seconds()))
    for unit, size in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= size:
            return f"{seconds // size} {unit}"
    return "just now"


def size_text(size: int) -> str:
    """Bytes for people."""
    return f"{size / 1024:,.0f} KB" if size >= 10_240 else f"{size:,} B"


def media_type(path: str) -> str:
    """The type of a file that is a picture or a sound, by its name's end; "" for any other."""
    return MEDIA.get(path.rpartition(".")[2].casefold(), "") if "." in path else ""


def first_word(said: str) -> tuple[str, str]:
    """The first word of what was typed, in small letters, and the rest."""
    word, *rest = said.split(maxsplit=1) or ("",)
    return word.casefold(), rest[0].strip() if rest else ""
