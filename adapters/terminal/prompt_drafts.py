"""Drafts a new agent from a tool server's prompt at the terminal.

It asks for the arguments, shows the goals that come back, and lets the person change them and the name.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace

from adapters.screens.visible_text import one_line, visible
from adapters.terminal.input_prompts import ask_goals, ask_line
from adapters.terminal.streams import Streams
from adapters.typed.prompt_drafts import GOES_TO_SERVER, FilledPrompt, PromptChoice, find_choice
from agent_core.errors import InvalidInput
from agent_core.model.draft import AgentDraft
from agent_core.service.reading.channel_tools import checked_arguments
from agent_core.text.lines import one_line as cut_line

NOBODY_READS = (
    "--prompt needs a terminal in which a person reads the goals that come back. "
    "Give them as --goal, or start from the prompt on the page."
)
KEEP = "Press Enter to begin with these goals, or type c to write others: "
ARGUMENT_FIELD = "argument"
MAX_NAME = 60


async def draft_from_choice(
    choices: Sequence[PromptChoice],
    wanted: str,
    given: Mapping[str, str],
    streams: Streams,
    fill_in: Callable[[PromptChoice, Mapping[str, str]], Awaitable[FilledPrompt]],
    name: str = "",
) -> AgentDraft:
    """The draft that a person read and perhaps changed; raise PersonError if there is none, or nobody can read it.

    `fill_in`: asks the server for the text. `name`: the agent's, if it was given; else it is asked for.
    """
    choice = find_choice(choices, wanted)
    if not streams.can_ask:
        raise InvalidInput({"prompt": NOBODY_READS})
    arguments = await _ask_arguments(choice, given, streams)
    filled = await fill_in(choice, arguments)
    goals = (f"{number}. {goal}" for number, goal in enumerate(filled.draft.goals, 1))
    streams.say("\n".join((filled.said, *goals)))
    typed = await ask_line(streams, KEEP, "goals") if filled.draft.goals else "c"
    draft = filled.draft if not typed else replace(filled.draft, goals=await ask_goals(streams))
    name = name or await ask_line(streams, f"Name [{draft.name}]: ", "name")
    return replace(draft, name=name or draft.name)


async def _ask_arguments(choice: PromptChoice, given: Mapping[str, str], streams: Streams) -> dict[str, str]:
    """The arguments given, and those asked for, in the prompt's order; raise InvalidInput for unknown ones."""
    names = [each.name for each in choice.prompt.arguments]
    if unknown := [name for name in given if name not in names]:
        there = ", ".join(one_line(name) for name in names) or "none"
        said = f"The prompt has no argument {cut_line(visible(unknown[0]), MAX_NAME)}. It has: {there}."
        raise InvalidInput({ARGUMENT_FIELD: said})
    if missing := [each for each in choice.prompt.arguments if each.name not in given]:
        streams.say(f"{choice.title}, a prompt of {choice.source}. {GOES_TO_SERVER}")
        given = {**given, **{each.name: await _ask(each.name, streams, each.is_required) for each in missing}}
    return _checked(choice, given)


def _checked(choice: PromptChoice, given: Mapping[str, str]) -> dict[str, str]:
    try:
        return checked_arguments(choice.prompt, given)
    except InvalidInput as wrong:
        names = [one_line(each.name) for each in choice.prompt.arguments]
        told = " ".join(f"{names[int(number)]}: {said}" for number, said in wrong.problems.items())
        raise InvalidInput({ARGUMENT_FIELD: told}) from None


async def _ask(name: str, streams: Streams, is_required: bool) -> str:
    label = f"{one_line(name)}{'' if is_required else ' (may be empty)'}: "
    while not (typed := await ask_line(streams, label, ARGUMENT_FIELD)) and is_required:
        streams.write("This is needed.\n")
    return typed
