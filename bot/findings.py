"""Findings of `signoff doctor` on templates for new agents and on workers."""

from pathlib import Path

from adapters.typed.agent_templates import load_templates
from agent_core.capabilities.capability import Finding
from agent_core.text.lines import counted


def templates_finding(folder: Path | None) -> Finding:
    """The finding on the templates for new agents; it names the files of the operator's folder that are left out."""
    found = load_templates(folder)
    why = f"{counted(len(found.every), 'template')} for new agents"
    if found.faults:
        left_out = f"{why}. Left out: {'; '.join(found.faults)}"
        return Finding(name="templates", state="warn", why=left_out, variable="TEMPLATES_DIR")
    return Finding(name="templates", state="on", why=why, variable="TEMPLATES_DIR")


def workers_finding(number: int) -> Finding:
    """The finding on the number of workers that take agents."""
    if not number:
        return Finding(name="workers", state="warn", why="0: agents wait until `run` or `worker` runs")
    return Finding(name="workers", state="on", why=f"{number} that take agents")
