"""Builds Discord's forms (modals) from values; `adapters.forms` interprets their fields.

The `custom_id` has everything a form refers to, so a form that was opened before a restart works after it. Discord
allows five fields: the form for a new agent has four texts, and one menu for all other settings.
"""

from collections.abc import Mapping
from typing import Any

import discord
from discord import ui

from adapters import forms
from adapters.buttons import Button
from adapters.discord.outbound.controls import APPROVE_N
from adapters.discord.outbound.inputs import MAX_INPUTS, fields_of
from adapters.discord.outbound.texts import NOTHING, escaped
from adapters.forms import Form
from adapters.prompt_drafts import ARGUMENT, GOES_TO_SERVER, PromptChoice
from adapters.text_fit import beginning, cut, fits
from adapters.ui_text import REPLY_DOES, covered_text
from adapters.visible_text import one_line, readable, visible
from agent_core.errors import NotPossible
from agent_core.model.agent import Agent
from agent_core.model.command import RISK_CLASSES, CommandSpec
from agent_core.model.decision import MAX_LEASE_COMMANDS, MIN_LEASE_COMMANDS
from agent_core.model.draft import DEFAULT_NAME, DEFAULT_ROLE, EFFORTS, AgentDraft
from agent_core.model.turn import Turn

# https://discord.com/developers/docs/components/reference: limits of a form's title, labels, descriptions and inputs.
MAX_TITLE, MAX_LABEL, MAX_HINT, MAX_INPUT, MAX_OPTION = 45, 45, 100, 4000, 100
GOALS_HINT = "One per line, 1 to 5."
MAX_PROMPT_TEXT = 1_000
TOO_MANY_ARGUMENTS = "and a form of Discord has room for five. Start from it on the page, in Slack or in the terminal."
MORE = "More"
MORE_HINT = "If you choose nothing, every command asks and anyone here may approve."
REASON_HINT = "Optional. The agent reads it and makes a new proposal."
OWNER, BRIEF = "approvers.owner", "verbosity.brief"


def agent_form(given: AgentDraft | Form | None, *, place: str, problems: Mapping[str, str] | None = None) -> ui.Modal:
    """The form for a new agent, filled with `given`. `place`: the channel's key; `problems`: errors by field."""
    form = forms.fields_of(given) if isinstance(given, AgentDraft) else given or {}
    wrong = problems or {}
    shown = modal("New agent", f"form:new:{place}")
    texts = (
        ("name", "Name", DEFAULT_NAME, ""),
        ("role", "Role", DEFAULT_ROLE, ""),
        ("goals", "Goals", "", GOALS_HINT),
        ("budget", "Budget in US dollars", "No limit", ""),
    )
    for field, label, placeholder, hint in texts:
        is_long = field in ("role", "goals")
        text = readable(form.get(field, "")) if is_long else one_line(form.get(field, ""))
        entry = text_entry(field, text, is_long=is_long, placeholder=placeholder)
        entry.required = field == "goals"
        said = wrong.get(field) or ("Not all of it fits here." if not fits(text, MAX_INPUT) else hint)
        shown.add_item(labelled(label, entry, said))
    shown.add_item(labelled(MORE, _more(form), wrong.get("model") or MORE_HINT))
    return shown


def edit_form(
    turn: Turn, spec: CommandSpec, *, typed: Form | None = None, problems: Mapping[str, str] | None = None
) -> ui.Modal:
    """The form for the arguments, with their values or the `typed` ones; raise NotPossible if they are too long.

    `problems`: error messages by argument name.
    """
    form = modal(f"Run edited: {spec.label}", form_id(Button("edit", turn.id, shown=turn.control_hash)))
    wrong = {one_line(name): problem for name, problem in (problems or {}).items()}
    fields = fields_of(turn, spec)
    for field in fields:
        hint = wrong.get(field.label) or wrong.get("arguments") or field.hint
        for input_id, label, text in field.inputs:
            entry = text_entry(input_id, visible((typed or {}).get(input_id, text)), is_long=True)
            form.add_item(labelled(label, entry, hint))
    if not fields:
        form.add_item(ui.TextDisplay("This command takes no arguments."))
    return form


