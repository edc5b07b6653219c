"""How risk classes are shown: with a word, a shape and a colour. Execute, publish and spend stand out everywhere.

No surface uses colour alone: the word is always shown, and each shape has its own colour.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from agent_core.model.command import RiskClass

Level: TypeAlias = Literal["neutral", "execute", "publish", "spend"]


@dataclass(frozen=True, slots=True)
class RiskLabel:
    """A risk class as people see it: `sign` for surfaces with colours, `emoji` for those without."""

    word: str
    level: Level = "neutral"
    sign: str = ""
    emoji: str = ""

    @property
    def is_neutral(self) -> bool:
        return self.level == "neutral"

    @property
    def signed(self) -> str:
        return f"{self.sign} {self.word}".strip()

    @property
    def text(self) -> str:
        return f"{self.emoji} {self.word}".strip()


LABELS: dict[RiskClass, RiskLabel] = {
    "read": RiskLabel("read"),
    "write": RiskLabel("write"),
    "network": RiskLabel("network"),
    "execute": RiskLabel("execute", "execute", "▲", "🔺"),
    "publish": RiskLabel("publish", "publish", "◆", "🔷"),
    "spend": RiskLabel("spend", "spend", "■", "🟪"),
}


def labels_of(risks: Sequence[RiskClass]) -> tuple[RiskLabel, ...]:
    """The labels of a command's classes; execute, publish and spend first."""
    return tuple(sorted((LABELS[risk] for risk in risks), key=lambda label: label.is_neutral))


def risk_text(labels: Sequence[RiskLabel]) -> str:
    """All classes with their emoji, for a surface without colours."""
    return " + ".join(label.text for label in labels)


def alert_text(labels: Sequence[RiskLabel]) -> str:
    """The classes execute, publish and spend, for headlines and notifications; "" for none."""
    return " + ".join(label.text for label in labels if not label.is_neutral)
