"""Reads the page's HTML forms: the pressed button, changed arguments, a settings file, what was typed."""

from dataclasses import replace

from adapters.screens.buttons import Button
from adapters.typed.form_values import FormValues, edited_arguments, fields_of, times_of
from adapters.typed.settings_file import parse_settings
from agent_core.errors import InvalidInput
from agent_core.model.command import Arguments, CommandSpec
from agent_core.model.turn import Turn

ARGUMENT_PREFIX, ANSWER_PREFIX = "argument.", "answer."
TEXT_FIELDS = ("text", "goals", "words", "settings", "sentence")
WRITTEN_FIELDS = ("name", "role", *TEXT_FIELDS, "budget", "model")


def pressed_button(form: FormValues) -> Button:
    """The pressed button; for `Another number…` with the number that was typed.

    Raise InvalidInput if Signoff did not make the button, or for an invalid number.
    """
    button = Button.parse(form.get("button", ""))
    if button.verb != "approve" or button.times:
        return button
    return replace(button, times=times_of(form.get("times", "")))


def changed_arguments(form: FormValues, turn: Turn, spec: CommandSpec) -> Arguments:
    """The arguments after the edit; raise InvalidInput for a value that is not valid JSON."""
    return edited_arguments(_arguments(form), {}, turn, spec)


def fields_from_settings(text: str, name: str) -> tuple[FormValues, dict[str, str]]:
    """The form fields for an ai_settings.yaml, and an error message for each invalid one.

    Raise InvalidInput if the text is not such a file.
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


def typed_text(form: FormValues) -> str:
    """What a person typed into a refused form, to show it again."""
    if written := _arguments(form):
        return "\n\n".join(f"{name}:\n{text}" for name, text in written.items())
    if answers := [text for name, text in form.items() if name.startswith(ANSWER_PREFIX) and text.strip()]:
        return "\n".join(answers)
    return next((form[name] for name in TEXT_FIELDS if form.get(name)), "")


def sendable_again(form: FormValues) -> FormValues:
    """The form, if it may be sent again as it is: a text, a budget or a model.

    Empty for buttons of a card, which people press on the card only, and for the name that confirms a deletion.
    """
    is_written = typed_text(form) or form.get("budget") or form.get("model")
    return form if "button" not in form and is_written else {}


def _arguments(form: FormValues) -> FormValues:
    return {name.removeprefix(ARGUMENT_PREFIX): text for name, text in form.items() if name.startswith(ARGUMENT_PREFIX)}
