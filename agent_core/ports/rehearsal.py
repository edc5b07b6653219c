"""What the scripted demo model can do. Services ask it before they save what it could not carry out."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from agent_core.model.draft import AgentDraft


@dataclass(frozen=True, slots=True, kw_only=True)
class Tour:
    """A short guided agent: its form, and the sample files (content by path) that its commands work on."""

    draft: AgentDraft
    files: Mapping[str, str]


class Rehearsal(Protocol):
    """A model that is a script: it carries out few goals and has no other models."""

    def goals_problem(self, goals: Sequence[str]) -> str:
        """Which goal the script cannot carry out, and what to do about it. Return "" if it can carry out all."""

    def model_problem(self, name: str) -> str:
        """Why an agent cannot use the model of that name, and how to connect one. Return "" for its own, and for ""."""

    def tour(self) -> Tour:
        """The tour that the script can give."""
