"""Forms as Slack and Discord draw them."""

from collections.abc import Mapping

from discord.ui import Modal

from adapters.discord.outbound import forms as discord
from adapters.discord.outbound.inputs import edit_fields
from adapters.screens import forms
from adapters.screens.buttons import Button
from adapters.slack.inbound.submitted_forms import FormContext
from adapters.slack.outbound import forms as slack
from adapters.slack.outbound.blocks import Block
from adapters.typed.form_values import fields_of
from agent_core.model.command import CommandSpec
from agent_core.model.draft import AgentDraft
from agent_core.model.turn import Turn

NOTHING: Mapping[str, str] = {}


def agent_modal(
    given: AgentDraft | Mapping[str, str] | None, *, place: str, problems: Mapping[str, str] = NOTHING
) -> Modal:
    values = fields_of(given) if isinstance(given, AgentDraft) else given or {}
    return discord.draw_form(forms.agent_form(values, place).refused(problems))


def edit_modal(
    turn: Turn, spec: CommandSpec, *, typed: Mapping[str, str] = NOTHING, problems: Mapping[str, str] = NOTHING
) -> Modal:
    return discord.draw_form(forms.edit_form(turn, spec, edit_fields(turn, spec, typed, problems)))


def reason_modal(turn: Turn) -> Modal:
    return discord.draw_form(forms.reason_form(turn, str(Button("reject", turn.id, shown=turn.control_hash))))


def edit_view(turn: Turn, spec: CommandSpec, place: FormContext) -> Block:
    return slack.draw_form(forms.edit_form(turn, spec), place.channel, place.thread)


def reason_view(turn: Turn, place: FormContext) -> Block:
    return slack.draw_form(forms.reason_form(turn, place.about), place.channel, place.thread)


def number_view(turn: Turn, place: FormContext) -> Block:
    return slack.draw_form(forms.number_form(turn), place.channel, place.thread)