def prompt_form(
    choice: PromptChoice, *, typed: Form | None = None, problems: Mapping[str, str] | None = None
) -> ui.Modal:
    """A field for each argument of a prompt, with what was typed; raise NotPossible if there are more than five."""
    arguments = choice.prompt.arguments
    if len(arguments) > MAX_INPUTS:
        asks = f"The prompt {choice.title} of {choice.source} asks for {len(arguments)} arguments"
        raise NotPossible(f"{asks}, {TOO_MANY_ARGUMENTS}")
    form = modal(f"{choice.source}: {choice.title}", f"form:prompt:{choice.key}")
    if len(arguments) < MAX_INPUTS:
        said = escaped(cut(one_line(choice.prompt.description), MAX_PROMPT_TEXT))
        about = [f"The server says about it: {said}"] if said else []
        about.append(GOES_TO_SERVER if arguments else "It needs no arguments.")
        form.add_item(ui.TextDisplay("\n".join(about)))
    for number, each in enumerate(arguments):
        field = f"{ARGUMENT}{number}"
        entry = text_entry(field, readable((typed or {}).get(field, "")), is_long=True)
        entry.required = each.is_required
        hint = (problems or {}).get(field) or each.description or f"Goes to {choice.source}."
        form.add_item(labelled(each.name, entry, hint))
    return form


def reject_form(turn: Turn, said: str = "") -> ui.Modal:
    """The form for the reason of a rejection, which the agent reads; filled in with what the person `said` already."""
    form = modal(f"Reject turn {turn.number}", form_id(Button("reject", turn.id, shown=turn.control_hash)))
    return form.add_item(labelled("Reason", text_entry("text", cut(said, MAX_INPUT), is_long=True), REASON_HINT))


def reply_form(agent: Agent, shown: str) -> ui.Modal:
    form = modal(f"Reply to {agent.name}", form_id(Button("reply", agent.id, shown=shown)))
    entry = text_entry("text", "", is_long=True, placeholder="What should be different?")
    entry.required = True
    return form.add_item(labelled("Reply", entry, REPLY_DOES if shown else ""))


def number_form(turn: Turn, most: int = MAX_LEASE_COMMANDS) -> ui.Modal:
    """The form for the number of commands to approve, at most `most`."""
    form = modal(f"{APPROVE_N} · turn {turn.number}", form_id(Button("approve", turn.id, shown=turn.control_hash)))
    entry = text_entry("text", "", placeholder=f"From {MIN_LEASE_COMMANDS} to {most}")
    entry.required = True
    form.add_item(labelled("How many commands", entry, "This command is the first."))
    return form.add_item(ui.TextDisplay(covered_text(turn)))


def _more(form: Form) -> ui.Select[Any]:
    options = [
        _option(f"Run without asking: {risk}", f"free.{risk}", is_on=bool(form.get(f"free.{risk}")))
        for risk in RISK_CLASSES
    ]
    options.append(_option("Only I may approve", OWNER, is_on=form.get("approvers") == "owner"))
    options.append(
        _option("Cards show the text only, the rest under Thoughts", BRIEF, is_on=form.get("verbosity") == "brief")
    )
    options += [
        _option(f"Reasoning effort: {effort}", f"effort.{effort}", is_on=form.get("effort") == effort)
        for effort in EFFORTS
    ]
    if (model := form.get("model", "").strip()) and fits(f"model.{model}", MAX_OPTION):
        options.append(_option(f"Model: {one_line(model)}", f"model.{model}", is_on=True))
    return ui.Select(custom_id="more", options=options, min_values=0, max_values=len(options), required=False)


def _option(label: str, value: str, *, is_on: bool) -> discord.SelectOption:
    return discord.SelectOption(label=cut(label, MAX_OPTION), value=value, default=is_on)


def modal(title: str, custom_id: str) -> ui.Modal:
    """An empty form."""
    return ui.Modal(title=cut(one_line(title), MAX_TITLE), custom_id=custom_id)


def labelled(label: str, entry: ui.Item[Any], hint: str = "") -> ui.Label[Any]:
    """An input with its label and a hint."""
    said = cut(one_line(hint), MAX_HINT) or None
    return ui.Label(text=cut(one_line(label), MAX_LABEL) or NOTHING, component=entry, description=said)


def text_entry(custom_id: str, text: str, *, is_long: bool = False, placeholder: str = "") -> ui.TextInput[Any]:
    """An input for a text, which may be left empty."""
    return ui.TextInput(
        custom_id=custom_id,
        style=discord.TextStyle.paragraph if is_long else discord.TextStyle.short,
        default=beginning(text, MAX_INPUT) or None,
        placeholder=cut(placeholder, MAX_HINT) or None,
        required=False,
        max_length=MAX_INPUT,
    )


def form_id(button: Button) -> str:
    """The `custom_id` of a form: it contains the button that the form belongs to."""
    return f"form:{button}"
