"""HTML forms → what all surfaces understand. What fields mean is adapters.forms'."""

from dataclasses import replace

from adapters.buttons import Button
from adapters.forms import Form, edited_arguments, times_of
from agent_core.model.command import Arguments, CommandSpec
from agent_core.model.turn import Turn

ARGUMENT = "argument."


def pressed(form: Form) -> Button:
    """The button, with the number written beside it for `Another number…`."""
    button = Button.parse(form.get("button", ""))
    if button.verb != "approve" or button.times:
        return button
    return replace(button, times=times_of(form.get("times", "")))


def changed_arguments(form: Form, turn: Turn, spec: CommandSpec) -> Arguments:
    """The arguments as the sheet behind Edit sends them."""
    return edited_arguments(_arguments(form), {}, turn, spec)


def kept_of(form: Form) -> str:
    """What a person wrote into a form that was refused, to give it back."""
    if written := _arguments(form):
        return "\n\n".join(f"{name}:\n{text}" for name, text in written.items())
    return form.get("text", "")


def _arguments(form: Form) -> Form:
    return {name.removeprefix(ARGUMENT): text for name, text in form.items() if name.startswith(ARGUMENT)}
