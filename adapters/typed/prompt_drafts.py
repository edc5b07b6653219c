"""Drafts an agent from a tool server's prompt: lists and finds prompts, checks arguments, makes goals of the text."""

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from adapters.screens.visible_text import one_line, visible
from agent_core.errors import InvalidInput
from agent_core.model.draft import MAX_GOAL_CHARACTERS, MAX_GOALS, MAX_NAME_CHARACTERS, AgentDraft
from agent_core.model.origin import ChannelScope
from agent_core.ports.tool_servers import SourcePrompt, ToolSource
from agent_core.service.reading.channel_tools import checked_arguments
from agent_core.service.reading.views import AgentViews
from agent_core.text.lines import one_line as cut_line

PARAGRAPHS = re.compile(r"\n\s*\n")
TYPEABLE = re.compile(r"[!#-~]+")  # no blank and no "
ARGUMENT = "argument."  # with the argument's number, the name of its field in a form
MAX_KEY, MAX_NAMED, MAX_SHOWN_NAME, MAX_LISTED, HASH_DIGITS = 80, 3, 60, 20, 16
NO_PROMPTS = "No tool server offers prompts in this channel now."
GOES_TO_SERVER = "What you write here goes to the server. Its text becomes the goals of a form that you can change."


@dataclass(frozen=True, slots=True)
class PromptChoice:
    """A prompt that can be chosen, with the name of its server."""

    source: str
    prompt: SourcePrompt

    @property
    def title(self) -> str:
        """What people read of it."""
        return one_line(self.prompt.title or self.prompt.name)

    @property
    def full_name(self) -> str:
        return f"{self.source}.{self.prompt.name}"

    @property
    def key(self) -> str:
        """The full name, if a person can type it; else the server and a hash of the name, at most MAX_KEY long."""
        if len(self.full_name) <= MAX_KEY and TYPEABLE.fullmatch(self.full_name):
            return self.full_name
        return f"{self.source}.{hashlib.sha256(self.prompt.name.encode()).hexdigest()[:HASH_DIGITS]}"

    @property
    def fault(self) -> str:
        """Why nobody can start from it, as a sentence, or ""."""
        name = cut_line(visible(self.prompt.name), MAX_SHOWN_NAME)
        return f"The prompt {name} of {self.source} {self.prompt.fault}." if self.prompt.fault else ""


@dataclass(frozen=True, slots=True)
class FilledPrompt:
    """What a prompt became. `said`: what people read above the form; the author's words are only in the draft."""

    draft: AgentDraft
    said: str


def choices_of(sources: Iterable[ToolSource]) -> tuple[PromptChoice, ...]:
    """All prompts of these sources, also those with a fault."""
    return tuple(PromptChoice(each.name, prompt) for each in sources for prompt in each.prompts)


async def list_choices(views: AgentViews, channel: ChannelScope) -> tuple[PromptChoice, ...]:
    """The prompts that are offered in a channel now."""
    return choices_of(await views.tools.list_prompts(channel))


def usable_by_source(choices: Iterable[PromptChoice]) -> dict[str, list[PromptChoice]]:
    """The prompts without a fault, by the names of their servers, in their order."""
    found: dict[str, list[PromptChoice]] = {}
    for each in choices:
        if not each.fault:
            found.setdefault(each.source, []).append(each)
    return found


def left_out_text(choices: Sequence[PromptChoice]) -> str:
    """Which prompts cannot be used and why, a few of them, or ""."""
    faults = [each.fault for each in choices if each.fault]
    more = [f"And {len(faults) - MAX_NAMED:,} more."] if len(faults) > MAX_NAMED else []
    return " ".join(["Left out:", *faults[:MAX_NAMED], *more]) if faults else ""


def find_choice(choices: Sequence[PromptChoice], typed: str) -> PromptChoice:
    """The prompt of this name or key; its server may be left out if no other has the name. Raise InvalidInput."""
    if not choices:
        raise InvalidInput({"prompt": NO_PROMPTS})
    found = _matching(choices, typed)
    if len(found) == 1 and not found[0].fault:
        return found[0]
    if len(found) == 1:
        raise InvalidInput({"prompt": found[0].fault})
    name = cut_line(visible(typed), MAX_SHOWN_NAME)
    if found:
        keys = " or ".join(each.key for each in found[:MAX_NAMED])
        raise InvalidInput({"prompt": f"Several servers have a prompt {name}: write {keys}."})
    raise InvalidInput({"prompt": f"There is no prompt {name}. {_listed(choices)}" if typed else _listed(choices)})


def arguments_typed(choice: PromptChoice, fields: Mapping[str, str]) -> dict[str, str]:
    """The arguments in the fields of a form by their names; raise InvalidInput by field."""
    given = {each.name: fields.get(f"{ARGUMENT}{at}", "") for at, each in enumerate(choice.prompt.arguments)}
    try:
        return checked_arguments(choice.prompt, given)
    except InvalidInput as wrong:
        raise InvalidInput({f"{ARGUMENT}{number}": said for number, said in wrong.problems.items()}) from None


async def fill_in(
    views: AgentViews, channel: ChannelScope, choice: PromptChoice, arguments: Mapping[str, str]
) -> FilledPrompt:
    """Ask the server for the text and draft an agent from it, under a free name. Nothing is created.

    Raise InvalidInput, and NotFound or NotPossible if the server does not give the text.
    """
    text = await views.tools.read_prompt(channel, choice.source, choice.prompt.name, arguments)
    draft, remark = draft_from_prompt(choice.prompt, text)
    draft = replace(draft, name=await views.find_free_name(channel, draft.name))
    said = (
        f"Filled in from the prompt “{choice.title}” of {choice.source}. Its author wrote these goals: read them, and"
    )
    return FilledPrompt(
        draft, " ".join(filter(None, (f"{said} change what you like. Nothing is created yet.", remark)))
    )


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


def _matching(choices: Sequence[PromptChoice], typed: str) -> list[PromptChoice]:
    found = [each for each in choices if typed == each.full_name]
    found = found or [each for each in choices if typed == each.key]
    return found or [each for each in choices if typed == each.prompt.name]


def _listed(choices: Sequence[PromptChoice]) -> str:
    """Which prompts there are, and which of them cannot be used."""
    usable = [each.key for each in choices if not each.fault]
    more = f" and {len(usable) - MAX_LISTED:,} more" if len(usable) > MAX_LISTED else ""
    there = f"There are: {', '.join(usable[:MAX_LISTED])}{more}." if usable else ""
    return " ".join(filter(None, (there, left_out_text(choices))))
