"""HTML forms → what all surfaces understand. What fields mean is adapters.forms'."""

from dataclasses import replace

from adapters.buttons import Button
from adapters.forms import Form, edited_arguments, fields_of, times_of
from adapters.settings_file import FILENAME, parse_settings
from agent_core.errors import InvalidInput
from agent_core.model.command import Arguments, CommandSpec
from agent_core.model.turn import Turn

ARGUMENT = "argument."
WRITTEN = ("text", "goals", "words", "settings")


def pressed(form: Form) -> Button:
    """The button, with the number written beside it for `Another number…`."""
    button = Button.parse(form.get("button", ""))
    if button.verb != "approve" or button.times:
        return button
    return replace(button, times=times_of(form.get("times", "")))


def changed_arguments(form: Form, turn: Turn, spec: CommandSpec) -> Arguments:
    """The arguments as the sheet behind Edit sends them."""
    return edited_arguments(_arguments(form), {}, turn, spec)


def filled_in(text: str, name: str = FILENAME) -> tuple[Form, dict[str, str]]:
    """The fields of a new agent as an ai_settings.yaml says, and what is wrong with them.

    Raise InvalidInput where the text is not such a file.
    """
    if not text.strip():
        raise InvalidInput({"settings": f"{name}: choose the file, or paste what it says."})
    read = parse_settings(text, name)
    goals = tuple(" ".join(goal.split()) for goal in read.goals)
    draft = replace(read, goals=goals, budget=read.budget or None)
    try:
        draft.tidied()
    except InvalidInput as wrong:
        return fields_of(draft), wrong.problems
    return fields_of(draft), {}


def kept_of(form: Form) -> str:
    """What a person wrote into a form that was refused, to give it back."""
    if written := _arguments(form):
        return "\n\n".join(f"{name}:\n{text}" for name, text in written.items())
    return next((form[name] for name in WRITTEN if form.get(name)), "")


def _arguments(form: Form) -> Form:
    return {name.removeprefix(ARGUMENT): text for name, text in form.items() if name.startswith(ARGUMENT)}
