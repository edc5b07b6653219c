"""Reads the ready-made agents that the form offers: one ai_settings.yaml each."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from adapters.settings_file import read_settings
from agent_core.model.draft import AgentDraft

FOLDER = Path(__file__).parent / "template_agents"
LABELS = {
    "1-write": "Write a file",
    "2-append": "Append to a file",
    "3-read": "Read a file",
    "4-list": "List files",
    "5-search": "Search in files",
    "6-change": "Change a file",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentTemplate:
    """A ready-made agent. `key` selects it, `label` says in a few words what it shows."""

    key: str
    label: str
    draft: AgentDraft


@cache
def list_templates() -> tuple[AgentTemplate, ...]:
    return tuple(
        AgentTemplate(key=key, label=label, draft=read_settings(FOLDER / f"{key}.yaml"))
        for key, label in LABELS.items()
    )


def find_template(key: str) -> AgentTemplate | None:
    return next((each for each in list_templates() if each.key == key), None)
