"""The findings of `signoff doctor` on the models of an endpoint: which one answers, and whether the endpoint has it."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Literal

from adapters.screens.visible_text import one_line
from agent_core.capabilities.capability import Finding
from agent_core.capabilities.models.settings import OPENAI_URL, Endpoint
from agent_core.ports.models import EndpointCheck
from agent_core.prompt.small_model_commands import MAX_OFFERED_COMMANDS

MAX_SHOWN_MODELS = 3
MAX_COMPARED_MODELS = 10_000  # takes a fifth of a second
# Ollama's tag, the date of a version that Anthropic and OpenAI leave out of a name, and Gemini's folder
ALIAS = r"(?:models/)?{}(?::latest|-20\d{{6}}|-20\d\d-\d\d-\d\d)?"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenModel:
    """A model that a setting chooses: the finding's `name`, the model or "" for the default, and the setting."""

    name: str
    model: str
    variable: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptWindow:
    """The context window of the default model in tokens, whether it is known or assumed, and the prompt for it."""

    tokens: int
    is_known: bool
    profile: Literal["full", "compact"]


def prompt_finding(window: PromptWindow) -> Finding:
    assumed = "" if window.is_known else ", which is assumed: the endpoint reports none"
    listed = (
        f", which lists about {MAX_OFFERED_COMMANDS} commands that fit the goals" if window.profile == "compact" else ""
    )
    why = f"{window.profile}{listed}, for a window of {window.tokens:,} tokens{assumed}"
    return Finding(name="prompt", state="on", why=why, variable="CONTEXT_WINDOW, PROMPT_PROFILE")


def model_finding(chosen: ChosenModel, endpoint: Endpoint, check: EndpointCheck) -> Finding:
    """The state of a model by the check of its endpoint. OpenAI's own list is complete; a gateway may serve more."""
    model = chosen.model or check.default
    default = "" if chosen.model or not model else " (default)"
    why = " · ".join(filter(None, (f"{one_line(model)}{default}", endpoint.host)))
    if check.fault:
        variables = f"{endpoint.key_variable}, {endpoint.url_variable}"
        return Finding(name=chosen.name, state="fault", why=f"{why} {check.fault}", variable=variables)
    if model and check.models and not _is_listed(model, check.models):
        is_complete = endpoint.url == OPENAI_URL
        why = f"{why} is not in the endpoint's list of models; {_suggestion(model, check.models)}"
        return Finding(name=chosen.name, state="fault" if is_complete else "warn", why=why, variable=chosen.variable)
    return Finding(name=chosen.name, state="on", why=why, variable=f"{endpoint.url_variable}, {chosen.variable}")


def _is_listed(model: str, models: Sequence[str]) -> bool:
    alias = re.compile(ALIAS.format(re.escape(model)))
    return any(map(alias.fullmatch, models))


def _suggestion(model: str, models: Sequence[str]) -> str:
    closest = get_close_matches(model, models[:MAX_COMPARED_MODELS], MAX_SHOWN_MODELS)
    shown = ", ".join(map(one_line, closest or models[:MAX_SHOWN_MODELS]))
    return f"closest: {shown}" if closest else f"it has, for example: {shown}"
