"""Drafts an agent from the text of a tool server's prompt: what people see, and change, before anything is created."""

import re

from adapters.visible_text import visible
from agent_core.model.draft import MAX_GOAL_CHARACTERS, MAX_GOALS, MAX_NAME_CHARACTERS, AgentDraft
from agent_core.ports.tool_sources import SourcePrompt

PARAGRAPHS = re.compile(r"\n\s*\n")


def draft_from_prompt(prompt: SourcePrompt, text: str) -> tuple[AgentDraft, str]:
    """A draft whose goals are the paragraphs of the text, each on one line, and a remark on what is cut off or "".

    Letters that nobody sees are spelled out. More paragraphs than there may be goals are joined to the last one.
    """
    paragraphs = [" ".join(visible(each).split()) for each in PARAGRAPHS.split(text.replace("\r\n", "\n"))]
    goals = [each for each in paragraphs if each]
    if len(goals) > MAX_GOALS:
        goals = [*goals[: MAX_GOALS - 1], " ".join(goals[MAX_GOALS - 1 :])]
    lost = sum(max(0, len(each) - MAX_GOAL_CHARACTERS) for each in goals)
    name = " ".join(visible(prompt.title or prompt.name).split())[:MAX_NAME_CHARACTERS]
    draft = AgentDraft(name=name, goals=tuple(each[:MAX_GOAL_CHARACTERS] for each in goals))
    return draft, f"{lost:,} characters were too many for goals, and are left out." if lost else ""
