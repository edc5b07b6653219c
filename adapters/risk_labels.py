"""How risk classes look: a word, a shape and a colour each. Those that act on others stand out, on every surface.

No surface tells classes apart by colour alone: the word is always there, and each shape has a colour of its own.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from agent_core.model.command import RiskClass

Level: TypeAlias = Literal["neutral", "execute", "publish", "spend"]


@dataclass(frozen=True, slots=True)
class RiskLabel:
    """A class as people see it: `sign` is for surfaces that have colours, `emoji` for those that have none."""

    word: str
    level: Level = "neutral"
    sign: str = ""
    emoji: str = ""

    @property
    def is_neutral(self) -> bool:
        """Whether it needs no mark."""
        return self.level == "neutral"

    @property
    def signed(self) -> str:
        """Sign and word."""
        return f"{self.sign} {self.word}".strip()

    @property
    def text(self) -> str:
        """Emoji and word."""
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
    """Each class of a command, those that stand out first."""
    return tuple(sorted((LABELS[risk] for risk in risks), key=lambda label: label.is_neutral))


def risk_text(labels: Sequence[RiskLabel]) -> str:
    """Every class with its mark, for a surface without colours."""
    return " + ".join(label.text for label in labels)


def alert_text(labels: Sequence[RiskLabel]) -> str:
    """Only the classes that stand out, for a headline and a notification; "" for none."""
    return " + ".join(label.text for label in labels if not label.is_neutral)
