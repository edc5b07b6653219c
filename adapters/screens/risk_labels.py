"""Labels of the risk classes: a word for each; delete, execute, publish and spend also have a shape and a colour.

No surface uses colour alone: the word is always shown, and each shape has its own colour.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from agent_core.model.command import RiskClass
from agent_core.model.turn import Turn

Level: TypeAlias = Literal["neutral", "delete", "execute", "publish", "spend"]


@dataclass(frozen=True, slots=True)
class RiskLabel:
    """A risk class as people see it.

    `sign`: a shape for surfaces that colour text; `emoji`: a symbol for surfaces that do not.
    """

    word: str
    level: Level = "neutral"
    sign: str = ""
    emoji: str = ""

    @property
    def is_neutral(self) -> bool:
        return self.level == "neutral"

    @property
    def text(self) -> str:
        return f"{self.emoji} {self.word}".strip()


LABELS: dict[RiskClass, RiskLabel] = {
    "read": RiskLabel("read"),
    "write": RiskLabel("write"),
    "delete": RiskLabel("delete", "delete", "✕", "🟥"),
    "network": RiskLabel("network"),
    "execute": RiskLabel("execute", "execute", "▲", "🔺"),
    "publish": RiskLabel("publish", "publish", "◆", "🔷"),
    "spend": RiskLabel("spend", "spend", "■", "🟪"),
}


# What people let run who let a class run without asking.
MEANINGS: dict[RiskClass, str] = {
    "read": "look at its files, memory and helpers",
    "write": "change its own files",
    "delete": "delete its files, memories and helpers",
    "network": "fetch pages and files from the internet",
    "execute": "run programs in the sandbox",
    "publish": "send something out of the team",
    "spend": "make calls that cost extra, such as pictures and helpers",
}


# What a command brings about, the furthest first: one of Signoff, and one of others, of which Signoff knows neither
# what it sends nor where its programs run.
CONSEQUENCES: dict[RiskClass, tuple[str, str]] = {
    "publish": ("Leaves the team. Signoff cannot take it back.", "May leave the team. Signoff cannot take it back."),
    "spend": ("May cost extra.", "May cost extra."),
    "execute": ("Runs a program in the sandbox, on its own files.", ""),
    "network": ("Fetches from the internet.", ""),
    "write": ("Stays inside the team.", ""),
}


def consequence_of(turn: Turn) -> str:
    """What the command brings about, "" where that is not known."""
    is_own_deletion, shown = turn.call.name == "delete_file" and not turn.source, turn.shown_preview
    if is_own_deletion and shown and shown.title.rpartition(" · ")[2].startswith("kept in the trash"):
        return "The file stays in the trash for up to 30 days."
    rest = "Ends its work. Resume continues it." if turn.finishes else ""
    return next((told[bool(turn.source)] for risk, told in CONSEQUENCES.items() if risk in turn.risks), rest)


def labels_of(risks: Sequence[RiskClass]) -> tuple[RiskLabel, ...]:
    """The labels of a command's classes; delete, execute, publish and spend first."""
    return tuple(sorted((LABELS[risk] for risk in risks), key=lambda label: label.is_neutral))


def risk_text(labels: Sequence[RiskLabel]) -> str:
    """All classes as words with their emoji, for a surface that does not colour text."""
    return " + ".join(label.text for label in labels)


def alert_text(labels: Sequence[RiskLabel]) -> str:
    """Only the classes delete, execute, publish and spend, for headlines and notifications; "" if there are none."""
    return " + ".join(label.text for label in labels if not label.is_neutral)
